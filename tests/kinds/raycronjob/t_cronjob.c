/* RayCronJobs: runs come when they are due, once each, whatever becomes of the operator that started them. */
#include "tests/world/jobs.h"

static const char crons_path[] = "/apis/ray.io/v1/namespaces/n/raycronjobs";

enum { MINUTE_MS = 60 * 1000 };

static void make_cron_world(struct world *w)
{
    make_job_world(w, false);
    make_definition(w, "ray.io", "RayCronJob", "raycronjobs", "");
}

/* c is due each minute. more: further fields of the spec, each with a comma behind it. */
static void apply_cron(struct world *w, const char *more)
{
    struct slice cluster = cluster_body(w, "c", 0, "");
    const char *at = strstr(cluster.ptr, "\"spec\":");
    struct slice spec = slice_skip(cluster, (size_t)(at - cluster.ptr) + 7);
    spec.len--; /* the brace of the whole */
    struct slice body =
        arena_printf(&w->arena,
                     "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCronJob\",\"metadata\":{\"name\":\"c\",\"namespace\":\"n\"},"
                     "\"spec\":{%s\"schedule\":\"* * * * *\",\"jobTemplate\":{\"entrypoint\":\"python x.py\","
                     "\"shutdownAfterJobFinishes\":true,\"rayClusterSpec\":%.*s}}}",
                     more, SLICE_ARG(spec));
    CHECK_INT(world_call(w, "POST", crons_path, "application/json", body), 201);
}

static void change_cron(struct world *w, const char *spec)
{
    struct slice path = arena_printf(&w->arena, "%s/c", crons_path), patch = arena_printf(&w->arena, "{\"spec\":{%s}}", spec);
    CHECK_INT(world_call(w, "PATCH", path.ptr, "application/merge-patch+json", patch), 200);
}

static struct jval cron_value(struct world *w, const char *path)
{
    struct json *doc = arena_new(&w->arena, struct json);
    struct slice text = apiserver_get(w->server, SLICE("raycronjobs.ray.io"), SLICE("n"), SLICE("c"), &w->arena);
    return json_parse(doc, text, &w->arena, NULL) ? json_get(json_root(doc), path) : (struct jval){.at = -1};
}

/* RayJobs that are there; *unfinished of them have not ended. */
static uint32_t runs(struct world *w, uint32_t *unfinished)
{
    struct slice list = SLICE_NONE;
    struct json *doc = arena_new(&w->arena, struct json);
    struct jval k, job;
    uint32_t count = 0;
    *unfinished = 0;
    CHECK_INT(world_ask(w, "GET", jobs_path, "application/json", SLICE_NONE, &list), 200);
    if (!CHECK(json_parse(doc, list, &w->arena, NULL)))
        return 0;
    for (struct jiter it = json_iter(json_get(json_root(doc), "items")); json_next(&it, &k, &job); count++)
        *unfinished += !json_str_eq(json_get(job, "status.jobDeploymentStatus"), SLICE("Complete"));
    return count;
}

/* Counts POSTs of RayJobs as they come to the API server. */
struct counter {
    struct world_hooks hooks; /* first */
    uint32_t posts;
};

static void on_arrived(struct world_hooks *h, struct world_request *q)
{
    ((struct counter *)h)->posts += slice_eq(q->method, SLICE("POST")) && slice_starts(q->target, slice_of(jobs_path));
}

static void to_next_minute(struct world *w, int64_t and_ms)
{
    world_run(w, MINUTE_MS - w->now.wall_us / 1000 % MINUTE_MS + and_ms);
}

static void test_runs(void)
{
    struct world w;
    uint32_t active;
    test_case("each minute one run, and three that succeeded are kept");
    make_cron_world(&w);
    to_next_minute(&w, 5000);
    apply_cron(&w, "");
    world_run(&w, 30 * 1000);
    CHECK_INT(runs(&w, &active), 0);
    CHECK(strstr(json_raw(cron_value(&w, "status.conditions")).ptr, "SpecAccepted"));
    to_next_minute(&w, 40 * 1000);
    CHECK_INT(runs(&w, &active), 1);
    CHECK_INT(active, 0);
    CHECK_INT(board.taken, 1);
    for (int i = 0; i < 5; i++)
        to_next_minute(&w, 40 * 1000);
    CHECK_INT(board.taken, 6);
    CHECK_INT(runs(&w, &active), 3);
    CHECK_INT(json_len(cron_value(&w, "status.active")), 0);
    int64_t last_us = 0;
    CHECK(time_parse(json_str(cron_value(&w, "status.lastScheduleTime"), &w.arena), &last_us, NULL));
    CHECK_INT(last_us / 1000, w.now.wall_us / 1000 - w.now.wall_us / 1000 % MINUTE_MS);
    CHECK(json_there(cron_value(&w, "status.lastSuccessfulTime")));
    CHECK(tells(&w, "CreatedRayJob", "due at"));
    change_cron(&w, "\"suspend\":true");
    world_run(&w, 10 * 1000);
    check_fixed_point(&w);
    CHECK_INT(board.taken, 6);
    end_job_world(&w);
}

