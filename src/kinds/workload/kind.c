/* Workloads as a kind: their records, and the view that is decided on. */
#include "workload.h"

/* ---- records ---- */

struct workloads *workloads_of(const struct op *op)
{
    return *kind_own(op, &kind_workload);
}

struct record *workload_find(const struct workloads *s, struct slice uid)
{
    return map_get(&s->by_uid, uid);
}

struct workload *workload_of(const struct record *c)
{
    return c->kind == &kind_workload ? c->own : NULL;
}

static struct space *space_of(struct op *op, struct slice ns)
{
    for (uint32_t i = 0; i < op->o.namespace_count; i++)
        if (slice_empty(op->spaces[i].ns) || slice_eq(op->spaces[i].ns, ns))
            return &op->spaces[i];
    return NULL;
}

/* A label may lie about the namespace. Until the control plane has named the workload nothing is known but labels: then its word counts. */
static void drop_guess(struct workloads *s, struct record *c)
{
    while (c->owned)
        record_own(s->op, c->owned, NULL);
    record_gone(s->op, c);
}

struct record *workload_record(struct workloads *s, struct slice uid, struct slice ns, struct slice name)
{
    struct op *op = s->op;
    struct record *c = workload_find(s, uid);
    if (c && (workload_of(c)->listed || slice_eq(istr_slice(c->ns), ns)))
        return c;
    if (c)
        drop_guess(s, c);
    if (s->by_uid.count >= LIMIT_REMOTE_WORKLOADS)
        return NULL;
    struct space *space = space_of(op, ns);
    c = record_make(op, uid, ns, space ? space : &op->spaces[0], &kind_workload);
    if (!c || c->present)
        return NULL; /* the uid is that of another object here */
    record_comes(op, c, c->space, &kind_workload, name);
    c->deleting = false;
    c->generation = 0;
    keep_interned(op, &c->spec, intern_get(&op->strings, SLICE("null")));
    keep_interned(op, &c->meta, intern_get(&op->strings, SLICE("{}")));
    workload_of(c)->outside = !space;
    map_put(&s->by_uid, slice_of(c->uid), c);
    return c;
}

static struct record *workload_claim(struct op *op, const struct record *child, struct jval object)
{
    struct arena *a = &op->event_arena;
    struct jval meta = json_get(object, "metadata"), labels = json_get(meta, "labels");
    struct slice uid = json_str(json_child(labels, WORK_LABEL_UID), a);
    struct slice name = json_str(json_child(json_get(meta, "annotations"), WORK_ANNOTATION_WORKLOAD), a);
    slice_cut(&name, '/');
    if (!workloads_of(op) || uid.len != UID_TEXT_MAX || !json_is(json_child(labels, WORK_LABEL_MANAGED_BY), WORK_MANAGED_BY))
        return NULL;
    struct record *c = workload_find(workloads_of(op), uid);
    if (!c)
        c = workload_record(workloads_of(op), uid, istr_slice(child->ns), name_dns1123_subdomain(name) ? name : slice_of(child->name));
    if (!c || c == child || !slice_eq(istr_slice(c->ns), istr_slice(child->ns)))
        return NULL;
    int64_t generation = workload_generation(meta, a);
    if (generation > workload_of(c)->made)
        workload_of(c)->made = generation;
    return c;
}

bool workload_keep_report(struct workloads *s, struct record *c, struct slice report, bool gone)
{
    struct workload *w = workload_of(c);
    uint64_t hash = hash64(report, 0) | 1;
    if (hash == w->status.hash)
        return false;
    struct slice text =
        arena_printf(&s->op->plan_arena, "{\"sequence\":%lld,%.*s", (long long)++s->sequence, SLICE_ARG(slice_skip(report, 1)));
    workload_tell(s, &w->status, text, hash);
    w->gone = gone;
    return true;
}

/* ---- the view ---- */

static void read_workload(struct op *op, struct record *c, const struct spec_object *from)
{
    struct workload_model *model = arena_new(&op->loaded->arena, struct workload_model);
    model->form = -1;
    struct jval spec = from->spec->value;
    struct work_options o = {.ns = istr_slice(c->ns), .image = op->o.plane.image};
    struct work_policy policy;
    policy_in_force(op, &policy);
    if (json_type(spec) == JSON_OBJECT)
        workload_build(c, spec, &o, &policy, &op->loaded->arena, model);
    op->loaded->model = model;
}

const struct workload_form workload_forms[WORKLOAD_FORMS] = {{WORK_CLUSTER, &kind_raycluster, false}, {WORK_JOB, &kind_rayjob, true}};

int32_t workload_form_of(const struct kind *k)
{
    int32_t form = WORKLOAD_FORMS - 1;
    while (form >= 0 && workload_forms[form].kind != k)
        form--;
    return form;
}

static struct workload_object view_object(const struct record *own, struct arena *a)
{
    struct workload_object v = {.form = workload_form_of(own->kind),
                                .is = {.api_version = own->kind->api_version,
                                       .kind = slice_of(own->kind->name),
                                       .ns = istr_slice(own->ns),
                                       .name = slice_of(own->name),
                                       .uid = slice_of(own->uid),
                                       .deleting = own->deleting,
                                       .metadata = json_document(istr_slice(own->meta), a, NULL),
                                       .status = record_status(own, a)}};
    v.generation = workload_generation(v.is.metadata, a);
    return v;
}

