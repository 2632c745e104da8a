/* mobula compute-config: compute configs without a control plane. */
#include "compute.h"
#include "cli.h"
#include "shapes.h"

#include <mobula/command.h>
#include <mobula/explain.h>

#include <stdio.h>

bool compute_check(struct slice file, struct slice text, const struct compute_how *how, struct arena *a, struct buf *out, struct buf *notes)
{
    bool well = compute_text(slice_is(file, "-") ? "stdin" : file.ptr, text, how, a, out, notes);
    fprintf(stderr, "%.*s", SLICE_ARG(buf_slice(notes)));
    return well;
}

bool compute_is_sound(struct slice file, struct slice text, struct arena *a, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf out = {.max = 2 * LIMIT_JSON_ITEM}, notes = {.max = LIMIT_JSON_ITEM};
    struct compute_how how = {.name = SLICE("cluster"), .image = SLICE(COMPUTE_IMAGE), .ray_version = SLICE("")};
    return compute_check(file, text, &how, a, &out, &notes) || err_set(e, ERR_CONFIG, "the compute config is not stored");
}

struct compute_options {
    struct slice file, types, patches, ns, kubeconfig, context, name, image, ray_version;
    int64_t timeout_ms;
};

static const struct flag list[] = {
#define AT(field) offsetof(struct compute_options, field)
    {"f", FLAG_TEXT, AT(file), "FILE"},
    {"instance-types", FLAG_TEXT, AT(types), "FILE"},
    {"patches-file", FLAG_TEXT, AT(patches), "FILE"},
    {"namespace", FLAG_TEXT, AT(ns), "NS"},
    TLS_FLAG,
    {"kubeconfig", FLAG_TEXT, AT(kubeconfig), "FILE"},
    {"context", FLAG_TEXT, AT(context), "NAME"},
    ASK_TIMEOUT_FLAG(AT(timeout_ms)),
    {"name", FLAG_TEXT, AT(name), "NAME"},
    {"image", FLAG_TEXT, AT(image), "REF"},
    {"ray-version", FLAG_TEXT, AT(ray_version), "VERSION"},
#undef AT
};

static const struct flags flags = {
    .usage = "mobula compute-config render|check|create|list|get|archive -f FILE [--instance-types FILE] [FLAG...]",
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
    struct compute_options o = {.name = SLICE("cluster"), .image = SLICE(COMPUTE_IMAGE), .ray_version = SLICE("")};
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
    well &= compute_check(o.file, text, &how, &a, &out, &notes);
    if (well && !check && !cli_print(buf_slice(&out)))
        return STATUS_ERROR;
    return well ? STATUS_OK : STATUS_ERROR;
}
