#include <mobula/command.h>
#include <mobula/kinds.h>
#include <mobula/patches.h>
#include <mobula/policy.h>
#include <mobula/schema.h>

/* ---- documents ---- */

/* State that is the same for all documents of a text: a text has many. */
struct checker {
    const char *file;
    struct validated *sum;
    struct buf *out;
    struct findings f;
    struct spec_errors errors, notes;
};

static void check_kind(struct checker *c, const struct kind *kind, struct jval object)
{
    c->errors.count = c->errors.beyond = c->notes.count = c->notes.beyond = 0;
    kind->check(object, c->f.arena, &c->errors, &c->notes);
    findings_add_spec(&c->f, false, &c->errors);
    schema_check(kind->plural, object, &c->f);
    findings_add_spec(&c->f, true, &c->notes);
}

/* ---- ConfigMaps ---- */

static void read_types(struct slice text, struct arena *a, struct spec_errors *errors)
{
    struct shape_types types;
    shape_types_read(text, a, &types, errors);
}

static void read_patches(struct slice text, struct arena *a, struct spec_errors *errors)
{
    struct shape_patches patches;
    shape_patches_read(text, a, &patches, errors);
}

static void read_policy(struct slice text, struct arena *a, struct spec_errors *errors)
{
    struct work_policy policy;
    work_policy_text(text, a, &policy, errors);
}

static void check_text(struct checker *c, const char *key, struct jval text,
                       void (*read)(struct slice, struct arena *, struct spec_errors *))
{
    struct spec_errors *errors = arena_new(c->f.arena, struct spec_errors);
    struct slice bytes = json_str(text, c->f.arena), up = spec_path_member(SLICE("data"), slice_of(key), c->f.arena);
    bool lines = slice_find(bytes, '\n') >= 0; /* a block, whose first line stands below the key */
    read(bytes, c->f.arena, errors);
    for (uint32_t i = 0; i < errors->count; i++) {
        const struct spec_error *one = &errors->list[i];
        struct slice path = arena_printf(c->f.arena, "%.*s%s%.*s", SLICE_ARG(up), one->path.len ? ": " : "", SLICE_ARG(one->path));
        findings_add_below(&c->f, path, json_offset(text), lines ? one->line : 0, one->text);
    }
    c->f.beyond += errors->beyond;
    c->f.errors += errors->beyond;
}

/* A ConfigMap with texts that the operator reads, by the names of its keys; false: it has none. */
static bool check_config(struct checker *c, struct jval object)
{
    static const struct {
        const char *key;
        void (*read)(struct slice, struct arena *, struct spec_errors *);
    } texts[] = {{"instance_types.yaml", read_types}, {"patches.yaml", read_patches}, {"policy.yaml", read_policy}};
    bool found = false;
    if (!json_str_eq(json_key(object, SLICE("kind")), SLICE("ConfigMap")))
        return false;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct jval text = json_key(json_key(object, SLICE("data")), slice_of(texts[i].key));
        if (json_type(text) != JSON_STRING)
            continue;
        check_text(c, texts[i].key, text, texts[i].read);
        found = true;
    }
    return found;
}

/* The policy as a file of its own: it is no object of Kubernetes, and has a field that only a policy has. False: it is none. */
static bool check_policy(struct checker *c, struct jval document)
{
    struct work_policy policy;
    struct spec_errors *errors = arena_new(c->f.arena, struct spec_errors);
    struct reader r = {.arena = c->f.arena, .errors = errors};
    struct jval k, v;
    bool is = false;
    for (struct jiter it = json_iter(document); json_type(document) == JSON_OBJECT && json_next(&it, &k, &v);)
        is |= work_policy_field(json_str(k, c->f.arena));
    if (!is || json_there(json_key(document, SLICE("kind"))) || json_there(json_key(document, SLICE("apiVersion"))))
        return false;
    const struct place *at = place_root(document, c->f.arena);
    work_policy_read(&r, at, &policy);
    findings_add_spec(&c->f, false, errors);
    c->sum->checked++;
    return true;
}

static void check_object(struct checker *c, const struct yaml_doc *doc, struct jval object);

static void check_list(struct checker *c, const struct yaml_doc *doc, struct jval list)
{
    struct slice above = c->f.prefix;
    struct jval key, item;
    size_t i = 0;
    for (struct jiter it = json_iter(json_key(list, SLICE("items"))); json_next(&it, &key, &item); i++) {
        c->f.prefix = arena_printf(c->f.arena, "%.*sitems[%zu].", SLICE_ARG(above), i);
        check_object(c, doc, item);
    }
    c->f.prefix = above;
}

static void check_object(struct checker *c, const struct yaml_doc *doc, struct jval object)
{
    const struct kind *kind;
    struct manifest_fault fault;
    switch (manifest_what(object, c->f.arena, &kind, &fault)) {
    case MANIFEST_LIST:
        check_list(c, doc, object);
        break;
    case MANIFEST_KIND:
        check_kind(c, kind, object);
        c->sum->checked++;
        break;
    case MANIFEST_WRONG:
        findings_add(&c->f, false, fault.path, json_offset(fault.at), fault.text);
        break;
    case MANIFEST_OTHER:
        if (check_config(c, object)) {
            c->sum->checked++;
            break;
        }
        manifest_skip(c->file, yaml_line(doc, json_offset(object)), object,
                      arena_printf(c->f.arena, "is no %.*s", SLICE_ARG(manifest_kinds(c->f.arena))).ptr, c->f.arena, c->out);
        c->sum->skipped++;
        break;
    }
}

static void check_document(struct checker *c, const struct yaml_doc *doc)
{
    struct json json;
    struct err e = {0};
    if (doc->error || !json_parse(&json, doc->json, c->f.arena, &e)) {
        findings_error(c->file, doc->line, doc->error ? doc->error : &e, c->out);
        c->sum->errors++;
        return;
    }
    findings_clear(&c->f);
    if (!check_policy(c, json_root(&json)))
        check_object(c, doc, json_root(&json));
    findings_write(&c->f, c->file, doc, c->out);
    c->sum->errors += c->f.errors;
    c->sum->warnings += c->f.warnings;
}

void validate_text(const char *file, struct slice text, struct arena *a, struct validated *sum, struct buf *out)
{
    struct yaml_docs docs;
    struct err e = {0};
    if (!yaml_parse_each(text, a, &docs, &e)) {
        findings_error(file, 0, &e, out);
        sum->errors++;
        return;
    }
    struct checker *c = arena_new(a, struct checker);
    *c = (struct checker){.file = file, .sum = sum, .out = out, .f.arena = a};
    for (uint32_t i = 0; i < docs.count; i++)
        check_document(c, &docs.docs[i]);
    if (docs.count == 0) {
        buf_printf(out, "%s:1: warning: holds no document\n", file);
        sum->warnings++;
    }
}
