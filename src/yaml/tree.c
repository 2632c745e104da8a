#include "tree.h"

bool tree_fail(struct tree *t, uint32_t line, size_t column, enum err_code code, const char *what, struct slice text)
{
    *t->line = line;
    return err_set(t->e, code, "column %zu: %s%s%.*s%s", column, what, text.ptr ? " \"" : "", (int)(text.len < 80 ? text.len : 80),
                   text.ptr ? text.ptr : "", text.ptr ? "\"" : "");
}

void tree_clear(struct tree *t)
{
    map_free(&t->anchors);
    arena_reset(t->scratch, MIB);
    t->root = NULL;
    t->count = 0;
    t->depth = 0;
}

bool tree_empty(const struct tree *t)
{
    return !t->root || t->root->empty;
}

static bool fail_at(struct tree *t, const struct node *n, enum err_code code, const char *what, struct slice text)
{
    return tree_fail(t, n->line, n->column, code, what, text);
}

static struct slice text_of(const yaml_char_t *text)
{
    return slice_of((const char *)text);
}

static struct node *put_node(struct tree *t, enum node_kind kind, const yaml_event_t *event)
{
    struct node *n = arena_new(t->scratch, struct node);
    n->kind = kind;
    n->line = *t->first_line + (uint32_t)event->start_mark.line;
    n->column = (uint32_t)event->start_mark.column + 1;
    if (t->depth == 0) {
        t->root = n;
        return n;
    }
    struct level *in = &t->levels[t->depth - 1];
    *in->tail = n;
    in->tail = &n->next;
    in->key_due = in->node->kind == NODE_MAPPING && !in->key_due;
    return n;
}

/* A later anchor of the same name takes its place, as everywhere in YAML. */
static void put_anchor(struct tree *t, const yaml_char_t *name, struct node *n)
{
    if (name)
        map_put(&t->anchors, arena_dup(t->scratch, text_of(name)), n);
}

static bool open_level(struct tree *t, struct node *n)
{
    if (t->depth == LIMIT_YAML_DEPTH)
        return fail_at(t, n, ERR_LIMIT, "nested too deep (LIMIT_YAML_DEPTH)", SLICE_NONE);
    t->levels[t->depth++] = (struct level){.node = n, .tail = &n->inner, .key_due = n->kind == NODE_MAPPING};
    return true;
}

static bool take_alias(struct tree *t, const yaml_event_t *event)
{
    struct slice name = text_of(event->data.alias.anchor);
    struct node *n = put_node(t, NODE_ALIAS, event);
    n->inner = map_get(&t->anchors, name);
    return n->inner || fail_at(t, n, ERR_SYNTAX, "no anchor stands before this alias:", name);
}

/* Of a runtime environment: y and n are words, as Ray's own reader has it, and so is whatever is a key. */
static bool is_text(const struct tree *t, bool key, struct slice text)
{
    return t->runtime_env && (key || slice_eq_nocase(text, SLICE("y")) || slice_eq_nocase(text, SLICE("n")));
}

static bool take_scalar(struct tree *t, const yaml_event_t *event)
{
    struct slice text = arena_dup(t->scratch, (struct slice){(const char *)event->data.scalar.value, event->data.scalar.length});
    struct slice tag = text_of(event->data.scalar.tag);
    bool key = t->depth && t->levels[t->depth - 1].key_due, plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    struct node *n = put_node(t, NODE_SCALAR, event);
    put_anchor(t, event->data.scalar.anchor, n);
    n->merge = key && slice_is(text, "<<") && (tag.ptr ? slice_is(tag, "tag:yaml.org,2002:merge") : plain);
    n->empty = plain && !tag.ptr && slice_empty(text);
    n->scalar = (struct scalar){SCALAR_STRING, text};
    if (tag.ptr && !scalar_tagged(tag, text, t->scratch, &n->scalar))
        return fail_at(t, n, ERR_SYNTAX, "its tag does not take this text:", text);
    if (!tag.ptr && plain && !is_text(t, key, text))
        n->scalar = scalar_plain(text, t->scratch);
    return true;
}

bool tree_take(struct tree *t, const yaml_event_t *event)
{
    if (event->type == YAML_SEQUENCE_END_EVENT || event->type == YAML_MAPPING_END_EVENT) {
        t->depth--;
        return true;
    }
    if (t->count++ == LIMIT_JSON_TOKENS)
        return tree_fail(t, *t->first_line + (uint32_t)event->start_mark.line, event->start_mark.column + 1, ERR_LIMIT,
                         "more values than a document may have (LIMIT_JSON_TOKENS)", SLICE_NONE);
    struct node *n;
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return take_scalar(t, event);
    case YAML_SEQUENCE_START_EVENT:
        n = put_node(t, NODE_LIST, event);
        put_anchor(t, event->data.sequence_start.anchor, n);
        return open_level(t, n);
    case YAML_MAPPING_START_EVENT:
        n = put_node(t, NODE_MAPPING, event);
        put_anchor(t, event->data.mapping_start.anchor, n);
        return open_level(t, n);
    default:
        return take_alias(t, event);
    }
}
