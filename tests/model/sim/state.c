/* What the operator is doing, and what the end is: the oracles that look at everything at once. */
#include "jobs.h"

#include <mobula/inspect.h>
#include <mobula/raycluster.h>
#include <mobula/rayjob.h>

#include <stdlib.h>

const char *sim_state_name(enum sim_state s)
{
    static const char *const names[SIM_STATES] = {"down",    "starting", "listing", "leaderless", "creating",
                                                  "scaling", "deleting", "writing", "waiting",    "idle"};
    return names[s];
}

/* ---- what the operator is doing ---- */

static const struct op *busiest(const struct sim *s)
{
    const struct op *any = NULL;
    for (uint32_t i = 0; i < WORLD_PROCESSES; i++) {
        const struct op *op = s->w.process[i].op;
        if (op && inspect_figures(op).leading)
            return op;
        any = op ? op : any;
    }
    return any;
}

static enum sim_state state_of(const struct inspect_record *c)
{
    enum sim_state state = c->in_flight ? STATE_WRITING : STATE_IDLE;
    const struct verb *v;
    for (uint32_t i = 0; (v = inspect_action(c, i)) != NULL; i++) {
        enum sim_state next = v == &raycluster_create_pod ? c->head ? STATE_SCALING : STATE_CREATING
                              : v == &pod_delete          ? STATE_DELETING
                                                          : STATE_WRITING;
        state = next < state ? next : state;
    }
    return state == STATE_IDLE && c->backs_off ? STATE_WAITING : state;
}

enum sim_state state_now(const struct sim *s)
{
    const struct op *op = busiest(s);
    if (!op)
        return STATE_DOWN;
    bool synced = true, ever = false;
    for (uint32_t i = 0; i < inspect_namespaces(op); i++)
        for (uint32_t k = 0; k < inspect_kinds(); k++) {
            struct inspect_view v = inspect_view(op, i, k);
            synced &= v.complete;
            ever |= v.again;
        }
    if (!synced)
        return ever ? STATE_LISTING : STATE_STARTING;
    if (!inspect_figures(op).leading)
        return STATE_LEADERLESS;
    enum sim_state state = STATE_IDLE;
    struct inspect_record c;
    for (uint32_t i = 0; inspect_records(op, &i, &c);) {
        enum sim_state of = state_of(&c);
        state = of < state ? of : state;
    }
    return state;
}

/* ---- what it does for jobs ---- */

const char *sim_job_state_name(enum sim_job_state s)
{
    static const char *const names[SIM_JOB_STATES] = {"new",      "cluster",  "waiting",    "submitting", "running", "looking", "reading",
                                                      "stopping", "retrying", "suspending", "suspended",  "over",    "deleting"};
    return names[s];
}

static enum sim_job_state job_state_of(const struct inspect_record *c, struct arena *a)
{
    static const struct {
        const char *phase;
        enum sim_job_state state;
    } phases[] = {{"Initializing", JOBSTATE_CLUSTER},  {"Waiting", JOBSTATE_WAITING},
                  {"Running", JOBSTATE_RUNNING},       {"Retrying", JOBSTATE_RETRYING},
                  {"Suspending", JOBSTATE_SUSPENDING}, {"Suspended", JOBSTATE_SUSPENDED},
                  {"Complete", JOBSTATE_OVER},         {"Failed", JOBSTATE_OVER}};
    static const struct {
        const struct verb *verb;
        enum sim_job_state state;
    } asks[] = {{&rayjob_look, JOBSTATE_LOOKING},
                {&rayjob_submit, JOBSTATE_SUBMITTING},
                {&rayjob_stop, JOBSTATE_STOPPING},
                {&rayjob_read_log, JOBSTATE_READING}};
    struct json doc;
    struct err e = {0};
    if (c->deleting)
        return JOBSTATE_DELETING;
    for (size_t i = 0; i < COUNT_OF(asks); i++)
        if (c->asks == asks[i].verb)
            return asks[i].state;
    if (!c->status.len || !json_parse(&doc, c->status, a, &e))
        return JOBSTATE_NEW;
    for (size_t i = 0; i < COUNT_OF(phases); i++)
        if (json_str_eq(json_get(json_root(&doc), "jobDeploymentStatus"), slice_of(phases[i].phase)))
            return phases[i].state;
    return JOBSTATE_NEW;
}

