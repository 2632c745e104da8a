/* What users do, and what happens to pods. Moves go to the server past all faults, and each leaves what its user wants in s->want, from
 * which the end is known. */
#include "crons.h"
#include "fakeray.h"

enum { REPLICAS_MAX = 6 };

static const struct {
    enum ray_kind kind;
    const char *ns, *name;
} places[SIM_CLUSTERS] = {{RAY_V1, "n", "a"}, {RAY_V1, "n", "b"}, {RAY_LEGACY, "n", "a"}, {RAY_V1, "m", "a"}, {RAY_LEGACY, "m", "l"}};

static const char *group_of(const struct want *c)
{
    return c->kind == RAY_V1 ? "ray.io" : "cluster.ray.io";
}

static struct slice path_of(struct sim *s, const struct want *c, bool named)
{
    return arena_printf(&s->w.arena, "/apis/%s/v1/namespaces/%s/rayclusters%s%s", group_of(c), c->ns, named ? "/" : "",
                        named ? c->name : "");
}

/* ---- bodies ---- */

static void write_template(struct buf *b, const struct want *c, bool bad, bool market)
{
    buf_printf(b, "\"metadata\":{\"labels\":{\"app.kubernetes.io/name\":\"app-%u\"},\"annotations\":{\"" SIM_TEMPLATE "\":\"%u\"",
               c->template, c->template);
    if (market)
        markets_write(b, c);
    buf_put(b, SLICE("}},\"spec\":{\"containers\":["));
    if (!bad)
        buf_printf(b,
                   "{\"name\":\"ray\",\"image\":\"ray:%u\",\"resources\":{\"limits\":{\"cpu\":\"2\"}},\"env\":[{\"name\":\"PASSWORD\","
                   "\"value\":\"" SIM_CANARY "\"}]}",
                   c->template);
    buf_put(b, c->never ? SLICE("],\"restartPolicy\":\"Never\"}") : SLICE("]}"));
}

/* With each template the next head listens elsewhere and has another label. */
static void write_head_params(struct buf *b, const struct want *c)
{
    buf_printf(b, "{\"port\":\"%u\",\"dashboard-port\":\"%u\"}", 6379 + c->template % 3, 8265 + c->template % 2);
}

static void write_v1(struct buf *b, const struct want *c)
{
    tokens_write(b, c);
    if (c->scaled)
        buf_put(b, SLICE("\"enableInTreeAutoscaling\":true,\"autoscalerOptions\":{\"idleTimeoutSeconds\":5},"));
    buf_printf(b,
               "\"suspend\":%s,\"upgradeStrategy\":{\"type\":\"%s\"},\"headGroupSpec\":{\"rayStartParams\":", c->suspend ? "true" : "false",
               c->recreate ? "Recreate" : "None");
    write_head_params(b, c);
    buf_put(b, SLICE(",\"template\":{"));
    write_template(b, c, c->bad, false);
    buf_put(b, SLICE("}},\"workerGroupSpecs\":["));
    for (uint32_t i = 0; i < c->groups; i++) {
        buf_printf(b,
                   "%s{\"groupName\":\"g%u\",\"replicas\":%u,\"minReplicas\":0,\"maxReplicas\":%d,\"numOfHosts\":%d,\"rayStartParams\":{},"
                   "\"template\":{",
                   i ? "," : "", i, c->replicas[i], c->scaled ? (int)c->limit : 100, c->multi && i == 0 ? WANT_HOSTS : 1);
        write_template(b, c, false, c->market);
        buf_put(b, SLICE("}}"));
    }
    buf_putc(b, ']');
}

static void write_legacy(struct buf *b, const struct want *c)
{
    buf_put(b, SLICE("\"maxWorkers\":100,\"headPodType\":\"head\",\"headStartRayCommands\":[\"ray start --head --port=6379\"],"
                     "\"workerStartRayCommands\":[\"ray start --address=$RAY_HEAD_IP:6379\"],\"podTypes\":[{\"name\":\"head\","
                     "\"podConfig\":{"));
    write_template(b, c, c->bad, false);
    buf_put(b, SLICE("}}"));
    for (uint32_t i = 0; i < c->groups; i++) {
        buf_printf(b, ",{\"name\":\"g%u\",\"minWorkers\":%u,\"maxWorkers\":%u,\"podConfig\":{", i, c->replicas[i],
                   c->scaled ? c->replicas[i] : 100);
        write_template(b, c, false, c->market);
        buf_put(b, SLICE("}}"));
    }
    buf_putc(b, ']');
}

