/* The dashboards of all heads, and the pods that submit to them. A dashboard runs what it takes for as long as the entrypoint says, and
 * forgets it when its head begins again. */
#include "jobs.h"

enum { LATE_MS = 14 * 1000, TRY_MS = 300, LOOK_MS = 1000 };

static struct sim *sim_of(const struct fakeray *h)
{
    return (struct sim *)((char *)h->world - offsetof(struct sim, w));
}

/* ---- what runs ---- */

bool jobs_knows(const struct submission *sub)
{
    return sub->head->pod[0] && sub->head->sessions == sub->session;
}

/* What has come of it by now. */
static void settle(struct submission *sub)
{
    static const enum submission_state ends[SCRIPTS] = {[SCRIPT_SUCCEEDS] = SUBMISSION_SUCCEEDED,
                                                        [SCRIPT_FAILS] = SUBMISSION_FAILED,
                                                        [SCRIPT_FAILS_ONCE] = SUBMISSION_FAILED,
                                                        [SCRIPT_REFUSED] = SUBMISSION_SUCCEEDED};
    int64_t end_ms = sub->began_ms + sub->run_ms;
    if (sub->state != SUBMISSION_RUNS)
        return;
    if (!jobs_knows(sub)) {
        sub->state = SUBMISSION_LOST;
    } else if (sub->script != SCRIPT_ENDLESS && sub->head->world->now.mono_ms >= end_ms) {
        sub->state = ends[sub->script];
        sub->ended_ms = end_ms;
    }
}

static struct submission *known(const struct sim *s, const struct fakeray *h, struct slice id)
{
    for (struct submission *sub = s->jobs->taken; sub; sub = sub->next)
        if (sub->head == h && jobs_knows(sub) && slice_eq(slice_of(sub->id), id))
            return sub;
    return NULL;
}

const struct submission *jobs_submission(const struct sim *s, const char *id)
{
    struct submission *sub = s->jobs->taken;
    while (sub && strcmp(sub->id, id) != 0)
        sub = sub->next;
    if (sub)
        settle(sub);
    return sub;
}

static struct submission *take(struct sim *s, struct fakeray *h, struct slice id, enum job_script script, int64_t run_ms)
{
    struct submission *sub = mem_alloc(sizeof *sub);
    *sub = (struct submission){
        .next = s->jobs->taken, .head = h, .session = h->sessions, .script = script, .run_ms = run_ms, .began_ms = s->w.now.mono_ms};
    slice_copy(id, sub->id, sizeof sub->id);
    s->jobs->taken = sub;
    sim_say(s, "head of %s/%s takes %s", h->ns, h->cluster, sub->id);
    return sub;
}

void jobs_submit_by_hand(struct sim *s, struct fakeray *h, struct slice id, enum job_script script, uint32_t run_ms)
{
    take(s, h, id, script, run_ms)->by_hand = true;
}

/* ---- answers ---- */

/* "run 2 1500": the script, and how long it takes. */
static void read_entrypoint(struct slice text, enum job_script *script, int64_t *run_ms)
{
    int64_t n = 0;
    slice_cut(&text, ' ');
    *script = slice_int(slice_cut(&text, ' '), &n) && n < SCRIPTS ? (enum job_script)n : SCRIPT_SUCCEEDS;
    *run_ms = slice_int(text, &n) ? n : 0;
}

static int submit(struct sim *s, struct fakeray *h, const struct process *from, struct slice id, struct slice entrypoint, struct buf *out)
{
    enum job_script script;
    int64_t run_ms;
    struct slice name = arena_dup(&s->w.arena, id);
    read_entrypoint(entrypoint, &script, &run_ms);
    sim_say(s, "%.*s is submitted to the head of %s/%s", SLICE_ARG(id), h->ns, h->cluster);
    if (script == SCRIPT_REFUSED) {
        buf_put(out, SLICE("TypeError: nothing of that kind"));
        return 400;
    }
    if (known(s, h, id)) {
        buf_printf(out, "ValueError: Job with submission_id %.*s already exists. Please use a different submission_id.\n", SLICE_ARG(id));
        return 500;
    }
    jobs_check_submit(s, name.ptr, from);
    const struct seen_job *of = jobs_of_id(s, name.ptr);
    take(s, h, id, script == SCRIPT_FAILS_ONCE && of && of->taken > 1 ? SCRIPT_SUCCEEDS : script, run_ms);
    buf_printf(out, "{\"job_id\":\"%.*s\",\"submission_id\":\"%.*s\"}", SLICE_ARG(id), SLICE_ARG(id));
    return 200;
}

