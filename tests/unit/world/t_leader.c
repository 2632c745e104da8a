/* Leadership: who does not hold the lease writes nothing, remembers nothing that is gone, and goes on where the other stopped. */
#include "scene.h"

#include "../../../src/operator/op.h"

static const char lease_path[] = "/apis/coordination.k8s.io/v1/namespaces/n/leases/mobula";

/* Somebody else holds the lease, from now on for `seconds`. */
static void take_lease(struct world *w, const char *holder, int seconds)
{
    char now[TIME_TEXT_MAX];
    time_format_micro(w->now.wall_us, now);
    struct slice patch = arena_printf(&w->arena, "{\"spec\":{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":%d,\"renewTime\":\"%s\"}}",
                                      holder, seconds, now);
    CHECK_INT(world_call(w, "PATCH", lease_path, "application/merge-patch+json", patch), 200);
}

static void test_no_write_after_loss(void)
{
    static const struct {
        const char *id;
        int status, retry_after_s;
    } cases[] = {
        {"the lease is lost while calls wait for a Retry-After", 429, 6},
        {"the lease is lost while calls wait to be sent again", 503, 6},
        {"the lease is lost while pods are created", 0, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w;
        test_case("%s", cases[i].id);
        make_world(&w, true);
        world_run(&w, 2000);
        CHECK(w.op->leading);
        if (cases[i].status) {
            override(&w, "POST", pods_path, cases[i].status, false, 40);
            apiserver_faults(w.server)->next.retry_after_s = cases[i].retry_after_s;
        }
        apply(&w, "c", 100);
        for (int k = 0; k < 6; k++)
            world_step(&w, w.now.mono_ms + 1);
        take_lease(&w, "somebody else", 3600);
        while (w.op->leading)
            world_step(&w, w.now.mono_ms + 100);
        world_step(&w, w.now.mono_ms + 1);
        uint32_t before = world_writes(&w);
        world_run(&w, 60 * 1000);
        CHECK_INT(world_writes(&w), before);
        test_case("%s: and comes back", cases[i].id);
        CHECK_INT(world_call(&w, "DELETE", lease_path, "application/json", SLICE("{}")), 200);
        world_run(&w, 30 * 1000);
        CHECK(w.op->leading);
        CHECK_INT(apiserver_count(w.server, SLICE("pods")), 101);
        CHECK(is_ready(&w, "c"));
        world_free(&w);
    }
}

static void check_empty(struct world *w)
{
    CHECK_INT(w->op->clusters.count, 0);
    CHECK_INT(w->op->pods.count, 0);
    CHECK_INT(w->op->services.count, 0);
    CHECK_INT(w->op->strings.map.count, 0);
    CHECK_INT(w->op->cluster_slab.count, 0);
    CHECK_INT(w->op->pod_slab.count, 0);
    CHECK_INT(w->op->flight_slab.count, 0);
    CHECK_INT(w->op->flights, 0);
    CHECK_INT(w->op->heap_count, 0);
}

static void test_standby(void)
{
    struct world w;
    test_case("a standby forgets what is gone");
    make_world(&w, true);
    world_run(&w, 2000);
    take_lease(&w, "somebody else", 3600);
    world_run(&w, 5000);
    CHECK(!w.op->leading);
    for (int i = 0; i < 20; i++) {
        struct slice name = arena_printf(&w.arena, "c%d", i), path = arena_printf(&w.arena, "%s/c%d", v1, i);
        apply(&w, name.ptr, 1);
        world_run(&w, 100);
        CHECK_INT(world_call(&w, "DELETE", path.ptr, "application/json", SLICE("{}")), 200);
        world_run(&w, 100);
    }
    world_run(&w, 1000);
    check_empty(&w);
    world_free(&w);
}

static void test_churn(void)
{
    struct world w;
    test_case("a leader forgets what is gone");
    make_world(&w, false);
    for (int i = 0; i < 40; i++) {
        struct slice name = arena_printf(&w.arena, "c%d", i), path = arena_printf(&w.arena, "%s/c%d", v1, i);
        apply(&w, name.ptr, 5);
        world_run(&w, 100 + 60 * i); /* at any moment of its life */
        CHECK_INT(world_call(&w, "DELETE", path.ptr, "application/json", SLICE("{}")), 200);
    }
    world_run(&w, 10 * 1000);
    check_empty(&w);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 0);
    world_free(&w);
}

/* The counters of failures are in status: a new leader knows them. */
static void test_counters(void)
{
    struct world w;
    test_case("a new leader knows how often a group failed");
    make_world(&w, true);
    world_run(&w, 2000);
    override(&w, "POST", pods_path, 403, false, 1000000);
    apply(&w, "c", 1);
    world_run(&w, 60 * 1000);
    CHECK(w.sent.pod_posts > 5);
    take_lease(&w, "somebody else", 3600);
    world_run(&w, 5000);
    struct slice patch = SLICE("{\"status\":{\"groups\":[{\"name\":\"headgroup\",\"desired\":1,\"ready\":0,\"failures\":20,"
                               "\"lastFailureTime\":\"2027-01-15T08:01:00Z\",\"reason\":\"quota\"}]}}");
    CHECK_INT(world_call(&w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayclusters/c/status", "application/merge-patch+json", patch), 200);
    world_run(&w, 1000);
    CHECK_INT(world_call(&w, "DELETE", lease_path, "application/json", SLICE("{}")), 200);
    world_run(&w, 2000);
    CHECK(w.op->leading);
    struct cluster *c = cluster_get(w.op, status_of(&w, "c", "metadata.uid"));
    const struct group_failures *f = c ? failures_of(w.op, c, SLICE_NONE, true, false) : NULL;
    if (CHECK(f != NULL))
        CHECK(f->count >= 20);
    world_free(&w);
}

int main(void)
{
    log_global.fd = -1;
    test_no_write_after_loss();
    test_standby();
    test_churn();
    test_counters();
    return test_done();
}
