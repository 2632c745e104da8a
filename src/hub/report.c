/* Workload.status, as operators report it, and the finalizer that keeps a workload until its operator has nothing of it any more. What is
 * written is taken from the watch: an answer may be newer than what the watch has shown, and revisions are the watch's. */
#include "private.h"

#include <stdio.h>

/* One write that a call waits for. */
struct write {
    struct slice uid;
    uint64_t said, reporter;
    int64_t sequence;
    bool done;
};

static void fail_as(struct call *c, const char *why)
{
    if (c->sync.failed)
        return;
    c->sync.failed = true;
    snprintf(c->sync.failure, sizeof c->sync.failure, "%s", why);
}

static void fail(struct call *c, const struct kube_answer *a)
{
    fail_as(c, a->outcome == KUBE_REFUSED ? a->status.message : a->err.text);
}

/* One write of a workload at a time, or an operator that reports on one again and again has all of the API server's time. */
static bool begin_write(struct call *c, struct workload *w)
{
    if (w->writing)
        fail_as(c, "another report of the same workload is being written");
    bool free = !w->writing;
    w->writing = true;
    return free;
}

/* A refusal of this one write (it is gone, it is another of the same name, the status is not what the CRD allows) would come again each
 * time: it is said and passed over. What concerns all writes makes the operator report again. */
static void on_write(struct hub *h, struct call *c, void *about, const struct kube_answer *a)
{
    const struct write *one = about;
    struct workload *w = map_get(&h->workloads, one->uid);
    int code = a->outcome == KUBE_REFUSED ? a->status.code : 0;
    if (w)
        w->writing = false;
    bool lost = a->outcome != KUBE_OK && code != 404 && code != 409 && code != 422 && code != 400 && !answer_too_large(a);
    if (a->outcome == KUBE_OK) {
        h->stats.statuses++;
        if (w && one->done)
            w->done = true;
        if (!w || one->done)
            return;
        w->report.said = one->said;
        w->report.reporter = one->reporter;
        w->report.sequence = one->sequence;
        return;
    }
    if (lost || (one->done && code != 404)) {
        fail(c, a);
        return;
    }
    h->stats.dropped++;
    if (code != 404 && log_memory_pass(&h->said, hash64(one->uid, (uint64_t)code), h->now))
        log_warn("a status was refused and is passed over", LF("uid", one->uid), LF("workload", w ? w->name : SLICE_NONE),
                 LF_CSTR("error", a->status.message));
}

static void put_word(struct jout *w, const char *key, struct jval v, struct arena *a)
{
    struct slice text = json_str(v, a);
    if (text.ptr)
        jout_kstr(w, key, arena_clean(a, text, LIMIT_HUB_WORD));
}

/* Writes these members of the first LIMIT_HUB_ITEMS objects of a list. Objects with a url that clean_url refuses are left out. */
static void put_list(struct jout *w, const char *key, struct jval v, const char *const *members, struct arena *a)
{
    struct jval k, one;
    unsigned left = LIMIT_HUB_ITEMS;
    if (json_type(v) != JSON_ARRAY)
        return;
    jout_karray(w, key);
    for (struct jiter it = json_iter(v); left && json_next(&it, &k, &one); left--) {
        struct jval url = json_get(one, "url");
        if (json_there(url) && !clean_url(json_str(url, a)))
            continue;
        jout_object(w);
        for (const char *const *m = members; *m; m++)
            put_word(w, *m, json_get(one, *m), a);
        jout_end(w);
    }
    jout_end(w);
}

/* Writes the body of a status update, in the form of the CRD, to h->body. Returns a hash that leaves out reporter and time. */
static uint64_t write_status(struct call *c, struct jval status, struct slice uid)
{
    struct hub *h = c->hub;
    static const char *const objects[] = {"apiVersion", "kind", "namespace", "name", "uid", NULL}, *const urls[] = {"name", "url", NULL};
    struct arena *a = &c->arena;
    const struct workload *is = map_get(&h->workloads, uid);
    struct slice message = json_get_str(status, "message", a);
    struct jout w;
    buf_clear(&h->body);
    buf_printf(&h->body, "[{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":\"%.*s\"},{\"op\":\"add\",\"path\":\"/status\",\"value\":",
               SLICE_ARG(is ? is->object_uid : uid));
    jout_init(&w, &h->body);
    jout_object(&w);
    jout_kint(&w, "observedGeneration", json_get_int(status, "generation", 0) - (is ? is->base : 0));
    put_word(&w, "state", json_get(status, "state"), a);
    put_word(&w, "reason", json_get(status, "reason"), a);
    if (message.ptr)
        jout_kstr(&w, "message", clean_message(message, a));
    jout_kint(&w, "attempts", json_get_int(status, "attempts", 0));
    put_time(&w, "startedAt", json_get(status, "startedAt"), a);
    put_time(&w, "endedAt", json_get(status, "endedAt"), a);
    put_list(&w, "objects", json_get(status, "objects"), objects, a);
    put_list(&w, "urls", json_get(status, "urls"), urls, a);
    uint64_t said = hash64(buf_slice(&h->body), 1);
    if (is && !slice_empty(is->report.ray))
        jout_kraw(&w, "ray", is->report.ray);
    jout_form(&w, "reporter:'%.*s',sequence:%lld", SLICE_ARG(c->sync.instance), (long long)json_get_int(status, "sequence", 0));
    jout_end(&w);
    buf_put(&h->body, SLICE("}]"));
    return said;
}

