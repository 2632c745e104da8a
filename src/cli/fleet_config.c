/* Compute configs of a control plane: names of their versions, and warnings about instance types that no operator has reported. */
#include "cli.h"
#include "compute.h"
#include "fleet.h"

#include <stdio.h>

static const struct noun configs = {.kind = "ComputeConfig", .word = "compute-config", .resource = &hub_configs},
                         clouds = {.kind = "Cloud", .word = "cloud", .resource = &hub_clouds};

/* Reads one object, or the list if name is empty. NO_VALUE: failed, with *e. */
static struct jval read(struct desk *d, const struct noun *noun, struct slice name, struct err *e)
{
    const struct noun *own = d->noun;
    struct ask_answer a;
    struct jval out;
    d->noun = noun;
    bool well = fleet_get(d, name, &a, e) && json_read(&out, a.body, &d->a, e);
    d->noun = own;
    return well ? out : NO_VALUE;
}

/* Number of the newest version of a name; 0: none exists. *exact: an object has exactly this name. */
static int64_t newest_of(struct jval list, struct slice name, bool *exact, struct arena *a)
{
    struct jval k, one;
    int64_t n, newest = 0;
    *exact = false;
    for (struct jiter it = json_iter(json_get(list, "items")); json_next(&it, &k, &one);) {
        struct slice object = json_get_str(one, "metadata.name", a);
        *exact |= slice_eq(object, name);
        if (config_is_version(object, name, &n) && n > newest)
            newest = n;
    }
    return newest;
}

/* The object name of NAME:N; of NAME that of its newest version. */
static struct slice find_version(struct desk *d, struct slice typed)
{
    struct slice version = typed, name = slice_cut(&version, ':');
    struct err ignored = {0};
    bool exact;
    if (version.ptr)
        return arena_printf(&d->a, "%.*s-v%.*s", SLICE_ARG(name), SLICE_ARG(version));
    int64_t newest = newest_of(read(d, &configs, SLICE_NONE, &ignored), name, &exact, &d->a);
    return exact || !newest ? name : arena_printf(&d->a, "%.*s-v%lld", SLICE_ARG(name), (long long)newest);
}

/* ---- instance types ---- */

/* Whether a cloud has reported the type. *lists: how many clouds have reported any. */
static bool is_reported(struct jval all, struct slice only, struct slice type, uint32_t *lists, struct nearest *near, struct arena *a)
{
    struct jval k, cloud, one;
    for (struct jiter it = json_iter(all); json_next(&it, &k, &cloud);) {
        struct jval items = json_get(cloud, "status.instanceTypes.items");
        if (!slice_empty(only) && !slice_eq(json_get_str(cloud, "metadata.name", a), only))
            continue;
        *lists += json_len(items) > 0;
        for (struct jiter in = json_iter(items); json_next(&in, &k, &one);) {
            struct slice name = json_get_str(one, "name", a);
            if (slice_eq(name, type))
                return true;
            nearest_try(near, name);
        }
    }
    return false;
}

static void warn_node(struct jval node, const char *where, struct jval all, struct slice cloud, struct arena *a, struct buf *out)
{
    struct slice type = json_get_str(node, "instance_type", a);
    struct nearest near = {.typed = type};
    uint32_t lists = 0;
    if (slice_empty(type) || is_reported(all, cloud, type, &lists, &near, a) || !lists)
        return;
    buf_printf(out, "mobula: warning: %s: instance type %.*s is not among those that %s%.*s reported%s%.*s%s\n", where, SLICE_ARG(type),
               slice_empty(cloud) ? "the operators have" : "the operator of cloud ", SLICE_ARG(cloud),
               near.best.ptr ? "; did you mean " : "", SLICE_ARG(near.best), near.best.ptr ? "?" : "");
}

void config_warn(struct jval spec, struct jval all, struct slice cloud, struct arena *a, struct buf *out)
{
    struct jval k, node, workers = json_key(spec, SLICE("worker_nodes"));
    warn_node(json_key(spec, SLICE("head_node")), "head_node", all, cloud, a, out);
    for (struct jiter it = json_iter(workers); json_next(&it, &k, &node);)
        warn_node(node, "worker_nodes", all, cloud, a, out);
}

/* Reads the clouds. An account that may not list them gets no warnings. */
static void warn(struct desk *d, struct jval spec, struct slice cloud)
{
    __attribute__((cleanup(buf_free))) struct buf out = {.max = MIB};
    struct err ignored = {0};
    config_warn(spec, json_get(read(d, &clouds, SLICE_NONE, &ignored), "items"), cloud, &d->a, &out);
    fprintf(stderr, "%.*s", SLICE_ARG(buf_slice(&out)));
}

struct jval config_read(struct desk *d, struct slice typed, struct err *e)
{
    return read(d, &configs, find_version(d, typed), e);
}

void config_warn_job(struct desk *d)
{
    struct err e = {0};
    if (slice_empty(d->o.config))
        return;
    struct jval config = config_read(d, d->o.config, &e);
    if (json_there(config))
        warn(d, json_get(config, "spec"), d->o.cloud);
    else if (e.code == ERR_STATUS)
        fprintf(stderr, "mobula: warning: --compute-config: %s\n", e.text);
}

/* ---- verbs ---- */

/* Creates the next version of the name. */
bool config_create(struct desk *d, struct err *e)
{
    struct slice spec, text;
    struct ask_answer a;
    struct jval doc;
    bool exact;
    if (!fleet_file(d, &text, &spec, e) || !compute_is_sound(d->o.file, text, &d->a, e) || !json_read(&doc, spec, &d->a, e))
        return false;
    struct jval list = read(d, &configs, SLICE_NONE, e);
    if (!json_there(list))
        return false;
    warn(d, doc, json_get_str(doc, "cloud", &d->a));
    int64_t next = newest_of(list, d->o.name, &exact, &d->a) + 1;
    return fleet_create(d, arena_printf(&d->a, "%.*s-v%lld", SLICE_ARG(d->o.name), (long long)next), spec, &a, e) &&
           fleet_print(d, a.body, e);
}

bool config_get(struct desk *d, struct err *e)
{
    d->o.name = find_version(d, d->o.name);
    return fleet_show(d, e);
}

bool config_archive(struct desk *d, struct err *e)
{
    struct ask_answer a;
    d->o.name = find_version(d, d->o.name);
    if (!fleet_delete(d, &a, e))
        return false;
    struct slice shown = config_shown(d->o.name, &d->a);
    fprintf(stderr, "compute-config %.*s is archived\n", SLICE_ARG(shown));
    return true;
}
