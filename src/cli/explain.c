#include "explain.h"
#include "cli.h"
#include "findings.h"
#include "manifest.h"

#include <mobula/reconcile.h>

#include <stdio.h>

/* Names end in letters that are made of the uid, which only the API server gives. */
#define NO_UID "00000000-0000-0000-0000-000000000000"

enum { EXPLAIN_OUTPUT_MAX = 512 * MIB };

/* ---- a namespace in which all that was decided came true at once ---- */

struct world {
    const struct explain_how *how;
    const struct ray_cluster *cluster;
    const struct pod **pods;
    uint32_t count, cap;
    struct service head_service, headless_service;
    bool has_head_service, has_headless_service;
    uint32_t accounts; /* as in cluster_view */
    struct arena *arena;
    struct buf *out;
    struct err err;
};

static bool put_object(struct world *w, struct slice object)
{
    if (!w->how->json)
        return buf_put(w->out, SLICE("---\n")) && yaml_write(object, w->out, &w->err);
    char last = w->out->len ? w->out->ptr[w->out->len - 1] : '[';
    return (last == '[' || buf_put(w->out, SLICE(",\n"))) && buf_put(w->out, object);
}

static void add_pod(struct world *w, const struct action *action, const struct ray_group *group)
{
    if (w->count == w->cap) {
        const struct pod **more = arena_array(w->arena, w->cap * 2 + 16, sizeof *more);
        if (w->count)
            memcpy(more, w->pods, w->count * sizeof *more);
        w->pods = more;
        w->cap = w->cap * 2 + 16;
    }
    struct pod *pod = arena_new(w->arena, struct pod);
    struct slice name =
        group->head ? ray_head_pod_name(w->cluster, w->arena) : ray_worker_pod_name(w->cluster, group, action->index, SLICE(""), w->arena);
    snprintf(pod->name, sizeof pod->name, "%.*s", SLICE_ARG(name));
    snprintf(pod->uid, sizeof pod->uid, "%08x-0000-0000-0000-000000000000", w->count + 1);
    pod->group = group->name;
    pod->hash = group->hash;
    pod->index = action->index / group->hosts;
    pod->host = action->index % group->hosts;
    pod->head = group->head;
    w->pods[w->count++] = pod;
}

static bool build_pod(struct world *w, const struct action *action, struct buf *object)
{
    const struct ray_group *group = action->group < 0 ? &w->cluster->head : &w->cluster->groups[action->group];
    add_pod(w, action, group);
    if (group->head)
        return ray_build_head_pod(w->cluster, &w->how->ray, w->arena, object, &w->err);
    return ray_build_worker_pod(w->cluster, group, action->index, SLICE(""), &w->how->ray, w->arena, object, &w->err);
}

static bool build_service(struct world *w, bool head, struct buf *object)
{
    struct service *s = head ? &w->head_service : &w->headless_service;
    struct json doc;
    if (!(head ? ray_build_head_service : ray_build_headless_service)(w->cluster, w->arena, object, &w->err) ||
        !json_parse(&doc, buf_slice(object), w->arena, &w->err))
        return false;
    s->hash = ray_service_hash(json_root(&doc));
    *(head ? &w->has_head_service : &w->has_headless_service) = true;
    return true;
}

static bool build_account(struct world *w, const struct action *action, struct buf *object)
{
    w->accounts |= 1u << action->index;
    return ray_build_account(w->cluster, (enum ray_account)action->index, SLICE("(32 random bytes, in base64)"), w->arena, object);
}

/* Carries out what makes an object; *made counts them. */
static bool carry_out(struct world *w, const struct action *action, uint32_t *made)
{
    struct buf object;
    bool well = true;
    buf_init(&object, LIMIT_JSON_ITEM);
    if (action->verb == &raycluster_create_account)
        well = build_account(w, action, &object);
    else if (action->verb == &raycluster_create_pod)
        well = build_pod(w, action, &object);
    else if (action->verb == &raycluster_apply_head_service || action->verb == &raycluster_apply_headless_service)
        well = build_service(w, action->verb == &raycluster_apply_head_service, &object);
    if (well && object.len) {
        well = put_object(w, buf_slice(&object)) ||
               err_set(&w->err, ERR_LIMIT, "more than %d bytes of objects (EXPLAIN_OUTPUT_MAX)", EXPLAIN_OUTPUT_MAX);
        ++*made;
    }
    buf_free(&object);
    return well;
}

