/* The invariants of every change, request and line of the log. */
#include "sim.h"

#include "tests/model/apiserver/dom.h"

static bool has(struct slice text, const char *needle)
{
    return text.len && memmem(text.ptr, text.len, needle, strlen(needle)) != NULL;
}

/* ---- the store ---- */

void check_change(struct sim *s, const struct apiserver_change *c)
{
    static const char *const words[] = {"added", "modified", "deleted"};
    arena_reset(&s->arena, 256 * KIB);
    bool event = slice_eq(c->plural, SLICE("events"));
    if (!slice_eq(c->plural, SLICE("leases")))
        sim_say(s, "store: %.*s %.*s/%.*s %s at %llu", SLICE_ARG(c->plural), SLICE_ARG(c->ns), SLICE_ARG(c->name), words[c->what],
                (unsigned long long)c->rv);
    if (slice_eq(c->plural, SLICE("pods")))
        pods_changed(s, c);
    parts_changed(s, c);
    tokens_changed(s, c);
    owners_changed(s, c);
    lease_changed(s, c);
    if (has(c->json, SIM_TOKEN))
        sim_violation(s, "no secret", "the token is in %.*s %.*s", SLICE_ARG(c->plural), SLICE_ARG(c->name));
    if (event && has(c->json, SIM_CANARY))
        sim_violation(s, "no secret", "a variable's value is in event %.*s", SLICE_ARG(c->name));
}

/* ---- nothing is said over and over ---- */

void check_started(struct sim *s, uint32_t process)
{
    s->said_count[process] = 0;
    lease_started(s, process);
}

/* How often it was said within the minute that ends now, this time left out. */
static uint32_t said(struct sim *s, uint32_t process, uint64_t what)
{
    enum { MINUTE_MS = 60 * 1000 };
    struct saying *list = s->said[process];
    uint32_t kept = s->said_count[process] < SIM_SAYINGS ? s->said_count[process] : SIM_SAYINGS, times = 0;
    for (uint32_t i = 0; i < kept; i++)
        times += list[i].what == what && sim_now(s) < list[i].at_ms + MINUTE_MS;
    list[s->said_count[process]++ % SIM_SAYINGS] = (struct saying){what, sim_now(s)};
    return times;
}

/* An error by its words: all but the time, and how often it came. */
static uint64_t hash_of_line(struct slice line)
{
    static const struct slice passing[] = {SLICE("ts="), SLICE("failures="), SLICE("retry_in_ms=")};
    uint64_t hash = 0;
    while (line.ptr) {
        struct slice word = slice_cut(&line, ' ');
        bool passes = false;
        for (size_t i = 0; i < COUNT_OF(passing); i++)
            passes |= slice_starts(word, passing[i]);
        hash = passes ? hash : hash64(word, hash);
    }
    return hash;
}

static void check_line(struct sim *s, struct slice line)
{
    bool error = has(line, " error=") || has(line, " reason=");
    if (error && s->w.turn && said(s, s->w.turn->number, hash_of_line(line)))
        sim_violation(s, "an error is one line a minute", "op-%u: %.*s", s->w.turn->number, SLICE_ARG(slice_head(line, 300)));
}

/* What goes on is counted in the event that is there already. One whose answer was lost may be told again. */
static void check_event(struct sim *s, const struct world_request *q, int status)
{
    enum { MOST = 3 };
    static const char *const parts[] = {"regarding.uid", "reason", "note"};
    struct slice path = q->target;
    struct json doc;
    struct err e = {0};
    uint64_t hash = 1;
    if (status != 201 || !slice_ends(slice_cut(&path, '?'), SLICE("/events")) || !json_parse(&doc, q->body, &s->arena, &e))
        return;
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        hash = hash64(json_get_str(json_root(&doc), parts[i], &s->arena), hash);
    if (said(s, q->from->number, hash) >= MOST)
        sim_violation(s, "an event is told once", "op-%u: %.*s", q->from->number, SLICE_ARG(slice_head(q->body, 390)));
}

/* ---- requests ---- */

void check_request_began(struct sim *s, const struct world_request *q)
{
    if (world_is_write(q) && !lease_holds(s, q->from->number))
        sim_violation(s, "no write without the lease", "op-%u: %.*s %.*s", q->from->number, SLICE_ARG(q->method), SLICE_ARG(q->target));
}

static void check_delete(struct sim *s, const struct world_request *q)
{
    struct json doc;
    struct err e = {0};
    bool uid = json_parse(&doc, q->body, &s->arena, &e) && json_get_str(json_root(&doc), "preconditions.uid", &s->arena).len == SIM_UID - 1;
    if (!uid)
        sim_violation(s, "no DELETE without a uid", "%.*s: %.*s", SLICE_ARG(q->target), SLICE_ARG(q->body));
}

static bool is_status(const struct world_request *q)
{
    struct slice path = q->target;
    return slice_ends(slice_cut(&path, '?'), SLICE("/status"));
}

/* Two tries a round, a round a second; rounds that end early because the connection broke begin again. */
static void check_lease_pace(struct sim *s, const struct world_request *q)
{
    enum { MOST = 12 };
    struct lease_pace *pace = &s->pace[q->from->number];
    if (!slice_starts(q->target, SLICE("/apis/coordination.k8s.io/")))
        return;
    if (sim_now(s) >= pace->from_ms + 1000)
        *pace = (struct lease_pace){.from_ms = sim_now(s)};
    if (++pace->count > MOST)
        sim_violation(s, "few requests for the lease", "op-%u: %u within a second", q->from->number, pace->count);
}

