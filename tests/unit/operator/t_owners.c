/* Who owns a cluster, who is found by a name, who is told of it, and whose models are kept. Whoever may write a RayCluster writes its owner
 * references too. */
#include "heads.h"
#include <mobula/inspect.h>
#include <mobula/kind_rayjob.h>
#include <mobula/kinds.h>

#include "src/kinds/rayjob/record.h"

extern const struct kind kind_raycronjob;

static struct record *tell_owned(struct rig *r, int n, int owner, unsigned version)
{
    struct slice uid = uid_of(r, 0xc, n);
    struct slice text = arena_printf(&r->arena,
                                     "{\"metadata\":{\"name\":\"c%d\",\"namespace\":\"n\",\"uid\":\"%s\",\"ownerReferences\":[{\"kind\":"
                                     "\"RayJob\",\"name\":\"j\",\"uid\":\"%s\",\"controller\":true}]},\"spec\":{}}",
                                     n, uid.ptr, uid_of(r, 0xc, owner).ptr);
    extract_record(r->op, source_of(&r->op->spaces[0], &kind_raycluster), parsed(r, text), version, 1);
    return record_get(r->op, uid, SLICE("n"));
}

/* Everything that is queued is let go of, as a process that does not lead does. */
static uint32_t left(struct rig *r)
{
    decide_none(r->op);
    return r->op->all.records.count;
}

static void check_own_owner(void)
{
    struct rig r;
    start(&r, "");
    test_case("a cluster that names itself as its owner leaves no record");
    record_gone(r.op, r.c);
    struct record *c = tell_owned(&r, 1, 1, 10);
    CHECK(c && c->family.owner == NULL && c->family.owned == NULL);
    record_gone(r.op, c);
    CHECK_INT(left(&r), 0);
    test_case("nor do two that name each other");
    struct record *a = tell_owned(&r, 1, 2, 11), *b = tell_owned(&r, 2, 1, 12);
    CHECK(a && b);
    test_case("… and neither owns the other: who looks for what is above them comes to an end");
    CHECK(a->family.owner == NULL && b->family.owner == NULL);
    tell_owned(&r, 1, 2, 13);
    CHECK(a->family.owner == NULL && inspect_broken(r.op) == NULL);
    record_gone(r.op, a);
    record_gone(r.op, b);
    CHECK_INT(left(&r), 0);
    CHECK_INT(r.op->names.map.count, 0);
    finish(&r);
}

/* Neither generation nor labels change with it. */
static void check_owner_comes(void)
{
    struct rig r;
    start(&r, "");
    test_case("a job is told of a cluster that names it as its owner again, though nothing else has changed");
    struct slice job =
        arena_printf(&r.arena, "{\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"uid\":\"%s\"},\"spec\":{}}", uid_of(&r, 0xc, 7).ptr);
    extract_record(r.op, source_of(&r.op->spaces[0], &kind_rayjob), parsed(&r, job), 10, 1);
    struct record *c = tell_owned(&r, 1, 9, 11), *j = record_get(r.op, uid_of(&r, 0xc, 7), SLICE("n"));
    while (dirty_pop(r.op))
        continue;
    tell_owned(&r, 1, 7, 12);
    bool told = false;
    for (const struct record *one; (one = dirty_pop(r.op)) != NULL;)
        told |= one == j;
    CHECK(c->family.owner == j && told);
    finish(&r);
}

/* Each kind's `owns` decides, and of what it does not list nobody is the owner. */
static void check_owning_kinds(void)
{
    static const struct {
        const char *owner;
        const struct kind *child, *is;
    } cases[] = {{"RayCluster", &kind_pod, &kind_raycluster},
                 {"RayCluster", &kind_kservice, &kind_raycluster},
                 {"RayJob", &kind_pod, &kind_rayjob},
                 {"RayJob", &kind_raycluster, &kind_rayjob},
                 {"RayCronJob", &kind_rayjob, &kind_raycronjob},
                 {"RayCronJob", &kind_pod, NULL},
                 {"RayCronJob", &kind_raycluster, NULL},
                 {"RayCluster", &kind_rayjob, NULL},
                 {"RayJob", &kind_raycluster_legacy, NULL},
                 {"ReplicaSet", &kind_pod, NULL}};
    struct rig r;
    start(&r, "");
    test_case("owners of pods, services, RayClusters and RayJobs");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct slice uid,
            text = arena_printf(&r.arena, "{\"metadata\":{\"ownerReferences\":[{\"kind\":\"%s\",\"uid\":\"u\",\"controller\":true}]}}",
                                cases[i].owner);
        CHECK(controller_of(r.op, parsed(&r, text), cases[i].child, &r.arena, &uid) == cases[i].is);
        CHECK(slice_empty(uid) == !cases[i].is);
    }
    finish(&r);
}

