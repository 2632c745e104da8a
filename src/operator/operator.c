#include "op.h"

#include <mobula/ship.h>

enum { PATH_MAX_BYTES = 2 * KIB };

static bool start_lease(struct op *op, struct err *e)
{
    if (!op->o.leader_elect)
        return true;
    op->lease = kube_lease_start(op->client, &op->o.lease, e);
    return op->lease != NULL;
}

struct op *operator_new(struct net *net, struct kube_config *config, const struct operator_options *o, struct err *e)
{
    struct op *op = mem_alloc(sizeof *op);
    op->parts = &kinds_parts;
    op->net = net;
    op->o = *o;
    op->slabs.record.size = sizeof(struct record);
    op->slabs.pod.size = sizeof(struct pod_record);
    op->slabs.service.size = sizeof(struct service_record);
    op->slabs.flight.size = sizeof(struct flight);
    for (uint32_t i = 0; i < MODELS_KEPT; i++)
        op->models.kept[i] = &op->models.list[i];
    op->models.loaded = op->models.kept[0];
    rng_seed(&op->rng, o->seed);
    buf_init(&op->out.body, LIMIT_JSON_ITEM);
    buf_init(&op->out.path, PATH_MAX_BYTES);
    op->stats.actions = mem_alloc(verb_count(op) * sizeof op->stats.actions[0]);
    op->stats.refused = mem_alloc(verb_count(op) * sizeof op->stats.refused[0]);
    op->client = kube_client_new(net, config, rng_next(&op->rng), "mobula/" MOBULA_VERSION);
    kube_client_keep_warm(op->client);
    heads_init(op);
    op->events = kube_events_new(op->client, SLICE("mobula"), o->instance);
    workloads_init(op, net);
    checks_init(op);
    if (o->bucket.with)
        op->o.bucket.journal = ship_journal_new(net, o->bucket.with, o->bucket.logs);
    if (o->bucket.with && (o->bucket.keep_ms || o->bucket.keep_bytes))
        op->o.bucket.expiry = ship_expiry_new(net, &(struct ship_expiry_options){.with = o->bucket.with,
                                                                                 .prefix = o->bucket.logs,
                                                                                 .keep_ms = o->bucket.keep_ms,
                                                                                 .keep_bytes = (uint64_t)o->bucket.keep_bytes});
    op->serve.health = health_new(op, HEALTH_PROBES);
    op->serve.status = health_new(op, HEALTH_STATUS);
    op->serve.metrics = health_new(op, HEALTH_FIGURES);
    op->spaces = mem_alloc(o->namespace_count * sizeof op->spaces[0]);
    bool ok = settings_init(op, e) && start_lease(op, e) && settings_start(op, e);
    for (uint32_t i = 0; i < o->namespace_count && ok; i++)
        ok = space_start(op, &op->spaces[i], o->namespaces[i], e);
    if (ok)
        return op;
    operator_free(op);
    return NULL;
}

void operator_free(struct op *op)
{
    if (!op)
        return;
    serve_free(op->serve.health);
    serve_free(op->serve.status);
    serve_free(op->serve.metrics);
    if (op->lease)
        kube_lease_free(op->lease);
    kube_events_free(op->events);
    settings_stop(op);
    for (uint32_t i = 0; i < op->o.namespace_count; i++)
        space_stop(&op->spaces[i]);
    records_free(op); /* takes back what is asked for its jobs, through the client too */
    workloads_free(op);
    kube_client_free(op->client);
    checks_free(op);
    ship_journal_free(op->o.bucket.journal);
    ship_expiry_free(op->o.bucket.expiry);
    tools_free(op);
    heads_free(op);
    settings_free(op);
    intern_free(&op->strings);
    slab_destroy(&op->slabs.flight);
    arena_free(&op->arenas.event);
    arena_free(&op->arenas.plan);
    for (uint32_t i = 0; i < MODELS_KEPT; i++)
        arena_free(&op->models.list[i].arena);
    arena_free(&op->arenas.body);
    buf_free(&op->out.body);
    buf_free(&op->out.path);
    mem_free(op->stats.actions);
    mem_free(op->stats.refused);
    mem_free(op->spaces);
    mem_free(op);
}

static void spaces_refresh(struct op *op)
{
    for (uint32_t i = 0; i < op->o.namespace_count; i++)
        for (uint32_t k = 0; k < kind_count(op); k++)
            source_refresh(&op->spaces[i].source[k]);
}

/* The leader decides; other replicas keep their caches warm and begin nothing. */
static void follow_lease(struct op *op)
{
    bool leading = !op->lease || kube_lease_held(op->lease, op->now);
    if (leading == op->phase.leading)
        return;
    op->phase.leading = leading;
    op->phase.workers_from_ms = op->now.mono_ms + op->o.fence_ms;
    if (op->lease)
        log_info(leading ? "this process leads" : "this process does not lead any more: no further writes",
                 LF("holder", kube_lease_holder(op->lease)));
    if (!leading)
        execute_none(op);
    else if (op->lease && kube_lease_changed_hands(op->lease))
        spaces_refresh(op); /* the other one has written; a watch that has fallen silent here would not have told us */
    struct record *c;
    for (uint32_t i = 0; (c = map_next(&op->all.records, &i)) != NULL;) {
        if (c->present && leading)
            arena_reset(&op->arenas.event, 64 * KIB);
        if (c->present)
            c->kind->controller->lead(op, c, leading);
        if (leading)
            record_touch(op, c);
    }
}

