#include "jobs.h"

#include <stdlib.h>

enum {
    /* Converged within this time of the last fault: the longest back-offs of a watch and of a cluster, one after the other … */
    CALM_MS = 100 * 1000,
    /* … a silent connection is noticed first … */
    CALM_SILENT_MS = 160 * 1000,
    /* … and a pod whose Ray has ended unheard is given up late. */
    CALM_LOST_MS = SCALE_JOIN_MS + 60 * 1000,
    CALM_RETURN_MS = 10 * 1000, /* who has seen a pod without a spot node has seen it get one */
    CALM_JOBS_MS = 150 * 1000,  /* some attempts, one after the other, and what is deleted some time after the last */
    LOOK_MS = 250,
    SETTLE_MS = 70 * 1000,      /* progress is written to status at most once a minute */
    FORGET_MS = 20 * 60 * 1000, /* failures are forgotten by then */
    QUIET_MS = 60 * 1000,
    GONE_MS = 70 * 1000, /* idle connections are closed by then, too */
    EMPTY_BYTES = 896 * KIB,
    EMPTY_JOBS_BYTES = 128 * KIB,   /* and so much for one more watch in each of two namespaces … */
    EMPTY_CRONS_BYTES = 128 * KIB,  /* … and for another one */
    EMPTY_MARKETS_BYTES = 64 * KIB, /* … and for that of a ConfigMap */
};

/* ---- the history ---- */

int64_t sim_now(const struct sim *s)
{
    return s->w.now.mono_ms - WORLD_START_MS;
}

void sim_say(struct sim *s, const char *fmt, ...)
{
    if (!s->o->record)
        return;
    struct buf b;
    buf_init(&b, 64 * MIB);
    buf_printf(&b, "%7lld.%03lld ", (long long)sim_now(s) / 1000, (long long)sim_now(s) % 1000);
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    size_t n = (size_t)vsnprintf(NULL, 0, fmt, ap);
    char *room = buf_room(&b, n + 1);
    vsnprintf(room, n + 1, fmt, again);
    va_end(again);
    va_end(ap);
    b.len += n;
    s->r->history = hash64(buf_slice(&b), s->r->history);
    if (s->o->out)
        fprintf(s->o->out, "%.*s\n", (int)b.len, b.ptr);
    buf_free(&b);
}

void sim_violation(struct sim *s, const char *which, const char *fmt, ...)
{
    if (s->r->which[0])
        return;
    va_list ap;
    va_start(ap, fmt);
    snprintf(s->r->which, sizeof s->r->which, "%s", which);
    vsnprintf(s->r->violation, sizeof s->r->violation, fmt, ap);
    va_end(ap);
    sim_say(s, "VIOLATION: %s: %s", which, s->r->violation);
}

/* ---- who looks on ---- */

static bool on_connect(struct world_hooks *h, struct process *p)
{
    struct sim *s = (struct sim *)h;
    bool held = faults_on(s, FAULT_NO_CONNECT);
    (void)p;
    s->held += held;
    return !held;
}

static void on_began(struct world_hooks *h, struct world_request *q)
{
    check_request_began((struct sim *)h, q);
}

static void on_sent(struct world_hooks *h, struct world_request *q)
{
    check_request((struct sim *)h, q);
}

static void on_arrived(struct world_hooks *h, struct world_request *q)
{
    static const char *const fates[] = {"served", "refused", "lost", "served, answer lost", "served, answer cut", "silence"};
    struct sim *s = (struct sim *)h;
    faults_arrived(s, q);
    lease_arrived(s, q);
    if (q->fate == FATE_LOST || q->kill_before || (q->fate == FATE_SILENCE && !q->commit))
        pods_check_deleted(s, q); /* the server never sees it */
    s->serving = q;
    s->revision = apiserver_revision(s->w.server);
    sim_say(s, "%u comes: %s%s%s", q->number, fates[q->fate], q->kill_before ? ", op killed" : "",
            q->kill_behind ? ", op killed after" : "");
}

