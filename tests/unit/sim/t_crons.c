/* Each invariant of RayCronJobs and of replicas of several hosts can be broken, as in t_invariants.c. */
#include "tests/model/sim/crons.h"

#include "../test.h"

#include "scene.h"

#define CRON "00000000-0000-4000-8000-0000000000c1"

enum { START_S = 1800000000, MINUTE_MS = 60 * 1000, FIRST = 1, SECOND };

/* c is due each minute, and was created at the beginning. */
static struct scene begin_crons(const char *what, enum cron_rule rule)
{
    struct scene t = begin_jobs(what);
    t.plan->setup.elect = false;
    t.s->crons = mem_alloc(sizeof *t.s->crons);
    for (uint32_t i = 1; i < SIM_CRONS; i++)
        t.s->crons->want[i].run.ns = t.s->crons->want[i].run.name = "";
    t.s->crons->want[0] = (struct want_cron){.there = true, .rules = 1u << rule, .run = {.ns = "n", .name = "c"}, .least = {1, 1}};
    return t;
}

/* What jobs.c knows of it is left out: whether a run may have ended. */
static void turn(struct scene *t, unsigned what, const char *plural, const char *name, const char *uid, struct slice json)
{
    struct apiserver_change c = {.plural = slice_of(plural), .ns = SLICE("n"), .name = slice_of(name), .uid = slice_of(uid), .json = json};
    c.what = what;
    t->s->o = &t->o;
    crons_changed(t->s, &c);
}

static void see_cron(struct scene *t, const char *spec, const char *status)
{
    struct slice json = arena_printf(&t->s->w.arena,
                                     "{\"metadata\":{\"name\":\"c\",\"uid\":\"" CRON "\",\"creationTimestamp\":\"2027-01-15T08:00:00Z\"},"
                                     "\"spec\":{%s},\"status\":{%s}}",
                                     spec, status);
    turn(t, APISERVER_MODIFIED, "raycronjobs", "c", CRON, json);
}

/* A RayJob of the run of a minute after the beginning; state: "", or a member of its status. */
static void see_job(struct scene *t, unsigned what, unsigned minute, unsigned number, const char *state)
{
    char name[16], due[TIME_TEXT_MAX], uid[SIM_UID];
    snprintf(name, sizeof name, "c-%u", START_S / 60 + minute);
    snprintf(uid, sizeof uid, "00000000-0000-4000-8000-000000000%u%02u", number, minute);
    time_format((START_S + 60 * (int64_t)minute) * 1000000, due);
    struct slice json =
        arena_printf(&t->s->w.arena,
                     "{\"metadata\":{\"name\":\"%s\",\"uid\":\"%s\",\"annotations\":{\"ray.io/cronjob-scheduled-timestamp\":\"%s\"},"
                     "\"ownerReferences\":[{\"kind\":\"RayCronJob\",\"name\":\"c\",\"uid\":\"" CRON "\",\"controller\":true}]},"
                     "\"spec\":{},\"status\":{%s}}",
                     name, uid, due, state);
    turn(t, what, "rayjobs", name, uid, json);
}

static void see_run(struct scene *t, unsigned minute, const char *state)
{
    see_job(t, APISERVER_MODIFIED, minute, FIRST, state);
}

static void pass(struct scene *t, int64_t ms)
{
    t->s->w.now.mono_ms += ms;
    t->s->w.now.wall_us += ms * 1000;
}

static void test_once(void)
{
    struct scene t = begin_crons("a run is started once", RULE_ALLOW);
    see_cron(&t, "", "");
    pass(&t, 3 * MINUTE_MS);
    see_run(&t, 1, "");
    see_run(&t, 1, ""); /* the same one */
    see_run(&t, 3, "");
    expect(&t, "");
    see_run(&t, 2, "");
    expect(&t, "a run is started once");
    end(&t);

    t = begin_crons("a run when it is due: one that is not yet", RULE_ALLOW);
    see_cron(&t, "", "");
    pass(&t, MINUTE_MS - 1);
    see_run(&t, 1, "");
    expect(&t, "a run when it is due");
    end(&t);

    t = begin_crons("a run when it is due: every two minutes", RULE_ALLOW);
    t.s->crons->want[0].pattern = PATTERN_TWO_MINUTES;
    see_cron(&t, "", "");
    pass(&t, 4 * MINUTE_MS);
    see_run(&t, 2, "");
    expect(&t, "");
    see_run(&t, 3, "");
    expect(&t, "a run when it is due");
    end(&t);
}

