/* Records of workloads, and the forms that a workload can have. */
#include "view.h"
#include "workload.h"

const struct own_type workload_own = {sizeof(struct workload)};

struct workloads *workloads_of(const struct op *op)
{
    return *kind_own(op, own_kind(op, &workload_own));
}

struct record *workload_find(const struct workloads *s, struct slice uid)
{
    return map_get(&s->by_uid, uid);
}

struct workload *workload_of(const struct record *c)
{
    return record_own_as(c, &workload_own);
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
    while (c->family.owned)
        record_own(s->op, c->family.owned, NULL);
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
    c = record_make(op, uid, ns, space ? space : &op->spaces[0], own_kind(op, &workload_own));
    if (!c || c->present)
        return NULL; /* the uid is that of another object here */
    record_comes(op, c, c->space, own_kind(op, &workload_own), name);
    c->deleting = false;
    c->seen.generation = 0;
    keep_interned(op, &c->seen.spec, intern_get(&op->strings, SLICE("null")));
    keep_interned(op, &c->seen.meta, intern_get(&op->strings, SLICE("{}")));
    workload_of(c)->outside = !space;
    map_put(&s->by_uid, slice_of(c->uid), c);
    return c;
}

const struct workload_form workload_forms[WORKLOAD_FORMS] = {
    {WORK_CLUSTER, &kind_raycluster, false, false}, {WORK_JOB, &kind_rayjob, true, false}, {WORK_SERVICE, &kind_versioned, false, true}};

int32_t workload_form_of(const struct kind *k)
{
    int32_t form = WORKLOAD_FORMS - 1;
    while (form >= 0 && workload_forms[form].kind != k)
        form--;
    return form;
}
