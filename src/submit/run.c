/* The stages of a submission: what is asked of the dashboard, and what follows from each answer or its absence. */
#include <mobula/submit.h>

#include <stdio.h>

/* ---- words ---- */

enum { LINE_MAX = 2 * ERR_TEXT_MAX };

PRINTF_LIKE(2, 3) static void say(const struct submit *s, const char *fmt, ...)
{
    char line[LINE_MAX], clean[LINE_MAX]; /* a dashboard's words go to a terminal */
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    utf8_clean(slice_of(line), clean, sizeof clean);
    s->o->voice.say(s->o->voice.owner, clean);
}

static struct slice age_text(int64_t seconds, char out[TIME_TEXT_MAX])
{
    return time_format_age(seconds > 0 ? seconds : 0, out);
}

#define ID(s) SLICE_ARG((s)->o->job.id)

/* ---- ends ---- */

static void forget(struct submit *s)
{
    if (s->o->proxy)
        submit_proxy_forget(s->o->proxy);
    else
        ray_dash_forget(s->pool, s);
}

static void end(struct submit *s, int status)
{
    forget(s);
    s->asking = false;
    s->exit = status;
    s->stage = SUBMIT_OVER;
}

/* The steps that a person may take about a job that goes on. */
#define FOLLOW_AGAIN "follow it with the same command and --submission-id %.*s"

static void finish(struct submit *s)
{
    char age[TIME_TEXT_MAX];
    bool well = strcmp(s->status, "SUCCEEDED") == 0;
    bool words = !well && s->words[0];
    say(s, "job %.*s %s after %.*s%s%s", ID(s), s->status, SLICE_ARG(age_text(s->age_s, age)), words ? ": " : "", words ? s->words : "");
    end(s, well ? STATUS_OK : STATUS_ERROR);
}

/* Left before its end, or before the end of its log. */
static void end_unknown(struct submit *s, int status, const char *why)
{
    if (s->ended) {
        say(s, "%s: the end of the log was not read", why);
        finish(s);
        return;
    }
    if (s->submitted)
        say(s, "%s: job %.*s goes on; " FOLLOW_AGAIN, why, ID(s), ID(s));
    else if (s->maybe)
        say(s, "%s: job %.*s may have been submitted; " FOLLOW_AGAIN, why, ID(s), ID(s));
    else
        say(s, "%s: nothing was submitted", why);
    end(s, status == STATUS_UNKNOWN && !s->submitted && !s->maybe ? STATUS_ERROR : status);
}

static void leave(struct submit *s, int status, const char *why, struct now now)
{
    if (s->ended || !s->o->stop || s->stage == SUBMIT_STOP || !(s->submitted || s->maybe)) {
        end_unknown(s, status, why);
        return;
    }
    say(s, "%s: telling job %.*s to stop", why, ID(s));
    forget(s);
    s->asking = false;
    s->stage = SUBMIT_STOP;
    s->leaving = status;
    s->next_ms = now.mono_ms;
    s->stop_until_ms = now.mono_ms + SUBMIT_STOP_MS;
}

void submit_leave(struct submit *s, int signal, struct now now)
{
    char why[64];
    snprintf(why, sizeof why, "ended by signal %d", signal);
    leave(s, STATUS_SIGNAL + signal, why, now);
}

/* ---- no answer, or none that helps ---- */

/* When the dashboard has been silent for too long, counted from the first question that it has not answered. */
static int64_t patience_over(const struct submit *s)
{
    bool log = s->stage == SUBMIT_LOG; /* however long it takes, what comes of it is an answer */
    if (s->o->patience_ms == 0 || s->stage == SUBMIT_STOP || (!s->failures && (!s->asking || log)))
        return TIME_NEVER;
    return (s->failures ? s->failing_ms : s->asked_ms) + s->o->patience_ms;
}

static void give_up(struct submit *s, const char *why, struct now now)
{
    char age[TIME_TEXT_MAX], line[LINE_MAX];
    int64_t silent_ms = now.mono_ms - (s->failures ? s->failing_ms : s->asked_ms);
    s->maybe |= s->asking && s->stage == SUBMIT_POST;
    snprintf(line, sizeof line, "gave up after %.*s without an answer (--dashboard-timeout)%s%s",
             SLICE_ARG(age_text(silent_ms / 1000, age)), why[0] ? ": " : "", why);
    end_unknown(s, STATUS_UNKNOWN, line);
}

