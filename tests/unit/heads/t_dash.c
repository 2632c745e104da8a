#include "headnet.h"

/* ---- what is asked ---- */

static void asking(void)
{
    static const struct {
        enum ray_dash_call call;
        const char *id, *method, *path;
    } cases[] = {
        {RAY_DASH_VERSION, "", "GET", "/api/version"},
        {RAY_DASH_SUBMIT, "", "POST", "/api/jobs/"},
        {RAY_DASH_JOB, "job-1", "GET", "/api/jobs/job-1"},
        {RAY_DASH_JOB, "../serve", "GET", "/api/jobs/..%2Fserve"},
        {RAY_DASH_JOBS, "", "GET", "/api/jobs/"},
        {RAY_DASH_STOP, "a b", "POST", "/api/jobs/a%20b/stop"},
        {RAY_DASH_DELETE, "job-1", "DELETE", "/api/jobs/job-1"},
        {RAY_DASH_LOG, "job-1", "GET", "/api/jobs/job-1/logs"},
        {RAY_DASH_TASKS, "", "GET", "/api/v0/tasks/summarize?timeout=5"},
        {RAY_DASH_SERVE, "", "GET", "/api/serve/applications/"},
        {RAY_DASH_SERVE_PUT, "", "PUT", "/api/serve/applications/"},
        {RAY_DASH_SERVE_DELETE, "", "DELETE", "/api/serve/applications/"},
        {RAY_DASH_REPLICAS, "", "GET", "/api/serve/applications/"},
        {RAY_DASH_FILE, "serve/a b.log", "GET", "/api/v0/logs/file?format=text&filename=serve%2Fa%20b.log&lines=7&node_id=n%26x"},
    };
    struct arena a = {0};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("%s %s", cases[i].method, cases[i].path);
        const struct ray_dash_request r = {.call = cases[i].call, .id = slice_of(cases[i].id), .node = SLICE("n&x"), .lines = 7};
        CHECK_STR(slice_of(ray_dash_method(r.call)), cases[i].method);
        CHECK_STR(ray_dash_path(&r, SLICE_NONE, SLICE_NONE, 0, &a), cases[i].path);
    }
    test_case("through the API server");
    const struct ray_dash_request r = {.call = RAY_DASH_STOP, .id = SLICE("j")};
    CHECK_STR(ray_dash_path(&r, SLICE("ns"), SLICE("c-head-svc"), 8265, &a),
              "/api/v1/namespaces/ns/services/c-head-svc:8265/proxy/api/jobs/j/stop");
    CHECK_STR(ray_dash_token(SLICE("t"), true, &a).name, "X-Ray-Authorization");
    CHECK_STR(ray_dash_token(SLICE("t"), false, &a).name, "Authorization");
    CHECK_STR(ray_dash_token(SLICE("t"), false, &a).value, "Bearer t");
    test_case("an id that is too long for a URL");
    char *id = arena_alloc(&a, LIMIT_HTTP_URL);
    memset(id, 'x', LIMIT_HTTP_URL);
    const struct ray_dash_request whole = {.call = RAY_DASH_JOB, .id = {id, LIMIT_HTTP_URL - 10}};
    const struct ray_dash_request beyond = {.call = RAY_DASH_JOB, .id = {id, LIMIT_HTTP_URL - 9}};
    CHECK_INT(ray_dash_path(&whole, SLICE_NONE, SLICE_NONE, 0, &a).len, LIMIT_HTTP_URL);
    CHECK(!ray_dash_path(&beyond, SLICE_NONE, SLICE_NONE, 0, &a).ptr);
    arena_free(&a);
}

/* ---- what a real dashboard answered ---- */

static struct ray_dash_answer read_recorded(enum ray_dash_call call, int status, const char *file, struct arena *a)
{
    struct ray_dash_answer out;
    test_case("%s", file);
    struct slice body = read_file(arena_printf(a, "tests/data/ray/dash/%s", file).ptr, a);
    ray_dash_read(call, status, arena_dup(a, guarded(body)), false, a, &out);
    CHECK_INT(out.http_status, status);
    CHECK_INT(out.outcome == RAY_DASH_OK, out.err.code == ERR_NONE);
    return out;
}

