/* Objects that come back from a backup without ownerReferences and with other uids, as a restore object by object leaves them: what fits is
 * adopted, and what does not fit is deleted or named. */
#include "jobs.h"

static const char services_path[] = "/api/v1/namespaces/n/services";

enum { KEPT_MAX = 8, RUN_MS = 60 * 1000 };

struct backup {
    struct slice pods[KEPT_MAX], services[KEPT_MAX], cluster;
    uint32_t pod_count, service_count;
};

/* The object without what a restore leaves out, and with these members of metadata besides. */
static struct slice stripped(struct world *w, struct jval object, const char *more)
{
    struct err e = {0};
    struct slice out = SLICE_NONE;
    struct slice patch = arena_printf(&w->arena,
                                      "{\"metadata\":{\"uid\":null,\"resourceVersion\":null,\"creationTimestamp\":null,\"generation\":null,"
                                      "\"managedFields\":null,\"ownerReferences\":null%s},\"status\":null}",
                                      more);
    CHECK(json_merge_into(object, patch, &w->arena, &out, &e));
    return out;
}

static uint32_t keep_all(struct world *w, const char *path, struct slice *out)
{
    struct slice list;
    struct json *doc = arena_new(&w->arena, struct json);
    struct err e = {0};
    struct jval k, one;
    uint32_t count = 0;
    struct slice labelled = arena_printf(&w->arena, "%s?labelSelector=ray.io%%2Fcluster", path);
    CHECK_INT(world_ask(w, "GET", labelled.ptr, "application/json", SLICE_NONE, &list), 200);
    CHECK(json_parse(doc, list, &w->arena, &e));
    for (struct jiter it = json_iter(json_get(json_root(doc), "items")); json_next(&it, &k, &one) && count < KEPT_MAX;)
        out[count++] = stripped(w, one, "");
    return count;
}

static struct slice keep_one(struct world *w, const char *resource, const char *name, const char *more)
{
    struct json *doc = arena_new(&w->arena, struct json);
    struct err e = {0};
    CHECK(json_parse(doc, apiserver_get(w->server, slice_of(resource), SLICE("n"), slice_of(name), &w->arena), &w->arena, &e));
    return stripped(w, json_root(doc), more);
}

static void keep(struct world *w, struct backup *b)
{
    b->pod_count = keep_all(w, pods_path, b->pods);
    b->service_count = keep_all(w, services_path, b->services);
    b->cluster = keep_one(w, "rayclusters.ray.io", "c", "");
}

static void lose_all(struct world *w)
{
    struct slice path = arena_printf(&w->arena, "%s/c", v1);
    CHECK_INT(world_call(w, "DELETE", path.ptr, "application/json", SLICE("{}")), 200);
    world_run(w, 60 * 1000);
    CHECK_INT(pods_of(w, "c"), 0);
    CHECK(!says(w, "services", "c-head-svc", "c"));
}

static void put_children(struct world *w, const struct backup *b)
{
    for (uint32_t i = 0; i < b->pod_count; i++)
        CHECK_INT(world_call(w, "POST", pods_path, "application/json", b->pods[i]), 201);
    for (uint32_t i = 0; i < b->service_count; i++)
        CHECK_INT(world_call(w, "POST", services_path, "application/json", b->services[i]), 201);
}

static void check_owned(struct world *w, const char *resource, const char *path)
{
    struct slice list, uid = status_of(w, "c", "metadata.uid");
    struct json doc;
    struct err e = {0};
    struct jval k, one;
    struct slice labelled = arena_printf(&w->arena, "%s?labelSelector=ray.io%%2Fcluster%%3Dc", path);
    CHECK_INT(world_ask(w, "GET", labelled.ptr, "application/json", SLICE_NONE, &list), 200);
    CHECK(json_parse(&doc, list, &w->arena, &e));
    for (struct jiter it = json_iter(json_get(json_root(&doc), "items")); json_next(&it, &k, &one);) {
        struct jval owners = json_get(one, "metadata.ownerReferences"),
                    label = json_child(json_get(one, "metadata.labels"), RAY_LABEL_OWNER_UID);
        if (!CHECK(json_len(owners) == 1 && json_str_eq(json_get(json_at(owners, 0), "uid"), uid)))
            printf("  %s %.*s\n", resource, SLICE_ARG(json_raw(one)));
        CHECK(json_str_eq(label, uid));
    }
}

