/* Workloads as a kind: their records, and the view that is decided on. */
#include "workload.h"

static struct record *workload_claim(struct op *op, const struct record *child, struct jval object)
{
    struct arena *a = &op->arenas.event;
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

/* ---- the view ---- */

static void read_workload(struct op *op, struct record *c, const struct spec_object *from)
{
    struct workload_model *model = arena_new(&op->models.loaded->arena, struct workload_model);
    model->form = -1;
    struct jval spec = from->spec->value;
    struct work_options o = {.ns = istr_slice(c->ns),
                             .image = op->o.plane.image,
                             .gateway = op->o.checks.gateway,
                             .gateway_ns = slice_empty(op->o.checks.gateway_ns) ? op->o.settings_ns : op->o.checks.gateway_ns,
                             .ingress_class = op->o.checks.ingress_class};
    struct work_policy policy;
    policy_in_force(op, &policy);
    if (json_type(spec) == JSON_OBJECT)
        workload_build(c, spec, &o, &policy, &op->models.loaded->arena, model);
    op->models.loaded->model = model;
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
                                       .generation = own->seen.generation,
                                       .metadata = json_document(istr_slice(own->seen.meta), a, NULL),
                                       .spec = NO_VALUE,
                                       .status = record_status(own, a)}};
    if (workload_forms[v.form].by_spec)
        v.is.spec = json_document(istr_slice(own->seen.spec), a, NULL);
    v.generation = workload_generation(v.is.metadata, a);
    return v;
}

static const struct workload_object *view_objects(const struct record *c, struct arena *a, uint32_t *count)
{
    uint32_t all = 0;
    for (const struct record *own = c->family.owned; own; own = own->family.next)
        all++;
    struct workload_object *list = arena_array(a, all + 1, sizeof *list);
    for (const struct record *own = c->family.owned; own; own = own->family.next)
        if (own->present && workload_form_of(own->kind) >= 0)
            list[(*count)++] = view_object(own, a);
    return list;
}

static enum workload_name name_state(struct op *op, const struct record *c, const struct workload_model *m)
{
    const struct record *there = m->form < 0 ? NULL : name_find(op, workload_forms[m->form].kind, c->ns, m->name);
    if (!there || there->family.owner == c)
        return WORKLOAD_NAME_FREE;
    return there->deleting ? WORKLOAD_NAME_GOING : WORKLOAD_NAME_TAKEN;
}

static int64_t decide_workload(struct op *op, struct record *c, struct plan *p)
{
    struct arena *a = &op->arenas.plan;
    struct workload *w = workload_of(c);
    struct work_policy policy;
    struct workload_view v = {.uid = slice_of(c->uid),
                              .ns = istr_slice(c->ns),
                              .generation = c->seen.generation ? c->seen.generation : w->made,
                              .made = w->made,
                              .over = w->over,
                              .known = w->listed && c->seen.generation > 0,
                              .ended = w->ended,
                              .held = w->held,
                              .outside = w->outside,
                              .model = op->models.loaded->model,
                              .name = name_state(op, c, op->models.loaded->model),
                              .refusals = failures_of(op, c, SLICE_NONE, true, false),
                              .now = op->now};
    struct workload_told told;
    struct workload_wait wait;
    arena_reset(a, 256 * KIB);
    const struct kind *kind = v.model->form < 0 ? NULL : workload_forms[v.model->form].kind;
    if (kind && kind->optional.flag && source_of(c->space, kind)->keeper.absent)
        v.lacks = arena_printf(a, "the operator of this cloud runs without %ss: mobula install --%s", kind->name, kind->optional.flag);
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
    if (!v.wait)
        w->waits_ms = 0;
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

/* A new leader knows nothing of what its predecessor has reported. Reports of its own that were not sent before may be older than that. */
static void lead_workload(struct op *op, struct record *c, bool leads)
{
    struct workload *w = workload_of(c);
    if (!leads)
        w->listed = w->ended = w->held = false;
    workload_tell(workloads_of(op), &w->status, SLICE_NONE, 0);
    workload_tell(workloads_of(op), &w->ray, SLICE_NONE, 0);
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

static const struct kind *const needs[] = {&kind_raycluster, &kind_rayjob, &kind_versioned, NULL};
static const struct kind *const must[] = {&kind_raycluster, &kind_rayjob, NULL};

static const struct controller controller = {.needs = needs,
                                             .must = must,
                                             .decide = decide_workload,
                                             .read = read_workload,
                                             .claim = workload_claim,
                                             .has_agent = true,
                                             .own = &workload_own,
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
                                   .on_setting = policy_changed,
                                   .gone = "workload deleted",
                                   .controller = &controller};
