#include "token.h"

/* Recursion below goes as deep as the documents, and json_parse has bounded those. */

static bool scalars_equal(struct jval a, struct jval b, struct arena *mem)
{
    switch (json_type(a)) {
    case JSON_NUMBER:
        return json_decimal_eq(json_decimal(json_raw(a)), json_decimal(json_raw(b)));
    case JSON_STRING:
        return json_str_eq(a, json_str(b, mem));
    case JSON_BOOL:
        return json_bool(a, false) == json_bool(b, false);
    default:
        return true;
    }
}

static bool compare(struct jval have, struct jval want, bool cover, struct arena *mem);

static bool compare_arrays(struct jval have, struct jval want, bool cover, struct arena *mem)
{
    struct jval key, h, w;
    struct jiter in_want = json_iter(want);
    for (struct jiter in_have = json_iter(have); json_next(&in_have, &key, &h) && json_next(&in_want, &key, &w);)
        if (!compare(h, w, cover, mem))
            return false;
    return true;
}

static bool compare_objects(struct jval have, struct jval want, bool cover, struct arena *mem)
{
    size_t count = json_len(have), wanted = json_len(want);
    const struct json_member *h = json_members(have, mem), *w = json_members(want, mem);
    for (size_t i = 0; i < wanted; i++)
        if (!compare(json_member_find(h, count, w[i].key), w[i].value, cover, mem))
            return false;
    return true;
}

static bool compare(struct jval have, struct jval want, bool cover, struct arena *mem)
{
    enum json_type type = json_type(want);
    if (json_type(have) != type)
        return false;
    if (type != JSON_OBJECT && type != JSON_ARRAY)
        return scalars_equal(have, want, mem);
    if (slice_eq(json_raw(have), json_raw(want)))
        return true;
    if (type == JSON_ARRAY)
        return json_len(have) == json_len(want) && compare_arrays(have, want, cover, mem);
    if (!cover && json_len(have) != json_len(want))
        return false;
    return compare_objects(have, want, cover, mem);
}

bool json_equal_in(struct jval a, struct jval b, struct arena *mem)
{
    return compare(a, b, false, mem);
}

bool json_equal(struct jval a, struct jval b)
{
    __attribute__((cleanup(arena_free))) struct arena mem = {0};
    return compare(a, b, false, &mem);
}

bool json_covers(struct jval have, struct jval want)
{
    __attribute__((cleanup(arena_free))) struct arena mem = {0};
    return !json_there(want) || compare(have, want, true, &mem);
}

static void write_canonical(struct jval v, struct jout *w, struct arena *mem)
{
    struct jval key, value;
    switch (json_type(v)) {
    case JSON_OBJECT: {
        const struct json_member *members = json_members(v, mem);
        jout_object(w);
        for (size_t i = 0; i < json_len(v); i++) {
            jout_key(w, members[i].key);
            write_canonical(members[i].value, w, mem);
        }
        jout_end(w);
        break;
    }
    case JSON_ARRAY:
        jout_array(w);
        for (struct jiter it = json_iter(v); json_next(&it, &key, &value);)
            write_canonical(value, w, mem);
        jout_end(w);
        break;
    case JSON_STRING:
        jout_str(w, json_str(v, mem));
        break;
    case JSON_NUMBER:
        jout_raw(w, json_decimal_text(json_decimal(json_raw(v)), mem));
        break;
    default:
        jout_raw(w, json_raw(v));
    }
}

bool json_canonical(struct jval v, struct buf *out)
{
    __attribute__((cleanup(arena_free))) struct arena mem = {0};
    struct jout w;
    jout_init(&w, out);
    if (json_there(v))
        write_canonical(v, &w, &mem);
    return !out->full;
}
