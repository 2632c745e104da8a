/* Health checks of a GCS, one after another, until one says that it serves. */
#include <mobula/heads.h>

#include <stdlib.h>
#include <strings.h>

static void on_answer(void *owner, const struct ray_gcs_answer *answer, struct now now)
{
    struct ray_gcs_wait *w = owner;
    w->asking = false;
    w->serving = answer->err.code == ERR_NONE;
    w->why = answer->err;
    w->next_ms = now.mono_ms + RAY_GCS_RETRY_MS * 3 / 4 + (int64_t)rng_below(&w->rng, RAY_GCS_RETRY_MS / 2);
}

bool ray_gcs_tls(struct ray_gcs_options *o, ray_gcs_file *read, struct err *e)
{
    static const char *const names[] = {"RAY_TLS_CA_CERT", "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY"};
    const char *use = getenv("RAY_USE_TLS");
    struct slice pem[COUNT_OF(names)];
    struct arena a = {0};
    bool well = true;
    if (!use || !(strcmp(use, "1") == 0 || strcasecmp(use, "true") == 0))
        return true;
    for (size_t i = 0; i < COUNT_OF(names) && well; i++) {
        const char *path = getenv(names[i]);
        well = (path ? read(slice_of(path), &a, &pem[i], e) : err_set(e, ERR_CONFIG, "not set")) || err_wrap(e, "%s", names[i]);
    }
    o->trust = well ? tls_trust_load(pem[0], &(uint32_t){0}, &(uint32_t){0}, e) : NULL;
    o->identity = o->trust ? tls_identity_load(pem[1], pem[2], e) : NULL;
    arena_wipe(&a);
    return o->identity != NULL;
}

bool ray_gcs_wait_begin(struct ray_gcs_wait *w, struct net *net, const struct endpoint *to, int64_t until_ms, uint64_t seed,
                        ray_gcs_file *read, struct err *e)
{
    struct ray_gcs_options o = {.host = to->host, .port = to->port, .done = on_answer, .owner = w};
    *w = (struct ray_gcs_wait){.until_ms = until_ms};
    rng_seed(&w->rng, seed);
    w->pool = ray_gcs_pool_new(net, seed);
    w->gcs = ray_gcs_tls(&o, read, e) ? ray_gcs_open(w->pool, &o, e) : NULL;
    return w->gcs != NULL;
}

void ray_gcs_wait_end(struct ray_gcs_wait *w)
{
    ray_gcs_pool_free(w->pool);
}

int64_t ray_gcs_wait_step(struct ray_gcs_wait *w, struct now now)
{
    if (!w->asking && !w->serving && now.mono_ms >= w->next_ms && now.mono_ms < w->until_ms) {
        w->asking = true;
        ray_gcs_check(w->gcs, w->until_ms, now);
    }
    int64_t next = ray_gcs_pool_tick(w->pool, now);
    if (!w->asking && w->next_ms < next)
        next = w->next_ms;
    return next < w->until_ms ? next : w->until_ms;
}

bool ray_gcs_wait_over(const struct ray_gcs_wait *w, struct now now)
{
    return w->serving || (now.mono_ms >= w->until_ms && !w->asking);
}

bool ray_gcs_address(struct slice text, struct endpoint *to, struct err *e)
{
    size_t colon = text.len;
    while (colon > 0 && text.ptr[colon - 1] != ':')
        colon--;
    struct slice host = slice_head(text, colon > 0 ? colon - 1 : 0);
    bool well = slice_find(host, ':') < 0 && slice_find(host, '[') < 0;
    if (slice_starts(host, SLICE("[")) && slice_ends(host, SLICE("]"))) {
        host = (struct slice){host.ptr + 1, host.len - 2};
        well = true;
    }
    int64_t port;
    if (!well || slice_empty(host) || slice_find(host, '/') >= 0 || !slice_int(slice_skip(text, colon), &port) || port < 1 ||
        port > UINT16_MAX)
        return err_set(e, ERR_CONFIG, "\"%.*s\" is not HOST:PORT", SLICE_ARG(text));
    *to = (struct endpoint){.host = host, .port = (uint16_t)port};
    return true;
}
