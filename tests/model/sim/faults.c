/* What goes wrong. Some faults strike once, some last for a while and strike by chance; all of it is decided by the schedule and by s->rng.
 */
#include "jobs.h"

#include <mobula/inspect.h>

enum { MAX_DOWN_MS = 5000, MAX_LAST_MS = 8000, MAX_FREEZE_MS = 15000, MAX_RESTART_MS = 3000 };

#define LEASE "/apis/coordination.k8s.io/v1/namespaces/n/leases/mobula"

static const struct slice namespaces_two[] = {{"n", 1}, {"m", 1}}, namespaces_all[] = {{"", 0}};

/* One of those that operators watch. */
static struct slice resource_of(const struct sim *s, const struct sim_entry *e)
{
    uint32_t count = 0;
    while (parts_watched(s, count).ptr)
        count++;
    return parts_watched(s, e->dice[1] % count);
}

/* ---- processes ---- */

void sim_start_process(struct sim *s, uint32_t i)
{
    static const struct slice identities[WORLD_PROCESSES] = {{"op-0", 4}, {"op-1", 4}};
    const struct sim_setup *u = &s->plan->setup;
    struct operator_options o = {.namespaces = u->all_namespaces ? namespaces_all : namespaces_two,
                                 .namespace_count = u->all_namespaces ? 1 : 2,
                                 .ray = {.tools = RAY_TOOLS_CONFIGMAP, .cluster_domain = SLICE("cluster.local"), .version = SLICE("0")},
                                 .executable = {.bytes = SLICE("an executable of the simulator")},
                                 .leader_elect = u->elect,
                                 .autoscaling = u->scaled,
                                 .submitter_pods = u->submitters,
                                 .access = u->proxied ? OPERATOR_PROXY : OPERATOR_DIRECT,
                                 .lease = {SLICE("n"), SLICE("mobula"), identities[i], KUBE_LEASE_MS, SIM_RENEW_MS, KUBE_LEASE_RETRY_MS},
                                 .fence_ms = OPERATOR_FENCE_MS,
                                 .instance = identities[i],
                                 .seed = s->plan->seed * 31 + s->w.requests * 7 + i};
    s->restart_ms[i] = TIME_NEVER;
    s->stopping[i] = s->synced[i] = false;
    sim_say(s, "op-%u starts", i);
    check_started(s, i);
    views_started(s, i);
    markets_options(s, &o);
    world_launch(&s->w, i, &o);
}

/* One that runs, the leader if there is one; by dice another. */
static uint32_t pick_process(const struct sim *s, uint32_t dice)
{
    uint32_t n = s->plan->setup.operators, best = dice % n;
    best = s->w.process[best].op ? best : (best + 1) % n;
    if (dice >> 8 & 1)
        for (uint32_t i = 0; i < n; i++)
            if (s->w.process[i].op && inspect_figures(s->w.process[i].op).leading)
                best = i;
    return best;
}

static void plan_restart(struct sim *s, uint32_t i, uint32_t dice)
{
    s->restart_ms[i] = sim_now(s) + dice % MAX_RESTART_MS;
}

/* ---- faults that strike once ---- */

static bool restart_server(struct sim *s, const struct sim_entry *e)
{
    uint32_t cut = world_cut_all(&s->w);
    for (uint32_t i = 0; parts_watched(s, i).ptr; i++)
        apiserver_compact(s->w.server, parts_watched(s, i)); /* the watch cache begins again */
    s->until_ms[FAULT_DOWN] = sim_now(s) + e->dice[0] % MAX_DOWN_MS;
    s->w.unreachable = true;
    return cut > 0;
}

static void let_caches_go(struct sim *s)
{
    apiserver_faults(s->w.server)->older_lists = false;
    for (uint32_t i = 0; parts_watched(s, i).ptr; i++)
        apiserver_hold_cache(s->w.server, parts_watched(s, i), 0, 0);
}

/* The path leads to another server now, whose watch cache lags behind, of one resource or of all. Watches go on there from where they are,
 * or are told to begin again, or the operator is killed and begins there. */
