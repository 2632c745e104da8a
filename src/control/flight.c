/* Applies an answer to the records. A created object is in the cache before the next decision; a refusal is counted against its group; a
 * write with an unknown outcome is looked up by name before anything else is done for that record. */
#include <mobula/control.h>

struct jval answer_object(struct op *op, const struct kube_answer *a, uint64_t *version)
{
    struct err e = {0};
    arena_reset(&op->arenas.event, 64 * KIB);
    struct jval doc;
    if (!json_read(&doc, json_without(a->body, KUBE_UNREAD, &op->arenas.event), &op->arenas.event, &e))
        return (struct jval){.at = -1};
    struct jval root = doc;
    if (!kube_version_parse(json_get_str(root, "metadata.resourceVersion", &op->arenas.event), version))
        return (struct jval){.at = -1};
    return root;
}

void log_trouble(struct op *op, struct record *c, const struct flight *f, const char *text, int64_t again_ms)
{
    if (!op->phase.leading || op->phase.stopping)
        return; /* calls are cancelled when leadership ends or the process stops: no failure */
    if (say_failed(op, f->failed, verb_number(op, f->verb), said_of(c, SLICE(""), 0)))
        log_warn(f->failed ? "call failed" : "a call has to wait or be repeated", LF("namespace", istr_slice(c->ns)),
                 LF_CSTR(c->kind->word, c->name), LF_CSTR("action", f->verb->name), LF_CSTR("object", f->name), LF_CSTR("error", text),
                 LF_INT("retry_in_ms", again_ms - op->now.mono_ms));
}

static void keep_asked(struct record *c, const struct flight *f)
{
    if (c->backoff.not_before_ms < f->not_before_ms)
        c->backoff.not_before_ms = f->not_before_ms;
}

void record_wait(struct op *op, struct record *c, const struct flight *f, const char *text)
{
    enum { LOOK_AGAIN_MS = 1000, PATIENCE = 16 }; /* 1 s at first, so that little time is lost once the older object is gone */
    work_drop(c);
    if (op->now.mono_ms >= c->backoff.not_before_ms) {
        c->backoff.not_before_ms =
            op->now.mono_ms + backoff_ms(&op->rng, c->backoff.waits / PATIENCE, LOOK_AGAIN_MS, OPERATOR_BACKOFF_MAX_MS);
        if (c->backoff.waits < UINT8_MAX)
            c->backoff.waits++;
    }
    keep_asked(c, f);
    record_wake_at(op, c, c->backoff.not_before_ms);
    log_trouble(op, c, f, text, c->backoff.not_before_ms);
}

/* Several calls of a record can fail together: they count as one failure for the backoff. */
void record_trouble(struct op *op, struct record *c, const struct flight *f, const char *text)
{
    work_drop(c);
    if (op->now.mono_ms >= c->backoff.not_before_ms)
        c->backoff.not_before_ms =
            op->now.mono_ms + backoff_ms(&op->rng, c->backoff.trouble++, OPERATOR_BACKOFF_MS, OPERATOR_BACKOFF_MAX_MS);
    keep_asked(c, f);
    record_wake_at(op, c, c->backoff.not_before_ms);
    log_trouble(op, c, f, text, c->backoff.not_before_ms);
}

void record_refused(struct op *op, struct record *c, const struct flight *f, const char *text)
{
    char note[2 * LIMIT_KUBE_EVENT_NOTE]; /* cut where it is sent */
    record_trouble(op, c, f, text);
    snprintf(note, sizeof note, "%s: %s", f->name, text);
    say_event(op, c, true, verb_refusal(f->verb, f->group), slice_of(note));
}

void call_refused(struct op *op, struct flight *f, const struct kube_status *s)
{
    char text[ANSWER_WORDS + 64];
    op->stats.refused[verb_number(op, f->verb)]++;
    if (f->c->work)
        f->c->work->refused++;
    snprintf(text, sizeof text, "%d %s%s: %s", s->code, kube_reason_text(s->reason), answer_way_out(s), s->message);
    if (answer_passing(s))
        record_trouble(op, f->c, f, text);
    else
        record_refused(op, f->c, f, text);
}

void call_failed(struct op *op, struct record *c, const struct action *act, const char *text)
{
    struct flight f = {.op = op, .c = c, .verb = act->verb, .group = act->group};
    slice_copy(slice_head(act->name, sizeof f.name - 1), f.name, sizeof f.name);
    record_refused(op, c, &f, text);
}

bool flight_look(struct op *op, struct flight *f, struct err *e)
{
    struct kube_request r = {.lane = KUBE_LANE_MAIN,
                             .method = SLICE("GET"),
                             .path = buf_slice(&op->out.path),
                             .again = true,
                             .secret = verb_secret(op, f->verb, f->index),
                             .done = answer_done,
                             .owner = op,
                             .about = f->c,
                             .tag = (uint64_t)(uintptr_t)f};
    f->looking = true;
    op->stats.unknown++;
    return kube_call(op->client, &r, op->now, e);
}