static int submit_body(struct sim *s, struct fakeray *h, struct slice body, struct buf *out)
{
    struct json doc;
    struct err e = {0};
    struct arena *a = &s->w.arena;
    if (!json_parse(&doc, body, a, &e)) {
        sim_violation(s, "model", "a submission that is no JSON: %s", e.text);
        return 500;
    }
    struct jval root = json_root(&doc);
    return submit(s, h, s->w.rays->from, json_get_str(root, "submission_id", a), json_get_str(root, "entrypoint", a), out);
}

/* One that is endless waits longer for its place, so that now and then it is given up meanwhile. */
static bool is_pending(const struct sim *s, const struct submission *sub)
{
    return sub->state == SUBMISSION_RUNS && s->w.now.mono_ms < sub->began_ms + (sub->script == SCRIPT_ENDLESS ? 5000 : 100);
}

/* Heads have clocks of their own: right, some minutes off or an hour, either way. */
static int64_t clock_off_ms(const struct sim *s, const struct fakeray *h)
{
    enum { MINUTE_MS = 60 * 1000 };
    uint64_t x = hash64(slice_of(h->cluster), s->plan->seed);
    int64_t minutes = x & 1 ? 1 + (int64_t)(x >> 8 & 0xff) % 10 : 60;
    return x & 2 ? 0 : (x & 4 ? minutes : -minutes) * MINUTE_MS;
}

static int describe(const struct sim *s, struct submission *sub, struct buf *out)
{
    static const char *const words[] = {"RUNNING", "SUCCEEDED", "FAILED", "STOPPED", "RUNNING"};
    int64_t wall_ms = s->w.now.wall_us / 1000 + clock_off_ms(s, sub->head), now_ms = s->w.now.mono_ms;
    settle(sub);
    buf_printf(out, "{\"type\":\"SUBMISSION\",\"submission_id\":\"%s\",\"status\":\"%s\",\"message\":\"\",\"start_time\":%lld", sub->id,
               is_pending(s, sub) ? "PENDING" : words[sub->state], (long long)(wall_ms - now_ms + sub->began_ms));
    if (sub->ended_ms)
        buf_printf(out, ",\"end_time\":%lld", (long long)(wall_ms - now_ms + sub->ended_ms));
    buf_putc(out, '}');
    return 200;
}

static int answer_job(struct sim *s, const struct fakeray *h, struct slice method, struct slice rest, struct buf *out)
{
    struct slice id = slice_cut(&rest, '/');
    struct submission *sub = known(s, h, id);
    if (!sub) {
        buf_printf(out, "Job %.*s does not exist", SLICE_ARG(id));
        return 404;
    }
    settle(sub);
    if (slice_eq(method, SLICE("GET")) && !rest.ptr)
        return describe(s, sub, out);
    if (slice_eq(rest, SLICE("logs"))) {
        buf_put(out, SLICE("{\"logs\":\"first\\nlast\\n\"}"));
        return 200;
    }
    if (is_pending(s, sub)) {
        sim_say(s, "%s waits for a place, which no stop ends", sub->id);
    } else if (sub->state == SUBMISSION_RUNS) {
        sim_say(s, "%s is stopped", sub->id);
        sub->state = SUBMISSION_STOPPED;
        sub->ended_ms = s->w.now.mono_ms;
    }
    buf_put(out, SLICE("{\"stopped\":true}"));
    return 200;
}

