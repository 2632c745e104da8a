/* How much of the policy's quotas is used, and when the next write may go out. What has no room waits; the oldest is looked at first. */
#include "workload.h"

#include <mobula/versioned.h>

enum { LOOK_MS = 30 * 1000, BURST_US = 15 * 1000 * 1000 };

/* ---- usage ---- */

static bool has_versions(const struct record *object)
{
    int32_t form = workload_form_of(object->kind);
    return form >= 0 && workload_forms[form].by_spec;
}

/* Adds RayServices of versions that the spec of a VersionedService does not have: they stay until requests have left them. */
static void add_replaced(const struct record *object, struct jval spec, const struct work_policy *policy, struct arena *a,
                         struct work_size *out)
{
    struct jval k, v, of;
    struct work_size one;
    for (const struct record *child = object->family.owned; child; child = child->family.next) {
        bool named = !child->present;
        for (struct jiter it = json_iter(json_get(spec, "versions")); json_next(&it, &k, &v);)
            named |= slice_eq(versioned_child_name(slice_of(object->name), json_get_str(v, "name", a), a), slice_of(child->name));
        if (named || !json_read(&of, istr_slice(child->seen.spec), a, NULL))
            continue;
        work_size(of, policy->types, a, &one);
        work_size_add(out, &one, 1);
    }
}

/* The objects of a workload at their largest. One that has ended uses nothing, but for a job whose cluster is kept. */
static void size_now(const struct record *c, const struct work_policy *policy, struct arena *a, struct work_size *out)
{
    struct workload *w = workload_of(c);
    struct jval spec;
    *out = (struct work_size){0};
    for (const struct record *own = c->family.owned; own; own = own->family.next) {
        struct slice text = istr_slice(own->seen.spec);
        if (!own->present || (w->ended_here && !own->family.owned))
            continue;
        if (hash64(text, 1) != w->sized && json_read(&spec, text, a, NULL)) {
            work_size(spec, policy->types, a, &w->size);
            w->sized = hash64(text, 1);
        }
        work_size_add(out, &w->size, 1);
        if (own->family.owned && has_versions(own))
            add_replaced(own, json_document(text, a, NULL), policy, a, out);
    }
}

static struct record *oldest_waiting(const struct workloads *s)
{
    struct record *c, *oldest = NULL;
    for (uint32_t i = 0; (c = map_next(&s->by_uid, &i)) != NULL;)
        if (workload_of(c)->waits_ms && (!oldest || workload_of(c)->waits_ms < workload_of(oldest)->waits_ms))
            oldest = c;
    return oldest;
}

/* Sets what a workload uses. When that is less than before, the oldest that waits is looked at. */
static void set_used(struct workloads *s, struct workload *w, const struct work_size *size, bool object)
{
    struct work_size *used = &s->used, was = w->used;
    bool less = size->pods < was.pods || size->milli_cpu < was.milli_cpu || size->memory < was.memory || size->gpus < was.gpus ||
                (w->counts && !object);
    used->pods += size->pods - was.pods;
    used->milli_cpu += size->milli_cpu - was.milli_cpu;
    used->memory += size->memory - was.memory;
    used->gpus += size->gpus - was.gpus;
    s->objects += (uint32_t)object - (uint32_t)w->counts;
    w->used = *size;
    w->counts = object;
    struct record *next = less ? oldest_waiting(s) : NULL;
    if (next)
        record_touch(s->op, next);
}

int64_t quota_use(struct workloads *s, struct record *c, struct arena *a)
{
    const struct workload *w = workload_of(c);
    struct work_policy policy;
    struct work_size size;
    policy_in_force(s->op, &policy);
    size_now(c, &policy, a, &size);
    set_used(s, workload_of(c), &size, c->family.owned != NULL);
    return w->ended_here && size.pods ? s->op->now.mono_ms + LOOK_MS : TIME_NEVER;
}

void quota_leave(struct workloads *s, struct record *c)
{
    workload_of(c)->waits_ms = 0;
    set_used(s, workload_of(c), &(struct work_size){0}, false);
}

/* ---- admission of writes ---- */

static uint32_t objects_in(const struct workloads *s, const struct istr *project)
{
    struct record *c;
    uint32_t count = 0;
    for (uint32_t i = 0; (c = map_next(&s->by_uid, &i)) != NULL;)
        count += workload_of(c)->counts && c->ns == project;
    return count;
}

/* The field of the policy that its new object would exceed; NULL: none. */
static const char *quota_full(const struct workloads *s, const struct record *c, const struct work_policy *policy,
                              const struct work_size *size)
{
    const struct workload *w = workload_of(c);
    struct work_size all = s->used;
    work_size_add(&all, &w->used, -1);
    work_size_add(&all, size, 1);
    if (w->counts && size->pods <= w->used.pods && size->milli_cpu <= w->used.milli_cpu && size->memory <= w->used.memory &&
        size->gpus <= w->used.gpus)
        return NULL; /* it needs no more room than it has, which may be above a quota that was lowered */
    if (!w->counts && policy->objects && s->objects >= policy->objects)
        return "maxObjects";
    if (!w->counts && policy->project_objects && objects_in(s, c->ns) >= policy->project_objects)
        return "maxProjectObjects";
    return work_size_above(&all, &policy->all);
}