static void trouble(struct submit *s, const char *why, struct now now)
{
    if (s->failures == 0)
        s->failing_ms = s->asked_ms;
    s->next_ms = now.mono_ms + backoff_ms(&s->rng, s->failures++, SUBMIT_RETRY_MS, SUBMIT_RETRY_MAX_MS);
    if (now.mono_ms >= patience_over(s)) {
        give_up(s, why, now);
        return;
    }
    if (s->next_ms > patience_over(s))
        s->next_ms = patience_over(s);
    if (strcmp(s->said, why) == 0 && now.mono_ms < s->said_ms + SUBMIT_REPEAT_MS)
        return;
    say(s, "%s; trying again", why);
    snprintf(s->said, sizeof s->said, "%s", why);
    s->said_ms = now.mono_ms;
}

static void recovered(struct submit *s)
{
    if (s->failures && s->submitted)
        say(s, "the dashboard answers again");
    s->failures = 0;
    s->denials = 0;
    s->said[0] = 0;
}

/* A token that was just replaced is read again once. */
static void denied(struct submit *s, const struct ray_dash_answer *a, struct now now)
{
    char why[LINE_MAX];
    if (++s->denials == 1) {
        s->next_ms = now.mono_ms + SUBMIT_RETRY_MS;
        return;
    }
    snprintf(why, sizeof why, "%s; %s", a->err.text,
             a->http_status == 401 ? "give the cluster's token with --token-file, RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH"
                                   : "the token that was given is not this cluster's");
    end_unknown(s, STATUS_UNKNOWN, why);
}

/* ---- answers, by stage ---- */

static void hear_session(struct submit *s, const struct ray_dash_answer *a, struct now now)
{
    char session[SUBMIT_SESSION_MAX] = "";
    if (a->outcome != RAY_DASH_OK) {
        trouble(s, a->err.text, now);
        return;
    }
    slice_copy(slice_head(a->session, sizeof session - 1), session, sizeof session);
    if (s->maybe && session[0] && s->session[0] && strcmp(session, s->session) != 0) {
        say(s,
            "the head was restarted while job %.*s was being submitted: it may have begun and is lost with the old head; it is not "
            "submitted again, because it must not run twice: submit it under another id",
            ID(s));
        end(s, STATUS_ERROR);
        return;
    }
    memcpy(s->session, session, sizeof s->session);
    s->stage = s->o->follow ? SUBMIT_LOOK : SUBMIT_POST;
    s->submitted |= s->o->follow;
    s->next_ms = now.mono_ms;
}

static void hear_post(struct submit *s, const struct ray_dash_answer *a, struct now now)
{
    s->maybe |= a->outcome == RAY_DASH_FAILED || a->outcome == RAY_DASH_LOST;
    s->stage = SUBMIT_SESSION;
    if (a->outcome == RAY_DASH_OK || a->outcome == RAY_DASH_EXISTS) {
        s->again = a->outcome == RAY_DASH_EXISTS && !s->maybe;
        s->submitted = true;
        recovered(s);
        say(s, s->again ? "job %.*s was submitted before: it is not submitted again" : "job %.*s is submitted", ID(s));
        s->stage = SUBMIT_LOOK;
        s->next_ms = now.mono_ms;
        if (!s->o->wait)
            end(s, STATUS_OK);
        return;
    }
    bool refused = a->outcome == RAY_DASH_REFUSED || a->outcome == RAY_DASH_ABSENT;
    if (refused || (a->outcome == RAY_DASH_FAILED && ++s->refusals == SUBMIT_TRIES)) {
        say(s, "Ray does not take the submission: %s", a->err.text);
        end(s, STATUS_ERROR);
        return;
    }
    trouble(s, a->err.text, now);
}

/* An id that is used twice by mistake shows here. */
static void compare_entrypoint(struct submit *s, const struct ray_dash_job *job)
{
    if (s->again && !slice_eq(job->entrypoint, s->o->job.entrypoint))
        say(s, "job %.*s runs another entrypoint than the one given here", ID(s));
    s->again = false;
}

static void tell_status(struct submit *s, const struct ray_dash_job *job)
{
    char words[ERR_TEXT_MAX], status[SUBMIT_STATUS_MAX];
    ray_dash_job_words(job, words, sizeof words);
    snprintf(status, sizeof status, "%.*s", SLICE_ARG(job->status));
    bool waits = strcmp(status, "PENDING") == 0 && words[0];
    bool changed = strcmp(status, s->status) != 0 || (waits && strcmp(words, s->words) != 0);
    memcpy(s->status, status, sizeof s->status);
    memcpy(s->words, words, sizeof s->words);
    s->ended = ray_dash_job_ended(slice_of(status));
    if (changed && !s->ended)
        say(s, "job %.*s is %s%s%s", ID(s), status, waits ? ": " : "", waits ? words : "");
}

