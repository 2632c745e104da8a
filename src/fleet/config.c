/* Compute configs of a control plane: names of their versions, and warnings about instance types that no operator has reported. */
#include <mobula/fleet.h>

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

/* ---- names of versions: NAME:N for users, NAME-vN for the API server ---- */

bool fleet_config_is_version(struct slice object, struct slice name, int64_t *n)
{
    struct slice rest = slice_skip(object, slice_starts(object, name) ? name.len : object.len);
    return slice_starts(rest, SLICE("-v")) && slice_int(slice_skip(rest, 2), n) && *n > 0;
}

struct slice fleet_config_shown(struct slice object, struct arena *a)
{
    int64_t n;
    ptrdiff_t at = slice_find_text_last(object, "-v");
    struct slice name = slice_head(object, at > 0 ? (size_t)at : 0);
    return at > 0 && fleet_config_is_version(object, name, &n) ? arena_printf(a, "%.*s:%lld", SLICE_ARG(name), (long long)n) : object;
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
        if (fleet_config_is_version(object, name, &n) && n > newest)
            newest = n;
    }
    return newest;
}

struct slice fleet_config_object(struct desk *d, struct slice typed)
{
    struct slice version = typed, name = slice_cut(&version, ':');
    struct err ignored = {0};
    bool exact;
    if (version.ptr)
        return arena_printf(&d->a, "%.*s-v%.*s", SLICE_ARG(name), SLICE_ARG(version));
    int64_t newest = newest_of(read(d, &configs, SLICE_NONE, &ignored), name, &exact, &d->a);
    return exact || !newest ? name : arena_printf(&d->a, "%.*s-v%lld", SLICE_ARG(name), (long long)newest);
}

bool fleet_config_next(struct desk *d, struct slice name, struct slice *object, struct err *e)
{
    bool exact;
    struct jval list = read(d, &configs, SLICE_NONE, e);
    if (!json_there(list))
        return false;
    *object = arena_printf(&d->a, "%.*s-v%lld", SLICE_ARG(name), (long long)newest_of(list, name, &exact, &d->a) + 1);
    return true;
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

void fleet_config_warn(struct jval spec, struct jval all, struct slice cloud, struct arena *a, struct buf *out)
{
    struct jval k, node, workers = json_key(spec, SLICE("worker_nodes"));
    warn_node(json_key(spec, SLICE("head_node")), "head_node", all, cloud, a, out);
    for (struct jiter it = json_iter(workers); json_next(&it, &k, &node);)
        warn_node(node, "worker_nodes", all, cloud, a, out);
}

void fleet_config_warn_spec(struct desk *d, struct jval spec, struct slice cloud)
{
    __attribute__((cleanup(buf_free))) struct buf out = {.max = MIB};
    struct err ignored = {0};
    fleet_config_warn(spec, json_get(read(d, &clouds, SLICE_NONE, &ignored), "items"), cloud, &d->a, &out);
    fleet_tell(d, buf_slice(&out));
}

struct jval fleet_config_read(struct desk *d, struct slice typed, struct err *e)
{
    return read(d, &configs, fleet_config_object(d, typed), e);
}

void fleet_config_warn_job(struct desk *d)
{
    struct err e = {0};
    if (slice_empty(d->o.config))
        return;
    struct jval config = fleet_config_read(d, d->o.config, &e);
    if (json_there(config))
        fleet_config_warn_spec(d, json_get(config, "spec"), d->o.cloud);
    else if (e.code == ERR_STATUS)
        fleet_tell(d, arena_printf(&d->a, "mobula: warning: --compute-config: %s\n", e.text));
}