/* When one more may go out: a_minute in a minute, a quarter of them at once. *next_us: the next one's time if they were spread evenly. */
static int64_t rate_slot(int64_t *next_us, int64_t a_minute, int64_t now_ms)
{
    if (!a_minute)
        return now_ms;
    int64_t step = INT64_C(60000000) / a_minute, early = BURST_US > step ? BURST_US - step : 0;
    if (*next_us < now_ms * 1000)
        *next_us = now_ms * 1000;
    int64_t at_us = *next_us - early;
    *next_us += step;
    return at_us <= now_ms * 1000 ? now_ms : (at_us + 999) / 1000;
}

bool quota_admit(struct workloads *s, struct record *c, const struct workload_model *m, struct arena *a, struct workload_wait *out)
{
    struct workload *w = workload_of(c);
    int64_t now_ms = s->op->now.mono_ms;
    struct work_policy policy;
    bool fresh = m && !w->counts;
    policy_in_force(s->op, &policy);
    struct work_size size = {0};
    if (m)
        size = m->size;
    for (const struct record *own = c->family.owned; m && own; own = own->family.next)
        if (own->present && has_versions(own))
            add_replaced(own, json_get(m->made, "spec"), &policy, a, &size);
    const char *full = m ? quota_full(s, c, &policy, &size) : NULL;
    if (full) {
        w->waits_ms = w->waits_ms ? w->waits_ms : now_ms;
        *out = (struct workload_wait){
            WORK_RULE_RESOURCES, "QuotaExceeded",
            arena_printf(a, "rule resources: with what runs here it is more than the policy's %s: it waits until there is room", full),
            now_ms + LOOK_MS};
        return false;
    }
    if (!w->slot_ms) {
        int64_t begins = fresh ? rate_slot(&s->next_new_us, policy.new_a_minute, now_ms) : now_ms,
                writes = rate_slot(&s->next_write_us, policy.writes_a_minute, now_ms);
        w->slot_ms = begins > writes ? begins : writes;
        w->slow = begins > now_ms ? "newPerMinute" : "writesPerMinute";
    }
    if (now_ms < w->slot_ms) {
        *out = (struct workload_wait){
            WORK_RULE_FLOODS, "RateLimited",
            arena_printf(a, "rule floods: more is asked for than the policy's %s allows: it waits for its turn", w->slow), w->slot_ms};
        return false;
    }
    w->slot_ms = 0;
    w->waits_ms = 0;
    if (m)
        set_used(s, w, &size, true);
    struct record *next = m ? oldest_waiting(s) : NULL;
    if (next)
        record_touch(s->op, next);
    return true;
}

void quota_reset(struct workloads *s)
{
    struct record *c;
    s->next_new_us = s->next_write_us = 0;
    for (uint32_t i = 0; (c = map_next(&s->by_uid, &i)) != NULL;) {
        workload_of(c)->slot_ms = 0;
        workload_of(c)->sized = 0;
    }
}

/* ---- figures ---- */

void workload_rule(struct op *op, const struct record *c, uint32_t rule, struct slice message)
{
    workloads_of(op)->rules[rule]++;
    if (say_once(op, SAID_CLUSTER, said_of(c, message, rule)))
        log_warn("the policy keeps a workload of the control plane from being carried out", LF("namespace", istr_slice(c->ns)),
                 LF_CSTR("workload", c->name), LF_CSTR("uid", c->uid), LF_INT("generation", c->seen.generation),
                 LF_CSTR("rule", work_rules[rule].name), LF("why", message));
}

void workloads_figures(const struct op *op, struct buf *b)
{
    const struct workloads *s = workloads_of(op);
    if (!s)
        return;
    const struct remote_stats *r = remote_stats(s->remote);
    buf_printf(b,
               "# HELP mobula_policy_frozen 1 while nothing is written for the control plane.\n# TYPE mobula_policy_frozen gauge\n"
               "mobula_policy_frozen %d\n"
               "# HELP mobula_remote_writes_total Objects applied and deleted for the control plane: as many audit lines are in the log.\n"
               "# TYPE mobula_remote_writes_total counter\nmobula_remote_writes_total %llu\n"
               "# HELP mobula_policy_refusals_total What a control plane asked for and did not get, by the rule of the policy.\n"
               "# TYPE mobula_policy_refusals_total counter\n",
               s->frozen, (unsigned long long)s->writes);
    for (uint32_t i = 1; i <= WORK_RULES; i++) {
        uint64_t more = i == WORK_RULE_REDIRECTS  ? r->redirects
                        : i == WORK_RULE_MESSAGES ? r->unreadable + r->bad
                        : i == WORK_RULE_CLOCKS   ? r->long_waits
                                                  : 0;
        buf_printf(b, "mobula_policy_refusals_total{rule=\"%s\"} %llu\n", work_rules[i].name, (unsigned long long)(s->rules[i] + more));
    }
    agents_figures(s->agents, b);
}

uint64_t workloads_calls(const struct op *op)
{
    return workloads_of(op) ? remote_stats(workloads_of(op)->remote)->calls : 0;
}
