#include "tree.h"

#include <mobula/json.h>

struct writer {
    struct tree *t;
    struct buf *json, *marks;
    struct jout out;
    unsigned depth, merging;
    const struct node *copied; /* the alias or merge key through which what is written now is reached */
    size_t copies;             /* bytes that were written so */
};

/* The content of a mapping when its merge keys are followed. */
struct member {
    struct member *next;
    struct slice key;
    struct node *value;
    uint32_t line;
    const struct node *merged; /* the merge key by which it came */
    bool given;                /* it has this key itself */
};

struct members {
    struct map map;
    struct member *first, **tail;
};

static bool fail(struct writer *w, const struct node *n, enum err_code code, const char *what, struct slice text)
{
    return tree_fail(w->t, n->line, n->column, code, what, text);
}

/* A few lines of aliases of aliases can stand for more than any memory holds. What stands around a text is counted with it. */
static bool count_copy(struct writer *w, const struct node *through, size_t text)
{
    enum { AROUND = 4 }; /* quotes, a colon, a comma */
    if (!through)
        return true;
    w->copies += text + AROUND;
    return w->copies <= LIMIT_YAML_ALIASED ||
           fail(w, through, ERR_LIMIT, "aliases and merge keys add more than 1 MiB to this document (LIMIT_YAML_ALIASED)", SLICE_NONE);
}

/* ---- keys ---- */

static bool read_key(struct writer *w, const struct node *n, struct slice *key)
{
    const struct node *real = n->kind == NODE_ALIAS ? n->inner : n;
    if (real->kind != NODE_SCALAR)
        return fail(w, n, ERR_SYNTAX, "a key that is a list or an object", SLICE_NONE);
    return scalar_key(real->scalar, w->t->scratch, key) ||
           fail(w, n, ERR_SYNTAX, "a key that is null: put quotes around", real->scalar.text);
}

static bool put_member(struct writer *w, struct members *all, const struct node *at, struct member m)
{
    struct member *old = map_get(&all->map, m.key);
    if (!old) {
        struct member *new = arena_new(w->t->scratch, struct member);
        *new = m;
        map_put(&all->map, m.key, new);
        *all->tail = new;
        all->tail = &new->next;
        return true;
    }
    if (old->given && m.given)
        return fail(w, at, ERR_SYNTAX, "this key stands twice:", m.key);
    if (m.merged && m.merged == old->merged) /* of a list of objects the first one counts … */
        return true;
    m.given |= old->given; /* … else the later one, a merge key or not: so has kubectl's reader */
    m.next = old->next;
    *old = m;
    return true;
}

static bool collect(struct writer *w, const struct node *mapping, struct members *all);

static bool merge_mapping(struct writer *w, const struct node *key, const struct node *from, struct members *all)
{
    struct members theirs = {0};
    const struct node *real = from->kind == NODE_ALIAS ? from->inner : from;
    if (real->kind != NODE_MAPPING)
        return fail(w, from, ERR_SYNTAX, "a merge key << takes an object or a list of objects", SLICE_NONE);
    if (real->open)
        return fail(w, from, ERR_SYNTAX, "this alias stands inside of its own anchor's value", SLICE_NONE);
    if (w->merging == LIMIT_YAML_DEPTH)
        return fail(w, from, ERR_LIMIT, "merge keys nested too deep (LIMIT_YAML_DEPTH)", SLICE_NONE);
    w->merging++;
    bool ok = count_copy(w, key, 0) && collect(w, real, &theirs);
    w->merging--;
    for (struct member *m = theirs.first; ok && m; m = m->next)
        ok = count_copy(w, key, m->key.len) && put_member(w, all, key, (struct member){NULL, m->key, m->value, key->line, key, false});
    map_free(&theirs.map);
    return ok;
}

