#include "tree.h"

/* RFC 6902. Nothing of a patch is seen outside before all of it has gone through: that makes it atomic. */

struct op {
    struct tree *tree;
    struct slice path, from;
    struct jval value;
};

static bool find_there(struct op *op, struct slice pointer, struct place *at)
{
    return tree_find(op->tree, pointer, at) &&
           (at->there || err_set(op->tree->e, ERR_MISSING, "nothing is at \"%.*s\"", SLICE_ARG(pointer)));
}

static bool op_add(struct op *op)
{
    struct place at;
    struct node *n = tree_node(op->tree, op->value);
    if (!n || !tree_find(op->tree, op->path, &at))
        return false;
    tree_add(at, n);
    return true;
}

static bool op_remove(struct op *op)
{
    struct place at;
    if (!find_there(op, op->path, &at))
        return false;
    if (!at.in)
        return err_set(op->tree->e, ERR_TYPE, "the whole document cannot be removed");
    tree_remove(at);
    return true;
}

static bool op_replace(struct op *op)
{
    struct place at;
    struct node *n = tree_node(op->tree, op->value);
    if (!n || !find_there(op, op->path, &at))
        return false;
    tree_replace(at, n);
    return true;
}

static bool op_move(struct op *op)
{
    struct place at;
    if (!find_there(op, op->from, &at))
        return false;
    if (slice_eq(op->from, op->path))
        return true;
    if (!at.in || (slice_starts(op->path, op->from) && op->path.ptr[op->from.len] == '/'))
        return err_set(op->tree->e, ERR_TYPE, "a value cannot be moved into itself");
    struct node *n = tree_remove(at);
    if (!tree_find(op->tree, op->path, &at))
        return false;
    tree_add(at, n);
    return true;
}

static bool op_copy(struct op *op)
{
    struct place at;
    if (!find_there(op, op->from, &at))
        return false;
    struct node *n = tree_clone(op->tree, *at.link, 0);
    if (!n || !tree_find(op->tree, op->path, &at))
        return false;
    tree_add(at, n);
    return true;
}

static bool op_test(struct op *op)
{
    struct place at;
    if (!find_there(op, op->path, &at))
        return false;
    return tree_equal(op->tree, *at.link, op->value) || err_set(op->tree->e, ERR_RANGE, "the value is another one");
}

static const struct {
    const char *name;
    bool (*run)(struct op *op);
    bool value, from;
} ops[] = {
    {"add", op_add, true, false},   {"remove", op_remove, false, false}, {"replace", op_replace, true, false},
    {"move", op_move, false, true}, {"copy", op_copy, false, true},      {"test", op_test, true, false},
};

static bool run(struct tree *t, struct jval operation)
{
    struct slice name = json_get_str(operation, "op", t->a);
    struct op op = {
        .tree = t,
        .path = json_get_str(operation, "path", t->a),
        .from = json_get_str(operation, "from", t->a),
        .value = json_get(operation, "value"),
    };
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        if (!slice_eq(name, slice_of(ops[i].name)))
            continue;
        if (!op.path.ptr)
            return err_set(t->e, ERR_SYNTAX, "no path");
        if (ops[i].value && !json_there(op.value))
            return err_set(t->e, ERR_SYNTAX, "no value");
        if (ops[i].from && !op.from.ptr)
            return err_set(t->e, ERR_SYNTAX, "no from");
        return ops[i].run(&op);
    }
    return err_set(t->e, ERR_SYNTAX, "op is \"%.*s\": want one of add, remove, replace, move, copy, test", SLICE_ARG(name));
}

static bool run_all(struct tree *t, struct jval operations)
{
    struct jval key, operation;
    int index = 0;
    for (struct jiter it = json_iter(operations); json_next(&it, &key, &operation); index++)
        if (!run(t, operation))
            return err_wrap(t->e, "operation %d (%.*s %.*s)", index, SLICE_ARG(json_get_str(operation, "op", t->a)),
                            SLICE_ARG(json_get_str(operation, "path", t->a)));
    return true;
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
