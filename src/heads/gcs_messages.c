#include "gcs.h"
#include <mobula/grpc.h>

/* ---- ReportAutoscalingState ---- */

static void put_bundle(struct buf *b, uint32_t number, const struct ray_bundle *bundle)
{
    for (uint32_t i = 0; i < bundle->count; i++) {
        size_t at = proto_open(b, number);
        proto_put_bytes(b, 1, bundle->list[i].name);
        proto_put_double(b, 2, (double)bundle->list[i].amount / RAY_QUANTUM);
        proto_close(b, at);
    }
}

/* field: 1 anti-affinity, 2 affinity */
static void put_placement(struct buf *b, uint32_t field, struct slice name, struct slice value)
{
    if (slice_empty(name))
        return;
    size_t constraint = proto_open(b, 2), at = proto_open(b, field);
    proto_put_bytes(b, 1, name);
    proto_put_bytes(b, 2, value);
    proto_close(b, at);
    proto_close(b, constraint);
}

static void put_selector(struct buf *b, const struct ray_selector *s)
{
    enum { IN = 1, NOT_IN = 2 };
    size_t at = proto_open(b, 3);
    for (uint32_t i = 0; i < s->count; i++) {
        size_t condition = proto_open(b, 1);
        proto_put_bytes(b, 1, s->list[i].key);
        proto_put_int(b, 2, s->list[i].not_in ? NOT_IN : IN);
        for (uint32_t j = 0; j < s->list[i].value_count; j++)
            proto_put_bytes(b, 3, s->list[i].values[j]);
        proto_close(b, condition);
    }
    proto_close(b, at);
}

static void put_request(struct buf *b, uint32_t number, const struct ray_request *r)
{
    size_t at = proto_open(b, number);
    put_bundle(b, 1, &r->bundle);
    put_placement(b, 1, r->anti_affinity, r->anti_affinity_value);
    put_placement(b, 2, r->affinity, r->affinity_value);
    for (uint32_t i = 0; i < r->selector_count; i++)
        put_selector(b, &r->selectors[i]);
    proto_close(b, at);
}

static void put_gang(struct buf *b, uint32_t number, const struct ray_gang *g)
{
    size_t at = proto_open(b, number);
    for (uint32_t i = 0; i < g->count; i++)
        put_request(b, 1, &g->requests[i]);
    proto_put_bytes(b, 2, g->details);
    proto_close(b, at);
}

static void put_constraint(struct buf *b, uint32_t number, const struct ray_demands *d)
{
    size_t at = proto_open(b, number);
    for (uint32_t i = 0; i < d->count; i++) {
        size_t demand = proto_open(b, 1);
        put_request(b, 1, &d->list[i].request);
        proto_put_int(b, 2, d->list[i].count);
        proto_close(b, demand);
    }
    proto_close(b, at);
}

/* Whether what was put since `before` fits; else it is taken back. */
static bool fits(struct buf *b, size_t before)
{
    enum { CLOSING = 3 }; /* the bytes that proto_close adds to a message of LIMIT_RAY_REPORT */
    if (!b->full && b->len + CLOSING <= b->max)
        return true;
    b->len = before;
    b->full = false;
    return false;
}

static void put_launches(struct buf *b, const struct ray_report *r)
{
    enum { REQUESTED = 3, FAILED = 8 };
    for (uint32_t i = 0; i < r->launch_count; i++) {
        size_t before = b->len, at = proto_open(b, REQUESTED);
        proto_put_bytes(b, 2, r->launches[i].type);
        proto_put_int(b, 3, r->launches[i].count);
        proto_put_int(b, 4, r->launches[i].at_s);
        proto_close(b, at);
        if (!fits(b, before))
            break;
    }
    for (uint32_t i = 0; i < r->failure_count; i++) {
        size_t before = b->len, at = proto_open(b, FAILED);
        proto_put_bytes(b, 2, r->failures[i].type);
        proto_put_int(b, 3, r->failures[i].count);
        proto_put_bytes(b, 4, r->failures[i].reason);
        proto_put_int(b, 5, r->failures[i].at_s);
        proto_put_int(b, 6, r->failures[i].at_s);
        proto_close(b, at);
        if (!fits(b, before))
            break;
    }
}

