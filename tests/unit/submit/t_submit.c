/* mobula submit against a scripted dashboard, in virtual time. */
#include "../heads/headnet.h"

#include <mobula/submit.h>

/* ---- a dashboard that has at most one job, which goes its way by the clock ---- */

struct stage {
    struct fakehead head;
    struct headnet w;
    struct submit_options o;
    struct submit s;
    struct buf said, shown;
    /* the script */
    const char *session, *end;              /* how the job ends */
    int64_t runs_ms, ends_ms;               /* after it was submitted */
    int post_status;                        /* instead of taking it; 0: take it */
    bool post_cut;                          /* take it once, and answer nothing */
    int log_status;                         /* instead of the log */
    void (*at)(struct stage *, int64_t ms); /* each millisecond */
    /* what happened */
    bool there;
    int64_t began_ms, submitted_ms;
    uint32_t posts, stops, logs;
    char entrypoint[128], body[1024];
    size_t lines_cut; /* lines that the log has lost again */
    bool deaf;
    const char *token;
};

static int64_t age(const struct stage *st)
{
    return st->w.now.mono_ms - st->submitted_ms;
}

static int answer_post(struct stage *st, struct slice body, struct buf *out)
{
    st->posts++;
    snprintf(st->body, sizeof st->body, "%.*s", SLICE_ARG(body));
    if (st->post_status) {
        buf_put(out, SLICE("Traceback\nValueError: no such thing\n"));
        return st->post_status;
    }
    if (st->there) {
        buf_put(out, SLICE("ValueError: Job with submission_id j already exists. Please use a different submission_id."));
        return 500;
    }
    st->there = true;
    st->submitted_ms = st->w.now.mono_ms;
    buf_put(out, SLICE("{\"job_id\": \"j\", \"submission_id\": \"j\"}"));
    return 200;
}

static int answer_job(struct stage *st, struct buf *out)
{
    int64_t ms = age(st);
    bool ended = ms >= st->ends_ms, runs = ms >= st->runs_ms;
    buf_printf(out,
               "{\"submission_id\": \"j\", \"entrypoint\": \"%s\", \"status\": \"%s\", \"message\": \"%s\", \"start_time\": 1000, "
               "\"end_time\": %d}",
               st->entrypoint,
               ended  ? st->end
               : runs ? "RUNNING\\u009b" /* for a terminal, the beginning of a command */
                      : "PENDING",
               ended ? "It ended with 7, last available logs (truncated):\\nline" : "It has not started.", ended ? 8000 : 0);
    return 200;
}

/* A line for every 100 ms that it runs. */
static int answer_log(struct stage *st, struct buf *out)
{
    int64_t until_ms = age(st) < st->ends_ms ? age(st) : st->ends_ms;
    st->logs++;
    if (st->log_status) {
        buf_put(out, SLICE("UnicodeDecodeError: no"));
        return st->log_status;
    }
    buf_put(out, SLICE("{\"logs\": \""));
    for (int64_t i = (int64_t)st->lines_cut; st->runs_ms + 100 * i < until_ms; i++)
        buf_printf(out, "line %d \\u00e4\\n", (int)i);
    buf_put(out, SLICE("\"}"));
    return 200;
}

static int answer(struct fakehead *h, struct slice method, struct slice target, struct slice body, struct buf *out)
{
    struct stage *st = h->owner;
    if (slice_eq(target, SLICE("/api/version"))) {
        buf_printf(out, "{\"ray_version\": \"2.60.0\", \"session_name\": \"%s\"}", st->session);
        return 200;
    }
    if (slice_eq(method, SLICE("POST")) && slice_eq(target, SLICE("/api/jobs/"))) {
        int status = answer_post(st, body, out);
        h->cuts = st->post_cut;
        st->post_cut = false;
        return status;
    }
    if (!st->there || !slice_starts(target, SLICE("/api/jobs/j"))) {
        buf_put(out, SLICE("Job j does not exist"));
        return 404;
    }
    if (slice_ends(target, SLICE("/logs")))
        return answer_log(st, out);
    if (!slice_ends(target, SLICE("/stop")))
        return answer_job(st, out);
    st->stops++;
    buf_put(out, SLICE("{\"stopped\": true}"));
    return 200;
}

/* ---- who runs it ---- */

static void on_say(void *owner, const char *line)
{
    struct stage *st = owner;
    buf_printf(&st->said, "%s\n", line);
}