/* The RayCronJob and its run go, each only if said so, and the run of that time is made again. */
static void again(const char *what, const char *status, bool cron_goes, bool run_goes, unsigned minute, const char *which)
{
    struct scene t = begin_crons(what, RULE_ALLOW);
    see_cron(&t, "", "");
    pass(&t, 2 * MINUTE_MS);
    see_run(&t, 2, "");
    see_cron(&t, "", status);
    if (cron_goes)
        turn(&t, APISERVER_DELETED, "raycronjobs", "c", CRON, SLICE("{}"));
    if (run_goes)
        see_job(&t, APISERVER_DELETED, 2, FIRST, "");
    see_job(&t, APISERVER_ADDED, minute, SECOND, "");
    expect(&t, which);
    end(&t);
}

static void test_again(void)
{
    static const char told[] = "\"lastScheduleTime\":\"2027-01-15T08:02:00Z\"", once[] = "a run is started once";
    again("a run goes with its RayCronJob, and who has heard of neither makes it again", "", true, true, 2, "");
    again("… when status had told of it", told, true, true, 2, once);
    again("… when the RayCronJob is there", "", false, true, 2, once);
    again("… when the run is there", "", true, false, 2, once);
    again("… for a time before it", "", true, true, 1, once);
}

static void test_suspended(void)
{
    struct scene t = begin_crons("no run of what is suspended", RULE_ALLOW);
    see_cron(&t, "", "");
    pass(&t, MINUTE_MS - 20 * 1000);
    see_cron(&t, "\"suspend\":true", "");
    pass(&t, 20 * 1000);
    see_run(&t, 1, ""); /* by who does not know yet */
    expect(&t, "");
    pass(&t, MINUTE_MS);
    see_run(&t, 2, "");
    expect(&t, "no run of what is suspended");
    end(&t);
}

static void test_alone(void)
{
    struct scene t = begin_crons("no run beside another", RULE_FORBID);
    see_cron(&t, "\"concurrencyPolicy\":\"Forbid\"", "");
    pass(&t, MINUTE_MS);
    see_run(&t, 1, "");
    pass(&t, MINUTE_MS);
    see_run(&t, 1, "\"jobDeploymentStatus\":\"Failed\"");
    see_run(&t, 2, "");
    expect(&t, "");
    pass(&t, MINUTE_MS);
    see_run(&t, 3, "");
    expect(&t, "no run beside another");
    end(&t);
}

#define RUN_UID "00000000-0000-4000-8000-000000000101"

static void test_goes(void)
{
    static const char over[] = "\"jobDeploymentStatus\":\"Complete\",\"jobStatus\":\"SUCCEEDED\"",
                      told[] = "\"lastScheduleTime\":\"2027-01-15T08:03:00Z\"";
    struct scene t = begin_crons("of runs those that are beyond the history go", RULE_ALLOW);
    see_cron(&t, "", "");
    pass(&t, 3 * MINUTE_MS);
    see_run(&t, 1, over);
    see_run(&t, 2, "");
    see_run(&t, 3, over);
    CHECK(!crons_run_goes(t.s, RUN_UID)); /* status does not tell of it */
    see_cron(&t, "", told);
    CHECK(crons_run_goes(t.s, RUN_UID));
    see_run(&t, 3, "");
    CHECK(!crons_run_goes(t.s, RUN_UID));
    t.s->crons->want[0].rules |= 1u << RULE_REPLACE;
    CHECK(crons_run_goes(t.s, RUN_UID));
    end(&t);
}

int main(void)
{
    log_global.fd = -1;
    test_once();
    test_again();
    test_suspended();
    test_alone();
    test_goes();
    return test_done();
}
