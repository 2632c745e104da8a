/* What a head says of its cluster, as the lines of tests/data/ray/gcs/state-….txt: amounts as they are stored. */
#ifndef MOBULA_TEST_STATE_TEXT_H
#define MOBULA_TEST_STATE_TEXT_H

#include "../grpc/hex.h"

#include <mobula/ray.h>

__attribute__((unused)) static void text_of_bundle(struct buf *b, struct ray_bundle bundle)
{
    for (uint32_t i = 0; i < bundle.count; i++)
        buf_printf(b, "%s%.*s=%" PRId64, i ? " " : "", SLICE_ARG(bundle.list[i].name), bundle.list[i].amount);
}

__attribute__((unused)) static void text_of_selector(struct buf *b, const struct ray_selector *s)
{
    buf_printf(b, " [");
    for (uint32_t i = 0; i < s->count; i++) {
        const struct ray_condition *c = &s->list[i];
        buf_printf(b, "%s%.*s %s (", i ? ", " : "", SLICE_ARG(c->key), c->not_in ? "not in" : "in");
        for (uint32_t j = 0; j < c->value_count; j++)
            buf_printf(b, "%s%.*s", j ? " " : "", SLICE_ARG(c->values[j]));
        buf_printf(b, ")");
    }
    buf_printf(b, "]");
}

__attribute__((unused)) static void text_of_request(struct buf *b, const struct ray_request *r)
{
    buf_printf(b, "{");
    text_of_bundle(b, r->bundle);
    buf_printf(b, "}");
    for (uint32_t i = 0; i < r->selector_count; i++)
        text_of_selector(b, &r->selectors[i]);
    if (!slice_empty(r->anti_affinity))
        buf_printf(b, " apart %.*s=%.*s", SLICE_ARG(r->anti_affinity), SLICE_ARG(r->anti_affinity_value));
    if (!slice_empty(r->affinity))
        buf_printf(b, " together %.*s=%.*s", SLICE_ARG(r->affinity), SLICE_ARG(r->affinity_value));
    buf_printf(b, "\n");
}

__attribute__((unused)) static void text_of_node(struct buf *b, const struct ray_node *n)
{
    static const char *const statuses[] = {"UNSPECIFIED", "RUNNING", "DEAD", "IDLE", "DRAINING"};
    struct arena a = {0};
    buf_printf(b, "node %.*s %s %" PRId64 " %.*s %.*s %.*s\n  total ", SLICE_ARG(to_hex(n->id, &a)), statuses[n->status], n->idle_ms,
               SLICE_ARG(n->instance_id), SLICE_ARG(n->type), SLICE_ARG(n->ip));
    text_of_bundle(b, n->total);
    buf_printf(b, "\n  available ");
    text_of_bundle(b, n->available);
    buf_printf(b, "\n  labels");
    for (uint32_t i = 0; i < n->label_count; i++)
        buf_printf(b, " %.*s=%.*s", SLICE_ARG(n->labels[i].key), SLICE_ARG(n->labels[i].value));
    buf_printf(b, "\n");
    arena_free(&a);
}

__attribute__((unused)) static void text_of_demands(struct buf *b, const char *each, const struct ray_demands *d)
{
    for (uint32_t i = 0; i < d->count; i++) {
        buf_printf(b, "%s %" PRId64 " ", each, d->list[i].count);
        text_of_request(b, &d->list[i].request);
    }
}

__attribute__((unused)) static void text_of_state(struct buf *b, const struct ray_state *s)
{
    static const char *const strategies[] = {"PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"};
    buf_printf(b, "session %.*s\nversion %" PRId64 "\n", SLICE_ARG(s->session), s->version);
    for (uint32_t i = 0; i < s->node_count; i++)
        text_of_node(b, &s->nodes[i]);
    text_of_demands(b, "demand", &s->demands);
    for (uint32_t i = 0; i < s->gang_count; i++) {
        buf_printf(b, "gang %s %.*s\n", strategies[s->gangs[i].strategy], SLICE_ARG(s->gangs[i].details));
        for (uint32_t j = 0; j < s->gangs[i].count; j++) {
            buf_printf(b, "  ");
            text_of_request(b, &s->gangs[i].requests[j]);
        }
    }
    for (uint32_t i = 0; i < s->constraint_count; i++) {
        buf_printf(b, "constraint\n");
        text_of_demands(b, " ", &s->constraints[i]);
    }
}

#endif
