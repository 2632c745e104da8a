/* The administrator's policy in force: that of the ConfigMap, as it could be read last; else that of the file, in the same way, or the
 * default. */
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
    const struct workloads *s = workloads_of(op);
    const struct remote_policy *map = setting_of(op)->taken, *file = s ? s->file : NULL;
    if (map || file)
        *out = (map ? map : file)->policy;
    else
        work_policy_default(out);
    out->types = types_get_or_empty(op);
}

bool policy_awaited(const struct op *op)
{
    return setting_awaited(setting_of(op));
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
    if (s->watch && !s->taken && (s->broken || !s->known))
        return arena_printf(a, "rule freeze: nothing is written for the control plane without its policy: ConfigMap %.*s %s: %s",
                            SLICE_ARG(map), s->known ? "is broken" : "cannot be read", s->why.text);
    return policy.frozen ? SLICE("rule freeze: nothing is written for the control plane while its policy says frozen: true") : SLICE_NONE;
}

static void read_again(struct workloads *s);

void policy_tick(struct workloads *s)
{
    read_again(s);
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
    if (!s || (which != setting_of(op) && (!which->known || which->broken)))
        return;
    quota_reset(s);
    for (uint32_t i = 0; (c = map_next(&s->by_uid, &i)) != NULL;) {
        work_drop(c);
        failures_clear(op, c);
        model_forget(op, c);
        record_touch(op, c);
    }
}

void policy_drop(struct remote_policy *p)
{
    if (p)
        arena_free(&p->arena);
    mem_free(p);
}

/* NULL: it is broken; e says where. */
static struct remote_policy *policy_make(struct slice text, struct err *e)
{
    struct remote_policy *p = mem_alloc(sizeof *p);
    *p = (struct remote_policy){0};
    struct spec_errors *errors = arena_new(&p->arena, struct spec_errors);
    if (work_policy_text(arena_dup(&p->arena, text), &p->arena, &p->policy, errors))
        return p;
    spec_errors_tell(errors, e);
    policy_drop(p);
    return NULL;
}

bool policy_text(struct op *op, struct slice text, struct err *e)
{
    if (!text.ptr && setting_of(op)->taken)
        return err_set(e, ERR_CONFIG, "it was deleted");
    if (!text.ptr) {
        log_info("there is no policy: the default is in force", LF("configmap", op->o.settings[OPERATOR_POLICY].name));
        return true;
    }
    struct remote_policy *fresh = policy_make(text, e);
    if (fresh) {
        policy_free(op);
        op->settings[OPERATOR_POLICY].taken = fresh;
        log_info("policy read", LF("configmap", op->o.settings[OPERATOR_POLICY].name));
    }
    return fresh != NULL;
}

void policy_free(struct op *op)
{
    struct setting *s = &op->settings[OPERATOR_POLICY];
    policy_drop(s->taken);
    s->taken = NULL;
}

/* ---- the file ---- */

/* A text that is broken, or cannot be read any more, changes nothing. False: it has become so; the same is said once. */
static bool read_file(struct workloads *s, struct err *e)
{
    const struct operator_plane *plane = &s->op->o.plane;
    struct arena a = {0};
    struct slice text = SLICE("");
    bool read = plane->read_file(plane->policy_file, &a, &text, e) || err_wrap(e, "--policy-file");
    uint64_t hash = read ? hash64(text, 1) : hash64(slice_of(e->text), 2);
    struct remote_policy *fresh = read && hash != s->file_hash ? policy_make(text, e) : NULL;
    bool same = hash == s->file_hash;
    arena_free(&a);
    if (same)
        return true;
    s->file_hash = hash;
    s->file_broken = !fresh;
    if (!fresh)
        return !read ? false : err_wrap(e, "--policy-file %.*s", SLICE_ARG(plane->policy_file));
    policy_drop(s->file);
    s->file = fresh;
    log_info("policy read", LF("file", plane->policy_file));
    setting_tell(setting_of(s->op));
    return true;
}

static void read_again(struct workloads *s)
{
    struct err e = {0};
    if (slice_empty(s->op->o.plane.policy_file) || s->op->now.mono_ms < s->file_ms)
        return;
    s->file_ms = s->op->now.mono_ms + POLICY_FILE_MS;
    if (!read_file(s, &e))
        log_warn("the policy file is broken: what was read of it last stays in force", LF_CSTR("error", e.text));
}

bool policy_start(struct op *op, struct err *e)
{
    return !workloads_of(op) || slice_empty(op->o.plane.policy_file) || read_file(workloads_of(op), e);
}

bool policy_file_broken(const struct op *op)
{
    return workloads_of(op) && workloads_of(op)->file_broken;
}