static int answer(struct sim *s, struct fakeray *h, struct slice method, struct slice target, struct slice body, struct buf *out)
{
    struct slice rest = slice_skip(target, strlen("/api/jobs/"));
    if (slice_eq(target, SLICE("/api/version"))) {
        buf_printf(out, "{\"version\":\"4\",\"ray_version\":\"2.52.0\",\"session_name\":\"session_%s_%u\"}", h->pod, h->sessions);
        return 200;
    }
    if (!slice_starts(target, SLICE("/api/jobs/")))
        return 404;
    return slice_empty(rest) ? submit_body(s, h, body, out) : answer_job(s, h, method, rest, out);
}

/* That a dashboard was asked to take it, whatever comes of that. */
static void count_try(struct sim *s, struct slice method, struct slice target, struct slice body)
{
    struct json doc;
    struct err e = {0};
    struct arena *a = &s->w.arena;
    if (!slice_eq(method, SLICE("POST")) || !slice_eq(target, SLICE("/api/jobs/")) || !json_parse(&doc, body, a, &e))
        return;
    struct seen_job *j = jobs_of_id(s, arena_dup(a, json_get_str(json_root(&doc), "submission_id", a)).ptr);
    if (j)
        j->tries++;
}

/* In trouble it answers with an error, whether it has done as it was told or not. */
int jobs_dash(struct fakehead *fake, struct slice method, struct slice target, struct slice body, struct buf *out)
{
    static const int statuses[] = {500, 503, 502, 429, 408};
    struct fakeray *h = (struct fakeray *)fake;
    struct sim *s = sim_of(h);
    bool trouble = h->trouble && rng_below(&s->rng, 3);
    count_try(s, method, target, body);
    h->troubles += trouble;
    if (trouble && rng_below(&s->rng, 2)) {
        buf_put(out, SLICE("RuntimeError: no room"));
        return statuses[rng_below(&s->rng, COUNT_OF(statuses))];
    }
    int status = answer(s, h, method, target, body, out);
    if (!trouble)
        return status;
    buf_clear(out);
    return 500;
}

/* ---- faults ---- */

void jobs_knobs(struct sim *s)
{
    uint32_t i = 0;
    for (struct fakeray *h = s->jobs ? s->w.rays->first : NULL; h; h = h->next, i++) {
        bool loses = faults_on(s, FAULT_DASH_LOSES) && s->dice[FAULT_DASH_LOSES][1] >> i % 32 & 1;
        h->fake.cuts = loses;
        h->trouble = faults_on(s, FAULT_DASH_TROUBLE) && s->dice[FAULT_DASH_TROUBLE][1] >> i % 32 & 1;
        if (h->answer_ms)
            h->answer_ms = s->dice[FAULT_HEADS_LATE][2] % LATE_MS;
    }
}

/* ---- submitter pods ---- */

static void read_command(struct submitter *p, struct jval pod, struct arena *a)
{
    static const struct slice option = SLICE("--submission-id=");
    struct jval k, word;
    struct slice text = SLICE_NONE;
    struct jval n, c, container = {.at = -1};
    for (struct jiter it = json_iter(json_get(pod, "spec.containers")); json_next(&it, &n, &c);)
        if (json_str_eq(json_get(c, "name"), SLICE("ray-job-submitter")))
            container = c;
    for (struct jiter it = json_iter(json_get(container, "command")); json_next(&it, &k, &word);) {
        text = json_str(word, a);
        if (slice_starts(text, option))
            slice_copy(slice_skip(text, option.len), p->id, sizeof p->id);
    }
    slice_copy(text, p->entrypoint, sizeof p->entrypoint);
}

static bool is_submitter(struct jval pod)
{
    return json_str_eq(json_get(json_at(json_get(pod, "metadata.ownerReferences"), 0), "kind"), SLICE("RayJob"));
}

