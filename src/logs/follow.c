/* Follows the log of a job until the job has ended. */
#include "live.h"

enum {
    LOOK_MS = 1000, /* between two looks at a job that is followed … */
    LOG_SHARE = 4,  /* … but a log that took so long to read is not read again before so many times as long */
    LAST_TRIES = 3, /* of reading the last of it, when the job has ended */
};

/* A note to people, once. */
static void say(struct logs_live *l, struct slice text)
{
    const struct logs_sink *sink = l->view.sink;
    char line[2 * ERR_TEXT_MAX];
    uint64_t hash = hash64(text, 0);
    if (hash == l->said)
        return;
    l->said = hash;
    sink->note(sink->owner, arena_printf(l->seek.a, "logs: %s", utf8_clean(text, line, sizeof line).ptr));
}

enum look { LOOK_AGAIN, LOOK_DONE, LOOK_FAILED };

/* The cluster, or its head, is gone, and the log with it. Prints the end of the log that status has: a caller that has followed the log
 * often misses nothing else. */
static enum look gone(struct logs_live *l)
{
    const struct logs_options *o = l->o;
    const struct logs_sink *sink = l->view.sink;
    if (!slice_empty(o->bucket.url) && logs_bucket_driver(&o->bucket, sink, l->seek.ns, l->job.cluster, l->job.id, l->view.shown, &l->e))
        return LOOK_DONE;
    if (l->e.code != ERR_NONE)
        say(l, arena_printf(l->seek.a, "the job's log cannot be read from %.*s: %s", SLICE_ARG(o->bucket.url), l->e.text));
    l->e = (struct err){0};
    if (l->view.shown && logs_view_rest(&l->view, l->job.message))
        return LOOK_DONE;
    bool told = !slice_empty(l->job.message);
    say(l, arena_printf(l->seek.a,
                        "RayJob %.*s is %.*s, and its head is gone with the job's log%s. Read it while the job runs (mobula logs rayjob "
                        "%.*s -n %.*s -f), or keep the cluster (ttlSecondsAfterFinished), or run the operator with --bucket",
                        SLICE_ARG(l->o->name), SLICE_ARG(l->job.phase), told ? ": these are the last words of its status" : "",
                        SLICE_ARG(l->o->name), SLICE_ARG(l->seek.ns)));
    if (told && sink->text(sink->owner, l->job.message))
        sink->text(sink->owner, SLICE("\n"));
    return LOOK_FAILED;
}

/* It has no output yet. */
static enum look waits(struct logs_live *l)
{
    struct slice phase = slice_empty(l->job.phase) ? SLICE("new") : l->job.phase;
    bool words = !slice_empty(l->job.message);
    struct slice text = arena_printf(l->seek.a, "RayJob %.*s is %.*s and has printed nothing yet%s%.*s", SLICE_ARG(l->o->name),
                                     SLICE_ARG(phase), words ? ": " : "", SLICE_ARG(l->job.message));
    if (l->o->follow && !l->over) {
        say(l, text);
        return LOOK_AGAIN;
    }
    err_set(&l->e, ERR_STATUS, "%.*s%s", SLICE_ARG(text), l->over ? "" : " (-f waits for it)");
    return LOOK_FAILED;
}

static enum look trouble(struct logs_live *l)
{
    bool wait = l->o->follow && l->seek.ask.heard && !l->seek.ask.signal && !l->view.deaf && (!l->over || ++l->failed < LAST_TRIES);
    if (!wait)
        return LOOK_FAILED;
    say(l, arena_printf(l->seek.a, "%s; trying again", l->e.text));
    l->e = (struct err){0};
    return LOOK_AGAIN;
}

static enum look look(struct logs_live *l)
{
    struct slice path;
    l->absent = false;
    bool known = l->o->cluster || logs_read_job(l);
    if (l->o->cluster)
        l->job = (struct logs_target){.id = l->o->id, .cluster = l->o->name};
    l->missing = !known && l->absent;
    if (!known)
        return l->absent ? LOOK_FAILED : trouble(l);
    if (slice_empty(l->job.id) || slice_empty(l->job.cluster))
        return waits(l);
    uint64_t id = hash64(l->job.id, 0);
    if (id != l->id)
        l->view.shown = 0; /* another attempt: another job */
    l->id = id;
    bool pod = l->job.pods && logs_find_submitter(l, &path);
    bool read = pod ? logs_read_submitter(l, path) : logs_read_head(l);
    if (read && !l->view.deaf)
        return l->over || !l->o->follow ? LOOK_DONE : LOOK_AGAIN;
    if (l->o->cluster || !l->absent || l->seek.ask.signal || (l->job.begun && !l->over))
        return trouble(l);
    l->e = (struct err){0}; /* it says less than these */
    return l->over ? gone(l) : waits(l);
}

enum logs_end logs_follow(struct logs_live *l)
{
    struct now began = clock_now();
    enum look next;
    while ((next = look(l)) == LOOK_AGAIN) {
        int64_t took_ms = clock_now().mono_ms - began.mono_ms;
        if (!ask_pause(&l->seek.ask, took_ms * LOG_SHARE > LOOK_MS ? took_ms * LOG_SHARE : LOOK_MS))
            break;
        arena_reset(&l->a, MIB);
        began = clock_now();
    }
    if (l->seek.ask.signal)
        return LOGS_SIGNAL;
    l->deleted = next != LOOK_DONE && l->missing && !slice_empty(l->o->bucket.url);
    return next == LOOK_DONE ? LOGS_DONE : LOGS_FAILED;
}
