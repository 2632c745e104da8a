#include "token.h"

#include <stdlib.h>

static int by_key(const void *a, const void *b)
{
    return slice_cmp(((const struct json_member *)a)->key, ((const struct json_member *)b)->key);
}

struct json_member *json_members(struct jval object, struct arena *a)
{
    size_t count = json_len(object);
    struct json_member *members = arena_array(a, count, sizeof *members), *m = members;
    struct jval key, value;
    for (struct jiter it = json_iter(object); json_next(&it, &key, &value); m++)
        *m = (struct json_member){json_str(key, a), value};
    if (count > 1)
        qsort(members, count, sizeof *members, by_key);
    return members;
}

struct jval json_member_find(const struct json_member *members, size_t count, struct slice key)
{
    struct json_member wanted = {.key = key};
    const struct json_member *m = count ? bsearch(&wanted, members, count, sizeof *members, by_key) : NULL;
    return m ? m->value : JVAL_NONE;
}

static bool refuse(struct jval object, struct slice key, struct err *e)
{
    return err_set(e, ERR_SYNTAX, "byte %zu: key \"%.*s\" stands twice in this object", json_offset(object), SLICE_ARG(key));
}

/* The common case without memory: few members, none of them escaped. */
static bool few_unique(struct jval object, struct err *e)
{
    struct slice keys[16];
    size_t count = 0;
    struct jval key, value;
    for (struct jiter it = json_iter(object); json_next(&it, &key, &value); count++) {
        struct slice quoted = json_raw(key);
        for (size_t i = 0; i < count; i++)
            if (slice_eq(keys[i], quoted))
                return refuse(object, (struct slice){quoted.ptr + 1, quoted.len - 2}, e);
        keys[count] = quoted;
    }
    return true;
}

static bool any_escaped(struct jval object)
{
    struct jval key, value;
    for (struct jiter it = json_iter(object); json_next(&it, &key, &value);)
        if (json_token(key)->escaped)
            return true;
    return false;
}

bool json_members_unique(struct jval object, struct arena *a, struct err *e)
{
    size_t count = json_len(object);
    if (count <= 16 && !any_escaped(object))
        return few_unique(object, e);
    struct json_member *members = json_members(object, a);
    for (size_t i = 1; i < count; i++)
        if (slice_eq(members[i - 1].key, members[i].key))
            return refuse(object, members[i].key, e);
    return true;
}
