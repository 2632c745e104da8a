/* The view that tests, the simulator and the fuzzers have. */
#include <mobula/inspect.h>

#include "op.h"

struct inspect_figures inspect_figures(const struct op *op)
{
    return (struct inspect_figures){
        .leading = op->phase.leading,
        .stopping = op->phase.stopping,
        .waits = op->dirty.first != NULL,
        .types = types_in_force(op) != NULL,
        .policy_file = policy_file_broken(op),
        .records = op->all.records.count,
        .pods = op->all.pods.count,
        .services = op->all.services.count,
        .allocated = op->slabs.record.count + op->slabs.pod.count + op->slabs.service.count + op->slabs.flight.count,
        .strings = op->strings.map.count,
        .tools = tools_known(op),
        .timers = op->heap.count,
        .calls = op->flights,
        .decisions = op->stats.decisions,
        .plans = op->stats.plans,
        .scalings = op->stats.scalings,
        .plane_calls = workloads_calls(op),
        .watch_restarts = kube_client_stats(op->client)->watch_restarts,
        .events_dropped = kube_events_dropped(op->events),
    };
}

uint32_t inspect_old_plans(const struct op *op, int64_t until_ms)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < OPERATOR_RINGS; i++)
        for (const struct record *c = op->ring.rings[i].first; c; c = c->ring.next)
            count += c->work && c->work->began_ms <= until_ms;
    return count;
}

struct kube_lease *inspect_lease(const struct op *op)
{
    return op->lease;
}

void inspect_metrics(const struct op *op, struct buf *out)
{
    metrics_write(op, out);
}

/* ---- kinds and what is known of them ---- */

uint32_t inspect_kinds(void)
{
    uint32_t count = 0;
    while (kinds[count])
        count++;
    return count;
}

bool inspect_kind(uint32_t number, struct inspect_kind *out)
{
    const struct kind *k = number < inspect_kinds() ? kinds[number] : NULL;
    if (k)
        *out = (struct inspect_kind){k->plural, k->name, k->resource != NULL, k->controller != NULL};
    return k != NULL;
}

uint32_t inspect_namespaces(const struct op *op)
{
    return op->o.namespace_count;
}

struct inspect_view inspect_view(const struct op *op, uint32_t ns, uint32_t kind)
{
    const struct source *from = &op->spaces[ns].source[kind];
    bool tells = from->keeper.watch && !from->keeper.absent && kube_watch_synced(from->keeper.watch);
    return (struct inspect_view){from->keeper.synced, from->keeper.round > 1, tells ? kube_watch_version(from->keeper.watch) : 0};
}

uint32_t inspect_setting_place(const char *setting)
{
    uint32_t i = 0;
    while (!slice_starts(slice_of(setting_kinds[i]->flags[0]), slice_of(setting)))
        i++;
    return i;
}

struct inspect_setting inspect_setting(const struct op *op, const char *setting)
{
    const struct setting *is = &op->settings[inspect_setting_place(setting)];
    return (struct inspect_setting){is->known, is->broken, is->hash == 0, &is->why};
}

/* ---- records ---- */

static void copy_record(const struct op *op, const struct record *c, struct inspect_record *out)
{
    *out = (struct inspect_record){
        .kind = c->kind->plural,
        .ns = istr_slice(c->ns),
        .name = slice_of(c->name ? c->name : ""),
        .uid = slice_of(c->uid),
        .spec = c->seen.spec ? istr_slice(c->seen.spec) : SLICE_NONE,
        .status = {c->status.text, c->status.len},
        .present = c->present,
        .deleting = c->deleting,
        .backs_off = c->backoff.not_before_ms > op->now.mono_ms,
        .pods = c->children.pod_count,
        .in_flight = c->in_flight,
        .generation = c->seen.generation,
        .version = c->seen.version,
        .asks = job_asks(c),
        .record = c,
    };
    for (const struct pod_record *p = c->children.pods; p; p = p->next)
        out->head |= p->pod.head && !p->pod.deleting;
    for (const struct failing *f = c->children.failing; f; f = f->next) {
        out->backs_off |= f->f.not_before_ms > op->now.mono_ms;
        out->head_failures = f->group ? out->head_failures : f->f.count;
    }
}

bool inspect_record(struct op *op, struct slice uid, struct slice ns, struct inspect_record *out)
{
    const struct record *c = record_get(op, uid, ns);
    if (c)
        copy_record(op, c, out);
    return c != NULL;
}