static void hear_job(struct submit *s, const struct ray_dash_answer *a, struct now now)
{
    if (a->outcome == RAY_DASH_ABSENT && s->o->follow && !s->status[0]) {
        say(s, "Ray knows no job %.*s; what is to be submitted stands behind \"--\"", ID(s));
        end(s, STATUS_ERROR);
        return;
    }
    if (a->outcome == RAY_DASH_ABSENT) {
        s->stage = SUBMIT_GONE;
        s->next_ms = now.mono_ms;
        return;
    }
    if (a->outcome != RAY_DASH_OK) {
        trouble(s, a->err.text, now);
        return;
    }
    const struct ray_dash_job *job = &a->jobs[0];
    compare_entrypoint(s, job);
    tell_status(s, job);
    bool timed = job->start_ms > 0 && job->end_ms >= job->start_ms;
    s->age_s = (timed ? job->end_ms - job->start_ms : now.mono_ms - s->began_ms) / 1000;
    bool runs = strcmp(s->status, "PENDING") != 0;
    s->next_ms = now.mono_ms + s->gap_ms;
    if (s->ended)
        s->log.failures = 0; /* the last of it has tries of its own */
    if (s->ended || (runs && now.mono_ms >= s->log.next_ms)) {
        s->stage = SUBMIT_LOG;
        s->next_ms = now.mono_ms;
    }
}

static bool show(struct submit *s, struct slice text)
{
    return s->o->voice.show(s->o->voice.owner, text);
}

/* The log comes from its beginning each time: what was shown is passed over. */
static void on_text(void *owner, uint64_t tag, struct slice piece)
{
    struct submit *s = owner;
    (void)tag;
    uint64_t known = s->log.shown > s->log.seen ? s->log.shown - s->log.seen : 0;
    s->log.seen += piece.len;
    if (s->log.deaf || known >= piece.len)
        return;
    s->log.news = true;
    s->log.shown = s->log.seen;
    s->log.deaf = !show(s, slice_skip(piece, (size_t)known));
}

static void log_failed(struct submit *s, const struct ray_dash_answer *a, struct now now)
{
    s->log.failures++;
    if (s->log.failures == SUBMIT_TRIES)
        say(s, "the %slog of job %.*s cannot be read: %s", s->ended ? "rest of the " : "", ID(s), a->err.text);
    if (s->ended && s->log.failures >= SUBMIT_TRIES) {
        finish(s);
        return;
    }
    int64_t again_ms = now.mono_ms + backoff_ms(&s->rng, s->log.failures - 1, SUBMIT_RETRY_MS, SUBMIT_RETRY_MAX_MS);
    s->next_ms = again_ms;
    if (!s->ended) { /* the job matters more */
        s->stage = SUBMIT_LOOK;
        s->log.next_ms = again_ms;
        s->next_ms = now.mono_ms + s->gap_ms;
    }
}

static void hear_log(struct submit *s, const struct ray_dash_answer *a, struct now now)
{
    if (a->outcome != RAY_DASH_OK) {
        log_failed(s, a, now);
        return;
    }
    if (s->log.seen < s->log.shown) {
        say(s, "the log of job %.*s has become shorter: what is new is shown from here on", ID(s));
        s->log.shown = s->log.seen;
    }
    s->log.failures = 0;
    s->log.next_ms = now.mono_ms + (now.mono_ms - s->log.asked_ms) * SUBMIT_LOG_SHARE;
    s->gap_ms = s->log.news ? SUBMIT_LOOK_MS : s->gap_ms + s->gap_ms / 4;
    s->gap_ms = s->gap_ms < SUBMIT_LOOK_MAX_MS ? s->gap_ms : SUBMIT_LOOK_MAX_MS;
    s->next_ms = now.mono_ms + s->gap_ms;
    s->stage = SUBMIT_LOOK;
    if (s->ended)
        finish(s);
}

static void hear_gone(struct submit *s, const struct ray_dash_answer *a, struct now now)
{
    if (a->outcome != RAY_DASH_OK) {
        trouble(s, a->err.text, now);
        return;
    }
    bool other = !slice_empty(a->session) && !slice_eq(slice_head(a->session, SUBMIT_SESSION_MAX - 1), slice_of(s->session));
    say(s,
        other ? "the head was restarted and does not know job %.*s any more: it is lost, as is all that ran there; submit it again"
              : "Ray does not know job %.*s any more: somebody deleted it; its end is not known",
        ID(s));
    end(s, STATUS_ERROR);
}

static void hear_stop(struct submit *s, const struct ray_dash_answer *a, struct now now)
{
    if (a->outcome == RAY_DASH_OK) {
        say(s, a->done ? "job %.*s was told to stop" : "job %.*s had ended", ID(s));
        end(s, s->leaving);
    } else if (a->outcome == RAY_DASH_ABSENT) {
        say(s, "there is no job %.*s", ID(s));
        end(s, s->leaving);
    } else if (now.mono_ms >= s->stop_until_ms) {
        end_unknown(s, s->leaving, a->err.text);
    } else {
        s->next_ms = now.mono_ms + SUBMIT_RETRY_MS;
    }
}