struct sim_where state_where(const struct sim *s)
{
    struct sim_where at = {.state = state_now(s)};
    struct arena a = {0};
    const struct op *op = s->jobs ? busiest(s) : NULL;
    struct inspect_record c;
    for (uint32_t i = 0; op && inspect_records(op, &i, &c);)
        if (c.present && strcmp(c.kind, "rayjobs.ray.io") == 0)
            at.jobs[job_state_of(&c, &a)] = true;
    arena_free(&a);
    return at;
}

void state_cover_at(const struct sim *s, enum sim_kind k, const struct sim_where *at)
{
    s->r->coverage[k][at->state]++;
    for (int i = 0; i < SIM_JOB_STATES; i++)
        s->r->job_coverage[k][i] += at->jobs[i];
}

void state_cover(struct sim *s, enum sim_kind k)
{
    struct sim_where at = state_where(s);
    state_cover_at(s, k, &at);
}

/* ---- converged? ---- */

static struct slice stored(struct sim *s, const struct want *c)
{
    struct slice kind = c->kind == RAY_V1 ? SLICE("rayclusters.ray.io") : SLICE("rayclusters.cluster.ray.io");
    return apiserver_get(s->w.server, kind, slice_of(c->ns), slice_of(c->name), &s->arena);
}

static bool no(char why[SIM_TEXT], const struct want *c, const char *what, int64_t have, int64_t want)
{
    snprintf(why, SIM_TEXT, "%s/%s (%s): %s: %lld, should be %lld", c->ns, c->name, c->kind == RAY_V1 ? "v1" : "legacy", what,
             (long long)have, (long long)want);
    return false;
}

static bool group_right(struct sim *s, const struct want *c, struct slice uid, int32_t group, char why[SIM_TEXT])
{
    char name[16];
    snprintf(name, sizeof name, "g%d", group);
    int64_t want = group < 0 ? 1 : (int64_t)c->replicas[group], have = 0, ready = 0;
    if (c->scaled && c->kind == RAY_V1 && group == 0 && want > c->limit)
        want = c->limit;
    want *= c->multi && group == 0 ? WANT_HOSTS : 1;
    if (c->suspend || group >= (int32_t)c->groups)
        want = 0;
    for (const struct seen_pod *p = s->pods; p; p = p->next) {
        if (!slice_eq(slice_of(p->owner), uid) || p->head != (group < 0) || (group >= 0 && strcmp(p->group, name) != 0))
            continue;
        have++;
        ready += p->ready;
        if (s->returned && p->demand)
            return no(why, c, "on-demand pods of a group that prefers spot", 1, 0);
        if (c->multi && group == 0 && pods_mates(s, p) != WANT_HOSTS)
            return no(why, c, "hosts of a replica", pods_mates(s, p), WANT_HOSTS);
    }
    return (have == want || no(why, c, group < 0 ? "heads" : name, have, want)) && (ready == want || no(why, c, "ready", ready, want));
}

static bool status_right(const struct want *c, struct jval object, char why[SIM_TEXT])
{
    int64_t generation = json_get_int(object, "metadata.generation", 0), seen = json_get_int(object, "status.observedGeneration", -1);
    const char *key = c->kind == RAY_V1 ? "status.state" : "status.phase";
    struct slice want = c->kind == RAY_LEGACY ? SLICE("Running") : c->suspend ? SLICE("suspended") : SLICE("ready");
    if (generation != seen)
        return no(why, c, "observedGeneration", seen, generation);
    return json_str_eq(json_get(object, key), want) || no(why, c, "state is not right", 0, 1);
}

/* The head service selects the head that runs, and its ports are those at which that listens, whatever the spec says by now. */
static bool leads_right(struct sim *s, const struct want *c, const struct seen_pod *head, char why[SIM_TEXT])
{
    struct slice name = arena_printf(&s->arena, c->kind == RAY_V1 ? "%s-head-svc" : "%s-ray-head", c->name);
    struct slice pod = apiserver_get(s->w.server, SLICE("pods"), slice_of(c->ns), slice_of(head->name), &s->arena), one;
    struct jval service, object, k, v;
    if (!json_read(&service, apiserver_get(s->w.server, SLICE("services"), slice_of(c->ns), name, &s->arena), &s->arena, NULL) ||
        !json_read(&object, pod, &s->arena, NULL))
        return no(why, c, "has a head service", 0, 1);
    for (struct jiter it = json_iter(json_get(service, "spec.selector")); json_next(&it, &k, &v);) {
        one = json_str(k, &s->arena);
        if (!json_equal(json_key(json_get(object, "metadata.labels"), one), v))
            return no(why, c, "its service selects the head", 0, 1);
    }
    int64_t gcs = json_get_int(list_find(json_get(service, "spec.ports"), "name", SLICE("gcs-server")), "port", 0);
    int64_t runs = fakeray_flag(pod, " --port=", 6379);
    return gcs == runs || no(why, c, "GCS port of its service", gcs, runs);
}