int answer_failed(const struct kube_answer *a)
{
    return a->outcome == KUBE_REFUSED || a->err.code == ERR_STATUS ? a->told : (int)a->err.code;
}

/* A LimitRange or quota may refuse a container that is not in the user's manifest, because we add it. */
const char *answer_way_out(const struct kube_status *s)
{
    struct slice text = slice_of(s->message);
    bool ours = slice_has(text, RAY_INIT_CONTAINER) || slice_has(text, RAY_SUBMITTER_CONTAINER) || slice_has(text, " per Container ");
    return ours ? " (of an added container: set the annotation " RAY_ANNOTATION_TOOLS_RESOURCES ")" : "";
}

const char *answer_words(const struct kube_answer *a, char out[ANSWER_WORDS])
{
    if (a->outcome != KUBE_REFUSED)
        return a->err.text;
    snprintf(out, ANSWER_WORDS, "%d %s%s: %s", a->status.code, kube_reason_text(a->status.reason), answer_way_out(&a->status),
             a->status.message);
    return out;
}

/* Expired credentials, overload, a concurrent write, a namespace that is being deleted. */
bool answer_passing(const struct kube_status *s)
{
    bool conflict = s->code == 409 && s->reason != KUBE_ALREADY_EXISTS && !s->manager_conflict;
    return s->code >= 500 || s->code == 401 || s->code == 408 || s->code == 429 || conflict || s->namespace_terminating;
}

/* The server, or a gateway in front of it, failed. The write may have happened nevertheless. */
bool answer_troubled(const struct kube_answer *a)
{
    return a->outcome == KUBE_REFUSED && (a->status.code >= 500 || a->status.code == 408);
}

/* The resource was deleted while the call was in flight. In case that was wrong (a 404 that a proxy made up), marks of the failed call are
 * removed, so that the record is as it was before. */
static void too_late(struct op *op, struct flight *f, const struct kube_answer *a)
{
    const struct verb_handler *h = verb_handler(op, f->verb);
    if (a->outcome != KUBE_OK && h->more && h->more->undone)
        h->more->undone(op, f, a);
}

/* The call waited too long for a connection or for a busy server and was never sent. The record is decided again. If the server answered
 * (429), the failure is logged. */
static void not_sent(struct op *op, const struct flight *f, const struct err *why)
{
    const struct verb_handler *h = verb_handler(op, f->verb);
    if (h->more && h->more->by_us)
        h->more->by_us(op, slice_of(f->uid), false);
    work_drop(f->c);
    if (why->code == ERR_STATUS)
        log_trouble(op, f->c, f, why->text, op->now.mono_ms);
}

/* Obeys Retry-After up to OPERATOR_BACKOFF_MAX_MS, the longest pause without one: a gateway that says an hour is usually back sooner. */
static void keep_pause(struct op *op, struct flight *f, const struct kube_answer *a)
{
    if (a->outcome != KUBE_REFUSED || a->status.retry_after_ms <= 0)
        return;
    int64_t ms = a->status.retry_after_ms < OPERATOR_BACKOFF_MAX_MS ? a->status.retry_after_ms : OPERATOR_BACKOFF_MAX_MS;
    f->not_before_ms = op->now.mono_ms + ms + (int64_t)rng_below(&op->rng, (uint64_t)ms / 8 + 1); /* jitter: up to an eighth */
}

/* Records from the answer to a create whether its namespace is being deleted. */
static void keep_going(struct flight *f, const struct kube_answer *a)
{
    struct space *s = f->c->space;
    if (f->verb->how != VERB_CREATE || f->looking)
        return;
    if (a->outcome == KUBE_REFUSED && a->status.namespace_terminating)
        s->going = f->c->ns;
    else if (a->outcome == KUBE_OK && s->going == f->c->ns)
        s->going = NULL;
}

void answer_done(void *owner, uint64_t tag, const struct kube_answer *a, struct now now)
{
    struct op *op = owner;
    struct flight *f = (struct flight *)(uintptr_t)tag;
    struct record *c = f->c;
    op->now = now;
    f->failed = f->looking && a->outcome == KUBE_OK ? f->failed : answer_failed(a);
    keep_pause(op, f, a);
    keep_going(f, a);
    if (c->present && a->outcome == KUBE_UNSENT && !f->looking) {
        not_sent(op, f, &a->err);
    } else if (c->present) {
        warnings_heard(op, f, a->warnings);
        if (verb_handler(op, f->verb)->answer(op, f, a))
            return;
        if (a->outcome == KUBE_OK &&
            c->backoff.not_before_ms <= now.mono_ms) /* else the verb has just asked for a backoff, although the call succeeded */
            c->backoff.trouble = c->backoff.waits = 0;
    } else {
        too_late(op, f, a);
    }
    c->in_flight--;
    op->flights--;
    slab_free(&op->slabs.flight, f);
    work_settle(op, c);
}
