/* Storage keeps an object without kind and apiVersion, in the field names of its storage api. What a client sees is made here. */
#include "request.h"

#include <mobula/yaml.h>

#include <stdio.h>

/* Top-level fields of an event in v1 and in events.k8s.io/v1. All others have the same name in both. */
static const struct {
    const char *core, *view;
} event_fields[] = {
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
};

void view_to_storage(const struct api *api, struct node *tree)
{
    for (struct node *c = api->events_view ? tree->child : NULL; c; c = c->next)
        for (size_t i = 0; i < COUNT_OF(event_fields); i++)
            if (slice_eq(c->key, slice_of(event_fields[i].view)))
                c->key = slice_of(event_fields[i].core);
}

void view_rename(const struct api *api, struct node *tree)
{
    for (struct node *c = api->events_view ? tree->child : NULL; c; c = c->next)
        for (size_t i = 0; i < COUNT_OF(event_fields); i++)
            if (slice_eq(c->key, slice_of(event_fields[i].core)))
                c->key = slice_of(event_fields[i].view);
}

void view_from_storage(const struct api *api, struct node *tree)
{
    view_rename(api, tree);
    static const char *const unsaid[] = {"reportingController", "reportingInstance"};
    for (size_t i = 0; api->events_view && i < COUNT_OF(unsaid); i++)
        if (!dom_str(tree, unsaid[i]).len)
            dom_drop(tree, unsaid[i]);
}

static void put_type(const struct api *api, struct buf *out)
{
    buf_printf(out, "\"kind\":\"%.*s\",\"apiVersion\":\"%.*s%s%.*s\"", SLICE_ARG(api->of->kind), SLICE_ARG(api->group),
               api->group.len ? "/" : "", SLICE_ARG(api->version));
}

static void put_object(const struct api *api, struct apiserver *s, const struct version *v, bool in_list, struct buf *out)
{
    struct slice json = v->json;
    if (api->events_view) {
        struct node *tree = version_tree(v, &s->scratch);
        view_from_storage(api, tree);
        json = dom_text(tree, &s->scratch);
    }
    buf_putc(out, '{');
    if (!in_list || api->of->custom) { /* items of built-in lists do not carry their type */
        put_type(api, out);
        buf_putc(out, ',');
    }
    buf_put(out, slice_skip(json, 1));
}

static void put_metadata(struct apiserver *s, const struct version *v, struct buf *out)
{
    struct json doc;
    struct slice metadata = SLICE("{}");
    if (json_parse(&doc, v->json, &s->scratch, NULL))
        metadata = json_raw(json_get(json_root(&doc), "metadata"));
    buf_put(out, SLICE("{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":"));
    buf_put(out, metadata);
    buf_putc(out, '}');
}

/* A table up to its rows. */
static void table_head(const struct api *api, uint64_t rv, bool columns, struct jout *w)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)rv);
    jout_object(w);
    jout_kstr(w, "kind", SLICE("Table"));
    jout_kstr(w, "apiVersion", SLICE("meta.k8s.io/v1"));
    jout_kobject(w, "metadata");
    jout_kstr(w, "resourceVersion", slice_of(text));
    jout_end(w);
    if (columns) {
        jout_key(w, SLICE("columnDefinitions"));
        table_columns(api, w);
    } else {
        jout_kraw(w, "columnDefinitions", SLICE("null"));
    }
    jout_karray(w, "rows");
}

void view_write(const struct api *api, enum format format, enum table_object with, struct apiserver *s, const struct version *v,
                bool in_list, bool columns, struct buf *out)
{
    if (format == FORMAT_OBJECT) {
        put_object(api, s, v, in_list, out);
        return;
    }
    if (format == FORMAT_METADATA) {
        put_metadata(s, v, out);
        return;
    }
    struct jout w;
    jout_init(&w, out);
    table_head(api, v->rv, columns, &w);
    table_row(api, s, v, with, &w);
    jout_end(&w);
    jout_end(&w);
}

void view_answer(struct request *q, int code, const struct version *v)
{
    q->code = code;
    view_write(q->api, q->format, q->table_object, q->s, v, false, true, q->out);
}

