/* `mobula explain -f FILE`: the objects that the operator would make of manifests. */
#include "cli.h"

#include <mobula/explain.h>
#include <mobula/release.h>
#include <mobula/schema.h>

#include <stdio.h>

struct explain_options {
    struct flag_texts files;
    struct slice tools, tools_resources, output, cluster_domain, autoscaler, submitter, types, patches;
    struct default_patches defaults;
    bool steps;
};

static const struct flag list[] = {
#define AT(field) offsetof(struct explain_options, field)
    {"f", FLAG_TEXTS, AT(files), "FILE"},
    {"tools", FLAG_TEXT, AT(tools), "configmap|image:REF|none"},
    {"tools-resources", FLAG_TEXT, AT(tools_resources), "cpu=N,memory=N"},
    {"autoscaler", FLAG_TEXT, AT(autoscaler), "operator|sidecar|off"},
    {"submitter", FLAG_TEXT, AT(submitter), "operator|pod"},
    {"cluster-domain", FLAG_TEXT, AT(cluster_domain), "DOMAIN"},
    {"instance-types", FLAG_TEXT, AT(types), "FILE"},
    {"patches-file", FLAG_TEXT, AT(patches), "FILE"},
    DEFAULT_PATCHES_FLAGS(AT(defaults)),
    {"patches", FLAG_SWITCH, AT(steps), NULL},
    {"output", FLAG_TEXT, AT(output), "yaml|json"},
#undef AT
};

static const struct flags flags = {
    .usage = "mobula explain cluster|job|service NAME [-n NS]  or  mobula explain -f FILE [-f FILE...] [FLAG...]",
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
    if (!cli_tools(o.tools, &how.ray, &e) || !cli_resources("tools-resources", o.tools_resources, &how.ray.tools_resources, &e) ||
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
