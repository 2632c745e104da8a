#include "tree.h"

#include "pointer.h"

#include <stdlib.h>

struct node *tree_node(struct tree *t, struct jval v)
{
    if (++t->nodes > LIMIT_JSON_TOKENS) {
        err_set(t->e, ERR_LIMIT, "more than %d values on the way (LIMIT_JSON_TOKENS)", LIMIT_JSON_TOKENS);
        return NULL;
    }
    struct node *n = arena_new(t->a, struct node);
    n->raw = v;
    n->type = json_type(v);
    return n;
}

/* Gives an object or an array its children. */
static bool open_node(struct tree *t, struct node *n)
{
    if (n->open)
        return true;
    if (n->type != JSON_OBJECT && n->type != JSON_ARRAY)
        return err_set(t->e, ERR_MISSING, "a part of the path is neither an object nor an array");
    struct node **link = &n->first;
    struct jval key, value;
    for (struct jiter it = json_iter(n->raw); json_next(&it, &key, &value); link = &(*link)->next) {
        *link = tree_node(t, value);
        if (!*link)
            return false;
        (*link)->key = json_str(key, t->a);
    }
    n->count = json_len(n->raw);
    n->open = true;
    return true;
}

static bool find_child(struct tree *t, struct node *in, struct slice token, struct place *out)
{
    *out = (struct place){.in = in, .link = &in->first, .key = token};
    if (!open_node(t, in))
        return false;
    if (in->type == JSON_OBJECT) {
        while (*out->link && !slice_eq((*out->link)->key, token))
            out->link = &(*out->link)->next;
    } else {
        size_t index = in->count;
        if (!slice_eq(token, SLICE("-")) && !json_pointer_index(token, &index))
            return err_set(t->e, ERR_SYNTAX, "\"%.*s\" is no index of an array", SLICE_ARG(token));
        if (index > in->count)
            return err_set(t->e, ERR_MISSING, "index %zu of an array of %zu", index, in->count);
        for (; index > 0; index--)
            out->link = &(*out->link)->next;
    }
    out->there = *out->link != NULL;
    return true;
}

bool tree_find(struct tree *t, struct slice pointer, struct place *out)
{
    *out = (struct place){.link = &t->root, .there = true};
    while (!slice_empty(pointer)) {
        struct slice token;
        if (!json_pointer_token(&pointer, t->a, &token))
            return err_set(t->e, ERR_SYNTAX, "not a JSON pointer");
        if (!out->there)
            return err_set(t->e, ERR_MISSING, "a part of the path is not there");
        if (!find_child(t, *out->link, token, out))
            return false;
    }
    return true;
}

void tree_replace(struct place at, struct node *n)
{
    n->next = (*at.link)->next;
    n->key = at.key;
    *at.link = n;
}

void tree_add(struct place at, struct node *n)
{
    if (at.there && (!at.in || at.in->type == JSON_OBJECT)) {
        tree_replace(at, n);
        return;
    }
    n->next = *at.link;
    n->key = at.key;
    *at.link = n;
    at.in->count++;
}

struct node *tree_remove(struct place at)
{
    struct node *n = *at.link;
    *at.link = n->next;
    at.in->count--;
    return n;
}

struct node *tree_clone(struct tree *t, const struct node *n, unsigned depth)
{
    if (depth > LIMIT_JSON_DEPTH) {
        err_set(t->e, ERR_LIMIT, "nested deeper than %d (LIMIT_JSON_DEPTH)", LIMIT_JSON_DEPTH);
        return NULL;
    }
    struct node *copy = tree_node(t, n->raw);
    if (!copy)
        return NULL;
    copy->key = n->key;
    copy->open = n->open;
    copy->count = n->count;
    struct node **link = &copy->first;
    for (const struct node *child = n->first; child; child = child->next, link = &(*link)->next) {
        *link = tree_clone(t, child, depth + 1);
        if (!*link)
            return NULL;
    }
    return copy;
}

static int by_key(const void *a, const void *b)
{
    return slice_cmp((*(const struct node *const *)a)->key, (*(const struct node *const *)b)->key);
}

/* The recursion is as deep as want. */
static bool objects_equal(struct tree *t, const struct node *n, struct jval want)
{
    const struct node **children = arena_array(t->a, n->count, sizeof(struct node *)), **at = children;
    for (const struct node *child = n->first; child; child = child->next)
        *at++ = child;
    if (n->count > 1)
        qsort(children, n->count, sizeof *children, by_key);
    const struct json_member *members = json_members(want, t->a);
    for (size_t i = 0; i < n->count; i++)
        if (!slice_eq(children[i]->key, members[i].key) || !tree_equal(t, children[i], members[i].value))
            return false;
    return true;
}

bool tree_equal(struct tree *t, const struct node *n, struct jval want)
{
    if (!n->open)
        return json_equal_in(n->raw, want, t->a);
    if (n->type != json_type(want) || n->count != json_len(want))
        return false;
    if (n->type == JSON_OBJECT)
        return objects_equal(t, n, want);
    struct jval key, value;
    const struct node *child = n->first;
    for (struct jiter it = json_iter(want); json_next(&it, &key, &value); child = child->next)
        if (!tree_equal(t, child, value))
            return false;
    return true;
}

static bool write_node(struct tree *t, const struct node *n, struct jout *w)
{
    if (!n->open) {
        jout_raw(w, json_raw(n->raw));
        return true;
    }
    if (w->depth == LIMIT_JSON_DEPTH)
        return err_set(t->e, ERR_LIMIT, "nested deeper than %d (LIMIT_JSON_DEPTH)", LIMIT_JSON_DEPTH);
    bool object = n->type == JSON_OBJECT;
    if (object)
        jout_object(w);
    else
        jout_array(w);
    for (const struct node *child = n->first; child; child = child->next) {
        if (object)
            jout_key(w, child->key);
        if (!write_node(t, child, w))
            return false;
    }
    jout_end(w);
    return true;
}

bool tree_text(struct tree *t, struct slice *out)
{
    __attribute__((cleanup(buf_free))) struct buf text = {.max = LIMIT_JSON_ITEM};
    struct jout w;
    jout_init(&w, &text);
    return write_node(t, t->root, &w) && json_result(&text, t->a, out, t->e);
}
