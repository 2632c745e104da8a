#include "operator_bucket.h"
#include "cli.h"

enum { ARGS_MAX = 6 };

/* The arguments of `mobula agent` of each pod. */
static struct slice *agent_words(const struct bucket_options *o, struct arena *a)
{
    struct slice *words = arena_array(a, ARGS_MAX, sizeof *words);
    const struct {
        const char *flag;
        struct slice value;
    } texts[] = {{"bucket", o->url}, {"endpoint", o->storage.endpoint}, {"region", o->storage.region}};
    uint32_t count = 0;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (!slice_empty(texts[i].value))
            words[count++] = arena_printf(a, "--%s=%.*s", texts[i].flag, SLICE_ARG(texts[i].value));
    if (o->storage.virtual_host)
        words[count++] = SLICE("--virtual-host");
    return words; /* zeroed behind the last */
}

static bool check_flags(const struct bucket_options *o, const struct operator_options *to, struct cloud_place *at, struct err *e)
{
    const struct storage_options *s = &o->storage;
    if (slice_empty(o->url))
        return (slice_empty(o->secret) && slice_empty(s->dir) && slice_empty(s->endpoint) && slice_empty(s->region) &&
                slice_empty(s->ca_file) && slice_empty(o->keep_bytes) && !o->keep_ms && !s->virtual_host) ||
               err_set(e, ERR_CONFIG, "--bucket-… flags need --bucket");
    if (!cloud_place(o->url, at, e))
        return err_wrap(e, "--bucket");
    if (!slice_empty(o->secret) && !name_dns1123_subdomain(o->secret))
        return err_set(e, ERR_CONFIG, "--bucket-secret: \"%.*s\" is not the name of a Secret", SLICE_ARG(o->secret));
    return to->ray.tools != RAY_TOOLS_NONE ||
           err_set(e, ERR_CONFIG, "--bucket needs --tools=configmap or image:REF, by which pods get this program");
}

bool operator_bucket_read(const struct bucket_options *o, struct net_allow *allow, struct arena *a, struct storage *s,
                          struct operator_options *to, struct err *e)
{
    struct cloud_place at;
    if (!check_flags(o, to, &at, e))
        return false;
    if (slice_empty(o->url))
        return true;
    struct ray_ship *ship = arena_new(a, struct ray_ship);
    *ship = (struct ray_ship){.args = agent_words(o, a), .secret = o->secret};
    if (!slice_empty(o->storage.ca_file) &&
        !cli_read_most(o->storage.ca_file, LIMIT_REMOTE_AGENT_CA, "LIMIT_REMOTE_AGENT_CA", a, &ship->ca, e))
        return err_wrap(e, "--bucket-ca-file");
    to->ray.ship = ship;
    to->bucket.url = o->url;
    to->bucket.prefix = at.key;
    to->bucket.logs = storage_logs(at.key, a);
    to->bucket.keep_ms = o->keep_ms;
    if (!slice_empty(o->keep_bytes) && !quantity_parse(o->keep_bytes, 0, &to->bucket.keep_bytes, e))
        return err_wrap(e, "--bucket-retention-bytes");
    /* Settings that cannot be used are a finding of STORAGE_BUCKET: the operator runs all the same. */
    if (storage_prepare(s, &o->storage, &at, allow, &to->bucket.why))
        to->bucket.with = &s->with;
    else
        log_warn("the bucket's settings cannot be used by the operator", LF_CSTR("error", to->bucket.why.text));
    s->loud = false;
    return true;
}