static void hold_caches(struct sim *s, const struct sim_entry *e)
{
    enum { BACK_MS = 6000, HELD_MS = 7000, SOON_MS = 1500 };
    uint32_t how = e->dice[2] % 4, process = pick_process(s, e->dice[2] >> 2);
    bool all = e->dice[0] & 1, kill = how == 0 && s->w.process[process].op;
    int64_t for_ms = 200 + e->dice[0] % HELD_MS;
    struct slice r;
    for (uint32_t i = 0; (r = parts_watched(s, i)).ptr; i++) {
        if (!all && !slice_eq(r, resource_of(s, e)))
            continue;
        apiserver_hold_cache(s->w.server, r, (e->dice[1] >> 8) % BACK_MS, for_ms);
        if (how == 1)
            apiserver_drop_watches(s->w.server, r, e->dice[0] & 2);
        else
            apiserver_outrun_watches(s->w.server, r);
    }
    apiserver_faults(s->w.server)->older_lists = how == 2;
    s->until_ms[FAULT_OLD_CACHE] = sim_now(s) + for_ms;
    if (!kill)
        return;
    world_crash(&s->w, process);
    s->restart_ms[process] = sim_now(s) + e->dice[1] % SOON_MS;
}

static bool take_lease(struct sim *s, const struct sim_entry *e)
{
    char now[TIME_TEXT_MAX];
    time_format_micro(s->w.now.wall_us, now);
    struct slice patch =
        arena_printf(&s->w.arena, "{\"spec\":{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":%u,\"renewTime\":\"%s\"}}",
                     e->dice[0] & 1 ? "somebody else" : "", 1 + e->dice[1] % 8, now);
    int status = world_call(&s->w, "PATCH", LEASE, "application/merge-patch+json", patch);
    s->tampered_ms = s->edited_ms = sim_now(s);
    return status == 200;
}

static bool delete_lease(struct sim *s)
{
    s->tampered_ms = sim_now(s);
    return world_call(&s->w, "DELETE", LEASE, "application/json", SLICE("{}")) == 200;
}

/* Watches begin again from a version that is known no more: what follows is a list. */
static void begin_anew(struct sim *s, struct slice resource)
{
    apiserver_compact(s->w.server, resource);
    apiserver_drop_watches(s->w.server, resource, false);
}

static bool strike_process(struct sim *s, const struct sim_entry *e)
{
    uint32_t i = pick_process(s, e->dice[0]);
    struct process *p = &s->w.process[i];
    bool again = e->kind == FAULT_STOP && s->stopping[i];
    if (!p->op || again)
        return false;
    if (e->kind == FAULT_KILL) {
        world_crash(&s->w, i);
        plan_restart(s, i, e->dice[1]);
    } else if (e->kind == FAULT_STOP) {
        s->stopping[i] = true;
    } else if (e->kind == FAULT_FREEZE) {
        p->frozen_until_ms = s->w.now.mono_ms + e->dice[1] % MAX_FREEZE_MS;
    } else {
        p->skew_us = ((int64_t)(e->dice[1] % 7200) - 3600) * 1000000; /* an hour at most, either way */
    }
    return true;
}

/* Whether it has hit something. What strikes later is counted then (effects.c). */
static bool strike(struct sim *s, const struct sim_entry *e)
{
    struct world *w = &s->w;
    switch (e->kind) {
    case FAULT_BREAK:
        return world_break(w, 40 + e->dice[1] % 217, e->dice[0] & 1) > 0;
    case FAULT_SILENCE: {
        bool any = world_silence(w, 40 + e->dice[1] % 217) > 0;
        s->silenced |= any;
        return any;
    }
    case FAULT_DOWN:
        return restart_server(s, e);
    case FAULT_COMPACT:
        if (e->dice[0] & 1)
            begin_anew(s, resource_of(s, e));
        else
            apiserver_compact(w->server, resource_of(s, e));
        return false;
    case FAULT_WATCH_END:
        return apiserver_drop_watches(w->server, resource_of(s, e), e->dice[0] & 1) > 0;
    case FAULT_WATCH_EXPIRE:
        return apiserver_expire_watches(w->server, resource_of(s, e)) > 0;
    case FAULT_OLD_CACHE:
        hold_caches(s, e);
        return false;
    case FAULT_WATCH_DOUBLE:
        apiserver_faults(w->server)->double_events = 1 + e->dice[0] % 6;
        return false;
    case FAULT_WATCH_LOSE:
        apiserver_faults(w->server)->drop_events = 1 + e->dice[0] % 6;
        s->expire_ms = sim_now(s) + e->dice[1] % 6000;
        return false;
    case FAULT_LEASE_TAKEN:
        return take_lease(s, e);
    case FAULT_LEASE_DELETED:
        return delete_lease(s);
    case FAULT_HEADS_BREAK:
    case FAULT_HEAD_RESTART:
        return scaled_strike(s, e);
    default:
        return strike_process(s, e);
    }
}