bool inspect_records(const struct op *op, uint32_t *at, struct inspect_record *out)
{
    const struct record *c = map_next(&op->all.records, at);
    if (c)
        copy_record(op, c, out);
    return c != NULL;
}

bool inspect_owned(const struct op *op, const struct inspect_record *of, uint32_t *at, struct inspect_record *out)
{
    const struct record *c = of->record->family.owned;
    for (uint32_t i = 0; c && i < *at; i++)
        c = c->family.next;
    if (c)
        copy_record(op, c, out);
    ++*at;
    return c != NULL;
}

const struct verb *inspect_action(const struct inspect_record *r, uint32_t number)
{
    const struct work *work = r->record->work;
    return work && number < work->count ? work->actions[number].verb : NULL;
}

bool inspect_pods(const struct op *op, uint32_t *at, struct inspect_pod *out)
{
    const struct pod_record *p = map_next(&op->all.pods, at);
    if (p)
        *out = (struct inspect_pod){&p->pod, p->by_us, p->of->present};
    return p != NULL;
}

bool inspect_services(const struct op *op, uint32_t *at, struct inspect_service *out)
{
    const struct service_record *s = map_next(&op->all.services, at);
    if (s)
        *out = (struct inspect_service){&s->service, s->of->present};
    return s != NULL;
}

/* ---- an operator without a server ---- */

bool inspect_tell(struct op *op, struct slice kind, struct slice object, bool gone)
{
    struct json doc;
    uint64_t version = 0;
    uint32_t k = 0;
    while (op->parts->kinds[k] && !(op->parts->kinds[k]->resource && slice_eq(slice_of(op->parts->kinds[k]->plural), kind)))
        k++;
    arena_reset(&op->arenas.event, 64 * KIB);
    if (!op->parts->kinds[k] || !json_parse(&doc, object, &op->arenas.event, NULL) || json_type(json_root(&doc)) != JSON_OBJECT)
        return false;
    struct source *from = &op->spaces[0].source[k];
    kube_version_parse(json_get_str(json_root(&doc), "metadata.resourceVersion", &op->arenas.event), &version);
    if (gone)
        op->parts->kinds[k]->drop(op, from, json_root(&doc));
    else
        op->parts->kinds[k]->keep(op, from, json_root(&doc), version, 1);
    return true;
}

void inspect_complete(struct op *op)
{
    for (uint32_t k = 0; k < kind_count(op); k++)
        op->spaces[0].source[k].keeper.synced = true;
}

static bool pod_right(const struct pod *p)
{
    bool ends = strnlen(p->name, sizeof p->name) < sizeof p->name && strnlen(p->uid, sizeof p->uid) < sizeof p->uid &&
                strnlen(p->ip, sizeof p->ip) < sizeof p->ip;
    return ends && p->phase <= POD_UNKNOWN && p->index >= -1 && p->host >= 0 && (!p->ready || p->phase == POD_RUNNING) && p->uid[0];
}

/* Its pods are its own, and so are the records that it owns, which are of its namespace. */
static const char *record_broken(const struct record *c)
{
    uint32_t pods = 0, ready = 0;
    for (const struct pod_record *p = c->children.pods; p; p = p->next, pods++) {
        ready += p->pod.ready;
        if (p->of != c)
            return "a pod in the list of another record";
    }
    for (const struct record *own = c->family.owned; own; own = own->family.next)
        if (own->family.owner != c || own->kind == c->kind || own->ns != c->ns)
            return "a record in the list of another owner";
    if (!job_matches_record(c))
        return "a job's state at another record";
    return pods == c->children.pod_count && ready == c->children.ready_count ? NULL : "a record's pods are miscounted";
}

const char *inspect_broken(struct op *op)
{
    const struct pod_record *p;
    const struct record *c;
    uint32_t pods = 0, owned = 0, owners = 0, follows = 0;
    for (uint32_t i = 0; (p = map_next(&op->all.pods, &i)) != NULL; pods++)
        if (!pod_right(&p->pod) || record_get(op, slice_of(p->of->uid), istr_slice(p->of->ns)) != p->of)
            return "a pod's record";
    for (uint32_t i = 0; (c = map_next(&op->all.records, &i)) != NULL;) {
        const char *broken = record_broken(c);
        if (broken)
            return broken;
        pods -= c->children.pod_count;
        owners += c->family.owner != NULL;
        for (const struct record *own = c->family.owned; own; own = own->family.next)
            owned++;
        follows += job_follows(c);
    }
    return pods                           ? "a pod in no list"
           : owned != owners              ? "a record in no list"
           : follows != op->names.watched ? "a name that nobody watches"
                                          : NULL;
}