static void jobs(void)
{
    struct arena a = {0};
    struct ray_dash_answer r = read_recorded(RAY_DASH_JOB, 200, "job-get-fail.json", &a);
    CHECK(r.outcome == RAY_DASH_OK && r.job_count == 1);
    const struct ray_dash_job *job = r.jobs;
    CHECK_STR(job->submission_id, "job-fail");
    CHECK(slice_empty(job->job_id) && !job->driver && job->exited);
    CHECK_STR(job->status, "FAILED");
    CHECK_STR(job->entrypoint, "echo bye; exit 7");
    CHECK_STR(job->error_type, "JOB_ENTRYPOINT_COMMAND_ERROR");
    CHECK(slice_starts(job->message, SLICE("Job entrypoint command failed with exit code 7")));
    CHECK_INT(job->exit_code, 7);
    CHECK_INT(job->start_ms, 1795226089601);
    CHECK_INT(job->end_ms, 1795226093108);
    job = read_recorded(RAY_DASH_JOB, 200, "job-get-pending.json", &a).jobs;
    CHECK_STR(job->status, "PENDING");
    CHECK(!job->exited && job->end_ms == 0 && slice_empty(job->error_type));
    CHECK_STR(read_recorded(RAY_DASH_JOB, 200, "job-get-ok.json", &a).jobs->status, "SUCCEEDED");
    CHECK_STR(read_recorded(RAY_DASH_JOB, 200, "job-get-long.json", &a).jobs->status, "RUNNING");
    CHECK_STR(read_recorded(RAY_DASH_JOB, 200, "job-get-long-stopped.json", &a).jobs->status, "STOPPED");
    r = read_recorded(RAY_DASH_JOBS, 200, "job-list-with-driver.json", &a);
    uint32_t drivers = 0;
    for (uint32_t i = 0; i < r.job_count; i++) {
        drivers += r.jobs[i].driver;
        CHECK_INT(slice_empty(r.jobs[i].submission_id), r.jobs[i].driver);
    }
    CHECK(r.job_count == 5 && drivers == 1);
    CHECK_INT(read_recorded(RAY_DASH_JOBS, 200, "job-list-empty.json", &a).job_count, 0);
    CHECK_STR(read_recorded(RAY_DASH_SUBMIT, 200, "job-submit-success.json", &a).submission_id, "job-ok");
    CHECK(read_recorded(RAY_DASH_STOP, 200, "job-stop-long.json", &a).done);
    CHECK(!read_recorded(RAY_DASH_STOP, 200, "job-stop-succeeded.json", &a).done);
    CHECK(read_recorded(RAY_DASH_DELETE, 200, "job-delete-ok.json", &a).done);
    r = read_recorded(RAY_DASH_VERSION, 200, "version.json", &a);
    CHECK_STR(r.ray_version, "2.60.0");
    CHECK(slice_starts(r.session, SLICE("session_2026-11-21_")));
    r = read_recorded(RAY_DASH_LOG, 200, "job-logs-ok.json", &a);
    CHECK(slice_ends(r.log, SLICE("\nline one\nline two\n")) && !r.log_cut);
    r = read_recorded(RAY_DASH_TASKS, 200, "tasks-summary.json", &a);
    CHECK(slice_has(r.log, "\"state_counts\": {\"FINISHED\": 4, \"FAILED\": 1}") && slice_ends(r.log, SLICE("\"func_name\"}")));
    CHECK_INT(read_recorded(RAY_DASH_TASKS, 200, "version.json", &a).outcome, RAY_DASH_FAILED);
    arena_free(&a);
}

