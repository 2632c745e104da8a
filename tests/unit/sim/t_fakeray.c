/* Ray of a world by itself: what becomes of its nodes when a head, a container or a pod begins again. What the simulator says about an
 * autoscaler is worth as much as this. */
#include "tests/model/sim/fakeray.h"

#include "../test.h"

struct ray {
    struct world w;
    struct fakeray *h;
};

/* A pod of cluster "c", as it comes to run. */
static void run_pod(struct ray *r, const char *uid, const char *type)
{
    struct slice json = arena_printf(&r->w.arena,
                                     "{\"metadata\":{\"labels\":{\"ray.io/node-type\":\"%s\",\"ray.io/group\":\"g\"},\"ownerReferences\":"
                                     "[{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"name\":\"c\"}]},"
                                     "\"status\":{\"phase\":\"Running\",\"podIP\":\"10.0.0.1\"}}",
                                     type);
    fakerays_changed(
        r->w.rays,
        &(struct apiserver_change){
            .what = APISERVER_ADDED, .plural = SLICE("pods"), .ns = SLICE("n"), .name = slice_of(uid), .uid = slice_of(uid), .json = json});
}

static void begin(struct ray *r)
{
    struct apiserver_config config = {.seed = 1};
    *r = (struct ray){0};
    world_init(&r->w, &config);
    fakerays_begin(&r->w, false);
    r->h = fakeray_of(&r->w, "ray.io", "n", "c");
    run_pod(r, "head-1", "head");
    r->w.now.mono_ms += 1000;
    run_pod(r, "worker-1", "worker");
}

/* Some time later its state is asked for: then it looks at its pods. */
static void ask(struct ray *r)
{
    r->w.now.mono_ms += 1000;
    r->h->fake.asked(&r->h->fake, "GetClusterResourceState", SLICE_NONE);
}

static uint32_t listed(const struct ray *r)
{
    uint32_t count = 0;
    for (const struct fakeray_node *n = r->h->nodes; n; n = n->next)
        count++;
    return count;
}

/* The node of a pod that lives; NULL: there is none. */
static struct fakeray_node *alive(const struct ray *r, const char *uid)
{
    struct fakeray_node *n = r->h->nodes;
    while (n && (n->dead || strcmp(n->pod.uid, uid) != 0))
        n = n->next;
    return n;
}

static void test_restart(void)
{
    struct ray r;
    char before[RAY_NODE_ID];
    begin(&r);
    ask(&r);
    test_case("pods that run are nodes");
    CHECK_INT(r.h->sessions, 1);
    CHECK_INT(listed(&r), 2);
    if (!CHECK(alive(&r, "head-1") && alive(&r, "worker-1")))
        return;
    memcpy(before, alive(&r, "worker-1")->id, sizeof before);
    test_case("Ray begins again in the same pod: no node is known, and those that come have other ids");
    fakeray_restart(r.h);
    CHECK_INT(r.h->sessions, 2);
    CHECK_INT(r.h->began_ms, r.w.now.mono_ms);
    CHECK_INT(listed(&r), 0);
    ask(&r);
    CHECK_INT(listed(&r), 2);
    CHECK(alive(&r, "worker-1") && memcmp(before, alive(&r, "worker-1")->id, sizeof before) != 0);
    test_case("workers that were there before it come to it later, where a test says so");
    r.h->rejoin_ms = 1001;
    fakeray_restart(r.h);
    ask(&r);
    CHECK(alive(&r, "head-1") && !alive(&r, "worker-1"));
    ask(&r);
    CHECK(alive(&r, "worker-1") != NULL);
    world_free(&r.w);
}

static void test_worker_container(void)
{
    struct ray r;
    char before[RAY_NODE_ID];
    begin(&r);
    ask(&r);
    if (!CHECK(alive(&r, "worker-1") != NULL))
        return;
    struct fakeray_node *old = alive(&r, "worker-1");
    memcpy(before, old->id, sizeof before);
    test_case("a worker's container ends: its node is dead, and stays so while the pod runs");
    fakeray_container_ends(&r.w, "worker-1");
    CHECK(old->dead);
    ask(&r);
    CHECK_INT(fakeray_nodes(r.h), 0);
    CHECK_INT(listed(&r), 2);
    test_case("it begins again: another node with another id, beside the dead one");
    fakeray_container_begins(&r.w, "worker-1");
    int64_t began_ms = r.w.now.mono_ms;
    ask(&r);
    CHECK_INT(fakeray_nodes(r.h), 1);
    CHECK_INT(listed(&r), 3);
    CHECK(old->dead && memcmp(before, old->id, sizeof before) == 0);
    struct fakeray_node *new = alive(&r, "worker-1");
    if (CHECK(new &&memcmp(before, new->id, sizeof before) != 0)) {
        CHECK_INT(new->pod.lives, 1);
        CHECK_INT(new->pod.since_ms, began_ms);
    }
    test_case("and once more: none of the three is like another");
    fakeray_container_ends(&r.w, "worker-1");
    fakeray_container_begins(&r.w, "worker-1");
    ask(&r);
    const struct fakeray_node *third = alive(&r, "worker-1");
    CHECK(third && memcmp(third->id, before, sizeof before) != 0 && memcmp(third->id, new->id, sizeof before) != 0);
    CHECK_INT(third->pod.lives, 2);
    CHECK_INT(r.h->sessions, 1);
    world_free(&r.w);
}

static void test_head_container(void)
{
    struct ray r;
    begin(&r);
    ask(&r);
    test_case("the head's container ends: Ray with it, and nobody is connected to");
    fakeray_container_ends(&r.w, "head-1");
    CHECK(r.h->down);
    CHECK_INT(r.h->sessions, 2);
    CHECK_INT(listed(&r), 0);
    test_case("it begins again, and all that runs comes to it");
    r.w.now.mono_ms += 5000;
    fakeray_container_begins(&r.w, "head-1");
    CHECK(!r.h->down);
    CHECK_INT(r.h->began_ms, r.w.now.mono_ms);
    ask(&r);
    CHECK(alive(&r, "head-1") && alive(&r, "worker-1"));
    test_case("another head pod while the container of this one is down: Ray is there at once");
    fakeray_container_ends(&r.w, "head-1");
    run_pod(&r, "head-2", "head");
    CHECK(!r.h->down);
    CHECK_STR(slice_of(r.h->pod), "head-2");
    CHECK_INT(r.h->sessions, 4);
    test_case("what is said of a pod that nobody knows changes nothing");
    ask(&r);
    uint32_t count = listed(&r);
    fakeray_container_ends(&r.w, "nobody");
    fakeray_container_begins(&r.w, "nobody");
    CHECK_INT(r.h->sessions, 4);
    CHECK_INT(listed(&r), count);
    world_free(&r.w);
}

int main(void)
{
    test_restart();
    test_worker_container();
    test_head_container();
    return test_done();
}
