/* The dashboard of every head, for whoever has no Ray: what it is told to run, runs for a while and then succeeds, or fails when it is the
 * command "false". It is asked through services/NAME:PORT/proxy, and prints one line for each job. */
#include "request.h"

#include <mobula/json.h>

enum { JOBS_MAX = 256 };

struct dash_job {
    struct slice ns, service, id, entrypoint; /* memory of the server */
    int64_t began_ms, began_wall_ms, stopped_ms;
};

struct dash {
    struct apiserver *s;
    int64_t run_ms;
    struct dash_job jobs[JOBS_MAX];
    size_t count;
};

static struct dash_job *find(struct dash *d, const struct apiserver_passed *p, struct slice id)
{
    for (size_t i = 0; i < d->count; i++)
        if (slice_eq(d->jobs[i].ns, p->ns) && slice_eq(d->jobs[i].service, p->service) && slice_eq(d->jobs[i].id, id))
            return &d->jobs[i];
    return NULL;
}

static int submit(struct dash *d, const struct apiserver_passed *p, struct buf *out)
{
    struct arena *keep = &d->s->forever;
    struct json doc;
    struct err e = {0};
    if (!json_parse(&doc, p->body, keep, &e) || d->count == JOBS_MAX) {
        buf_printf(out, "RuntimeError: %s", e.code ? e.text : "no room for another job");
        return 500;
    }
    struct slice id = json_get_str(json_root(&doc), "submission_id", keep);
    if (find(d, p, id)) {
        buf_printf(out, "ValueError: Job with submission_id %.*s already exists. Please use a different submission_id.", SLICE_ARG(id));
        return 500;
    }
    d->jobs[d->count++] = (struct dash_job){.ns = arena_dup(keep, p->ns),
                                            .service = arena_dup(keep, p->service),
                                            .id = arena_dup(keep, id),
                                            .entrypoint = arena_dup(keep, json_get_str(json_root(&doc), "entrypoint", keep)),
                                            .began_ms = d->s->now.mono_ms,
                                            .began_wall_ms = d->s->now.wall_us / 1000};
    buf_printf(out, "{\"job_id\":\"%.*s\",\"submission_id\":\"%.*s\"}", SLICE_ARG(id), SLICE_ARG(id));
    return 200;
}

static int describe(const struct dash *d, const struct dash_job *j, struct buf *out)
{
    bool ended = j->stopped_ms || d->s->now.mono_ms >= j->began_ms + d->run_ms;
    const char *state = j->stopped_ms ? "STOPPED" : !ended ? "RUNNING" : slice_eq(j->entrypoint, SLICE("false")) ? "FAILED" : "SUCCEEDED";
    struct jout w;
    jout_init(&w, out);
    jout_object(&w);
    jout_kstr(&w, "type", SLICE("SUBMISSION"));
    jout_kstr(&w, "submission_id", j->id);
    jout_kstr(&w, "entrypoint", j->entrypoint);
    jout_kstr(&w, "status", slice_of(state));
    jout_kstr(&w, "message", SLICE(""));
    jout_kint(&w, "start_time", j->began_wall_ms);
    if (ended)
        jout_kint(&w, "end_time", j->began_wall_ms + (j->stopped_ms ? j->stopped_ms - j->began_ms : d->run_ms));
    jout_end(&w);
    return 200;
}

static int print(struct dash *d, const struct dash_job *j, struct buf *out)
{
    struct jout w;
    jout_init(&w, out);
    jout_object(&w);
    jout_kstr(&w, "logs", arena_printf(&d->s->scratch, "a model of Ray runs: %.*s\n", SLICE_ARG(j->entrypoint)));
    jout_end(&w);
    return 200;
}

static int serve(void *owner, const struct apiserver_passed *p, struct buf *out, struct err *e)
{
    struct dash *d = owner;
    struct slice rest = slice_skip(p->target, strlen("/api/jobs/"));
    (void)e;
    if (slice_eq(p->target, SLICE("/api/version"))) {
        buf_printf(out, "{\"version\":\"4\",\"ray_version\":\"2.52.0\",\"session_name\":\"session_%.*s\"}", SLICE_ARG(p->service));
        return 200;
    }
    if (!slice_starts(p->target, SLICE("/api/jobs/")))
        return 404;
    if (slice_empty(rest))
        return submit(d, p, out);
    struct slice id = slice_cut(&rest, '/');
    struct dash_job *j = find(d, p, id);
    if (!j) {
        buf_printf(out, "Job %.*s does not exist", SLICE_ARG(id));
        return 404;
    }
    if (slice_eq(rest, SLICE("logs")))
        return print(d, j, out);
    if (slice_eq(p->method, SLICE("GET")))
        return describe(d, j, out);
    if (!j->stopped_ms && d->s->now.mono_ms < j->began_ms + d->run_ms)
        j->stopped_ms = d->s->now.mono_ms;
    buf_put(out, SLICE("{\"stopped\":true}"));
    return 200;
}

void apiserver_run_jobs(struct apiserver *s, int64_t run_ms)
{
    struct dash *d = arena_new(&s->forever, struct dash);
    *d = (struct dash){.s = s, .run_ms = run_ms};
    apiserver_put_behind(s, (struct apiserver_backend){serve, d});
}
