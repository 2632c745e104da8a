#include "decide.h"

#include <stdlib.h>

static int compare_pods(const void *a, const void *b)
{
    const struct pod *x = *(const struct pod *const *)a, *y = *(const struct pod *const *)b;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    if (x->host != y->host)
        return x->host < y->host ? -1 : 1;
    if (x->created_us != y->created_us)
        return x->created_us < y->created_us ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool belongs(const struct pod *pod, const struct ray_group *spec)
{
    return spec->head ? pod->head : !pod->head && slice_eq(pod->group, spec->name);
}

static struct group_view view_group(const struct cluster_view *in, const struct ray_group *spec, int32_t number, struct arena *a)
{
    struct group_view g = {.in = in, .spec = spec, .number = number, .failures = &in->failures[number + 1]};
    g.named_only = !spec->suspended && (in->by_name || ray_has_sidecar(in->cluster, in->options));
    g.pods = arena_array(a, in->pod_count + 1, sizeof *g.pods);
    for (uint32_t i = 0; i < in->pod_count; i++)
        if (belongs(in->pods[i], spec))
            g.pods[g.count++] = in->pods[i];
    qsort(g.pods, g.count, sizeof *g.pods, compare_pods);
    return g;
}

static const struct verb *const applies[RAY_SERVICES] = {&raycluster_apply_head_service, &raycluster_apply_headless_service,
                                                         &raycluster_apply_serve_service};

enum ray_service raycluster_service_of(const struct verb *apply)
{
    enum ray_service which = RAY_SERVICE_HEAD;
    while (applies[which] != apply)
        which++;
    return which;
}

/* Minimum interval between our writes while another client keeps reverting the field. */
enum { SERVICE_AGAIN_MS = 5 * 1000 };

static bool must_apply(const struct cluster_view *in, const struct verb *apply, const struct service *have, uint64_t want, struct plan *p)
{
    int64_t from_ms = in->services_from_ms[raycluster_service_of(apply)];
    if (!have && in->now.mono_ms < from_ms) {
        plan_look_again(p, from_ms);
        return false;
    }
    if (!have)
        return true;
    if (have->deleting || have->hash == want)
        return false;
    if (have->wanted == want && have->became == have->hash)
        return false; /* that is what this server makes of it, with its webhooks: it would make the same again */
    if (have->wanted == want && in->now.mono_ms < have->applied_ms + SERVICE_AGAIN_MS) {
        plan_look_again(p, have->applied_ms + SERVICE_AGAIN_MS);
        return false;
    }
    return true;
}

static void delete_service(struct plan *p, const struct service *service, const char *why)
{
    struct action *act = plan_add(p, &kservice_delete);
    act->why = why;
    act->name = slice_of(service->name);
    act->uid = slice_of(service->uid);
}

/* A service that has no address of its own can never get one, and one that has cannot lose or change it: the API server refuses both.
 * Another service must take its place. */
static bool must_replace(const struct service *have, const struct service_want *want)
{
    struct slice has = slice_of(have->ip);
    if (slice_empty(has) || have->deleting)
        return false;
    return want->ip ? want->ip != hash64(has, 0) : slice_is(has, "None");
}

struct service_want service_want_of(struct jval object, struct arena *a)
{
    struct slice ip = json_get_str(object, "spec.clusterIP", a);
    return (struct service_want){.hash = ray_service_hash(object), .ip = slice_empty(ip) ? 0 : hash64(ip, 0)};
}

static struct slice patched(const struct shape_patches *patches, struct slice service, struct arena *a)
{
    struct slice out;
    struct err e = {0};
    bool any = patches && shape_patches_for(patches, SLICE("Service"));
    return any && shape_patches_apply(patches, service, NULL, a, &out, &e) ? out : service;
}

struct service_want service_want_made(const struct ray_cluster *c, enum ray_service which, const struct shape_patches *patches,
                                      struct arena *a)
{
    struct jval doc;
    struct buf b;
    struct err e = {0};
    buf_init(&b, LIMIT_JSON_ITEM);
    bool built = ray_build_service(c, which, a, &b, &e);
    bool read = built && json_read(&doc, patched(patches, arena_dup(a, buf_slice(&b)), a), a, &e);
    buf_free(&b);
    return read ? service_want_of(doc, a) : (struct service_want){0};
}

static void decide_service(const struct cluster_view *in, const struct verb *apply, const struct service *have,
                           const struct service_want *want, struct plan *p)
{
    if (have && !want->hash)
        return;
    if (have && must_replace(have, want))
        delete_service(p, have, "its clusterIP must change, and that of a service cannot");
    else if (must_apply(in, apply, have, want->hash, p))
        plan_add(p, apply)->group = GROUP_HEAD; /* one that is refused counts against the head */
}

/* Whether workers of an older template run: they use the service names of the spec of that time. */
static bool known_by_old_names(const struct cluster_view *in)
{
    for (uint32_t i = 0; i < in->pod_count; i++)
        for (uint32_t k = 0; k < in->cluster->group_count; k++)
            if (belongs(in->pods[i], &in->cluster->groups[k]) && pod_counts_in_status(in->pods[i]) &&
                pod_outdated(in->pods[i], &in->cluster->groups[k]))
                return true;
    return false;
}

/* Deletes services of an earlier spec: a head service of another name, one that is no longer needed. They stay until the
 * wanted head service exists and no worker of an older template runs. */
static void decide_old_services(const struct cluster_view *in, struct plan *p)
{
    bool known = in->service_count && known_by_old_names(in);
    for (uint32_t i = 0; i < in->service_count && in->own[RAY_SERVICE_HEAD] && !known; i++) {
        const struct service *s = in->services[i];
        bool wanted = false;
        for (enum ray_service k = 0; k < RAY_SERVICES; k++)
            wanted |= ray_wants_service(in->cluster, k) && slice_eq(slice_of(s->name), ray_service_name(in->cluster, k, p->arena));
        if (s->ours && !s->deleting && !wanted)
            delete_service(p, s, "the spec does not ask for it any more");
    }
}

static void decide_services(const struct cluster_view *in, struct plan *p)
{
    if (in->failures[0].count && in->now.mono_ms < in->failures[0].not_before_ms) {
        plan_look_again(p, in->failures[0].not_before_ms);
        return;
    }
    for (enum ray_service k = 0; k < RAY_SERVICES; k++)
        if (ray_wants_service(in->cluster, k))
            decide_service(in, applies[k], in->own[k], &in->wants[k], p);
}

/* Pods of groups that the spec no longer has. */
static void decide_orphans(const struct cluster_view *in, struct plan *p)
{
    for (uint32_t i = 0; i < in->pod_count; i++) {
        const struct pod *pod = in->pods[i];
        bool known = belongs(pod, &in->cluster->head);
        for (uint32_t k = 0; k < in->cluster->group_count && !known; k++)
            known = belongs(pod, &in->cluster->groups[k]);
        if (!known && !pod->deleting && !pod_astray(in->cluster, pod, p->arena))
            plan_delete(p, pod, GROUP_NONE, "its group was removed from the spec");
    }
}

/* Most have never been suspended: their status need not be read for that. */
static enum suspension suspension_now(const struct cluster_view *in, struct arena *a)
{
    struct jval doc;
    struct jval status = {.at = -1};
    if (slice_find_text(in->status, "RayClusterSuspending") >= 0 && json_read(&doc, in->status, a, NULL))
        status = doc;
    return suspension_of(in, status);
}

static void decide_suspended(const struct cluster_view *in, struct plan *p)
{
    for (uint32_t i = 0; i < in->pod_count; i++)
        if (!in->pods[i]->deleting)
            plan_delete(p, in->pods[i], GROUP_NONE, "the cluster is suspended");
}

/* Pods that a restore left without an owner. */
static void decide_adoptions(const struct cluster_view *in, const struct group_view *groups, struct plan *p)
{
    for (uint32_t i = 0; i < in->pod_count; i++) {
        const struct pod *pod = in->pods[i];
        if (pod->orphan == POD_OWNED || pod->deleting)
            continue;
        uint32_t k = 0;
        while (k <= in->cluster->group_count && !belongs(pod, groups[k].spec))
            k++;
        if (k > in->cluster->group_count)
            continue;
        if (pod->orphan == POD_STRAY) {
            plan_delete(p, pod, (int32_t)k + GROUP_HEAD, "it was restored from another namespace, whose addresses it has");
        } else if (in->now.mono_ms >= in->failures[k].not_before_ms) {
            struct action *act = plan_add(p, &raycluster_adopt_pod);
            act->group = (int32_t)k + GROUP_HEAD;
            act->name = slice_of(pod->name);
            act->uid = slice_of(pod->uid);
            act->version = pod->version;
        }
    }
}

struct group_view *decide_group_views(const struct cluster_view *in, struct arena *a)
{
    const struct ray_cluster *c = in->cluster;
    struct group_view *groups = arena_array(a, c->group_count + 1, sizeof *groups);
    for (uint32_t i = 0; i <= c->group_count; i++)
        groups[i] = view_group(in, i ? &c->groups[i - 1] : &c->head, (int32_t)i + GROUP_HEAD, a);
    return groups;
}

static void decide_drains(const struct group_view *groups, const struct roll *roll, struct plan *p)
{
    const struct group_view *g = &groups[roll->number == GROUP_NONE ? 0 : roll->number + 1];
    for (uint32_t i = 0; i < g->count && roll->number != GROUP_NONE; i++)
        if (roll->drain[i])
            plan_add(p, &raycluster_drain_pod)->uid = slice_of(g->pods[i]->uid);
}

static void decide_pods(const struct cluster_view *in, struct plan *p)
{
    const struct ray_cluster *c = in->cluster;
    struct group_view *groups = decide_group_views(in, p->arena), head = groups[0];
    decide_adoptions(in, groups, p);
    if (decide_zone(groups, c->group_count + 1, p))
        return;
    enum renewal renewal = decide_renewal(&head, p);
    if (renewal == RENEWAL_TRIED)
        return;                   /* pods made now for the running head would be deleted with it in a moment */
    if (renewal == RENEWAL_DUE) { /* a new head takes the workers along: they could not join it */
        for (uint32_t i = 0; i < in->pod_count; i++)
            if (!in->pods[i]->deleting)
                plan_delete(p, in->pods[i], in->pods[i]->head ? GROUP_HEAD : GROUP_NONE,
                            "the head's template or the cluster's labels changed");
        return;
    }
    const struct pod *there = decide_head(&head, p);
    enum head_first first = head_first(there, head.failures);
    struct roll roll = decide_roll(groups, first == HEAD_THERE ? there : NULL, p->arena);
    if (roll.again_ms != TIME_NEVER)
        plan_look_again(p, in->now.mono_ms + roll.again_ms);
    decide_drains(groups, &roll, p);
    for (uint32_t i = 0; i < c->group_count; i++) {
        struct group_view g = groups[i + 1];
        g.held = first != HEAD_THERE || g.spec->blocked;
        g.roll = roll.number == g.number ? &roll : NULL;
        int64_t missing = (int64_t)g.spec->desired * g.spec->hosts - g.count;
        if (first == HEAD_MISSING && !g.spec->blocked && missing > 0)
            p->follow += missing < PLAN_ACTIONS ? (uint32_t)missing : PLAN_ACTIONS;
        if (head_needs_room(&head, first))
            decide_room(&g, p);
        decide_market(&g, p);
        if (g.spec->hosts > 1)
            decide_multi_host(&g, p);
        else
            decide_workers(&g, p);
    }
    decide_orphans(in, p);
}

/* KubeRay's finalizer keeps the cluster, and so nothing collects its pods. Redis is not emptied from here: who wants that done has until
 * the finalizer goes. A pod on a node that is lost does not hold it up for ever. */
static void decide_farewell(const struct cluster_view *in, struct plan *p)
{
    int64_t wait_ms = (in->cluster->deleted_us - in->now.wall_us) / 1000 + in->cluster->redis_wait_s * 1000;
    for (uint32_t i = 0; i < in->pod_count; i++)
        if (!in->pods[i]->deleting)
            plan_delete(p, in->pods[i], GROUP_NONE, "its RayCluster is being deleted");
    if (p->count == 0)
        decide_status(in, p);
    if (p->count == 0 && wait_ms <= 0)
        plan_add(p, &raycluster_remove_finalizer)->text = SLICE(RAY_REDIS_FINALIZER);
    else if (wait_ms > 0)
        plan_look_again(p, in->now.mono_ms + wait_ms);
}

void raycluster_decide(const struct cluster_view *in, struct arena *a, struct plan *out)
{
    *out = (struct plan){.next_ms = TIME_NEVER, .arena = a};
    /* Owned objects of a cluster that is being deleted go by garbage collection; another controller's cluster is not ours to touch. */
    if (in->cluster->deleting && in->cluster->redis_finalizer && !in->cluster->managed_elsewhere)
        decide_farewell(in, out);
    if (in->cluster->deleting || in->cluster->managed_elsewhere)
        return;
    /* A spec that cannot work changes nothing that runs. */
    enum suspension suspension = suspension_now(in, a);
    if (in->errors->count == 0) {
        decide_services(in, out);
        decide_ingress(in, out);
        if (suspension == SUSPENSION_BEGINS)
            decide_status(in, out); /* stored before the first pod is deleted, so that the next leader continues it */
        if (suspension == SUSPENSION_NONE)
            decide_pods(in, out);
        else
            decide_suspended(in, out);
        decide_old_services(in, out);
    }
    if (in->errors->count || suspension != SUSPENSION_BEGINS)
        decide_status(in, out);
}
