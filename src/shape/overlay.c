#include "overlay.h"

#define NOTHING ((struct jval){NULL, -1})

static void put_over(struct jout *w, struct slice key, struct jval under, struct jval over, struct arena *a);

/* The key of an item of such a list, as in Kubernetes' own strategic merge; "" adds items to the list. */
static const struct {
    const char *list, *key;
} keyed[] = {{"containers", "name"},
             {"initContainers", "name"},
             {"volumes", "name"},
             {"env", "name"},
             {"imagePullSecrets", "name"},
             {"hostAliases", "ip"},
             {"volumeMounts", "mountPath"},
             {"ports", "containerPort"},
             {"tolerations", ""},
             {"envFrom", ""},
             {"topologySpreadConstraints", ""}};

static const char *key_of(struct slice list)
{
    for (size_t i = 0; i < COUNT_OF(keyed); i++)
        if (slice_is(list, keyed[i].list))
            return keyed[i].key;
    return NULL;
}

/* The bytes that an item is known by; none: it is like no other. */
static struct slice known_by(struct jval item, const char *key)
{
    struct jval v = json_child(item, key);
    return *key && (json_type(v) == JSON_STRING || json_type(v) == JSON_NUMBER) ? json_raw(v) : SLICE_NONE;
}

struct over_item {
    struct jval value;
    bool used;
};

/* Items of `under` in their order, each merged with the one of `over` that has its name, then the others of `over`. */
static void put_list(struct jout *w, struct jval under, struct jval over, const char *key, struct arena *a)
{
    struct map by_key = {0};
    struct over_item *items = arena_array(a, json_len(over) + 1, sizeof *items);
    struct jval k, v;
    size_t count = 0;
    for (struct jiter it = json_iter(over); json_next(&it, &k, &v); count++) {
        struct slice name = known_by(v, key);
        items[count].value = v;
        if (!slice_empty(name) && !map_get(&by_key, name))
            map_put(&by_key, name, &items[count]);
    }
    jout_array(w);
    for (struct jiter it = json_iter(under); json_next(&it, &k, &v);) {
        struct slice name = known_by(v, key);
        struct over_item *found = slice_empty(name) ? NULL : map_get(&by_key, name);
        bool fresh = found && !found->used;
        if (fresh)
            found->used = true;
        put_over(w, SLICE_NONE, v, fresh ? found->value : v, a);
    }
    for (size_t i = 0; i < count; i++)
        if (!items[i].used)
            put_over(w, SLICE_NONE, NOTHING, items[i].value, a);
    jout_end(w);
    map_free(&by_key);
}

/* Members by their names: objects with very many must not cost their square. */
static struct map index_members(struct jval object, struct arena *a)
{
    struct map all = {0};
    struct jval k, v, *kept = arena_array(a, json_len(object) + 1, sizeof *kept);
    if (json_type(object) == JSON_OBJECT)
        for (struct jiter it = json_iter(object); json_next(&it, &k, &v); kept++) {
            *kept = v;
            map_put(&all, json_str(k, a), kept);
        }
    return all;
}

static void put_object(struct jout *w, struct jval under, struct jval over, struct arena *a)
{
    struct map below = index_members(under, a), above = index_members(over, a);
    struct jval k, v;
    jout_object(w);
    for (struct jiter it = json_iter(under); json_next(&it, &k, &v);) {
        struct slice name = json_str(k, a);
        const struct jval *change = map_get(&above, name);
        if (change && json_type(*change) == JSON_NULL)
            continue;
        jout_key(w, name);
        if (change)
            put_over(w, name, v, *change, a);
        else
            jout_val(w, v);
    }
    for (struct jiter it = json_iter(over); json_next(&it, &k, &v);) {
        struct slice name = json_str(k, a);
        if (json_type(v) == JSON_NULL || map_get(&below, name))
            continue;
        jout_key(w, name);
        put_over(w, name, NOTHING, v, a);
    }
    jout_end(w);
    map_free(&below);
    map_free(&above);
}

/* A value under its key; an item of a list has none. */
static void put_over(struct jout *w, struct slice key, struct jval under, struct jval over, struct arena *a)
{
    const char *by = key.ptr ? key_of(key) : NULL;
    if (json_type(over) == JSON_OBJECT)
        put_object(w, json_type(under) == JSON_OBJECT ? under : NOTHING, over, a);
    else if (json_type(over) == JSON_ARRAY && json_type(under) == JSON_ARRAY && by)
        put_list(w, under, over, by, a);
    else
        jout_val(w, over);
}

bool overlay(struct jval under, struct jval over, struct arena *a, struct slice *out, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf text = {.max = LIMIT_JSON_ITEM};
    struct jout w;
    jout_init(&w, &text);
    put_over(&w, SLICE_NONE, under, over, a);
    *out = text.full ? SLICE_NONE : arena_dup(a, buf_slice(&text));
    return !text.full || err_set(e, ERR_LIMIT, "the pod template is larger than %d bytes (LIMIT_JSON_ITEM)", LIMIT_JSON_ITEM);
}
