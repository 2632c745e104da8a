#include "dom.h"

#include <stdio.h>
#include <stdlib.h>

struct node *dom_new(struct arena *a, enum json_type type)
{
    struct node *n = arena_new(a, struct node);
    n->type = type;
    return n;
}

struct node *dom_new_str(struct arena *a, struct slice text)
{
    struct node *n = dom_new(a, JSON_STRING);
    n->text = text.ptr ? text : SLICE("");
    return n;
}

struct node *dom_new_int(struct arena *a, int64_t value)
{
    struct node *n = dom_new(a, JSON_NUMBER);
    n->text = arena_printf(a, "%lld", (long long)value);
    return n;
}

struct node *dom_new_bool(struct arena *a, bool b)
{
    struct node *n = dom_new(a, JSON_BOOL);
    n->text = b ? SLICE("true") : SLICE("false");
    return n;
}

struct node *dom_push(struct node *array, struct node *value)
{
    value->next = NULL;
    if (array->last)
        array->last->next = value;
    else
        array->child = value;
    array->last = value;
    return value;
}

/* ---- bytes to tree and back ---- */

static struct node *from_value(struct jval v, struct arena *a)
{
    struct node *n = dom_new(a, json_type(v));
    if (n->type == JSON_STRING)
        n->text = json_str(v, a);
    else if (n->type == JSON_NUMBER || n->type == JSON_BOOL)
        n->text = json_raw(v);
    if (n->type != JSON_OBJECT && n->type != JSON_ARRAY)
        return n;
    struct jval k, x;
    for (struct jiter it = json_iter(v); json_next(&it, &k, &x);) {
        struct node *child = from_value(x, a);
        if (n->type == JSON_OBJECT)
            child->key = json_str(k, a);
        dom_push(n, child);
    }
    return n;
}

struct node *dom_parse(struct slice json, struct arena *a, struct err *e)
{
    struct json *doc = arena_new(a, struct json);
    if (!json_parse(doc, json, a, e))
        return NULL;
    return from_value(json_root(doc), a);
}

struct node *dom_literal(struct arena *a, const char *json)
{
    struct err e = {0};
    struct node *n = dom_parse(slice_of(json), a, &e);
    if (!n)
        fatal("literal %s: %s", json, e.text);
    return n;
}

struct node *dom_copy(const struct node *n, struct arena *a)
{
    if (!n)
        return NULL;
    struct node *copy = dom_new(a, n->type);
    copy->key = n->key;
    copy->text = n->text;
    for (const struct node *c = n->child; c; c = c->next)
        dom_push(copy, dom_copy(c, a));
    return copy;
}

void dom_write(const struct node *n, struct jout *w)
{
    switch (n->type) {
    case JSON_NONE:
    case JSON_NULL:
        jout_null(w);
        return;
    case JSON_BOOL:
    case JSON_NUMBER:
        jout_raw(w, n->text);
        return;
    case JSON_STRING:
        jout_str(w, n->text);
        return;
    case JSON_ARRAY:
        jout_array(w);
        break;
    case JSON_OBJECT:
        jout_object(w);
        break;
    }
    for (const struct node *c = n->child; c; c = c->next) {
        if (n->type == JSON_OBJECT)
            jout_key(w, c->key);
        dom_write(c, w);
    }
    jout_end(w);
}

bool dom_print(const struct node *n, struct buf *out)
{
    struct jout w;
    jout_init(&w, out);
    dom_write(n, &w);
    return !out->full;
}

struct slice dom_text(const struct node *n, struct arena *a)
{
    struct buf b;
    buf_init(&b, 64 * (size_t)MIB);
    dom_print(n, &b);
    struct slice text = arena_dup(a, buf_slice(&b));
    buf_free(&b);
    return text;
}

/* ---- reading ---- */

struct node *dom_key(const struct node *object, struct slice key)
{
    if (!dom_is(object, JSON_OBJECT))
        return NULL;
    for (struct node *c = object->child; c; c = c->next)
        if (slice_eq(c->key, key))
            return c;
    return NULL;
}

struct node *dom_get(const struct node *n, const char *path)
{
    struct slice rest = slice_of(path);
    struct node *at = NULL;
    while (rest.ptr) {
        at = dom_key(n, slice_cut(&rest, '.'));
        n = at;
    }
    return at;
}

struct node *dom_at(const struct node *array, size_t index)
{
    struct node *c = dom_is(array, JSON_ARRAY) ? array->child : NULL;
    while (c && index--)
        c = c->next;
    return c;
}

struct slice dom_str(const struct node *n, const char *path)
{
    const struct node *at = dom_get(n, path);
    return dom_is(at, JSON_STRING) || dom_is(at, JSON_NUMBER) ? at->text : SLICE_NONE;
}

int64_t dom_int(const struct node *n, const char *path, int64_t otherwise)
{
    const struct node *at = dom_get(n, path);
    int64_t value;
    return dom_is(at, JSON_NUMBER) && slice_int(at->text, &value) ? value : otherwise;
}

