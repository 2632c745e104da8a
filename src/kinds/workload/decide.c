/* What is to be done for a workload, and what is told of it. */
#include "workload.h"

/* What a status says. */
struct state {
    const char *state, *reason;
    struct slice message, started, ended, url;
    int64_t attempts;
};

static bool is_live(const struct workload_view *in, uint32_t i)
{
    return !in->objects[i].deleting;
}

static const struct workload_object *newest(const struct workload_view *in)
{
    const struct workload_object *best = NULL;
    for (uint32_t i = 0; i < in->count; i++)
        if (is_live(in, i) && (!best || in->objects[i].generation > best->generation))
            best = &in->objects[i];
    return best;
}

/* ---- states of objects ---- */

static const struct word {
    const char *theirs, *ours;
} job_words[] = {{"Complete", "SUCCEEDED"}, {"Failed", "FAILED"},       {"ValidationFailed", "FAILED"},
                 {"Running", "RUNNING"},    {"Suspended", "SUSPENDED"}, {"Suspending", "SUSPENDED"}},
  cluster_words[] = {{"ready", "RUNNING"}, {"suspended", "SUSPENDED"}, {"failed", "FAILED"}};

static const char *translate(struct jval said, const struct word *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (json_str_eq(said, slice_of(words[i].theirs)))
            return words[i].ours;
    return "STARTING";
}

static const char *literal_reason(struct slice reason, struct arena *a)
{
    return slice_empty(reason) ? "" : arena_dup(a, slice_head(reason, 256)).ptr;
}

static void read_job_state(struct jval s, struct arena *a, struct state *out)
{
    out->state = translate(json_get(s, "jobDeploymentStatus"), job_words, COUNT_OF(job_words));
    out->reason = literal_reason(json_get_str(s, "reason", a), a);
    out->message = json_get_str(s, "message", a);
    out->started = json_get_str(s, "startTime", a);
    out->ended = json_get_str(s, "endTime", a);
    out->url = json_get_str(s, "dashboardURL", a);
    out->attempts = json_get_int(s, "failed", 0) + json_get_int(s, "succeeded", 0);
    out->attempts += strcmp(out->state, "STARTING") == 0 || strcmp(out->state, "RUNNING") == 0;
}

static void read_cluster_state(struct jval s, struct arena *a, struct state *out)
{
    out->state = translate(json_get(s, "state"), cluster_words, COUNT_OF(cluster_words));
    out->message = json_get_str(s, "reason", a);
    struct slice ip = json_get_str(s, "head.serviceName", a), port = json_get_str(s, "endpoints.dashboard", a);
    if (!slice_empty(ip) && !slice_empty(port))
        out->url = arena_printf(a, "%.*s:%.*s", SLICE_ARG(ip), SLICE_ARG(port));
}

static void read_state(const struct workload_object *o, struct arena *a, struct state *out)
{
    struct json doc;
    struct err ignored = {0}; /* it was read before */
    *out = (struct state){.state = "PENDING", .reason = ""};
    if (slice_empty(o->status) || !json_parse(&doc, o->status, a, &ignored))
        return;
    if (o->kind == &kind_rayjob)
        read_job_state(json_root(&doc), a, out);
    else
        read_cluster_state(json_root(&doc), a, out);
}

/* ---- what is told ---- */

static void write_objects(const struct workload_view *in, struct jout *w)
{
    jout_karray(w, "objects");
    for (uint32_t i = 0; i < in->count && i < 32; i++) {
        const struct workload_object *o = &in->objects[i];
        jout_object(w);
        jout_kstr(w, "apiVersion", o->kind->api_version);
        jout_kstr(w, "kind", slice_of(o->kind->name));
        jout_kstr(w, "namespace", o->ns);
        jout_kstr(w, "name", o->name);
        jout_kstr(w, "uid", o->uid);
        jout_end(w);
    }
    jout_end(w);
}

static void write_text(struct jout *w, const char *key, struct slice text)
{
    if (!slice_empty(text))
        jout_kstr(w, key, text);
}