static void refusals(void)
{
    static const struct {
        enum ray_dash_call call;
        int status;
        const char *file;
        enum ray_dash_outcome outcome;
        const char *says;
    } cases[] = {
        {RAY_DASH_SUBMIT, 500, "job-error-duplicate.txt", RAY_DASH_EXISTS,
         "the dashboard answers with HTTP status 500: ValueError: Job with submission_id job-ok already exists. Please use a different "
         "submission_id."},
        {RAY_DASH_SUBMIT, 500, "job-error-malformed-json.txt", RAY_DASH_FAILED,
         "the dashboard answers with HTTP status 500: Server got itself in trouble"},
        {RAY_DASH_SUBMIT, 400, "job-error-missing-entrypoint.txt", RAY_DASH_REFUSED,
         "the dashboard answers with HTTP status 400: TypeError: JobSubmitRequest.__init__() missing 1 required positional argument: "
         "'entrypoint'"},
        {RAY_DASH_JOB, 404, "job-error-get-404.txt", RAY_DASH_ABSENT,
         "the dashboard answers with HTTP status 404: Job nope does not exist"},
        {RAY_DASH_DELETE, 500, "job-error-delete-running.txt", RAY_DASH_FAILED,
         "the dashboard answers with HTTP status 500: RuntimeError: Attempted to delete job 'job-long', but it is in a non-terminal state "
         "RUNNING."},
        {RAY_DASH_JOBS, 401, "auth-none.txt", RAY_DASH_DENIED,
         "the dashboard answers with HTTP status 401: Unauthorized: Missing authentication token"},
        {RAY_DASH_JOBS, 403, "auth-wrong.txt", RAY_DASH_DENIED,
         "the dashboard answers with HTTP status 403: Forbidden: Invalid authentication token"},
        {RAY_DASH_SERVE_PUT, 400, "serve-error-dup-route.txt", RAY_DASH_REFUSED,
         "the dashboard answers with HTTP status 400: Value error, Found duplicate applications for route prefix \"/\". Please ensure each "
         "application's route_prefix is unique. [type=value_error,"},
        {RAY_DASH_SERVE_PUT, 500, "serve-error-malformed-json.txt", RAY_DASH_FAILED,
         "the dashboard answers with HTTP status 500: json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes"},
        {RAY_DASH_JOBS, 429, "auth-none.txt", RAY_DASH_FAILED, "the dashboard answers with HTTP status 429"},
        {RAY_DASH_JOBS, 302, "auth-none.txt", RAY_DASH_FAILED, "the dashboard answers with HTTP status 302"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a = {0};
        struct ray_dash_answer r = read_recorded(cases[i].call, cases[i].status, cases[i].file, &a);
        CHECK_INT(r.outcome, cases[i].outcome);
        if (!CHECK(slice_starts(slice_of(r.err.text), slice_of(cases[i].says))))
            printf("  says \"%s\"\n", r.err.text);
        arena_free(&a);
    }
}

static void serve(void)
{
    struct arena a = {0};
    struct ray_dash_answer r = read_recorded(RAY_DASH_SERVE, 200, "serve-get-before-start.json", &a);
    CHECK(r.outcome == RAY_DASH_OK && r.app_count == 0);
    r = read_recorded(RAY_DASH_SERVE, 200, "serve-get-deploy-failed.json", &a);
    CHECK_INT(r.app_count, 3);
    CHECK_STR(r.apps[0].name, "hello");
    CHECK_STR(r.apps[0].status, "RUNNING");
    CHECK_STR(r.apps[0].route_prefix, "/");
    CHECK_INT(r.apps[0].deployment_count, 1);
    CHECK_STR(r.apps[0].deployments[0].name, "Hello");
    CHECK_STR(r.apps[0].deployments[0].status, "HEALTHY");
    CHECK_INT(r.apps[0].deployments[0].replicas, 1);
    CHECK_STR(r.apps[1].status, "DEPLOY_FAILED");
    CHECK_STR(r.apps[1].message, "Failed to update the deployments ['Broken'].");
    CHECK_STR(r.apps[1].deployments[0].status, "DEPLOY_FAILED");
    CHECK_INT(r.apps[2].deployment_count, 0);
    CHECK_INT(read_recorded(RAY_DASH_SERVE, 200, "serve-get-running.json", &a).apps[1].deployments[0].replicas, 2);
    CHECK_STR(read_recorded(RAY_DASH_SERVE, 200, "serve-get-unhealthy.json", &a).apps[1].status, "UNHEALTHY");
    CHECK_STR(read_recorded(RAY_DASH_SERVE, 200, "serve-get-deleting.json", &a).apps[1].status, "DELETING");
    arena_free(&a);
}

/* A document with one deployment of so many replicas, whose logs have names of so many bytes behind the slash. */
static struct slice replicas_of(uint32_t count, int path, struct arena *a)
{
    struct buf b = {.max = MIB};
    buf_put(&b, SLICE("{\"applications\":{\"a\":{\"deployments\":{\"D\":{\"replicas\":["));
    for (uint32_t i = 0; i < count; i++)
        buf_printf(&b, "%s{\"replica_id\":\"r\",\"node_id\":\"n\",\"log_file_path\":\"/%0*d\"}", i ? "," : "", path, 7);
    buf_put(&b, SLICE("]}}}}}"));
    struct slice text = arena_dup(a, buf_slice(&b));
    buf_free(&b);
    return text;
}

static void replicas(void)
{
    struct arena a = {0};
    struct ray_dash_answer r = read_recorded(RAY_DASH_REPLICAS, 200, "serve-get-running.json", &a);
    CHECK_INT(r.replica_count, 4);
    CHECK_STR(r.replicas[0].file, "serve/replica_hello_Hello_7hdddb9e.log");
    CHECK_STR(r.replicas[0].node, "1417b6bde5283290f0f554c203d9a7b62c429722f62f3851244e62bd");
    CHECK_STR(r.replicas[3].file, "serve/replica_slow_Slow_y67suiae.log");
    CHECK_INT(read_recorded(RAY_DASH_REPLICAS, 200, "serve-get-before-start.json", &a).replica_count, 0);
    static const struct {
        uint32_t count;
        int path;
        uint32_t found;
    } limits[] = {{RAY_REPLICAS_MAX, 1, RAY_REPLICAS_MAX},
                  {RAY_REPLICAS_MAX + 1, 1, RAY_REPLICAS_MAX},
                  {1, RAY_LOG_PATH, 1},
                  {1, RAY_LOG_PATH + 1, 0}};
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        test_case("%u replicas with names of %d bytes", limits[i].count, limits[i].path);
        ray_dash_read(RAY_DASH_REPLICAS, 200, guarded(replicas_of(limits[i].count, limits[i].path, &a)), false, &a, &r);
        CHECK_INT(r.outcome, RAY_DASH_OK);
        CHECK_INT(r.replica_count, limits[i].found);
    }
    test_case("replicas that have no log yet");
    ray_dash_read(RAY_DASH_REPLICAS, 200,
                  guarded(SLICE("{\"applications\":{\"a\":[{\"replica_id\":\"r\"},{\"replica_id\":\"s\",\"log_file_path\":\"//\"},5]}}")),
                  false, &a, &r);
    CHECK(r.outcome == RAY_DASH_OK && r.replica_count == 0);
    test_case("a file is any bytes");
    ray_dash_read(RAY_DASH_FILE, 200, guarded(SLICE("{\xff\n")), false, &a, &r);
    CHECK(r.outcome == RAY_DASH_OK);
    CHECK_STR(r.log, "{\xff\n");
    ray_dash_read(RAY_DASH_FILE, 404, guarded(SLICE("no such file")), false, &a, &r);
    CHECK(r.outcome == RAY_DASH_ABSENT && !r.log.ptr);
    arena_free(&a);
}

