/* Records move forward only, whoever tells of their objects and in whichever order; what a list does not hold any more is gone, unless it
 * is newer than the list; and what is gone takes no memory. */
#include "rig.h"

#include "src/kube/watch.h"

#include <mobula/kind_rayjob.h>

#define POD(n) "00000000-0000-0000-0000-0000000000a" #n
#define SERVICE "00000000-0000-0000-0000-0000000000b0"
#define OWNED                                                                                                                              \
    "\"namespace\":\"n\",\"ownerReferences\":[{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"name\":\"c\",\"uid\":\"" CLUSTER     \
    "\",\"controller\":true}]"

static struct slice pod_text(struct rig *r, const char *uid, unsigned version, const char *phase)
{
    return arena_printf(&r->arena,
                        "{\"metadata\":{\"name\":\"p\",\"uid\":\"%s\",\"resourceVersion\":\"%u\",\"labels\":{\"ray.io/group\":\"g\"}," OWNED
                        "},\"status\":{\"phase\":\"%s\"}}",
                        uid, version, phase);
}

static void tell_pod(struct rig *r, const char *uid, unsigned version, const char *phase, uint32_t round)
{
    struct space *s = &r->op->spaces[0];
    extract_pod(r->op, s, parsed(r, pod_text(r, uid, version, phase)), version, round);
}

static const struct pod *pod(struct rig *r, const char *uid)
{
    const struct pod_record *p = map_get(&r->op->all.pods, slice_of(uid));
    return p ? &p->pod : NULL;
}

/* What the watch of pods says. */
static void watch_says(struct rig *r, enum kube_watch_what what, struct jval item, uint64_t version)
{
    const struct kube_watch *w = source_of(&r->op->spaces[0], &kind_pod)->keeper.watch;
    struct kube_watch_event ev = {.what = what, .item = item, .version = version};
    w->on(w->owner, &ev, r->f.now);
}

static void tell_head(struct rig *r, const char *uid, const char *name, unsigned version)
{
    struct slice text = arena_printf(&r->arena,
                                     "{\"metadata\":{\"name\":\"%s\",\"uid\":\"%s\",\"resourceVersion\":\"%u\",\"labels\":{"
                                     "\"ray.io/node-type\":\"head\"}," OWNED "},\"status\":{\"phase\":\"Running\"}}",
                                     name, uid, version);
    extract_pod(r->op, &r->op->spaces[0], parsed(r, text), version, 1);
}

/* The end of a head may be missed, and a list that is still being read may tell of it once more. */
static void check_outlived(void)
{
    struct rig r;
    start(&r);
    test_case("a head is made under the name of one whose end nobody has told: that one has gone");
    tell_head(&r, POD(1), "c-head", 5);
    tell_head(&r, POD(2), "c-head", 9);
    CHECK(pod(&r, POD(1)) == NULL && pod(&r, POD(2)) != NULL);
    test_case("… and told of again, it is not there either");
    tell_head(&r, POD(1), "c-head", 7);
    CHECK(pod(&r, POD(1)) == NULL && pod(&r, POD(2)) != NULL);
    test_case("a head of another name is a second one");
    tell_head(&r, POD(3), "c-head-abcde", 7);
    CHECK(pod(&r, POD(2)) != NULL && pod(&r, POD(3)) != NULL);
    finish(&r);
}

static void check_forward(void)
{
    struct rig r;
    start(&r);
    test_case("C7 an older pod does not overwrite a newer one, nor does the same");
    tell_pod(&r, POD(1), 10, "Running", 1);
    tell_pod(&r, POD(1), 9, "Failed", 1);
    CHECK_INT(pod(&r, POD(1))->phase, POD_RUNNING);
    tell_pod(&r, POD(1), 10, "Failed", 1);
    CHECK_INT(pod(&r, POD(1))->phase, POD_RUNNING);
    tell_pod(&r, POD(1), 11, "Failed", 0);
    CHECK_INT(pod(&r, POD(1))->phase, POD_FAILED);
    CHECK_INT(pod(&r, POD(1))->version, 11);
    test_case("what was deleted by us stays so, whatever comes late");
    struct pod_record *record = map_get(&r.op->all.pods, SLICE(POD(1)));
    record->pod.deleting = true;
    tell_pod(&r, POD(1), 12, "Running", 1);
    CHECK(pod(&r, POD(1))->deleting);
    finish(&r);
}

