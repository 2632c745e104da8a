/* What answers of a dashboard make of what is known of a job. */
#include <mobula/heads.h>
#include <mobula/rayjob.h>

#include "tests/unit/test.h"

/* Before: session s1 says RUNNING of job a, and the last question failed. */
static struct job_said before(void)
{
    return (struct job_said){.cluster = SLICE("c"),
                             .session = SLICE("s1"),
                             .id = SLICE("a"),
                             .known = true,
                             .state = JOB_RUNNING,
                             .message = SLICE("old"),
                             .started_us = 5,
                             .answered_ms = 100,
                             .failures = 1,
                             .failed_ms = 150,
                             .failing_ms = 7,
                             .asking = true};
}

static const struct {
    const char *id;
    enum ray_dash_call call;
    enum ray_dash_outcome outcome;
    struct slice about, text; /* text: the session, the job's status, or the log */
    const char *want;         /* session id known state failures, and more words when they hold */
} cases[] = {
    {"the same session", RAY_DASH_VERSION, RAY_DASH_OK, SLICE_NONE, SLICE("s1"), "s1 a 1 RUNNING 0"},
    {"another session knows nothing", RAY_DASH_VERSION, RAY_DASH_OK, SLICE_NONE, SLICE("s2"), "s2  0  0"},
    {"no version", RAY_DASH_VERSION, RAY_DASH_LOST, SLICE_NONE, SLICE_NONE, "s1 a 1 RUNNING 2"},
    {"no version of that kind", RAY_DASH_VERSION, RAY_DASH_ABSENT, SLICE_NONE, SLICE_NONE, "s1 a 1 RUNNING 2"},
    {"denied", RAY_DASH_JOB, RAY_DASH_DENIED, SLICE("a"), SLICE_NONE, "s1 a 1 RUNNING 2"},
    {"the job", RAY_DASH_JOB, RAY_DASH_OK, SLICE("a"), SLICE("SUCCEEDED"), "s1 a 1 SUCCEEDED 0"},
    {"a word of a later Ray", RAY_DASH_JOB, RAY_DASH_OK, SLICE("a"), SLICE("PAUSED"), "s1 a 1 RUNNING 0"},
    {"another job", RAY_DASH_JOB, RAY_DASH_OK, SLICE("b"), SLICE("PENDING"), "s1 b 1 PENDING 0"},
    {"no such job", RAY_DASH_JOB, RAY_DASH_ABSENT, SLICE("b"), SLICE_NONE, "s1 b 0  0"},
    {"a job that cannot be read", RAY_DASH_JOB, RAY_DASH_FAILED, SLICE("a"), SLICE_NONE, "s1 a 1 RUNNING 2"},
    {"submitted", RAY_DASH_SUBMIT, RAY_DASH_OK, SLICE("b"), SLICE_NONE, "s1 b 1 PENDING 0"},
    {"submitted before", RAY_DASH_SUBMIT, RAY_DASH_EXISTS, SLICE("b"), SLICE_NONE, "s1 b 1 PENDING 0"},
    {"submitted before, and more is known", RAY_DASH_SUBMIT, RAY_DASH_EXISTS, SLICE("a"), SLICE_NONE, "s1 a 1 RUNNING 0"},
    {"refused", RAY_DASH_SUBMIT, RAY_DASH_REFUSED, SLICE("b"), SLICE_NONE, "s1 b 0  0 refused"},
    {"submitted or not", RAY_DASH_SUBMIT, RAY_DASH_LOST, SLICE("b"), SLICE_NONE, "s1  0  2"},
    {"submitted or not, says a 500", RAY_DASH_SUBMIT, RAY_DASH_FAILED, SLICE("b"), SLICE_NONE, "s1  0  2"},
    {"no such way to submit", RAY_DASH_SUBMIT, RAY_DASH_ABSENT, SLICE("b"), SLICE_NONE, "s1  0  2"},
    {"stopped", RAY_DASH_STOP, RAY_DASH_OK, SLICE("a"), SLICE_NONE, "s1 a 1 RUNNING 0 stopping"},
    {"nothing to stop", RAY_DASH_STOP, RAY_DASH_ABSENT, SLICE("a"), SLICE_NONE, "s1 a 0  0 stop"},
    {"stopped or not", RAY_DASH_STOP, RAY_DASH_LOST, SLICE("a"), SLICE_NONE, "s1 a 1 RUNNING 2"},
    {"log", RAY_DASH_LOG, RAY_DASH_OK, SLICE("a"), SLICE("line"), "s1 a 1 RUNNING 0 log line"},
    {"no log", RAY_DASH_LOG, RAY_DASH_ABSENT, SLICE("a"), SLICE_NONE, "s1 a 1 RUNNING 0 log"},
    {"log that is not asked for again", RAY_DASH_LOG, RAY_DASH_LOST, SLICE("a"), SLICE_NONE, "s1 a 1 RUNNING 2 log"},
};