static bool collect(struct writer *w, const struct node *mapping, struct members *all)
{
    bool ok = true;
    all->tail = &all->first;
    for (const struct node *key = mapping->inner; ok && key; key = key->next->next) {
        struct node *value = key->next;
        struct member m = {.value = value, .line = key->line, .given = true};
        if (!key->merge)
            ok = read_key(w, key, &m.key) && put_member(w, all, key, m);
        else if (value->kind != NODE_LIST)
            ok = merge_mapping(w, key, value, all);
        else
            for (const struct node *item = value->inner; ok && item; item = item->next)
                ok = merge_mapping(w, key, item, all);
    }
    return ok;
}

/* ---- values ---- */

/* Remembers where the value stood that is written next: with the key that it is behind, or with the alias that it comes from. */
static bool mark_value(struct writer *w, const struct node *n, uint32_t line)
{
    const struct buf *json = w->json;
    bool comma = json->len > 0 && json->ptr[json->len - 1] != '[' && json->ptr[json->len - 1] != ':';
    struct yaml_mark mark = {(uint32_t)(json->len + comma), w->copied ? w->copied->line : line};
    return buf_put(w->marks, (struct slice){(const char *)&mark, sizeof mark}) ||
           fail(w, n, ERR_LIMIT, "more values than a document may have (LIMIT_JSON_TOKENS)", SLICE_NONE);
}

static bool write_scalar(struct writer *w, const struct node *n)
{
    if (n->scalar.type == SCALAR_NO_JSON)
        return fail(w, n, ERR_SYNTAX, "JSON has no such number: put quotes around", n->scalar.text);
    if (n->scalar.type == SCALAR_STRING)
        jout_str(&w->out, n->scalar.text);
    else
        jout_raw(&w->out, n->scalar.text);
    return count_copy(w, w->copied, n->scalar.text.len);
}

static bool write_node(struct writer *w, struct node *n, uint32_t line);

static bool write_list(struct writer *w, struct node *n)
{
    bool ok = true;
    jout_array(&w->out);
    for (struct node *item = n->inner; ok && item; item = item->next)
        ok = write_node(w, item, item->line);
    return ok;
}

static bool write_mapping(struct writer *w, struct node *n)
{
    struct members all = {0};
    const struct node *copied = w->copied;
    bool ok = collect(w, n, &all);
    map_free(&all.map);
    jout_object(&w->out);
    for (struct member *m = all.first; ok && m; m = m->next) {
        w->copied = copied ? copied : m->merged;
        jout_key(&w->out, m->key);
        ok = count_copy(w, w->copied, m->key.len) && write_node(w, m->value, m->line);
    }
    w->copied = copied;
    return ok;
}

static bool write_collection(struct writer *w, struct node *n)
{
    if (w->depth == LIMIT_YAML_DEPTH)
        return fail(w, n, ERR_LIMIT, "nested too deep (LIMIT_YAML_DEPTH)", SLICE_NONE);
    n->open = true;
    w->depth++;
    bool ok = count_copy(w, w->copied, 0) && (n->kind == NODE_LIST ? write_list(w, n) : write_mapping(w, n));
    if (ok)
        jout_end(&w->out);
    w->depth--;
    n->open = false;
    return ok;
}

static bool write_alias(struct writer *w, struct node *n, uint32_t line)
{
    const struct node *copied = w->copied;
    if (n->inner->open)
        return fail(w, n, ERR_SYNTAX, "this alias stands inside of its own anchor's value", SLICE_NONE);
    w->copied = copied ? copied : n;
    bool ok = write_node(w, n->inner, line);
    w->copied = copied;
    return ok;
}

static bool write_node(struct writer *w, struct node *n, uint32_t line)
{
    if (n->kind == NODE_ALIAS)
        return write_alias(w, n, line);
    return mark_value(w, n, line) && (n->kind == NODE_SCALAR ? write_scalar(w, n) : write_collection(w, n));
}

bool tree_write(struct tree *t, struct buf *json, struct buf *marks)
{
    struct writer w = {.t = t, .json = json, .marks = marks};
    buf_clear(json);
    buf_clear(marks);
    jout_init(&w.out, json);
    return write_node(&w, t->root, t->root->line) &&
           (!json->full || fail(&w, t->root, ERR_LIMIT, "the document is too large (LIMIT_YAML_INPUT)", SLICE_NONE));
}