/* The last count of a series of events goes out when nothing has been added to it for some minutes. */
static bool ends_series(struct sim *s, const struct world_request *q)
{
    struct json doc;
    struct err e = {0};
    int64_t last_us;
    return slice_starts(q->target, SLICE("/apis/events.k8s.io/")) && slice_eq(q->method, SLICE("PATCH")) &&
           json_parse(&doc, q->body, &s->arena, &e) &&
           time_parse(json_get_str(json_root(&doc), "series.lastObservedTime", &s->arena), &last_us, &e) && last_us < s->still_us;
}

/* Leases are renewed for ever. */
static void check_still(struct sim *s, const struct world_request *q)
{
    bool passing = slice_eq(q->method, SLICE("GET")) || slice_starts(q->target, SLICE("/apis/coordination.k8s.io/"));
    if (s->still && !passing && !ends_series(s, q))
        sim_violation(s, world_is_write(q) ? "no write when converged" : "no event when converged", "op-%u: %.*s %.*s %.*s",
                      q->from->number, SLICE_ARG(q->method), SLICE_ARG(q->target), SLICE_ARG(q->body));
}

/* POST of a pod, or of what pods are made from. */
static bool makes_pods(const struct world_request *q)
{
    struct slice path = q->target, last = SLICE_NONE;
    path = slice_cut(&path, '?');
    while (path.ptr)
        last = slice_cut(&path, '/');
    return slice_eq(q->method, SLICE("POST")) && (slice_eq(last, SLICE("pods")) || parts_decided(last));
}

/* A head that is asked through the API server is brought its token in a header of its own. */
static void look_at_head(struct sim *s, const struct world_request *q)
{
    bool passed_on = has(q->target, "/proxy/");
    for (struct slice rest = q->head; rest.ptr;) {
        struct slice line = slice_cut(&rest, '\n');
        if (!(passed_on && slice_starts(line, SLICE("X-Ray-Authorization"))))
            tokens_look(s, line, q->target);
    }
    tokens_look(s, q->target, SLICE("a request's target"));
}

void check_request(struct sim *s, const struct world_request *q)
{
    arena_reset(&s->arena, 256 * KIB);
    check_lease_pace(s, q);
    check_still(s, q);
    sim_say(s, "op-%u sends %u: %.*s %.*s %.*s", q->from->number, q->number, SLICE_ARG(q->method), SLICE_ARG(q->target),
            SLICE_ARG(q->body));
    s->r->requests++;
    owners_check_request(s, q);
    parts_check_request(s, q);
    if (slice_eq(q->method, SLICE("DELETE"))) {
        check_delete(s, q);
        pods_check_delete(s, q);
    }
    if (has(q->target, SIM_TOKEN) || has(q->head, SIM_TOKEN) || has(q->body, SIM_TOKEN))
        sim_violation(s, "no secret", "the token is in %.*s %.*s", SLICE_ARG(q->method), SLICE_ARG(q->target));
    if (!makes_pods(q) && (has(q->target, SIM_CANARY) || has(q->body, SIM_CANARY)))
        sim_violation(s, "no secret", "a variable's value is in %.*s %.*s", SLICE_ARG(q->method), SLICE_ARG(q->target));
    if (!has(q->target, "/secrets")) {
        look_at_head(s, q);
        tokens_look(s, q->body, q->target);
    }
    if (is_status(q) && !has(q->body, "\"metadata\":{\"uid\":\""))
        sim_violation(s, "no status without a uid", "%.*s", SLICE_ARG(q->target));
}

void check_answer(struct sim *s, const struct world_request *q, int status)
{
    check_event(s, q, status);
    pods_check_deleted(s, q);
    if (!world_is_write(q) || has(q->target, "dryRun=All") || has(q->target, "/proxy/")) /* what is passed on is not stored */
        return;
    s->r->writes++;
    if (status >= 300)
        parts_refused(s, q);
    bool idle = apiserver_revision(s->w.server) == s->revision;
    s->r->refused_writes += q->fate == FATE_SERVED && (idle || status >= 300);
}

/* ---- the log ---- */

static void on_log(void *owner, struct slice line)
{
    struct sim *s = owner;
    sim_say(s, "log: %.*s", SLICE_ARG(line));
    check_line(s, line);
    if (has(line, SIM_TOKEN) || has(line, SIM_CANARY))
        sim_violation(s, "no secret", "in the log: %.*s", SLICE_ARG(line));
    tokens_look(s, line, SLICE("the log"));
}

static const struct sim *logging;

static int64_t log_clock(void)
{
    return logging ? logging->w.now.wall_us : 0;
}

void check_begin(struct sim *s)
{
    logging = s;
    log_global = (struct log){.level = LOG_INFO, .fd = -1, .sink = on_log, .owner = s, .wall_us = log_clock};
}

void check_end(struct sim *s)
{
    pods_end(s);
    owners_end(s);
    tokens_end(s);
    parts_end(s);
    logging = NULL;
    log_global = (struct log){.level = LOG_INFO, .fd = -1};
}

/* ---- each step ---- */

void check_step(struct sim *s)
{
    s->serving = NULL;
    owners_step(s);
    parts_step(s);
    lease_step(s);
    markets_step(s);
}