static void put_launching(struct buf *b, const struct ray_report *r)
{
    enum { PENDING = 7 };
    for (uint32_t i = 0; i < r->launching_count; i++) {
        size_t before = b->len, at = proto_open(b, PENDING);
        proto_put_bytes(b, 2, r->launching[i].type);
        proto_put_bytes(b, 3, r->launching[i].instance_id);
        proto_put_bytes(b, 4, r->launching[i].ip);
        proto_put_bytes(b, 5, r->launching[i].details);
        proto_close(b, at);
        if (!fits(b, before))
            break;
    }
}

/* One for each shape: nobody counts them. */
static void put_infeasible(struct buf *b, const struct ray_demands *d)
{
    for (uint32_t i = 0; i < d->count; i++) {
        size_t before = b->len;
        put_request(b, 4, &d->list[i].request);
        if (!fits(b, before))
            break;
    }
}

/* Of each kind there is as much as fits. Pods that are launched are the most by far, and so the last. */
void gcs_write_report(const struct ray_report *r, int64_t version, struct buf *out)
{
    bool room = true;
    size_t state = proto_open(out, 1);
    proto_put_int(out, 1, r->state_version);
    proto_put_int(out, 2, version);
    put_launches(out, r);
    put_infeasible(out, &r->infeasible);
    for (uint32_t i = 0; i < r->gang_count && room; i++) {
        size_t before = out->len;
        put_gang(out, 5, r->gangs[i]);
        room = fits(out, before);
    }
    room = true;
    for (uint32_t i = 0; i < r->constraint_count && room; i++) {
        size_t before = out->len;
        put_constraint(out, 6, r->constraints[i]);
        room = fits(out, before);
    }
    put_launching(out, r);
    proto_close(out, state);
}

/* ---- DrainNode ---- */

bool gcs_write_drain(const struct ray_drain *d, struct buf *out, struct err *e)
{
    enum { IDLE_TERMINATION = 1, PREEMPTION = 2 };
    if (d->node_id.len != RAY_NODE_ID)
        return err_set(e, ERR_RANGE, "a node's id has %d bytes, not %zu", RAY_NODE_ID, d->node_id.len);
    proto_put_bytes(out, 1, d->node_id);
    proto_put_int(out, 2, d->preempt ? PREEMPTION : IDLE_TERMINATION);
    proto_put_bytes(out, 3, d->message);
    proto_put_int(out, 4, d->deadline_ms);
    return !out->full || err_set(e, ERR_LIMIT, "the message of a drain is too long");
}

bool gcs_read_drain(struct slice reply, bool *accepted, struct slice *words, struct err *e)
{
    struct err bad = {0};
    int64_t yes = 0;
    *words = SLICE("");
    for (struct proto_field f; bad.code == ERR_NONE && proto_next(&reply, &f, &bad);) {
        if (f.number == 1)
            proto_int(&f, &yes, &bad);
        else if (f.number == 2)
            proto_bytes(&f, words, &bad);
    }
    *accepted = bad.code == ERR_NONE && yes != 0;
    return bad.code == ERR_NONE || err_set(e, bad.code, "%s", bad.text);
}

/* ---- grpc.health.v1 ---- */

bool gcs_read_health(struct slice reply, struct err *e)
{
    enum { SERVING = 1 };
    struct err bad = {0};
    int64_t status = 0;
    for (struct proto_field f; bad.code == ERR_NONE && proto_next(&reply, &f, &bad);)
        if (f.number == 1)
            proto_int(&f, &status, &bad);
    if (bad.code != ERR_NONE)
        return err_set(e, bad.code, "%s", bad.text);
    return status == SERVING || err_set(e, ERR_STATUS, "the GCS answers that it is not serving (health status %lld)", (long long)status);
}