/* children_first: pods before custom resources, as most tools restore them. */
static void test_restored(bool running, bool children_first)
{
    struct world w;
    struct backup b;
    test_case("pods, services and cluster come back without owners, %s first, %s an operator", children_first ? "children" : "the cluster",
              running ? "beside" : "before");
    make_world(&w, false);
    apply(&w, "c", 2);
    world_run(&w, 20 * 1000);
    CHECK(is_ready(&w, "c"));
    keep(&w, &b);
    CHECK_INT(b.pod_count, 3);
    CHECK(b.service_count >= 1);
    lose_all(&w);
    if (!running)
        world_kill_operator(&w);
    uint32_t posts = w.sent.pod_posts, deletes = w.sent.deletes;
    if (children_first) {
        put_children(&w, &b);
        world_run(&w, running ? 2000 : 0);
    }
    CHECK_INT(world_call(&w, "POST", v1, "application/json", b.cluster), 201);
    if (!children_first)
        put_children(&w, &b);
    if (!running)
        world_start_operator(&w, false);
    world_run(&w, RUN_MS);
    CHECK(is_ready(&w, "c"));
    CHECK_INT(pods_of(&w, "c"), 3);
    if (children_first) {                     /* else the operator may be faster than the restore */
        CHECK(w.sent.pod_posts - posts <= 1); /* the head's name is taken */
        CHECK_INT(w.sent.deletes, deletes);
    }
    check_owned(&w, "pods", pods_path);
    check_owned(&w, "services", services_path);
    check_fixed_point(&w);
    world_free(&w);
}

/* A pod has addresses of the namespace that it was made in. */
static void test_other_namespace(void)
{
    struct world w;
    struct backup b;
    test_case("pods that were restored from another namespace are deleted and made again");
    make_world(&w, false);
    apply(&w, "c", 2);
    world_run(&w, 20 * 1000);
    keep(&w, &b);
    lose_all(&w);
    for (uint32_t i = 0; i < b.pod_count; i++) {
        static const char old[] = ".n.svc.";
        for (ptrdiff_t at; (at = slice_find_text(b.pods[i], old)) >= 0;)
            b.pods[i] = arena_printf(&w.arena, "%.*s.m.svc.%.*s", (int)at, b.pods[i].ptr,
                                     SLICE_ARG(slice_skip(b.pods[i], (size_t)at + sizeof old - 1)));
    }
    put_children(&w, &b);
    CHECK_INT(world_call(&w, "POST", v1, "application/json", b.cluster), 201);
    world_run(&w, RUN_MS);
    CHECK(is_ready(&w, "c"));
    CHECK_INT(pods_of(&w, "c"), 3);
    CHECK(w.sent.deletes >= 2);
    check_owned(&w, "pods", pods_path);
    check_fixed_point(&w);
    world_free(&w);
}

/* One whose annotation does not say that this operator made it is nobody's: it is left alone, and named. */
static void test_unmarked(void)
{
    struct world w;
    struct backup b;
    test_case("a pod with the head's name that this operator has not made");
    make_world(&w, false);
    apply(&w, "c", 0);
    world_run(&w, 20 * 1000);
    keep(&w, &b);
    lose_all(&w);
    struct json doc;
    struct err e = {0};
    struct slice bare = SLICE_NONE;
    CHECK(json_parse(&doc, b.pods[0], &w.arena, &e));
    CHECK(json_merge_into(json_root(&doc), SLICE("{\"metadata\":{\"annotations\":null}}"), &w.arena, &bare, &e));
    CHECK_INT(world_call(&w, "POST", pods_path, "application/json", bare), 201);
    CHECK_INT(world_call(&w, "POST", v1, "application/json", b.cluster), 201);
    world_run(&w, RUN_MS);
    CHECK(!is_ready(&w, "c"));
    CHECK(says(&w, "rayclusters.ray.io", "c", "pod c-head has the head's name, but not its labels or its owner"));
    CHECK(!says(&w, "pods", "c-head", "ownerReferences"));
    world_free(&w);
}

static void test_refused(void)
{
    struct world w;
    struct backup b;
    test_case("the account may not patch pods");
    make_world(&w, false);
    apply(&w, "c", 0);
    world_run(&w, 20 * 1000);
    keep(&w, &b);
    lose_all(&w);
    override(&w, "PATCH", "/api/v1/namespaces/n/pods/c-head", 403, false, UINT32_MAX);
    put_children(&w, &b);
    CHECK_INT(world_call(&w, "POST", v1, "application/json", b.cluster), 201);
    uint32_t patches = w.sent.patches;
    world_run(&w, RUN_MS);
    CHECK(says(&w, "rayclusters.ray.io", "c", "pod c-head has no owner and cannot be adopted: 403"));
    CHECK(w.sent.patches - patches < 30);
    override(&w, "PATCH", "/api/v1/namespaces/n/pods/c-head", 403, false, 0);
    world_run(&w, 6 * RUN_MS);
    check_owned(&w, "pods", pods_path);
    CHECK(is_ready(&w, "c"));
    world_free(&w);
}