/* Decides and carries out until nothing more is to be made: a plan holds RECONCILE_ACTIONS at most. */
static bool run_world(struct world *w)
{
    struct ray_errors errors = {0};
    struct cluster_view view = {.cluster = w->cluster, .errors = &errors, .options = &w->how->ray, .now = {.mono_ms = 1, .wall_us = 1}};
    view.failures = arena_array(w->arena, w->cluster->group_count + 1, sizeof *view.failures);
    for (uint32_t made = 1; made > 0;) {
        struct plan plan;
        made = 0;
        view.pods = w->pods;
        view.pod_count = w->count;
        view.accounts = w->accounts;
        view.head_service = w->has_head_service ? &w->head_service : NULL;
        view.headless_service = w->has_headless_service ? &w->headless_service : NULL;
        reconcile_cluster(&view, w->arena, &plan);
        for (uint32_t i = 0; i < plan.count; i++)
            if (!carry_out(w, &plan.actions[i], &made))
                return false;
    }
    return true;
}

/* ---- manifests ---- */

static bool say_errors(const char *file, const struct yaml_doc *doc, struct slice prefix, const struct ray_errors *errors, struct arena *a,
                       struct buf *notes)
{
    struct findings *f = arena_new(a, struct findings);
    *f = (struct findings){.arena = a, .prefix = prefix};
    findings_add_ray(f, false, errors);
    findings_write(f, file, doc, notes);
    return false;
}

/* Reads the cluster anew with its instance types. */
static bool apply_types(struct jval object, struct ray_cluster *cluster, struct ray_errors *errors, struct world *w)
{
    struct json *json = arena_new(w->arena, struct json);
    struct slice text;
    return shape_types_expand(w->how->types, object, w->arena, &text, errors, &w->err) && json_parse(json, text, w->arena, &w->err) &&
           errors->count == 0 && ray_read(json_root(json), w->arena, cluster, errors);
}

static bool explain_cluster(const char *file, const struct yaml_doc *doc, struct jval object, struct slice prefix, struct world *w,
                            struct buf *notes)
{
    struct ray_cluster *cluster = arena_new(w->arena, struct ray_cluster);
    struct ray_errors *errors = arena_new(w->arena, struct ray_errors);
    bool read = ray_read(object, w->arena, cluster, errors) && (!w->how->types || apply_types(object, cluster, errors, w));
    if (errors->count)
        return say_errors(file, doc, prefix, errors, w->arena, notes);
    if (!read) {
        findings_error(file, doc->line, &w->err, notes);
        return false;
    }
    if (slice_empty(cluster->ns))
        cluster->ns = SLICE("default");
    if (slice_empty(cluster->uid))
        cluster->uid = SLICE(NO_UID);
    w->cluster = cluster;
    if (!run_world(w)) {
        findings_error(file, doc->line, &w->err, notes);
        return false;
    }
    if (cluster->managed_elsewhere)
        buf_printf(notes, "%s:%u: nothing is made: spec.managedBy leaves it to another controller\n", file, doc->line);
    else if (cluster->suspend)
        buf_printf(notes, "%s:%u: no pods are made: spec.suspend is true\n", file, doc->line);
    return true;
}

static bool explain_object(const char *file, const struct yaml_doc *doc, struct jval object, struct slice prefix,
                           const struct explain_how *how, struct arena *a, struct buf *out, struct buf *notes)
{
    enum ray_kind kind;
    struct manifest_fault fault;
    struct world w = {.how = how, .arena = a, .out = out};
    bool well = true;
    switch (manifest_what(object, a, &kind, &fault)) {
    case MANIFEST_LIST: {
        struct jval key, item;
        size_t i = 0;
        for (struct jiter it = json_iter(json_key(object, SLICE("items"))); json_next(&it, &key, &item); i++)
            well &= explain_object(file, doc, item, arena_printf(a, "%.*sitems[%zu].", SLICE_ARG(prefix), i), how, a, out, notes);
        return well;
    }
    case MANIFEST_CLUSTER:
        return explain_cluster(file, doc, object, prefix, &w, notes);
    case MANIFEST_WRONG: {
        struct findings *f = arena_new(a, struct findings);
        *f = (struct findings){.arena = a, .prefix = prefix};
        findings_add(f, false, fault.path, json_offset(fault.at), fault.text);
        findings_write(f, file, doc, notes);
        return false;
    }
    case MANIFEST_JOB:
    case MANIFEST_CRONJOB:
    case MANIFEST_OTHER:
        manifest_skip(file, yaml_line(doc, json_offset(object)), object,
                      "is not a RayCluster of ray.io/v1 or cluster.ray.io/v1: what comes of it is not shown", a, notes);
    }
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
            well &= explain_object(file, doc, json_root(&json), SLICE(""), how, a, out, notes);
        } else {
            findings_error(file, doc->line, doc->error ? doc->error : &why, notes);
            well = false;
        }
    }
    return well;
}

