#include "explain.h"
#include "cli.h"

#include <mobula/command.h>
#include <mobula/kinds.h>
#include <mobula/preview.h>
#include <mobula/release.h>
#include <mobula/schema.h>

#include <stdio.h>

enum { EXPLAIN_OUTPUT_MAX = 512 * MIB };

/* ---- one document ---- */

/* State that is the same for all objects of a document, those that are made of its own among them. */
struct shown {
    const struct explain_how *how;
    const char *file;
    const struct yaml_doc *doc;
    struct arena *arena;
    struct buf *out, *notes;
};

static bool write_object(const struct explain_how *how, struct slice object, struct buf *out, struct err *e)
{
    if (how->steps)
        return !out->full; /* they have been shown */
    if (!how->json)
        return buf_put(out, SLICE("---\n")) && yaml_write(object, out, e);
    char last = out->len ? out->ptr[out->len - 1] : '[';
    return (last == '[' || buf_put(out, SLICE(",\n"))) && buf_put(out, object);
}

static bool show_made(struct preview *p, struct slice object);

/* object: of the document, or made of one of it (`made`), and then it has no place in the file. */
static bool show_kind(const struct shown *s, const struct kind *kind, struct jval object, bool made, struct slice prefix)
{
    struct arena *a = s->arena;
    struct preview p = {.ray = s->how->ray,
                        .types = s->how->types,
                        .steps = s->how->steps,
                        .submitter_pods = s->how->submitter_pods,
                        .now_us = s->how->now_us,
                        .put = show_made,
                        .to = s,
                        .arena = a,
                        .errors = arena_new(a, struct spec_errors)};
    p.errors->count = p.errors->beyond = 0;
    bool well = kind->preview(object, &p);
    for (uint32_t i = 0; made && i < p.errors->count; i++)
        p.errors->list[i].offset = 0;
    if (p.errors->count) {
        struct findings *f = arena_new(a, struct findings);
        *f = (struct findings){.arena = a, .prefix = prefix};
        findings_add_spec(f, false, p.errors);
        findings_write(f, s->file, s->doc, s->notes);
        return false;
    }
    if (!well && p.err.code != ERR_NONE)
        findings_error(s->file, s->doc->line, &p.err, s->notes);
    if (well && !slice_empty(p.note))
        buf_printf(s->notes, "%s:%u: %.*s\n", s->file, s->doc->line, SLICE_ARG(p.note));
    return well;
}

/* Its findings have been reported; an error of the caller's own would be said once more. */
static bool show_made(struct preview *p, struct slice object)
{
    const struct shown *s = p->to;
    struct json *doc = arena_new(s->arena, struct json);
    struct manifest_fault fault;
    const struct kind *kind;
    object = arena_dup(s->arena, object);
    if (!explain_patched(s->how, p->untyped, object, s->arena, &object, s->out, &p->err) ||
        !write_object(s->how, object, s->out, &p->err)) {
        if (p->err.code == ERR_NONE)
            err_set(&p->err, ERR_LIMIT, "more than %d bytes of objects (EXPLAIN_OUTPUT_MAX)", EXPLAIN_OUTPUT_MAX);
        return false;
    }
    if (!json_parse(doc, object, s->arena, &p->err))
        return false;
    if (manifest_what(json_root(doc), s->arena, &kind, &fault) != MANIFEST_KIND || !kind->preview)
        return true;
    struct slice name = json_get_str(json_root(doc), "metadata.name", s->arena);
    return show_kind(s, kind, json_root(doc), true, arena_printf(s->arena, "%s %.*s: ", kind->name, SLICE_ARG(name)));
}

static bool show_object(const struct shown *s, struct jval object, struct slice prefix)
{
    const struct kind *kind;
    struct manifest_fault fault;
    struct arena *a = s->arena;
    bool well = true;
    switch (manifest_what(object, a, &kind, &fault)) {
    case MANIFEST_LIST: {
        struct jval key, item;
        size_t i = 0;
        for (struct jiter it = json_iter(json_key(object, SLICE("items"))); json_next(&it, &key, &item); i++)
            well &= show_object(s, item, arena_printf(a, "%.*sitems[%zu].", SLICE_ARG(prefix), i));
        return well;
    }
    case MANIFEST_KIND:
        if (kind->preview)
            return show_kind(s, kind, object, false, prefix);
        break;
    case MANIFEST_WRONG: {
        struct findings *f = arena_new(a, struct findings);
        *f = (struct findings){.arena = a, .prefix = prefix};
        findings_add(f, false, fault.path, json_offset(fault.at), fault.text);
        findings_write(f, s->file, s->doc, s->notes);
        return false;
    }
    case MANIFEST_OTHER:
        break;
    }
    manifest_skip(s->file, yaml_line(s->doc, json_offset(object)), object, "is nothing of which the operator makes objects", a, s->notes);
    return true;
}

