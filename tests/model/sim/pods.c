/* The pods that the store holds, followed change by change in a small model that is kept apart from the operator's: how many there may be,
 * and why one may go. */
#include "jobs.h"

#include "tests/model/apiserver/dom.h"

#include <mobula/ray.h>

static bool has(struct slice text, const char *needle)
{
    return text.len && memmem(text.ptr, text.len, needle, strlen(needle)) != NULL;
}

static struct seen_pod **pod_link(struct sim *s, struct slice uid)
{
    struct seen_pod **at = &s->pods;
    while (*at && !slice_eq(slice_of((*at)->uid), uid))
        at = &(*at)->next;
    return at;
}

static void copy(char *to, size_t size, struct slice from)
{
    snprintf(to, size, "%.*s", SLICE_ARG(from));
}

static int32_t number(const struct node *labels, const char *key)
{
    int64_t n;
    return slice_int(dom_string(dom_key(labels, slice_of(key))), &n) ? (int32_t)n : 0;
}

static bool is_ready(const struct node *pod)
{
    const struct node *list = dom_get(pod, "status.conditions");
    for (const struct node *c = list ? list->child : NULL; c; c = c->next)
        if (slice_eq(dom_str(c, "type"), SLICE("Ready")))
            return slice_eq(dom_str(c, "status"), SLICE("True"));
    return false;
}

/* Of users' pods that are not started again, where more runs in them than they asked for. Submitters' are looked at by jobs_board.c. */
static bool is_never(const struct node *pod)
{
    return slice_eq(dom_str(pod, "spec.restartPolicy"), SLICE("Never")) && dom_len(dom_get(pod, "spec.containers")) > 1;
}

static bool ray_ended(const struct node *pod)
{
    const struct node *list = dom_get(pod, "status.containerStatuses");
    for (const struct node *c = list ? list->child : NULL; c; c = c->next)
        if (slice_eq(dom_str(c, "name"), SLICE("ray")))
            return dom_get(c, "state.terminated") != NULL;
    return false;
}

static struct slice owner_of(const struct node *pod)
{
    const struct node *list = dom_get(pod, "metadata.ownerReferences");
    for (const struct node *ref = list ? list->child : NULL; ref; ref = ref->next)
        if (dom_true(ref, "controller"))
            return dom_str(ref, "uid");
    return SLICE_NONE;
}

/* The number of the template that it was made from, which every template of a user bears. */
static uint32_t template_of(const struct node *pod)
{
    int64_t n = 0;
    return slice_int(dom_string(dom_key(dom_get(pod, "metadata.annotations"), SLICE(SIM_TEMPLATE))), &n) ? (uint32_t)n : 0;
}

static void read_pod(struct sim *s, struct seen_pod *p, const struct apiserver_change *c)
{
    const struct node *pod = dom_reread(c->json, &s->arena), *labels = dom_get(pod, "metadata.labels");
    struct slice phase = dom_str(pod, "status.phase");
    copy(p->uid, sizeof p->uid, c->uid);
    copy(p->ns, sizeof p->ns, c->ns);
    copy(p->name, sizeof p->name, c->name);
    copy(p->owner, sizeof p->owner, owner_of(pod));
    copy(p->group, sizeof p->group, dom_string(dom_key(labels, SLICE(RAY_LABEL_GROUP))));
    p->head = slice_eq(dom_string(dom_key(labels, SLICE(RAY_LABEL_NODE_TYPE))), SLICE("head"));
    p->index = number(labels, RAY_LABEL_REPLICA_INDEX);
    p->host = number(labels, RAY_LABEL_HOST_INDEX);
    p->template = template_of(pod);
    p->gcs = (uint32_t)fakeray_flag(c->json, p->head ? " --port=" : ".svc.cluster.local:", 0);
    p->live = !dom_get(pod, "metadata.deletionTimestamp") && !slice_eq(phase, SLICE("Failed")) && !slice_eq(phase, SLICE("Succeeded"));
    p->never = is_never(pod) && (p->head || p->group[0]);
    p->live = p->live && !(p->never && ray_ended(pod));
    p->ready = p->live && is_ready(pod);
}

static bool same_place(const struct seen_pod *a, const struct seen_pod *b)
{
    return strcmp(a->owner, b->owner) == 0 && a->head == b->head &&
           (a->head || (strcmp(a->group, b->group) == 0 && a->index == b->index && a->host == b->host));
}

/* Two heads of a cluster, or two pods in one place of a group, may never live at one time. */
static void check_place(struct sim *s, const struct seen_pod *p)
{
    for (const struct seen_pod *other = s->pods; other; other = other->next)
        if (other != p && other->live && p->live && same_place(p, other))
            sim_violation(s, p->head ? "one live head" : "one pod in a place", "%s/%s beside %s", p->ns, p->name, other->name);
}