static struct slice write_report(const struct workload_view *in, const struct state *s, struct arena *a)
{
    struct buf b;
    struct jout w;
    char message[LIMIT_REMOTE_MESSAGE];
    buf_init(&b, LIMIT_REMOTE_STATUS);
    jout_init(&w, &b);
    jout_object(&w);
    jout_kstr(&w, "uid", in->uid);
    jout_kint(&w, "generation", in->generation);
    jout_kstr(&w, "state", slice_of(s->state));
    write_text(&w, "reason", slice_of(s->reason));
    write_text(&w, "message", utf8_copy(s->message, message, sizeof message));
    if (s->attempts)
        jout_kint(&w, "attempts", s->attempts);
    write_text(&w, "startedAt", s->started);
    write_text(&w, "endedAt", s->ended);
    write_objects(in, &w);
    if (!slice_empty(s->url) && s->url.len < LIMIT_NET_HOST + 16) {
        jout_karray(&w, "urls");
        jout_object(&w);
        jout_kstr(&w, "name", SLICE("dashboard"));
        jout_kstr(&w, "url", arena_printf(a, "http://%.*s", SLICE_ARG(s->url)));
        jout_end(&w);
        jout_end(&w);
    }
    jout_end(&w);
    struct slice out = b.full ? SLICE_NONE : arena_dup(a, buf_slice(&b));
    buf_free(&b);
    return out;
}

/* ---- the decision ---- */

static void delete_all(const struct workload_view *in, struct plan *p, const char *why)
{
    for (uint32_t i = 0; i < in->count; i++) {
        if (!is_live(in, i))
            continue;
        struct action *act = plan_add(p, &workload_delete);
        act->name = in->objects[i].name;
        act->uid = in->objects[i].uid;
        act->index = in->objects[i].kind == &kind_rayjob;
        act->why = why;
    }
}

static void say(struct state *out, const char *state, const char *reason, struct slice message)
{
    out->state = state;
    out->reason = reason;
    out->message = message;
}

static void end(const struct workload_view *in, struct plan *p, struct state *out)
{
    bool gone = in->count == 0;
    if (in->held) {
        say(out, out->state, "DeletionHeld",
            SLICE("the control plane does not have this workload any more, and many others neither: nothing is deleted for now"));
        return;
    }
    if (in->ended)
        say(out, gone ? "DELETED" : "TERMINATING", "", SLICE(""));
    else
        say(out, gone ? "TERMINATED" : "TERMINATING", "", SLICE(""));
    if (!gone && in->frozen)
        say(out, "TERMINATING", "Frozen", SLICE("remote writes are switched off in this cluster (policy: freeze)"));
    else
        delete_all(in, p, in->ended ? "its workload was deleted in the control plane" : "its workload is to be ended");
}

/* Something stands in the way of what is to be applied. */
static bool is_blocked(const struct workload_view *in, struct plan *p, struct state *out)
{
    enum { NAME_LOOK_MS = 5 * 1000 };
    const struct workload_model *m = in->model;
    const struct group_failures *r = in->refusals;
    const char *until_then = in->count ? out->state : "PENDING";
    if (in->outside) {
        say(out, "REFUSED", "NamespaceNotWatched", SLICE("the operator of this cloud does not watch the project's namespace"));
    } else if (!m->kind) {
        say(out, "REFUSED", m->reason, m->message);
    } else if (in->name != WORKLOAD_NAME_FREE) {
        bool waits = in->name == WORKLOAD_NAME_GOING;
        say(out, waits ? "PENDING" : "REFUSED", waits ? "NameInUse" : "NameTaken",
            waits ? SLICE("an older object of this name is being deleted")
                  : SLICE("an object of this name is there that was not made from this workload: it is left alone"));
        plan_look_again(p, in->now.mono_ms + NAME_LOOK_MS);
    } else if (in->frozen) {
        say(out, until_then, "Frozen", SLICE("remote writes are switched off in this cluster (policy: freeze)"));
    } else if (r && r->count) {
        say(out, until_then, "ApplyRefused", slice_of(r->reason));
        if (in->now.mono_ms >= r->not_before_ms)
            return false;
        plan_look_again(p, r->not_before_ms);
    } else {
        return false;
    }
    return true;
}

void workload_decide(const struct workload_view *in, struct arena *a, struct plan *p, struct slice *report)
{
    const struct workload_object *o = newest(in);
    struct state s = {.state = "PENDING", .reason = ""};
    *p = (struct plan){.next_ms = TIME_NEVER, .arena = a};
    *report = SLICE_NONE;
    if (o)
        read_state(o, a, &s);
    if (in->ended || (in->known && in->model->terminate)) {
        end(in, p, &s);
    } else if (!in->known) {
        return; /* only its object is here: the control plane's list tells more */
    } else if (in->made < in->generation) {
        if (!is_blocked(in, p, &s)) {
            struct action *act = plan_add(p, &workload_apply);
            act->name = in->model->name;
            act->uid = o ? o->uid : SLICE_NONE;
        }
    } else if (!o) {
        say(&s, "TERMINATED", "DeletedHere",
            SLICE("somebody has deleted in the cluster what was made from this workload: it is made again when the workload changes"));
    }
    *report = write_report(in, &s, a);
}
