/* Names of workers that pods hold which do not count: somebody took their labels away to look at them undisturbed (kubernetes.io calls that
 * a quarantine), or changed them. Such a pod is left alone, and the one for its place is named as its successor. Nobody tells when it goes;
 * then this is a name like any other. It is not kept over a restart: the next operator asks for the first name, and finds out. */
#include "record.h"

bool held_keep(struct op *op, struct record *c, struct slice group, int32_t index, struct slice uid)
{
    struct held **link = &raycluster_of(c)->held;
    while (*link && ((*link)->index != index || !slice_eq(istr_slice((*link)->group), group)))
        link = &(*link)->next;
    struct held *h = *link;
    if (h && h->names == OPERATOR_HELD_NAMES) { /* the next try begins with the first name: those pods may be gone by then */
        *link = h->next;
        intern_drop(&op->strings, h->group);
        mem_free(h);
        return false;
    }
    if (!h) {
        h = mem_alloc(sizeof *h);
        *h = (struct held){.group = intern_get(&op->strings, group), .index = index};
        *link = h;
    }
    h->names++;
    return slice_copy(uid, h->uid, sizeof h->uid);
}

const struct held_name *view_held(struct op *op, const struct record *c, uint32_t *count)
{
    uint32_t n = 0;
    for (const struct held *h = raycluster_of(c)->held; h; h = h->next)
        n++;
    struct held_name *out = arena_array(&op->arenas.plan, n + 1, sizeof *out);
    *count = 0;
    for (const struct held *h = raycluster_of(c)->held; h; h = h->next)
        for (uint32_t k = 0; k < cluster_model(op)->group_count; k++)
            if (slice_eq(cluster_model(op)->groups[k].name, istr_slice(h->group)))
                out[(*count)++] = (struct held_name){(int32_t)k, h->index, slice_of(h->uid)};
    return out;
}

void held_clear(struct op *op, struct record *c)
{
    struct raycluster *own = raycluster_of(c);
    while (own->held) {
        struct held *h = own->held;
        own->held = h->next;
        intern_drop(&op->strings, h->group);
        mem_free(h);
    }
}

/* It is there, and not ours to count: whose is it then, and what is to be done about it? */
static const char *what_to_do(const struct record *c, const struct flight *f, struct jval pod, char out[ERR_TEXT_MAX])
{
    if (json_there(json_get(pod, "metadata.deletionTimestamp")))
        snprintf(out, ERR_TEXT_MAX, "pod %s exists, and is being deleted: waiting for it to go", f->name);
    else if (raycluster_of(c)->strips)
        snprintf(out, ERR_TEXT_MAX,
                 "pod %s was created, and came without its label " RAY_LABEL_CLUSTER
                 " or its owner: exempt the namespace from the webhook or policy that takes them away, and delete the pod",
                 f->name);
    else if (f->group < 0)
        snprintf(out, ERR_TEXT_MAX,
                 "pod %s has the head's name, but not its labels or its owner: put label " RAY_LABEL_CLUSTER "=%s back, or delete the pod",
                 f->name, c->name);
    else
        snprintf(
            out, ERR_TEXT_MAX,
            "pod %s has lost its labels or its owner: it is left alone, and its place gets a pod of another name; delete it when it is "
            "not needed any more",
            f->name);
    return out;
}

void held_report_stripped(struct op *op, const struct flight *f, struct jval pod)
{
    char text[ERR_TEXT_MAX];
    raycluster_of(f->c)->strips = true;
    flight_failed(op, f, what_to_do(f->c, f, pod, text));
}

void held_found(struct op *op, const struct flight *f, struct jval pod)
{
    char text[ERR_TEXT_MAX];
    struct record *c = f->c;
    struct slice uid = json_get_str(pod, "metadata.uid", &op->arenas.event);
    what_to_do(c, f, pod, text);
    model_load(op, c);
    if (json_there(json_get(pod, "metadata.deletionTimestamp"))) {
        record_trouble(op, c, f, text);
    } else if (raycluster_of(c)->strips || f->group < 0) {
        flight_failed(op, f, text);
    } else if (f->generation != c->seen.generation) {
        record_touch(op, c); /* another spec has other groups */
    } else if (held_keep(op, c, group_name(op, f->group), f->index, uid)) {
        say_event(op, c, true, "PodSetAside", slice_of(text));
        record_trouble(op, c, f, text);
    } else {
        snprintf(text, sizeof text, "pod %s and %d more have names of one place and have lost their labels or their owner: delete them",
                 f->name, OPERATOR_HELD_NAMES);
        flight_failed(op, f, text);
    }
}

/* ---- pods without ownerReferences ---- */

bool adopt_make(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    return orphan_write(op, c, act, &kind_pod, f, t) || err_set(e, ERR_LIMIT, "the change of pod %.*s is too large", SLICE_ARG(act->name));
}

bool adopt_answer(struct op *op, struct flight *f, const struct kube_answer *a)
{
    uint64_t version = 0;
    struct record *c = f->c;
    char words[ANSWER_WORDS], text[ERR_TEXT_MAX];
    if (a->outcome != KUBE_OK) {
        op->stats.refused[verb_number(op, f->verb)] += a->outcome == KUBE_REFUSED;
        if (a->outcome != KUBE_REFUSED || answer_passing(&a->status) || a->status.reason == KUBE_CONFLICT ||
            a->status.reason == KUBE_NOT_FOUND) {
            record_trouble(op, c, f, answer_words(a, words));
            return false;
        }
        snprintf(text, sizeof text,
                 "pod %s has no owner and cannot be adopted: %s: delete the pod, or give the account the right to patch pods", f->name,
                 answer_words(a, words));
        flight_failed(op, f, text);
        return false;
    }
    struct jval pod = answer_object(op, a, &version);
    if (json_there(pod) && slice_empty(extract_owner(op, pod, &op->arenas.event))) {
        held_report_stripped(op, f, pod);
        return false;
    }
    if (json_there(pod))
        answer_pod(op, f, pod, version);
    log_info("adopted a pod without ownerReferences", LF("namespace", istr_slice(c->ns)), LF_CSTR("cluster", c->name),
             LF_CSTR("pod", f->name));
    return false;
}