static struct slice told(const struct job_said *s, struct arena *a)
{
    return arena_printf(a, "%.*s %.*s %d %s %u%s%s%s%s%.*s", SLICE_ARG(s->session), SLICE_ARG(s->id), s->known, job_state_name(s->state),
                        s->failures, s->refused.len ? " refused" : "",
                        s->stopping ? " stopping"
                        : s->stops  ? " stop"
                                    : "",
                        s->log_asked ? " log" : "", s->log.len ? " " : "", SLICE_ARG(s->log));
}

static void test_answers(struct arena *a)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("%s", cases[i].id);
        struct job_said said = before();
        struct ray_dash_job job = {.status = cases[i].text, .start_ms = 3, .end_ms = INT64_MAX};
        struct ray_dash_answer answer = {
            .call = cases[i].call, .outcome = cases[i].outcome, .session = cases[i].text, .log = cases[i].text, .jobs = &job};
        answer.job_count = cases[i].call == RAY_DASH_JOB && cases[i].outcome == RAY_DASH_OK;
        if (cases[i].outcome != RAY_DASH_OK)
            err_set(&answer.err, cases[i].outcome == RAY_DASH_LOST ? ERR_TIMEOUT : ERR_STATUS, "the head's words");
        job_hear(&said, cases[i].about, &answer, (struct now){200, 9});
        CHECK_STR(told(&said, a), cases[i].want);
        CHECK(said.asking && slice_eq(said.cluster, SLICE("c"))); /* the caller's */
        CHECK_INT(said.answered_ms, said.failures ? 100 : 200);
        CHECK_INT(said.failed_ms, said.failures ? 200 : 150);
        CHECK_INT(said.failing_ms, 7); /* the first of those in a row */
        CHECK_INT(said.says_no, said.failures && cases[i].outcome != RAY_DASH_LOST);
        if (answer.job_count) {
            CHECK_INT(said.started_us, 3000);
            CHECK_INT(said.ended_us, 0); /* a time that cannot be */
        }
    }
}

/* A refusal stands for the id that was refused, and for no other. */
static void test_refusal(void)
{
    test_case("a refusal");
    struct job_said said = before();
    struct ray_dash_answer no = {.call = RAY_DASH_SUBMIT, .outcome = RAY_DASH_REFUSED};
    struct ray_dash_answer absent = {.call = RAY_DASH_JOB, .outcome = RAY_DASH_ABSENT};
    err_set(&no.err, ERR_STATUS, "TypeError");
    job_hear(&said, SLICE("b"), &no, (struct now){200, 9});
    job_hear(&said, SLICE("b"), &absent, (struct now){300, 9});
    CHECK_STR(said.refused, "TypeError");
    job_hear(&said, SLICE("d"), &absent, (struct now){400, 9});
    CHECK_STR(said.refused, "");
}