bool explain_text(const char *file, struct slice text, const struct explain_how *how, struct arena *a, struct buf *out, struct buf *notes)
{
    struct yaml_docs docs;
    struct err e = {0};
    if (!yaml_parse_each(text, a, &docs, &e)) {
        findings_error(file, 0, &e, notes);
        return false;
    }
    bool well = true;
    for (uint32_t i = 0; i < docs.count; i++) {
        const struct yaml_doc *doc = &docs.docs[i];
        struct json json;
        struct err why = {0};
        if (!doc->error && json_parse(&json, doc->json, a, &why)) {
            well &= show_object(&(struct shown){how, file, doc, a, out, notes}, json_root(&json), SLICE(""));
        } else {
            findings_error(file, doc->line, doc->error ? doc->error : &why, notes);
            well = false;
        }
    }
    return well;
}

void explain_begin(const struct explain_how *how, struct buf *out)
{
    if (how->json)
        buf_put(out, SLICE("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":["));
}

void explain_end(const struct explain_how *how, struct buf *out)
{
    if (how->json)
        buf_put(out, SLICE("]}\n"));
}

/* ---- the command ---- */

struct explain_options {
    struct flag_texts files;
    struct slice tools, tools_resources, output, cluster_domain, autoscaler, submitter, types, patches;
    struct default_patches defaults;
    bool steps;
};

static const struct flag list[] = {
#define AT(field) offsetof(struct explain_options, field)
    {"f", FLAG_TEXTS, AT(files), "FILE", "a manifest in YAML or JSON, or a folder of them; - is standard input"},
    {"tools", FLAG_TEXT, AT(tools), "configmap|image:REF|none", "as the operator has it"},
    {"tools-resources", FLAG_TEXT, AT(tools_resources), "cpu=N,memory=N", "of the containers that are added, as the operator has it"},
    {"autoscaler", FLAG_TEXT, AT(autoscaler), "operator|sidecar|off", "as the operator has it"},
    {"submitter", FLAG_TEXT, AT(submitter), "operator|pod", "as the operator has it"},
    {"cluster-domain", FLAG_TEXT, AT(cluster_domain), "DOMAIN", "of service names (cluster.local)"},
    {"instance-types", FLAG_TEXT, AT(types), "FILE", "of instance types, to apply to pod templates that name one"},
    {"patches-file", FLAG_TEXT, AT(patches), "FILE", "of patches, to apply to the objects"},
    DEFAULT_PATCHES_FLAGS(AT(defaults)),
    {"patches", FLAG_SWITCH, AT(steps), NULL, "show what types and patches change, step by step, instead of the objects"},
    {"output", FLAG_TEXT, AT(output), "yaml|json", "YAML documents (default) or one JSON list"},
#undef AT
};

static const struct flags flags = {
    .examples = "mobula explain -f cluster.yaml | kubectl apply --dry-run=server -f -\nmobula explain --patches -f cluster.yaml "
                "--patches-file patches.yaml",
    .usage = "mobula explain cluster|job|service NAME [-n NS]  or  mobula explain -f FILE [-f FILE...] [FLAG...]",
    .about =
        "Prints what the operator would make in an empty namespace: of a RayCluster its pods and services, of a RayJob its cluster with\n"
        "them, of a RayCronJob the run of this minute with all of that, of a RayService its cluster and services. The last letters of\n"
        "names are made of a uid, which only the API server gives: they will be others.\n"
        "`mobula explain cluster NAME`, `explain job NAME` and `explain service NAME` say why a RayCluster, RayJob or RayService of the\n"
        "API server is as it is: see their --help.",
    .list = list,
    .count = COUNT_OF(list),
};

static int explain_files(const struct explain_options *o, const struct explain_how *how, struct arena *a, struct buf *out,
                         struct buf *notes)
{
    bool well = true;
    struct err e = {0};
    struct manifest_files files;
    __attribute__((cleanup(arena_free))) struct arena names = {0};
    if (!manifest_files(&o->files, &names, &files, &e))
        return cli_fail(&e);
    explain_begin(how, out);
    for (uint32_t i = 0; i < files.count; i++) {
        struct slice text;
        if (!cli_read_file(files.list[i], a, &text, &e))
            return cli_fail(&e);
        well &= explain_text(slice_eq(files.list[i], SLICE("-")) ? "stdin" : files.list[i].ptr, text, how, a, out, notes);
        arena_reset(a, MIB);
    }
    explain_end(how, out);
    fprintf(stderr, "%.*s", SLICE_ARG(buf_slice(notes)));
    return cli_print(buf_slice(out)) && well ? STATUS_OK : STATUS_ERROR;
}

/* The files of types and patches. False: *e is set, or what is wrong stands in notes. */
static bool read_shapes(const struct explain_options *o, struct explain_how *how, struct arena *a, struct buf *notes, struct err *e)
{
    struct shape_types *types = arena_new(a, struct shape_types);
    struct shape_patches *patches = arena_new(a, struct shape_patches);
    struct slice text;
    how->steps = o->steps;
    if (!slice_empty(o->types)) {
        how->types = types;
        if (!cli_read_file(o->types, a, &text, e) || !explain_types(o->types.ptr, text, a, types, notes))
            return false;
    }
    if (!defaults_read(&o->defaults, a, &how->patches, e) || slice_empty(o->patches))
        return e->code == ERR_NONE;
    if (!cli_read_file(o->patches, a, &text, e) || !explain_patches(o->patches.ptr, text, a, patches, notes))
        return false;
    shape_patches_above(patches, how->patches);
    how->patches = patches;
    return true;
}

int cli_explain(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "cluster") == 0)
        return cli_explain_cluster(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "service") == 0)
        return cli_explain_service(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "job") == 0)
        return cli_explain_job(argc - 1, argv + 1);
    struct explain_options o = {.tools = SLICE("configmap"),
                                .output = SLICE("yaml"),
                                .cluster_domain = SLICE("cluster.local"),
                                .autoscaler = SLICE("operator"),
                                .submitter = SLICE("operator")};
    enum cli_scaler scaler;
    int status;
    if (!flags_parse(&flags, argc, argv, &o, &status))
        return status;
    struct explain_how how = {.json = slice_eq(o.output, SLICE("json")),
                              .ray = {.cluster_domain = o.cluster_domain, .version = SLICE(MOBULA_VERSION)}};
    struct err e = {0};
    if (o.files.count == 0)
        return flags_wrong(&flags, "-f is needed");
    if (!how.json && !slice_eq(o.output, SLICE("yaml")))
        return flags_wrong(&flags, "--output: want yaml or json");
    if (!cli_tools(o.tools, &how.ray, &e) || !cli_tools_resources(o.tools_resources, &how.ray, &e) ||
        !cli_scaler(o.autoscaler, &scaler, &e) || !cli_submitter(o.submitter, &how.ray, &how.submitter_pods, &e) ||
        !cli_domain(o.cluster_domain, &e) || !defaults_check(&o.defaults, &e))
        return flags_wrong(&flags, "%s", e.text);
    how.ray.sidecar = scaler == CLI_SCALER_SIDECAR;
    how.now_us = clock_now().wall_us;
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    __attribute__((cleanup(buf_free))) struct buf out, notes;
    buf_init(&out, EXPLAIN_OUTPUT_MAX);
    buf_init(&notes, MIB);
    __attribute__((cleanup(arena_free))) struct arena kept = {0};
    if (!read_shapes(&o, &how, &kept, &notes, &e)) {
        fprintf(stderr, "%.*s", SLICE_ARG(buf_slice(&notes)));
        return e.code == ERR_NONE ? STATUS_ERROR : cli_fail(&e);
    }
    if (o.steps && !how.types && !how.patches)
        return flags_wrong(&flags, "--patches shows what --patches-file, --cloud-provider and --instance-types change: give one of them");
    return explain_files(&o, &how, &a, &out, &notes);
}
