/* What worlds have of each kind of the operator's: who makes objects of it, and what is checked of them. All that goes over all kinds goes
 * by this table and by the operator's own (inspect.h), so a new kind is a line here: its hooks, or why worlds have none of it. */
#include "crons.h"

#include <mobula/inspect.h>

struct part {
    const char *kind;                        /* as inspect_kind has it */
    const char *none;                        /* no world has objects of it, and why; NULL: some have */
    bool (*here)(const struct sim_setup *u); /* its definition is there; NULL: in every seed */
    bool (*late)(const struct sim_setup *u); /* … but comes in the middle; NULL: it never does */
    enum sim_kind first, last;               /* moves of its users, where `move` is set */
    void (*move)(struct sim *s, const struct sim_entry *e);
    /* Any of these may be NULL. All are called in every seed, and do nothing where there are no such objects. */
    void (*begin)(struct sim *s);
    void (*tick)(struct sim *s);
    int64_t (*next)(const struct sim *s); /* when to tick */
    void (*changed)(struct sim *s, const struct apiserver_change *c);
    void (*check_request)(struct sim *s, const struct world_request *q);
    void (*refused)(struct sim *s, const struct world_request *q); /* a write was */
    void (*step)(struct sim *s);
    void (*namespace_deleted)(struct sim *s, const char *ns);
    void (*calm)(struct sim *s);
    bool (*right)(struct sim *s, char why[SIM_TEXT]); /* the end is reached */
    int64_t (*pods)(const struct sim *s);             /* how many there are that belong to such objects */
    void (*delete_all)(struct sim *s);
    void (*residue)(struct sim *s);
    void (*end)(struct sim *s);
};

static bool has_jobs(const struct sim_setup *u)
{
    return u->jobs;
}

static bool has_crons(const struct sim_setup *u)
{
    return u->crons;
}

static bool legacy_late(const struct sim_setup *u)
{
    return u->legacy_late;
}

/* In the order in which definitions are made. */
static const struct part parts[] = {
    {.kind = "rayclusters.ray.io"}, /* clusters of both kinds are what the rest of the simulator is about: moves.c, pods.c, state.c */
    {.kind = "rayjobs.ray.io",
     .here = has_jobs,
     .first = MOVE_JOB_CREATE,
     .last = MOVE_JOB_NOTE,
     .move = jobs_move,
     .begin = jobs_begin,
     .tick = jobs_tick,
     .next = jobs_next,
     .changed = jobs_changed,
     .check_request = jobs_check_request,
     .refused = jobs_refused,
     .namespace_deleted = jobs_namespace_deleted,
     .right = jobs_right,
     .pods = jobs_pods,
     .delete_all = jobs_delete_all,
     .residue = jobs_residue,
     .end = jobs_end},
    {.kind = "raycronjobs.ray.io",
     .here = has_crons,
     .first = MOVE_CRON_CREATE,
     .last = MOVE_TIME,
     .move = crons_move,
     .begin = crons_begin,
     .changed = crons_changed,
     .check_request = crons_check_request,
     .step = crons_step,
     .namespace_deleted = crons_namespace_deleted,
     .calm = crons_calm,
     .right = crons_right,
     .delete_all = crons_delete_all,
     .residue = crons_residue,
     .end = crons_end},
    {.kind = "versionedservices.mobula.dev", .none = "as RayServices, of which it is made: tests/kinds/versioned"},
    {.kind = "rayservices.ray.io", .none = "its heads would have to answer as Ray Serve: tests/kinds/rayservice has such a world"},
    {.kind = "rayclusters.cluster.ray.io", .late = legacy_late},
    {.kind = "workloads.mobula.dev", .none = "a control plane has them, and no API server of this world: tests/fleet"},
};
enum { PARTS = COUNT_OF(parts) };

static const struct part *part_of(const char *kind)
{
    for (size_t i = 0; i < PARTS; i++)
        if (strcmp(parts[i].kind, kind) == 0)
            return &parts[i];
    return NULL;
}

static bool is_here(const struct sim *s, const struct part *p)
{
    return !p->here || p->here(&s->plan->setup);
}

/* ---- the operator's own table ---- */

struct slice parts_watched(const struct sim *s, uint32_t number)
{
    struct inspect_kind k;
    for (int decided = 0; decided < 2; decided++)
        for (uint32_t i = 0; inspect_kind(i, &k); i++) {
            const struct part *p = part_of(k.resource);
            if (k.stored && k.decided == (decided == 1) && (!p || is_here(s, p)) && number-- == 0)
                return slice_of(k.resource);
        }
    return SLICE_NONE;
}

