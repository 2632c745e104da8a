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

/* Behind a star each element has a copy of the path, so long paths count as well. */
enum { STEP_BYTES = 8 };

/* More nodes are looked at. What a patch costs is bounded, however long the arrays and objects are that it goes through. */
static bool steps(struct tree *t, size_t count)
{
    t->steps += count;
    return t->steps <= LIMIT_JSON_PATCH_STEPS ||
           err_set(t->e, ERR_LIMIT, "more than %d values are looked at (LIMIT_JSON_PATCH_STEPS)", LIMIT_JSON_PATCH_STEPS);
}

static bool step(struct tree *t)
{
    return steps(t, 1);
}

static bool find_key(struct tree *t, struct slice key, struct node ***link)
{
    for (; **link; *link = &(**link)->next)
        if (!step(t))
            return false;
        else if (slice_eq((**link)->key, key))
            break;
    return true;
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

struct node *tree_member(struct tree *t, struct node *in, struct slice key)
{
    if (!in || in->type != JSON_OBJECT || !open_node(t, in))
        return NULL;
    struct node **link = &in->first;
    return find_key(t, key, &link) ? *link : NULL;
}

/* The first element that is an object whose member `name` is the text behind "name=". */
static bool find_named(struct tree *t, struct slice token, struct place *out)
{
    struct slice name = slice_skip(token, strlen("name="));
    for (; *out->link && step(t); out->link = &(*out->link)->next) {
        const struct node *n = tree_member(t, *out->link, SLICE("name"));
        if (n && !n->open && json_str_eq(n->raw, name)) {
            out->there = true;
            return true;
        }
    }
    return err_set(t->e, ERR_MISSING, "no element has the name \"%.*s\"", SLICE_ARG(name));
}

static bool find_index(struct tree *t, struct slice token, struct place *out)
{
    size_t count = out->in->count, index = count;
    if (!slice_eq(token, SLICE("-")) && !json_pointer_index(token, &index))
        return err_set(t->e, ERR_SYNTAX, "\"%.*s\" is no index of an array", SLICE_ARG(token));
    if (index > count)
        return err_set(t->e, ERR_MISSING, "index %zu of an array of %zu", index, count);
    for (; index > 0; index--, out->link = &(*out->link)->next)
        if (!step(t))
            return false;
    return true;
}

static bool find_child(struct tree *t, struct node *in, struct slice token, struct place *out)
{
    *out = (struct place){.in = in, .link = &in->first, .key = token};
    if (!open_node(t, in))
        return false;
    if (t->extended && in->type == JSON_ARRAY && slice_starts(token, SLICE("name=")))
        return find_named(t, token, out);
    if (t->extended && in->type == JSON_OBJECT && slice_eq(token, SLICE("-")))
        return err_set(t->e, ERR_TYPE, "- is behind the end of an array, and here is an object: write the key");
    if (!(in->type == JSON_OBJECT ? find_key(t, token, &out->link) : find_index(t, token, out)))
        return false;
    out->there = *out->link != NULL;
    return true;
}

/* Members that are looked for in arrays alone. */
static bool means_array(struct slice token)
{
    size_t index;
    return slice_eq(token, SLICE("-")) || slice_eq(token, SLICE("*")) || slice_starts(token, SLICE("name=")) ||
           json_pointer_index(token, &index);
}

/* Makes the object or array that is missing at a place; `token` is what will be looked for in it. null counts as missing. Of an array's
 * elements only the first is made so: any other would be one without what its neighbours have. */
static bool make_parent(struct tree *t, struct place *at, struct slice token)
{
    if (at->there && (*at->link)->type != JSON_NULL)
        return true;
    if (at->in && at->in->type == JSON_ARRAY && (at->in->count > 0 || slice_eq(at->key, SLICE("-"))) && !at->there)
        return err_set(t->e, ERR_MISSING, "element %.*s of an array of %zu: only the first is made on the way", SLICE_ARG(at->key),
                       at->in->count);
    struct node *n = tree_node(t, JVAL_NONE);
    if (!n)
        return false;
    n->type = means_array(token) ? JSON_ARRAY : JSON_OBJECT;
    n->open = true;
    if (at->there)
        tree_replace(*at, n);
    else
        tree_add(*at, n);
    at->there = true;
    return true;
}

static bool find(struct tree *t, struct slice pointer, bool make, struct place *out)
{
    *out = (struct place){.link = &t->root, .there = true};
    if (!steps(t, pointer.len / STEP_BYTES))
        return false;
    while (!slice_empty(pointer)) {
        struct slice token;
        if (!json_pointer_token(&pointer, t->a, &token))
            return err_set(t->e, ERR_SYNTAX, "not a JSON pointer");
        if (make && !make_parent(t, out, token))
            return false;
        if (!out->there)
            return err_set(t->e, ERR_MISSING, "a part of the path is not there");
        if (!find_child(t, *out->link, token, out))
            return false;
    }
    return true;
}

bool tree_elements(struct tree *t, struct slice pointer, bool make, bool any, size_t *count)
{
    struct place at;
    *count = 0;
    if (!find(t, pointer, make, &at) || (make && !make_parent(t, &at, SLICE("*"))))
        return false;
    if (!at.there)
        return any || err_set(t->e, ERR_MISSING, "nothing is at \"%.*s\"", SLICE_ARG(pointer));
    if ((*at.link)->type != JSON_ARRAY)
        return err_set(t->e, ERR_TYPE, "\"%.*s\" is no array", SLICE_ARG(pointer));
    if (!open_node(t, *at.link))
        return false;
    *count = (*at.link)->count;
    return true;
}

bool tree_find(struct tree *t, struct slice pointer, struct place *out)
{
    return find(t, pointer, false, out);
}

bool tree_find_add(struct tree *t, struct slice pointer, struct place *out)
{
    return find(t, pointer, t->extended, out);
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
    copy->type = n->type;
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
