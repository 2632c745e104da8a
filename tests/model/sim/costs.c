/* Model of the API server's load: cores that serve one request at a time, a queue before them, and requests of other users. */
#include "wire.h"

enum { OTHERS_MS = 10 };

/* Service time of a request on an idle core, like a real server's on a small machine; only the ratios matter. */
static const struct {
    const char *method, *in;
    int64_t ms;
} prices[] = {
    {"POST", "/events", 4}, {"POST", "/pods", 10}, {"POST", "", 8},   {"PATCH", "/status", 5},
    {"PATCH", "", 16},      {"PUT", "", 5},        {"DELETE", "", 8}, {"GET", "", 3},
};

static int64_t price(struct world *w, const struct world_request *q)
{
    struct slice path = q->target;
    path = slice_cut(&path, '?');
    for (size_t i = 0; i < COUNT_OF(prices); i++)
        if (slice_is(q->method, prices[i].method) && slice_has(path, prices[i].in))
            return prices[i].ms + (int64_t)rng_below(&w->rng, (uint64_t)prices[i].ms / 2 + 1); /* up to half more, for larger objects */
    return 0;
}

static int64_t *earliest(struct world_costs *c)
{
    int64_t *core = &c->free_ms[0];
    for (uint32_t i = 1; i < c->cores && i < WORLD_CORES; i++)
        if (c->free_ms[i] < *core)
            core = &c->free_ms[i];
    return core;
}

/* Time at which the request is done, ms; -1: its wait would exceed patience_ms. */
static int64_t queue_up(struct world_costs *c, int64_t at_ms, int64_t cost_ms)
{
    int64_t *core = earliest(c), begin = *core > at_ms ? *core : at_ms;
    if (c->patience_ms && begin - at_ms > c->patience_ms)
        return -1;
    *core = begin + cost_ms;
    return *core;
}

/* Serves the requests of other users that were due until now: one every others_ms. */
static void serve_others(struct world_costs *c, int64_t now_ms)
{
    if (!c->others_ms)
        return;
    if (c->next_ms == 0)
        c->next_ms = now_ms;
    for (; c->next_ms <= now_ms; c->next_ms += c->others_ms) {
        int64_t done = queue_up(c, c->next_ms, OTHERS_MS);
        c->others_refused += done < 0;
        if (done - c->next_ms > c->others_longest_ms)
            c->others_longest_ms = done - c->next_ms;
    }
}

/* Requests without a cost: watches and lists are streams, and the Lease has its own priority level. */
static bool is_free(const struct world_request *q)
{
    return slice_has(q->target, "watch=") || slice_has(q->target, "/leases");
}

void costs_arrived(struct world *w, struct world_request *q)
{
    struct world_costs *c = &w->costs;
    if (!c->cores || q->fate != FATE_SERVED || is_free(q))
        return;
    serve_others(c, w->now.mono_ms);
    int64_t done = queue_up(c, w->now.mono_ms, price(w, q));
    if (done < 0) {
        c->refused++;
        q->fate = FATE_REFUSED;
        q->status = 429;
        q->reason = "";
        q->retry_after_s = 1;
        return;
    }
    c->served++;
    q->delay_ms += done - w->now.mono_ms + c->more_ms;
}
