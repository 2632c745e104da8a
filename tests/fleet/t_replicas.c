/* Two replicas of a control plane: a question to an operator goes to the replica that holds the operator's call, and the operator's answer
 * to the replica that has asked, whichever of them it comes to. */
#include "hubworld.h"

#include "tests/model/sim/wire.h"

#include <stdio.h>

/* ---- connections between the replicas ---- */

struct tube_end {
    struct link link; /* first */
    struct tube *tube;
    struct buf in;
    bool open;
    char room[16 * KIB];
};

struct tube {
    struct tube *next;
    struct tube_end end[2]; /* of the replica that calls, of the one that is called */
    const struct process *caller;
    bool begun;
};

struct pair {
    struct world_far far; /* first */
    struct hubworld h;
    struct tube *tubes;
    uint32_t opened, closed; /* connections between replicas */
};

static struct tube_end *other_end(struct tube_end *e)
{
    return &e->tube->end[e == &e->tube->end[0]];
}

static struct slice end_peek(struct link *l)
{
    return buf_slice(&((struct tube_end *)l)->in);
}

static void end_used(struct link *l, size_t n)
{
    if (n)
        buf_drop(&((struct tube_end *)l)->in, n);
}

static char *end_room(struct link *l, size_t *n)
{
    *n = l->state == LINK_OPEN ? sizeof((struct tube_end *)l)->room : 0;
    return ((struct tube_end *)l)->room;
}

static void end_wrote(struct link *l, size_t n)
{
    struct tube_end *e = (struct tube_end *)l, *to = other_end(e);
    if (to->open) {
        buf_put(&to->in, (struct slice){e->room, n});
        net_wake(&to->link);
    }
    net_wake(l);
}

static void end_close(struct link *l)
{
    struct tube_end *e = (struct tube_end *)l, *to = other_end(e);
    net_forget(l);
    e->open = false;
    if (to->open)
        wire_tell(&to->link, LINK_ENDED, ERR_NONE, "");
}

static const struct link_ops end_ops = {end_peek, end_used, end_room, end_wrote, end_close};

static void end_init(struct tube *t, uint32_t i, struct net *net)
{
    struct tube_end *e = &t->end[i];
    e->link = (struct link){.ops = &end_ops, .net = net, .state = i ? LINK_OPEN : LINK_OPENING, .deadline_ms = TIME_NEVER};
    e->tube = t;
    e->open = true;
}

static struct link *pair_open(struct world_far *far, struct process *p, struct link_owner *owner, int64_t deadline_ms)
{
    struct pair *x = (struct pair *)far;
    struct tube *t = mem_alloc(sizeof *t);
    *t = (struct tube){.next = x->tubes, .caller = p};
    x->tubes = t;
    x->opened++;
    for (uint32_t i = 0; i < 2; i++)
        buf_init(&t->end[i].in, 16 * MIB);
    end_init(t, 0, &p->net);
    t->end[1].tube = t;
    t->end[0].link.owner = owner;
    t->end[0].link.deadline_ms = deadline_ms;
    return &t->end[0].link;
}

static void begin(struct pair *x, struct tube *t)
{
    bool by_first = t->caller == &x->h.w.process[1];
    struct hub *called = by_first ? x->h.second : x->h.hub;
    struct process *p = &x->h.w.process[by_first ? 0 : 1];
    t->begun = true;
    if (!called) {
        wire_tell(&t->end[0].link, LINK_FAILED, ERR_CONNECT, "connect to the other replica: refused");
        return;
    }
    end_init(t, 1, &p->net);
    struct link_accept *a = hub_accept(called);
    a->accept(a, &t->end[1].link, world_process_now(p));
    t->end[0].link.state = LINK_OPEN;
    net_wake(&t->end[0].link);
}

static bool pair_move(struct world_far *far)
{
    struct pair *x = (struct pair *)far;
    bool moved = false;
    for (struct tube **at = &x->tubes, *t; (t = *at) != NULL;) {
        if (!t->begun) {
            begin(x, t);
            moved = true;
        }
        if (t->end[0].open || t->end[1].open) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        x->closed++;
        for (uint32_t i = 0; i < 2; i++) {
            mem_wipe(t->end[i].room, sizeof t->end[i].room);
            buf_free(&t->end[i].in);
        }
        mem_free(t);
    }
    return moved;
}

static int64_t pair_deadline(const struct world_far *far)
{
    for (const struct tube *t = ((const struct pair *)far)->tubes; t; t = t->next)
        if (!t->begun)
            return 0;
    return TIME_NEVER;
}

static void pair_start(struct pair *x)
{
    *x = (struct pair){.far = {pair_open, pair_move, pair_deadline, NULL}};
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
    CHECK(!x->tubes && x->opened == x->closed);
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
    CHECK_INT(x.opened, 1);

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
    CHECK_INT(x.closed, 0);
    run(h, HUB_PEER_MS + 60 * 1000);
    CHECK_INT(x.closed, x.opened);
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

int main(void)
{
    log_global = (struct log){.level = LOG_ERROR, .fd = 1};
    test_question();
    test_pods();
    test_lost();
    return test_done();
}
