/* json_parse takes exactly what a plain recursive reader of RFC 8259 takes, and what it took has a canonical form that means the same. */
#include <mobula/json.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The plain reader: one function per rule of the grammar, each taking its text off the front. */
struct reader {
    struct slice s;
    int depth;
};

static bool take(struct reader *r, const char *text)
{
    if (!slice_starts(r->s, slice_of(text)))
        return false;
    r->s = slice_skip(r->s, strlen(text));
    return true;
}

static bool take_one_of(struct reader *r, const char *set)
{
    if (slice_empty(r->s) || !r->s.ptr[0] || !strchr(set, r->s.ptr[0]))
        return false;
    r->s = slice_skip(r->s, 1);
    return true;
}

static void skip_space(struct reader *r)
{
    while (take_one_of(r, " \t\r\n"))
        ;
}

static bool take_digits(struct reader *r)
{
    bool any = false;
    while (take_one_of(r, "0123456789"))
        any = true;
    return any;
}

static bool take_number(struct reader *r)
{
    take(r, "-");
    if (!take(r, "0") && !take_digits(r))
        return false;
    if (take(r, ".") && !take_digits(r))
        return false;
    if (take_one_of(r, "eE")) {
        take_one_of(r, "+-");
        return take_digits(r);
    }
    return true;
}

static bool take_hex4(struct reader *r, unsigned *unit)
{
    *unit = 0;
    for (int i = 0; i < 4; i++) {
        char c = slice_empty(r->s) ? 'x' : r->s.ptr[0];
        if (!take_one_of(r, "0123456789abcdefABCDEF"))
            return false;
        *unit = *unit * 16 + (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return true;
}

static bool take_escape(struct reader *r)
{
    unsigned unit, low;
    if (!take(r, "u"))
        return take_one_of(r, "\"\\/bfnrt");
    if (!take_hex4(r, &unit))
        return false;
    if (unit < 0xd800 || unit > 0xdfff)
        return true;
    return unit < 0xdc00 && take(r, "\\u") && take_hex4(r, &low) && low >= 0xdc00 && low <= 0xdfff;
}

static bool take_string(struct reader *r)
{
    if (!take(r, "\""))
        return false;
    while (!take(r, "\"")) {
        size_t step = utf8_step(r->s);
        if (step == 0 || (unsigned char)r->s.ptr[0] < 0x20)
            return false;
        if (take(r, "\\")) {
            if (!take_escape(r))
                return false;
            continue;
        }
        r->s = slice_skip(r->s, step);
    }
    return true;
}

static bool take_value(struct reader *r);

static bool take_members(struct reader *r, const char *end, bool keyed)
{
    skip_space(r);
    if (take(r, end))
        return true;
    do {
        skip_space(r);
        if (keyed && !take_string(r))
            return false;
        skip_space(r);
        if ((keyed && !take(r, ":")) || !take_value(r))
            return false;
    } while (take(r, ","));
    return take(r, end);
}

static bool take_value(struct reader *r)
{
    skip_space(r);
    bool ok = false;
    if (++r->depth > LIMIT_JSON_DEPTH + 1)
        ok = false;
    else if (take(r, "{"))
        ok = take_members(r, "}", true);
    else if (take(r, "["))
        ok = take_members(r, "]", false);
    else if (!slice_empty(r->s) && r->s.ptr[0] == '"')
        ok = take_string(r);
    else
        ok = take(r, "null") || take(r, "true") || take(r, "false") || take_number(r);
    r->depth--;
    skip_space(r);
    return ok;
}

static bool plainly_json(struct slice text)
{
    struct reader r = {.s = text};
    return take_value(&r) && slice_empty(r.s);
}

/* Walks everything; each value must lie in the text. */
static void walk(struct jval v, struct slice text, struct arena *a)
{
    struct slice raw = json_raw(v);
    int64_t n;
    double d;
    if (raw.ptr < text.ptr || raw.ptr + raw.len > text.ptr + text.len || json_type(v) == JSON_NONE)
        abort();
    json_int(v, &n);
    json_num(v, &d);
    if (json_type(v) == JSON_STRING && !json_str_eq(v, json_str(v, a)))
        abort();
    struct jval key, value;
    size_t count = 0;
    for (struct jiter it = json_iter(v); json_next(&it, &key, &value); count++) {
        walk(value, text, a);
        if (json_there(key) && json_key(v, json_str(key, a)).at != value.at)
            abort();
    }
    if (count != json_len(v))
        abort();
}

static void check_canonical(struct jval v, struct arena *a)
{
    struct buf one, two;
    struct json again;
    struct err e = {0};
    buf_init(&one, 64 * MIB);
    buf_init(&two, 64 * MIB);
    if (!json_canonical(v, &one) || !json_parse(&again, buf_slice(&one), a, &e) || !json_equal(v, json_root(&again)) ||
        !json_covers(json_root(&again), v) || !json_canonical(json_root(&again), &two) || !slice_eq(buf_slice(&one), buf_slice(&two)))
        abort();
    buf_free(&one);
    buf_free(&two);
}

static bool contains(const char *text, struct slice part)
{
    for (struct slice s = slice_of(text); s.len >= part.len; s = slice_skip(s, 1))
        if (slice_starts(s, part))
            return true;
    return false;
}

/* Of any text something is left; of JSON, JSON that has all but the one member. */
static void check_without(const struct json *doc, struct slice in, struct arena *a)
{
    struct json rest;
    struct err e = {0};
    struct slice text = json_without(in, "a.b", a);
    if (!doc)
        return;
    struct jval had = json_get(json_root(doc), "a");
    if (!json_parse(&rest, text, a, &e))
        abort();
    struct jval has = json_get(json_root(&rest), "a");
    bool was_cut = text.len != in.len;
    if (json_len(has) != json_len(had) - was_cut || json_len(json_root(&rest)) != json_len(json_root(doc)) ||
        (was_cut && json_there(json_key(has, SLICE("b")))))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = {(const char *)data, size};
    struct arena a = {0};
    struct json doc;
    struct err e = {0};
    bool ok = json_parse(&doc, in, &a, &e);
    bool refused_more = e.code == ERR_LIMIT || contains(e.text, SLICE("stands twice"));
    if (ok != plainly_json(in) && !refused_more)
        abort();
    check_without(ok ? &doc : NULL, in, &a);
    if (ok) {
        walk(json_root(&doc), in, &a);
        check_canonical(json_root(&doc), &a);
    }
    arena_free(&a);
    return 0;
}