static struct slice body_of(struct sim *s, const struct want *c)
{
    struct buf b;
    buf_init(&b, 64 * KIB);
    buf_printf(&b,
               "{\"apiVersion\":\"%s/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"%s\",\"annotations\":{\"example.com/note\":"
               "\"%u\"}},\"spec\":{",
               group_of(c), c->name, c->note);
    if (c->kind == RAY_V1)
        write_v1(&b, c);
    else
        write_legacy(&b, c);
    buf_put(&b, SLICE("}}"));
    struct slice body = arena_dup(&s->w.arena, buf_slice(&b));
    buf_free(&b);
    return body;
}

/* ---- clusters ---- */

static void created(struct sim *s, struct want *c)
{
    if (!mishaps_usable(s, c->ns))
        return;
    tokens_create(s, c);
    int status = world_call(&s->w, "POST", path_of(s, c, false).ptr, "application/json", body_of(s, c));
    c->there = status == 201;
    if (c->there)
        pods_wanted(s, c, true);
}

static void written(struct sim *s, struct want *c)
{
    int status = world_call(&s->w, "PATCH", path_of(s, c, true).ptr, "application/merge-patch+json", body_of(s, c));
    if (status != 200)
        sim_violation(s, "model", "a user's patch of %s was answered %d", c->name, status);
    pods_wanted(s, c, false);
}

static void deleted(struct sim *s, struct want *c)
{
    world_call(&s->w, "DELETE", path_of(s, c, true).ptr, "application/json", SLICE("{}"));
    c->there = false;
}

static void create(struct sim *s, struct want *c, const uint32_t dice[3])
{
    c->suspend = c->bad = false;
    c->never = s->plan->setup.mutators != 0;
    c->recreate = dice[1] & 1 || c->kind == RAY_LEGACY;
    c->multi = c->kind == RAY_V1 && dice[1] >> 1 & 1;
    c->groups = 1 + (dice[1] >> 2 & 1);
    for (uint32_t i = 0; i < SIM_GROUPS; i++)
        c->replicas[i] = (dice[2] >> 8 * i) % (c->multi ? REPLICAS_MAX / 2 : REPLICAS_MAX);
    c->scaled = s->plan->setup.scaled && (c->kind == RAY_LEGACY || dice[1] >> 3 & 3);
    c->market = s->plan->setup.markets && c->kind == RAY_V1 && dice[1] >> 5 & 3;
    c->token = !s->plan->setup.tokens || !c->scaled || c->kind != RAY_V1 ? TOKEN_NONE : dice[2] & 1 ? TOKEN_MADE : TOKEN_USERS;
    if (c->scaled && c->kind == RAY_V1) {
        c->recreate = false;
        c->groups = 1;
        c->limit = want_scaled_max(c);
        scaled_work(s, c);
    }
    created(s, c);
}

/* Half of the time one less than the workers that there are to be. */
static void change_limit(struct sim *s, struct want *c, const uint32_t dice[3])
{
    c->limit = dice[1] & 1 && c->replicas[0] ? c->replicas[0] - 1 : dice[2] % (want_scaled_max(c) + 1);
    written(s, c);
}

/* How many workers there are to be is not written there. */
static bool change_scaled(struct sim *s, struct want *c, const struct sim_entry *e)
{
    if (!c->scaled || c->kind == RAY_LEGACY)
        return e->kind == MOVE_LIMIT;
    if (e->kind == MOVE_LIMIT)
        change_limit(s, c, e->dice);
    if (e->kind == MOVE_SCALE) {
        c->replicas[0] = e->dice[2] % (c->multi ? REPLICAS_MAX / 2 : REPLICAS_MAX);
        scaled_work(s, c);
    }
    return e->kind == MOVE_SCALE || e->kind == MOVE_SUSPEND || e->kind == MOVE_GROUPS || e->kind == MOVE_LIMIT;
}