static bool on_show(void *owner, struct slice text)
{
    struct stage *st = owner;
    buf_put(&st->shown, text);
    return !st->deaf;
}

static bool on_token(void *owner, struct slice *token, struct err *e)
{
    struct stage *st = owner;
    (void)e;
    *token = slice_of(st->token);
    return true;
}

static struct stage *stage_new(const char *name)
{
    test_case("%s", name);
    struct stage *st = mem_alloc(sizeof *st);
    st->head = (struct fakehead){.dash = answer, .owner = st};
    st->session = "one";
    st->end = "SUCCEEDED";
    st->runs_ms = 1500;
    st->ends_ms = 6050;
    snprintf(st->entrypoint, sizeof st->entrypoint, "python x.py");
    buf_init(&st->said, MIB);
    buf_init(&st->shown, MIB);
    st->o = (struct submit_options){.host = SLICE("head0"),
                                    .port = 8265,
                                    .job = {.entrypoint = SLICE("python x.py"), .id = SLICE("j")},
                                    .body = SLICE("{\"entrypoint\":\"python x.py\",\"submission_id\":\"j\"}"),
                                    .wait = true,
                                    .patience_ms = 20 * 1000,
                                    .voice = {on_say, on_show, on_token, st}};
    headnet_init(&st->w, &st->head, 1);
    st->began_ms = st->w.now.mono_ms;
    return st;
}

/* To its end, which comes within this time: the exit status. */
static int run(struct stage *st, int64_t most_ms)
{
    int64_t until_ms = st->w.now.mono_ms + most_ms;
    submit_begin(&st->s, &st->o, st->w.dash, 1, st->w.now);
    while (!submit_over(&st->s) && st->w.now.mono_ms < until_ms) {
        if (st->at)
            st->at(st, st->w.now.mono_ms - st->began_ms);
        int64_t next = submit_step(&st->s, st->w.now);
        CHECK(submit_over(&st->s) || st->s.asking || next > st->w.now.mono_ms);
        headnet_run(&st->w, 1);
        st->head.cuts = false;
    }
    CHECK(submit_over(&st->s));
    return st->s.exit;
}

static bool said(struct stage *st, const char *words)
{
    buf_putc(&st->said, 0);
    bool found = strstr(st->said.ptr, words) != NULL;
    if (!found)
        printf("  said:\n%s", st->said.ptr);
    st->said.len--;
    return found;
}

/* All lines of the job, each once. */
static bool whole_log(const struct stage *st)
{
    struct buf want;
    buf_init(&want, MIB);
    for (int i = 0; st->runs_ms + 100 * i < st->ends_ms; i++)
        buf_printf(&want, "line %d \xc3\xa4\n", i);
    bool same = slice_eq(buf_slice(&want), buf_slice(&st->shown));
    buf_free(&want);
    return same;
}

static void stage_free(struct stage *st)
{
    headnet_free(&st->w);
    buf_free(&st->said);
    buf_free(&st->shown);
    mem_free(st);
}

/* ---- to the end ---- */

static void ends(void)
{
    static const struct {
        const char *end, *says;
        int exit;
    } cases[] = {{"SUCCEEDED", "job j SUCCEEDED after 7 s\n", STATUS_OK},
                 {"FAILED", "job j FAILED after 7 s: It ended with 7\n", STATUS_ERROR},
                 {"STOPPED", "job j STOPPED after 7 s", STATUS_ERROR}};
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t step = 0; step < 40; step = step * 2 + 13) { /* bytes a millisecond: pieces that end anywhere */
            struct stage *st = stage_new(cases[i].end);
            st->end = cases[i].end;
            st->head.per_step = step;
            CHECK_INT(run(st, 60000), cases[i].exit);
            CHECK_INT(st->posts, 1);
            CHECK_STR(slice_of(st->body), "{\"entrypoint\":\"python x.py\",\"submission_id\":\"j\"}");
            CHECK(whole_log(st));
            CHECK(said(st, "job j is submitted\njob j is PENDING: It has not started.\njob j is RUNNING\n"));
            CHECK(said(st, cases[i].says));
            stage_free(st);
        }
}

static void quick_ends(void)
{
    struct stage *st = stage_new("over before the first look");
    st->runs_ms = -1000;
    st->ends_ms = 0;
    CHECK_INT(run(st, 10000), STATUS_OK);
    CHECK(whole_log(st) && st->logs == 1);
    stage_free(st);
    st = stage_new("nobody waits for the end");
    st->o.wait = false;
    CHECK_INT(run(st, 10000), STATUS_OK);
    CHECK(st->posts == 1 && st->logs == 0 && age(st) < 100);
    stage_free(st);
}

