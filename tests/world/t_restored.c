/* etcd is restored from a backup under a running operator, as it stood at an earlier revision. With --bump-revision lists show older
 * objects under newer versions. Without it API servers take a watch from a version that is still to come, and say nothing in it until they
 * are there: the operator has to notice by itself, and to forget what it knows, for a record of a version that is no more would refuse what
 * the restored store holds and keep what it does not. */
#include "scene.h"

#include <mobula/inspect.h>

enum {
    NOTICED_MS = 5 * 1000,
    RAISED = 1000 * 1000,
    LISTED_MS = 120 * 1000, /* older lists are refused first, with a backoff */
};

static void remove_cluster(struct world *w, const char *name)
{
    struct slice path = arena_printf(&w->arena, "%s/%s", v1, name);
    CHECK_INT(world_call(w, "DELETE", path.ptr, "application/json", SLICE("{}")), 200);
}

static int64_t number_of(struct world *w, const char *resource, const char *name, const char *path)
{
    struct json doc;
    struct err e = {0};
    struct slice object = apiserver_get(w->server, slice_of(resource), SLICE("n"), slice_of(name), &w->arena);
    return json_parse(&doc, object, &w->arena, &e) ? json_get_int(json_root(&doc), path, -1) : -1;
}

static void check_observed(struct world *w, const char *name, int generation)
{
    CHECK_INT(number_of(w, "rayclusters.ray.io", name, "metadata.generation"), generation);
    CHECK_INT(number_of(w, "rayclusters.ray.io", name, "status.observedGeneration"), generation);
}

/* What the operator holds is what the store holds, and no version is above it. */
static void check_records(struct world *w)
{
    struct inspect_pod p;
    struct inspect_service s;
    struct inspect_record c;
    uint32_t clusters = 0;
    uint64_t newest = apiserver_revision(w->server);
    for (uint32_t i = 0; inspect_pods(w->op, &i, &p);) {
        CHECK(says(w, "pods", p.pod->name, p.pod->uid));
        CHECK(p.pod->version <= newest && !p.pod->deleting && p.present);
    }
    for (uint32_t i = 0; inspect_services(w->op, &i, &s);) {
        CHECK(says(w, "services", s.service->name, s.service->uid));
        CHECK(s.service->version <= newest && s.present);
    }
    for (uint32_t i = 0; inspect_records(w->op, &i, &c); clusters += strcmp(c.kind, "rayclusters.ray.io") == 0)
        CHECK(c.present && c.version <= newest && !c.in_flight);
    CHECK_INT(clusters, apiserver_count(w->server, SLICE("rayclusters.ray.io")));
    CHECK_INT(inspect_figures(w->op).pods, apiserver_count(w->server, SLICE("pods")));
}

static void restore(struct world *w, uint64_t revision, uint64_t raised)
{
    CHECK(apiserver_revision(w->server) > revision);
    CHECK(apiserver_restore(w->server, revision));
    if (raised)
        apiserver_raise_revision(w->server, raised);
    world_cut_all(w);
}

static void check_ready(struct world *w, const char *name, uint32_t pods)
{
    CHECK(is_ready(w, name));
    CHECK_INT(pods_of(w, name), pods);
}

/* Everything that a store can hold and lose: what was made, changed or deleted after the backup. The backup was taken at rest, so nothing
 * is to be written before somebody wants something again. */
static void test_at_rest(bool elect, uint64_t raised)
{
    struct world w;
    test_case("a backup taken at rest%s%s", elect ? ", with leader election" : "", raised ? ", versions are raised" : "");
    make_world(&w, elect);
    apply(&w, "same", 1);
    apply(&w, "changed", 3);
    apply(&w, "deleted", 1);
    apply(&w, "headless", 1);
    world_run(&w, 20 * 1000);
    uint64_t backup = apiserver_revision(w.server);

    apply(&w, "made", 2);
    scale(&w, "changed", 5);
    remove_cluster(&w, "deleted");
    CHECK_INT(world_call(&w, "DELETE", "/api/v1/namespaces/n/pods/headless-head", "application/json", SLICE("{}")), 200);
    world_run(&w, 20 * 1000);
    scale(&w, "changed", 2);
    world_run(&w, 20 * 1000);
    check_ready(&w, "made", 3);
    check_ready(&w, "changed", 3);
    check_ready(&w, "headless", 2);
    CHECK_INT(pods_of(&w, "deleted"), 0);
    check_observed(&w, "changed", 3);

    restore(&w, backup, raised);
    uint32_t posts = w.sent.pod_posts, deletes = w.sent.deletes;
    world_run(&w, NOTICED_MS + LISTED_MS);
    struct buf why;
    buf_init(&why, KIB);
    CHECK(operator_ready(w.op, w.now, &why));
    buf_free(&why);
    check_records(&w);
    CHECK(inspect_figures(w.op).calls == 0);
    CHECK_INT(w.sent.pod_posts, posts);
    CHECK_INT(w.sent.deletes, deletes);
    check_ready(&w, "same", 2);
    check_ready(&w, "changed", 4);
    check_ready(&w, "deleted", 2);
    check_ready(&w, "headless", 2);
    check_observed(&w, "changed", 1);
    CHECK_INT(pods_of(&w, "made"), 0);
    if (!elect)
        check_fixed_point(&w);

    test_case("and a generation that was there before, with another spec%s", elect ? ", with leader election" : "");
    scale(&w, "changed", 4);
    apply(&w, "made", 1);
    world_run(&w, 20 * 1000);
    check_ready(&w, "changed", 5);
    check_ready(&w, "made", 2);
    check_observed(&w, "changed", 2);
    check_observed(&w, "made", 1);
    check_records(&w);
    world_free(&w);
}