static void change(struct sim *s, struct want *c, const struct sim_entry *e)
{
    if (change_scaled(s, c, e))
        return;
    switch (e->kind) {
    case MOVE_SCALE:
        c->replicas[e->dice[1] % SIM_GROUPS] = e->dice[2] % (c->multi ? REPLICAS_MAX / 2 : REPLICAS_MAX);
        break;
    case MOVE_TEMPLATE:
        c->template ++;
        break;
    case MOVE_SUSPEND:
        c->suspend = !c->suspend && c->kind == RAY_V1;
        break;
    case MOVE_SPOIL:
        c->bad = !c->bad;
        break;
    case MOVE_GROUPS:
        c->groups = 3 - c->groups;
        break;
    default:
        c->note = e->dice[1] % 1000;
        break;
    }
    written(s, c);
}

/* The first one from `dice` on that is there, or is not. */
static struct want *find(struct sim *s, uint32_t dice, bool there)
{
    for (uint32_t i = 0; i < SIM_CLUSTERS; i++) {
        struct want *c = &s->want[(dice + i) % SIM_CLUSTERS];
        if (c->there == there && (c->kind == RAY_V1 || s->legacy_ms == 0))
            return c;
    }
    return NULL;
}

/* ---- pods and services ---- */

static struct seen_pod *pick_pod(struct sim *s, uint32_t dice)
{
    uint32_t live = 0;
    for (const struct seen_pod *p = s->pods; p; p = p->next)
        live += p->live;
    if (!live)
        return NULL;
    uint32_t left = dice % live;
    for (struct seen_pod *p = s->pods; p; p = p->next)
        if (p->live && left-- == 0)
            return p;
    return NULL;
}

/* Ray alone ends, and what was put beside it runs on: to the kubelet the pod runs. */
static struct slice ray_ends(struct sim *s, const struct seen_pod *p)
{
    struct json doc;
    struct err e = {0};
    struct jval k, c;
    struct buf b;
    const char *comma = "";
    struct slice pod = apiserver_get(s->w.server, SLICE("pods"), slice_of(p->ns), slice_of(p->name), &s->w.arena);
    if (!json_parse(&doc, pod, &s->w.arena, &e)) {
        sim_violation(s, "model", "a stored pod: %s", e.text);
        return SLICE("{}");
    }
    buf_init(&b, 64 * KIB);
    buf_put(&b, SLICE("{\"status\":{\"conditions\":[],\"containerStatuses\":["));
    for (struct jiter it = json_iter(json_get(json_root(&doc), "status.containerStatuses")); json_next(&it, &k, &c); comma = ",") {
        struct slice name = json_get_str(c, "name", &s->w.arena);
        buf_printf(&b, "%s{\"name\":\"%.*s\",\"image\":\"i\",\"imageID\":\"i\",\"ready\":false,\"restartCount\":0,\"state\":{%s}}", comma,
                   SLICE_ARG(name),
                   slice_eq(name, SLICE("ray")) ? "\"terminated\":{\"exitCode\":137,\"reason\":\"OOMKilled\"}" : "\"running\":{}");
    }
    buf_put(&b, SLICE("]}}"));
    struct slice patch = arena_dup(&s->w.arena, buf_slice(&b));
    buf_free(&b);
    if (s->w.rays)
        fakeray_container_ends(&s->w, p->uid);
    return patch;
}

/* How a pod of a cluster ends. One that submits a job ends as the job does (jobs_board.c), or is evicted. */
static const char *end_of(const struct seen_pod *p, uint32_t dice)
{
    static const char *const ends[] = {
        "{\"status\":{\"phase\":\"Failed\",\"reason\":\"Evicted\",\"conditions\":[]}}",
        "{\"status\":{\"phase\":\"Failed\",\"conditions\":[]}}",
        "{\"status\":{\"phase\":\"Failed\",\"reason\":\"NodeLost\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"Unknown\"}]}}",
        "{\"status\":{\"phase\":\"Succeeded\",\"conditions\":[]}}",
    };
    return ends[p->head || p->group[0] ? dice % COUNT_OF(ends) : 0];
}

