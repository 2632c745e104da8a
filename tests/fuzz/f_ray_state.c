/* What a head says of its cluster: a state that keeps what ray.h promises, or an error and nothing. */
#include <mobula/ray.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_bundle(const struct ray_bundle *b)
{
    must(b->count <= LIMIT_RAY_RESOURCES);
    for (uint32_t i = 0; i < b->count; i++) {
        must(b->list[i].amount > 0 && b->list[i].amount <= LIMIT_RAY_AMOUNT * RAY_QUANTUM);
        must(i == 0 || slice_cmp(b->list[i - 1].name, b->list[i].name) < 0);
        must(utf8_valid(b->list[i].name));
    }
}

static void check_request(const struct ray_request *r)
{
    check_bundle(&r->bundle);
    must(r->selector_count != 1 || r->selectors[0].count > 0);
    for (uint32_t i = 0; i < r->selector_count; i++)
        for (uint32_t j = 0; j < r->selectors[i].count; j++)
            for (uint32_t k = 0; k < r->selectors[i].list[j].value_count; k++)
                must(utf8_valid(r->selectors[i].list[j].values[k]));
}

static void check_demands(const struct ray_demands *d)
{
    for (uint32_t i = 0; i < d->count; i++) {
        must(d->list[i].count > 0 && d->list[i].count <= LIMIT_RAY_COUNT);
        check_request(&d->list[i].request);
    }
}

static void check_node(const struct ray_node *n)
{
    must(n->id.len == RAY_NODE_ID);
    must(n->idle_ms >= 0 && (n->idle_ms == 0 || n->status == RAY_NODE_IDLE));
    check_bundle(&n->total);
    check_bundle(&n->available);
    for (uint32_t i = 1; i < n->label_count; i++)
        must(slice_cmp(n->labels[i - 1].key, n->labels[i].key) <= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a = {0};
    struct err e = {0};
    struct ray_state s;
    bool ok = ray_state_read((struct slice){(const char *)data, size}, &a, &s, &e);
    must(ok == (e.code == ERR_NONE));
    must(ok || (!s.node_count && !s.demands.count && !s.gang_count && !s.constraint_count));
    for (uint32_t i = 0; i < s.node_count; i++)
        check_node(&s.nodes[i]);
    check_demands(&s.demands);
    for (uint32_t i = 0; i < s.gang_count; i++)
        for (uint32_t j = 0; j < s.gangs[i].count; j++)
            check_request(&s.gangs[i].requests[j]);
    for (uint32_t i = 0; i < s.constraint_count; i++)
        check_demands(&s.constraints[i]);
    arena_free(&a);
    return 0;
}
