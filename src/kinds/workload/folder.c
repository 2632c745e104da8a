/* The folder that came with a job: fetched from the control plane once the job's object is there, and stored beside it in a ConfigMap that
 * the object owns. Its pods wait for the ConfigMap as for any volume. One folder is under way at a time, so that not all of them are in
 * memory after a start. The name has the workload's generation in it: what is there by this name was stored for this very object. */
#include "workload.h"

#include <mobula/tls.h>

enum { BUSY_MS = 500, RETRY_MS = 1000, RETRY_MAX_MS = 60 * 1000, CALL_MS = 60 * 1000 };

struct workload_folder {
    int64_t generation; /* of the one that is there */
    bool there;
    uint32_t failures;
    int64_t again_ms;
    struct err why; /* it is not there */
};

static kube_done on_fetched, on_stored;

/* The call of the folder under way has ended. Returns the folder's workload; NULL: it wants no folder any more, or we do not lead. */
static struct record *end_call(struct workloads *s, struct now now)
{
    struct record *c = workload_find(s, slice_of(s->fetching));
    s->fetching[0] = '\0';
    s->op->now = now;
    if (!c || !workload_of(c)->folder || !s->op->phase.leading || s->op->phase.stopping)
        return NULL;
    record_touch(s->op, c);
    return c;
}

static void failed(struct workloads *s, struct record *c, const struct err *why)
{
    struct workload_folder *f = workload_of(c)->folder;
    f->why = *why;
    f->again_ms = s->op->now.mono_ms + backoff_ms(&s->op->rng, f->failures++, RETRY_MS, RETRY_MAX_MS);
    if (log_limit_pass(&s->folder_log, s->op->now))
        log_warn("the working directory of a job cannot be stored: its pods wait for it", LF("namespace", istr_slice(c->ns)),
                 LF_CSTR("workload", c->name), LF_CSTR("error", why->text), LF_INT("retry_in_ms", f->again_ms - s->op->now.mono_ms));
}

/* ---- stored here ---- */

static void stored(struct record *c)
{
    struct workload_folder *f = workload_of(c)->folder;
    *f = (struct workload_folder){.generation = c->seen.generation, .there = true};
    log_info("remote write: a working directory was stored", LF("namespace", istr_slice(c->ns)), LF_CSTR("workload", c->name),
             LF_CSTR("uid", c->uid), LF_INT("generation", c->seen.generation));
}

static void on_stored(void *owner, uint64_t tag, const struct kube_answer *a, struct now now)
{
    struct workloads *s = owner;
    struct record *c = end_call(s, now);
    char words[ANSWER_WORDS];
    struct err e = {0};
    if (!c || c->seen.generation != (int64_t)tag)
        return;
    if (a->outcome == KUBE_OK || (a->outcome == KUBE_REFUSED && a->status.code == 409)) {
        stored(c);
        return;
    }
    err_set(&e, ERR_STATUS, "its ConfigMap cannot be created: %s", answer_words(a, words));
    failed(s, c, &e);
}

static bool store_folder(struct workloads *s, struct record *c, const struct work_folder *f, struct err *e)
{
    struct op *op = s->op;
    struct buf body;
    buf_init(&body, LIMIT_JSON_ITEM);
    work_folder_write(f, &op->arenas.event, &body);
    buf_clear(&op->out.path);
    kube_path(&op->out.path, &kube_configmaps, istr_slice(c->ns), SLICE_NONE, SLICE_NONE);
    const struct kube_request r = {.lane = KUBE_LANE_MAIN,
                                   .method = SLICE("POST"),
                                   .path = buf_slice(&op->out.path),
                                   .content_type = SLICE(KUBE_TYPE_JSON),
                                   .body = buf_slice(&body),
                                   .timeout_ms = CALL_MS,
                                   .done = on_stored,
                                   .owner = s,
                                   .tag = (uint64_t)c->seen.generation};
    bool sent = kube_call(op->client, &r, op->now, e);
    buf_free(&body);
    if (sent)
        slice_copy(slice_of(c->uid), s->fetching, sizeof s->fetching);
    return sent;
}

/* ---- fetched from the control plane ---- */

/* The object of the workload that is to own the folder; NULL: there is none. */
static const struct record *owner_of(const struct record *c)
{
    for (const struct record *own = c->family.owned; own; own = own->family.next)
        if (own->present && !own->deleting && workload_form_of(own->kind) >= 0 && workload_forms[workload_form_of(own->kind)].has_folder)
            return own;
    return NULL;
}