/* A host of this replica. */
static struct pod_record *tell_host(struct rig *r, const char *uid, int replica, unsigned version, const char *phase)
{
    struct slice text = arena_printf(&r->arena,
                                     "{\"metadata\":{\"name\":\"p\",\"uid\":\"%s\",\"labels\":{\"ray.io/group\":\"g\","
                                     "\"" RAY_LABEL_REPLICA_INDEX "\":\"%d\"}," OWNED "},\"status\":{\"phase\":\"%s\"}}",
                                     uid, replica, phase);
    extract_pod(r->op, &r->op->spaces[0], parsed(r, text), version, 1);
    return map_get(&r->op->all.pods, slice_of(uid));
}

static struct pod_record *give_up(struct rig *r, const char *uid, int replica)
{
    struct pod_record *p = tell_host(r, uid, replica, 10, "Pending");
    p->stop = "it has not started";
    return p;
}

static void check_given_up(void)
{
    struct rig r;
    start(&r);
    const struct pod_record *a = give_up(&r, POD(1), 0), *host = give_up(&r, POD(2), 0), *other = give_up(&r, POD(3), 1);
    struct record *c = record_get(r.op, SLICE(CLUSTER), SLICE("n"));
    c->work = mem_alloc(sizeof *c->work + 2 * sizeof c->work->actions[0]);
    c->work->count = 2;
    test_case("a pod that was given up stays so as long as it has not started");
    tell_host(&r, POD(1), 0, 11, "Pending");
    CHECK(a->stop && host->stop && other->stop);
    CHECK_INT(c->work->count, 2);
    test_case("when it has, neither it nor another host of its replica is, and no DELETE that waits is sent");
    tell_host(&r, POD(1), 0, 12, "Running");
    CHECK(!a->stop && !host->stop && other->stop);
    CHECK_INT(c->work->count, 0);
    finish(&r);
}

/* Its doubt is over with the next word about it, which is what it was waited for. */
static void check_overtaken(void)
{
    struct rig r;
    start(&r);
    test_case("what is known to be old is so until it is told again");
    struct pod_record *p = give_up(&r, POD(1), 0);
    p->pod.ours.overtaken = true;
    p->doubt.ms = 1;
    tell_pod(&r, POD(1), 10, "Pending", 2);
    CHECK(p->pod.ours.overtaken && p->doubt.ms == 1 && p->round == 2);
    p->of->dirty = false;
    tell_pod(&r, POD(1), 11, "Pending", 1);
    CHECK(!p->pod.ours.overtaken && p->doubt.ms == 0 && p->of->dirty);
    finish(&r);
}

static void check_service(void)
{
    struct rig r;
    static const char format[] =
        "{\"metadata\":{\"name\":\"%s\",\"uid\":\"" SERVICE "\"," OWNED "},\"spec\":{\"clusterIP\":\"10.0.0.%u\"}}";
    start(&r);
    test_case("the same of services");
    for (unsigned i = 0; i < 3; i++) {
        static const unsigned versions[] = {10, 9, 11};
        struct slice text = arena_printf(&r.arena, format, "s", versions[i]);
        extract_service(r.op, &r.op->spaces[0], parsed(&r, text), versions[i], 1);
        const struct service_record *s = map_get(&r.op->all.services, SLICE(SERVICE));
        CHECK(s != NULL);
        CHECK_STR(slice_of(s->service.ip), i < 2 ? "10.0.0.10" : "10.0.0.11");
    }
    finish(&r);
}