static void pod_ends(struct sim *s, const uint32_t dice[3], bool deleted_by_hand)
{
    const struct seen_pod *p = pick_pod(s, dice[0]);
    if (!p)
        return;
    sim_say(s, "pod %s/%s", p->ns, p->name);
    struct slice path = arena_printf(&s->w.arena, "/api/v1/namespaces/%s/pods/%s%s", p->ns, p->name, deleted_by_hand ? "" : "/status");
    if (deleted_by_hand)
        world_call(&s->w, "DELETE", path.ptr, "application/json", SLICE("{}"));
    else
        world_call(&s->w, "PATCH", path.ptr, "application/merge-patch+json",
                   p->never && p->ready && dice[1] >> 8 & 1 ? ray_ends(s, p) : slice_of(end_of(p, dice[1])));
}

/* A copy of a live head under another name. */
static void second_head(struct sim *s)
{
    const struct seen_pod *p = s->pods;
    while (p && !(p->head && p->live))
        p = p->next;
    if (!p)
        return;
    struct slice body = arena_printf(&s->w.arena,
                                     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"second\",\"labels\":{"
                                     "\"ray.io/node-type\":\"head\"},\"ownerReferences\":[{\"apiVersion\":\"ray.io/v1\",\"kind\":"
                                     "\"RayCluster\",\"name\":\"x\",\"uid\":\"%s\",\"controller\":true}]},\"spec\":{\"containers\":"
                                     "[{\"name\":\"ray\",\"image\":\"ray\"}]}}",
                                     p->owner);
    struct slice path = arena_printf(&s->w.arena, "/api/v1/namespaces/%s/pods", p->ns);
    world_call(&s->w, "POST", path.ptr, "application/json", body);
}

static struct slice service_of(struct sim *s, const struct want *c)
{
    return arena_printf(&s->w.arena, "%s%s", c->name, c->kind == RAY_V1 ? "-head-svc" : "-ray-head");
}

/* The first cluster from `dice` on whose service is there. */
static struct want *find_service(struct sim *s, uint32_t dice)
{
    for (uint32_t i = 0; i < SIM_CLUSTERS; i++) {
        struct want *c = &s->want[(dice + i) % SIM_CLUSTERS];
        if (apiserver_get(s->w.server, SLICE("services"), slice_of(c->ns), service_of(s, c), &s->w.arena).ptr)
            return c;
    }
    return NULL;
}

static void service_moves(struct sim *s, const struct want *c, bool gone)
{
    struct slice path = arena_printf(&s->w.arena, "/api/v1/namespaces/%s/services/%.*s", c->ns, SLICE_ARG(service_of(s, c)));
    if (gone)
        world_call(&s->w, "DELETE", path.ptr, "application/json", SLICE("{}"));
    else
        world_call(&s->w, "PATCH", path.ptr, "application/merge-patch+json",
                   SLICE("{\"spec\":{\"selector\":{\"ray.io/node-type\":\"worker\"}}}"));
}

/* ---- */

static void move_cluster(struct sim *s, struct want *c, const struct sim_entry *e)
{
    switch (e->kind) {
    case MOVE_CREATE:
        create(s, c, e->dice);
        break;
    case MOVE_DELETE:
        deleted(s, c);
        break;
    case MOVE_RECREATE:
        deleted(s, c);
        create(s, c, e->dice);
        break;
    case MOVE_SERVICE_DELETED:
    case MOVE_SERVICE_EDITED:
        service_moves(s, c, e->kind == MOVE_SERVICE_DELETED);
        break;
    default:
        change(s, c, e);
        break;
    }
}