/* ---- faults that last ---- */

/* They strike one request or step, which is when they are counted. */
static bool by_chance(enum sim_kind k)
{
    return (k >= FAULT_LOST && k <= FAULT_HANG) || k == FAULT_KILL_INSIDE || k == FAULT_KILL_AT_WRITE;
}

static bool lasts(enum sim_kind k)
{
    return by_chance(k) || k == FAULT_LATENCY || k == FAULT_PIECES || k == FAULT_NO_CONNECT || k == FAULT_WATCH_DELAY ||
           k == FAULT_NO_BOOKMARKS || k == FAULT_NO_STREAM || k == FAULT_SHORT_PAGES || k >= FAULT_HEADS_HANG;
}

bool faults_last(enum sim_kind k)
{
    return lasts(k) || k == FAULT_DOWN || k == FAULT_OLD_CACHE;
}

bool faults_on(const struct sim *s, enum sim_kind k)
{
    return sim_now(s) < s->until_ms[k];
}

/* Knobs of the world and of the server follow what is on. */
static void set_knobs(struct sim *s)
{
    struct world_path *path = &s->w.path;
    struct apiserver_faults *f = apiserver_faults(s->w.server);
    const uint32_t *late = s->dice[FAULT_LATENCY];
    *path = (struct world_path){.latency_ms = s->o->faults ? s->plan->setup.latency_ms : 0};
    if (faults_on(s, FAULT_LATENCY)) {
        path->latency_ms = late[0] % 60;
        path->jitter_ms = late[1] % 4 ? late[1] % 100 : late[1] % 3000;
    }
    if (faults_on(s, FAULT_PIECES))
        path->piece_max = 1 + s->dice[FAULT_PIECES][0] % (s->dice[FAULT_PIECES][1] % 4 ? 2000 : 60);
    s->w.unreachable = faults_on(s, FAULT_DOWN);
    s->w.full = faults_on(s, FAULT_NO_CONNECT) && s->dice[FAULT_NO_CONNECT][1] % 2;
    f->watch_delay_ms = faults_on(s, FAULT_WATCH_DELAY) ? s->dice[FAULT_WATCH_DELAY][0] % 4000 : 0;
    f->no_bookmarks = faults_on(s, FAULT_NO_BOOKMARKS);
    f->bookmark_ms = sim_now(s) < SIM_MS ? s->plan->setup.bookmark_ms : 0;
    f->no_streaming_lists = faults_on(s, FAULT_NO_STREAM) || faults_on(s, FAULT_SHORT_PAGES) || !s->plan->setup.streaming;
    f->page_max = faults_on(s, FAULT_SHORT_PAGES) ? 1 + s->dice[FAULT_SHORT_PAGES][1] % 3 : 0;
    f->expired_as_http = faults_on(s, FAULT_NO_STREAM);
    scaled_knobs(s);
    jobs_knobs(s);
}

void faults_apply(struct sim *s, const struct sim_entry *e)
{
    sim_say(s, "fault: %s", sim_kind_name(e->kind));
    if (s->jobs)
        s->jobs->struck += e->kind >= FAULT_HEADS_BREAK;
    if (lasts(e->kind)) {
        s->until_ms[e->kind] = sim_now(s) + 200 + e->dice[0] % MAX_LAST_MS;
        memcpy(s->dice[e->kind], e->dice, sizeof e->dice);
        if (e->kind == FAULT_NO_STREAM || e->kind == FAULT_SHORT_PAGES)
            for (uint32_t i = 0; parts_watched(s, i).ptr; i++)
                begin_anew(s, parts_watched(s, i));
        effects_follow(s, e->kind);
    } else {
        struct sim_where at = state_where(s);
        effects_follow(s, e->kind);
        if (strike(s, e))
            state_cover_at(s, e->kind, &at);
    }
    set_knobs(s);
}

