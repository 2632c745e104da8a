/* What controllers are known to get wrong, one scene each: a lost answer, a restart, an object that is already going, a name used
 * again, a list that is late, a mind that was changed. */
#include "scene.h"

static const char one_cluster[] = "/apis/ray.io/v1/namespaces/n/rayclusters/c";
static const char container[] = "{\"name\":\"ray\",\"image\":\"ray:1\"}";
static const char failing[] = "\"metadata\":{\"annotations\":{\"fake.kubelet/fail\":\"after=0s\"}},";

/* One worker group as it stands in the list of them. */
static struct slice group(struct world *w, const char *metadata)
{
    return arena_printf(&w->arena,
                        "{\"groupName\":\"small\",\"replicas\":1,\"minReplicas\":0,\"maxReplicas\":9,\"rayStartParams\":{},"
                        "\"template\":{%s\"spec\":{\"containers\":[%s]}}}",
                        metadata, container);
}

static void apply_group(struct world *w, const char *finalizers, const char *metadata)
{
    struct slice body = arena_printf(&w->arena,
                                     "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{%s\"name\":\"c\"},\"spec\":{"
                                     "\"headGroupSpec\":{\"rayStartParams\":{},\"template\":{\"spec\":{\"containers\":[%s]}}},"
                                     "\"workerGroupSpecs\":[%.*s]}}",
                                     finalizers, container, SLICE_ARG(group(w, metadata)));
    CHECK_INT(world_call(w, "POST", v1, "application/json", body), 201);
}

static void set_groups(struct world *w, struct slice groups)
{
    struct slice patch = arena_printf(&w->arena, "{\"spec\":{\"workerGroupSpecs\":[%.*s]}}", SLICE_ARG(groups));
    CHECK_INT(world_call(w, "PATCH", one_cluster, "application/merge-patch+json", patch), 200);
}

static void test_lost_answers(void)
{
    struct world w;
    test_case("POSTs that were carried out, their answers lost: looked up, and none is sent a second time");
    make_world(&w, false);
    apiserver_faults(w.server)->watch_delay_ms = 20 * 1000; /* nobody else tells of them */
    override(&w, "POST", pods_path, 0, true, 3);
    apply(&w, "c", 5);
    world_run(&w, 90 * 1000);
    CHECK_INT(apiserver_faults(w.server)->next.times, 0);
    CHECK(is_ready(&w, "c"));
    CHECK_INT(w.sent.pod_posts, 6);
    world_free(&w);
}

/* The path that loses a POST's answer, and what is asked about it meets a gateway that has no servers. */
struct gateway {
    struct world_hooks hooks; /* first */
    struct apiserver *server;
    uint32_t posts, looks;
    bool listing; /* the watch of pods has to list meanwhile, from a cache that does not know of the POST yet */
};

static void arrived(struct world_hooks *hooks, struct world_request *q)
{
    struct gateway *g = (struct gateway *)hooks;
    bool get = slice_eq(q->method, SLICE("GET"));
    if (!slice_starts(q->target, slice_of(pods_path)))
        return;
    if (slice_eq(q->method, SLICE("POST"))) {
        q->fate = ++g->posts == 1 ? FATE_REFUSED : g->posts == 2 ? FATE_ANSWER_LOST : FATE_SERVED;
        q->status = 429; /* of the first one: until the second comes the pod before it has gone */
        q->reason = "";  /* flow control: the client asks again by itself */
        q->retry_after_s = 1;
        if (g->posts != 2)
            return;
        apiserver_faults(g->server)->watch_delay_ms = 5 * 60 * 1000; /* nobody else tells of it */
        if (!g->listing)
            return;
        apiserver_hold_cache(g->server, SLICE("pods"), 0, 5 * 60 * 1000);
        apiserver_outrun_watches(g->server, SLICE("pods"));
    } else if (get && (strstr(q->target.ptr, "fieldSelector") || strstr(q->target.ptr, "/pods/"))) {
        q->fate = FATE_REFUSED;
        q->status = 404;
        q->reason = "NotFound";
        q->delay_ms = 500;
        g->looks++;
    } else if (get && g->listing) {
        q->delay_ms = 3000;
    }
}

/* The next name for the place is another one, because the pod that it was made from has gone. */
static void test_look_up_not_believed(void)
{
    static const struct {
        const char *id;
        bool listing;
    } cases[] = {{"a POST's answer is lost, and its look-up is answered 404: one pod comes into the place", false},
                 {"… while all are listed, as they were before the POST", true}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w;
        struct slice names[3];
        test_case("%s", cases[i].id);
        make_world(&w, false);
        apply(&w, "c", 1);
        world_run(&w, 5000);
        CHECK(is_ready(&w, "c"));
        CHECK_INT(pod_names(&w, "worker", names, COUNT_OF(names)), 1);
        struct gateway g = {.hooks = {.arrived = arrived}, .server = w.server, .listing = cases[i].listing};
        w.hooks = &g.hooks;
        apiserver_faults(w.server)->no_streaming_lists = true; /* such a one waits for the cache, too */
        struct slice path = arena_printf(&w.arena, "%s/%.*s/status", pods_path, SLICE_ARG(names[0]));
        struct slice failed = SLICE("{\"status\":{\"phase\":\"Failed\",\"conditions\":[]}}");
        CHECK_INT(world_call(&w, "PATCH", path.ptr, "application/merge-patch+json", failed), 200);
        world_run(&w, 60 * 1000);
        CHECK_INT(g.looks, 1);
        CHECK_INT(g.posts, 2);
        CHECK_INT(pod_names(&w, "worker", names, COUNT_OF(names)), 1);
        CHECK(is_ready(&w, "c"));
        world_free(&w);
    }
}

