/* Reads endpoint, region and credentials from the AWS CLI's environment variables and files in ~/.aws. */
#include <mobula/cloud.h>

#include <mobula/json.h>

static struct slice get(const struct cloud_surroundings *from, const char *name)
{
    return slice_trim(from->get(from->owner, name));
}

static struct slice either(struct slice first, struct slice other)
{
    return slice_empty(first) ? other : first;
}

/* ---- checks of credentials ---- */

static bool is_word(struct slice s, size_t max)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] <= ' ' || s.ptr[i] >= 0x7f)
            return false;
    return s.len <= max;
}

/* Checks lengths and characters of credentials. Messages never quote them. */
static bool keys_fit(const struct cloud_keys *k, const char *where, struct err *e)
{
    if (slice_empty(k->id) || slice_empty(k->secret))
        return err_set(e, ERR_CONFIG, "%s: only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set: set both", where);
    return (is_word(k->id, LIMIT_CLOUD_SECRET) && is_word(k->secret, LIMIT_CLOUD_SECRET) && is_word(k->session, LIMIT_CLOUD_TOKEN)) ||
           err_set(e, ERR_CONFIG,
                   "%s: a key has more than %d bytes (LIMIT_CLOUD_SECRET), the session token more than %d (LIMIT_CLOUD_TOKEN), or one of "
                   "them a blank or a control character",
                   where, LIMIT_CLOUD_SECRET, LIMIT_CLOUD_TOKEN);
}

/* ---- files in ~/.aws ---- */

/* Takes one "name = value" line of the profile; the first value of a name counts. */
static bool take_line(struct cloud_settings *s, struct cloud_keys *k, struct slice line, struct slice path, struct err *e)
{
    struct slice value = line, name = slice_trim(slice_cut(&value, '='));
    const struct {
        const char *name;
        struct slice *to;
    } fields[] = {{"aws_access_key_id", &k->id}, {"aws_secret_access_key", &k->secret}, {"aws_session_token", &k->session},
                  {"region", &s->region},        {"endpoint_url", &s->endpoint},        {"ca_bundle", &s->ca_file}};
    value = slice_trim(value);
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (slice_is(name, fields[i].name)) {
            *fields[i].to = either(*fields[i].to, value);
            return true;
        }
    if (slice_is(name, "credential_process") || slice_starts(name, SLICE("sso_")) || slice_is(name, "role_arn"))
        return err_set(e, ERR_CONFIG,
                       "%.*s: the profile has %.*s, which is not supported: give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY "
                       "(\"aws configure export-credentials --format env\" prints them)",
                       SLICE_ARG(path), SLICE_ARG(name));
    return true;
}

static bool read_profile(const struct cloud_surroundings *from, struct slice path, bool must, struct slice profile, struct arena *a,
                         struct cloud_settings *s, struct cloud_keys *k, struct err *e)
{
    struct slice text;
    struct err why = {0}, passed_over = {0};
    bool in = false, keys = !slice_empty(s->keys.id) || !slice_empty(s->role);
    if (!from->read(from->owner, path, a, &text, &why))
        return !must || err_set(e, why.code, "%s", why.text);
    while (text.ptr) {
        struct slice line = slice_cut(&text, '\n'), trimmed = slice_trim(line);
        if (slice_starts(trimmed, SLICE("["))) {
            struct slice name = slice_trim(slice_head(slice_skip(trimmed, 1), trimmed.len - (trimmed.len > 1 ? 2 : 1)));
            if (slice_starts(name, SLICE("profile ")))
                name = slice_trim(slice_skip(name, strlen("profile ")));
            in = slice_ends(trimmed, SLICE("]")) && slice_eq(name, profile);
        } else if (in && !slice_empty(trimmed) && line.ptr[0] != ' ' && line.ptr[0] != '\t' && trimmed.ptr[0] != '#' &&
                   !take_line(s, k, trimmed, path, keys ? &passed_over : e) && !keys) {
            return false;
        }
    }
    return true;
}

static bool read_files(const struct cloud_surroundings *from, struct arena *a, struct cloud_settings *s, struct cloud_keys *k,
                       struct err *e)
{
    static const struct {
        const char *variable, *file;
    } files[] = {{"AWS_SHARED_CREDENTIALS_FILE", "credentials"}, {"AWS_CONFIG_FILE", "config"}};
    struct slice home = get(from, "HOME"), profile = either(get(from, "AWS_PROFILE"), SLICE("default"));
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        struct slice path = get(from, files[i].variable);
        bool must = !slice_empty(path);
        if (!must && slice_empty(home))
            continue;
        path = must ? arena_dup(a, path) : arena_printf(a, "%.*s/.aws/%s", SLICE_ARG(home), files[i].file);
        if (!read_profile(from, path, must, profile, a, s, k, e))
            return false;
    }
    return true;
}

/* ---- settings, in order of precedence ---- */

