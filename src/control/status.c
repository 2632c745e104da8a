/* Writes of a custom resource's status: the request, and what its answer means. */
#include <mobula/control.h>

bool make_status(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    (void)e;
    f->hash = c->work->status_hash;
    *t = (struct call_text){SLICE("PATCH"), SLICE(KUBE_TYPE_MERGE_PATCH), true};
    kube_path(&op->out.path, c->kind->resource, istr_slice(c->ns), slice_of(c->name), SLICE("status"));
    buf_put(&op->out.path, SLICE("?fieldManager=" RAY_FIELD_MANAGER "-status"));
    return buf_put(&op->out.body, act->text);
}

/* A refused status holds back only further status writes, not pods. */
bool answer_status(struct op *op, struct flight *f, const struct kube_answer *a)
{
    uint64_t version = 0;
    struct record *c = f->c;
    struct source *from = source_of(c->space, c->kind);
    char words[ANSWER_WORDS];
    c->status.at_ms = op->now.mono_ms;
    if (a->outcome != KUBE_OK) {
        bool gone = a->outcome == KUBE_REFUSED && (a->status.code == 404 || a->status.reason == KUBE_CONFLICT);
        op->stats.refused[verb_number(op, f->verb)] += a->outcome == KUBE_REFUSED;
        c->status.not_before_ms = op->now.mono_ms + backoff_ms(&op->rng, c->status.trouble++, OPERATOR_BACKOFF_MS, OPERATOR_BACKOFF_MAX_MS);
        if (c->status.not_before_ms < f->not_before_ms)
            c->status.not_before_ms = f->not_before_ms;
        if (c->kind->controller->goes_by_status && (a->outcome == KUBE_UNKNOWN || answer_troubled(a)))
            record_doubt(c); /* the state machine is in status: deciding on an outdated one could start a finished job again */
        if (gone) { /* deleted, perhaps made again: the watch tells. Until it does, pods of a cluster that is no more are not made for ever
                     */
            work_drop(c);
            record_doubt(c);
            if (c->backoff.not_before_ms < c->status.not_before_ms) /* else a call of the same plan has to wait longer already */
                c->backoff.not_before_ms = c->status.not_before_ms;
            record_wake_at(op, c, c->backoff.not_before_ms);
            return false;
        }
        log_trouble(op, c, f, answer_words(a, words), c->status.not_before_ms);
        return false;
    }
    c->status.trouble = 0;
    c->status.not_before_ms = 0;
    say_stored(op, c);
    if (c->work && c->work->reasons) {
        c->status.reasons = c->work->reasons;
        c->status.reasons_ms = op->now.mono_ms;
    }
    struct jval object = answer_object(op, a, &version);
    if (!json_there(object))
        return false;
    history_status(op, c, object);
    extract_record(op, from, object, version, 0);
    c->status.hash = f->hash;
    c->status_ours = c->seen.version == version; /* else the watch has told of something newer */
    return false;
}

/* The status exceeds LIMIT_JSON_ITEM. It is tried again when it has changed, or after a while; nothing else waits for it. */
void status_failed(struct op *op, struct record *c, const struct action *act, const char *text)
{
    (void)act;
    c->status.at_ms = op->now.mono_ms;
    c->status.not_before_ms = op->now.mono_ms + backoff_ms(&op->rng, c->status.trouble++, OPERATOR_BACKOFF_MS, OPERATOR_BACKOFF_MAX_MS);
    if (say_once(op, SAID_CLUSTER, said_of(c, slice_of(text), verb_number(op, &verb_status))))
        log_warn("status cannot be written", LF("namespace", istr_slice(c->ns)), LF_CSTR(c->kind->word, c->name), LF_CSTR("error", text),
                 LF_INT("retry_in_ms", c->status.not_before_ms - op->now.mono_ms));
}