bool explain_types(const char *file, struct slice text, struct arena *a, struct shape_types *out, struct buf *notes)
{
    struct shape_errors *errors = arena_new(a, struct shape_errors);
    struct yaml_docs docs;
    struct json json;
    uint32_t above = 0;
    if (yaml_parse(text, a, &docs, NULL) && docs.count == 1 && json_parse(&json, docs.docs[0].json, a, NULL) &&
        json_str_eq(json_key(json_root(&json), SLICE("kind")), SLICE("ConfigMap"))) {
        struct jval inner = json_key(json_key(json_root(&json), SLICE("data")), SLICE("instance_types.yaml"));
        text = json_type(inner) == JSON_STRING ? json_str(inner, a) : SLICE("");
        above = json_there(inner) ? yaml_line(&docs.docs[0], json_offset(inner)) : 0;
    }
    bool well = shape_types_read(text, a, out, errors);
    for (uint32_t i = 0; i < errors->count; i++) {
        size_t from = notes->len;
        buf_printf(notes, "%s:%u: %.*s%s%.*s", file, above + errors->list[i].line, SLICE_ARG(errors->list[i].path),
                   errors->list[i].path.len ? ": " : "", SLICE_ARG(errors->list[i].text));
        findings_end_line(notes, from);
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
    struct slice tools, tools_resources, output, cluster_domain, autoscaler, types;
};

static const struct flag list[] = {
#define AT(field) offsetof(struct explain_options, field)
    {"f", FLAG_TEXTS, AT(files), "FILE", "a manifest in YAML or JSON, or a folder of them; - is standard input"},
    {"tools", FLAG_TEXT, AT(tools), "WHERE", "configmap (default), image:REF or none, as the operator has it"},
    {"tools-resources", FLAG_TEXT, AT(tools_resources), "cpu=N,memory=N", "of the containers that are added, as the operator has it"},
    {"autoscaler", FLAG_TEXT, AT(autoscaler), "WHO", "operator (default), sidecar or off, as the operator has it"},
    {"cluster-domain", FLAG_TEXT, AT(cluster_domain), "DOMAIN", "of service names (cluster.local)"},
    {"instance-types", FLAG_TEXT, AT(types), "FILE", "of instance types, to apply to pod templates that name one"},
    {"output", FLAG_TEXT, AT(output), "yaml|json", "YAML documents (default) or one JSON list"},
#undef AT
};

static const struct flags flags = {
    .usage = "mobula explain -f FILE [-f FILE...] [FLAG...]  or  mobula explain cluster NAME [-n NS]",
    .about = "Prints the pods and services that the operator would make of RayClusters in an empty namespace. The last letters of worker\n"
             "names are made of the cluster's uid, which only the API server gives: they will be others.\n"
             "`mobula explain cluster NAME` says of a cluster that there is why it is as it is: see its --help.",
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

int cli_explain(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "cluster") == 0)
        return cli_explain_cluster(argc - 1, argv + 1);
    struct explain_options o = {
        .tools = SLICE("configmap"), .output = SLICE("yaml"), .cluster_domain = SLICE("cluster.local"), .autoscaler = SLICE("operator")};
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
        !cli_scaler(o.autoscaler, &scaler, &e) || !cli_domain(o.cluster_domain, &e))
        return flags_wrong(&flags, "%s", e.text);
    how.ray.sidecar = scaler == CLI_SCALER_SIDECAR;
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    __attribute__((cleanup(buf_free))) struct buf out, notes;
    buf_init(&out, EXPLAIN_OUTPUT_MAX);
    buf_init(&notes, MIB);
    struct shape_types types;
    struct slice text;
    __attribute__((cleanup(arena_free))) struct arena kept = {0};
    if (!slice_empty(o.types)) {
        if (!cli_read_file(o.types, &kept, &text, &e))
            return cli_fail(&e);
        how.types = &types;
        if (!explain_types(o.types.ptr, text, &kept, &types, &notes)) {
            fprintf(stderr, "%.*s", SLICE_ARG(buf_slice(&notes)));
            return STATUS_ERROR;
        }
    }
    return explain_files(&o, &how, &a, &out, &notes);
}