static void on_answered(struct world_hooks *h, const struct world_request *q, int status, struct slice answer)
{
    struct sim *s = (struct sim *)h;
    s->serving = NULL;
    sim_say(s, "%u is answered %d with %zu bytes", q->number, status, answer.len);
    check_answer(s, q, status);
}

static void on_stepped(struct world_hooks *h, struct process *p, uint64_t since)
{
    struct sim *s = (struct sim *)h;
    if (s->w.slept)
        sim_violation(s, "no sleep over work", "op-%u has something to decide and would wait", p->number);
    s->w.slept = 0; /* it has been told */
    faults_stepped(s, p, since);
}

static void on_killed(struct world_hooks *h, struct process *p)
{
    sim_say((struct sim *)h, "op-%u is gone", p->number);
}

static void on_change(struct apiserver_observer *o, const struct apiserver_change *c)
{
    struct sim *s = (struct sim *)((char *)o - offsetof(struct sim, observer));
    scaled_changes(s, c);
    if (s->w.rays)
        fakerays_changed(s->w.rays, c);
    check_change(s, c);
}

/* ---- a run ---- */

static bool broken(const struct sim *s)
{
    return s->r->which[0] != '\0';
}

/* Every sixteenth seed has TLS. */
static enum world_tls sim_tls(uint64_t seed)
{
    return seed % 32 == 9 ? WORLD_TLS13 : seed % 32 == 25 ? WORLD_TLS12 : WORLD_PLAIN;
}

static void begin(struct sim *s, const struct sim_plan *p, const struct sim_options *o, struct sim_result *r)
{
    *r = (struct sim_result){.history = p->seed};
    s->hooks = (struct world_hooks){on_connect, on_began, on_sent, on_arrived, on_answered, on_stepped, on_killed};
    s->observer.changed = on_change;
    s->plan = p;
    s->o = o;
    s->r = r;
    map_seed_set(p->seed);
    rng_seed(&s->rng, p->seed ^ 0x5deece66d);
    struct apiserver_config config = {.seed = p->seed, .start_ms = p->setup.start_ms, .mutators = p->setup.mutators};
    world_init(&s->w, &config);
    s->w.hooks = &s->hooks;
    s->w.costs.cores = p->seed % 5 == 3 ? 1 + (uint32_t)(p->seed / 5 % 2) : 0;
    s->w.tls = sim_tls(p->seed);
    s->w.kubeconfig = "tests/data/world/kubeconfig-sim";
    apiserver_observe(s->w.server, &s->observer);
    scaled_begin(s);
    check_begin(s);
    moves_begin(s);
    faults_begin(s);
}

static void until(struct sim *s, int64_t ms)
{
    while (sim_now(s) < ms && !broken(s)) {
        int64_t next = faults_next(s);
        next = moves_next(s) < next ? moves_next(s) : next;
        next = next < ms ? next : ms;
        world_step(&s->w, next > sim_now(s) ? next + WORLD_START_MS : s->w.now.mono_ms + 1);
        check_step(s);
        views_look(s);
        effects_look(s);
        faults_tick(s);
        moves_tick(s);
    }
}

static void apply(struct sim *s, const struct sim_entry *e)
{
    if (e->kind < SIM_FIRST_FAULT)
        moves_apply(s, e);
    else if (s->o->faults)
        faults_apply(s, e);
}

static void busy(struct sim *s)
{
    for (; s->next < s->plan->count && !broken(s); s->next++) {
        until(s, s->plan->entries[s->next].at_ms);
        apply(s, &s->plan->entries[s->next]);
    }
    until(s, SIM_MS);
}

_Static_assert(CALM_MS + CALM_SILENT_MS + PLAN_BACKOFF_MAX_MS + CALM_LOST_MS + CALM_JOBS_MS == SIM_CONVERGED_MAX_S * 1000,
               "what is told of the time that seeds take ends with the longest");