static bool nothing_found(const struct cloud_surroundings *from, struct err *e)
{
    return err_set(
        e, ERR_CONFIG,
        "no credentials for the store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, mount a Secret that has them "
        "(--credentials-dir), write them to ~/.aws/credentials (profile %.*s), or give the pod an identity (IRSA, EKS Pod Identity)",
        SLICE_ARG(either(get(from, "AWS_PROFILE"), SLICE("default"))));
}

#define FIELD(member) offsetof(struct cloud_settings, member)

bool cloud_settings_read(const struct cloud_surroundings *from, struct arena *a, struct cloud_settings *out, struct err *e)
{
    static const struct {
        uint16_t at;
        const char *name; /* of two variables for one field, the first that is set counts */
    } variables[] = {{FIELD(keys.id), "AWS_ACCESS_KEY_ID"},          {FIELD(keys.secret), "AWS_SECRET_ACCESS_KEY"},
                     {FIELD(keys.session), "AWS_SESSION_TOKEN"},     {FIELD(token_file), "AWS_WEB_IDENTITY_TOKEN_FILE"},
                     {FIELD(session_name), "AWS_ROLE_SESSION_NAME"}, {FIELD(region), "AWS_REGION"},
                     {FIELD(region), "AWS_DEFAULT_REGION"},          {FIELD(endpoint), "AWS_ENDPOINT_URL_S3"},
                     {FIELD(endpoint), "AWS_ENDPOINT_URL"},          {FIELD(identity), "AWS_ENDPOINT_URL_STS"},
                     {FIELD(identity), "AWS_ENDPOINT_URL"},          {FIELD(ca_file), "AWS_CA_BUNDLE"}};
    struct cloud_keys in_file = {SLICE(""), SLICE(""), SLICE("")};
    *out = (struct cloud_settings){.source = "the environment"};
    for (size_t i = 0; i < COUNT_OF(variables); i++) {
        struct slice *to = (struct slice *)(void *)((char *)out + variables[i].at);
        *to = either(*to, get(from, variables[i].name));
    }
    if (slice_empty(out->keys.id) && slice_empty(out->keys.secret) && !slice_empty(out->token_file)) {
        out->source = "AWS_WEB_IDENTITY_TOKEN_FILE";
        out->role = get(from, "AWS_ROLE_ARN");
        if (slice_empty(out->role))
            return err_set(e, ERR_CONFIG,
                           "AWS_WEB_IDENTITY_TOKEN_FILE is set without AWS_ROLE_ARN: set it to the role that the pod assumes");
    }
    if (!read_files(from, a, out, &in_file, e))
        return false;
    if (!slice_empty(out->role))
        return true;
    out->identity = SLICE("");
    if (slice_empty(out->keys.id) && slice_empty(out->keys.secret) && (!slice_empty(in_file.id) || !slice_empty(in_file.secret))) {
        out->keys = in_file;
        out->source = "~/.aws/credentials";
    }
    if (!slice_empty(out->keys.id) || !slice_empty(out->keys.secret))
        return keys_fit(&out->keys, out->source, e);
    out->identity = get(from, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
    out->token_file = get(from, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    out->source = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
    return !slice_empty(out->identity) || nothing_found(from, e);
}

bool cloud_credentials_read(struct slice body, struct arena *a, struct cloud_keys *out, int64_t *expires_us, struct err *e)
{
    struct slice expires;
    struct jval doc;
    if (slice_starts(slice_trim(body), SLICE("{"))) {
        if (!json_read(&doc, body, a, e))
            return false;
        *out = (struct cloud_keys){json_get_str(doc, "AccessKeyId", a), json_get_str(doc, "SecretAccessKey", a),
                                   json_get_str(doc, "Token", a)};
        expires = json_get_str(doc, "Expiration", a);
    } else {
        *out = (struct cloud_keys){cloud_xml_text(body, "AccessKeyId", a), cloud_xml_text(body, "SecretAccessKey", a),
                                   cloud_xml_text(body, "SessionToken", a)};
        expires = cloud_xml_text(body, "Expiration", a);
    }
    *expires_us = TIME_NEVER;
    return keys_fit(out, "the answer with credentials", e) && (slice_empty(expires) || time_parse(expires, expires_us, e));
}

bool cloud_host(struct slice url, const char *what, struct arena *a, struct cloud_host *out, struct err *e)
{
    struct slice rest;
    *out = (struct cloud_host){.path = SLICE("")};
    if (!net_url(url, &out->at, &out->authority, &rest) || !net_is_host(out->at.host) || slice_find(rest, '?') >= 0)
        return err_set(e, ERR_CONFIG, "%s is not a URL http[s]://HOST[:PORT][/PATH] without user and password", what);
    while (slice_ends(rest, SLICE("/")))
        rest.len--;
    if (!slice_empty(rest))
        out->path = arena_printf(a, "/%.*s", SLICE_ARG(rest));
    return true;
}
