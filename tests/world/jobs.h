/* A world whose heads have a dashboard that runs jobs: each takes `run_ms` and ends as the test says. One job has one submission in each
 * session of its head, and the board remembers all of them, those of sessions that are over too. */
#ifndef MOBULA_TEST_JOBS_H
#define MOBULA_TEST_JOBS_H

#include "scene.h"

#include "tests/model/sim/fakeray.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-const-variable"

static const char jobs_path[] = "/apis/ray.io/v1/namespaces/n/rayjobs";

struct submission {
    struct submission *next;
    const struct fakeray *head;
    uint32_t session;
    char id[100], entrypoint[100];
    int64_t began_ms, stopped_ms; /* stopped: 0: it was not */
    int64_t looked_ms, late_ms;   /* when it was asked about last, and by how much the latest such question was late */
};

/* How all dashboards of the world behave. */
static struct board {
    struct world *world;
    struct submission *first;
    int64_t run_ms;
    bool fail;         /* the end of what runs; else SUCCEEDED */
    const char *log;   /* JSON text */
    bool unnamed;      /* it does not tell its session */
    int submit_status; /* of every submission instead of taking it; 0: taken */
    const char *words; /* … and its body */
    bool takes;        /* … and it is taken all the same */
    int job_status;    /* of every look at a job instead of telling of it; 0: told */
    bool crowded;      /* nothing has a place: what is submitted stays PENDING, and a stop changes nothing, whatever it answers */
    uint32_t submits, taken, stops, logs, looks;
} board;

static struct submission *submission_of(const struct fakeray *h, struct slice id)
{
    for (struct submission *s = board.first; s; s = s->next)
        if (s->head == h && s->session == h->sessions && slice_eq(slice_of(s->id), id))
            return s;
    return NULL;
}

static int no_such_job(struct slice id, struct buf *out)
{
    buf_printf(out, "Job %.*s does not exist", SLICE_ARG(id));
    return 404;
}

static int board_submit(const struct fakeray *h, struct slice body, struct buf *out)
{
    struct json doc;
    struct err e = {0};
    struct arena *a = &board.world->arena;
    board.submits++;
    if (!CHECK(json_parse(&doc, body, a, &e)))
        return 500;
    struct slice id = json_get_str(json_root(&doc), "submission_id", a), entrypoint = json_get_str(json_root(&doc), "entrypoint", a);
    if (board.submit_status && !board.takes) {
        buf_put(out, slice_of(board.words));
        return board.submit_status;
    }
    if (submission_of(h, id)) {
        buf_printf(out, "ValueError: Job with submission_id %.*s already exists. Please use a different submission_id.\n", SLICE_ARG(id));
        return 500;
    }
    struct submission *s = mem_alloc(sizeof *s);
    *s = (struct submission){.next = board.first, .head = h, .session = h->sessions, .began_ms = board.world->now.mono_ms};
    slice_copy(id, s->id, sizeof s->id);
    slice_copy(entrypoint, s->entrypoint, sizeof s->entrypoint);
    board.first = s;
    board.taken++;
    buf_printf(out, "{\"job_id\":\"%s\",\"submission_id\":\"%s\"}", s->id, s->id);
    return board.submit_status ? board.submit_status : 200;
}

/* How much later than at the end of its pause it is asked about now. */
static int64_t looked_late_ms(const struct submission *s)
{
    int64_t now_ms = board.world->now.mono_ms, pause_ms = (s->looked_ms - s->began_ms) / 20 + 1000;
    pause_ms = pause_ms < JOB_LOOK_MS ? JOB_LOOK_MS : pause_ms > JOB_LOOK_MAX_MS ? JOB_LOOK_MAX_MS : pause_ms;
    return s->looked_ms ? now_ms - s->looked_ms - pause_ms : 0;
}

static int board_job(struct submission *s, struct buf *out)
{
    int64_t age = board.world->now.mono_ms - s->began_ms, began_ms = board.world->now.wall_us / 1000 - age;
    bool over = s->stopped_ms || (board.run_ms && age >= board.run_ms);
    const char *status = s->stopped_ms                ? "STOPPED"
                         : over                       ? board.fail ? "FAILED" : "SUCCEEDED"
                         : age < 100 || board.crowded ? "PENDING"
                                                      : "RUNNING";
    int64_t late_ms = looked_late_ms(s);
    s->late_ms = late_ms > s->late_ms ? late_ms : s->late_ms;
    s->looked_ms = board.world->now.mono_ms;
    buf_printf(out, "{\"type\":\"SUBMISSION\",\"submission_id\":\"%s\",\"status\":\"%s\",\"entrypoint\":\"%s\",\"message\":\"it is %s\",",
               s->id, status, s->entrypoint, status);
    buf_printf(out, "\"start_time\":%lld,\"end_time\":%lld}", (long long)began_ms, over ? (long long)(began_ms + board.run_ms) : 0LL);
    return 200;
}

static int board_answer(struct fakehead *fake, struct slice method, struct slice target, struct slice body, struct buf *out)
{
    struct fakeray *h = (struct fakeray *)fake;
    struct slice rest = target;
    if (slice_eq(target, SLICE("/api/version"))) {
        buf_printf(out, "{\"version\":\"4\",\"ray_version\":\"2.52.0\"");
        if (!board.unnamed)
            buf_printf(out, ",\"session_name\":\"session_%s_%u\"", h->pod, h->sessions);
        buf_putc(out, '}');
        return 200;
    }
    if (!slice_starts(target, SLICE("/api/jobs/")))
        return 404;
    rest = slice_skip(rest, 10);
    if (slice_empty(rest))
        return board_submit(h, body, out);
    struct slice id = slice_cut(&rest, '/');
    struct submission *s = submission_of(h, id);
    bool look = slice_eq(method, SLICE("GET")) && !rest.ptr;
    board.looks += look;
    if (look && board.job_status)
        return board.job_status;
    if (!s)
        return no_such_job(id, out);
    if (look)
        return board_job(s, out);
    if (slice_eq(rest, SLICE("stop"))) {
        board.stops++;
        if (!board.crowded)
            s->stopped_ms = s->stopped_ms ? s->stopped_ms : board.world->now.mono_ms;
        buf_put(out, SLICE("{\"stopped\":true}"));
        return 200;
    }
    board.logs++;
    buf_printf(out, "{\"logs\":\"%s\"}", board.log ? board.log : "");
    return 200;
}

