/* Pods whose labels or owners somebody takes away, to look at them undisturbed, or by mistake: they are left alone, their places are
 * filled, and nothing is told that was not done. */
#include "scene.h"

#define NO_LABEL "{\"metadata\":{\"labels\":{\"ray.io/cluster\":null}}}"
#define NO_OWNER "{\"metadata\":{\"labels\":{\"ray.io/cluster\":null},\"ownerReferences\":null}}"
#define NO_LABELS "{\"metadata\":{\"labels\":null}}"

static struct slice path_of(struct world *w, struct slice name)
{
    return arena_printf(&w->arena, "%s/%.*s", pods_path, SLICE_ARG(name));
}

static void patch_pod(struct world *w, struct slice name, const char *patch)
{
    CHECK_INT(world_call(w, "PATCH", path_of(w, name).ptr, "application/merge-patch+json", slice_of(patch)), 200);
}

static void delete_pod(struct world *w, struct slice name)
{
    CHECK_INT(world_call(w, "DELETE", path_of(w, name).ptr, "application/json", SLICE("{}")), 200);
}

static bool pod_stays(struct world *w, struct slice name)
{
    struct slice pod = apiserver_get(w->server, SLICE("pods"), SLICE("n"), name, &w->arena);
    return pod.ptr && !strstr(pod.ptr, "deletionTimestamp");
}

/* Whether an event of this reason, "" for any, holds this text. */
static bool was_told(struct world *w, const char *reason, const char *text)
{
    struct slice list;
    struct json doc;
    struct err e = {0};
    struct jval k, event;
    bool found = false;
    CHECK_INT(world_ask(w, "GET", "/apis/events.k8s.io/v1/namespaces/n/events", "application/json", SLICE_NONE, &list), 200);
    if (CHECK(json_parse(&doc, list, &w->arena, &e)))
        for (struct jiter it = json_iter(json_get(json_root(&doc), "items")); json_next(&it, &k, &event);)
            found |= (!*reason || json_str_eq(json_get(event, "reason"), slice_of(reason))) && slice_find_text(json_raw(event), text) >= 0;
    return found;
}

static void begin(struct world *w, int workers, int hosts)
{
    static const char *const path = "/apis/ray.io/v1/namespaces/n/rayclusters/c";
    make_world(w, false);
    struct slice patch = arena_printf(&w->arena, "[{\"op\":\"add\",\"path\":\"/spec/workerGroupSpecs/0/numOfHosts\",\"value\":%d}]", hosts);
    apply(w, "c", workers);
    CHECK_INT(world_call(w, "PATCH", path, "application/json-patch+json", patch), 200);
    world_run(w, 3000);
    CHECK(is_ready(w, "c"));
}

/* So many workers count, and so many pods still have the cluster's label and do not. */
static void check_company(struct world *w, int workers, int aside)
{
    struct slice names[16];
    world_run(w, 20 * 1000);
    CHECK(is_ready(w, "c"));
    CHECK_INT(pods_of(w, "c"), workers + 1 + aside);
    CHECK_INT(pod_names(w, "worker", names, COUNT_OF(names)) >= (uint32_t)workers, 1);
    check_fixed_point(w);
}