static bool cluster_right(struct sim *s, const struct want *c, int64_t *pods, char why[SIM_TEXT])
{
    struct json doc;
    struct err e = {0};
    struct slice text = stored(s, c);
    if (!c->there)
        return !text.ptr || no(why, c, "is there", 1, 0);
    if (!text.ptr || !json_parse(&doc, text, &s->arena, &e))
        return no(why, c, "is there", 0, 1);
    struct slice uid = json_get_str(json_root(&doc), "metadata.uid", &s->arena);
    for (int32_t g = -1; g < SIM_GROUPS; g++)
        if (!group_right(s, c, uid, g, why))
            return false;
    for (const struct seen_pod *p = s->pods; p; p = p->next) {
        bool own = slice_eq(slice_of(p->owner), uid);
        *pods += own;
        if (own && p->head && !leads_right(s, c, p, why))
            return false;
    }
    return status_right(c, json_root(&doc), why);
}

bool state_converged(struct sim *s, char why[SIM_TEXT])
{
    int64_t mine = 0, all = 0;
    arena_reset(&s->arena, 256 * KIB);
    for (uint32_t i = 0; i < SIM_CLUSTERS; i++)
        if (!cluster_right(s, &s->want[i], &mine, why))
            return false;
    if (!parts_right(s, why))
        return false;
    mine += parts_pods(s);
    for (const struct seen_pod *p = s->pods; p; p = p->next)
        all++;
    return (mine == all || no(why, &s->want[0], "pods of all clusters", all, mine)) && scaled_settled(s, why);
}

/* ---- failures that are remembered ---- */

static int64_t failures_of_status(struct sim *s, struct slice text)
{
    struct json doc;
    struct err e = {0};
    int64_t most = 0;
    if (!text.ptr || !json_parse(&doc, text, &s->arena, &e))
        return 0;
    struct jval k, g;
    for (struct jiter it = json_iter(json_get(json_root(&doc), "status.groups")); json_next(&it, &k, &g);) {
        int64_t n = json_get_int(g, "failures", 0);
        most = n > most ? n : most;
    }
    return most;
}

int64_t state_wait_ms(struct sim *s)
{
    int64_t most = 0;
    arena_reset(&s->arena, 256 * KIB);
    for (uint32_t i = 0; i < SIM_CLUSTERS; i++) {
        int64_t n = s->want[i].there ? failures_of_status(s, stored(s, &s->want[i])) : 0;
        most = n > most ? n : most;
    }
    for (const struct seen_cluster *c = s->jobs ? s->jobs->clusters : NULL; c; c = c->next) {
        struct slice name = slice_of(c->name), ns = slice_of(c->ns);
        int64_t n = c->gone ? 0 : failures_of_status(s, apiserver_get(s->w.server, SLICE("rayclusters.ray.io"), ns, name, &s->arena));
        most = n > most ? n : most;
    }
    int64_t ms = most ? (int64_t)PLAN_BACKOFF_MS << (most < 20 ? most : 20) : 0;
    return ms < PLAN_BACKOFF_MAX_MS ? ms : PLAN_BACKOFF_MAX_MS;
}

bool state_has_failures(struct sim *s)
{
    return state_wait_ms(s) > 0;
}

/* ---- the end in words ---- */

/* What differs between runs that are both right: identities, times, addresses … */
static bool is_passing(struct slice key)
{
    static const char *const keys[] = {
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "managedFields",
        "lastTransitionTime",
        "startTime",
        "startedAt",
        "finishedAt",
        "podIP",
        "podIPs",
        "serviceIP",
        "clusterIP",
        "clusterIPs",
        "lastUpdateTime",
        "stateTransitionTimes",
        "nodePort",
        "lastProbeTime",
        "generation",
        "observedGeneration",
        "failures",
        "podsEnded",
        "ended",
        "hostIP",
        "lastFailureTime",
        "autoscalerRetries",
        "podName",
        "restartCount",
        "nodeName",
        RAY_ANNOTATION_HASH,
        RAY_LABEL_OWNER_UID,
        RAY_LABEL_REPLICA_INDEX,
        RAY_LABEL_REPLICA_NAME,
        "availableWorkerReplicas",
    };
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (slice_eq(key, slice_of(keys[i])))
            return true;
    return false;
}