/* Its children may tell of a record before its own object does, and of another kind; and after it has gone. */
static void check_own_half(void)
{
    struct rig r;
    start(&r, "");
    test_case("what a kind keeps of a record comes with the resource, whatever kind a child took it for");
    struct record *c = record_make(r.op, uid_of(&r, 0xc, 5), SLICE("n"), &r.op->spaces[0], &kind_rayjob);
    CHECK(c->own == NULL);
    c->in_flight++; /* the record stays until that is answered */
    CHECK(tell_owned(&r, 5, 7, 10) == c);
    CHECK(raycluster_of(c) != NULL && job_there(c) == NULL);
    raycluster_of(c)->strips = true;
    test_case("… and goes with it");
    const struct service_record last = {.of = c};
    record_gone(r.op, c);
    CHECK(raycluster_of(c) == NULL);
    c->kind->controller->service_gone(r.op, c, &last);
    scaling_ended(&(struct pod_record){.of = c});
    test_case("what comes back begins again");
    tell_owned(&r, 5, 7, 11);
    CHECK(c->present && !raycluster_of(c)->strips);
    c->in_flight--;
    record_gone(r.op, c);
    test_case("a job has it from its first decision on");
    struct slice job =
        arena_printf(&r.arena, "{\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"uid\":\"%s\"},\"spec\":{}}", uid_of(&r, 0xc, 6).ptr);
    extract_record(r.op, source_of(&r.op->spaces[0], &kind_rayjob), parsed(&r, job), 12, 1);
    c = record_get(r.op, uid_of(&r, 0xc, 6), SLICE("n"));
    CHECK(job_there(c) == NULL && raycluster_of(c) == NULL && job_matches_record(c));
    CHECK(job_of(r.op, c) == job_there(c));
    c->kind->controller->lead(r.op, c, false);
    CHECK(job_there(c) == NULL);
    finish(&r);
}

static void check_names(void)
{
    struct rig r;
    start(&r, "");
    const struct istr *n = r.c->ns;
    test_case("a cluster is found by its kind, namespace and name");
    CHECK(name_find(r.op, &kind_raycluster, n, SLICE("c")) == r.c);
    CHECK(name_find(r.op, &kind_raycluster_legacy, n, SLICE("c")) == NULL);
    CHECK(name_find(r.op, &kind_raycluster, n, SLICE("c1")) == NULL);
    CHECK(name_find(r.op, &kind_raycluster, n, SLICE_NONE) == NULL);
    test_case("of two by one name the newer is found, and the end of the older changes nothing");
    struct record *older = tell_owned(&r, 1, 7, 20);
    CHECK(name_find(r.op, &kind_raycluster, n, SLICE("c1")) == older);
    name_enter(r.op, &kind_raycluster, n, SLICE("c1"), r.c);
    name_leave(r.op, &kind_raycluster, n, SLICE("c1"), older);
    CHECK(name_find(r.op, &kind_raycluster, n, SLICE("c1")) == r.c);
    name_leave(r.op, &kind_raycluster, n, SLICE("c1"), r.c);
    test_case("who watches a name is told of it, whether there is an object or not");
    struct name_watch w = {.who = r.c};
    name_watch(r.op, &w, &kind_raycluster, n, SLICE("c9"));
    while (dirty_pop(r.op))
        continue;
    name_tell(r.op, &kind_raycluster, n, SLICE("c8"));
    CHECK(dirty_pop(r.op) == NULL);
    name_tell(r.op, &kind_raycluster, n, SLICE("c9"));
    CHECK(dirty_pop(r.op) == r.c);
    test_case("LIMIT_KUBE_NAME");
    char name[LIMIT_KUBE_NAME + 1];
    memset(name, 'x', sizeof name);
    name_watch(r.op, &w, &kind_raycluster, n, (struct slice){name, LIMIT_KUBE_NAME});
    CHECK(w.at != NULL);
    name_watch(r.op, &w, &kind_raycluster, n, (struct slice){name, LIMIT_KUBE_NAME + 1});
    CHECK(w.at == NULL);
    CHECK_INT(r.op->names.watched, 0);
    finish(&r);
}

static uint32_t models_held(const struct rig *r)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < MODELS_KEPT; i++)
        n += r->op->models.list[i].arena.first != NULL;
    return n;
}

static bool model_kept(const struct rig *r, const struct record *c)
{
    bool kept = false;
    for (uint32_t i = 0; i < MODELS_KEPT; i++)
        kept |= r->op->models.list[i].of == c;
    return kept;
}