/* ---- asking ---- */

static const struct {
    enum ray_dash_call call;
    void (*hear)(struct submit *s, const struct ray_dash_answer *a, struct now now);
} stages[] = {
    [SUBMIT_SESSION] = {RAY_DASH_VERSION, hear_session},
    [SUBMIT_POST] = {RAY_DASH_SUBMIT, hear_post},
    [SUBMIT_LOOK] = {RAY_DASH_JOB, hear_job},
    [SUBMIT_LOG] = {RAY_DASH_LOG, hear_log},
    [SUBMIT_GONE] = {RAY_DASH_VERSION, hear_gone},
    [SUBMIT_STOP] = {RAY_DASH_STOP, hear_stop},
};

static void on_answer(void *owner, uint64_t tag, const struct ray_dash_answer *a, struct now now)
{
    struct submit *s = owner;
    (void)tag;
    s->asking = false;
    if (s->log.deaf) {
        end_unknown(s, STATUS_UNKNOWN, "nobody reads the log any more");
        return;
    }
    if (a->outcome == RAY_DASH_DENIED && s->stage != SUBMIT_STOP) {
        denied(s, a, now);
        return;
    }
    bool looking = s->stage == SUBMIT_LOOK || s->stage == SUBMIT_GONE || (s->stage == SUBMIT_SESSION && !s->maybe);
    if (looking && (a->outcome == RAY_DASH_OK || a->outcome == RAY_DASH_ABSENT))
        recovered(s);
    stages[s->stage].hear(s, a, now);
}

static void ask(struct submit *s, struct now now)
{
    struct slice token = SLICE_NONE;
    struct err e = {0};
    const struct submit_voice *v = &s->o->voice;
    s->asked_ms = now.mono_ms;
    if (v->token && !v->token(v->owner, &token, &e)) {
        trouble(s, e.text, now);
        return;
    }
    const struct ray_dash_request r = {
        .call = stages[s->stage].call, .id = s->o->job.id, .body = s->stage == SUBMIT_POST ? s->o->body : SLICE_NONE, .token = token};
    const struct ray_dash_to to = {
        .host = s->o->host, .port = s->o->port, .done = on_answer, .owner = s, .text = s->stage == SUBMIT_LOG ? on_text : NULL};
    s->asking = s->o->proxy ? submit_proxy_ask(s->o->proxy, &to, &r, now, &e) : ray_dash_ask(s->pool, &to, &r, &e);
    if (!s->asking) {
        end_unknown(s, STATUS_UNKNOWN, e.text);
        return;
    }
    if (s->stage == SUBMIT_LOG) {
        s->log.seen = 0;
        s->log.news = false;
        s->log.asked_ms = now.mono_ms;
    }
}

/* ---- the run ---- */

void submit_begin(struct submit *s, const struct submit_options *o, struct ray_dash_pool *pool, uint64_t seed, struct now now)
{
    *s = (struct submit){.o = o, .pool = pool, .began_ms = now.mono_ms, .next_ms = now.mono_ms, .gap_ms = SUBMIT_LOOK_MS};
    rng_seed(&s->rng, seed);
}

static int64_t time_over(const struct submit *s)
{
    if (s->stage == SUBMIT_STOP)
        return s->stop_until_ms;
    return s->o->timeout_ms ? s->began_ms + s->o->timeout_ms : TIME_NEVER;
}

/* Monotonic time at which to print that the first question has no answer yet, in ms; TIME_NEVER: not at all. */
static int64_t hint_at(const struct submit *s)
{
    return s->asking && s->stage == SUBMIT_SESSION && !s->hinted && !s->failures && !s->submitted ? s->asked_ms + CLI_HINT_MS : TIME_NEVER;
}

int64_t submit_step(struct submit *s, struct now now)
{
    if (!submit_over(s) && now.mono_ms >= time_over(s)) {
        if (s->stage == SUBMIT_STOP)
            end_unknown(s, s->leaving, "it could not be told to stop");
        else
            leave(s, STATUS_UNKNOWN, "the time is over (--timeout)", now);
    }
    if (now.mono_ms >= hint_at(s)) {
        say(s, "the dashboard has not answered so far");
        s->hinted = true;
    }
    if (!submit_over(s) && s->asking && now.mono_ms >= patience_over(s))
        give_up(s, s->said, now);
    if (!submit_over(s) && !s->asking && now.mono_ms >= s->next_ms)
        ask(s, now);
    if (submit_over(s))
        return now.mono_ms;
    int64_t over = time_over(s) < patience_over(s) ? time_over(s) : patience_over(s);
    over = over < hint_at(s) ? over : hint_at(s);
    return s->asking || over < s->next_ms ? over : s->next_ms;
}
