/* Whether two states say the same. Ray writes its lists and maps in any order, so what is hashed of each node is added up. */
#include <mobula/heads.h>

static uint64_t add_text(uint64_t hash, struct slice s)
{
    return hash64(s, hash ^ s.len); /* so that "ab" and "c" are not "a" and "bc" */
}

static uint64_t add_number(uint64_t hash, int64_t n)
{
    return hash64((struct slice){(const char *)&n, sizeof n}, hash);
}

static uint64_t add_bundle(uint64_t hash, const struct ray_bundle *b)
{
    hash = add_number(hash, b->count);
    for (uint32_t i = 0; i < b->count; i++)
        hash = add_number(add_text(hash, b->list[i].name), b->list[i].amount);
    return hash;
}

static uint64_t node_hash(const struct ray_node *n)
{
    uint64_t hash = add_number(add_text(add_text(add_text(add_text(1, n->id), n->instance_id), n->type), n->ip), n->status);
    hash = add_bundle(add_bundle(hash, &n->total), &n->available);
    for (uint32_t i = 0; i < n->label_count; i++)
        hash = add_text(add_text(hash, n->labels[i].key), n->labels[i].value);
    return hash;
}

uint64_t ray_state_quiet(const struct ray_state *s)
{
    if (s->demands.count || s->gang_count || s->constraint_count)
        return 0;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->node_count; i++)
        sum += node_hash(&s->nodes[i]);
    return add_number(add_text(sum, s->session), s->node_count) | 1;
}
