/* The administrator's policy in force: that of the ConfigMap, as it could be read last; else that of the file, or the default. */
#include "workload.h"

struct remote_policy {
    struct arena arena; /* holds the policy */
    struct work_policy policy;
};

static const struct setting *setting_of(const struct op *op)
{
    return &op->settings[OPERATOR_POLICY];
}

void policy_in_force(const struct op *op, struct work_policy *out)
{
    if (op->policy)
        *out = op->policy->policy;
    else if (op->o.plane.policy)
        *out = *op->o.plane.policy;
    else
        work_policy_default(out);
    out->types = types_in_force(op);
}

bool policy_awaited(const struct op *op)
{
    const struct setting *s = setting_of(op);
    return s->watch && !s->known && s->why.code == ERR_NONE;
}

struct slice policy_frozen(const struct op *op, struct arena *a)
{
    const struct setting *s = setting_of(op);
    struct slice map = op->o.settings[OPERATOR_POLICY].name;
    struct work_policy policy;
    policy_in_force(op, &policy);
    if (s->frozen)
        return arena_printf(a,
                            "rule freeze: nothing is written for the control plane while ConfigMap %.*s has the annotation " SETTING_FROZEN,
                            SLICE_ARG(map));
    if (s->watch && !op->policy && (s->broken || !s->known))
        return arena_printf(a, "rule freeze: nothing is written for the control plane without its policy: ConfigMap %.*s %s: %s",
                            SLICE_ARG(map), s->known ? "is broken" : "cannot be read", s->why.text);
    return policy.frozen ? SLICE("rule freeze: nothing is written for the control plane while its policy says frozen: true") : SLICE_NONE;
}

void policy_tick(struct workloads *s)
{
    struct arena scratch = {0};
    struct slice frozen = policy_frozen(s->op, &scratch);
    if (s->frozen != (frozen.ptr != NULL))
        log_warn(frozen.ptr ? "remote writes are off: what runs goes on" : "remote writes are on again", LF("why", frozen));
    s->frozen = frozen.ptr != NULL;
    arena_free(&scratch);
}

/* The policy has changed: what was decided by the one before, and is not written yet, is decided again. */
static void touch_all(struct op *op)
{
    struct workloads *s = op->workloads;
    struct cluster *c;
    if (s)
        quota_reset(s);
    for (uint32_t i = 0; s && (c = map_next(&s->by_uid, &i)) != NULL;) {
        work_drop(c);
        failures_clear(op, c);
        if (op->parsed == c)
            op->parsed = NULL;
        cluster_touch(op, c);
    }
}

bool policy_text(struct op *op, struct slice text, struct err *e)
{
    if (!text.ptr && op->policy)
        return err_set(e, ERR_CONFIG, "it was deleted");
    if (!text.ptr) {
        log_info("there is no policy: the default is in force", LF("configmap", op->o.settings[OPERATOR_POLICY].name));
        touch_all(op);
        return true;
    }
    struct remote_policy *fresh = mem_alloc(sizeof *fresh);
    struct shape_errors *errors = arena_new(&fresh->arena, struct shape_errors);
    if (!work_policy_text(arena_dup(&fresh->arena, text), &fresh->arena, &fresh->policy, errors)) {
        shape_errors_tell(errors, e);
        arena_free(&fresh->arena);
        mem_free(fresh);
        touch_all(op);
        return false;
    }
    policy_free(op);
    op->policy = fresh;
    log_info("policy read", LF("configmap", op->o.settings[OPERATOR_POLICY].name));
    touch_all(op);
    return true;
}

void policy_trouble(struct op *op)
{
    touch_all(op);
}

void policy_free(struct op *op)
{
    if (op->policy)
        arena_free(&op->policy->arena);
    mem_free(op->policy);
    op->policy = NULL;
}