/* ---- what becomes of a request ---- */

static void refuse(struct sim *s, struct world_request *q, int status, const char *reason, int retry_after_s)
{
    (void)s;
    q->fate = FATE_REFUSED;
    q->status = status;
    q->reason = reason;
    q->retry_after_s = retry_after_s;
}

static void fail(struct sim *s, struct world_request *q)
{
    static const struct {
        int status;
        const char *reason;
    } list[] = {{500, "InternalError"}, {503, "ServiceUnavailable"}, {504, "Timeout"}, {500, ""}, {502, ""}};
    uint32_t i = (uint32_t)rng_below(&s->rng, COUNT_OF(list));
    refuse(s, q, list[i].status, list[i].reason, rng_below(&s->rng, 3) ? 0 : 1);
    q->commit = rng_below(&s->rng, 2);
}

/* What a server, or a gateway before it, may say of each verb, whether it is so or not. */
static void say_no(struct sim *s, struct world_request *q)
{
    enum { GET = 1, POST = 2, PATCH = 4, PUT = 8, DELETE = 16, ANY = 31, BODIES = POST | PATCH | PUT };
    static const struct {
        int status;
        const char *reason;
        unsigned methods;
    } list[] = {{403, "Forbidden", ANY},
                {409, "Conflict", ANY - GET},
                {401, "Unauthorized", ANY},
                {422, "Invalid", ANY},
                {400, "BadRequest", ANY},
                {408, "Timeout", ANY},
                {404, "NotFound", ANY},
                {404, "", ANY},
                {405, "MethodNotAllowed", ANY},
                {409, "AlreadyExists", POST},
                {410, "Expired", GET},
                {410, "Gone", ANY - GET},
                {413, "RequestEntityTooLarge", BODIES},
                {415, "UnsupportedMediaType", BODIES}};
    static const char *const methods[] = {"GET", "POST", "PATCH", "PUT", "DELETE"};
    unsigned verb = 0;
    for (size_t i = 0; i < COUNT_OF(methods); i++)
        verb |= slice_eq(q->method, slice_of(methods[i])) ? 1u << i : 0;
    uint32_t i = s->dice[FAULT_REFUSED][2] % COUNT_OF(list);
    while (!(list[i].methods & verb))
        i = (i + 1) % COUNT_OF(list);
    refuse(s, q, list[i].status, list[i].reason, 0);
}

static bool strikes(struct sim *s, enum sim_kind k)
{
    bool yes = faults_on(s, k) && rng_below(&s->rng, 100) < 10 + s->dice[k][1] % 80;
    if (yes)
        state_cover(s, k);
    return yes;
}

static void kill_at(struct sim *s, struct world_request *q)
{
    s->until_ms[FAULT_KILL_AT_WRITE] = 0;
    state_cover(s, FAULT_KILL_AT_WRITE);
    bool before = s->dice[FAULT_KILL_AT_WRITE][1] & 1;
    *(before ? &q->kill_before : &q->kill_behind) = true;
    plan_restart(s, q->from->number, s->dice[FAULT_KILL_AT_WRITE][2]);
}