bool dom_true(const struct node *n, const char *path)
{
    const struct node *at = dom_get(n, path);
    return dom_is(at, JSON_BOOL) && at->text.ptr[0] == 't';
}

size_t dom_len(const struct node *n)
{
    size_t count = 0;
    for (const struct node *c = n ? n->child : NULL; c; c = c->next)
        count++;
    return count;
}

static bool members_equal(const struct node *a, const struct node *b)
{
    if (dom_len(a) != dom_len(b))
        return false;
    const struct node *guess = b->child; /* nearly always the members stand in the same order */
    for (const struct node *c = a->child; c; c = c->next) {
        const struct node *other = guess && slice_eq(guess->key, c->key) ? guess : dom_key(b, c->key);
        if (!other || !dom_equal(c, other))
            return false;
        guess = other->next;
    }
    return true;
}

bool dom_equal(const struct node *a, const struct node *b)
{
    if (!a || !b)
        return a == b;
    if (a->type != b->type)
        return false;
    if (a->type == JSON_OBJECT)
        return members_equal(a, b);
    if (a->type != JSON_ARRAY)
        return slice_eq(a->text, b->text);
    const struct node *x = a->child, *y = b->child;
    for (; x && y; x = x->next, y = y->next)
        if (!dom_equal(x, y))
            return false;
    return x == y;
}

/* ---- building ---- */

struct node *dom_put(struct node *object, struct slice key, struct node *value)
{
    struct node *old = dom_key(object, key);
    if (old == value)
        return value;
    value->key = key;
    if (!old)
        return dom_push(object, value);
    struct node **link = &object->child;
    while (*link != old)
        link = &(*link)->next;
    *link = value;
    value->next = old->next;
    if (object->last == old)
        object->last = value;
    return value;
}

void dom_put_str(struct arena *a, struct node *object, const char *key, struct slice text)
{
    dom_put(object, slice_of(key), dom_new_str(a, text));
}

void dom_put_int(struct arena *a, struct node *object, const char *key, int64_t n)
{
    dom_put(object, slice_of(key), dom_new_int(a, n));
}

void dom_put_bool(struct arena *a, struct node *object, const char *key, bool b)
{
    dom_put(object, slice_of(key), dom_new_bool(a, b));
}

struct node *dom_want(struct arena *a, struct node *object, const char *key, enum json_type type)
{
    struct node *n = dom_key(object, slice_of(key));
    if (dom_is(n, type))
        return n;
    return dom_put(object, slice_of(key), dom_new(a, type));
}

void dom_default_str(struct arena *a, struct node *object, const char *key, const char *text)
{
    if (!dom_key(object, slice_of(key)))
        dom_put_str(a, object, key, slice_of(text));
}

void dom_default_int(struct arena *a, struct node *object, const char *key, int64_t n)
{
    if (!dom_key(object, slice_of(key)))
        dom_put_int(a, object, key, n);
}

void dom_default_bool(struct arena *a, struct node *object, const char *key, bool b)
{
    if (!dom_key(object, slice_of(key)))
        dom_put_bool(a, object, key, b);
}

void dom_unlink(struct node *parent, const struct node *child)
{
    struct node *before = NULL;
    for (struct node *c = parent->child; c; before = c, c = c->next) {
        if (c != child)
            continue;
        if (before)
            before->next = c->next;
        else
            parent->child = c->next;
        if (parent->last == c)
            parent->last = before;
        return;
    }
}

void dom_drop(struct node *object, const char *key)
{
    const struct node *n = dom_key(object, slice_of(key));
    if (n)
        dom_unlink(object, n);
}

void dom_drop_nulls(struct node *n)
{
    for (struct node *c = n->child, *next; c; c = next) {
        next = c->next;
        if (c->type == JSON_NULL && n->type == JSON_OBJECT)
            dom_unlink(n, c);
        else
            dom_drop_nulls(c);
    }
}

/* The fewest digits that give the same number again. */
static struct slice canonical_number(struct slice text, struct arena *a)
{
    enum { EXACT = 17 };
    const double whole_max = 1e15;
    char out[32];
    double value = strtod(arena_dup(a, text).ptr, NULL);
    if (value == (double)(int64_t)value && value < whole_max && value > -whole_max)
        return arena_printf(a, "%.0f", value);
    for (int digits = 1; digits <= EXACT; digits++) {
        snprintf(out, sizeof out, "%.*g", digits, value);
        if (!(strtod(out, NULL) < value) && !(strtod(out, NULL) > value))
            break;
    }
    return arena_dup(a, slice_of(out));
}

void dom_canonical_numbers(struct node *n, struct arena *a)
{
    if (n->type == JSON_NUMBER && (slice_find(n->text, '.') >= 0 || slice_find(n->text, 'e') >= 0 || slice_find(n->text, 'E') >= 0))
        n->text = canonical_number(n->text, a);
    for (struct node *c = n->child; c; c = c->next)
        dom_canonical_numbers(c, a);
}