/* Which cluster of a user it belongs to: of that incarnation, not of one that had its name. */
static struct want *want_of(struct sim *s, const struct seen_pod *p)
{
    for (uint32_t i = 0; i < SIM_CLUSTERS; i++)
        if (s->want[i].there && strcmp(s->want[i].uid, p->owner) == 0)
            return &s->want[i];
    return NULL;
}

static int32_t group_of(const struct seen_pod *p)
{
    int64_t n;
    return !p->head && p->group[0] == 'g' && slice_int(slice_of(p->group + 1), &n) && n >= 0 && n < SIM_GROUPS ? (int32_t)n : -1;
}

/* Of a group no more pods may live at one time than were ever asked for. A replica of several hosts is made again beside what is left of
 * the one that has lost a host, and that goes at the same time. */
static void check_number(struct sim *s, const struct seen_pod *p)
{
    const struct want *c = want_of(s, p);
    int32_t group = group_of(p);
    if (!c || group < 0)
        return;
    uint32_t live = 0, most = c->most[group] * (c->multi && group == 0 ? 2 : 1);
    for (const struct seen_pod *other = s->pods; other; other = other->next)
        live += other->live && strcmp(other->owner, p->owner) == 0 && group_of(other) == group;
    if (live > most)
        sim_violation(s, "never above the maximum", "%s/%s is worker %u, at most %u", p->ns, p->name, live, most);
}

void pods_changed(struct sim *s, const struct apiserver_change *c)
{
    struct seen_pod **at = pod_link(s, c->uid), *p = *at;
    if (c->what == APISERVER_DELETED) {
        if (p) {
            *at = p->next;
            mem_free(p);
        }
        return;
    }
    bool new = !p, was = p && p->live;
    if (new)
        p = *at = mem_alloc(sizeof *p);
    read_pod(s, p, c);
    if (new)
        p->born = c->rv;
    markets_changed(s, p, c, new);
    if (was && !p->live && p->head)
        jobs_head_ended(s, p->owner);
    if (!p->live || was)
        return;
    check_place(s, p);
    check_number(s, p);
}

struct seen_pod *pods_find(const struct sim *s, struct slice ns, struct slice name)
{
    struct seen_pod *p = s->pods;
    while (p && !(slice_eq(slice_of(p->ns), ns) && slice_eq(slice_of(p->name), name)))
        p = p->next;
    return p;
}

void pods_end(struct sim *s)
{
    for (struct seen_pod *p = s->pods, *next; p; p = next) {
        next = p->next;
        mem_free(p);
    }
    s->pods = NULL;
}

/* ---- what users have asked for ---- */

uint32_t want_scaled_max(const struct want *c)
{
    return c->multi ? 3 : 8;
}

static uint32_t hosts_of(const struct want *c, uint32_t group)
{
    return c->multi && group == 0 ? WANT_HOSTS : 1;
}

/* Of a group: how many pods there are to be, and no operator has said otherwise. */
static uint32_t asked_of(const struct want *c, uint32_t group)
{
    if (c->suspend || group >= c->groups)
        return 0;
    return c->replicas[group] * hosts_of(c, group);
}

/* The user has just made the cluster (made), or written to it. An operator may be late, and act on any of what was asked for before. */
void pods_wanted(struct sim *s, struct want *c, bool made)
{
    if (made) {
        struct slice kind = c->kind == RAY_V1 ? SLICE("rayclusters.ray.io") : SLICE("rayclusters.cluster.ray.io");
        struct slice text = apiserver_get(s->w.server, kind, slice_of(c->ns), slice_of(c->name), &s->w.arena);
        const struct node *object = text.ptr ? dom_reread(text, &s->w.arena) : NULL;
        copy(c->uid, sizeof c->uid, dom_str(object, "metadata.uid"));
        memset(c->most, 0, sizeof c->most);
        memset(c->fewer, 0, sizeof c->fewer);
        memset(c->asked, 0, sizeof c->asked);
        memset(c->dropped, 0, sizeof c->dropped);
        memset(c->spotless, 0, sizeof c->spotless);
        c->had = c->groups;
    }
    for (uint32_t g = 0; g < SIM_GROUPS; g++) {
        uint32_t asked = asked_of(c, g), most = c->scaled && c->kind == RAY_V1 ? want_scaled_max(c) * hosts_of(c, g) : asked;
        c->fewer[g] += asked < c->asked[g] ? c->asked[g] - asked : 0;
        c->most[g] = most > c->most[g] ? most : c->most[g];
        c->asked[g] = asked;
        if (g >= c->groups || g >= c->had)
            c->dropped[g] = apiserver_revision(s->w.server);
    }
    c->had = c->groups;
    c->suspended |= c->suspend;
}

