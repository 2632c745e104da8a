/* Token authentication: Ray of the head and every client of it hold the same token, each pod by a variable that the kubelet fills from a
 * Secret. No pod and no other object holds the token itself. */
#include "build.h"

enum { TOKEN_SINCE = 2052, SERVICE_ACCOUNTS_SINCE = 2055 };

/* Options without a mode ask for it: KubeRay makes the Secret then and leaves the cluster open. */
struct slice ray_auth_secret(struct jval spec, struct slice cluster, bool *ours, struct arena *a)
{
    struct jval options = json_get(spec, "authOptions");
    struct slice given = json_get_str(options, "secretName", a);
    *ours = false;
    if (!value_given(options) || json_is(json_get(options, "mode"), "disabled"))
        return SLICE_NONE;
    *ours = slice_empty(given);
    return *ours ? clipped_name(cluster, a) : given;
}

static void check_version(struct reader *r, const struct place *spec, struct slice version, int64_t since, const char *what)
{
    const struct place *at = place_key(spec, "rayVersion");
    if (slice_empty(version))
        place_bad(r, at, "is not given: %s needs Ray 2.%d.0 or later, so say which one it is", what, (int)(since % 1000));
    else if (ray_version_number(version) == 0)
        place_bad(r, at, "is \"%.*s\", which is no version: %s needs Ray 2.%d.0 or later", SLICE_ARG(slice_head(version, 40)), what,
                  (int)(since % 1000));
    else if (ray_version_number(version) < since)
        place_bad(r, at, "is %.*s: %s needs Ray 2.%d.0 or later", SLICE_ARG(slice_head(version, 40)), what, (int)(since % 1000));
}

/* A client of a head that takes tokens of service accounts shows it one of Kubernetes. The operator's own may write every cluster of its
 * namespaces, and a head runs what users bring. */
static void check_service_accounts(struct reader *r, const struct place *spec, const struct place *options, struct slice version)
{
    const struct place *at = place_key(options, "enableK8sTokenAuth"), *secret = place_key(options, "secretName");
    bool on = false;
    if (!read_flag(r, at, &on) || !on)
        return;
    place_bad(r, at,
              "is true, which is not supported: the operator would have to show its own Kubernetes token to the head. Remove it, and a "
              "token of the cluster's own is used");
    check_version(r, spec, version, SERVICE_ACCOUNTS_SINCE, "enableK8sTokenAuth");
    if (place_given(secret))
        place_bad(r, secret, "excludes enableK8sTokenAuth: keep one of the two");
}

void check_auth(struct reader *r, const struct place *spec, struct ray_cluster *c)
{
    static const char *const modes[] = {"disabled", "token", NULL};
    const struct place *options = place_key(spec, "authOptions"), *mode = place_key(options, "mode"),
                       *secret = place_key(options, "secretName");
    struct slice text, name = SLICE_NONE;
    if (!read_object(r, options, OPTIONAL) || (place_given(mode) && !read_word(r, mode, modes, &text)))
        return;
    if (read_text(r, secret, OPTIONAL, &name) && !slice_empty(name) && !name_dns1123_subdomain(name))
        place_bad(r, secret, "is no name of a Secret: at most 253 lower case letters, digits, dashes and dots");
    check_service_accounts(r, spec, options, c->ray_version);
    c->auth.secret = ray_auth_secret(spec->value, c->name, &c->auth.ours, r->arena);
    if (!slice_empty(c->auth.secret))
        check_version(r, spec, c->ray_version, TOKEN_SINCE, "token authentication");
}

/* ---- objects that hold the token ---- */

void write_auth_env(struct jout *w, struct slice secret)
{
    if (slice_empty(secret))
        return;
    jout_form(w,
              "{name:'" RAY_AUTH_MODE "',value:'token'},"
              "{name:'" RAY_AUTH_TOKEN "',valueFrom:{secretKeyRef:{key:'" RAY_AUTH_KEY "',name:'%.*s'}}}",
              SLICE_ARG(secret));
}

bool is_auth_variable(struct jval name)
{
    return json_is(name, RAY_AUTH_MODE) || json_is(name, RAY_AUTH_TOKEN);
}

bool build_secret(const struct ray_cluster *c, bool ca, struct slice content, struct arena *a, struct buf *out)
{
    struct pairs labels = pairs_new(a), none = pairs_new(a);
    const struct owner owner = owner_cluster(c);
    struct jout w;
    pairs_set(&labels, SLICE(RAY_LABEL_CLUSTER), c->name);
    jout_init(&w, out);
    jout_form(&w, "{apiVersion:'v1',kind:'Secret'");
    write_metadata(&w, &owner, ca ? c->auth.ca : c->auth.secret, NO_VALUE, &labels, &none, a);
    jout_form(&w, ca ? "type:'kubernetes.io/tls',data:%.*s}" : "type:'Opaque',stringData:{" RAY_AUTH_KEY ":'%.*s'}}", SLICE_ARG(content));
    return !out->full;
}

/* The part of the variable that Ray reads: without the white space around it. The rest goes into a header as it is. */
bool ray_auth_token(struct slice text, struct slice *token, struct err *e)
{
    *token = slice_trim(text);
    if (slice_empty(*token))
        return err_set(e, ERR_SYNTAX, "key " RAY_AUTH_KEY " is empty");
    if (token->len > LIMIT_RAY_TOKEN)
        return err_set(e, ERR_LIMIT, "key " RAY_AUTH_KEY " has %zu bytes, more than %d (LIMIT_RAY_TOKEN)", token->len, LIMIT_RAY_TOKEN);
    for (size_t i = 0; i < token->len; i++)
        if (token->ptr[i] < 0x21 || token->ptr[i] > 0x7e)
            return err_set(e, ERR_SYNTAX, "key " RAY_AUTH_KEY " holds a byte that no header may have, at %zu", i);
    return true;
}

bool ray_auth_read(struct slice secret, struct buf *text, struct slice *token, struct arena *a, struct err *e)
{
    struct jval doc;
    if (!json_read(&doc, secret, a, e))
        return false;
    struct jval data = json_child(json_get(doc, "data"), RAY_AUTH_KEY);
    if (json_type(data) != JSON_STRING)
        return err_set(e, ERR_MISSING, "it has no key " RAY_AUTH_KEY);
    buf_room(text, json_raw(data).len); /* at once: growing would leave copies behind */
    return base64_decode(json_str(data, a), text, e) && ray_auth_token(buf_slice(text), token, e);
}
