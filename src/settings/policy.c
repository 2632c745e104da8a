/* The administrator's policy in force: that of the ConfigMap, as it could be read last; else that of the file, in the same way, or the
 * default. */
#include <mobula/settings.h>

struct policy {
    struct arena arena; /* holds the texts of `is` */
    struct work_policy is;
};

struct policies {
    struct policy *map, *file; /* NULL: none could be read */
    uint64_t file_hash;        /* of the file's last text, or of why it could not be read */
    int64_t file_ms;           /* monotonic: when it is read again */
    bool file_broken;
};

static const struct setting *policy_of(const struct op *op)
{
    return setting_of(op, &setting_policy);
}

static struct policies *policies_of(const struct op *op)
{
    return policy_of(op)->taken;
}

void policy_in_force(const struct op *op, struct work_policy *out)
{
    const struct policies *p = policies_of(op);
    if (p->map || p->file)
        *out = (p->map ? p->map : p->file)->is;
    else
        work_policy_default(out);
    out->types = types_get_or_empty(op);
}

bool policy_awaited(const struct op *op)
{
    return setting_awaited(policy_of(op));
}

struct slice policy_frozen(const struct op *op, struct arena *a)
{
    const struct setting *s = policy_of(op);
    struct slice map = setting_name(s);
    struct work_policy policy;
    policy_in_force(op, &policy);
    if (s->frozen)
        return arena_printf(a,
                            "rule freeze: nothing is written for the control plane while ConfigMap %.*s has the annotation " SETTING_FROZEN,
                            SLICE_ARG(map));
    if (s->watch && !policies_of(op)->map && (s->broken || !s->known))
        return arena_printf(a, "rule freeze: nothing is written for the control plane without its policy: ConfigMap %.*s %s: %s",
                            SLICE_ARG(map), s->known ? "is broken" : "cannot be read", s->why.text);
    return policy.frozen ? SLICE("rule freeze: nothing is written for the control plane while its policy says frozen: true") : SLICE_NONE;
}

static void drop_policy(struct policy *p)
{
    if (p)
        arena_free(&p->arena);
    mem_free(p);
}

/* NULL: it is broken; e says where. */
static struct policy *make_policy(struct slice text, struct err *e)
{
    struct policy *p = mem_alloc(sizeof *p);
    struct spec_errors *errors = arena_new(&p->arena, struct spec_errors);
    if (work_policy_text(arena_dup(&p->arena, text), &p->arena, &p->is, errors))
        return p;
    spec_errors_tell(errors, e);
    drop_policy(p);
    return NULL;
}

static bool take_text(struct setting *s, struct slice text, struct err *e)
{
    struct policies *p = s->taken;
    if (!text.ptr && p->map)
        return err_set(e, ERR_CONFIG, "it was deleted");
    if (!text.ptr) {
        log_info("there is no policy: the default is in force", LF("configmap", setting_name(s)));
        return true;
    }
    struct policy *fresh = make_policy(text, e);
    if (!fresh)
        return false;
    drop_policy(p->map);
    p->map = fresh;
    log_info("policy read", LF("configmap", setting_name(s)));
    return true;
}

/* ---- the file ---- */

/* A text that is broken, or cannot be read any more, changes nothing. False: it has become so; the same is said once. */
static bool read_file(const struct setting *s, struct err *e)
{
    const struct operator_plane *plane = &s->op->o.plane;
    struct policies *p = s->taken;
    struct arena a = {0};
    struct slice text = SLICE("");
    bool read = plane->read_file(plane->policy_file, &a, &text, e) || err_wrap(e, "--policy-file");
    uint64_t hash = read ? hash64(text, 1) : hash64(slice_of(e->text), 2);
    struct policy *fresh = read && hash != p->file_hash ? make_policy(text, e) : NULL;
    bool same = hash == p->file_hash;
    arena_free(&a);
    if (same)
        return true;
    p->file_hash = hash;
    p->file_broken = !fresh;
    if (!fresh)
        return !read ? false : err_wrap(e, "--policy-file %.*s", SLICE_ARG(plane->policy_file));
    drop_policy(p->file);
    p->file = fresh;
    log_info("policy read", LF("file", plane->policy_file));
    setting_tell(s);
    return true;
}

void policy_read_again(struct op *op)
{
    struct err e = {0};
    struct policies *p = policies_of(op);
    if (slice_empty(op->o.plane.policy_file) || op->now.mono_ms < p->file_ms)
        return;
    p->file_ms = op->now.mono_ms + POLICY_FILE_MS;
    if (!read_file(policy_of(op), &e))
        log_warn("the policy file is broken: what was read of it last stays in force", LF_CSTR("error", e.text));
}

void policy_renew(struct op *op)
{
    policies_of(op)->file_ms = 0;
}

bool policy_file_broken(const struct op *op)
{
    return policies_of(op)->file_broken;
}

/* ---- the process ---- */

static bool start_policy(struct setting *s, struct err *e)
{
    const struct operator_plane *plane = &s->op->o.plane;
    s->taken = mem_alloc(sizeof(struct policies));
    return !plane->config || slice_empty(plane->policy_file) || read_file(s, e);
}

static void free_policy(struct setting *s)
{
    struct policies *p = s->taken;
    if (p) {
        drop_policy(p->map);
        drop_policy(p->file);
    }
    mem_free(p);
    s->taken = NULL;
}

const struct setting_kind setting_policy = {.flags = {"policy-configmap", "policy-key"},
                                            .key = SLICE("policy.yaml"),
                                            .start = start_policy,
                                            .on_text = take_text,
                                            .free = free_policy,
                                            .freezes = true};
