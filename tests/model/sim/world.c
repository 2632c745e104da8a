#include "fakeray.h"
#include "wire.h"

#include <mobula/inspect.h>

/* ---- life ---- */

void world_init(struct world *w, const struct apiserver_config *config)
{
    *w = (struct world){.now = {WORLD_START_MS, 1800000000000000}, .kubeconfig = "tests/data/world/kubeconfig"};
    rng_seed(&w->rng, config->seed);
    w->server = apiserver_new(config, w->now);
    for (uint32_t i = 0; i < WORLD_PROCESSES; i++)
        w->process[i] = (struct process){.net = {.ops = &wire_net_ops}, .world = w, .number = i};
}

void world_free(struct world *w)
{
    if (w->sent.bare_deletes && !w->hooks) /* the simulator's hooks say it in their own way */
        fatal("world: %u DELETEs without the uid of what is to go", w->sent.bare_deletes);
    if (w->slept && !w->hooks)
        fatal("world: %u times the operator would wait although it has something to decide", w->slept);
    for (uint32_t i = 0; i < WORLD_PROCESSES; i++)
        if (w->process[i].op)
            world_crash(w, i);
    wires_free(w);
    secure_end(w);
    fakerays_free(w->rays);
    apiserver_free(w->server);
    arena_free(&w->arena);
}

void world_launch(struct world *w, uint32_t process, const struct operator_options *o)
{
    struct process *p = &w->process[process];
    struct err e = {0};
    p->config = kube_config_load(&(struct kube_config_options){.kubeconfig = w->kubeconfig}, &e);
    p->op = p->config ? operator_new(&p->net, p->config, o, &e) : NULL;
    if (!p->op)
        fatal("world: %s", e.text);
    p->frozen_until_ms = 0;
    w->op = w->process[0].op;
}

void world_start_operator(struct world *w, bool elect)
{
    static const struct slice namespaces[] = {{"n", 1}};
    struct operator_options o = {
        .namespaces = namespaces,
        .namespace_count = 1,
        .ray = {.tools = RAY_TOOLS_NONE, .cluster_domain = SLICE("cluster.local"), .version = SLICE("0")},
        .executable = {.bytes = w->executable, .take = w->executable_take},
        .leader_elect = elect,
        .autoscaling = w->rays != NULL,
        .submitter_pods = w->submitter_pods,
        .access = w->access,
        .lease = {SLICE("n"), SLICE("mobula"), SLICE("me"), KUBE_LEASE_MS, KUBE_LEASE_RENEW_MS, KUBE_LEASE_RETRY_MS},
        .fence_ms = w->fence_ms,
        .instance = SLICE("test"),
        .seed = 1};
    if (w->far)
        o.plane = w->far->options(w->far);
    o.checks.on = w->far != NULL;
    o.checks.rights = SLICE("[{\"verbs\":[\"list\"],\"apiGroups\":[\"\"],\"resources\":[\"pods\"]}]");
    o.settings_ns = SLICE("n");
    memcpy(o.settings, w->settings, sizeof o.settings);
    o.patches = w->patches;
    o.ray.agent = w->agent;
    o.ray.agent_ca = w->agent ? SLICE("-----BEGIN CERTIFICATE-----\nA\n") : SLICE_NONE;
    if (w->executable.len || w->executable_take)
        o.ray.tools = RAY_TOOLS_CONFIGMAP;
    world_launch(w, 0, &o);
}

void world_crash(struct world *w, uint32_t process)
{
    struct process *p = &w->process[process];
    operator_free(p->op); /* and with it every link; what they have written is on its way */
    kube_config_free(p->config);
    p->op = NULL;
    p->config = NULL;
    w->op = w->process[0].op;
    if (w->hooks && w->hooks->killed)
        w->hooks->killed(w->hooks, p);
}

void world_crash_inside(struct world *w, uint32_t process, uint64_t since)
{
    uint64_t written = w->pieces - since;
    uint64_t left = written ? since + rng_below(&w->rng, written + 1) : w->pieces;
    wires_forget_pieces(w, &w->process[process], left, w->pieces);
    world_crash(w, process);
}

void world_kill_operator(struct world *w)
{
    world_crash(w, 0);
}

/* ---- time ---- */

struct now world_process_now(const struct process *p)
{
    return (struct now){p->world->now.mono_ms + p->ahead_ms, p->world->now.wall_us + p->skew_us};
}

/* Returns when the process wants to be stepped again, by the world's clock. */
static int64_t step_process(struct process *p, bool *moved)
{
    struct world *w = p->world;
    if (!p->op)
        return TIME_NEVER;
    if (w->now.mono_ms < p->frozen_until_ms)
        return p->frozen_until_ms;
    uint64_t since = w->pieces;
    w->turn = p;
    operator_wake(p->op, world_process_now(p));
    *moved |= net_dispatch(&p->net, world_process_now(p));
    int64_t next = operator_step(p->op, world_process_now(p));
    w->turn = NULL;
    struct inspect_figures f = inspect_figures(p->op);
    w->slept += f.leading && !f.stopping && f.waits && next > world_process_now(p).mono_ms;
    if (w->hooks && w->hooks->stepped)
        w->hooks->stepped(w->hooks, p, since);
    return next == TIME_NEVER ? next : next - p->ahead_ms;
}

