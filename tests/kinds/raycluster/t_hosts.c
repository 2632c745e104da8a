/* Replicas of several hosts that are scaled down while their pods start: as many lose a pod as have to go, and none that is whole while
 * there is one that is not. */
#include "scene.h"

enum { REPLICAS_MAX = 5, HOSTS_MAX = 3, WALKS = 100, STEPS = 80 };

struct walk {
    struct scene s;
    struct rng rng;
    uint32_t standing; /* replicas that there were when the group was scaled down */
    uint32_t made;
    bool hurt[REPLICAS_MAX]; /* it has lost a pod */
};

static struct pod *make_pod(struct walk *w, int32_t replica, int32_t host)
{
    struct pod *p = &w->s.pods[w->s.pod_count++];
    *p = (struct pod){.group = SLICE("small"), .index = replica, .host = host, .version = ++w->made};
    snprintf(p->name, sizeof p->name, "p%u", w->made);
    snprintf(p->uid, sizeof p->uid, "u%u", w->made);
    p->created_us = now_us - (int64_t)rng_below(&w->rng, 100) * 1000000;
    return p;
}

static void start(struct pod *p, bool ready)
{
    p->phase = POD_RUNNING;
    p->ready = ready;
}

static void make_replicas(struct walk *w)
{
    struct pod *head = make_pod(w, 0, 0);
    head->head = true;
    head->group = SLICE("headgroup");
    start(head, true);
    w->standing = 2 + (uint32_t)rng_below(&w->rng, REPLICAS_MAX - 1);
    for (uint32_t i = 0; i < w->standing; i++) {
        uint64_t how = rng_below(&w->rng, 3); /* all ready, none started, or any */
        for (int32_t host = 0; host < w->s.hosts; host++) {
            struct pod *p = make_pod(w, (int32_t)i, host);
            if (how == 0 || (how == 1 && rng_below(&w->rng, 2)))
                start(p, how == 0 || rng_below(&w->rng, 2));
        }
    }
}

static bool is_whole(const struct walk *w, int32_t replica)
{
    int32_t ready = 0;
    for (uint32_t i = 1; i < w->s.pod_count; i++)
        ready += w->s.pods[i].index == replica && w->s.pods[i].ready && !w->s.pods[i].deleting;
    return ready == w->s.hosts;
}

static bool stands(const struct walk *w, int32_t replica)
{
    for (uint32_t i = 1; i < w->s.pod_count; i++)
        if (w->s.pods[i].index == replica && !w->s.pods[i].deleting)
            return true;
    return false;
}

/* Whether the plan leaves a replica that is not whole, and takes one that is. */
static bool takes_the_wrong_one(const struct walk *w, const struct plan *p)
{
    bool goes[REPLICAS_MAX] = {false}, whole = false, other = false;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->actions[i].verb == &pod_delete && CHECK(p->actions[i].index >= 0 && p->actions[i].index < REPLICAS_MAX))
            goes[p->actions[i].index] = true;
    for (int32_t i = 0; i < REPLICAS_MAX; i++) {
        whole |= goes[i] && is_whole(w, i);
        other |= !goes[i] && stands(w, i) && !is_whole(w, i);
    }
    return whole && other;
}

static void drop_pod(struct walk *w, uint32_t at)
{
    w->s.pods[at] = w->s.pods[--w->s.pod_count];
}

/* One that has no node is gone at once. One that is not as it was seen stays, and until the watch tells nobody knows what it is. */
static void delete_pod(struct walk *w, const struct action *act)
{
    for (uint32_t i = 1; i < w->s.pod_count; i++) {
        struct pod *p = &w->s.pods[i];
        if (!slice_eq(slice_of(p->uid), act->uid))
            continue;
        if (act->version && rng_below(&w->rng, 4) == 0) {
            p->ours.overtaken = true;
            return;
        }
        w->hurt[p->index] = true;
        if (p->phase == POD_PENDING)
            drop_pod(w, i);
        else
            p->deleting = true;
        return;
    }
    CHECK(act->uid.len == 0); /* each is named once */
}

static void carry_out(struct walk *w, const struct plan *p)
{
    uint32_t count = (uint32_t)rng_below(&w->rng, p->count + 1); /* it may be dropped behind any of its actions */
    for (uint32_t i = 0; i < count; i++) {
        const struct action *act = &p->actions[i];
        if (act->verb == &pod_delete)
            delete_pod(w, act);
        else if (act->verb == &raycluster_create_pod)
            make_pod(w, act->index / w->s.hosts, act->index % w->s.hosts);
    }
}

/* Pods start and end as they like; what was overtaken is seen. */
static void let_pass(struct walk *w)
{
    for (uint32_t i = 1; i < w->s.pod_count; i++) {
        struct pod *p = &w->s.pods[i];
        if (p->deleting && rng_below(&w->rng, 2)) {
            drop_pod(w, i--);
            continue;
        }
        bool moves = p->ours.overtaken || (!p->ready && !p->deleting && rng_below(&w->rng, 6) == 0);
        if (!moves || (p->ours.overtaken && rng_below(&w->rng, 2)))
            continue;
        start(p, p->phase == POD_RUNNING);
        p->ours.overtaken = false;
        p->version = ++w->made;
    }
}

static void walk(uint64_t seed)
{
    struct walk w = {.s = {.hosts = 2, .max = INT32_MAX}};
    const struct pod *pods[PODS_MAX];
    struct cluster_view v;
    rng_seed(&w.rng, seed);
    w.s.hosts = 2 + (int32_t)rng_below(&w.rng, HOSTS_MAX - 1);
    make_replicas(&w);
    w.s.workers = 1 + (int32_t)rng_below(&w.rng, w.standing);
    read_cluster(&w.s);
    for (int i = 0; i < STEPS; i++) {
        struct plan p;
        scene_view(&w.s, pods, &v);
        raycluster_decide(&v, &w.s.a, &p);
        CHECK(!takes_the_wrong_one(&w, &p));
        carry_out(&w, &p);
        let_pass(&w);
    }
    uint32_t hurt = 0;
    for (int i = 0; i < REPLICAS_MAX; i++)
        hurt += w.hurt[i];
    CHECK_INT(hurt, w.standing - (uint32_t)w.s.workers);
    CHECK_INT(w.s.pod_count, 1 + w.s.workers * w.s.hosts);
    arena_free(&w.s.a);
}

int main(void)
{
    for (uint64_t seed = 1; seed <= WALKS; seed++) {
        test_case("scaled down, seed %llu", (unsigned long long)seed);
        walk(seed);
    }
    return test_done();
}