static void test_finalizer(void)
{
    struct world w;
    test_case("a cluster that is being deleted and waits for somebody's finalizer is given nothing any more");
    make_world(&w, false);
    apply_group(&w, "\"finalizers\":[\"example.com/wait\"],", "");
    world_run(&w, 5000);
    CHECK(is_ready(&w, "c"));
    CHECK_INT(world_call(&w, "DELETE", one_cluster, "application/json", SLICE("{}")), 200);
    struct slice names[4];
    CHECK_INT(pod_names(&w, "worker", names, COUNT_OF(names)), 1);
    struct slice pod = arena_printf(&w.arena, "%s/%.*s", pods_path, SLICE_ARG(names[0]));
    CHECK_INT(world_call(&w, "DELETE", pod.ptr, "application/json", SLICE("{}")), 200);
    uint32_t before = world_writes(&w);
    world_run(&w, 60 * 1000);
    CHECK_INT(world_writes(&w), before);
    CHECK_INT(pods_of(&w, "c"), 1);
    test_case("and goes when the finalizer does");
    CHECK_INT(world_call(&w, "PATCH", one_cluster, "application/merge-patch+json", SLICE("{\"metadata\":{\"finalizers\":null}}")), 200);
    world_run(&w, 5000);
    CHECK_INT(pods_of(&w, "c"), 0);
    CHECK_INT(world_writes(&w), before);
    world_free(&w);
}

static void test_restart(void)
{
    struct world w;
    test_case("a restart does not forget how often a group has failed");
    make_world(&w, false);
    apply_group(&w, "", failing);
    world_run(&w, 20 * 60 * 1000);
    CHECK(w.sent.pod_posts > 6);
    for (int i = 0; i < 10; i++) {
        world_kill_operator(&w);
        world_start_operator(&w, false);
        world_run(&w, 1000);
    }
    uint32_t before = w.sent.pod_posts;
    for (int i = 0; i < 10; i++) {
        world_kill_operator(&w);
        world_start_operator(&w, false);
        world_run(&w, 1000);
    }
    CHECK(w.sent.pod_posts - before <= 1);
    world_free(&w);
}

static void test_group_again(void)
{
    struct world w;
    test_case("a group that failed, was removed and comes back owes nothing");
    make_world(&w, false);
    apply_group(&w, "", failing);
    world_run(&w, 20 * 60 * 1000);
    CHECK(says(&w, "rayclusters.ray.io", "c", "times in a row"));
    set_groups(&w, SLICE(""));
    world_run(&w, 5000);
    CHECK_INT(pods_of(&w, "c"), 1);
    CHECK(is_ready(&w, "c"));
    set_groups(&w, group(&w, ""));
    world_run(&w, 5000);
    CHECK(is_ready(&w, "c"));
    CHECK_INT(pods_of(&w, "c"), 2);
    world_free(&w);
}

static void test_slow_list(void)
{
    struct world w;
    test_case("after a restart nothing is done before every list is there");
    make_world(&w, false);
    apply(&w, "c", 20);
    world_run(&w, 5000);
    CHECK(is_ready(&w, "c"));
    world_kill_operator(&w);
    uint32_t before = world_writes(&w);
    override(&w, "GET", pods_path, 500, false, 4);
    world_start_operator(&w, false);
    world_run(&w, 500);
    CHECK(apiserver_faults(w.server)->next.times > 0); /* the other lists came long ago */
    world_run(&w, 60 * 1000);
    CHECK_INT(apiserver_faults(w.server)->next.times, 0);
    CHECK_INT(world_writes(&w), before);
    world_free(&w);
}

static void test_changed_mind(void)
{
    struct world w;
    test_case("a plan is dropped when the spec it was made for is another");
    make_world(&w, false);
    world_run(&w, 500);
    apply(&w, "c", 500);
    for (int i = 0; i < 1000 && w.sent.pod_posts < 20; i++)
        world_step(&w, w.now.mono_ms + 1000);
    CHECK(w.sent.pod_posts < 200);
    scale(&w, "c", 1);
    world_run(&w, 30 * 1000);
    CHECK(is_ready(&w, "c"));
    CHECK_INT(pods_of(&w, "c"), 2);
    CHECK(w.sent.pod_posts < 300);
    world_free(&w);
}

int main(void)
{
    log_global.fd = -1;
    test_lost_answers();
    test_look_up_not_believed();
    test_finalizer();
    test_restart();
    test_group_again();
    test_slow_list();
    test_changed_mind();
    return test_done();
}