/* The operator ends as soon as the RayJob is made: no status tells of it, and the next operator sees it. */
static void test_crash(void)
{
    struct world w;
    struct counter counter = {.hooks = {.arrived = on_arrived}};
    uint32_t active;
    test_case("a crash between the creation of a RayJob and the status that tells of it");
    make_cron_world(&w);
    to_next_minute(&w, 5000);
    apply_cron(&w, "");
    world_run(&w, 5000);
    w.hooks = &counter.hooks;
    for (int64_t end_ms = w.now.mono_ms + 2 * MINUTE_MS; counter.posts == 0 && w.now.mono_ms < end_ms;)
        world_step(&w, end_ms);
    world_kill_operator(&w);
    CHECK_INT(runs(&w, &active), 1);
    CHECK(!json_there(cron_value(&w, "status.lastScheduleTime")));
    world_run(&w, 10 * 1000);
    world_start_operator(&w, false);
    world_run(&w, 20 * 1000);
    CHECK_INT(counter.posts, 1);
    CHECK_INT(runs(&w, &active), 1);
    CHECK(json_there(cron_value(&w, "status.lastScheduleTime")));
    CHECK(tells(&w, "CreatedRayJob", "due at"));
    end_job_world(&w);
}

/* The answer to the creation is lost: what was made is found. */
static void test_lost_answer(void)
{
    struct world w;
    uint32_t active;
    test_case("a creation that was carried out and answered 500");
    make_cron_world(&w);
    to_next_minute(&w, 5000);
    apply_cron(&w, "");
    world_run(&w, 5000);
    override(&w, "POST", jobs_path, 500, true, 1);
    to_next_minute(&w, 30 * 1000);
    CHECK_INT(runs(&w, &active), 1);
    CHECK_INT(board.taken, 1);
    end_job_world(&w);
}

static void test_outage(void)
{
    struct world w;
    struct counter counter = {.hooks = {.arrived = on_arrived}};
    uint32_t active;
    test_case("an outage of ten minutes: one run catches up, and nine were missed");
    make_cron_world(&w);
    to_next_minute(&w, 5000);
    apply_cron(&w, "");
    world_run(&w, 5000);
    world_kill_operator(&w);
    world_run(&w, 10 * MINUTE_MS);
    w.hooks = &counter.hooks;
    world_start_operator(&w, false);
    world_run(&w, 20 * 1000);
    CHECK_INT(counter.posts, 1);
    CHECK_INT(runs(&w, &active), 1);
    CHECK(tells(&w, "MissedRuns", "9 runs due after"));
    end_job_world(&w);
}

static void test_policies(void)
{
    struct world w;
    uint32_t active;
    test_case("Forbid: the next run waits for the end of the one before");
    make_cron_world(&w);
    board.run_ms = 100 * 1000;
    to_next_minute(&w, 5000);
    apply_cron(&w, "\"concurrencyPolicy\":\"Forbid\",");
    to_next_minute(&w, 30 * 1000);
    CHECK_INT(runs(&w, &active), 1);
    to_next_minute(&w, 10 * 1000);
    CHECK_INT(runs(&w, &active), 1);
    CHECK(strstr(json_raw(cron_value(&w, "status.conditions")).ptr, "JobAlreadyActive"));
    world_run(&w, 50 * 1000);
    CHECK_INT(runs(&w, &active), 2);
    CHECK_INT(active, 1);
    CHECK(!strstr(json_raw(cron_value(&w, "status.conditions")).ptr, "JobAlreadyActive"));
    test_case("Replace: the one before is deleted");
    change_cron(&w, "\"concurrencyPolicy\":\"Replace\"");
    to_next_minute(&w, 20 * 1000);
    CHECK_INT(runs(&w, &active), 2);
    CHECK_INT(active, 1);
    end_job_world(&w);
}

static void test_refused(void)
{
    struct world w;
    uint32_t active;
    test_case("a RayJob that is refused is told, and tried again");
    make_cron_world(&w);
    to_next_minute(&w, 5000);
    apply_cron(&w, "");
    world_run(&w, 5000);
    override(&w, "POST", jobs_path, 403, false, 3);
    to_next_minute(&w, 1500);
    CHECK_INT(runs(&w, &active), 0);
    CHECK(strstr(json_raw(cron_value(&w, "status.conditions")).ptr, "CreateRefused"));
    CHECK(tells(&w, "FailedToCreateRayJob", "create-run"));
    world_run(&w, 30 * 1000);
    CHECK_INT(runs(&w, &active), 1);
    CHECK(!strstr(json_raw(cron_value(&w, "status.conditions")).ptr, "CreateRefused"));
    end_job_world(&w);
}

static void test_zone(void)
{
    struct world w;
    uint32_t active;
    test_case("a time zone that this operator does not have");
    make_cron_world(&w);
    to_next_minute(&w, 5000);
    apply_cron(&w, "\"timeZone\":\"Europe/Berlin\",");
    to_next_minute(&w, 10 * 1000);
    CHECK_INT(runs(&w, &active), 0);
    CHECK(strstr(json_raw(cron_value(&w, "status.conditions")).ptr, "UnknownTimeZone"));
    change_cron(&w, "\"timeZone\":\"UTC\"");
    world_run(&w, 20 * 1000);
    CHECK_INT(runs(&w, &active), 1);
    end_job_world(&w);
}

int main(void)
{
    test_runs();
    test_crash();
    test_lost_answer();
    test_outage();
    test_policies();
    test_refused();
    test_zone();
    return test_done();
}