static bool anyone_ready(const struct world *w)
{
    for (uint32_t i = 0; i < WORLD_PROCESSES; i++)
        if (w->process[i].net.ready_first && w->now.mono_ms >= w->process[i].frozen_until_ms)
            return true;
    return false;
}

static bool move(struct world *w)
{
    w->pod_posts_now = 0;
    bool moved = wires_move(w);
    moved |= fakerays_move(w);
    if (w->far)
        moved |= w->far->move(w->far);
    w->sent.at_once = w->pod_posts_now > w->sent.at_once ? w->pod_posts_now : w->sent.at_once;
    return moved;
}

void world_step(struct world *w, int64_t until)
{
    w->steps++;
    apiserver_tick(w->server, w->now);
    bool moved = move(w);
    int64_t next = TIME_NEVER;
    for (uint32_t i = 0; i < WORLD_PROCESSES; i++)
        next = earlier(next, step_process(&w->process[i], &moved));
    moved |= move(w);
    if (moved || anyone_ready(w))
        return;
    next = earlier(next, earlier(apiserver_deadline(w->server), earlier(wires_deadline(w), fakerays_deadline(w))));
    if (w->far)
        next = earlier(next, w->far->deadline(w->far));
    next = earlier(next, until);
    if (next <= w->now.mono_ms)
        next = w->now.mono_ms + 1;
    w->now.wall_us += (next - w->now.mono_ms) * 1000;
    w->now.mono_ms = next;
}

void world_run(struct world *w, int64_t ms)
{
    int64_t until = w->now.mono_ms + ms;
    while (w->now.mono_ms < until)
        world_step(w, until);
}

/* ---- what was sent ---- */

uint32_t world_writes(const struct world *w)
{
    return w->sent.posts + w->sent.patches + w->sent.puts + w->sent.deletes;
}

bool world_is_write(const struct world_request *q)
{
    struct slice path = q->target;
    path = slice_cut(&path, '?');
    return !slice_eq(q->method, SLICE("GET")) && !slice_ends(path, SLICE("/events")) &&
           !slice_starts(path, SLICE("/apis/events.k8s.io/")) && !slice_starts(path, SLICE("/apis/coordination.k8s.io/")) &&
           !slice_starts(path, SLICE("/apis/authorization.k8s.io/"));
}

/* ---- the admin's hand ---- */

int world_ask(struct world *w, const char *method, const char *path, const char *type, struct slice body, struct slice *answer)
{
    struct conn *c = apiserver_connect(w->server);
    struct buf b;
    buf_init(&b, LIMIT_JSON_ITEM);
    const struct http_header headers[] = {{SLICE("Content-Type"), slice_of(type)}};
    http_write_request(&b, slice_of(method), slice_of(path), SLICE("admin"), headers, 1, &body);
    apiserver_feed(w->server, c, buf_slice(&b), w->now);
    struct slice out = arena_dup(&w->arena, apiserver_output(c));
    int64_t status = 0;
    slice_int(out.len > 12 ? (struct slice){out.ptr + 9, 3} : SLICE("0"), &status);
    const char *end = out.ptr ? strstr(out.ptr, "\r\n\r\n") : NULL;
    if (answer)
        *answer = end ? slice_of(end + 4) : SLICE_NONE;
    apiserver_disconnect(w->server, c);
    buf_free(&b);
    return (int)status;
}

int world_call(struct world *w, const char *method, const char *path, const char *type, struct slice body)
{
    return world_ask(w, method, path, type, body, NULL);
}

/* ---- looking at objects ---- */

/* In the world's arena. */
struct world_parsed {
    struct world_parsed *next;
    const char *resource, *name;
    struct slice text;
    struct jval value;
};

static struct world_parsed *find_parsed(struct world *w, const char *resource, const char *name)
{
    for (struct world_parsed *p = w->parsed; p; p = p->next)
        if (strcmp(p->name, name) == 0 && strcmp(p->resource, resource) == 0)
            return p;
    struct world_parsed *p = arena_new(&w->arena, struct world_parsed);
    p->next = w->parsed;
    p->resource = arena_dup(&w->arena, slice_of(resource)).ptr;
    p->name = arena_dup(&w->arena, slice_of(name)).ptr;
    return w->parsed = p;
}

struct jval world_object(struct world *w, const char *resource, const char *name)
{
    struct arena a = {0};
    struct slice text = apiserver_get(w->server, slice_of(resource), SLICE("n"), slice_of(name), &a);
    struct jval found = NO_VALUE;
    if (!slice_empty(text)) {
        struct world_parsed *p = find_parsed(w, resource, name);
        if (!slice_eq(p->text, text)) {
            p->text = arena_dup(&w->arena, text);
            p->value = json_document(p->text, &w->arena, NULL);
        }
        found = p->value;
    }
    arena_free(&a);
    return found;
}