static void there_before(void)
{
    struct stage *st = stage_new("submitted before");
    st->there = true;
    st->submitted_ms = st->began_ms - 3000;
    CHECK_INT(run(st, 10000), STATUS_OK);
    CHECK(whole_log(st) && said(st, "job j was submitted before: it is not submitted again\n"));
    CHECK(!strstr(st->said.ptr, "another entrypoint"));
    stage_free(st);
    st = stage_new("followed by its id alone");
    st->there = st->o.follow = true;
    st->submitted_ms = st->w.now.mono_ms;
    CHECK_INT(run(st, 60000), STATUS_OK);
    CHECK(whole_log(st) && st->posts == 0);
    stage_free(st);
    st = stage_new("followed by an id that Ray does not know");
    st->o.follow = true;
    CHECK_INT(run(st, 60000), STATUS_ERROR);
    CHECK(st->posts == 0 && said(st, "Ray knows no job j; what is to be submitted stands behind \"--\"\n"));
    stage_free(st);
    st = stage_new("submitted before, something else");
    st->there = true;
    st->submitted_ms = st->began_ms - 3000;
    snprintf(st->entrypoint, sizeof st->entrypoint, "python y.py");
    CHECK_INT(run(st, 10000), STATUS_OK);
    CHECK(said(st, "job j runs another entrypoint than the one given here\n"));
    stage_free(st);
}

/* ---- never twice ---- */

static void restart_after_post(struct stage *st, int64_t ms)
{
    (void)ms;
    if (st->posts == 1 && st->there) {
        st->there = false;
        st->session = "two";
    }
}

static void lost_answers(void)
{
    struct stage *st = stage_new("the answer to the submission is lost");
    st->post_cut = true;
    CHECK_INT(run(st, 60000), STATUS_OK);
    CHECK(st->posts == 2 && whole_log(st));
    CHECK(said(st, "job j is submitted\n"));
    stage_free(st);
    st = stage_new("it is lost, and the head restarts");
    st->post_cut = true;
    st->at = restart_after_post;
    CHECK_INT(run(st, 60000), STATUS_ERROR);
    CHECK(st->posts == 1 && !st->there);
    CHECK(said(st, "it is not submitted again, because it must not run twice"));
    stage_free(st);
}

static void refusals(void)
{
    struct stage *st = stage_new("refused for what it is");
    st->post_status = 400;
    CHECK_INT(run(st, 10000), STATUS_ERROR);
    CHECK(st->posts == 1 &&
          said(st, "Ray does not take the submission: head0:8265: the dashboard answers with HTTP status 400: ValueError"));
    stage_free(st);
    st = stage_new("answered with an error of its own");
    st->post_status = 500;
    CHECK_INT(run(st, 60000), STATUS_ERROR);
    CHECK(st->posts == SUBMIT_TRIES && said(st, "HTTP status 500: ValueError: no such thing"));
    stage_free(st);
}

/* ---- a dashboard that is away ---- */

static void away_from_2_to_12(struct stage *st, int64_t ms)
{
    st->w.refused = ms >= 2000 && ms < 12000;
}

static void away_from_2(struct stage *st, int64_t ms)
{
    st->w.refused = ms >= 2000;
}

static void hangs_from_2_to_25(struct stage *st, int64_t ms)
{
    st->head.hangs = ms >= 2000 && ms < 25000;
}

static void away(void)
{
    struct stage *st = stage_new("not there yet");
    st->w.refused = true;
    CHECK_INT(run(st, 60000), STATUS_ERROR);
    CHECK(said(st, "gave up after 20 s without an answer (--dashboard-timeout): no connection to head0:8265: refused: "
                   "nothing was submitted"));
    CHECK_INT(st->posts, 0);
    stage_free(st);
    for (int64_t patience_ms = 5000; patience_ms <= 15000; patience_ms += 10000) {
        st = stage_new("it hangs: the time is over when it was said, and not when the question is");
        st->head.hangs = true;
        st->o.patience_ms = patience_ms;
        int64_t began_ms = st->w.now.mono_ms;
        CHECK_INT(run(st, 60000), STATUS_ERROR);
        CHECK_INT(st->w.now.mono_ms - began_ms, patience_ms + 1); /* run() looks after each millisecond */
        CHECK(said(st, "without an answer (--dashboard-timeout)") && said(st, "nothing was submitted"));
        stage_free(st);
    }
    st = stage_new("away for a while");
    st->at = away_from_2_to_12;
    CHECK_INT(run(st, 60000), STATUS_OK);
    CHECK(whole_log(st) && said(st, "no connection to head0:8265: refused; trying again\nthe dashboard answers again\n"));
    stage_free(st);
    st = stage_new("away for good");
    st->at = away_from_2;
    CHECK_INT(run(st, 60000), STATUS_UNKNOWN);
    CHECK(said(st, "refused: job j goes on; follow it with the same command and --submission-id j\n"));
    stage_free(st);
    st = stage_new("it hangs for a while");
    st->at = hangs_from_2_to_25;
    st->o.patience_ms = 0;
    CHECK_INT(run(st, 90000), STATUS_OK);
    CHECK(whole_log(st) && said(st, "the dashboard answers again\n"));
    stage_free(st);
}