void view_answer_tree(struct request *q, int code, struct node *tree)
{
    q->code = code;
    dom_drop(tree, "kind");
    dom_drop(tree, "apiVersion");
    view_from_storage(q->api, tree);
    struct slice json = dom_text(tree, q->a);
    buf_putc(q->out, '{');
    put_type(q->api, q->out);
    if (json.len > 2)
        buf_putc(q->out, ',');
    buf_put(q->out, slice_skip(json, 1));
}

static void list_metadata(struct jout *w, bool always, uint64_t rv, struct slice carry_on, int64_t remaining)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)rv);
    jout_kobject(w, "metadata");
    jout_kstr(w, "resourceVersion", slice_of(text));
    if (carry_on.len || always) /* lists of custom resources say it even when it is empty */
        jout_kstr(w, "continue", carry_on);
    if (carry_on.len && remaining >= 0)
        jout_kint(w, "remainingItemCount", remaining);
    jout_end(w);
}

static void answer_table(struct request *q, struct version **list, size_t count, uint64_t rv, struct slice carry_on, int64_t remaining)
{
    struct jout w;
    jout_init(&w, q->out);
    jout_object(&w);
    jout_kstr(&w, "kind", SLICE("Table"));
    jout_kstr(&w, "apiVersion", SLICE("meta.k8s.io/v1"));
    list_metadata(&w, false, rv, carry_on, remaining);
    jout_key(&w, SLICE("columnDefinitions"));
    table_columns(q->api, &w);
    if (!count && table_is_default(q->api)) {
        jout_kraw(&w, "rows", SLICE("null"));
        jout_end(&w);
        return;
    }
    jout_karray(&w, "rows");
    for (size_t i = 0; i < count; i++)
        table_row(q->api, q->s, list[i], q->table_object, &w);
    jout_end(&w);
    jout_end(&w);
}

void view_list(struct request *q, struct version **list, size_t count, uint64_t rv, struct slice carry_on, int64_t remaining)
{
    q->code = 200;
    if (q->format == FORMAT_TABLE) {
        answer_table(q, list, count, rv, carry_on, remaining);
        return;
    }
    bool whole = q->format == FORMAT_OBJECT;
    struct jout w;
    jout_init(&w, q->out);
    jout_object(&w);
    jout_kstr(&w, "kind", whole ? q->api->of->list_kind : SLICE("PartialObjectMetadataList"));
    jout_kstr(&w, "apiVersion", whole ? api_version(q->api, q->a) : SLICE("meta.k8s.io/v1"));
    list_metadata(&w, whole && q->api->of->custom, rv, carry_on, remaining);
    if (!whole && !count) {
        jout_kraw(&w, "items", SLICE("null"));
        jout_end(&w);
        return;
    }
    jout_karray(&w, "items");
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_putc(q->out, ','); /* past jout: items go in without a copy in between */
        view_write(q->api, q->format, TABLE_NONE, q->s, list[i], true, false, q->out);
    }
    jout_end(&w);
    jout_end(&w);
}

/* Null and empty are "not said" in what passes through types: all of a built-in object, and the metadata of every one. */
static void decode_metadata(struct node *meta)
{
    for (struct node *c = meta->child, *next; c; c = next) {
        next = c->next;
        if ((c->type == JSON_ARRAY || c->type == JSON_OBJECT) && !c->child)
            dom_unlink(meta, c);
    }
}

/* In a map of texts null is a text: the empty one. */
static void decode_texts(struct node *map)
{
    for (struct node *c = dom_is(map, JSON_OBJECT) ? map->child : NULL; c; c = c->next)
        if (c->type == JSON_NULL)
            *c = (struct node){.type = JSON_STRING, .key = c->key, .text = SLICE(""), .next = c->next};
}

bool view_decode(struct request *q, struct node *tree)
{
    const struct rules *rules = q->api->of->rules;
    static const char *const text_maps[] = {"metadata.labels", "metadata.annotations", "data", "spec.selector", "spec.nodeSelector"};
    struct node *meta = dom_get(tree, "metadata"), *typed = q->api->of->custom ? meta : tree;
    for (size_t i = 0; i < (q->api->of->custom ? 2 : COUNT_OF(text_maps)); i++)
        decode_texts(dom_get(tree, text_maps[i]));
    if (typed)
        dom_drop_nulls(typed);
    if (meta)
        decode_metadata(meta);
    if (q->api->of->custom)
        dom_canonical_numbers(tree, q->a);
    if (q->api->schema && !q->other_kind.len)
        schema_prune(q, tree);
    if (rules && rules->decode)
        rules->decode(&q->st, tree, q->a);
    return q->st.code == 0;
}

