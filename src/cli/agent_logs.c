#include "agent.h"

static bool open_logs(struct agent *g, struct err *e)
{
    const struct agent_options *o = &g->o;
    struct ship_options to = {.root = o->logs, .flush_ms = o->flush_ms};
    if (g->storage.from.owner)
        storage_close(&g->storage);
    if (!storage_prepare(&g->storage, &o->storage, &g->bucket, g->allow, e))
        return false;
    to.protocol = g->storage.with.protocol;
    to.prefix = arena_printf(&g->storage.a, "%.*s%.*s/", SLICE_ARG(storage_logs(g->bucket.key, &g->storage.a)), SLICE_ARG(o->logs_name));
    g->storage.store = cloud_store_new(loop_net(g->loop), &g->storage.with);
    g->ship = ship_new(g->storage.store, &to);
    return true;
}

/* A Secret or an identity that is missing must not end this container: Ray's pod would not get ready. */
int64_t agent_logs_step(struct agent *g, struct now now)
{
    struct err e = {0};
    if (!g->ship && now.mono_ms >= g->ship_ms && !open_logs(g, &e)) {
        g->ship_ms = now.mono_ms + SHIP_RETRY_MAX_MS;
        log_warn("logs are not stored: the settings of the bucket cannot be used, and are read again in a minute",
                 LF_CSTR("error", e.text));
    }
    return g->ship ? ship_step(g->ship, now) : g->ship_ms;
}