static const struct workload_object *view_objects(const struct record *c, struct arena *a, uint32_t *count)
{
    uint32_t all = 0;
    for (const struct record *own = c->owned; own; own = own->next_owned)
        all++;
    struct workload_object *list = arena_array(a, all + 1, sizeof *list);
    for (const struct record *own = c->owned; own; own = own->next_owned)
        if (own->present && workload_form_of(own->kind) >= 0)
            list[(*count)++] = view_object(own, a);
    return list;
}

static enum workload_name name_state(struct op *op, const struct record *c, const struct workload_model *m)
{
    const struct record *there = m->form < 0 ? NULL : name_find(op, workload_forms[m->form].kind, c->ns, m->name);
    if (!there || there->owner == c)
        return WORKLOAD_NAME_FREE;
    return there->deleting ? WORKLOAD_NAME_GOING : WORKLOAD_NAME_TAKEN;
}

static int64_t decide_workload(struct op *op, struct record *c, struct plan *p)
{
    struct arena *a = &op->plan_arena;
    struct workload *w = workload_of(c);
    struct work_policy policy;
    struct workload_view v = {.uid = slice_of(c->uid),
                              .ns = istr_slice(c->ns),
                              .generation = c->generation ? c->generation : w->made,
                              .made = w->made,
                              .over = w->over,
                              .known = w->listed && c->generation > 0,
                              .ended = w->ended,
                              .held = w->held,
                              .outside = w->outside,
                              .model = op->loaded->model,
                              .name = name_state(op, c, op->loaded->model),
                              .refusals = failures_of(op, c, SLICE_NONE, true, false),
                              .now = op->now};
    struct workload_told told;
    struct workload_wait wait;
    arena_reset(a, 256 * KIB);
    v.frozen = policy_frozen(op, a);
    policy_in_force(op, &policy);
    v.quiet = !policy.messages;
    v.objects = view_objects(c, a, &v.count);
    int64_t again_ms = workload_folder(workloads_of(op), c, &v);
    workload_decide(&v, a, p, &told);
    if (p->count && !quota_admit(workloads_of(op), c, p->actions[0].verb == &workload_apply ? v.model : NULL, a, &wait)) {
        v.wait = &wait;
        workload_decide(&v, a, p, &told);
    }
    plan_look_again(p, again_ms);
    op->stats.decisions++;
    w->over = told.over > w->over ? told.over : w->over;
    w->ended_here = told.over > 0;
    if (p->count == 0 || p->actions[0].verb != &workload_apply)
        plan_look_again(p, quota_use(workloads_of(op), c, a));
    bool news = told.report.ptr && workload_keep_report(workloads_of(op), c, told.report, v.ended && !v.held && v.count == 0);
    workloads_of(op)->rules[WORK_RULE_STATUS] += news && told.withheld;
    if (news && told.rule)
        workload_rule(op, c, told.rule, told.why);
    return p->next_ms;
}

/* ---- the kind ---- */

static void forget_workload(struct op *op, struct record *c)
{
    struct workload *w = workload_of(c);
    if (!w)
        return;
    map_del(&workloads_of(op)->by_uid, slice_of(c->uid));
    quota_leave(workloads_of(op), c);
    workload_tell(workloads_of(op), &w->status, SLICE_NONE, 0);
    workload_tell(workloads_of(op), &w->ray, SLICE_NONE, 0);
    workloads_of(op)->spec_bytes -= w->bytes;
    mem_free(w->folder);
}

/* A new leader knows nothing of what its predecessor was told. */
static void lead_workload(struct op *op, struct record *c, bool leads)
{
    struct workload *w = workload_of(c);
    if (!leads)
        w->listed = w->ended = w->held = false;
    w->status.hash = w->status.call = 0;
    w->ray.hash = w->ray.call = w->ray_health = 0;
    w->slot_ms = w->waits_ms = 0;
    w->gone = false;
    failures_clear(op, c);
}

static void nothing(struct op *op, struct record *c)
{
    (void)op;
    (void)c;
}

static const struct kind *const needs[] = {&kind_raycluster, &kind_rayjob, NULL};

static const struct controller controller = {.needs = needs,
                                             .must = needs,
                                             .decide = decide_workload,
                                             .read = read_workload,
                                             .claim = workload_claim,
                                             .has_agent = true,
                                             .own_size = sizeof(struct workload),
                                             .forget = forget_workload,
                                             .lead = lead_workload,
                                             .done = nothing,
                                             .respecified = failures_clear,
                                             .unsettled = doubt_list,
                                             .recall = doubt_recall};

const struct kind kind_workload = {.name = "Workload",
                                   .word = "workload",
                                   .api_version = SLICE("mobula.dev/v1"),
                                   .plural = "workloads.mobula.dev",
                                   .handlers = workload_handlers,
                                   .family = OPERATOR_RAY_IO,
                                   .gone = "workload deleted",
                                   .controller = &controller};