/* Errors of Ray's own are counted over the looks between them; silence is not one. */
static void test_unsubmitted(void)
{
    test_case("submissions that Ray fails at");
    struct job_said said = before();
    struct ray_dash_answer error = {.call = RAY_DASH_SUBMIT, .outcome = RAY_DASH_FAILED, .http_status = 500};
    struct ray_dash_answer lost = {.call = RAY_DASH_SUBMIT, .outcome = RAY_DASH_LOST};
    struct ray_dash_answer absent = {.call = RAY_DASH_JOB, .outcome = RAY_DASH_ABSENT, .http_status = 404};
    struct ray_dash_answer version = {.call = RAY_DASH_VERSION, .outcome = RAY_DASH_OK, .http_status = 200, .session = SLICE("s2")};
    err_set(&error.err, ERR_STATUS, "500");
    for (int i = 1; i <= JOB_SUBMIT_TRIES; i++) {
        job_hear(&said, SLICE("b"), &error, (struct now){200 * i, 9});
        CHECK_INT(said.unsubmitted_ms, 200 * i);
        job_hear(&said, SLICE("b"), &absent, (struct now){200 * i + 1, 9});
        CHECK_INT(said.unsubmitted, i);
    }
    job_hear(&said, SLICE("b"), &lost, (struct now){9000, 9});
    CHECK_INT(said.unsubmitted, JOB_SUBMIT_TRIES);
    CHECK(said.unheard == 1 && said.unheard_ms == 9000);
    job_hear(&said, SLICE_NONE, &version, (struct now){9001, 9});
    CHECK(said.unsubmitted == 0 && said.unheard == 0);
}

/* Silence is counted over the looks between them, too, until Ray knows the job. */
static void test_unheard(void)
{
    struct job_said said = before();
    struct ray_dash_job job = {.status = SLICE("PENDING")};
    struct ray_dash_answer lost = {.call = RAY_DASH_SUBMIT, .outcome = RAY_DASH_LOST};
    struct ray_dash_answer no = {.call = RAY_DASH_SUBMIT, .outcome = RAY_DASH_UNSENT};
    struct ray_dash_answer absent = {.call = RAY_DASH_JOB, .outcome = RAY_DASH_ABSENT, .http_status = 404};
    struct ray_dash_answer pending = {.call = RAY_DASH_JOB, .outcome = RAY_DASH_OK, .jobs = &job, .job_count = 1};
    struct ray_dash_answer taken = {.call = RAY_DASH_SUBMIT, .outcome = RAY_DASH_OK, .http_status = 200};
    const struct ray_dash_answer *const ends[] = {&pending, &taken};
    err_set(&no.err, ERR_STATUS, "403");
    err_set(&lost.err, ERR_TIMEOUT, "no answer");
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        test_case("submissions that nobody answers, and then %s", i ? "one is" : "Ray knows it");
        job_hear(&said, SLICE("b"), &no, (struct now){200, 9});
        CHECK_STR(said.unheard_no, "403");
        for (uint32_t n = 2; n < 9; n++) {
            job_hear(&said, SLICE("b"), &lost, (struct now){200 * n, 9});
            job_hear(&said, SLICE("b"), &absent, (struct now){200 * n + 1, 9});
            CHECK(said.unheard == n && said.unheard_ms == 200 * n && said.unsubmitted == 0);
            CHECK_STR(said.unheard_no, "");
        }
        job_hear(&said, SLICE("b"), ends[i], (struct now){9000, 9});
        CHECK_INT(said.unheard, 0);
    }
}

/* A submission has no answer, and the head is restarted between the two halves of a look: the new Ray knows no job. */
static void test_restarted(void)
{
    struct ray_dash_answer lost = {.call = RAY_DASH_SUBMIT, .outcome = RAY_DASH_LOST};
    struct ray_dash_answer error = {.call = RAY_DASH_SUBMIT, .outcome = RAY_DASH_FAILED, .http_status = 200};
    struct ray_dash_answer absent = {.call = RAY_DASH_JOB, .outcome = RAY_DASH_ABSENT, .http_status = 404};
    struct ray_dash_answer same = {.call = RAY_DASH_VERSION, .outcome = RAY_DASH_OK, .http_status = 200, .session = SLICE("s1")};
    struct ray_dash_answer other = {.call = RAY_DASH_VERSION, .outcome = RAY_DASH_OK, .http_status = 200, .session = SLICE("s2")};
    err_set(&lost.err, ERR_TIMEOUT, "no answer");
    err_set(&error.err, ERR_SYNTAX, "no JSON");
    for (int i = 0; i < 2; i++) {
        test_case("a submission %s: a job is absent when the next look names the same session",
                  i ? "is answered with nonsense" : "is lost");
        struct job_said said = before();
        job_hear(&said, SLICE("b"), i ? &error : &lost, (struct now){200, 9});
        job_hear(&said, SLICE("b"), &same, (struct now){300, 9});
        job_hear(&said, SLICE("b"), &absent, (struct now){301, 9});
        CHECK_STR(said.id, "");
        struct job_said restarted = said;
        job_hear(&said, SLICE("b"), &same, (struct now){400, 9});
        job_hear(&said, SLICE("b"), &absent, (struct now){401, 9});
        CHECK_STR(said.id, "b");
        CHECK(!said.known);
        test_case("… and not when it names another one");
        job_hear(&restarted, SLICE("b"), &other, (struct now){400, 9});
        CHECK_STR(restarted.session, "s2");
        CHECK_STR(restarted.id, "");
    }
}