void faults_arrived(struct sim *s, struct world_request *q)
{
    bool write = world_is_write(q);
    if (faults_on(s, FAULT_KILL_AT_WRITE) && write && q->from->op)
        kill_at(s, q);
    else if (strikes(s, FAULT_LOST))
        q->fate = FATE_LOST;
    else if (strikes(s, FAULT_ANSWER_LOST))
        q->fate = FATE_ANSWER_LOST;
    else if (strikes(s, FAULT_ANSWER_CUT))
        q->fate = FATE_ANSWER_CUT, q->bytes = (uint32_t)rng_below(&s->rng, 3000);
    else if (strikes(s, FAULT_HANG))
        q->fate = FATE_SILENCE, q->commit = rng_below(&s->rng, 2), s->silenced = true;
    else if (strikes(s, FAULT_THROTTLED))
        refuse(s, q, 429, rng_below(&s->rng, 2) ? "TooManyRequests" : "", rng_below(&s->rng, 2) ? 1 : 0); /* a webhook, flow control */
    else if (strikes(s, FAULT_FAILED))
        fail(s, q);
    else if (strikes(s, FAULT_REFUSED))
        say_no(s, q);
    bool answers = q->fate == FATE_SERVED || q->fate == FATE_REFUSED;
    if (answers && strikes(s, FAULT_SLOW))
        q->delay_ms = (int64_t)rng_below(&s->rng, 4000);
    s->r->faults_met += q->fate != FATE_SERVED || q->kill_before || q->kill_behind;
}

void faults_stepped(struct sim *s, struct process *p, uint64_t since)
{
    if (!faults_on(s, FAULT_KILL_INSIDE) || s->w.pieces < since + 2)
        return;
    s->until_ms[FAULT_KILL_INSIDE] = 0;
    state_cover(s, FAULT_KILL_INSIDE);
    plan_restart(s, p->number, s->dice[FAULT_KILL_INSIDE][2]);
    world_crash_inside(&s->w, p->number, since);
}

/* ---- time ---- */

void faults_begin(struct sim *s)
{
    for (uint32_t i = 0; i < WORLD_PROCESSES; i++) {
        s->restart_ms[i] = TIME_NEVER;
        s->w.process[i].ahead_ms = i * 1000000007;
    }
    s->expire_ms = TIME_NEVER;
    s->tampered_ms = s->edited_ms = INT64_MIN / 2;
    for (uint32_t i = 0; i < s->plan->setup.operators; i++)
        sim_start_process(s, i);
    set_knobs(s);
}

static void expire_all(struct sim *s)
{
    apiserver_faults(s->w.server)->drop_events = 0;
    for (uint32_t i = 0; parts_watched(s, i).ptr; i++)
        apiserver_expire_watches(s->w.server, parts_watched(s, i));
    s->expire_ms = TIME_NEVER;
}

void faults_tick(struct sim *s)
{
    for (uint32_t i = 0; i < WORLD_PROCESSES; i++) {
        struct process *p = &s->w.process[i];
        bool awake = p->op && s->w.now.mono_ms >= p->frozen_until_ms;
        if (s->stopping[i] && awake && operator_stop(p->op, world_process_now(p))) {
            sim_say(s, "op-%u has stopped", i);
            world_crash(&s->w, i);
            s->restart_ms[i] = sim_now(s);
        }
        if (!p->op && sim_now(s) >= s->restart_ms[i])
            sim_start_process(s, i);
    }
    if (sim_now(s) >= s->expire_ms) {
        sim_say(s, "all watches expire");
        expire_all(s);
    }
    set_knobs(s);
}

int64_t faults_next(const struct sim *s)
{
    int64_t next = s->expire_ms, now = sim_now(s);
    for (uint32_t i = 0; i < WORLD_PROCESSES; i++) {
        next = s->restart_ms[i] < next ? s->restart_ms[i] : next;
        next = s->stopping[i] && now + 20 < next ? now + 20 : next;
    }
    for (enum sim_kind k = 0; k < SIM_KINDS; k++)
        if (s->until_ms[k] > now && s->until_ms[k] < next)
            next = s->until_ms[k];
    return next;
}

void faults_calm(struct sim *s)
{
    for (enum sim_kind k = 0; k < SIM_KINDS; k++)
        s->until_ms[k] = 0;
    if (s->expire_ms != TIME_NEVER)
        expire_all(s);
    apiserver_faults(s->w.server)->double_events = 0;
    let_caches_go(s);
    for (uint32_t i = 0; i < s->plan->setup.operators; i++) {
        s->w.process[i].frozen_until_ms = 0;
        if (s->jobs) /* whose deadlines are times of the wall */
            s->w.process[i].skew_us = 0;
        if (!s->w.process[i].op)
            s->restart_ms[i] = sim_now(s);
    }
    faults_tick(s);
}
