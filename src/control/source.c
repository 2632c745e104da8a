/* Watch events update records: a keeper (struct kube_keeper) for each kind of a namespace calls the functions of that kind. */
#include <mobula/control.h>

/* A kind that the server does not know (its CRD is not installed) has no objects, and kinds that need it are decided without it:
 * RayClusters are reconciled even if there are no RayJobs. But RayJobs must have the RayCluster list: if the server says that resource does
 * not exist (it may just be starting), jobs wait instead of concluding that their clusters are gone. */
bool space_synced(const struct space *s, const struct kind *k)
{
    if (!k->controller)
        return true;
    for (const struct kind *const *need = k->controller->needs; need && *need; need++)
        if (!source_of(s, *need)->keeper.synced)
            return false;
    for (const struct kind *const *must = k->controller->must; must && *must; must++)
        if (source_of(s, *must)->keeper.absent && !source_of(s, k)->keeper.absent)
            return false;
    return true;
}

void space_tell_absent(struct space *s, const struct kind *k)
{
    for (const struct kind *const *must = k->controller->must; must && *must; must++) {
        struct source *src = source_of(s, *must);
        if (!src->keeper.absent || src->told)
            continue;
        src->told = true;
        char what[160];
        snprintf(what, sizeof what, "%ss wait: the API server does not know %ss; apply what mobula install --crds-only --print prints",
                 k->name, src->kind->name);
        log_warn(what, LF_CSTR("resource", src->kind->plural), LF("namespace", slice_empty(s->ns) ? SLICE("all") : s->ns));
    }
}

struct source *source_of(const struct space *s, const struct kind *k)
{
    struct source *src = s->source;
    while (src->kind != k)
        src++;
    return src;
}

bool source_is_old(const struct source *src, uint64_t version, uint64_t known, uint32_t round)
{
    return kube_watch_is_old(round ? src->keeper.watch : NULL, version, known);
}

bool source_passed(const struct source *src, uint64_t version)
{
    return src->keeper.synced && src->keeper.watch && version <= kube_watch_version(src->keeper.watch);
}

/* Queues records that could not be decided while a list was incomplete. */
static void touch_space(struct op *op, struct space *s)
{
    struct record *c;
    for (uint32_t i = 0; (c = map_next(&op->all.records, &i)) != NULL;)
        if (c->space == s && c->dirty)
            record_touch(op, c);
}

/* ---- events of the watch ---- */

static void begin_event(void *owner, struct now now)
{
    const struct source *src = owner;
    src->op->now = now;
    src->op->stats.events_seen++;
    arena_reset(&src->op->arenas.event, 64 * KIB);
}

static void keep_object(void *owner, struct jval object, uint64_t version)
{
    struct source *src = owner;
    src->kind->keep(src->op, src, object, version, src->keeper.round);
}

static void drop_object(void *owner, struct jval object, uint64_t version)
{
    struct source *src = owner;
    (void)version;
    src->kind->drop(src->op, src, object);
}

static void sweep_source(void *owner, uint64_t version)
{
    struct source *src = owner;
    src->kind->sweep(src->op, src, version);
}

static void complete_list(void *owner, bool first)
{
    struct source *src = owner;
    (void)first;
    src->told = false;
    if (src->kind->listed)
        src->kind->listed(src->op, src);
    touch_space(src->op, src->space);
}

static void accept_absent(void *owner)
{
    const struct source *src = owner;
    touch_space(src->op, src->space);
}

/* A cut stream is normal: only a failing request after it is a warning. Refused credentials are logged by the client. */
static void report_trouble(void *owner, const struct kube_watch_event *ev)
{
    const struct source *src = owner;
    const struct err *e = ev->err;
    bool cut = !ev->status && e->code == ERR_CLOSED, denied = ev->status && ev->status->code == 401;
    bool skipped = ev->what == KUBE_WATCH_SKIPPED, own = ev->status || skipped;
    /* A lost connection is logged once for all watches: they are lost together, each with other words. */
    uint64_t what = own ? hash64(slice_of(e->text), hash64(src->space->ns, hash64(slice_of(src->kind->plural), 0)))
                        : hash64(slice_of(err_code_name(e->code)), 0);
    src->op->watches_denied += ev->status && ev->status->code == 403;
    if (denied || kube_client_stats(src->op->client)->trouble.code != ERR_NONE)
        return; /* no watch works: the client has logged it, once for all */
    if (say_once(src->op, SAID_SERVER, what))
        log_at(cut ? LOG_INFO : LOG_WARN,
               cut       ? "watch was cut and is taken up again"
               : skipped ? "an object cannot be read and is passed over: all are listed again"
                         : "watch does not work",
               LF_CSTR("resource", src->kind->plural), LF_CSTR("error", e->text), LF_CSTR("step", err_code_name(e->code)),
               LF("namespace", slice_empty(src->space->ns) ? SLICE("all") : src->space->ns));
}