/* Deadlines of jobs are times of the wall, and are waited for by the monotonic clock: when the wall clock is set, all are looked at again.
 */
static void follow_wall(struct op *op)
{
    enum { SET_US = 1000 * 1000 };
    int64_t since_us = op->now.wall_us - op->now.mono_ms * 1000, by_us = since_us - op->since_us;
    if (op->since_us && by_us > -SET_US && by_us < SET_US)
        return;
    if (op->since_us && say_once(op, SAID_SERVER, hash64(SLICE("wall clock"), 0)))
        log_info("the wall clock was set: deadlines of jobs are looked at again", LF_INT("by_ms", by_us / 1000));
    op->since_us = since_us;
    struct record *c;
    for (uint32_t i = 0; (c = map_next(&op->all.records, &i)) != NULL;)
        if (c->kind->controller->by_wall_clock)
            record_touch(op, c);
}

/* From here on everything is decided on; before, a cluster waits for the lists that it depends on. */
static void say_complete(struct op *op)
{
    for (uint32_t i = 0; i < op->o.namespace_count && !op->phase.complete; i++)
        for (uint32_t k = 0; k < kind_count(op); k++)
            if (!op->spaces[i].source[k].keeper.synced && !op->parts->kinds[k]->on_demand)
                return;
    if (!op->phase.complete)
        log_info("caches are complete", LF_INT("objects", op->all.records.count), LF_INT("pods", op->all.pods.count),
                 LF_INT("services", op->all.services.count));
    op->phase.complete = true;
}

void operator_wake(struct op *op, struct now now)
{
    op->now = now;
    if (!op->phase.leading || !op->lease || kube_lease_held(op->lease, now))
        return;
    follow_lease(op);
    kube_calls_recall(op->client, op, NULL, now);
}

void operator_renew(struct op *op, struct now now)
{
    kube_client_renew(op->client, now);
    op->now = now;
    workloads_renew(op);
}

int64_t operator_step(struct op *op, struct now now)
{
    op->now = now;
    int64_t next = TIME_NEVER;
    if (op->lease)
        next = kube_lease_tick(op->lease, now);
    follow_lease(op);
    follow_wall(op);
    say_complete(op);
    bool decides = op->phase.leading && !op->phase.stopping, more = false;
    if (decides) {
        decide_all(op);
        more = execute_all(op);
        next = earlier(next, earlier(timer_next(op), tools_tick(op)));
    } else {
        kube_calls_recall(op->client, op, NULL, now);
        decide_none(op);
    }
    next = earlier(next, earlier(workloads_tick(op), checks_tick(op)));
    next = earlier(next, heads_tick(op));
    if (op->o.bucket.journal)
        next = earlier(next, ship_journal_step(op->o.bucket.journal, now));
    if (op->o.bucket.expiry)
        next = earlier(next, ship_expiry_step(op->o.bucket.expiry, decides, now));
    next = earlier(next, kube_events_tick(op->events, now));
    next = earlier(next, kube_client_tick(op->client, now));
    if (op->phase.farewell_ms || op->phase.stop_ms)
        next = earlier(next, now.mono_ms + 100); /* operator_stop looks again */
    /* More waits to be decided, or has come of these ticks, as what fails before it is sent does: after the links have had their turn. */
    return more || (decides && op->dirty.first) ? now.mono_ms : next;
}

bool operator_stop(struct op *op, struct now now)
{
    enum { STOP_MS = 2 * 1000 };
    op->now = now;
    if (!op->phase.stopping) {
        if (farewell_goes_on(op))
            return false;
        op->phase.stopping = true;
        op->phase.stop_ms = now.mono_ms;
        execute_none(op);
    }
    if (now.mono_ms >= op->phase.stop_ms + STOP_MS)
        return true;
    if (op->flights)
        return false;
    bool left = workloads_stop(op);
    left &= !op->o.bucket.journal || ship_journal_stop(op->o.bucket.journal);
    if (op->lease && !op->phase.released) {
        op->phase.released = true;
        kube_lease_release(op->lease, now);
        return false;
    }
    return left && kube_client_stats(op->client)->in_flight == 0; /* an answer that nobody waits for may be a write that never happens */
}

struct link_accept *operator_health(struct op *op)
{
    return serve_accept(op->serve.health);
}

struct link_accept *operator_status(struct op *op)
{
    return serve_accept(op->serve.status);
}

struct link_accept *operator_metrics(struct op *op)
{
    return serve_accept(op->serve.metrics);
}

bool operator_ready(const struct op *op, struct now now, struct buf *why)
{
    bool ready = true;
    const struct err *trouble = &kube_client_stats(op->client)->trouble;
    if (trouble->code != ERR_NONE) {
        buf_printf(why, "API server: %s\n", trouble->text);
        ready = false;
    }
    for (uint32_t i = 0; i < op->o.namespace_count; i++)
        for (uint32_t k = 0; k < kind_count(op); k++) {
            const struct source *src = &op->spaces[i].source[k];
            if (src->kind->optional.flag || (src->keeper.synced && src->keeper.trouble.code == ERR_NONE))
                continue;
            kube_keeper_explain(&src->keeper, slice_of(src->kind->plural), src->space->ns, why);
            ready = false;
        }
    if (op->lease && slice_empty(kube_lease_holder(op->lease)) && !kube_lease_held(op->lease, now)) {
        buf_put(why, SLICE("lease: nobody leads yet\n"));
        ready = false;
    }
    return ready;
}