void jobs_pod_changed(struct sim *s, const struct apiserver_change *c)
{
    static const char owner[] = "\"kind\":\"RayJob\"";
    struct json doc;
    struct err e = {0};
    if (!s->jobs || !memmem(c->json.ptr, c->json.len, owner, strlen(owner))) /* most are pods of clusters, and need not be read */
        return;
    if (!json_parse(&doc, c->json, &s->arena, &e) || !is_submitter(json_root(&doc)))
        return;
    struct submitter **at = &s->jobs->submitters, *p;
    while (*at && !slice_eq(slice_of((*at)->uid), c->uid))
        at = &(*at)->next;
    p = *at;
    if (c->what == APISERVER_DELETED) {
        *at = p ? p->next : NULL;
        mem_free(p);
        return;
    }
    struct jval pod = json_root(&doc);
    if (!p) {
        p = *at = mem_alloc(sizeof *p);
        slice_copy(c->uid, p->uid, sizeof p->uid);
        slice_copy(c->ns, p->ns, sizeof p->ns);
        slice_copy(c->name, p->name, sizeof p->name);
        slice_copy(json_str(json_key(json_get(pod, "metadata.labels"), SLICE(RAY_LABEL_CLUSTER)), &s->arena), p->cluster,
                   sizeof p->cluster);
        read_command(p, pod, &s->arena);
    }
    bool ended =
        json_str_eq(json_get(pod, "status.phase"), SLICE("Failed")) || json_str_eq(json_get(pod, "status.phase"), SLICE("Succeeded"));
    struct seen_job *job = ended ? jobs_of_id(s, p->id) : NULL;
    if (job && strcmp(job->id, p->id) == 0)
        job->submitter_ended = true;
    bool runs = json_str_eq(json_get(pod, "status.phase"), SLICE("Running")) && !json_there(json_get(pod, "metadata.deletionTimestamp"));
    if (runs && !p->runs)
        p->next_ms = s->w.now.mono_ms + TRY_MS;
    p->runs = runs;
}

static void end_pod(struct sim *s, const struct submitter *p, bool good)
{
    struct slice path = arena_printf(&s->w.arena, "/api/v1/namespaces/%s/pods/%s/status", p->ns, p->name);
    sim_say(s, "submitter %s/%s ends", p->ns, p->name);
    world_call(&s->w, "PATCH", path.ptr, "application/merge-patch+json",
               good ? SLICE("{\"status\":{\"phase\":\"Succeeded\",\"conditions\":[]}}")
                    : SLICE("{\"status\":{\"phase\":\"Failed\",\"conditions\":[]}}"));
}

/* Returns whether the pod has ended, and with it this record has changed. */
static bool work(struct sim *s, struct submitter *p)
{
    struct fakeray *h = fakeray_of(&s->w, "ray.io", p->ns, p->cluster);
    p->next_ms = s->w.now.mono_ms + LOOK_MS;
    if (!p->posted) {
        struct buf out;
        buf_init(&out, 64 * KIB);
        bool reached = h->pod[0] && !h->down && !h->fake.hangs && !h->trouble;
        int status = reached ? submit(s, h, NULL, slice_of(p->id), slice_of(p->entrypoint), &out) : 0;
        buf_free(&out);
        p->posted = status == 200 || (status == 500 && known(s, h, slice_of(p->id)));
        if (status == 400)
            end_pod(s, p, false);
        return status == 400;
    }
    const struct submission *sub = jobs_submission(s, p->id);
    if (!sub || sub->state == SUBMISSION_RUNS)
        return false;
    end_pod(s, p, sub->state == SUBMISSION_SUCCEEDED);
    return true;
}

/* ---- time ---- */

void jobs_tick(struct sim *s)
{
    if (!s->jobs)
        return;
    for (struct submission *sub = s->jobs->taken; sub; sub = sub->next)
        settle(sub);
    for (struct submitter *p = s->jobs->submitters; p; p = p->next)
        if (p->runs && s->w.now.mono_ms >= p->next_ms && work(s, p))
            return;
}

int64_t jobs_next(const struct sim *s)
{
    int64_t next = TIME_NEVER;
    for (const struct submitter *p = s->jobs ? s->jobs->submitters : NULL; p; p = p->next)
        if (p->runs && p->next_ms - WORLD_START_MS < next)
            next = p->next_ms - WORLD_START_MS;
    return next;
}