/* A body that is YAML becomes JSON; one that is JSON stays as it is, whatever it is called. */
static bool to_json(struct request *q, struct slice *body)
{
    struct yaml_docs docs;
    struct err e = {0};
    bool yaml =
        slice_starts(q->content_type, SLICE("application/yaml")) || slice_starts(q->content_type, SLICE("application/apply-patch+yaml"));
    if (!yaml || slice_starts(slice_trim(*body), SLICE("{")))
        return true;
    if (!yaml_parse(*body, q->a, &docs, &e))
        return status_bad(&q->st, "error decoding the request body: %s", e.text);
    if (docs.count != 1)
        return status_bad(&q->st, "the request body holds %u YAML documents", docs.count);
    *body = docs.docs[0].json;
    return true;
}

static bool check_kind(struct request *q, struct slice kind, struct slice version)
{
    const struct resource *r = q->api->of;
    if (slice_eq(kind, r->kind) || (!kind.len && !r->custom))
        return true;
    if (!kind.len)
        return status_bad(&q->st, "the object provided is unrecognized (must be of type %.*s): Object 'Kind' is missing",
                          SLICE_ARG(r->kind));
    if (!r->custom)
        return status_bad(&q->st,
                          "%.*s in version \"%.*s\" cannot be handled as a %.*s: no kind \"%.*s\" is registered for version \"%.*s\" in "
                          "scheme \"pkg/runtime/scheme.go:110\"",
                          SLICE_ARG(kind), SLICE_ARG(q->api->version), SLICE_ARG(r->kind), SLICE_ARG(kind), SLICE_ARG(version));
    q->other_kind = kind; /* said with all else that is wrong */
    return true;
}

/* Has any built-in api this kind in this version? */
static bool known_type(const struct request *q, struct slice version, struct slice kind)
{
    for (size_t i = 0; i < q->s->api_count; i++) {
        const struct api *api = q->s->apis[i];
        if (!api->of->custom && slice_eq(api->of->kind, kind) && slice_eq(api_version(api, q->a), version))
            return true;
    }
    return false;
}

struct node *view_read(struct request *q, struct slice json)
{
    struct err e = {0};
    if (!to_json(q, &json))
        return NULL;
    bool apply = slice_starts(q->content_type, SLICE("application/apply-patch"));
    struct node *tree = dom_parse(json, q->a, &e);
    if (!tree) {
        status_bad(&q->st, "error decoding the request body: %s", e.text);
        return NULL;
    }
    struct slice kind = dom_str(tree, "kind"), version = dom_str(tree, "apiVersion"), want = api_version(q->api, q->a);
    if (tree->type == JSON_NULL && !q->api->of->custom && !apply)
        tree = dom_new(q->a, JSON_OBJECT);
    if (tree->type != JSON_OBJECT) {
        status_bad(&q->st, "the request body is not an object");
        return NULL;
    }
    if (apply && (!version.len || !kind.len)) {
        bool grouped = slice_find(version, '/') >= 0;
        status_bad(&q->st, "invalid object type: %s%.*s, Kind=%.*s", grouped ? "" : "/", SLICE_ARG(version), SLICE_ARG(kind));
        return NULL;
    }
    if (version.len && !q->api->of->custom && !slice_eq(version, want) && !known_type(q, version, kind)) {
        status_bad(&q->st,
                   "%.*s in version \"%.*s\" cannot be handled as a %.*s: no kind \"%.*s\" is registered for version \"%.*s\" in scheme "
                   "\"pkg/runtime/scheme.go:110\"",
                   SLICE_ARG(kind), SLICE_ARG(version), SLICE_ARG(q->api->of->kind), SLICE_ARG(kind), SLICE_ARG(version));
        return NULL;
    }
    if ((version.len || q->api->of->custom) && !slice_eq(version, want)) {
        status_bad(&q->st, "the API version in the data (%.*s) does not match the expected API version (%.*s)", SLICE_ARG(version),
                   SLICE_ARG(want));
        return NULL;
    }
    if (!check_kind(q, kind, version))
        return NULL;
    dom_drop(tree, "kind");
    dom_drop(tree, "apiVersion");
    view_to_storage(q->api, tree);
    return apply || view_decode(q, tree) ? tree : NULL; /* what is applied is owned as it was written */
}
