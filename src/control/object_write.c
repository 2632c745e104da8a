/* Writes of objects that have a record of their own, such as a RayCluster for its RayJob, and of finalizers: what their answers mean. */
#include <mobula/control.h>

void object_answered(struct op *op, const struct flight *f, const struct kube_answer *a, const struct kind *what)
{
    struct source *from = source_of(f->c->space, what);
    uint64_t version = 0;
    struct jval object = answer_object(op, a, &version);
    if (!json_there(object))
        return; /* the watch event will deliver the object */
    const struct record *made = record_get(op, json_get_str(object, "metadata.uid", &op->arenas.event), istr_slice(f->c->ns));
    bool known = made && made->present; /* the record of a deleted object may stay for a while */
    if (known || !source_passed(from, version))
        extract_record(op, from, object, version, 0);
    else
        source_missed(from);
}

void object_deleting(struct op *op, struct record *c)
{
    if (!c || !c->present)
        return;
    c->deleting = c->by_us = true;
    record_reread(op, c);
    record_touch(op, c);
}

bool object_make_delete(struct op *op, const struct record *c, const struct action *act, struct flight *f, struct call_text *t,
                        const struct kube_resource *of, struct slice propagation)
{
    slice_copy(act->name, f->name, sizeof f->name);
    slice_copy(act->uid, f->uid, sizeof f->uid);
    utf8_copy(slice_of(act->why), f->why, sizeof f->why);
    *t = (struct call_text){SLICE("DELETE"), SLICE(KUBE_TYPE_JSON), true};
    kube_path(&op->out.path, of, istr_slice(c->ns), act->name, SLICE_NONE);
    return kube_delete_options(&op->out.body, act->uid, 0, propagation);
}

void object_refused(struct op *op, struct record *c, const struct verb *what, const char *text)
{
    struct group_failures *f = failures_of(op, c, SLICE_NONE, true, true);
    char what_failed[100];
    snprintf(what_failed, sizeof what_failed, "a write for a %s failed: backing off", c->kind->name);
    work_drop(c);
    record_touch(op, c);
    if (!failure_count(op, c, f, slice_of(text)))
        return;
    if (say_once(op, SAID_CLUSTER, said_of(c, slice_of(text), verb_number(op, what))))
        log_warn(what_failed, LF("namespace", istr_slice(c->ns)), LF_CSTR(c->kind->word, c->name), LF_CSTR("action", what->name),
                 LF_CSTR("reason", text), LF_INT("failures", f->count), LF_INT("retry_in_ms", f->not_before_ms - op->now.mono_ms));
    char note[2 * LIMIT_KUBE_EVENT_NOTE]; /* cut where it is sent */
    snprintf(note, sizeof note, "%s: %s", what->name, text);
    say_event(op, c, true, verb_refusal(what, 0), slice_of(note));
}

void object_failed(struct op *op, struct record *c, const struct action *act, const char *text)
{
    object_refused(op, c, act->verb, text);
}

void object_write_sorted(struct op *op, struct flight *f, const struct kube_answer *a, bool passes, bool counted)
{
    char words[ANSWER_WORDS];
    const char *text = answer_words(a, words);
    bool no = a->outcome == KUBE_REFUSED;
    op->stats.refused[verb_number(op, f->verb)] += no;
    op->stats.unknown += a->outcome == KUBE_UNKNOWN;
    if (!no || passes)
        record_trouble(op, f->c, f, text);
    else if (counted)
        object_refused(op, f->c, f->verb, text);
    else
        record_refused(op, f->c, f, text);
}

void object_write_failed(struct op *op, struct flight *f, const struct kube_answer *a)
{
    bool creates = f->verb->how == VERB_CREATE || f->verb->how == VERB_APPLY;
    object_write_sorted(op, f, a, a->status.reason == KUBE_ALREADY_EXISTS || answer_passing(&a->status), creates);
}

/* ---- finalizers ---- */

static bool make_finalizers(struct op *op, struct record *c, const struct action *act, bool add, struct call_text *t, struct err *e)
{
    struct json doc;
    struct jout w;
    struct jval k, v;
    char version[KUBE_VERSION_TEXT];
    if (!json_parse(&doc, istr_slice(c->seen.meta), &op->arenas.body, e))
        return false;
    *t = (struct call_text){SLICE("PATCH"), SLICE(KUBE_TYPE_MERGE_PATCH), true};
    kube_path(&op->out.path, c->kind->resource, istr_slice(c->ns), slice_of(c->name), SLICE_NONE);
    kube_query(&op->out.path, "fieldManager", SLICE(RAY_FIELD_MANAGER));
    jout_init(&w, &op->out.body);
    struct slice seen = kube_version_format(c->seen.version, version);
    jout_form(&w, "{metadata:{uid:'%s',resourceVersion:'%.*s',finalizers:[", c->uid, SLICE_ARG(seen));
    for (struct jiter it = json_iter(json_get(json_root(&doc), "finalizers")); json_next(&it, &k, &v);)
        if (!json_str_eq(v, act->text))
            jout_val(&w, v);
    if (add)
        jout_str(&w, act->text);
    jout_form(&w, "]}}");
    return true;
}

bool finalizer_add(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    (void)f;
    return make_finalizers(op, c, act, true, t, e);
}

bool finalizer_remove(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    (void)f;
    return make_finalizers(op, c, act, false, t, e);
}

bool finalizer_answer(struct op *op, struct flight *f, const struct kube_answer *a)
{
    if (a->outcome == KUBE_OK)
        object_answered(op, f, a, f->c->kind);
    else
        object_write_failed(op, f, a);
    return false;
}