static void malformed(void)
{
    static const struct {
        enum ray_dash_call call;
        const char *body;
    } cases[] = {
        {RAY_DASH_VERSION, ""},
        {RAY_DASH_VERSION, "null"},
        {RAY_DASH_VERSION, "{}"},
        {RAY_DASH_VERSION, "{\"ray_version\": 2}"},
        {RAY_DASH_SUBMIT, "{\"job_id\": \"x\"}"},
        {RAY_DASH_JOB, "[]"},
        {RAY_DASH_JOB, "{}"},
        {RAY_DASH_JOB, "{\"status\": \"RUNNING\""},
        {RAY_DASH_JOB, "{\"status\": \"RUNNING\", \"status\": \"FAILED\"}"},
        {RAY_DASH_JOBS, "{}"},
        {RAY_DASH_JOBS, "[{\"status\": \"RUNNING\"}, 5]"},
        {RAY_DASH_STOP, "{\"stopped\": 1}"},
        {RAY_DASH_DELETE, "{\"stopped\": true}"},
        {RAY_DASH_LOG, "{\"logs\": 5}"},
        {RAY_DASH_LOG, "<html>"},
        {RAY_DASH_SERVE, "{}"},
        {RAY_DASH_SERVE, "{\"applications\": []}"},
        {RAY_DASH_SERVE, "{\"applications\": {\"a\": {}}}"},
        {RAY_DASH_REPLICAS, "{}"},
        {RAY_DASH_REPLICAS, "{\"applications\": []}"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a = {0};
        struct ray_dash_answer r;
        test_case("malformed: %d %s", (int)cases[i].call, cases[i].body);
        ray_dash_read(cases[i].call, 200, guarded(slice_of(cases[i].body)), false, &a, &r);
        CHECK_INT(r.outcome, RAY_DASH_FAILED);
        CHECK_INT(r.err.code, ERR_SYNTAX);
        CHECK(!r.jobs && !r.job_count && !r.apps && !r.app_count && !r.done && !r.log.ptr && !r.ray_version.ptr);
        arena_free(&a);
    }
}

/* ---- logs without bound ---- */

static struct ray_dash_answer tail_of(struct slice body, size_t piece, struct arena *a)
{
    struct ray_log l;
    struct ray_dash_answer out;
    bool cut;
    ray_log_init(&l);
    for (struct slice rest = body; !slice_empty(rest); rest = slice_skip(rest, slice_head(rest, piece).len))
        ray_log_add(&l, slice_head(rest, piece));
    struct slice end = ray_log_end(&l, &cut);
    CHECK(end.len <= LIMIT_RAY_LOG);
    ray_dash_read(RAY_DASH_LOG, 200, arena_dup(a, end), cut, a, &out);
    ray_log_free(&l);
    return out;
}

/* A log of so many lines, as a dashboard writes it. */
static struct slice long_log(int lines, const char *before, const char *behind, struct arena *a)
{
    struct buf b;
    buf_init(&b, 4 * MIB);
    buf_put(&b, SLICE("{\"logs\": \""));
    for (int i = 0; i < lines; i++)
        buf_printf(&b, "%s%06d%s", before, i, behind);
    buf_put(&b, SLICE("\"}"));
    struct slice s = arena_dup(a, buf_slice(&b));
    buf_free(&b);
    return s;
}

static void log_tails(void)
{
    static const struct {
        const char *before, *behind;
    } lines[] = {{"line ", "\\n"}, {"\\\\n", " \\u00e4 \\\"quoted\\\" \\ud83d\\ude00\\n"}, {"\xc3\xa4\\\\\\n", "\\n"}};
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        for (size_t piece = 1; piece < 5 * LIMIT_RAY_LOG; piece = piece * 7 + 1) {
            struct arena a = {0};
            test_case("log %zu in pieces of %zu", i, piece);
            struct slice body = long_log(20000, lines[i].before, lines[i].behind, &a),
                         whole = long_log(100, lines[i].before, lines[i].behind, &a);
            struct ray_dash_answer r = tail_of(body, piece, &a);
            CHECK(r.outcome == RAY_DASH_OK && r.log_cut && r.log.len > LIMIT_RAY_LOG / 3 && r.log.len < LIMIT_RAY_LOG);
            CHECK(memmem(r.log.ptr, r.log.len, "019999", 6) != NULL && slice_ends(r.log, SLICE("\n")));
            struct slice first = r.log;
            first = slice_cut(&first, '\n');
            CHECK(i != 0 || first.len == 11); /* whole lines only */
            r = tail_of(whole, piece, &a);
            CHECK(r.outcome == RAY_DASH_OK && !r.log_cut && memmem(r.log.ptr, r.log.len, "000000", 6) != NULL);
            arena_free(&a);
        }
    struct arena a = {0};
    test_case("one endless line");
    struct ray_dash_answer r = tail_of(long_log(9000, "", " ", &a), 1000, &a);
    CHECK(r.outcome == RAY_DASH_OK && r.log_cut && slice_empty(r.log));
    test_case("at the limit, and one past it");
    struct slice filler = arena_printf(&a, "%0*d", LIMIT_RAY_LOG - 10 - 2 - 6, 0);
    struct slice exact = long_log(1, filler.ptr, "", &a), beyond = long_log(1, filler.ptr, "x", &a);
    CHECK_INT(exact.len, LIMIT_RAY_LOG);
    CHECK(!tail_of(exact, 100, &a).log_cut);
    CHECK(tail_of(beyond, 100, &a).log_cut);
    test_case("an end that is no end");
    CHECK_INT(tail_of(slice_head(long_log(9000, "line", "\\n", &a), 40000), 1000, &a).outcome, RAY_DASH_FAILED);
    arena_free(&a);
}

/* ---- the client ---- */

struct log_of {
    uint32_t answers, ok;
    struct ray_dash_answer last;
    char id[64];
    uint64_t tag;
    int64_t at_ms;
};

static void on_answer(void *owner, uint64_t tag, const struct ray_dash_answer *answer, struct now now)
{
    struct log_of *l = owner;
    l->answers++;
    l->ok += answer->outcome == RAY_DASH_OK;
    l->last = *answer;
    l->tag = tag;
    l->at_ms = now.mono_ms;
    if (answer->job_count)
        snprintf(l->id, sizeof l->id, "%.*s", SLICE_ARG(answer->jobs[0].submission_id));
}

/* Echoes: the job that is asked for is there. */
static int echo(struct fakehead *h, struct slice method, struct slice target, struct slice body, struct buf *out)
{
    if (slice_eq(method, SLICE("POST")) && slice_eq(target, SLICE("/api/jobs/"))) {
        CHECK_STR(body, "{\"entrypoint\": \"true\"}");
        buf_put(out, SLICE("{\"job_id\": \"j\", \"submission_id\": \"j\"}"));
        return 200;
    }
    if (slice_ends(target, SLICE("/stop"))) {
        CHECK_INT(body.len, 0);
        buf_put(out, SLICE("{\"stopped\": true}"));
        return 200;
    }
    if (slice_ends(target, SLICE("/logs"))) {
        buf_put(out, SLICE("{\"logs\": \""));
        for (int i = 0; i < 100000; i++)
            buf_printf(out, "line %06d\\n", i);
        buf_put(out, SLICE("\"}"));
        return 200;
    }
    if (slice_eq(target, SLICE("/api/version"))) {
        size_t most = LIMIT_RAY_DASH + (size_t)(uintptr_t)h->owner;
        buf_put(out, SLICE("{\"ray_version\": \"2\", \"x\": \""));
        memset(buf_room(out, most - out->len - 2), 'x', most - out->len - 2);
        out->len = most - 2;
        buf_put(out, SLICE("\"}"));
        return 200;
    }
    buf_printf(out, "{\"submission_id\": \"%.*s\", \"status\": \"RUNNING\"}", SLICE_ARG(slice_skip(target, 10)));
    return 200;
}

static int long_log_answer(struct fakehead *h, struct slice method, struct slice target, struct slice body, struct buf *out)
{
    (void)method, (void)target, (void)body;
    size_t most = LIMIT_RAY_LOG_ALL + (size_t)(intptr_t)h->owner;
    buf_put(out, SLICE("{\"logs\": \"first\\n"));
    memset(buf_room(out, most - out->len - 2), 'x', most - out->len - 2);
    out->len = most - 2;
    buf_put(out, SLICE("\"}"));
    return 200;
}

struct pair {
    struct fakehead head;
    struct headnet w;
    struct log_of log;
};

static void pair_init(struct pair *p, const char *name)
{
    test_case("%s", name);
    *p = (struct pair){.head.dash = echo};
    headnet_init(&p->w, &p->head, 1);
}

static void ask(struct pair *p, const struct ray_dash_request *r)
{
    struct err e = {0};
    const struct ray_dash_to to = {.host = SLICE("head0"), .port = 8265, .done = on_answer, .owner = &p->log, .tag = 7};
    CHECK(ray_dash_ask(p->w.dash, &to, r, &e));
}

static void calls(void)
{
    struct pair p;
    pair_init(&p, "a job");
    ask(&p, &(struct ray_dash_request){.call = RAY_DASH_JOB, .id = SLICE("job-1")});
    headnet_run(&p.w, 1);
    CHECK(p.log.ok == 1 && p.log.tag == 7);
    CHECK_STR(slice_of(p.log.id), "job-1");
    CHECK_INT(p.w.live, 0);
    test_case("submit, stop, logs");
    ask(&p, &(struct ray_dash_request){.call = RAY_DASH_SUBMIT, .body = SLICE("{\"entrypoint\": \"true\"}")});
    headnet_run(&p.w, 1);
    CHECK_INT(p.log.ok, 2);
    ask(&p, &(struct ray_dash_request){.call = RAY_DASH_STOP, .id = SLICE("job-1")});
    headnet_run(&p.w, 1);
    CHECK(p.log.ok == 3 && p.log.last.done);
    ask(&p, &(struct ray_dash_request){.call = RAY_DASH_LOG, .id = SLICE("job-1")});
    headnet_run(&p.w, 1);
    CHECK(p.log.ok == 4 && p.log.last.log_cut);
    test_case("an answer at the limit, and one past it");
    ask(&p, &(struct ray_dash_request){.call = RAY_DASH_VERSION});
    headnet_run(&p.w, 1);
    CHECK_INT(p.log.ok, 5);
    p.head.owner = (void *)1;
    ask(&p, &(struct ray_dash_request){.call = RAY_DASH_VERSION});
    headnet_run(&p.w, 1);
    CHECK(p.log.last.outcome == RAY_DASH_FAILED && strstr(p.log.last.err.text, "LIMIT_RAY_DASH"));
    test_case("a log at the limit, and one past it");
    for (int extra = 0; extra < 2; extra++) {
        p.head.owner = (void *)(intptr_t)extra;
        p.head.dash = long_log_answer;
        ask(&p, &(struct ray_dash_request){.call = RAY_DASH_LOG, .id = SLICE("job-1")});
        headnet_run(&p.w, 1);
        CHECK_INT(p.log.last.outcome, extra ? RAY_DASH_FAILED : RAY_DASH_OK);
        CHECK(extra == 0 || strstr(p.log.last.err.text, "LIMIT_RAY_LOG_ALL"));
    }
    p.head.dash = echo;
    test_case("tokens");
    p.head.token = "right";
    ask(&p, &(struct ray_dash_request){.call = RAY_DASH_JOB, .id = SLICE("j"), .token = SLICE("wrong")});
    headnet_run(&p.w, 1);
    CHECK_INT(p.log.last.outcome, RAY_DASH_DENIED);
    ask(&p, &(struct ray_dash_request){.call = RAY_DASH_JOB, .id = SLICE("j"), .token = SLICE("right")});
    headnet_run(&p.w, 1);
    CHECK_INT(p.log.last.outcome, RAY_DASH_OK);
    headnet_free(&p.w);
}

static void trouble(void)
{
    static const struct {
        const char *id;
        struct fakehead how;
        bool refused, unreachable;
        enum ray_dash_outcome outcome;
        enum err_code code;
    } cases[] = {
        {"hangs", {.hangs = true}, false, false, RAY_DASH_LOST, ERR_TIMEOUT},
        {"a byte a step", {.dash = echo, .per_step = 1}, false, false, RAY_DASH_LOST, ERR_TIMEOUT},
        {"cuts", {.cuts = true}, false, false, RAY_DASH_LOST, ERR_CLOSED},
        {"garbage", {.garbage = SLICE("\x15\x03\x01")}, false, false, RAY_DASH_FAILED, ERR_HTTP},
        {"no HTTP", {.garbage = SLICE("SSH-2.0-x\r\n\r\n")}, false, false, RAY_DASH_FAILED, ERR_HTTP},
        {"refused", {.dash = echo}, true, false, RAY_DASH_UNSENT, ERR_CONNECT},
        {"unreachable", {.dash = echo}, false, true, RAY_DASH_UNSENT, ERR_TIMEOUT},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct pair p;
        pair_init(&p, cases[i].id);
        p.head = cases[i].how;
        p.w.refused = cases[i].refused;
        p.w.unreachable = cases[i].unreachable;
        p.head.owner = (void *)-(LIMIT_RAY_DASH - 20000); /* an answer of 20,000 bytes */
        ask(&p, &(struct ray_dash_request){.call = RAY_DASH_VERSION});
        headnet_run(&p.w, RAY_DASH_MS + 10);
        CHECK_INT(p.log.answers, 1);
        CHECK_INT(p.log.last.outcome, cases[i].outcome);
        if (!CHECK_INT(p.log.last.err.code, cases[i].code))
            printf("  says \"%s\"\n", p.log.last.err.text);
        CHECK_INT(p.w.live, 0);
        headnet_free(&p.w);
    }
}

static void limits(void)
{
    struct pair p;
    struct err e = {0};
    pair_init(&p, "calls that wait");
    p.head.hangs = true;
    for (int i = 0; i < LIMIT_RAY_DASH_CALLS; i++)
        ask(&p, &(struct ray_dash_request){.call = RAY_DASH_VERSION});
    const struct ray_dash_to to = {.host = SLICE("head0"), .port = 8265, .done = on_answer, .owner = &p.log};
    CHECK(!ray_dash_ask(p.w.dash, &to, &(struct ray_dash_request){.call = RAY_DASH_VERSION}, &e) && strstr(e.text, "LIMIT_RAY_DASH_CALLS"));
    headnet_run(&p.w, 1);
    CHECK_INT(p.w.live, RAY_DASH_LINKS_HOST);
    ray_dash_forget(p.w.dash, &p.log);
    headnet_run(&p.w, 1);
    CHECK(p.w.live == 0 && p.log.answers == 0);
    headnet_free(&p.w);
    test_case("tokens, ids and bodies");
    struct arena a = {0};
    pair_init(&p, "long token");
    char *x = arena_alloc(&a, LIMIT_JSON_ITEM + 9 * MIB);
    memset(x, 'x', LIMIT_JSON_ITEM + 9 * MIB);
    e = (struct err){0};
    ask(&p, &(struct ray_dash_request){.call = RAY_DASH_JOB, .id = SLICE("j"), .token = {x, LIMIT_RAY_TOKEN}});
    headnet_run(&p.w, 1);
    CHECK_INT(p.log.ok, 1);
    CHECK(!ray_dash_ask(p.w.dash, &to, &(struct ray_dash_request){.call = RAY_DASH_VERSION, .token = {x, LIMIT_RAY_TOKEN + 1}}, &e) &&
          strstr(e.text, "LIMIT_RAY_TOKEN"));
    CHECK(!ray_dash_ask(p.w.dash, &to, &(struct ray_dash_request){.call = RAY_DASH_JOB, .id = {x, 5000}}, NULL));
    CHECK(!ray_dash_ask(p.w.dash, &to, &(struct ray_dash_request){.call = RAY_DASH_SUBMIT, .body = {x, LIMIT_JSON_ITEM + 9 * MIB}}, NULL));
    CHECK(!ray_dash_ask(p.w.dash, &to, &(struct ray_dash_request){.call = RAY_DASH_VERSION, .token = SLICE("a\r\nb")}, NULL));
    headnet_free(&p.w);
    arena_free(&a);
}

/* The name of a session goes into status, and is kept for each job. */
static void sessions(void)
{
    char name[LIMIT_RAY_SESSION + 1];
    struct arena a = {0};
    struct ray_dash_answer out;
    memset(name, 's', sizeof name);
    for (int len = LIMIT_RAY_SESSION; len <= LIMIT_RAY_SESSION + 1; len++) {
        test_case("LIMIT_RAY_SESSION: %d bytes", len);
        struct slice body = arena_printf(&a, "{\"ray_version\":\"2\",\"session_name\":\"%.*s\"}", len, name);
        ray_dash_read(RAY_DASH_VERSION, 200, body, false, &a, &out);
        CHECK_INT(out.outcome, len <= LIMIT_RAY_SESSION ? RAY_DASH_OK : RAY_DASH_FAILED);
        CHECK_INT(out.session.len, len <= LIMIT_RAY_SESSION ? len : 0);
    }
    arena_free(&a);
}

int main(void)
{
    asking();
    jobs();
    refusals();
    serve();
    replicas();
    malformed();
    log_tails();
    calls();
    trouble();
    limits();
    sessions();
    return test_done();
}