static void forgets_at_3(struct stage *st, int64_t ms)
{
    st->there &= ms != 3000;
}

static void restarts_at_3(struct stage *st, int64_t ms)
{
    forgets_at_3(st, ms);
    if (ms == 3000)
        st->session = "two";
}

static void gone(void)
{
    struct stage *st = stage_new("deleted by somebody");
    st->at = forgets_at_3;
    CHECK_INT(run(st, 60000), STATUS_ERROR);
    CHECK(st->posts == 1 && said(st, "Ray does not know job j any more: somebody deleted it"));
    stage_free(st);
    st = stage_new("the head was restarted");
    st->at = restarts_at_3;
    CHECK_INT(run(st, 60000), STATUS_ERROR);
    CHECK(st->posts == 1 && said(st, "the head was restarted and does not know job j any more"));
    stage_free(st);
}

/* ---- leaving ---- */

static void signal_at_3(struct stage *st, int64_t ms)
{
    if (ms == 3000)
        submit_leave(&st->s, 15, st->w.now);
}

static void signals_while_it_hangs(struct stage *st, int64_t ms)
{
    st->head.hangs = ms >= 2500;
    signal_at_3(st, ms);
}

static void two_signals(struct stage *st, int64_t ms)
{
    signals_while_it_hangs(st, ms);
    if (ms == 3500)
        submit_leave(&st->s, 2, st->w.now);
}