/* ---- the report of a call ---- */

static void remove_finalizer(struct call *c, const struct workload *w)
{
    struct kube_request r = finalizer_request(c->hub, w, false);
    struct write *one = arena_new(&c->arena, struct write);
    *one = (struct write){.uid = arena_dup(&c->arena, w->uid), .done = true};
    hub_ask(c->hub, c, &r, on_write, one);
}

static void report(struct call *c, struct jval status)
{
    struct hub *h = c->hub;
    struct arena *a = &c->arena;
    struct slice uid = json_get_str(status, "uid", a);
    struct workload *w = map_get(&h->workloads, uid);
    bool over = json_is(json_get(status, "state"), "DELETED");
    if (!w || w->of != c->cloud) {
        h->stats.dropped++;
        return;
    }
    if (over && w->deleting) {
        if (w->finalizer >= 0 && begin_write(c, w))
            remove_finalizer(c, w);
        return;
    }
    uint64_t reporter = hash64(c->sync.instance, 1);
    int64_t sequence = json_get_int(status, "sequence", 0);
    if (json_get_int(status, "generation", 0) < w->observed || (reporter == w->report.reporter && sequence < w->report.sequence)) {
        h->stats.dropped++; /* older than the stored one: it was delayed on the way */
        return;
    }
    uint64_t said = write_status(c, status, w->uid);
    if (said == w->report.said || !begin_write(c, w))
        return;
    struct write *one = arena_new(a, struct write);
    *one = (struct write){.uid = arena_dup(a, uid), .said = said, .reporter = reporter, .sequence = sequence};
    struct kube_request r = workload_patch(h, w, "status", KUBE_TYPE_JSON_PATCH);
    hub_ask(h, c, &r, on_write, one);
}

static void on_ray(struct hub *h, struct call *c, void *about, const struct kube_answer *a)
{
    struct workload *w = map_get(&h->workloads, *(const struct slice *)about);
    if (w)
        w->writing = false;
    h->stats.dropped += a->outcome == KUBE_REFUSED;
    if (a->outcome != KUBE_OK && a->outcome != KUBE_REFUSED)
        fail(c, a);
}

/* The operator's knowledge of a workload's own pods. */
static void report_ray(struct call *c, struct jval report)
{
    struct hub *h = c->hub;
    struct workload *w = map_get(&h->workloads, json_get_str(report, "uid", &c->arena));
    struct jval ray = json_get(report, "ray");
    if (!w || w->of != c->cloud || json_type(ray) != JSON_OBJECT || json_raw(ray).len > LIMIT_HUB_REPORT) {
        h->stats.dropped++;
        return;
    }
    if (!begin_write(c, w))
        return;
    struct slice *uid = arena_new(&c->arena, struct slice);
    *uid = arena_dup(&c->arena, w->uid);
    struct kube_request r = ray_request(c, w, ray);
    hub_ask(h, c, &r, on_ray, uid);
}

void reports_write(struct call *c, call_step *then)
{
    struct jval k, one, body = json_root(&c->sync.doc);
    struct buf others;
    c->then = then;
    c->pending++;
    buf_init(&others, LIMIT_HUB_BODY);
    for (struct jiter it = json_iter(json_get(body, "statuses")); json_next(&it, &k, &one);)
        report(c, one);
    for (struct jiter it = json_iter(json_get(body, "reports")); json_next(&it, &k, &one);)
        report_ray(c, one);
    for (struct jiter it = json_iter(json_get(body, "answers")); json_next(&it, &k, &one);)
        if (!question_answered(c->cloud, one)) {
            buf_putc(&others, others.len ? ',' : '[');
            buf_put(&others, json_raw(one));
        }
    if (others.len && buf_putc(&others, ']') && peer_holds(c->hub, c->cloud) && !peer_forwarded(c))
        peer_answers(c, buf_slice(&others));
    buf_free(&others);
    call_settle(c);
}
