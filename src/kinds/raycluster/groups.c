/* Groups of pods by their number, and their failures: counted, logged, and written as events. */
#include "record.h"

struct slice group_name(const struct op *op, int32_t group)
{
    if (group >= 0 && (uint32_t)group < cluster_model(op)->group_count)
        return cluster_model(op)->groups[group].name;
    return group < 0 ? SLICE(RAY_HEAD_GROUP) : SLICE_NONE;
}

const struct group_failures *view_failures(struct op *op, struct record *c)
{
    uint32_t count = cluster_model(op)->group_count;
    struct group_failures *failures = arena_array(&op->arenas.plan, count + 1, sizeof *failures);
    for (int32_t k = -1; c->children.failing && k < (int32_t)count; k++) {
        const struct group_failures *f = failures_of(op, c, group_name(op, k), k < 0, false);
        if (f)
            failures[k + 1] = *f;
    }
    return failures;
}

static const char *failure_text(bool ended, const char *event)
{
    if (ended)
        return "pods of a group ended: backing off";
    return strcmp(event, "FailedToCreateService") == 0 ? "cannot apply a Service: backing off"
                                                       : "cannot create pods of a group: backing off";
}

void group_failed(struct op *op, struct record *c, int32_t group, bool ended, const char *event, struct slice reason)
{
    work_drop(c);
    model_load(op, c);
    struct slice name = group_name(op, group);
    struct group_failures *f = failures_of(op, c, name, group < 0, true);
    if (!failure_count(op, c, f, reason))
        return;
    f->ends += ended && f->ends < f->count;
    f->made = 0;
    f->ended = ended;
    int64_t wait_ms = f->not_before_ms - op->now.mono_ms;
    bool news = say_once(op, SAID_CLUSTER, said_of(c, reason, hash64(name, 0)));
    if (news)
        log_warn(failure_text(ended, event), LF("namespace", istr_slice(c->ns)), LF_CSTR("cluster", c->name), LF("group", name),
                 LF("reason", reason), LF_INT("failures", f->count), LF_INT("retry_in_ms", wait_ms));
    char note[2 * LIMIT_KUBE_EVENT_NOTE]; /* cut where it is sent */
    /* no number in it: repeated events are counted as one */
    snprintf(note, sizeof note, "group %.*s: %.*s", SLICE_ARG(name), SLICE_ARG(reason));
    say_event(op, c, true, event, slice_of(note));
    if (news)
        say_legacy(op, c, "WARNING", slice_of(note));
}

void group_failed_by(struct op *op, struct record *c, const struct action *act, const char *text)
{
    struct slice reason = slice_of(text);
    if (act->verb->how == VERB_APPLY && !slice_starts(reason, SLICE(POD_REASON_SERVICE))) {
        model_load(op, c);
        struct arena *a = &op->arenas.body;
        struct slice name = ray_service_name(cluster_model(op), raycluster_service_of(act->verb), a);
        reason = arena_printf(a, POD_REASON_SERVICE "%.*s: %s", SLICE_ARG(name), text);
    }
    group_failed(op, c, act->group, false, verb_refusal(act->verb, act->group), reason);
}

void flight_failed(struct op *op, const struct flight *f, const char *text)
{
    if (f->generation == f->c->seen.generation)
        group_failed(op, f->c, f->group, false, verb_refusal(f->verb, f->group), slice_of(text));
}