/* The latest that any job was asked about, but for those whose head hangs. */
static int64_t board_late_ms(void)
{
    int64_t latest = 0;
    for (struct submission *s = board.first; s; s = s->next) {
        int64_t now_ms = looked_late_ms(s), late_ms = now_ms > s->late_ms ? now_ms : s->late_ms;
        latest = !s->head->fake.hangs && late_ms > latest ? late_ms : latest;
    }
    return latest;
}

/* status: the schema of a RayJob's; empty: anything. */
static void make_job_world_of(struct world *w, bool elect, enum operator_access access, const char *status)
{
    struct apiserver_config config = {.seed = 1};
    world_init(w, &config);
    board = (struct board){.world = w, .run_ms = 10 * 1000};
    make_namespace(w);
    make_crd(w, "ray.io", "");
    make_definition(w, "ray.io", "RayJob", "rayjobs", status);
    fakerays_begin(w, true);
    w->rays->dash = board_answer;
    w->access = access;
    world_start_operator(w, elect);
}

static void make_job_world_with(struct world *w, bool elect, enum operator_access access)
{
    make_job_world_of(w, elect, access, "");
}

static void make_job_world(struct world *w, bool elect)
{
    make_job_world_with(w, elect, OPERATOR_DIRECT);
}

static void end_job_world(struct world *w)
{
    world_free(w);
    for (struct submission *s = board.first, *next; s; s = next) {
        next = s->next;
        mem_free(s);
    }
    board = (struct board){0};
}

/* more: further fields of the spec, each with a comma behind it. */
static void apply_job(struct world *w, const char *name, const char *more)
{
    struct slice cluster = cluster_body(w, "c", 1, "");
    const char *at = strstr(cluster.ptr, "\"spec\":");
    struct slice spec = slice_skip(cluster, (size_t)(at - cluster.ptr) + 7);
    spec.len--; /* the brace of the whole */
    struct slice body = arena_printf(&w->arena,
                                     "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayJob\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},"
                                     "\"spec\":{%s\"entrypoint\":\"python %s.py\"%s%.*s}}",
                                     name, more, name, strstr(more, "clusterSelector") ? "" : ",\"rayClusterSpec\":",
                                     strstr(more, "clusterSelector") ? 0 : (int)spec.len, spec.ptr);
    CHECK_INT(world_call(w, "POST", jobs_path, "application/json", body), 201);
}

static void change_job(struct world *w, const char *name, const char *spec)
{
    struct slice path = arena_printf(&w->arena, "%s/%s", jobs_path, name);
    struct slice patch = arena_printf(&w->arena, "{\"spec\":{%s}}", spec);
    CHECK_INT(world_call(w, "PATCH", path.ptr, "application/merge-patch+json", patch), 200);
}

static void delete_job(struct world *w, const char *name)
{
    struct slice path = arena_printf(&w->arena, "%s/%s", jobs_path, name);
    CHECK_INT(world_call(w, "DELETE", path.ptr, "application/json", SLICE("{}")), 200);
}

static struct slice job_text(struct world *w, const char *name)
{
    return apiserver_get(w->server, SLICE("rayjobs.ray.io"), SLICE("n"), slice_of(name), &w->arena);
}

static struct jval job_value(struct world *w, const char *name, const char *path)
{
    return json_get(world_object(w, "rayjobs.ray.io", name), path);
}

static struct slice job_says(struct world *w, const char *name, const char *field)
{
    struct slice path = arena_printf(&w->arena, "status.%s", field);
    return json_str(job_value(w, name, path.ptr), &w->arena);
}

static int64_t job_counts(struct world *w, const char *name, const char *field)
{
    int64_t n = -1;
    struct slice path = arena_printf(&w->arena, "status.%s", field);
    json_int(job_value(w, name, path.ptr), &n);
    return n;
}

static bool job_is(struct world *w, const char *name, const char *phase)
{
    return slice_eq(job_says(w, name, "jobDeploymentStatus"), slice_of(phase));
}

/* Until the job is in this phase, `ms` at most. */
static bool run_until(struct world *w, const char *name, const char *phase, int64_t ms)
{
    int64_t until = w->now.mono_ms + ms;
    while (w->now.mono_ms < until && !job_is(w, name, phase))
        world_step(w, w->now.mono_ms + 20 < until ? w->now.mono_ms + 20 : until);
    if (!job_is(w, name, phase))
        printf("  job %s is %.*s, not %s: %.*s\n", name, SLICE_ARG(job_says(w, name, "jobDeploymentStatus")), phase,
               SLICE_ARG(job_says(w, name, "message")));
    return job_is(w, name, phase);
}

static uint32_t clusters_now(struct world *w)
{
    return (uint32_t)apiserver_count(w->server, SLICE("rayclusters.ray.io"));
}

/* Ray in the job's present cluster. */
static struct fakeray *ray_of(struct world *w, const char *job)
{
    return fakeray_of(w, "ray.io", "n", arena_dup(&w->arena, job_says(w, job, "rayClusterName")).ptr);
}

#pragma GCC diagnostic pop

#endif
