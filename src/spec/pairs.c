#include <mobula/pairs.h>

#include <stdlib.h>

struct pairs pairs_new(struct arena *a)
{
    return (struct pairs){.arena = a};
}

static struct pair *find(const struct pairs *p, struct slice key)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (slice_eq(p->list[i].key, key))
            return &p->list[i];
    return NULL;
}

const struct slice *pairs_get(const struct pairs *p, struct slice key)
{
    const struct pair *found = find(p, key);
    return found ? &found->value : NULL;
}

void pairs_set(struct pairs *p, struct slice key, struct slice value)
{
    struct pair *found = find(p, key);
    if (found) {
        found->value = value;
        return;
    }
    if (p->count == p->cap) {
        uint32_t cap = p->cap ? 2 * p->cap : 16;
        struct pair *list = arena_array(p->arena, cap, sizeof *list);
        if (p->count)
            memcpy(list, p->list, p->count * sizeof *list);
        p->list = list;
        p->cap = cap;
    }
    p->list[p->count++] = (struct pair){key, value};
}

void pairs_default(struct pairs *p, struct slice key, struct slice value)
{
    if (!find(p, key))
        pairs_set(p, key, value);
}

void pairs_set_all(struct pairs *p, struct jval text_map)
{
    struct jval k, v;
    for (struct jiter it = json_iter(text_map); json_next(&it, &k, &v);)
        if (json_there(k) && json_type(v) == JSON_STRING)
            pairs_set(p, json_str(k, p->arena), json_str(v, p->arena));
}

static int compare(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    return slice_cmp(x->key, y->key);
}

void pairs_sort(struct pairs *p)
{
    if (p->count)
        qsort(p->list, p->count, sizeof *p->list, compare);
}

void pairs_write(const struct pairs *p, struct jout *w)
{
    jout_object(w);
    for (uint32_t i = 0; i < p->count; i++) {
        jout_key(w, p->list[i].key);
        jout_str(w, p->list[i].value);
    }
    jout_end(w);
}

struct slice pairs_numbers(const struct pairs *p)
{
    struct buf b;
    struct jout w;
    buf_init(&b, LIMIT_JSON_ITEM);
    jout_init(&w, &b);
    jout_object(&w);
    for (uint32_t i = 0; i < p->count; i++) {
        jout_key(&w, p->list[i].key);
        jout_raw(&w, p->list[i].value);
    }
    jout_end(&w);
    struct slice text = arena_dup(p->arena, buf_slice(&b));
    buf_free(&b);
    return text;
}
