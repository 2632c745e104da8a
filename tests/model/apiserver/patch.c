#include "shape.h"

static bool is_type(const struct request *q, const char *type)
{
    struct slice rest = q->content_type;
    return slice_eq(slice_trim(slice_cut(&rest, ';')), slice_of(type));
}

/* The stored object as the client of this api sees it. */
static struct slice document(struct request *q, const struct object *o)
{
    buf_clear(q->out);
    view_write(q->api, FORMAT_OBJECT, TABLE_NONE, q->s, o->now, false, false, q->out);
    struct slice text = arena_dup(q->a, buf_slice(q->out));
    buf_clear(q->out);
    return text;
}

/* The real server's JSON patch is RFC 6902's but for one thing: replacing a member that is not there adds it. */
static bool one_operation(struct request *q, struct node *op, struct slice *text, struct err *e)
{
    struct slice path = dom_str(op, "path"), parent = path;
    for (size_t i = 0; i < path.len; i++)
        if (path.ptr[i] == '/')
            parent = slice_head(path, i);
    struct json doc;
    struct jval in = json_parse(&doc, *text, q->a, NULL) ? json_pointer(json_root(&doc), parent) : (struct jval){0};
    if (slice_eq(dom_str(op, "op"), SLICE("replace")) && json_type(in) == JSON_OBJECT && !json_there(json_pointer(json_root(&doc), path)))
        dom_put_str(q->a, op, "op", SLICE("add"));
    struct slice one = dom_text(op, q->a);
    return json_patch(*text, arena_printf(q->a, "[%.*s]", SLICE_ARG(one)), q->a, text, e);
}

static bool operations(struct request *q, struct slice *text)
{
    struct err e = {0};
    struct node *patch = dom_parse(q->body, q->a, &e);
    if (!dom_is(patch, JSON_ARRAY))
        return status_bad(&q->st, "error decoding patch: %s", patch ? "not an array" : e.text);
    for (struct node *op = patch->child; op; op = op->next)
        if (!one_operation(q, op, text, &e))
            return status_generic(&q->st, 422, "Invalid", "the server rejected our request due to an error in our request");
    return true;
}

/* What a patch has made of an object and cannot be read is said with the whole of it. */
static void refuse_patched(struct request *q, struct slice text)
{
    struct status was = q->st;
    struct slice why = was.message;
    if (was.code != 400)
        return;
    while (why.len && !slice_starts(why, SLICE("strict decoding error")))
        why = slice_skip(why, 1);
    why = why.len ? why : was.message;
    q->st = (struct status){.a = was.a};
    status_cause(&q->st, "FieldValueInvalid", SLICE("patch"), "Invalid value: \"%.*s\": %.*s", SLICE_ARG(text), SLICE_ARG(why));
    status_invalid(&q->st, SLICE(""), SLICE(""), SLICE(""));
}

/* JSON patch and merge patch work on text. */
static void text_patch(struct request *q, struct object *o, bool merge)
{
    struct err e = {0};
    struct slice text = document(q, o);
    if (merge && !dom_is(dom_parse(q->body, q->a, &e), JSON_OBJECT)) {
        status_bad(&q->st, "error decoding patch: %s", *e.text ? e.text : "not an object");
        return;
    }
    if (merge ? !json_merge(text, q->body, q->a, &text, &e) && !status_bad(&q->st, "error decoding patch: %s", e.text)
              : !operations(q, &text))
        return;
    struct node *tree = view_read(q, text);
    if (tree)
        write_replace(q, o, version_tree(o->now, q->a), tree, false);
    else
        refuse_patched(q, text);
}

static void strategic_patch(struct request *q, struct object *o)
{
    struct err e = {0};
    struct node *patch = dom_parse(q->body, q->a, &e);
    if (!dom_is(patch, JSON_OBJECT)) {
        status_bad(&q->st, "error decoding patch: %s", patch ? "not an object" : e.text);
        return;
    }
    dom_drop(patch, "kind");
    dom_drop(patch, "apiVersion");
    view_to_storage(q->api, patch);
    struct node *tree = version_tree(o->now, q->a);
    if (!strategic_merge(q, tree, patch))
        return;
    if (view_decode(q, tree))
        write_replace(q, o, version_tree(o->now, q->a), tree, false);
    else
        refuse_patched(q, q->body);
}

static bool is_apply(const struct request *q)
{
    return is_type(q, "application/apply-patch+yaml") || is_type(q, "application/apply-patch+json");
}

static bool is_strategic(const struct request *q)
{
    return is_type(q, "application/strategic-merge-patch+json") && !q->api->of->custom;
}

bool patch_known(struct request *q)
{
    if (is_apply(q) || is_strategic(q) || is_type(q, "application/json-patch+json") || is_type(q, "application/merge-patch+json"))
        return true;
    if (!q->api->of->custom)
        return status_generic(&q->st, 415, "UnsupportedMediaType", "415: Unsupported Media Type");
    return status_set(&q->st, 415, "UnsupportedMediaType",
                      "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, "
                      "application/merge-patch+json, application/apply-patch+yaml");
}

void patch_object(struct request *q)
{
    if (is_apply(q)) {
        apply_object(q);
        return;
    }
    struct object *o = store_find(q->api->of, q->ns, q->name);
    if (!o)
        status_not_found(&q->st, q->api->group, q->api->of->plural, q->name);
    else if (is_strategic(q))
        strategic_patch(q, o);
    else
        text_patch(q, o, is_type(q, "application/merge-patch+json"));
}