/* A webhook takes the label away as the service is made: no watch and no list of ours will ever show it. */
static void check_unlabelled(void)
{
    static const struct {
        const char *id, *labels;
        bool kept;
    } cases[] = {{"the answer to an apply has the label", "\"ray.io/cluster\":\"c\"", true}, {"… and has it not", "\"a\":\"b\"", false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rig r;
        start(&r);
        test_case("%s", cases[i].id);
        struct slice text = SLICE("{\"metadata\":{\"name\":\"c\",\"namespace\":\"n\",\"uid\":\"" CLUSTER "\"},\"spec\":{}}");
        extract_record(r.op, source_of(&r.op->spaces[0], &kind_raycluster), parsed(&r, text), 9, 1);
        struct record *c = record_get(r.op, SLICE(CLUSTER), SLICE("n"));
        struct flight *f = slab_alloc(&r.op->slabs.flight);
        *f = (struct flight){.op = r.op, .c = c, .verb = &raycluster_apply_headless_service, .fresh = true, .name = "s", .hash = 7};
        c->in_flight++;
        r.op->flights++;
        struct kube_answer a = {.outcome = KUBE_OK,
                                .body = arena_printf(&r.arena,
                                                     "{\"metadata\":{\"name\":\"s\",\"uid\":\"" SERVICE
                                                     "\",\"resourceVersion\":\"10\",\"labels\":{%s}," OWNED "}}",
                                                     cases[i].labels)};
        answer_done(r.op, (uint64_t)(uintptr_t)f, &a, r.op->now);
        CHECK_INT(service_of(c, SLICE("s")) != NULL, cases[i].kept);
        CHECK_INT(raycluster_of(c)->paces[1].applied, 1);
        CHECK(raycluster_of(c)->paces[1].from_ms > r.op->now.mono_ms);
        CHECK_INT(raycluster_of(c)->paces[0].applied, 0);
        finish(&r);
    }
}

static void check_cluster(void)
{
    struct rig r;
    static const char format[] =
        "{\"metadata\":{\"name\":\"c\",\"namespace\":\"n\",\"uid\":\"" CLUSTER "\",\"generation\":%u},\"spec\":{}}";
    start(&r);
    test_case("and of clusters");
    for (unsigned i = 0; i < 3; i++) {
        static const unsigned versions[] = {10, 9, 11};
        struct jval object = parsed(&r, arena_printf(&r.arena, format, versions[i]));
        extract_record(r.op, source_of(&r.op->spaces[0], &kind_raycluster), object, versions[i], 1);
        CHECK_INT(record_get(r.op, SLICE(CLUSTER), SLICE("n"))->seen.generation, i < 2 ? 10 : 11);
    }
    finish(&r);
}

static void check_list(void)
{
    struct rig r;
    const struct jval none = {.at = -1};
    start(&r);
    watch_says(&r, KUBE_WATCH_RESTART, none, 0);
    watch_says(&r, KUBE_WATCH_UPSERT, parsed(&r, pod_text(&r, POD(1), 10, "Running")), 10);
    watch_says(&r, KUBE_WATCH_UPSERT, parsed(&r, pod_text(&r, POD(2), 11, "Running")), 11);
    watch_says(&r, KUBE_WATCH_SYNCED, none, 20);
    test_case("L8 while a list is taken, nothing is forgotten");
    watch_says(&r, KUBE_WATCH_RESTART, none, 20);
    watch_says(&r, KUBE_WATCH_UPSERT, parsed(&r, pod_text(&r, POD(1), 10, "Running")), 10);
    CHECK(pod(&r, POD(1)) && pod(&r, POD(2)) && !source_of(&r.op->spaces[0], &kind_pod)->keeper.synced);
    test_case("L8 a write of ours that is answered meanwhile is newer than the list, and stays");
    tell_pod(&r, POD(3), 41, "Pending", 0);
    watch_says(&r, KUBE_WATCH_SYNCED, none, 40);
    CHECK(pod(&r, POD(1)) && !pod(&r, POD(2)) && pod(&r, POD(3)));
    test_case("the next list that does not hold it forgets it");
    watch_says(&r, KUBE_WATCH_RESTART, none, 40);
    watch_says(&r, KUBE_WATCH_SYNCED, none, 50);
    CHECK_INT(r.op->all.pods.count, 0);
    finish(&r);
}

/* The watch was cut off while a pod went and another one came under its name: nobody tells of the end of the first. */
static void check_remade(void)
{
    struct rig r;
    const struct jval none = {.at = -1};
    start(&r);
    watch_says(&r, KUBE_WATCH_RESTART, none, 0);
    watch_says(&r, KUBE_WATCH_UPSERT, parsed(&r, pod_text(&r, POD(1), 10, "Running")), 10);
    watch_says(&r, KUBE_WATCH_SYNCED, none, 20);
    test_case("L8 a list holds another pod of that name: until its end there are both, and then the new one alone");
    watch_says(&r, KUBE_WATCH_RESTART, none, 20);
    watch_says(&r, KUBE_WATCH_UPSERT, parsed(&r, pod_text(&r, POD(2), 30, "Pending")), 30);
    CHECK(pod(&r, POD(1)) && pod(&r, POD(2)));
    watch_says(&r, KUBE_WATCH_SYNCED, none, 40);
    CHECK(!pod(&r, POD(1)) && pod(&r, POD(2)));
    CHECK_INT(r.op->all.pods.count, 1);
    const struct record *c = record_get(r.op, SLICE(CLUSTER), SLICE("n"));
    uint32_t counted = 0;
    for (const struct pod_record *p = c->children.pods; p; p = p->next)
        counted++;
    CHECK_INT(counted, 1);
    test_case("what is told late of the first one is of no pod that counts");
    watch_says(&r, KUBE_WATCH_DELETE, parsed(&r, pod_text(&r, POD(1), 29, "Running")), 29);
    CHECK(pod(&r, POD(2)) && c->children.pods && c->children.pods->pod.phase == POD_PENDING);
    finish(&r);
}

static void check_memory(void)
{
    struct rig r;
    start(&r);
    test_case("records that come and go leave nothing behind");
    uint32_t strings = r.op->strings.map.count;
    for (int i = 0; i < 100; i++) {
        tell_pod(&r, POD(1), 10, "Running", 1);
        struct slice text = arena_printf(&r.arena, "{\"metadata\":{\"name\":\"s\",\"uid\":\"" SERVICE "\"," OWNED "}}");
        extract_service(r.op, &r.op->spaces[0], parsed(&r, text), 10, 1);
        watch_says(&r, KUBE_WATCH_DELETE, parsed(&r, pod_text(&r, POD(1), 11, "Running")), 11);
        service_remove(r.op, map_get(&r.op->all.services, SLICE(SERVICE)));
        decide_none(r.op);
    }
    CHECK_INT(r.op->slabs.pod.count, 0);
    CHECK_INT(r.op->slabs.service.count, 0);
    CHECK_INT(r.op->slabs.record.count, 0);
    CHECK_INT(r.op->strings.map.count, strings);
    CHECK_INT(r.op->all.records.count, 0);
    finish(&r);
}

/* Decides whatever may be decided, some time later; returns how many decisions that were. */
static uint64_t decisions(struct rig *r, struct record *c)
{
    uint64_t before = r->op->stats.decisions;
    r->f.now.mono_ms += 60 * 1000;
    r->op->now = r->f.now;
    record_touch(r->op, c);
    decide_all(r->op);
    return r->op->stats.decisions - before;
}

static void check_gate(void)
{
    struct rig r;
    start(&r);
    struct jval object = parsed(&r, SLICE("{\"metadata\":{\"name\":\"c\",\"namespace\":\"n\",\"uid\":\"" CLUSTER "\"},\"spec\":{}}"));
    extract_record(r.op, source_of(&r.op->spaces[0], &kind_raycluster), object, 10, 1);
    struct record *c = record_get(r.op, SLICE(CLUSTER), SLICE("n"));
    test_case("nothing is decided before every list is there");
    for (uint32_t i = 0; i < kind_count(r.op); i++) {
        if (r.op->spaces[0].source[i].kind->on_demand)
            continue; /* not watched before a resource asks for it */
        CHECK_INT(decisions(&r, c), 0);
        r.op->spaces[0].source[i].keeper.synced = true;
    }
    test_case("nor while an own write is in flight, or a plan waits to be carried out");
    c->in_flight = 1;
    CHECK_INT(decisions(&r, c), 0);
    c->in_flight = 0;
    CHECK(decisions(&r, c) > 0 && c->work != NULL);
    CHECK_INT(decisions(&r, c), 0);
    finish(&r);
}

static void check_back(void)
{
    struct rig r;
    start(&r);
    test_case("a cluster that is gone and comes back while answers are on their way begins again, and leaves nothing behind");
    struct slice text =
        SLICE("{\"metadata\":{\"name\":\"c\",\"namespace\":\"n\",\"uid\":\"" CLUSTER "\"},\"spec\":{},\"status\":{\"a\":1}}");
    for (uint64_t version = 10; version < 13; version++) {
        extract_record(r.op, source_of(&r.op->spaces[0], &kind_raycluster), parsed(&r, text), version, 1);
        struct record *c = record_get(r.op, SLICE(CLUSTER), SLICE("n"));
        CHECK(c->present && c->seen.version == version && c->status.len == 7);
        CHECK_STR(slice_of(c->name), "c");
        c->status_ours = true;
        c->in_flight = 1;
        record_gone(r.op, c);
        CHECK(!c->present && !c->name && !c->status_ours);
    }
    struct record *c = record_get(r.op, SLICE(CLUSTER), SLICE("n"));
    c->in_flight = 0;
    work_settle(r.op, c);
    decide_none(r.op);
    CHECK_INT(r.op->all.records.count, 0);
    CHECK_INT(r.op->slabs.record.count, 0);
    CHECK_INT(r.op->strings.map.count, 0);
    finish(&r);
}

/* ---- what names an owner in another namespace ---- */

#define JOB "00000000-0000-0000-0000-00000000000d"

enum child { A_POD, A_SERVICE, A_CLUSTER };

static void tell_text(struct rig *r, enum child what, struct slice text)
{
    struct space *s = &r->op->spaces[0];
    if (what == A_POD)
        extract_pod(r->op, s, parsed(r, text), 10, 1);
    else if (what == A_SERVICE)
        extract_service(r->op, s, parsed(r, text), 10, 1);
    else
        extract_record(r->op, source_of(s, &kind_raycluster), parsed(r, text), 10, 1);
}

/* Owned by the cluster, or if it is a cluster itself by the job. */
static void tell_child(struct rig *r, enum child what, const char *ns, const char *uid, const char *owner)
{
    struct slice text =
        arena_printf(&r->arena,
                     "{\"metadata\":{\"name\":\"x\",\"namespace\":\"%s\",\"uid\":\"%s\",\"ownerReferences\":[{\"kind\":\"%s\","
                     "\"name\":\"c\",\"uid\":\"%s\",\"controller\":true}]},\"spec\":{}}",
                     ns, uid, what == A_CLUSTER ? "RayJob" : "RayCluster", owner);
    tell_text(r, what, text);
}

static void tell_owner(struct rig *r, enum child what, const char *uid)
{
    struct slice text = arena_printf(&r->arena, "{\"metadata\":{\"name\":\"c\",\"namespace\":\"n\",\"uid\":\"%s\"},\"spec\":{}}", uid);
    struct source *from = source_of(&r->op->spaces[0], what == A_CLUSTER ? &kind_rayjob : &kind_raycluster);
    extract_record(r->op, from, parsed(r, text), 10, 1);
}

static uint32_t owns(const struct record *c)
{
    uint32_t count = 0;
    for (const struct pod_record *p = c->children.pods; p; p = p->next)
        count++;
    for (const struct service_record *s = c->children.services; s; s = s->next)
        count++;
    for (const struct record *own = c->family.owned; own; own = own->family.next)
        count += slice_eq(istr_slice(own->ns), istr_slice(c->ns)) ? 1 : 100;
    return count;
}

/* order: when the owner is told, its own child, and the other's: in each of their orders. */
static void check_elsewhere(void)
{
    static const struct {
        const char *id, *uid, *own, *others;
    } of[] = {[A_POD] = {"pod", CLUSTER, POD(1), POD(2)},
              [A_SERVICE] = {"service", CLUSTER, SERVICE, "00000000-0000-0000-0000-0000000000b1"},
              [A_CLUSTER] = {"RayCluster", JOB, CLUSTER, "00000000-0000-0000-0000-00000000000e"}};
    static const char *const orders[] = {"owner, own, other", "owner, other, own", "own, owner, other",
                                         "own, other, owner", "other, owner, own", "other, own, owner"};
    for (size_t i = 0; i < COUNT_OF(of) * COUNT_OF(orders); i++) {
        enum child what = (enum child)(i / COUNT_OF(orders));
        struct slice rest = slice_of(orders[i % COUNT_OF(orders)]);
        struct rig r;
        start(&r);
        test_case("a %s of another namespace is not owned from here: %s", of[what].id, rest.ptr);
        while (rest.ptr) {
            struct slice who = slice_trim(slice_cut(&rest, ','));
            if (slice_eq(who, SLICE("owner")))
                tell_owner(&r, what, of[what].uid);
            else if (slice_eq(who, SLICE("own")))
                tell_child(&r, what, "n", of[what].own, of[what].uid);
            else
                tell_child(&r, what, "m", of[what].others, of[what].uid);
        }
        struct record *c = record_get(r.op, slice_of(of[what].uid), SLICE("n"));
        struct record *named = record_get(r.op, slice_of(of[what].uid), SLICE("m"));
        CHECK(c && c->present);
        CHECK(named && !named->present);
        CHECK_STR(istr_slice(c->ns), "n");
        CHECK_INT(owns(c), 1);
        CHECK_INT(owns(named), 1);
        finish(&r);
    }
}

static void check_namespace_limit(void)
{
    char ns[LIMIT_KUBE_NAMESPACE + 2];
    struct rig r;
    start(&r);
    memset(ns, 'n', sizeof ns);
    ns[LIMIT_KUBE_NAMESPACE] = '\0';
    test_case("LIMIT_KUBE_NAMESPACE: what lives in a longer one is passed over");
    tell_child(&r, A_POD, ns, POD(1), CLUSTER);
    CHECK(record_get(r.op, SLICE(CLUSTER), slice_of(ns)) && pod(&r, POD(1)));
    ns[LIMIT_KUBE_NAMESPACE] = 'n';
    ns[LIMIT_KUBE_NAMESPACE + 1] = '\0';
    tell_child(&r, A_POD, ns, POD(2), CLUSTER);
    CHECK(!record_get(r.op, SLICE(CLUSTER), slice_of(ns)) && !pod(&r, POD(2)));
    CHECK_INT(r.op->all.records.count, 1);
    finish(&r);
}

static void check_uid_with_nul(void)
{
    struct rig r;
    start(&r);
    test_case("a uid with a NUL in it is none: what has it is passed over");
    tell_child(&r, A_POD, "n", "00000000\\u0000", CLUSTER);
    tell_child(&r, A_SERVICE, "n", "\\u0000", CLUSTER);
    CHECK_INT(r.op->all.records.count + r.op->all.pods.count + r.op->all.services.count, 0);
    tell_child(&r, A_CLUSTER, "n", "00000000-0000-0000-0000-00000000000\\u0000", JOB);
    tell_child(&r, A_CLUSTER, "n\\u0000", CLUSTER, JOB);
    CHECK_INT(r.op->all.records.count, 0);
    finish(&r);
}

/* ---- words that are none of an API server's ---- */

static void tell_named(struct rig *r, enum child what, const char *name, const char *ns, const char *uid)
{
    struct slice text = arena_printf(&r->arena,
                                     "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"%s\",\"ownerReferences\":[{\"kind\":"
                                     "\"RayCluster\",\"uid\":\"" JOB "\",\"controller\":true}]},\"spec\":{}}",
                                     name, ns, uid);
    tell_text(r, what, text);
}

static uint32_t records(const struct rig *r)
{
    return r->op->all.records.count + r->op->all.pods.count + r->op->all.services.count;
}

/* As they stand in JSON. */
static void check_words(void)
{
    static const char *const wrong[] = {"",      "a\\\"",   "a\\\\",    "a\\\",\\\"uid\\\":\\\"b",
                                        "a/b",   "a/../b",  ".",        "..",
                                        "a?b",   "a%2f",    "a\\u0000", "\\u0000a",
                                        "a\\nb", "a b",     "A",        "a_b",
                                        "-a",    "\xc3\xa9"};
    struct rig r;
    start(&r);
    for (size_t i = 0; i < COUNT_OF(wrong) * (A_CLUSTER + 1); i++) {
        enum child what = (enum child)(i % (A_CLUSTER + 1));
        const char *word = wrong[i / (A_CLUSTER + 1)];
        test_case("an object whose name, namespace or uid is '%s' is passed over, it is of kind %d", word, what);
        tell_named(&r, what, word, "n", CLUSTER);
        tell_named(&r, what, "x", word, CLUSTER);
        tell_named(&r, what, "x", "n", word);
        CHECK_INT(records(&r), 0);
    }
    test_case("a uid of the right length that has a %s in it is none", "quote");
    tell_named(&r, A_CLUSTER, "x", "n", "00000000-0000-0000-0000-00000000000\\\"");
    CHECK_INT(records(&r), 0);
    test_case("LIMIT_KUBE_NAME: a longer name is none");
    char name[LIMIT_KUBE_NAME + 2];
    memset(name, 'a', sizeof name);
    name[LIMIT_KUBE_NAME + 1] = '\0';
    tell_named(&r, A_CLUSTER, name, "n", CLUSTER);
    CHECK_INT(records(&r), 0);
    name[LIMIT_KUBE_NAME] = '\0';
    tell_named(&r, A_CLUSTER, name, "n", CLUSTER);
    CHECK(record_get(r.op, SLICE(CLUSTER), SLICE("n"))->present);
    finish(&r);
}

/* {"metadata":{"name":…,"namespace":…,"uid":…},"spec":{"x":[0,…]}} of so many values and keys. */
static struct slice many_values(struct rig *r, size_t tokens)
{
    static const char head[] = "{\"metadata\":{\"name\":\"c\",\"namespace\":\"n\",\"uid\":\"" CLUSTER "\"},\"spec\":{\"x\":[0";
    enum { BEFORE = 14 }; /* with the first 0 */
    struct buf b;
    buf_init(&b, LIMIT_JSON_ITEM);
    buf_put(&b, slice_of(head));
    for (size_t i = BEFORE; i < tokens; i++)
        buf_put(&b, SLICE(",0"));
    buf_put(&b, SLICE("]}}"));
    struct slice text = arena_dup(&r->arena, buf_slice(&b));
    buf_free(&b);
    return text;
}

/* What a server leaves out (apiVersion, kind, generation) takes no room when the record is read. */
static void check_tokens(void)
{
    struct rig r;
    struct json doc;
    struct err e = {0};
    start(&r);
    test_case("LIMIT_JSON_TOKENS: an object at the limit, without what every object has, is read as any other");
    CHECK(!json_parse(&doc, many_values(&r, LIMIT_JSON_TOKENS + 1), &r.arena, &e));
    extract_record(r.op, source_of(&r.op->spaces[0], &kind_raycluster), parsed(&r, many_values(&r, LIMIT_JSON_TOKENS)), 10, 1);
    model_load(r.op, record_get(r.op, SLICE(CLUSTER), SLICE("n")));
    CHECK_INT(r.op->models.loaded->errors.count, 1);
    CHECK_STR(spec_errors_text(&r.op->models.loaded->errors, ERR_TEXT_MAX, &r.arena), "spec.headGroupSpec: is missing: must be an object");
    CHECK_STR(cluster_model(r.op)->name, "c");
    CHECK_STR(cluster_model(r.op)->uid, CLUSTER);
    finish(&r);
}

int main(void)
{
    log_global = (struct log){.level = LOG_ERROR, .fd = -1};
    check_outlived();
    check_forward();
    check_given_up();
    check_overtaken();
    check_service();
    check_unlabelled();
    check_cluster();
    check_list();
    check_remade();
    check_memory();
    check_gate();
    check_back();
    check_elsewhere();
    check_namespace_limit();
    check_uid_with_nul();
    check_words();
    check_tokens();
    return test_done();
}