/* Remembers when so many pods had been made. */
struct looker {
    struct apiserver_observer observer; /* first */
    uint32_t pods, wanted;
    uint64_t revision;
};

static void on_change(struct apiserver_observer *o, const struct apiserver_change *change)
{
    struct looker *l = (struct looker *)o;
    if (change->what == APISERVER_ADDED && slice_eq(change->plural, SLICE("pods")) && ++l->pods == l->wanted)
        l->revision = change->rv;
}

/* The pods that were made after the backup are made again, under the names that they had. */
static void test_under_way(void)
{
    struct world w;
    struct slice names[32];
    struct looker l = {.observer.changed = on_change, .wanted = 8};
    test_case("a backup taken while pods were made");
    make_world(&w, false);
    apiserver_observe(w.server, &l.observer);
    apply(&w, "c", 20);
    world_run(&w, 20 * 1000);
    check_ready(&w, "c", 21);
    restore(&w, l.revision, 0);
    CHECK_INT(pods_of(&w, "c"), 8);
    world_run(&w, NOTICED_MS + LISTED_MS);
    check_ready(&w, "c", 21);
    CHECK_INT(pod_names(&w, "head", names, COUNT_OF(names)), 1);
    CHECK_INT(pod_names(&w, "worker", names, COUNT_OF(names)), 20);
    check_records(&w);
    check_fixed_point(&w);
    world_free(&w);
}

/* Whatever was decided or sent on what is no more. */
static void test_busy(void)
{
    struct world w;
    test_case("somebody scales while the operator is deaf");
    make_world(&w, false);
    apply(&w, "c", 3);
    apply(&w, "d", 3);
    world_run(&w, 20 * 1000);
    uint64_t backup = apiserver_revision(w.server);
    for (int i = 0; i < 200; i++)
        annotate(&w, "rayclusters", "d", i);
    scale(&w, "c", 6);
    world_run(&w, 20 * 1000);
    restore(&w, backup, 0);
    world_run(&w, 5000);
    scale(&w, "c", 2);
    scale(&w, "d", 5);
    apply(&w, "e", 1);
    world_run(&w, NOTICED_MS + LISTED_MS);
    check_ready(&w, "c", 3);
    check_ready(&w, "d", 6);
    check_ready(&w, "e", 2);
    check_observed(&w, "c", 2);
    check_records(&w);
    check_fixed_point(&w);
    world_free(&w);
}

/* Others write, too: soon after the operator has taken up its watches events come again, in their order, with a hole before them. */
static void test_soon_ahead(void)
{
    struct world w;
    test_case("the store is soon ahead of where it was");
    make_world(&w, false);
    apply(&w, "c", 3);
    world_run(&w, 20 * 1000);
    uint64_t backup = apiserver_revision(w.server);
    apply(&w, "made", 3);
    world_run(&w, 70 * 1000); /* bookmarks tell all watches how far the store is */
    uint64_t lost = apiserver_revision(w.server);
    restore(&w, backup, 0);
    for (int i = 0; apiserver_revision(w.server) + 3 < lost; i++)
        annotate(&w, "rayclusters", "c", i);
    world_run(&w, 5000);
    for (int i = 0; i < 50; i++)
        annotate(&w, "rayclusters", "c", 1000 + i);
    CHECK(apiserver_revision(w.server) > lost);
    world_run(&w, LISTED_MS);
    CHECK_INT(pods_of(&w, "made"), 0);
    check_ready(&w, "c", 4);
    check_records(&w);
    check_fixed_point(&w);
    world_free(&w);
}

int main(void)
{
    log_global.fd = -1;
    test_at_rest(false, 0);
    test_at_rest(true, 0);
    test_at_rest(false, RAISED);
    test_at_rest(true, RAISED);
    test_soon_ahead();
    test_under_way();
    test_busy();
    return test_done();
}