static void signals(void)
{
    static const struct {
        const char *id;
        bool stop;
        void (*at)(struct stage *, int64_t);
        uint32_t stops;
        int exit;
        int64_t by_ms;
        const char *says;
    } cases[] = {
        {"a signal", false, signal_at_3, 0, 143, 3010, "ended by signal 15: job j goes on; follow it with"},
        {"a signal that stops it", true, signal_at_3, 1, 143, 3100, "job j was told to stop"},
        {"a stop that is not answered", true, signals_while_it_hangs, 1, 143, 3000 + SUBMIT_STOP_MS + 10,
         "could not be told to stop: job j goes on"},
        {"a second signal", true, two_signals, 1, 130, 3510, "ended by signal 2: job j goes on"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct stage *st = stage_new(cases[i].id);
        st->at = cases[i].at;
        st->o.stop = cases[i].stop;
        CHECK_INT(run(st, 60000), cases[i].exit);
        CHECK(said(st, cases[i].says));
        CHECK_INT(st->stops, cases[i].stops);
        CHECK(st->w.now.mono_ms - st->began_ms <= cases[i].by_ms);
        stage_free(st);
    }
    struct stage *st = stage_new("a signal before anything was submitted");
    st->w.unreachable = true;
    st->o.stop = true;
    st->at = signal_at_3;
    CHECK_INT(run(st, 60000), 143);
    CHECK(said(st, "ended by signal 15: nothing was submitted"));
    stage_free(st);
}

static void timeouts(void)
{
    struct stage *st = stage_new("the time is over");
    st->o.timeout_ms = 4000;
    CHECK_INT(run(st, 60000), STATUS_UNKNOWN);
    CHECK(st->w.now.mono_ms - st->began_ms <= 4010 && st->stops == 0);
    CHECK(said(st, "the time is over (--timeout): job j goes on"));
    stage_free(st);
    st = stage_new("the time is over, and the job with it");
    st->o.timeout_ms = 4000;
    st->o.stop = true;
    CHECK_INT(run(st, 60000), STATUS_UNKNOWN);
    CHECK_INT(st->stops, 1);
    stage_free(st);
    st = stage_new("the time is over before it began");
    st->o.timeout_ms = 4000;
    st->w.unreachable = true;
    CHECK_INT(run(st, 60000), STATUS_ERROR);
    CHECK(said(st, "nothing was submitted"));
    stage_free(st);
    st = stage_new("the time is over while the last of the log is read");
    st->o.timeout_ms = 8000;
    st->log_status = 500;
    CHECK_INT(run(st, 60000), STATUS_OK);
    CHECK(said(st, "the end of the log was not read\njob j SUCCEEDED"));
    stage_free(st);
}

/* ---- logs ---- */

static void shorter_at_4(struct stage *st, int64_t ms)
{
    if (ms == 4000)
        st->lines_cut = 20;
}

static void deaf_at_4(struct stage *st, int64_t ms)
{
    st->deaf = ms >= 4000;
}

static void deaf_at_end(struct stage *st, int64_t ms)
{
    (void)ms;
    st->deaf = st->s.ended;
}

static void logs(void)
{
    struct stage *st = stage_new("a log that cannot be read");
    st->log_status = 500;
    CHECK_INT(run(st, 60000), STATUS_OK);
    CHECK(st->shown.len == 0 && said(st, "log of job j cannot be read: head0:8265: the dashboard answers with HTTP status 500: Unicode"));
    stage_free(st);
    st = stage_new("a log that becomes shorter");
    st->at = shorter_at_4;
    CHECK_INT(run(st, 60000), STATUS_OK);
    CHECK(said(st, "the log of job j has become shorter"));
    stage_free(st);
    st = stage_new("nobody reads");
    st->at = deaf_at_4;
    CHECK_INT(run(st, 60000), STATUS_UNKNOWN);
    CHECK(said(st, "nobody reads the log any more: job j goes on"));
    stage_free(st);
    st = stage_new("nobody reads the last of it, and the job has ended");
    st->at = deaf_at_end;
    st->ends_ms = 6550; /* lines come after the last look before */
    CHECK_INT(run(st, 60000), STATUS_OK);
    CHECK(said(st, "nobody reads the log any more: the end of the log was not read\njob j SUCCEEDED"));
    stage_free(st);
    st = stage_new("a quiet job is asked about less often");
    st->runs_ms = 0;
    st->ends_ms = 100 * 1000;
    st->lines_cut = 2000;
    CHECK_INT(run(st, 200 * 1000), STATUS_OK);
    CHECK(st->logs > 100 * 1000 / SUBMIT_LOOK_MAX_MS && st->logs < 40);
    stage_free(st);
}

/* ---- tokens ---- */

static void new_token_at_3(struct stage *st, int64_t ms)
{
    st->head.token = ms >= 3000 ? "new" : "old";
    st->token = ms >= 3200 ? "new" : "old";
}

static void wrong_token_at_3(struct stage *st, int64_t ms)
{
    st->head.token = ms >= 3000 ? "new" : "old";
}

static void wrong_token_at_end(struct stage *st, int64_t ms)
{
    (void)ms;
    st->head.token = st->s.ended ? "new" : "old";
}

static void tokens(void)
{
    struct stage *st = stage_new("none is given");
    st->head.token = "right";
    CHECK_INT(run(st, 10000), STATUS_ERROR);
    CHECK(said(st, "HTTP status 401") && said(st, "give the cluster's token with --token-file") && said(st, "nothing was submitted"));
    stage_free(st);
    st = stage_new("it is replaced, and a little later here too");
    st->at = new_token_at_3;
    CHECK_INT(run(st, 60000), STATUS_OK);
    CHECK(whole_log(st));
    stage_free(st);
    st = stage_new("it is replaced, and not here");
    st->token = "old";
    st->at = wrong_token_at_3;
    CHECK_INT(run(st, 60000), STATUS_UNKNOWN);
    CHECK(said(st, "job j goes on") && !strstr(st->said.ptr, "old"));
    stage_free(st);
    st = stage_new("it is replaced, and not here, when the job has ended");
    st->token = "old";
    st->at = wrong_token_at_end;
    CHECK_INT(run(st, 60000), STATUS_OK);
    CHECK(said(st, "the end of the log was not read\njob j SUCCEEDED") && !strstr(st->said.ptr, "goes on"));
    stage_free(st);
}

int main(void)
{
    ends();
    quick_ends();
    there_before();
    lost_answers();
    refusals();
    away();
    gone();
    signals();
    timeouts();
    logs();
    tokens();
    return test_done();
}
