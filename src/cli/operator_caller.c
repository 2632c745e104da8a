/* Signs GetCallerIdentity of STS for the control plane, which sends it: the signature proves the role of this pod. */
#include "operator_caller.h"

enum { LEAST_MS = 30 * 1000 };

bool operator_caller_read(struct operator_caller *c, struct slice url, struct slice cloud, struct kube_config *plane,
                          struct net_allow *allow, struct err *e)
{
    const struct cloud_place at = {.protocol = &cloud_s3, .bucket = SLICE(""), .key = SLICE("")};
    const struct storage_options o = {.endpoint = url};
    if (slice_empty(url))
        return true;
    if (!storage_prepare(&c->s, &o, &at, allow, e))
        return err_wrap(e, "--sts-url");
    c->s.with.path_style = false; /* the path is that of no bucket */
    c->s.with.service = "sts";
    c->s.loud = false;
    c->plane = plane;
    c->cloud = cloud;
    return true;
}

void operator_caller_start(struct operator_caller *c, struct net *net)
{
    if (c->plane)
        c->s.store = cloud_store_new(net, &c->s.with);
}

static void on_signed(void *owner, const struct cloud_answer *answer, struct now now)
{
    struct operator_caller *c = owner;
    struct arena mem = {0};
    struct slice query = answer->body;
    c->sign_ms = now.mono_ms + LEAST_MS;
    if (answer->err.code != ERR_NONE) {
        if (log_limit_pass(&c->log, now))
            log_warn("the identity of AWS cannot be proven to the control plane: trying again", LF_CSTR("error", answer->err.text));
        return;
    }
    slice_cut(&query, '?');
    kube_config_set_token(c->plane, arena_printf(&mem, CLOUD_PROOF "%.*s.%.*s", SLICE_ARG(c->cloud), SLICE_ARG(query)));
    arena_wipe(&mem);
    c->sign_ms += answer->seconds * 500; /* half of its validity */
}

int64_t operator_caller_step(struct operator_caller *c, struct now now)
{
    struct cloud_call call = {.method = "GET", .key = SLICE(""), .sign_s = CLOUD_PROOF_S, .done = on_signed, .done_owner = c};
    if (!c->plane)
        return TIME_NEVER;
    if (now.mono_ms >= c->sign_ms) {
        cloud_add_query(&call, "Action", SLICE("GetCallerIdentity"));
        cloud_add_query(&call, "Version", SLICE("2011-06-15"));
        cloud_add_header(&call, CLOUD_PROOF_HEADER, c->cloud);
        c->sign_ms = TIME_NEVER;
        cloud_store_call(c->s.store, &call, now);
    }
    int64_t next = cloud_store_tick(c->s.store, now);
    return earlier(next, c->sign_ms);
}

void operator_caller_free(struct operator_caller *c)
{
    if (c->s.from.owner)
        storage_close(&c->s);
}