/* … and, where they stand, what has identities or the memory of what went wrong in it. */
static bool is_passing_there(struct slice path)
{
    static const char *const paths[] = {
        "pod.metadata.name", "status.conditions.reason", "status.conditions.message", "status.reason", "status.groups.reason",
    };
    for (size_t i = 0; i < COUNT_OF(paths); i++)
        if (slice_eq(path, slice_of(paths[i])))
            return true;
    return false;
}

/* What says from which of its user's templates a pod was made: where they are not renewed it may be any. */
static bool is_template(struct slice path)
{
    static const char *const paths[] = {
        "pod.spec.containers.image",
        "pod.spec.initContainers.image",
        "pod.status.containerStatuses.image",
        "pod.status.containerStatuses.imageID",
        "pod.status.initContainerStatuses.image",
        "pod.status.initContainerStatuses.imageID",
        ("pod.metadata.annotations." SIM_TEMPLATE),
        /* … and where its head listens */
        "pod.metadata.labels.app.kubernetes.io/name",
        "pod.spec.containers.args",
        "pod.spec.containers.command",
        "pod.spec.containers.env",
        "pod.spec.containers.ports",
        "pod.spec.containers.livenessProbe",
        "pod.spec.containers.readinessProbe",
        "pod.spec.containers.startupProbe",
        "pod.spec.initContainers.command",
        "pod.spec.initContainers.args",
        "pod.spec.initContainers.env",
        "service.metadata.labels.app.kubernetes.io/name",
        "service.spec.ports",
        "service.spec.selector.app.kubernetes.io/name",
        "status.endpoints",
    };
    for (size_t i = 0; i < COUNT_OF(paths); i++)
        if (slice_eq(path, slice_of(paths[i])))
            return true;
    return false;
}

/* Conditions that a run may have been through, or not. */
static bool is_past(struct jval v)
{
    struct jval type = json_get(v, "type");
    return json_str_eq(type, SLICE("ReplicaFailure")) || json_str_eq(type, SLICE("TemplateDrift")) ||
           json_str_eq(type, SLICE("RayClusterSuspended")) || json_str_eq(type, SLICE("RayClusterSuspending"));
}