static void test_worker(void)
{
    static const struct {
        const char *what, *patch;
        int hosts, aside;
    } cases[] = {
        {"its label", NO_LABEL, 1, 0},
        {"all its labels", NO_LABELS, 1, 0},
        {"its label and its owner", NO_OWNER, 1, 0},
        {"its label, as one host of several", NO_LABEL, 2, 0},
        {"the label of its group", "{\"metadata\":{\"labels\":{\"ray.io/group\":null}}}", 1, 1},
        {"the label of its group for another word", "{\"metadata\":{\"labels\":{\"ray.io/group\":\"broken\"}}}", 1, 1},
        {"its cluster's label for another word", "{\"metadata\":{\"labels\":{\"ray.io/cluster\":\"broken\"}}}", 1, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w;
        struct slice names[8];
        test_case("a worker loses %s: it stays, another takes its place, and that is what is told", cases[i].what);
        begin(&w, 2, cases[i].hosts);
        int workers = 2 * cases[i].hosts;
        CHECK_INT(pod_names(&w, "worker", names, COUNT_OF(names)), workers);
        patch_pod(&w, names[0], cases[i].patch);
        check_company(&w, workers, cases[i].aside);
        CHECK(pod_stays(&w, names[0]));
        CHECK(was_told(&w, "PodSetAside", arena_printf(&w.arena, "%.*s", SLICE_ARG(names[0])).ptr));
        struct slice created = arena_printf(&w.arena, "created worker pod %.*s", SLICE_ARG(names[0]));
        CHECK(!was_told(&w, "", created.ptr));
        CHECK(was_told(&w, "CreatedWorkerPod", "created worker pod c-small-worker-0-"));
        test_case("… and nothing happens when it goes at last");
        uint32_t posts = w.sent.pod_posts;
        delete_pod(&w, names[0]);
        check_company(&w, workers, 0);
        CHECK_INT(w.sent.pod_posts, posts);
        world_free(&w);
    }
}

static void test_restart(void)
{
    struct world w;
    struct slice names[8];
    test_case("two workers are set aside, and the operator is killed: the next finds the names of their successors");
    begin(&w, 3, 1);
    CHECK_INT(pod_names(&w, "worker", names, COUNT_OF(names)), 3);
    world_kill_operator(&w);
    patch_pod(&w, names[0], NO_LABEL);
    patch_pod(&w, names[2], NO_LABEL);
    world_start_operator(&w, false);
    check_company(&w, 3, 0);
    test_case("… and so does the one after that, of the successor's successor");
    struct slice after[8];
    CHECK_INT(pod_names(&w, "worker", after, COUNT_OF(after)), 5);
    world_kill_operator(&w);
    for (size_t i = 0; i < 5; i++)
        if (slice_starts(after[i], SLICE("c-small-worker-0-")) && !slice_eq(after[i], names[0]))
            patch_pod(&w, after[i], NO_LABEL);
    world_start_operator(&w, false);
    check_company(&w, 3, 0);
    CHECK(pod_stays(&w, names[0]) && pod_stays(&w, names[2]));
    world_free(&w);
}

/* Whoever takes each successor's label away, too, is somebody whom nobody can keep up with. */
static void test_many(void)
{
    struct world w;
    struct slice names[16], set_aside[OPERATOR_HELD_NAMES + 1];
    test_case("as many of one place as there are names for, and one more");
    begin(&w, 1, 1);
    for (int n = 0; n <= OPERATOR_HELD_NAMES; n++) {
        uint32_t count = pod_names(&w, "worker", names, COUNT_OF(names));
        CHECK_INT(count, n + 1);
        for (uint32_t i = 0; i < count; i++) {
            bool known = false;
            for (int k = 0; k < n; k++)
                known |= slice_eq(names[i], set_aside[k]);
            if (!known)
                set_aside[n] = names[i];
        }
        patch_pod(&w, set_aside[n], NO_LABEL);
        world_run(&w, 30 * 1000);
        CHECK_INT(is_ready(&w, "c"), n < OPERATOR_HELD_NAMES);
    }
    CHECK_INT(pods_of(&w, "c"), 1);
    CHECK(says(&w, "rayclusters.ray.io", "c", "have names of one place"));
    CHECK(w.sent.pod_posts < 60);
    test_case("… and the first of them goes: its name is free again");
    delete_pod(&w, set_aside[0]);
    world_run(&w, PLAN_BACKOFF_MAX_MS + 20 * 1000);
    CHECK(is_ready(&w, "c"));
    CHECK_INT(pods_of(&w, "c"), 2);
    for (int k = 1; k <= OPERATOR_HELD_NAMES; k++)
        CHECK(pod_stays(&w, set_aside[k]));
    world_free(&w);
}

static void test_head(void)
{
    static const char back[] = "{\"metadata\":{\"labels\":{\"ray.io/cluster\":\"c\"}}}";
    static const struct {
        const char *what, *patch;
        bool returns;
    } cases[] = {
        {"its label, and gets it back", NO_LABEL, true},
        {"its label, and is deleted", NO_LABEL, false},
        {"its label and its owner, and is deleted", NO_OWNER, false},
        {"its label for another word, and gets it back", "{\"metadata\":{\"labels\":{\"ray.io/cluster\":\"broken\"}}}", true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w;
        test_case("the head loses %s", cases[i].what);
        begin(&w, 1, 1);
        patch_pod(&w, SLICE("c-head"), cases[i].patch);
        world_run(&w, 40 * 1000);
        CHECK(!is_ready(&w, "c"));
        CHECK(pod_stays(&w, SLICE("c-head")));
        CHECK(says(&w, "rayclusters.ray.io", "c", "c-head has the head's name, but not its labels or its owner"));
        CHECK(was_told(&w, "FailedToCreateHeadPod", "put label ray.io/cluster=c back, or delete the pod"));
        CHECK(!was_told(&w, "CreatedHeadPod", "\"series\":{")); /* told once, when it was made */
        CHECK(w.sent.pod_posts < 20);
        if (cases[i].returns)
            patch_pod(&w, SLICE("c-head"), back);
        else
            delete_pod(&w, SLICE("c-head"));
        world_run(&w, PLAN_BACKOFF_MAX_MS + 20 * 1000);
        CHECK(is_ready(&w, "c"));
        CHECK_INT(pods_of(&w, "c"), 2);
        world_free(&w);
    }
}

/* What it is called says what it is. */
static void test_false_head(void)
{
    static const char *const patches[] = {
        "{\"metadata\":{\"labels\":{\"ray.io/node-type\":\"head\"}}}",
        "{\"metadata\":{\"labels\":{\"ray.io/node-type\":\"head\",\"ray.io/identifier\":\"c-head\"}}}",
    };
    for (size_t i = 0; i < COUNT_OF(patches); i++) {
        struct world w;
        struct slice names[2];
        test_case("a worker is labelled as a head: nobody goes, and nobody comes (%zu)", i);
        begin(&w, 2, 1);
        CHECK_INT(pod_names(&w, "worker", names, COUNT_OF(names)), 2);
        uint32_t posts = w.sent.pod_posts, deletes = w.sent.deletes;
        patch_pod(&w, names[0], patches[i]);
        world_run(&w, 30 * 1000);
        CHECK(is_ready(&w, "c"));
        CHECK(pod_stays(&w, names[0]) && pod_stays(&w, SLICE("c-head")));
        CHECK_STR(status_of(&w, "c", "status.head.podName"), "c-head");
        CHECK(w.sent.pod_posts == posts && w.sent.deletes == deletes);
        test_case("… and the head is labelled as a worker, too");
        patch_pod(&w, SLICE("c-head"), "{\"metadata\":{\"labels\":{\"ray.io/node-type\":\"worker\",\"ray.io/group\":\"small\"}}}");
        world_run(&w, 30 * 1000);
        CHECK(pod_stays(&w, names[0]) && pod_stays(&w, SLICE("c-head")));
        CHECK(w.sent.pod_posts == posts && w.sent.deletes == deletes);
        world_free(&w);
    }
}

int main(void)
{
    test_worker();
    test_restart();
    test_many();
    test_head();
    test_false_head();
    return test_done();
}
