/* Two replicas of a control plane: a question to an operator goes to the replica that holds the operator's call, and the operator's answer
 * to the replica that has asked, whichever of them it comes to. */
#include "bridge.h"
#include "hubworld.h"

#include <stdio.h>

struct pair {
    struct world_far far; /* first */
    struct hubworld h;
    struct bridges bridges; /* between the replicas */
};

static struct link *pair_open(struct world_far *far, struct process *p, struct link_owner *owner, int64_t deadline_ms)
{
    return bridge_open(&((struct pair *)far)->bridges, p, owner, deadline_ms);
}

static bool pair_move(struct world_far *far)
{
    return bridges_move(&((struct pair *)far)->bridges);
}

static int64_t pair_deadline(const struct world_far *far)
{
    return bridges_deadline(&((const struct pair *)far)->bridges);
}

static struct hub *other_replica(struct bridges *all, const struct process *caller, struct process **p)
{
    struct hubworld *h = &((struct pair *)all->owner)->h;
    bool by_first = caller == &h->w.process[1];
    *p = &h->w.process[by_first ? 0 : 1];
    return by_first ? h->second : h->hub;
}

static void pair_start(struct pair *x)
{
    *x = (struct pair){.far = {pair_open, pair_move, pair_deadline, NULL},
                       .bridges = {.owner = x, .world = &x->h.w, .called = other_replica}};
    start(&x->h);
    hub_down(&x->h);
    x->h.w.far = &x->far;
    x->h.url[0] = SLICE("http://" WORLD_FAR ":8081");
    x->h.url[1] = SLICE("http://" WORLD_FAR ":8082");
    hub_up(&x->h);
    second_up(&x->h);
    make_cloud(&x->h, "edge");
    make_job(&x->h, "w", "edge", "");
    run(&x->h, 1000);
}

static void pair_finish(struct pair *x)
{
    second_down(&x->h);
    hub_down(&x->h);
    pair_move(&x->far);
    finish(&x->h);
    CHECK(!x->bridges.first && x->bridges.opened + x->bridges.refused == x->bridges.closed);
}

/* ---- tests ---- */

#define LOG_PATH "/v1/projects/n/workloads/w/logs?lines=7"

/* The first question in the last answer to the operator, answered. */
static struct slice reply(struct hubworld *h, const char *kind, const char *answered)
{
    struct jval q = json_at(json_get(json_root(&h->doc), "questions"), 0);
    CHECK(json_is(json_get(q, "kind"), kind));
    return arena_printf(&h->w.arena, ",\"wait\":0,\"answers\":[{\"id\":\"%.*s\",\"kind\":\"%s\",%s}]",
                        SLICE_ARG(json_get_str(q, "id", &h->w.arena)), kind, answered);
}

/* The operator's call: it waits at its replica for something to do. */
static void hold(struct client *o)
{
    struct hubworld *h = o->of;
    CHECK_INT(sync_ask(o, "edge", "one", "", ",\"wait\":0"), 200);
    sync_send(o, "edge", "one", revision(h), "");
    run(h, 100);
}

