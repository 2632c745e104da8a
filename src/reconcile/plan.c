#include "reconcile_private.h"

struct action *plan_add(struct plan *p, enum action_kind kind)
{
    const struct action blank = {.kind = (uint8_t)kind, .group = GROUP_NONE, .index = -1};
    if (p->count == RECONCILE_ACTIONS) {
        p->beyond = blank;
        return &p->beyond;
    }
    if (p->count == p->cap) {
        uint32_t cap = p->cap ? p->cap * 2 : 16;
        struct action *grown = arena_array(p->arena, cap, sizeof *grown);
        if (p->count)
            memcpy(grown, p->actions, p->count * sizeof *grown);
        p->actions = grown;
        p->cap = cap;
    }
    struct action *act = &p->actions[p->count++];
    *act = blank;
    return act;
}

struct action *plan_delete(struct plan *p, const struct pod *pod, int32_t group, const char *why)
{
    struct action *act = plan_add(p, ACTION_DELETE_POD);
    act->group = group;
    act->index = pod->index;
    act->why = why;
    act->name = slice_of(pod->name);
    act->uid = slice_of(pod->uid);
    return act;
}

void plan_delete_as_seen(struct plan *p, const struct pod *pod, int32_t group, const char *why)
{
    plan_delete(p, pod, group, why)->version = pod->version;
}

void plan_event(struct plan *p, bool warning, const char *reason, struct slice note)
{
    struct action *act = plan_add(p, ACTION_EVENT);
    act->warning = warning;
    act->why = reason;
    act->text = note;
}

void plan_look_again(struct plan *p, int64_t ms)
{
    if (ms < p->next_ms)
        p->next_ms = ms;
}

int64_t reconcile_backoff_ms(uint32_t count, uint64_t seed)
{
    if (count == 0)
        return 0;
    int64_t cap = RECONCILE_BACKOFF_MAX_MS;
    if (count < 20 && ((int64_t)RECONCILE_BACKOFF_MS << (count - 1)) < cap)
        cap = (int64_t)RECONCILE_BACKOFF_MS << (count - 1);
    /* Between half of it and all of it, so that groups that failed together do not come back together. */
    uint64_t jitter = hash64((struct slice){(const char *)&count, sizeof count}, seed) % (uint64_t)(cap / 2 + 1);
    return cap / 2 + (int64_t)jitter;
}

const char *action_name(enum action_kind kind)
{
    static const char *const names[] = {
        [ACTION_CREATE_ACCOUNT] = "create-account",
        [ACTION_APPLY_HEAD_SERVICE] = "apply-head-service",
        [ACTION_APPLY_HEADLESS_SERVICE] = "apply-headless-service",
        [ACTION_DELETE_SERVICE] = "delete-service",
        [ACTION_TRY_POD] = "try-pod",
        [ACTION_CREATE_POD] = "create-pod",
        [ACTION_DELETE_POD] = "delete-pod",
        [ACTION_COUNT_FAILURE] = "count-failure",
        [ACTION_FORGET_FAILURES] = "forget-failures",
        [ACTION_STATUS] = "status",
        [ACTION_EVENT] = "event",
        [ACTION_CREATE_CLUSTER] = "create-cluster",
        [ACTION_DELETE_CLUSTER] = "delete-cluster",
        [ACTION_SUSPEND_WORKERS] = "suspend-workers",
        [ACTION_CREATE_SUBMITTER] = "create-submitter",
        [ACTION_ADD_FINALIZER] = "add-finalizer",
        [ACTION_REMOVE_FINALIZER] = "remove-finalizer",
        [ACTION_DELETE_JOB] = "delete-job",
        [ACTION_LOOK] = "look",
        [ACTION_SUBMIT] = "submit",
        [ACTION_STOP] = "stop",
        [ACTION_READ_LOG] = "read-log",
    };
    return (unsigned)kind < COUNT_OF(names) ? names[kind] : "unknown";
}
