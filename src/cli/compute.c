/* mobula compute-config: compute configs without a control plane. */
#include "compute.h"
#include "cli.h"
#include "explain.h"
#include "findings.h"
#include "shapes.h"

#include <stdio.h>

/* ---- one config ---- */

/* The place in the config that a field of the RayCluster comes from: its group, as near as can be told. */
static size_t source_of(struct jval config, struct slice path)
{
    static const char groups[] = "spec.workerGroupSpecs[";
    struct jval from = config;
    if (slice_starts(path, slice_of(groups))) {
        struct slice rest = slice_skip(path, strlen(groups));
        int64_t i = 0;
        if (slice_int(slice_cut(&rest, ']'), &i) && i >= 0)
            from = json_at(json_key(config, SLICE("worker_nodes")), (size_t)i);
    } else if (slice_starts(path, SLICE("spec.headGroupSpec"))) {
        from = json_key(config, SLICE("head_node"));
    }
    return json_offset(json_there(from) ? from : config);
}

/* An error of the RayCluster is an error of the pods that the config describes. */
static bool check_cluster(struct slice cluster, struct jval config, struct findings *f, struct err *e)
{
    struct findings *made = arena_new(f->arena, struct findings);
    struct spec_errors *errors = arena_new(f->arena, struct spec_errors);
    struct ray_cluster model;
    struct json json;
    *made = (struct findings){.arena = f->arena, .prefix = SLICE("")};
    if (!json_parse(&json, cluster, f->arena, e))
        return false;
    ray_read(json_root(&json), f->arena, &model, errors);
    findings_add_spec(made, false, errors);
    schema_check("rayclusters.ray.io", json_root(&json), made);
    for (uint32_t i = 0; i < made->count; i++)
        findings_add(f, made->list[i].warning, arena_printf(f->arena, "makes %.*s", SLICE_ARG(made->list[i].path)),
                     source_of(config, made->list[i].path), made->list[i].text);
    return true;
}

static bool write_cluster(const struct compute_how *how, struct slice spec, struct arena *a, struct slice *out, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf text = {.max = LIMIT_JSON_ITEM};
    struct jout w;
    jout_init(&w, &text);
    jout_object(&w);
    jout_kstr(&w, "apiVersion", SLICE("ray.io/v1"));
    jout_kstr(&w, "kind", SLICE("RayCluster"));
    jout_kobject(&w, "metadata");
    jout_kstr(&w, "name", how->name);
    jout_end(&w);
    jout_kraw(&w, "spec", spec);
    jout_end(&w);
    *out = arena_dup(a, buf_slice(&text));
    return !text.full || err_set(e, ERR_LIMIT, "the cluster is larger than %zu bytes", text.max);
}

/* Patches the objects of the rendered cluster. A patch that does not apply is an error with the document's name and line. */
static bool patch_cluster(const char *file, struct slice cluster, const struct compute_how *how, struct arena *a, struct buf *notes)
{
    __attribute__((cleanup(buf_free))) struct buf objects = {.max = 8 * LIMIT_JSON_ITEM};
    struct explain_how explain = {
        .ray = {.tools = RAY_TOOLS_NONE, .cluster_domain = SLICE("cluster.local"), .version = SLICE(MOBULA_VERSION)},
        .types = how->types,
        .patches = how->patches};
    return explain_text(file, cluster, &explain, a, &objects, notes);
}

static bool render(struct jval root, const struct compute_how *how, struct findings *f, struct buf *out, struct err *e)
{
    struct spec_errors *errors = arena_new(f->arena, struct spec_errors), *odd = arena_new(f->arena, struct spec_errors);
    struct reader r = {.arena = f->arena, .errors = errors};
    const struct place *at = place_root(root, f->arena);
    struct compute_config config;
    struct compute_pods pods = {.image = how->image, .ray_version = how->ray_version, .env = NO_VALUE};
    struct slice spec, cluster;
    bool well = compute_read(&r, at, how->types, &config, odd);
    findings_add_spec(f, false, errors);
    findings_add_spec(f, true, odd);
    if (!well)
        return true;
    if (!compute_render(&config, &pods, f->arena, &spec, e) || !write_cluster(how, spec, f->arena, &cluster, e) ||
        !check_cluster(cluster, root, f, e))
        return false;
    return f->errors > 0 || yaml_write(cluster, out, e);
}

bool compute_text(const char *file, struct slice text, const struct compute_how *how, struct arena *a, struct buf *out, struct buf *notes)
{
    struct yaml_docs docs;
    struct json json;
    struct err e = {0};
    if (!yaml_parse(text, a, &docs, &e)) {
        findings_error(file, 0, &e, notes);
        return false;
    }
    if (docs.count != 1) {
        err_set(&e, ERR_CONFIG, docs.count ? "holds a second document: a compute config is one" : "holds no compute config");
        findings_error(file, docs.count ? docs.docs[1].line : 1, &e, notes);
        return false;
    }
    struct findings *f = arena_new(a, struct findings);
    *f = (struct findings){.arena = a, .prefix = SLICE("")};
    if (!json_parse(&json, docs.docs[0].json, a, &e) || !render(json_root(&json), how, f, out, &e))
        findings_error(file, docs.docs[0].line, &e, notes);
    findings_write(f, file, &docs.docs[0], notes);
    bool well = f->errors == 0 && e.code == ERR_NONE;
    return well && (!how->patches || patch_cluster(file, buf_slice(out), how, a, notes));
}

#define IMAGE "rayproject/ray:2.60.0"

static bool check_text(struct slice file, struct slice text, const struct compute_how *how, struct arena *a, struct buf *out,
                       struct buf *notes)
{
    bool well = compute_text(slice_is(file, "-") ? "stdin" : file.ptr, text, how, a, out, notes);
    fprintf(stderr, "%.*s", SLICE_ARG(buf_slice(notes)));
    return well;
}

