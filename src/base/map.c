#include <mobula/base.h>

/* Open addressing with linear probing. An entry never moves but in a rehash, and only map_put rehashes: that is why a walk may delete
 * the entry it stands on. A deleted entry leaves a tombstone, which keeps the chains behind it whole. */
struct map_slot {
    struct slice key;
    void *value; /* NULL: free; &tombstone: was deleted */
    uint64_t hash;
};

enum { MAP_FIRST = 8 };

static char tombstone;
static uint64_t map_seed;
static bool map_seeded;

void map_seed_set(uint64_t seed)
{
    map_seed = seed;
    map_seeded = true;
}

static uint64_t key_hash(struct slice key)
{
    if (!map_seeded) {
        random_bytes(&map_seed, sizeof map_seed);
        map_seeded = true;
    }
    return hash64(key, map_seed);
}

static bool is_entry(const struct map_slot *slot)
{
    return slot->value && slot->value != &tombstone;
}

static struct map_slot *find(const struct map *m, struct slice key)
{
    if (m->count == 0)
        return NULL;
    uint64_t hash = key_hash(key);
    uint32_t mask = m->cap - 1;
    for (uint32_t i = (uint32_t)hash & mask; m->slots[i].value; i = (i + 1) & mask) {
        struct map_slot *slot = &m->slots[i];
        if (slot->hash == hash && slot->value != &tombstone && slice_eq(slot->key, key))
            return slot;
    }
    return NULL;
}

/* Puts an entry whose key is not there where its chain ends. */
static void insert(struct map *m, struct map_slot entry)
{
    uint32_t mask = m->cap - 1, i = (uint32_t)entry.hash & mask;
    while (is_entry(&m->slots[i]))
        i = (i + 1) & mask;
    m->used += m->slots[i].value == NULL;
    m->count++;
    m->slots[i] = entry;
}

/* Sweeps the tombstones out, and sizes the table so that it is at most half full. */
static void rehash(struct map *m)
{
    struct map old = *m;
    uint32_t cap = MAP_FIRST;
    while (cap / 2 <= old.count)
        if (__builtin_mul_overflow(cap, 2, &cap))
            fatal("a map has %u entries", old.count);
    *m = (struct map){.slots = mem_alloc(cap * sizeof *m->slots), .cap = cap};
    for (uint32_t i = 0; i < old.cap; i++)
        if (is_entry(&old.slots[i]))
            insert(m, old.slots[i]);
    mem_free(old.slots);
}

void *map_get(const struct map *m, struct slice key)
{
    const struct map_slot *slot = find(m, key);
    return slot ? slot->value : NULL;
}

void *map_put(struct map *m, struct slice key, void *value)
{
    if (!value)
        fatal("map_put: NULL for \"%.*s\"", SLICE_ARG(key));
    struct map_slot *slot = find(m, key);
    if (slot) {
        void *old = slot->value;
        slot->key = key; /* the old key may go with the old value */
        slot->value = value;
        return old;
    }
    if (m->used >= m->cap / 4 * 3) /* also when cap is 0 */
        rehash(m);
    insert(m, (struct map_slot){key, value, key_hash(key)});
    return NULL;
}

void *map_del(struct map *m, struct slice key)
{
    struct map_slot *slot = find(m, key);
    if (!slot)
        return NULL;
    void *old = slot->value;
    *slot = (struct map_slot){.value = &tombstone};
    m->count--;
    /* Tombstones at the end of a chain hold nothing together. */
    uint32_t mask = m->cap - 1, i = (uint32_t)(slot - m->slots);
    if (m->slots[(i + 1) & mask].value)
        return old;
    for (; m->slots[i].value == &tombstone; i = (i - 1) & mask) {
        m->slots[i].value = NULL;
        m->used--;
    }
    return old;
}

void *map_next(const struct map *m, uint32_t *i)
{
    while (*i < m->cap) {
        const struct map_slot *slot = &m->slots[(*i)++];
        if (is_entry(slot))
            return slot->value;
    }
    return NULL;
}

void map_free(struct map *m)
{
    mem_free(m->slots);
    *m = (struct map){0};
}