/* Until when all must have come to its end. */
static int64_t limit_ms(struct sim *s)
{
    int64_t ms = SIM_MS + CALM_MS + (s->silenced ? CALM_SILENT_MS : 0) + state_wait_ms(s);
    ms += (s->plan->setup.scaled ? CALM_LOST_MS : 0) + (s->jobs ? CALM_JOBS_MS : 0);
    return ms;
}

/* Until all has come to its end. */
static void converge(struct sim *s, int64_t limit)
{
    char why[SIM_TEXT] = "";
    while (!broken(s) && !state_converged(s, why)) {
        if (sim_now(s) >= limit) {
            sim_violation(s, "converged in time", "%lld ms after the last fault: %s", (long long)(sim_now(s) - SIM_MS), why);
            return;
        }
        until(s, sim_now(s) + LOOK_MS);
    }
}

static void calm(struct sim *s)
{
    sim_say(s, "calm");
    moves_calm(s);
    faults_calm(s);
    s->r->pace = s->plan->setup.scaled ? PACE_SCALED : s->jobs ? PACE_JOBS : PACE_PLAIN;
    converge(s, limit_ms(s));
    s->r->converged_ms = sim_now(s) - SIM_MS;
    sim_say(s, "converged");
}

/* Spot nodes are there, and whoever has left them makes pods for them again: on-demand pods that go come back as spot ones. */
static void return_to_spot(struct sim *s)
{
    if (!s->plan->setup.markets)
        return;
    until(s, sim_now(s) + SIM_RETRY_MS + CALM_RETURN_MS);
    sim_say(s, "back to spot");
    s->returned = true;
    markets_return(s);
    converge(s, sim_now(s) + CALM_MS + state_wait_ms(s));
}

static void quiet(struct sim *s)
{
    char why[SIM_TEXT] = "";
    if (s->silenced) /* what the silent watch did not tell may still be there to be set right */
        until(s, SIM_MS + CALM_SILENT_MS);
    return_to_spot(s);
    until(s, sim_now(s) + SETTLE_MS);
    for (int64_t end = sim_now(s) + FORGET_MS; !broken(s) && sim_now(s) < end && state_has_failures(s);)
        until(s, sim_now(s) + 5000);
    sim_say(s, "quiet");
    s->still = true;
    s->still_us = s->w.now.wall_us;
    until(s, sim_now(s) + QUIET_MS);
    s->still = false;
    if (!broken(s) && !state_converged(s, why))
        sim_violation(s, "stays converged", "%s", why);
}

/* What a fault costs is a few writes, not a storm of them. */
static void compare_writes(struct sim *s)
{
    enum { SLACK = 20, ATTEMPT = 30, TROUBLE = 8, DEMAND = 4 };
    uint32_t most = s->o->reference_writes + s->o->reference_writes / 4 + 2 * s->r->faults_met + SLACK;
    if (s->jobs) /* an attempt is a cluster with its pods, and a fault of dashboards is told in the status of each job */
        most += ATTEMPT * s->jobs->attempts + TROUBLE * s->jobs->struck;
    most += DEMAND * s->demands; /* a spot pod goes for it, and it for another one in the end */
    if (s->r->writes > most)
        sim_violation(s, "bounded writes", "%u, at most %u (%u without faults, %u requests met a fault)", s->r->writes, most,
                      s->o->reference_writes, s->r->faults_met);
}