bool compute_is_sound(struct slice file, struct slice text, struct arena *a, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf out = {.max = 2 * LIMIT_JSON_ITEM}, notes = {.max = LIMIT_JSON_ITEM};
    struct compute_how how = {.name = SLICE("cluster"), .image = SLICE(IMAGE), .ray_version = SLICE("")};
    return check_text(file, text, &how, a, &out, &notes) || err_set(e, ERR_CONFIG, "the compute config is not stored");
}

/* ---- the command ---- */

struct compute_options {
    struct slice file, types, patches, ns, kubeconfig, context, name, image, ray_version;
    int64_t timeout_ms;
};

static const struct flag list[] = {
#define AT(field) offsetof(struct compute_options, field)
    {"f", FLAG_TEXT, AT(file), "FILE", "a compute config in YAML or JSON; - is standard input"},
    {"instance-types", FLAG_TEXT, AT(types), "FILE", "of instance types, the ConfigMap or its text: a type that is not in it is an error"},
    {"patches-file", FLAG_TEXT, AT(patches), "FILE", "of patches, as the ConfigMap has them: one that cannot be applied is an error"},
    {"namespace", FLAG_TEXT, AT(ns), "NS",
     "of a cluster, whose ConfigMaps instance-types and patches are read there in the place of files"},
    TLS_FLAG,
    {"kubeconfig", FLAG_TEXT, AT(kubeconfig), "FILE", "how to reach that cluster"},
    {"context", FLAG_TEXT, AT(context), "NAME", "of the kubeconfig"},
    ASK_TIMEOUT_FLAG(AT(timeout_ms)),
    {"name", FLAG_TEXT, AT(name), "NAME", "of the RayCluster (cluster)"},
    {"image", FLAG_TEXT, AT(image), "REF", "of Ray's container (" IMAGE ")"},
    {"ray-version", FLAG_TEXT, AT(ray_version), "VERSION", "of Ray in the image, where its tag does not tell"},
#undef AT
};

static const struct flags flags = {
    .usage = "mobula compute-config render|check|create|list|get|archive -f FILE [--instance-types FILE] [FLAG...]",
    .about =
        "render prints the RayCluster that a compute config describes; check says what is wrong with the config: every error at once,\n"
        "as FILE:LINE: FIELD: TEXT. Warnings are about what has no effect. Those that a control plane keeps are written and read with\n"
        "create, list, get and archive: see mobula compute-config create --help.",
    .list = list,
    .count = COUNT_OF(list),
};

/* A text of instance types and one of patches: of files, or of a cluster. Empty: not given. */
static bool read_maps(const struct compute_options *o, struct arena *a, struct slice *types, struct slice *patches, struct err *e)
{
    *types = *patches = SLICE("");
    if (slice_empty(o->ns))
        return (slice_empty(o->types) || cli_read_file(o->types, a, types, e)) &&
               (slice_empty(o->patches) || cli_read_file(o->patches, a, patches, e));
    struct ask ask = {.timeout_ms = o->timeout_ms};
    bool ok = ask_open(&ask, o->kubeconfig, o->context, e) && shapes_fetch(&ask, o->ns, SLICE("instance-types"), false, a, types, e) &&
              shapes_fetch(&ask, o->ns, SLICE("patches"), false, a, patches, e);
    ask_close(&ask);
    return ok;
}

int cli_compute(int argc, char **argv)
{
    struct compute_options o = {.name = SLICE("cluster"), .image = SLICE(IMAGE), .ray_version = SLICE("")};
    struct slice what = argc > 1 ? slice_of(argv[1]) : SLICE_NONE, text, types_text, patches_text;
    bool check = slice_eq(what, SLICE("check")), named = check || slice_eq(what, SLICE("render"));
    struct shape_types types;
    struct err e = {0};
    int status;
    if (!named && what.len && what.ptr[0] != '-')
        return cli_compute_config(argc, argv); /* those that a control plane keeps */
    if (!flags_parse(&flags, argc - named, argv + named, &o, &status))
        return status;
    if (!named)
        return flags_wrong(&flags, "compute-config: want render or check, or create, list, get or archive of a control plane");
    if (slice_empty(o.file))
        return flags_wrong(&flags, "-f is needed");
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    __attribute__((cleanup(buf_free))) struct buf out = {.max = 2 * LIMIT_JSON_ITEM}, notes = {.max = LIMIT_JSON_ITEM};
    struct compute_how how = {.name = o.name, .image = o.image, .ray_version = o.ray_version};
    bool well = true;
    if (!slice_empty(o.ns) && (o.types.len || o.patches.len))
        return flags_wrong(&flags, "--namespace reads the ConfigMaps of a cluster: leave out --instance-types and --patches-file");
    if (!read_maps(&o, &a, &types_text, &patches_text, &e))
        return cli_fail(&e);
    if (o.types.len || o.ns.len) {
        well = explain_types(o.types.len ? o.types.ptr : "instance-types", types_text, &a, &types, &notes);
        how.types = &types;
    }
    if (o.patches.len || o.ns.len) {
        struct shape_patches *patches = arena_new(&a, struct shape_patches);
        const char *from = o.patches.len ? o.patches.ptr : "patches";
        well &= explain_patches(from, patches_text, &a, patches, &notes);
        patches->name = slice_of(from);
        how.patches = well ? patches : NULL;
    }
    if (!cli_read_file(o.file, &a, &text, &e))
        return cli_fail(&e);
    well &= check_text(o.file, text, &how, &a, &out, &notes);
    if (well && !check && !cli_print(buf_slice(&out)))
        return STATUS_ERROR;
    return well ? STATUS_OK : STATUS_ERROR;
}