/* Its group was taken out of the spec: its pods go at once, also where others drain, and those that a late operator has made since. */
bool pods_dropped(const struct want *c, const struct seen_pod *p)
{
    int32_t group = group_of(p);
    return group >= 0 && ((uint32_t)group >= c->groups || p->born <= c->dropped[group]);
}

/* ---- why a pod goes ---- */

static bool is_mate(const struct seen_pod *a, const struct seen_pod *b)
{
    return strcmp(a->owner, b->owner) == 0 && strcmp(a->group, b->group) == 0 && a->index == b->index;
}

uint32_t pods_mates(const struct sim *s, const struct seen_pod *p)
{
    uint32_t count = 0;
    for (const struct seen_pod *mate = s->pods; mate; mate = mate->next)
        count += mate->live && is_mate(mate, p);
    return count;
}

bool pods_follow(const struct sim *s, const struct want *c, const struct seen_pod *p)
{
    bool follows = false;
    for (const struct seen_pod *head = s->pods; head; head = head->next)
        follows |= head->head && head->live && strcmp(head->owner, p->owner) == 0 && head->template == c->template &&
                   head->born >= p->born && (p->template != c->template || (p->gcs && p->gcs != head->gcs));
    return follows && !p->head;
}

/* The pods of a replica of several hosts live and die together: one that has ended, or must be renewed, takes the others along. */
static bool is_broken(const struct sim *s, const struct want *c, const struct seen_pod *p)
{
    int32_t well = 0;
    for (const struct seen_pod *mate = s->pods; mate; mate = mate->next)
        if (is_mate(mate, p))
            well += mate->live && !(c->recreate && mate->template != c->template) && !pods_follow(s, c, mate);
    return c->multi && group_of(p) == 0 && well < WANT_HOSTS;
}

/* A new head takes along the workers that were there before it. */
static bool is_renewed(const struct sim *s, const struct want *c, const struct seen_pod *p)
{
    bool stands = false;
    for (const struct seen_pod *head = s->pods; head; head = head->next)
        stands |= head->head && head->live && strcmp(head->owner, p->owner) == 0 && head->template == c->template && head->born < p->born;
    return c->recreate && (p->template != c->template || (!p->head && !stands));
}

/* Users have asked for fewer pods so often: each that goes for that reason counts once, however often its DELETE is sent, and not when it
 * has come to nothing. */
static bool is_spare(struct want *c, struct seen_pod *p)
{
    int32_t group = group_of(p);
    if (p->head || group < 0)
        return p->head && c->suspended;
    if (!p->spare && c->fewer[group]) {
        c->fewer[group]--;
        p->spare = true;
    }
    return p->spare;
}

static struct seen_pod *pod_of(const struct sim *s, const struct world_request *q)
{
    struct slice path = q->target;
    if (!slice_starts(path, SLICE("/api/v1/namespaces/")))
        return NULL;
    path = slice_skip(path, strlen("/api/v1/namespaces/"));
    struct slice ns = slice_cut(&path, '/'), kind = slice_cut(&path, '/'), name = slice_cut(&path, '?');
    struct seen_pod *p = slice_eq(kind, SLICE("pods")) ? pods_find(s, ns, name) : NULL;
    return p && p->live && has(q->body, p->uid) ? p : NULL;
}

/* A DELETE has come to its end. When the pod lives all the same, another may go in its stead: it may have become the worse one since. */
void pods_check_deleted(struct sim *s, const struct world_request *q)
{
    struct seen_pod *p = slice_eq(q->method, SLICE("DELETE")) ? pod_of(s, q) : NULL;
    struct want *c = p && p->spare ? want_of(s, p) : NULL;
    if (!c)
        return;
    p->spare = false;
    c->fewer[group_of(p)]++;
}

/* A place is given to one pod, and to another only when that has ended, was taken away, or had to go: so no operator deletes a pod that
 * lives but for one of these reasons. Where heads say how many there are, scaled.c knows more. */
void pods_check_delete(struct sim *s, const struct world_request *q)
{
    struct seen_pod *p = pod_of(s, q);
    struct want *c = p ? want_of(s, p) : NULL;
    if (!c || (c->scaled && !p->head) || is_broken(s, c, p) || is_renewed(s, c, p) || pods_follow(s, c, p) || markets_lost(s, c, p, q) ||
        is_spare(c, p))
        return;
    sim_violation(s, "no pod goes without a reason", "%s/%s of group %s lives, and nobody has asked for fewer", p->ns, p->name, p->group);
}
