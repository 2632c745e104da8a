#include "pointer.h"
#include "tree.h"

/* RFC 6902. Nothing of a patch is seen outside before all of it has gone through: that makes it atomic. */

static bool find_there(struct tree *t, struct slice pointer, struct place *at)
{
    return tree_find(t, pointer, at) && (at->there || err_set(t->e, ERR_MISSING, "nothing is at \"%.*s\"", SLICE_ARG(pointer)));
}

static bool op_add(struct tree *t, const struct json_op *op)
{
    struct place at;
    struct node *n = tree_node(t, op->value);
    if (!n || !tree_find_add(t, op->path, &at))
        return false;
    tree_add(at, n);
    return true;
}

static bool op_remove(struct tree *t, const struct json_op *op)
{
    struct place at;
    if (!find_there(t, op->path, &at))
        return false;
    if (!at.in)
        return err_set(t->e, ERR_TYPE, "the whole document cannot be removed");
    tree_remove(at);
    return true;
}

static bool op_replace(struct tree *t, const struct json_op *op)
{
    struct place at;
    struct node *n = tree_node(t, op->value);
    if (!n || !find_there(t, op->path, &at))
        return false;
    tree_replace(at, n);
    return true;
}

static bool op_move(struct tree *t, const struct json_op *op)
{
    struct place at;
    if (!find_there(t, op->from, &at))
        return false;
    if (slice_eq(op->from, op->path))
        return true;
    if (!at.in || (slice_starts(op->path, op->from) && op->path.ptr[op->from.len] == '/'))
        return err_set(t->e, ERR_TYPE, "a value cannot be moved into itself");
    struct node *n = tree_remove(at);
    if (!tree_find(t, op->path, &at))
        return false;
    tree_add(at, n);
    return true;
}

static bool op_copy(struct tree *t, const struct json_op *op)
{
    struct place at;
    if (!find_there(t, op->from, &at))
        return false;
    struct node *n = tree_clone(t, *at.link, 0);
    if (!n || !tree_find(t, op->path, &at))
        return false;
    tree_add(at, n);
    return true;
}

static bool op_test(struct tree *t, const struct json_op *op)
{
    struct place at;
    if (!find_there(t, op->path, &at))
        return false;
    return tree_equal(t, *at.link, op->value) || err_set(t->e, ERR_RANGE, "the value is another one");
}

static const struct {
    const char *name;
    bool (*run)(struct tree *t, const struct json_op *op);
    bool value, from;
} ops[] = {
    [JSON_OP_ADD] = {"add", op_add, true, false},
    [JSON_OP_REMOVE] = {"remove", op_remove, false, false},
    [JSON_OP_REPLACE] = {"replace", op_replace, true, false},
    [JSON_OP_MOVE] = {"move", op_move, false, true},
    [JSON_OP_COPY] = {"copy", op_copy, false, true},
    [JSON_OP_TEST] = {"test", op_test, true, false},
};

const char *json_op_name(const struct json_op *op)
{
    return ops[op->what].name;
}

static bool is_pointer(struct slice pointer, struct arena *a, struct err *e)
{
    struct slice token;
    for (unsigned depth = 0; !slice_empty(pointer); depth++)
        if (!json_pointer_token(&pointer, a, &token))
            return err_set(e, ERR_SYNTAX, "not a JSON pointer: it begins with a slash, and ~ is written ~0, a slash in a key ~1");
        else if (depth == LIMIT_JSON_DEPTH)
            return err_set(e, ERR_LIMIT, "a path of more than %d parts (LIMIT_JSON_DEPTH)", LIMIT_JSON_DEPTH);
    return true;
}

/* The value that add adds where none is given: readers of the original's patches rely on it. */
static const struct json_token null_token = {.end = 4, .next = 1, .type = JSON_NULL};
static const struct json null_doc = {{"null", 4}, &null_token, 1};