/* The first line that differs. */
static void compare_end(struct sim *s, const char *end)
{
    const char *a = end, *b = s->o->reference;
    while (*a && *b) {
        struct slice x = {a, strcspn(a, "\n")}, y = {b, strcspn(b, "\n")};
        if (!slice_eq(x, y)) {
            size_t at = 0;
            while (at < x.len && at < y.len && x.ptr[at] == y.ptr[at])
                at++;
            at = at > 60 ? at - 60 : 0;
            sim_violation(s, "the end is the reference's", "%.60s … %.*s / %.*s", a, SLICE_ARG(slice_head(slice_skip(x, at), 150)),
                          SLICE_ARG(slice_head(slice_skip(y, at < y.len ? at : y.len), 150)));
            return;
        }
        a += x.len + 1;
        b += y.len + 1;
    }
    if (*a || *b)
        sim_violation(s, "the end is the reference's", "%s: %.300s", *a ? "too much" : "missing", *a ? a : b);
}

/* What an operator holds is what ends with it. Without clusters that is little, whatever it has been through. */
static void weigh(struct sim *s)
{
    int most = EMPTY_BYTES + (s->jobs ? EMPTY_JOBS_BYTES : 0) + (s->crons ? EMPTY_CRONS_BYTES : 0);
    most += s->plan->setup.markets ? EMPTY_MARKETS_BYTES : 0;
    for (uint32_t i = 0; i < WORLD_PROCESSES; i++) {
        uint64_t with = world_heap_bytes();
        if (s->w.process[i].op)
            world_crash(&s->w, i);
        uint64_t bytes = with - world_heap_bytes();
        if (bytes > (uint64_t)most)
            sim_violation(s, "memory is flat", "op-%u holds %llu bytes without a cluster, at most %d", i, (unsigned long long)bytes, most);
    }
}

static void gone(struct sim *s)
{
    moves_delete_all(s);
    until(s, sim_now(s) + GONE_MS);
    if (!broken(s))
        state_residue(s);
    if (!broken(s))
        weigh(s);
}

void sim_run(const struct sim_plan *p, const struct sim_options *o, struct sim_result *r, char **end)
{
    struct sim *s = mem_alloc(sizeof *s);
    *end = NULL;
    begin(s, p, o, r);
    busy(s);
    if (!broken(s))
        calm(s);
    if (!broken(s))
        quiet(s);
    if (!broken(s))
        *end = state_text(s);
    if (*end && o->reference)
        compare_end(s, *end);
    if (*end && o->reference)
        compare_writes(s);
    if (!broken(s))
        gone(s);
    r->sessions = s->w.hits.sessions;
    r->updates = s->w.hits.updates;
    r->torn = s->w.hits.torn;
    apiserver_observe(s->w.server, NULL);
    s->w.hooks = NULL;
    world_free(&s->w);
    check_end(s);
    arena_free(&s->arena);
    mem_free(s);
}

/* The world has ended, and took all with it. */
static void compare_heap(struct sim_result *r, uint64_t before)
{
    uint64_t now = world_heap_bytes();
    if (now == before || r->which[0])
        return;
    snprintf(r->which, sizeof r->which, "nothing leaks");
    snprintf(r->violation, sizeof r->violation, "%llu bytes more than before", (unsigned long long)(now - before));
}

void sim_both(const struct sim_plan *p, bool record, FILE *out, struct sim_result *r)
{
    char *reference, *end;
    uint64_t before = world_heap_bytes();
    struct sim_options o = {.record = record, .out = out};
    if (out)
        fprintf(out, "---- seed %llu: moves only\n", (unsigned long long)p->seed);
    sim_run(p, &o, r, &reference);
    uint64_t first = r->history;
    if (reference) {
        if (out)
            fprintf(out, "---- seed %llu: with faults\n", (unsigned long long)p->seed);
        o.faults = true;
        o.reference = reference;
        o.reference_writes = r->writes;
        sim_run(p, &o, r, &end);
        mem_free(end);
        mem_free(reference);
    }
    compare_heap(r, before);
    r->history = hash64((struct slice){(const char *)&first, sizeof first}, r->history);
}

void sim_seed(uint64_t seed, bool record, FILE *out, struct sim_result *r)
{
    struct sim_plan *p = mem_alloc(sizeof *p);
    sim_plan_make(p, seed);
    sim_both(p, record, out, r);
    mem_free(p);
}
