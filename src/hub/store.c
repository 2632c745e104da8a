/* The namespaces that the hub serves: each has a watch of each kind, whose events change the records of that kind. */
#include "private.h"

/* A kind may point to records of kinds before it. */
const struct hub_kind *const hub_kinds[SOURCES] = {
    [SOURCE_CLOUDS] = &hub_kind_cloud,
    [SOURCE_CONFIGS] = &hub_kind_config,
    [SOURCE_WORKLOADS] = &hub_kind_workload,
};

struct space *hub_store_space(const struct hub *h, struct slice ns)
{
    for (uint32_t i = 0; i < h->o.namespace_count; i++)
        if (slice_empty(h->spaces[i].ns) || slice_eq(h->spaces[i].ns, ns))
            return &h->spaces[i];
    return NULL;
}

bool hub_space_has(const struct space *s, struct slice ns)
{
    return slice_empty(s->ns) || slice_eq(s->ns, ns);
}

bool hub_space_known(const struct space *s)
{
    for (unsigned k = 0; k < SOURCES; k++)
        if (!s->source[k].keeper.known)
            return false;
    return true;
}

void hub_store_care(struct hub *h)
{
    for (unsigned k = SOURCES; k-- > 0;)
        if (hub_kinds[k]->care)
            hub_kinds[k]->care(h);
}

/* ---- events of the watches ---- */

static void begin_event(void *owner, struct now now)
{
    const struct source *src = owner;
    src->space->hub->now = now;
    arena_reset(&src->space->hub->event, 64 * KIB);
}

static void keep_object(void *owner, struct jval object, uint64_t version)
{
    struct source *src = owner;
    (void)version;
    src->kind->keep(src->space->hub, src, object);
}

static void drop_object(void *owner, struct jval object, uint64_t version)
{
    struct source *src = owner;
    src->kind->drop(src->space->hub, src, object, version);
}

static void sweep_source(void *owner, uint64_t version)
{
    struct source *src = owner;
    src->kind->sweep(src->space->hub, src, version);
}

/* When all lists of the namespace have come for the first time, each workload is looked at: its compute config may have come after it. */
static void complete_list(void *owner, bool first)
{
    struct source *src = owner;
    struct hub *h = src->space->hub;
    struct workload *w;
    struct cloud *c;
    if (src->kind->listed)
        src->kind->listed(h, src, first);
    if (!hub_space_known(src->space))
        return;
    for (uint32_t i = 0; first && (w = map_next(&h->workloads, &i)) != NULL;)
        workload_look(h, w);
    if (first)
        hub_store_care(h);
    for (uint32_t i = 0; (c = map_next(&h->clouds, &i)) != NULL;)
        cloud_touch(c);
}

static void prepare_restored(void *owner)
{
    const struct source *src = owner;
    log_warn("the store of the API server was restored from a backup: operators get full answers",
             LF("resource", src->kind->resource->plural));
    memset(src->space->gone, 0, sizeof src->space->gone);
}

static void explain_absent(void *owner)
{
    struct source *src = owner;
    err_set(&src->keeper.trouble, ERR_MISSING,
            "the API server does not know it: apply what mobula install --crds-only --control-plane prints");
}

static void report_trouble(void *owner, const struct kube_watch_event *ev)
{
    const struct source *src = owner;
    const struct err *before = &src->keeper.trouble;
    bool same = before->code == ev->err->code && strcmp(before->text, ev->err->text) == 0;
    if (!same && !(ev->err->code == ERR_CLOSED && !ev->status))
        log_warn("watch does not work", LF("resource", src->kind->resource->plural), LF("namespace", src->space->ns),
                 LF_CSTR("error", ev->err->text));
}

/* A kind that the server does not know is not ready, and its records stay: its definition may be about to be applied again. */
static const struct kube_keeper_user source_user = {
    .begin = begin_event,
    .keep = keep_object,
    .drop = drop_object,
    .sweep = sweep_source,
    .listed = complete_list,
    .rewound = prepare_restored,
    .absent = explain_absent,
    .trouble = report_trouble,
};

void hub_store_restored(struct hub *h, uint64_t known, uint64_t is)
{
    kube_watch_restored(h->spaces[0].source[SOURCE_CLOUDS].keeper.watch, known, is, h->now);
}

/* ---- start and end ---- */

static bool source_start(struct source *src, struct err *e)
{
    const struct kube_watch_options o = {.resource = *src->kind->resource, .ns = src->space->ns, .kind = src->kind->name, .owner = src};
    return kube_keeper_start(&src->keeper, src->space->hub->client, &source_user, &o, e);
}

bool hub_store_start(struct hub *h, struct err *e)
{
    h->spaces = mem_alloc(h->o.namespace_count * sizeof *h->spaces);
    for (uint32_t i = 0; i < h->o.namespace_count; i++)
        for (unsigned k = 0; k < SOURCES; k++) {
            struct space *s = &h->spaces[i];
            s->hub = h;
            s->ns = h->o.namespaces[i];
            s->source[k] = (struct source){.space = s, .kind = hub_kinds[k]};
            if (!source_start(&s->source[k], e))
                return false;
        }
    return true;
}

void hub_store_stop(struct hub *h)
{
    for (uint32_t i = 0; h->spaces && i < h->o.namespace_count; i++)
        for (unsigned k = 0; k < SOURCES; k++)
            kube_watch_stop(h->spaces[i].source[k].keeper.watch);
}

void hub_store_free(struct hub *h)
{
    for (unsigned k = SOURCES; k-- > 0;)
        hub_kinds[k]->free(h);
    mem_free(h->spaces);
}
