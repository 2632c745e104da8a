#include "token.h"

#include <stdlib.h>

/* So many keys are compared with each other. */
enum { FEW = 16 };

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

/* The common case, without sorting. A bit for each length and last byte that was seen spares most comparisons. */
static bool few_unique(struct jval object, struct arena *a, struct err *e)
{
    struct slice keys[FEW];
    const struct json_token *tokens = object.doc->tokens;
    size_t count = json_len(object);
    uint32_t at = (uint32_t)object.at + 1;
    uint64_t seen = 0;
    for (size_t n = 0; n < count; n++, at = tokens[at + 1].next) {
        struct slice key = json_token_text(object.doc, &tokens[at], a);
        uint64_t bit = (uint64_t)1 << ((key.len + (key.len ? 5U * (unsigned char)key.ptr[key.len - 1] : 0)) & 63);
        for (size_t i = 0; i < n && (seen & bit); i++)
            if (slice_eq(keys[i], key))
                return refuse(object, key, e);
        keys[n] = key;
        seen |= bit;
    }
    return true;
}

bool json_members_unique(struct jval object, struct arena *a, struct err *e)
{
    size_t count = json_len(object);
    if (count <= FEW)
        return few_unique(object, a, e);
    struct json_member *members = json_members(object, a);
    for (size_t i = 1; i < count; i++)
        if (slice_eq(members[i - 1].key, members[i].key))
            return refuse(object, members[i].key, e);
    return true;
}