bool json_op_read(struct jval operation, bool extended, struct arena *a, struct json_op *out, struct err *e)
{
    struct slice name = json_get_str(operation, "op", a);
    *out = (struct json_op){
        .path = json_get_str(operation, "path", a),
        .from = json_get_str(operation, "from", a),
        .value = json_get(operation, "value"),
    };
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        if (!slice_eq(name, slice_of(ops[i].name)))
            continue;
        out->what = (enum json_op_what)i;
        if (extended && out->what == JSON_OP_ADD && !json_there(out->value))
            out->value = json_root(&null_doc);
        if (!out->path.ptr)
            return err_set(e, ERR_SYNTAX, "no path");
        if (ops[i].value && !json_there(out->value))
            return err_set(e, ERR_SYNTAX, "no value");
        if (ops[i].from && !out->from.ptr)
            return err_set(e, ERR_SYNTAX, "no from");
        return !extended || (is_pointer(out->path, a, e) && is_pointer(out->from, a, e));
    }
    return err_set(e, ERR_SYNTAX, "op is \"%.*s\": want one of add, remove, replace, move, copy, test", SLICE_ARG(name));
}

static bool run_all(struct tree *t, struct jval operations)
{
    struct jval key, operation;
    struct json_op op;
    int index = 0;
    for (struct jiter it = json_iter(operations); json_next(&it, &key, &operation); index++)
        if (!json_op_read(operation, false, t->a, &op, t->e) || !ops[op.what].run(t, &op))
            return err_wrap(t->e, "operation %d (%.*s %.*s)", index, SLICE_ARG(json_get_str(operation, "op", t->a)),
                            SLICE_ARG(json_get_str(operation, "path", t->a)));
    return true;
}

struct json_edit {
    struct tree tree;
};

struct json_edit *json_edit_new(const struct json *doc, struct arena *a, struct err *e)
{
    struct json_edit *x = arena_new(a, struct json_edit);
    x->tree = (struct tree){.a = a, .e = e, .extended = true};
    x->tree.root = tree_node(&x->tree, json_root(doc));
    return x;
}

/* Where the first "*" or "?" from `at` on stands that is a whole part of the path; the path's length: there is none. */
static size_t find_star(struct slice path, size_t at)
{
    for (; at + 1 < path.len; at++)
        if (path.ptr[at] == '/' && (path.ptr[at + 1] == '*' || path.ptr[at + 1] == '?') && (at + 2 == path.len || path.ptr[at + 2] == '/'))
            return at;
    return path.len;
}

/* From the last element to the first, so that what is removed or added moves none that is still to come. */
static bool run_each(struct tree *t, const struct json_op *op, size_t from)
{
    size_t star = find_star(op->path, from), count;
    if (star == op->path.len)
        return ops[op->what].run(t, op);
    struct slice above = slice_head(op->path, star), below = slice_skip(op->path, star + 2);
    bool any = op->path.ptr[star + 1] == '?', make = op->what == JSON_OP_ADD && !any;
    if (!tree_elements(t, above, make, any, &count))
        return false;
    if (count == 0 && make)
        count = 1; /* it is made */
    while (count-- > 0) {
        struct json_op one = *op;
        one.path = arena_printf(t->a, "%.*s/%zu%.*s", SLICE_ARG(above), count, SLICE_ARG(below));
        if (!run_each(t, &one, star + 1))
            return false;
    }
    return true;
}

bool json_edit_run(struct json_edit *x, const struct json_op *op)
{
    return run_each(&x->tree, op, 0);
}

struct slice json_edit_str(struct json_edit *x, const struct slice *keys, size_t count)
{
    struct node *n = x->tree.root;
    for (size_t i = 0; i < count && n; i++)
        n = tree_member(&x->tree, n, keys[i]);
    return n && !n->open ? json_str(n->raw, x->tree.a) : SLICE_NONE;
}

bool json_edit_text(struct json_edit *x, struct slice *out)
{
    return x->tree.e->code == ERR_NONE && tree_text(&x->tree, out);
}

bool json_patch(struct slice document, struct slice patch, struct arena *a, struct slice *out, struct err *e)
{
    struct json doc, operations;
    struct tree t = {.a = a, .e = e};
    if (!json_parse(&doc, document, a, e))
        return err_wrap(e, "document");
    if (!json_parse(&operations, patch, a, e))
        return err_wrap(e, "patch");
    if (json_type(json_root(&operations)) != JSON_ARRAY)
        return err_set(e, ERR_TYPE, "a JSON patch is an array of operations");
    if (json_len(json_root(&operations)) > LIMIT_JSON_PATCH_OPS)
        return err_set(e, ERR_LIMIT, "a patch of more than %d operations (LIMIT_JSON_PATCH_OPS)", LIMIT_JSON_PATCH_OPS);
    t.root = tree_node(&t, json_root(&doc));
    return run_all(&t, json_root(&operations)) && tree_text(&t, out);
}