/* A folder that the control plane has sent is stored only if the workload names its SHA-256. */
static bool check_hash(struct slice base64, struct slice hash, struct err *e)
{
    char hex[TLS_SHA256_HEX];
    __attribute__((cleanup(buf_free))) struct buf zip = {.max = LIMIT_WORK_FOLDER};
    if (!base64_decode(base64, &zip, e))
        return err_wrap(e, "the control plane's folder");
    tls_sha256_hex(buf_slice(&zip), hex);
    return slice_is(hash, hex) ||
           err_set(e, ERR_SYNTAX, "the folder that the control plane sent has another SHA-256 than the workload names");
}

static bool take_folder(struct workloads *s, struct record *c, struct slice body, struct err *e)
{
    struct op *op = s->op;
    struct jval doc, spec;
    const struct record *owner = owner_of(c);
    struct arena *a = &op->arenas.event;
    struct slice hash, base64, frozen;
    arena_reset(a, 64 * KIB);
    if (!json_read(&doc, body, a, e) || !json_read(&spec, istr_slice(c->seen.spec), a, e))
        return err_wrap(e, "the control plane's folder");
    base64 = json_get_str(doc, "data", a);
    frozen = policy_frozen(op, a);
    if (frozen.ptr || !owner)
        return err_set(e, ERR_DENIED, "%.*s", SLICE_ARG(frozen.ptr ? frozen : SLICE("the job's object has gone")));
    if (!work_folder_hash(json_get_str(spec, "workingDir", a), &hash) || !check_hash(base64, hash, e))
        return err_set(e, ERR_CONFIG, "the workload names no folder");
    const struct work_folder f = {.ns = istr_slice(c->ns),
                                  .name = work_folder_map(slice_of(c->uid), arena_printf(a, "%lld", (long long)c->seen.generation), a),
                                  .uid = slice_of(c->uid),
                                  .owner_version = owner->kind->api_version,
                                  .owner_kind = slice_of(owner->kind->name),
                                  .owner_name = slice_of(owner->name),
                                  .owner_uid = slice_of(owner->uid),
                                  .hash = hash,
                                  .base64 = base64};
    return store_folder(s, c, &f, e);
}

static void on_fetched(void *owner, uint64_t tag, const struct kube_answer *a, struct now now)
{
    struct workloads *s = owner;
    struct record *c = end_call(s, now);
    char words[REMOTE_WORDS];
    struct err e = {0};
    if (!c || c->seen.generation != (int64_t)tag)
        return;
    if (a->outcome == KUBE_OK && take_folder(s, c, a->body, &e))
        return;
    if (a->outcome == KUBE_REFUSED) {
        remote_refusal(a->status.code, a->body, words);
        err_set(&e, ERR_STATUS, "%s", words);
    } else if (a->outcome != KUBE_OK) {
        e = a->err;
    }
    failed(s, c, &e);
}

static void fetch_folder(struct workloads *s, struct record *c)
{
    struct arena a = {0};
    struct err e = {0};
    struct slice path = arena_printf(&a, "/v1/projects/%.*s/workloads/%s/folder", SLICE_ARG(istr_slice(c->ns)), c->name);
    if (remote_fetch(s->remote, path, on_fetched, s, (uint64_t)c->seen.generation, s->op->now, &e))
        slice_copy(slice_of(c->uid), s->fetching, sizeof s->fetching);
    else
        failed(s, c, &e);
    arena_free(&a);
}

/* ---- from the decision ---- */

/* Once Ray has the job's program, head and workers have mounted the folder, and its ConfigMap stays as long as the job's object. */
static bool is_wanted(const struct workload_view *v)
{
    for (uint32_t i = 0; i < v->count; i++) {
        const struct workload_object *o = &v->objects[i];
        struct jval status = o->is.status, job = json_get(status, "jobStatus");
        if (!o->is.deleting && workload_forms[o->form].has_folder && o->generation == v->generation)
            return (!value_given(job) || json_is(job, "")) && !value_given(json_get(status, "endTime"));
    }
    return false;
}

int64_t workload_folder(struct workloads *s, struct record *c, struct workload_view *v)
{
    struct workload *w = workload_of(c);
    if (!v->known || v->ended || v->frozen.ptr || v->model->form < 0 || slice_empty(v->model->folder) || !is_wanted(v))
        return TIME_NEVER;
    if (!w->folder)
        w->folder = mem_alloc(sizeof *w->folder);
    struct workload_folder *f = w->folder;
    if (f->there && f->generation == c->seen.generation)
        return TIME_NEVER;
    int64_t now_ms = s->op->now.mono_ms;
    if (s->fetching[0] == '\0' && now_ms >= f->again_ms)
        fetch_folder(s, c);
    if (f->failures)
        v->folder_missing = slice_of(f->why.text);
    return f->again_ms > now_ms ? f->again_ms : now_ms + BUSY_MS;
}