static void move(struct sim *s, const struct sim_entry *e)
{
    bool of_service = e->kind == MOVE_SERVICE_DELETED || e->kind == MOVE_SERVICE_EDITED;
    struct want *c = of_service ? find_service(s, e->dice[0]) : find(s, e->dice[0], e->kind != MOVE_CREATE);
    bool mishap = e->kind == MOVE_NODE_LOST || e->kind == MOVE_NAMESPACE_DELETED;
    bool trouble = e->kind == MOVE_POD_RESTARTS || e->kind == MOVE_POD_UNREADY;
    bool of_pod =
        trouble || e->kind == MOVE_POD_DELETED || e->kind == MOVE_POD_FAILS || e->kind == MOVE_RAYLET_DIES || e->kind == MOVE_SECOND_HEAD;
    bool of_part = parts_owns(e->kind);
    if (of_pod || mishap || of_part || e->kind == MOVE_TOKEN || e->kind == MOVE_SPOT)
        c = NULL;
    sim_say(s, "move: %s%s%s%s%s%s%s", sim_kind_name(e->kind), c ? " " : "", c ? c->ns : "", c ? "/" : "", c ? group_of(c) : "",
            c ? "/" : "", c ? c->name : "");
    if (mishap)
        mishaps_apply(s, e);
    else if (of_part)
        parts_move(s, e);
    else if (trouble)
        troubles_apply(s, e);
    else if (e->kind == MOVE_TOKEN)
        tokens_apply(s, e);
    else if (e->kind == MOVE_SPOT)
        markets_apply(s);
    else if (e->kind == MOVE_SECOND_HEAD)
        second_head(s);
    else if (e->kind == MOVE_RAYLET_DIES)
        scaled_kill_raylet(s, e->dice[0]);
    else if (e->kind == MOVE_POD_DELETED || e->kind == MOVE_POD_FAILS)
        pod_ends(s, e->dice, e->kind == MOVE_POD_DELETED);
    else if (c)
        move_cluster(s, c, e);
}

/* Counted when it has changed something; the operator knows nothing of it yet. */
void moves_apply(struct sim *s, const struct sim_entry *e)
{
    uint64_t before = apiserver_revision(s->w.server);
    s->moved = false;
    move(s, e);
    if (s->moved || apiserver_revision(s->w.server) != before)
        state_cover(s, e->kind);
}

/* ---- the beginning and the end ---- */

static void make_namespace(struct sim *s, const char *name)
{
    struct slice body = arena_printf(&s->w.arena, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}", name);
    world_call(&s->w, "POST", "/api/v1/namespaces", "application/json", body);
}

void moves_begin(struct sim *s)
{
    for (uint32_t i = 0; i < SIM_CLUSTERS; i++)
        s->want[i] = (struct want){.kind = places[i].kind, .ns = places[i].ns, .name = places[i].name};
    mishaps_begin(s);
    make_namespace(s, "n");
    make_namespace(s, "m");
    parts_define(s);
    s->legacy_ms = s->plan->setup.legacy_late ? SIM_MS / 3 : 0;
    markets_begin(s);
    parts_begin(s);
}

void moves_tick(struct sim *s)
{
    mishaps_tick(s);
    troubles_tick(s);
    tokens_tick(s);
    parts_tick(s);
    if (s->legacy_ms && sim_now(s) >= s->legacy_ms) {
        sim_say(s, "move: the CRD of cluster.ray.io");
        parts_define_late(s);
        s->legacy_ms = 0;
    }
}

int64_t moves_next(const struct sim *s)
{
    int64_t next = mishaps_next(s), parts = parts_next(s), troubles = troubles_next(s);
    next = parts < next ? parts : next;
    next = troubles < next ? troubles : next;
    next = tokens_next(s) < next ? tokens_next(s) : next;
    return s->legacy_ms && s->legacy_ms < next ? s->legacy_ms : next;
}

void moves_calm(struct sim *s)
{
    tokens_calm(s);
    parts_calm(s);
    apiserver_faults(s->w.server)->no_spot = false;
    for (uint32_t i = 0; i < SIM_CLUSTERS; i++) {
        struct want *c = &s->want[i];
        bool resume = c->suspend && s->jobs; /* a job that runs on a cluster which is suspended waits for its head for long */
        if (!c->there || !(c->bad || resume))
            continue;
        c->bad = false;
        c->suspend &= !resume;
        written(s, c);
    }
}

void moves_delete_all(struct sim *s)
{
    for (uint32_t i = 0; i < SIM_CLUSTERS; i++)
        if (s->want[i].there)
            deleted(s, &s->want[i]);
    parts_delete_all(s);
}