/* ---- jobs ---- */

static struct slice own_cluster(struct world *w)
{
    return arena_printf(&w->arena, "%.*s%c", SLICE_ARG(job_says(w, "j", "rayClusterName")), '\0');
}

static void lose_job(struct world *w)
{
    struct slice path = arena_printf(&w->arena, "%s/j", jobs_path);
    CHECK_INT(world_call(w, "DELETE", path.ptr, "application/json", SLICE("{}")), 200);
    world_run(w, 60 * 1000);
    CHECK_INT(clusters_now(w), 0);
}

static void test_job_over(void)
{
    struct world w;
    test_case("a job that was over comes back without its status, and is not run again");
    make_job_world(&w, false);
    board.run_ms = 5000;
    apply_job(&w, "j", "");
    CHECK(run_until(&w, "j", "Complete", RUN_MS));
    world_run(&w, 5000);
    struct slice job = keep_one(&w, "rayjobs.ray.io", "j", "");
    CHECK_INT(board.taken, 1);
    lose_job(&w);
    CHECK_INT(world_call(&w, "POST", jobs_path, "application/json", job), 201);
    CHECK(run_until(&w, "j", "Complete", RUN_MS));
    world_run(&w, RUN_MS);
    CHECK_INT(board.taken, 1);
    CHECK_INT(clusters_now(&w), 0);
    CHECK_STR(job_says(&w, "j", "jobStatus"), "SUCCEEDED");
    CHECK_STR(job_says(&w, "j", "reason"), "Restored");
    check_fixed_point(&w);

    test_case("a copy of it under another name runs");
    struct json doc;
    struct err e = {0};
    struct slice copy = SLICE_NONE;
    CHECK(json_parse(&doc, job, &w.arena, &e));
    CHECK(json_merge_into(json_root(&doc), SLICE("{\"metadata\":{\"name\":\"k\"}}"), &w.arena, &copy, &e));
    CHECK_INT(world_call(&w, "POST", jobs_path, "application/json", copy), 201);
    CHECK(run_until(&w, "k", "Complete", RUN_MS));
    CHECK_INT(board.taken, 2);
    end_job_world(&w);
}

/* with_status: as Velero's --restore-status has it. */
static void test_job_cluster(bool with_status)
{
    struct world w;
    test_case("a job and its cluster come back without owner, the job %s its status", with_status ? "with" : "without");
    make_job_world(&w, false);
    board.run_ms = 0;
    apply_job(&w, "j", "");
    CHECK(run_until(&w, "j", "Running", RUN_MS));
    world_run(&w, 5000);
    struct slice name = own_cluster(&w), status = arena_dup(&w.arena, json_raw(job_value(&w, "j", "status")));
    struct slice job = keep_one(&w, "rayjobs.ray.io", "j", ""), cluster = keep_one(&w, "rayclusters.ray.io", name.ptr, "");
    lose_job(&w);
    world_kill_operator(&w);
    CHECK_INT(world_call(&w, "POST", v1, "application/json", cluster), 201);
    CHECK_INT(world_call(&w, "POST", jobs_path, "application/json", job), 201);
    if (with_status) {
        struct slice patch = arena_printf(&w.arena, "{\"status\":%.*s}", SLICE_ARG(status));
        CHECK_INT(world_call(&w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayjobs/j/status", "application/merge-patch+json", patch), 200);
    }
    launch_for_all(&w);
    world_run(&w, 2 * RUN_MS);
    CHECK_INT(clusters_now(&w), 1);
    struct slice now = own_cluster(&w);
    CHECK(slice_eq(now, name) == with_status || job_counts(&w, "j", "attempt") > 1);
    CHECK(says(&w, "rayclusters.ray.io", now.ptr, "\"kind\":\"RayJob\""));
    end_job_world(&w);
}

int main(void)
{
    log_global.fd = getenv("LOG") ? 2 : -1;
    test_restored(true, true);
    test_restored(true, false);
    test_restored(false, true);
    test_other_namespace();
    test_unmarked();
    test_refused();
    test_job_over();
    test_job_cluster(true);
    test_job_cluster(false);
    return test_done();
}