bool parts_decided(struct slice plural)
{
    struct inspect_kind k;
    for (uint32_t i = 0; inspect_kind(i, &k); i++) {
        struct slice resource = slice_of(k.resource);
        if (k.stored && k.decided && slice_eq(slice_cut(&resource, '.'), plural))
            return true;
    }
    return false;
}

/* ---- definitions ---- */

static void make_crd(struct sim *s, const struct inspect_kind *k)
{
    static const char any[] = "{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}";
    struct slice group = slice_of(k->resource), plural = slice_cut(&group, '.');
    struct slice body =
        arena_printf(&s->w.arena,
                     "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":\"%s\"},"
                     "\"spec\":{\"group\":\"%.*s\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"%.*s\",\"singular\":\"%.*s\","
                     "\"kind\":\"%s\",\"listKind\":\"%sList\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
                     "\"subresources\":{\"status\":{}},\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":"
                     "{\"spec\":%s,\"status\":%s}}}}]}}",
                     k->resource, SLICE_ARG(group), SLICE_ARG(plural), (int)strlen(k->name), plural.ptr, k->name, k->name, any, any);
    int status = world_call(&s->w, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json", body);
    if (status != 201)
        fatal("sim: the CRD %s was answered %d", k->resource, status);
}

/* Every decided kind has a line, and every line a kind. */
static void check_table(void)
{
    struct inspect_kind k;
    size_t found = 0;
    for (uint32_t i = 0; inspect_kind(i, &k); i++) {
        const struct part *p = part_of(k.resource);
        if (k.decided && !p)
            fatal("sim: kind %s has no line in parts[] of tests/model/sim/parts.c", k.resource);
        found += p != NULL;
    }
    if (found != PARTS)
        fatal("sim: a line of parts[] names a kind that the operator has not");
}

static void define(struct sim *s, bool late)
{
    struct inspect_kind k;
    for (size_t i = 0; i < PARTS; i++)
        for (uint32_t n = 0; inspect_kind(n, &k); n++)
            if (part_of(k.resource) == &parts[i] && k.stored && is_here(s, &parts[i]) &&
                (parts[i].late && parts[i].late(&s->plan->setup)) == late)
                make_crd(s, &k);
}

void parts_define(struct sim *s)
{
    check_table();
    define(s, false);
}

void parts_define_late(struct sim *s)
{
    define(s, true);
}

/* ---- hooks ---- */

void parts_begin(struct sim *s)
{
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i].begin)
            parts[i].begin(s);
}

static const struct part *mover(enum sim_kind move)
{
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i].move && move >= parts[i].first && move <= parts[i].last)
            return &parts[i];
    return NULL;
}

bool parts_owns(enum sim_kind move)
{
    return mover(move) != NULL;
}

void parts_move(struct sim *s, const struct sim_entry *e)
{
    mover(e->kind)->move(s, e);
}

void parts_tick(struct sim *s)
{
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i].tick)
            parts[i].tick(s);
}

int64_t parts_next(const struct sim *s)
{
    int64_t next = TIME_NEVER;
    for (size_t i = 0; i < PARTS; i++) {
        int64_t one = parts[i].next ? parts[i].next(s) : TIME_NEVER;
        next = one < next ? one : next;
    }
    return next;
}

void parts_changed(struct sim *s, const struct apiserver_change *c)
{
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i].changed)
            parts[i].changed(s, c);
}

void parts_check_request(struct sim *s, const struct world_request *q)
{
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i].check_request)
            parts[i].check_request(s, q);
}

void parts_refused(struct sim *s, const struct world_request *q)
{
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i].refused)
            parts[i].refused(s, q);
}

void parts_step(struct sim *s)
{
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i].step)
            parts[i].step(s);
}

void parts_namespace_deleted(struct sim *s, const char *ns)
{
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i].namespace_deleted)
            parts[i].namespace_deleted(s, ns);
}

void parts_calm(struct sim *s)
{
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i].calm)
            parts[i].calm(s);
}

bool parts_right(struct sim *s, char why[SIM_TEXT])
{
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i].right && !parts[i].right(s, why))
            return false;
    return true;
}

int64_t parts_pods(const struct sim *s)
{
    int64_t pods = 0;
    for (size_t i = 0; i < PARTS; i++)
        pods += parts[i].pods ? parts[i].pods(s) : 0;
    return pods;
}

/* What owns goes before what it owns. */
void parts_delete_all(struct sim *s)
{
    for (size_t i = PARTS; i-- > 0;)
        if (parts[i].delete_all)
            parts[i].delete_all(s);
}

void parts_residue(struct sim *s)
{
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i].residue)
            parts[i].residue(s);
}

void parts_end(struct sim *s)
{
    for (size_t i = PARTS; i-- > 0;)
        if (parts[i].end)
            parts[i].end(s);
}
