/* How workloads follow the policy in force. */
#include "workload.h"

void policy_follow(struct workloads *s)
{
    policy_read_again(s->op);
    struct arena scratch = {0};
    struct slice frozen = policy_frozen(s->op, &scratch);
    if (s->frozen != (frozen.ptr != NULL))
        log_warn(frozen.ptr ? "remote writes are off: what runs goes on" : "remote writes are on again", LF("why", frozen));
    s->frozen = frozen.ptr != NULL;
    arena_free(&scratch);
}

void policy_changed(struct op *op, const struct setting *which)
{
    struct workloads *s = workloads_of(op);
    struct record *c;
    if (!s || (which != setting_of(op, &setting_policy) && (!which->known || which->broken)))
        return;
    quota_reset(s);
    for (uint32_t i = 0; (c = map_next(&s->by_uid, &i)) != NULL;) {
        work_drop(c);
        failures_clear(op, c);
        model_forget(op, c);
        record_touch(op, c);
    }
}