static int compare_texts(const void *a, const void *b)
{
    return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

/* A patch adds members where it likes: they are sorted here. path: the members on the way from the object to here; lists add nothing. */
static struct slice plain(struct jval v, struct slice path, bool any_template, struct arena *a)
{
    struct jval k, e;
    bool object = json_type(v) == JSON_OBJECT;
    if (!object && json_type(v) != JSON_ARRAY)
        return slice_starts(json_raw(v), SLICE("\"kube-api-access-")) ? SLICE("its token's volume") : json_raw(v);
    struct slice *parts = arena_array(a, json_len(v) + 1, sizeof *parts);
    size_t count = 0;
    for (struct jiter it = json_iter(v); json_next(&it, &k, &e);) {
        struct slice key = object ? json_str(k, a) : SLICE_NONE;
        struct slice there = object ? arena_printf(a, "%.*s.%.*s", SLICE_ARG(path), SLICE_ARG(key)) : path;
        if (object ? is_passing(key) || is_passing_there(there) || (any_template && is_template(there)) : is_past(e))
            continue;
        struct slice inner = plain(e, there, any_template, a);
        parts[count++] = arena_printf(a, "%.*s%s%.*s", SLICE_ARG(key), object ? ":" : "", SLICE_ARG(inner));
    }
    if (object)
        qsort(parts, count, sizeof *parts, compare_texts);
    struct buf b;
    buf_init(&b, LIMIT_JSON_ITEM);
    buf_putc(&b, object ? '{' : '[');
    for (size_t i = 0; i < count; i++)
        buf_printf(&b, "%s%.*s", i ? " " : "", SLICE_ARG(parts[i]));
    buf_putc(&b, object ? '}' : ']');
    struct slice text = arena_dup(a, buf_slice(&b));
    buf_free(&b);
    return text;
}

static const struct want *want_of(const struct sim *s, struct jval object, bool custom, struct arena *a)
{
    struct jval k, ref;
    struct slice name = json_get_str(object, "metadata.name", a), version = json_get_str(object, "apiVersion", a);
    if (!custom)
        for (struct jiter it = json_iter(json_get(object, "metadata.ownerReferences")); json_next(&it, &k, &ref);) {
            name = json_get_str(ref, "name", a);
            version = json_get_str(ref, "apiVersion", a);
        }
    for (uint32_t i = 0; i < SIM_CLUSTERS; i++)
        if (slice_eq(ray_api_version(s->want[i].kind), version) && slice_eq(slice_of(s->want[i].name), name) &&
            json_str_eq(json_get(object, "metadata.namespace"), slice_of(s->want[i].ns)))
            return &s->want[i];
    return NULL;
}

static struct slice line_of(struct sim *s, struct jval object, bool pod, bool custom)
{
    struct buf b;
    buf_init(&b, LIMIT_JSON_ITEM);
    const struct want *c = want_of(s, object, custom, &s->arena);
    const char *what = pod ? "pod" : custom ? "status" : "service";
    buf_printf(&b, "%s of %s/%s/%s: ", what, c ? c->ns : "?", c ? c->kind == RAY_V1 ? "v1" : "legacy" : "?", c ? c->name : "?");
    buf_put(&b, plain(custom ? json_get(object, "status") : object, slice_of(what), c && !c->recreate, &s->arena));
    buf_putc(&b, '\n');
    struct slice line = arena_dup(&s->arena, buf_slice(&b));
    buf_free(&b);
    return line;
}

enum { LINES_MAX = 512 };

static uint32_t add_lines(struct sim *s, const char *path, struct slice *lines, uint32_t count, bool pod, bool custom)
{
    struct slice list;
    struct err e = {0};
    world_ask(&s->w, "GET", path, "application/json", SLICE_NONE, &list);
    struct json *doc = arena_new(&s->arena, struct json);
    if (!json_parse(doc, list, &s->arena, &e))
        return count;
    struct jval k, item;
    for (struct jiter it = json_iter(json_get(json_root(doc), "items")); json_next(&it, &k, &item) && count < LINES_MAX;)
        if (!s->jobs || want_of(s, item, custom, &s->arena)) /* where jobs have come to is seen otherwise */
            lines[count++] = line_of(s, item, pod, custom);
    return count;
}

char *state_text(struct sim *s)
{
    arena_reset(&s->arena, 256 * KIB);
    struct slice *lines = arena_array(&s->arena, LINES_MAX, sizeof *lines);
    uint32_t count = add_lines(s, "/api/v1/pods?labelSelector=ray.io%2Fcluster", lines, 0, true, false);
    count = add_lines(s, "/api/v1/services?labelSelector=ray.io%2Fcluster", lines, count, false, false);
    count = add_lines(s, "/apis/ray.io/v1/rayclusters", lines, count, false, true);
    count = add_lines(s, "/apis/cluster.ray.io/v1/rayclusters", lines, count, false, true);
    qsort(lines, count, sizeof *lines, compare_texts);
    struct buf b;
    buf_init(&b, 64 * MIB);
    for (uint32_t i = 0; i < count; i++)
        buf_put(&b, lines[i]);
    buf_putc(&b, '\0');
    return b.ptr;
}

/* ---- nothing stays ---- */

static void none(struct sim *s, uint32_t i, const char *what, uint64_t have, uint64_t most)
{
    if (have > most)
        sim_violation(s, "nothing stays", "op-%u: %s: %llu, at most %llu", i, what, (unsigned long long)have, (unsigned long long)most);
}

void state_residue(struct sim *s)
{
    enum { LANES = 3 };
    for (const struct seen_pod *p = s->pods; p; p = p->next)
        sim_violation(s, "no object without owner", "pod %s/%s is there without its cluster", p->ns, p->name);
    owners_residue(s);
    scaled_residue(s);
    parts_residue(s);
    for (uint32_t i = 0; i < WORLD_PROCESSES; i++) {
        if (!s->w.process[i].op)
            continue;
        struct inspect_figures has = inspect_figures(s->w.process[i].op);
        none(s, i, "clusters", has.records, 0);
        none(s, i, "pods", has.pods, 0);
        none(s, i, "services", has.services, 0);
        none(s, i, "strings", has.strings, has.tools);
        none(s, i, "flights", has.allocated + has.calls, 0);
        none(s, i, "timers", has.timers, 0);
        none(s, i, "links", world_links_of(&s->w.process[i]), SIM_NAMESPACES * inspect_kinds() + s->plan->setup.markets + LANES);
    }
}