static void test_question(void)
{
    struct pair x;
    pair_start(&x);
    struct hubworld *h = &x.h;
    struct client *o = client_at(h, false), *late = client_at(h, true), *c = client_at(h, true);

    test_case("a question at the replica that does not hold the operator's call, and the answer at the one that does");
    hold(o);
    CHECK_STR(field(h, "clouds", "edge", "status.session.url"), "http://" WORLD_FAR ":8081");
    send(c, "GET", LOG_PATH, "ann", SLICE_NONE);
    run(h, 500);
    CHECK_INT(answer(o), 200);
    CHECK_INT(sync_ask(o, "edge", "one", "", reply(h, "logTail", "\"text\":\"hello\"").ptr), 200);
    CHECK(slice_ends(buf_slice(&c->out), SLICE("\r\n\r\nhello")));
    answer(c);
    CHECK_INT(x.bridges.opened, 1);

    test_case("the answer comes to the replica that neither asked nor holds the call, and is passed on");
    hold(o);
    send(c, "GET", LOG_PATH, "ann", SLICE_NONE);
    run(h, 500);
    CHECK_INT(answer(o), 200);
    CHECK_INT(sync_ask(late, "edge", "one", "", reply(h, "logTail", "\"text\":\"again\"").ptr), 200);
    run(h, 500);
    CHECK(slice_ends(buf_slice(&c->out), SLICE("\r\n\r\nagain")));
    answer(c);

    test_case("what the operator refuses is refused in the same words");
    hold(o);
    send(c, "GET", LOG_PATH, "ann", SLICE_NONE);
    run(h, 500);
    CHECK_INT(answer(o), 200);
    CHECK_INT(sync_ask(o, "edge", "one", "", reply(h, "logTail", "\"error\":\"gone\",\"code\":404").ptr), 200);
    CHECK_INT(answer(c), 404);
    CHECK(slice_has(said(h, "error.message"), "gone"));

    test_case("who may not read the log is refused by the replica that is asked");
    CHECK_INT(ask(c, "GET", LOG_PATH, "nobody", NULL), 403);

    test_case("a call that was passed on is not passed on again");
    CHECK_INT(ask(c, "GET", LOG_PATH "&forwarded=1", "ann", NULL), 503);
    CHECK(slice_has(said(h, "error.message"), "does not hold the call"));

    test_case("a connection that was not used for a while is closed");
    CHECK_INT(x.bridges.closed, 0);
    run(h, HUB_PEER_MS + 60 * 1000);
    CHECK_INT(x.bridges.closed, x.bridges.opened);
    pair_finish(&x);
}

static void test_pods(void)
{
    struct pair x;
    pair_start(&x);
    struct hubworld *h = &x.h;
    struct client *o = client_at(h, false), *pod = client_at(h, true);
    test_case("a pod's token that comes to the other replica is asked of the operator");
    hold(o);
    struct slice body = arena_printf(&h->w.arena, "{\"cloud\":\"%.*s\"}", SLICE_ARG(field(h, "clouds", "edge", "status.deploymentId")));
    send(pod, "POST", "/v1/bootstrap", "pod", body);
    run(h, 500);
    CHECK_INT(answer(o), 200);
    CHECK_INT(sync_ask(o, "edge", "one", "", reply(h, "tokenReview", "\"ok\":false,\"error\":\"expired\"").ptr), 200);
    CHECK_INT(answer(pod), 401);
    CHECK(slice_has(said(h, "error.message"), "expired"));
    pair_finish(&x);
}

static void test_lost(void)
{
    struct pair x;
    pair_start(&x);
    struct hubworld *h = &x.h;
    struct client *o = client_at(h, false), *c = client_at(h, true);
    test_case("the replica that holds the call is gone: refused, and to be asked again");
    hold(o);
    hub_down(h);
    run(h, 100);
    send(c, "GET", LOG_PATH, "ann", SLICE_NONE);
    run(h, 60 * 1000);
    CHECK_INT(answer(c), 503);
    pair_finish(&x);
}

static void urls(void)
{
    static const struct {
        const char *ip, *address, *url; /* NULL: refused */
    } cases[] = {
        {"10.1.2.3", ":8443", "https://10.1.2.3:8443"},   {"fd00::9", "0.0.0.0:8443", "https://[fd00::9]:8443"},
        {"10.1.2.3", "[::]:443", "https://10.1.2.3:443"}, {"10.1.2.3", "", NULL},
        {"replica.example.org", ":8443", NULL},           {"10.1.2", ":8443", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a = {0};
        struct slice url;
        test_case("where %s with %s is reached", cases[i].ip, cases[i].address);
        CHECK_INT(hub_replica_url(guarded(slice_of(cases[i].ip)), slice_of(cases[i].address), &a, &url), cases[i].url != NULL);
        if (cases[i].url)
            CHECK_STR(url, cases[i].url);
        arena_free(&a);
    }
}

int main(void)
{
    urls();
    log_global = (struct log){.level = LOG_ERROR, .fd = 1};
    test_question();
    test_pods();
    test_lost();
    return test_done();
}