/* A kind that the server does not know counts as listed: see space_synced. */
static const struct kube_keeper_user source_user = {
    .begin = begin_event,
    .keep = keep_object,
    .drop = drop_object,
    .sweep = sweep_source,
    .listed = complete_list,
    .absent = accept_absent,
    .trouble = report_trouble,
    .absent_is_empty = true,
};

void source_refresh(struct source *src)
{
    kube_keeper_refresh(&src->keeper, src->op->now);
}

void source_missed(struct source *src)
{
    enum { EACH_MS = 5 * 1000 };
    if (src->op->now.mono_ms < src->missed_ms)
        return;
    src->missed_ms = src->op->now.mono_ms + EACH_MS;
    source_refresh(src);
}

bool wanted_kind(const struct kind *k, enum operator_kinds which)
{
    return k->family == OPERATOR_ALL_KINDS || which == OPERATOR_ALL_KINDS || k->family == which;
}

/* An optional kind that the operator's flag excludes counts as absent, too. */
static bool is_watched(const struct op *op, uint32_t i)
{
    return wanted_kind(op->parts->kinds[i], op->o.kinds) && !op->o.without[i];
}

static bool source_start(struct source *src, struct err *e)
{
    const struct kind *k = src->kind;
    const struct kube_watch_options o = {
        .resource = *k->resource, .ns = src->space->ns, .kind = slice_of(k->name), .labels = k->selector, .owner = src};
    return kube_keeper_start(&src->keeper, src->op->client, &source_user, &o, e);
}

bool source_demand(struct op *op, struct record *c, const struct kind *k, struct slice *why_not)
{
    struct source *src = source_of(c->space, k);
    struct slice why = SLICE("");
    struct err e = {0};
    if (!src->keeper.watch && !src->keeper.absent && !source_start(src, &e))
        src->keeper.trouble = e;
    bool known = src->keeper.synced && !src->keeper.absent;
    c->dirty |= !known && src->keeper.watch; /* so that the end of the list touches it */
    if (src->keeper.absent && !src->keeper.watch)
        why = arena_printf(&op->arenas.plan, "this operator runs with --%s=false", k->optional.flag);
    else if (src->keeper.absent)
        why = arena_printf(&op->arenas.plan, "the API server does not know %s", k->plural);
    else if (!src->keeper.synced && src->keeper.trouble.code != ERR_NONE)
        why = arena_printf(&op->arenas.plan, "%s cannot be listed: %s", k->plural, src->keeper.trouble.text);
    if (why_not)
        *why_not = why;
    return known;
}

bool space_start(struct op *op, struct space *s, struct slice ns, struct err *e)
{
    s->ns = ns;
    s->source = mem_alloc(kind_count(op) * sizeof s->source[0]);
    for (uint32_t i = 0; i < kind_count(op); i++) {
        const struct kind *k = op->parts->kinds[i];
        struct source *src = &s->source[i];
        *src = (struct source){.op = op, .space = s, .kind = k};
        if (!is_watched(op, i)) {
            src->keeper.synced = src->keeper.absent = true;
            continue;
        }
        if (!k->resource) {
            src->keeper.synced = true;
            continue;
        }
        if (k->on_demand)
            src->keeper.synced = true;
        else if (!source_start(src, e))
            return false;
    }
    return true;
}

void space_stop(struct space *s)
{
    for (uint32_t i = 0; s->source && i < kind_count(s->source[0].op); i++)
        if (s->source[i].keeper.watch)
            kube_watch_stop(s->source[i].keeper.watch);
    mem_free(s->source);
    s->source = NULL;
}
