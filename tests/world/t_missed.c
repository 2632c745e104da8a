/* An answer holds what the watch has gone past without a word: an API server that has lost an event. Nobody will tell of it any more, so it
 * is listed before anything is decided on its not being there. */
#include "submitters.h"

/* Answers to POSTs are late, and all events after the first of them are lost until hear(). */
struct loser {
    struct world_hooks hooks; /* first */
    struct slice path;        /* of the POSTs */
    bool cut;                 /* the first one has no answer */
    uint32_t posts;           /* that came */
};

static void arrived(struct world_hooks *h, struct world_request *q)
{
    struct loser *l = (struct loser *)h;
    if (!slice_eq(q->method, SLICE("POST")) || !slice_starts(q->target, l->path))
        return;
    q->delay_ms = 2000;
    if (l->posts++)
        return;
    q->fate = l->cut ? FATE_ANSWER_LOST : q->fate;
    apiserver_faults(q->world->server)->drop_events = UINT32_MAX;
}

static void begin(struct world *w, struct loser *l, const char *path)
{
    *l = (struct loser){.hooks = {.arrived = arrived}, .path = slice_of(path)};
    w->hooks = &l->hooks;
}

/* When the pod runs, and before the answer comes. */
static void hear(struct world *w, struct loser *l)
{
    for (int ms = 0; ms < 10 * 1000 && l->posts == 0; ms++)
        world_run(w, 1);
    CHECK_INT(l->posts, 1);
    world_run(w, 1500);
    CHECK(apiserver_faults(w->server)->drop_events < UINT32_MAX);
    apiserver_faults(w->server)->drop_events = 0;
}

static uint32_t live_workers(struct world *w)
{
    struct slice names[8];
    uint32_t count = pod_names(w, "worker", names, COUNT_OF(names)), live = 0;
    for (uint32_t i = 0; i < count; i++)
        live += !says(w, "pods", names[i].ptr, "\"Failed\"");
    return live;
}

/* The successor of a worker that has failed is called by it, so the next one at that place would have another name. */
static void test_worker(void)
{
    struct world w;
    struct loser l;
    struct slice old;
    test_case("the successor of a worker that failed is made, and no watch tells of it");
    make_world(&w, false);
    struct slice body = cluster_body(&w, "c", 1, "");
    CHECK_INT(world_call(&w, "POST", v1, "application/json", body), 201);
    world_run(&w, 10 * 1000);
    CHECK_INT(pod_names(&w, "worker", &old, 1), 1);
    struct slice path = arena_printf(&w.arena, "%s/%.*s", pods_path, SLICE_ARG(old));
    struct slice status = arena_printf(&w.arena, "%.*s/status", SLICE_ARG(path));
    const char *patches[] = {"{\"metadata\":{\"finalizers\":[\"example.com/hold\"]}}", "{\"status\":{\"phase\":\"Failed\"}}",
                             "{\"metadata\":{\"finalizers\":null}}"};
    CHECK_INT(world_call(&w, "PATCH", path.ptr, "application/merge-patch+json", slice_of(patches[0])), 200);
    begin(&w, &l, pods_path);
    CHECK_INT(world_call(&w, "PATCH", status.ptr, "application/merge-patch+json", slice_of(patches[1])), 200);
    hear(&w, &l);
    /* That the old one has gone is told, and so the watch is past the new one. */
    CHECK_INT(world_call(&w, "PATCH", path.ptr, "application/merge-patch+json", slice_of(patches[2])), 200);
    CHECK_INT(live_workers(&w), 1);
    for (int ms = 0; ms < 20 * 1000; ms += 10) {
        world_run(&w, 10);
        CHECK(live_workers(&w) <= 1);
    }
    CHECK_INT(live_workers(&w), 1);
    CHECK_INT(l.posts, 1);
    CHECK_INT(w.sent.deletes, 1);
    CHECK(is_ready(&w, "c"));
    world_run(&w, 120 * 1000); /* the failure is forgotten */
    check_fixed_point(&w);
    world_free(&w);
}

static void test_cluster(void)
{
    struct world w;
    struct loser l;
    test_case("the cluster of a job is made, and no watch tells of it");
    make_job_world(&w, false);
    apiserver_faults(w.server)->bookmark_ms = 100; /* which is how the watch goes past it */
    begin(&w, &l, v1);
    apply_job(&w, "j", "");
    hear(&w, &l);
    world_run(&w, 1500); /* its pods run */
    CHECK_INT(l.posts, 1);
    test_case("… nor of that of the next, so soon that no list is asked for");
    begin(&w, &l, v1);
    apply_job(&w, "k", "");
    hear(&w, &l);
    CHECK(run_until(&w, "j", "Complete", 60 * 1000));
    CHECK(run_until(&w, "k", "Complete", 60 * 1000));
    CHECK_INT(board.submits, 2);
    CHECK_INT(clusters_now(&w), 2);
    end_job_world(&w);
}

/* Job j has its cluster and this its pods: the next pod is the one that submits. */
static void make_submitting_world(struct world *w, const char *more)
{
    make_pod_world(w);
    apiserver_faults(w->server)->bookmark_ms = 100;
    apply_job(w, "j", more);
    CHECK(run_until(w, "j", "Initializing", 20 * 1000));
    while (clusters_now(w) == 0 || pods_of(w, arena_dup(&w->arena, job_says(w, "j", "rayClusterName")).ptr) < 2)
        world_run(w, 1);
}

static void test_submitter(void)
{
    struct world w;
    struct loser l;
    test_case("a pod that submits is made, and no watch tells of it");
    make_submitting_world(&w, "\"backoffLimit\":1,");
    begin(&w, &l, pods_path);
    hear(&w, &l);
    world_run(&w, 20 * 1000);
    struct submitters s = submitters_of(&w, "j");
    CHECK_INT(s.count, 1);
    CHECK_INT(l.posts, 1);
    submit_from(&w, "j", s.names[0]);
    world_run(&w, 15 * 1000);
    end_pod(&w, s.names[0], 0);
    CHECK(run_until(&w, "j", "Complete", 20 * 1000));
    CHECK_INT(l.posts, 1);
    CHECK_INT(board.taken, 1);
    end_job_world(&w);
}

/* Neither the answer to its POST nor its event comes: the next POST says that there is such a pod. */
static void test_unanswered(void)
{
    struct world w;
    struct loser l;
    test_case("a pod that submits is made, and neither an answer nor a watch tells of it");
    make_submitting_world(&w, "");
    begin(&w, &l, pods_path);
    l.cut = true;
    hear(&w, &l);
    world_run(&w, 20 * 1000);
    uint32_t posts = l.posts;
    CHECK(posts > 1);
    world_run(&w, 60 * 1000);
    CHECK_INT(l.posts, posts);
    CHECK_INT(submitters_of(&w, "j").count, 1);
    end_job_world(&w);
}

int main(void)
{
    log_global.fd = -1;
    test_worker();
    test_cluster();
    test_submitter();
    test_unanswered();
    return test_done();
}