static void check_models(void)
{
    struct rig r;
    start(&r, "");
    struct record *c[MODELS_KEPT];
    for (int i = 0; i < MODELS_KEPT; i++)
        model_load(r.op, c[i] = tell_owned(&r, i + 1, 9, 10));
    test_case("a spec that is changed and read again takes its own place among the models that are kept");
    record_reread(r.op, c[3]);
    model_load(r.op, c[3]);
    for (int i = 0; i < MODELS_KEPT; i++)
        CHECK(model_kept(&r, c[i]));
    test_case("the model of a record that is gone is freed, at the latest when another one is worked with");
    record_gone(r.op, c[0]);
    CHECK_INT(models_held(&r), 3);
    record_gone(r.op, c[3]);
    CHECK_INT(models_held(&r), 3);
    model_load(r.op, c[1]);
    CHECK_INT(models_held(&r), 2);
    record_gone(r.op, c[2]);
    record_gone(r.op, c[1]);
    for (int i = 0; i < 2 * MODELS_KEPT; i++) {
        struct record *next = tell_owned(&r, 0x10 + i, 9, 11);
        model_load(r.op, next);
        record_gone(r.op, next);
        CHECK_INT(models_held(&r), 1);
    }
    finish(&r);
}

/* A pod of the same plan was told to wait for a minute. */
static void check_longer_wait(void)
{
    enum { MINUTE_MS = 60 * 1000 };
    static const int codes[] = {404, 409};
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        struct rig r;
        start(&r, "");
        test_case("a status that is answered %d does not shorten a longer wait", codes[i]);
        struct flight *f = slab_alloc(&r.op->slabs.flight);
        *f = (struct flight){.op = r.op, .c = r.c, .verb = &verb_status};
        r.c->in_flight++;
        r.op->flights++;
        r.c->backoff.not_before_ms = r.op->now.mono_ms + MINUTE_MS;
        struct kube_answer a = {.outcome = KUBE_REFUSED,
                                .status = {.code = codes[i], .reason = codes[i] == 404 ? KUBE_NOT_FOUND : KUBE_CONFLICT}};
        int64_t before_ms = r.c->backoff.not_before_ms;
        answer_done(r.op, (uint64_t)(uintptr_t)f, &a, r.op->now);
        CHECK_INT(r.c->backoff.not_before_ms, before_ms);
        finish(&r);
    }
}

/* What the flags leave out counts as absent, so that nothing waits for it. */
static void check_left_out(void)
{
    struct rig r;
    start(&r, "");
    for (uint32_t i = 0; i < kind_count(r.op); i++) {
        struct space s;
        struct err e = {0};
        enum operator_kinds group = kinds[i]->family == OPERATOR_LEGACY ? OPERATOR_RAY_IO : OPERATOR_LEGACY;
        bool other = kinds[i]->family != OPERATOR_ALL_KINDS;
        for (int how = 0; how < 3; how++) {
            test_case("%s: %s", kinds[i]->plural, how == 0 ? "asked for" : how == 1 ? "without it" : "--kinds is the other group");
            r.op->o.without[i] = how == 1;
            r.op->o.kinds = how == 2 ? group : OPERATOR_ALL_KINDS;
            CHECK(space_start(r.op, &s, SLICE("m"), &e));
            CHECK_INT(s.source[i].keeper.absent, how == 1 || (how == 2 && other));
            CHECK_INT(s.source[i].keeper.watch != NULL, kinds[i]->resource && !s.source[i].keeper.absent && !kinds[i]->on_demand);
            space_stop(&s);
            r.op->o.without[i] = false;
        }
    }
    finish(&r);
}

/* The Role of an installation from before RayCronJobs has no right to them: an upgrade that is not ready would never go on. */
static void check_ready(void)
{
    struct rig r;
    struct buf why;
    buf_init(&why, 4 * KIB);
    start(&r, "");
    struct space *s = &r.op->spaces[0];
    for (uint32_t i = 0; i < kind_count(r.op); i++)
        s->source[i].keeper.synced = true;
    test_case("readiness does not wait for a kind that an older installation may not see");
    source_of(s, &kind_raycronjob)->keeper.synced = false;
    err_set(&source_of(s, &kind_raycronjob)->keeper.trouble, ERR_STATUS, "403 Forbidden");
    operator_ready(r.op, r.op->now, &why);
    CHECK(!slice_has(buf_slice(&why), "raycronjobs"));
    test_case("… and waits for the others");
    source_of(s, &kind_pod)->keeper.synced = false;
    CHECK(!operator_ready(r.op, r.op->now, &why));
    CHECK(slice_has(buf_slice(&why), "pods in n"));
    buf_free(&why);
    finish(&r);
}

int main(void)
{
    log_global = (struct log){.level = LOG_ERROR, .fd = -1};
    check_own_owner();
    check_owner_comes();
    check_owning_kinds();
    check_own_half();
    check_names();
    check_models();
    check_longer_wait();
    check_left_out();
    check_ready();
    return test_done();
}