/* After a stop the job is looked at; another session was told nothing. */
static void test_stops(void)
{
    test_case("stops, and what they did");
    struct job_said said = before();
    struct ray_dash_job job = {.status = SLICE("PENDING")};
    struct ray_dash_answer stop = {.call = RAY_DASH_STOP, .outcome = RAY_DASH_OK, .done = true};
    struct ray_dash_answer pending = {.call = RAY_DASH_JOB, .outcome = RAY_DASH_OK, .jobs = &job, .job_count = 1};
    struct ray_dash_answer lost = {.call = RAY_DASH_JOB, .outcome = RAY_DASH_LOST};
    struct ray_dash_answer version = {.call = RAY_DASH_VERSION, .outcome = RAY_DASH_OK, .session = SLICE("s2")};
    job_hear(&said, SLICE("a"), &stop, (struct now){200, 9});
    CHECK(said.stops == 1 && said.stop_ms == 200 && said.stopping);
    job_hear(&said, SLICE("a"), &lost, (struct now){300, 9});
    CHECK(said.stops == 1 && said.stopping);
    job_hear(&said, SLICE("a"), &pending, (struct now){400, 9});
    CHECK(said.stops == 1 && said.stop_ms == 200 && !said.stopping && said.state == JOB_PENDING);
    job_hear(&said, SLICE("a"), &stop, (struct now){500, 9});
    CHECK(said.stops == 2 && said.stop_ms == 500 && said.stopping);
    job_hear(&said, SLICE_NONE, &version, (struct now){600, 9});
    CHECK(said.stops == 0 && !said.stopping);
}

/* A look at a job is two questions, and the second one is what it is about. */
static void test_half(void)
{
    test_case("the session is told, and of the job nothing: that is no answer, however often");
    struct job_said said = before();
    struct ray_dash_answer version = {.call = RAY_DASH_VERSION, .outcome = RAY_DASH_OK, .session = SLICE("s1")};
    struct ray_dash_answer error = {.call = RAY_DASH_JOB, .outcome = RAY_DASH_FAILED, .http_status = 500};
    struct ray_dash_job job = {.status = SLICE("RUNNING")};
    struct ray_dash_answer ok = {.call = RAY_DASH_JOB, .outcome = RAY_DASH_OK, .jobs = &job, .job_count = 1};
    err_set(&error.err, ERR_STATUS, "500");
    for (int i = 1; i <= 3; i++) {
        job_hear(&said, SLICE("a"), &version, (struct now){200 * i, 9});
        job_hear(&said, SLICE("a"), &error, (struct now){200 * i + 1, 9});
        CHECK_INT(said.failures, 1 + i);
        CHECK_INT(said.failed_ms, 200 * i + 1);
        CHECK(said.failing_ms == 7 && said.answered_ms == 100);
    }
    job_hear(&said, SLICE("a"), &version, (struct now){900, 9});
    job_hear(&said, SLICE("a"), &ok, (struct now){901, 9});
    CHECK(said.failures == 0 && said.answered_ms == 901);
}

int main(void)
{
    struct arena a = {0};
    test_answers(&a);
    test_unsubmitted();
    test_unheard();
    test_restarted();
    test_refusal();
    test_stops();
    test_half();
    arena_free(&a);
    return test_done();
}
