/* Replicas of several hosts that are scaled by what heads say: they go, and come, as a whole. */
#include "tests/world/scaled.h"

enum { HOSTS = 2 };

/* DELETEs of the pods of a replica: that of the first is carried out, that of the second is not. */
struct parted {
    struct world_hooks hooks; /* first */
    struct slice first, second;
    bool unanswered; /* nobody hears what became of the first one's, and its pod takes long to go */
    bool silent;     /* the head says nothing more from then on */
    bool denied;     /* the first one is not carried out either: somebody says that there is no such pod */
};

static void on_arrived(struct world_hooks *h, struct world_request *q)
{
    struct parted *p = (struct parted *)h;
    if (!slice_eq(q->method, SLICE("DELETE")))
        return;
    if (slice_ends(q->target, p->first) && p->unanswered)
        q->fate = FATE_ANSWER_LOST;
    if (slice_ends(q->target, p->first) && p->denied) {
        q->fate = FATE_REFUSED;
        q->status = 404;
        q->reason = "NotFound";
    }
    if (slice_ends(q->target, p->second))
        q->fate = FATE_LOST;
}

/* A cluster with one replica, whose pods' DELETEs go as they are told from now on. */
static struct fakeray *make_replica(struct world *w, struct parted *p)
{
    struct slice names[HOSTS];
    make_scaled_world(w, false);
    apply_scaled(w, &(struct scaled){.name = "c", .min = 1, .replicas = 1, .hosts = HOSTS});
    struct fakeray *h = head_of(w, "c");
    world_run(w, 4000);
    CHECK_INT(pod_names(w, "worker", names, HOSTS), HOSTS);
    CHECK_INT(fakeray_nodes(h), HOSTS);
    p->hooks.arrived = on_arrived;
    p->first = names[0];
    p->second = names[1];
    w->hooks = &p->hooks;
    return h;
}

static void hold(struct world *w, struct slice pod, const char *finalizers)
{
    struct slice body = arena_printf(&w->arena, "{\"metadata\":{\"finalizers\":[%s]}}", finalizers);
    CHECK_INT(world_call(w, "PATCH", arena_printf(&w->arena, "%s/%s", pods_path, pod.ptr).ptr, "application/merge-patch+json", body), 200);
}

/* Ray ends on one host of the only replica. */
static void test_half_gone(struct parted *p)
{
    struct world w;
    test_case("a host of a replica goes, and the other cannot be deleted for a while%s%s: it goes too, and then all are made again",
              p->unanswered ? ", which nobody answers" : "", p->silent ? ", and the head falls silent" : "");
    struct fakeray *h = make_replica(&w, p);
    uint32_t posts = w.sent.pod_posts;
    if (p->unanswered)
        hold(&w, p->first, "\"example.com/slow\"");
    fakeray_kill_raylet(h, p->first.ptr);
    world_run(&w, 3000);
    h->fake.hangs = p->silent;
    world_run(&w, SCALE_STALE_MS + 30 * 1000);
    if (p->unanswered)
        hold(&w, p->first, "");
    world_run(&w, 5000);
    CHECK_INT(workers_of(&w, "c"), 1);
    CHECK_INT(w.sent.pod_posts, posts);
    w.hooks = NULL;
    h->fake.hangs = false;
    world_run(&w, 120 * 1000);
    CHECK(!apiserver_get(w.server, SLICE("pods"), SLICE("n"), p->second, &w.arena).ptr);
    CHECK_INT(workers_of(&w, "c"), HOSTS);
    CHECK_INT(fakeray_nodes(h), HOSTS);
    CHECK_INT(w.sent.pod_posts, posts + HOSTS);
    check_fixed_point(&w);
    world_free(&w);
}

static void test_denied(void)
{
    struct world w;
    struct parted p = {.denied = true};
    test_case("a host of a replica is said to be gone, and is there, with Ray in it again: the replica stays");
    struct fakeray *h = make_replica(&w, &p);
    char uid[sizeof h->nodes->pod.uid];
    memcpy(uid, fakeray_node_of(h, p.first)->pod.uid, sizeof uid);
    fakeray_kill_raylet(h, p.first.ptr);
    world_run(&w, 2000);
    CHECK(w.sent.deletes > 1);
    fakeray_container_ends(&w, uid);
    fakeray_container_begins(&w, uid);
    world_run(&w, 60 * 1000);
    uint32_t deletes = w.sent.deletes;
    w.hooks = NULL;
    world_run(&w, 600 * 1000);
    CHECK_INT(w.sent.deletes, deletes);
    CHECK_INT(workers_of(&w, "c"), HOSTS);
    CHECK_INT(fakeray_nodes(h), HOSTS);
    world_free(&w);
}

int main(void)
{
    log_global.fd = -1;
    for (int i = 0; i < 4; i++)
        test_half_gone(&(struct parted){.unanswered = i & 1, .silent = i & 2});
    test_denied();
    return test_done();
}
