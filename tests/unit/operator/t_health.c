/* Who comes for health or metrics: how long a visitor may take to ask, and to take the answer. */
#include "src/operator/op.h"
#include "tests/unit/kube/fakenet.h"

struct rig {
    struct fake f;
    struct serve *health;
    struct fakelink *visitor;
};

static void start(struct rig *r)
{
    static const struct endpoint nobody = {.host = {"visitor", 7}};
    *r = (struct rig){0};
    fake_init(&r->f);
    r->health = health_new(NULL, HEALTH_PROBES);
    struct link *l = net_open(&r->f.net, &nobody, NULL, TIME_NEVER, NULL);
    struct link_accept *accept = serve_accept(r->health);
    accept->accept(accept, l, r->f.now);
    r->visitor = r->f.links[r->f.count - 1];
}

static void finish(struct rig *r)
{
    serve_free(r->health);
    fake_free(&r->f);
}

static void say(struct rig *r, int64_t ms, const char *text)
{
    r->f.now.mono_ms += ms;
    buf_put(&r->visitor->in, slice_of(text));
    net_wake(r->visitor->link);
    net_dispatch(&r->f.net, r->f.now);
}

static void test_slow_to_ask(void)
{
    struct rig r;
    test_case("a visitor has HEALTH_HEAD_MS to ask, however it comes by drops");
    start(&r);
    int64_t until = r.f.now.mono_ms + HEALTH_HEAD_MS;
    CHECK_INT(r.visitor->link->deadline_ms, until);
    say(&r, 500, "GET /healthz ");
    say(&r, 500, "HTTP/1.1\r\nHost: h\r\n");
    CHECK_INT(r.visitor->link->deadline_ms, until);
    CHECK_INT(r.visitor->out.len, 0);
    test_case("the link fails then, and the visitor leaves");
    r.visitor->link->state = LINK_FAILED;
    say(&r, HEALTH_HEAD_MS, "");
    CHECK(!r.visitor->link);
    finish(&r);
}

static void test_slow_to_listen(void)
{
    for (int fails = 0; fails < 2; fails++) {
        struct rig r;
        test_case("who has asked has HEALTH_ANSWER_MS to take the answer%s", fails ? ", and no longer" : "");
        start(&r);
        r.visitor->room = 0;
        say(&r, HEALTH_HEAD_MS - 1, "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
        CHECK_INT(r.visitor->link->deadline_ms, r.f.now.mono_ms + HEALTH_ANSWER_MS);
        if (fails)
            r.visitor->link->state = LINK_FAILED;
        else
            r.visitor->room = sizeof r.visitor->scratch;
        say(&r, HEALTH_ANSWER_MS, "");
        CHECK(!r.visitor->link);
        CHECK_INT(slice_ends(buf_slice(&r.visitor->out), SLICE("\r\n\r\nok\n")), !fails);
        finish(&r);
    }
}

int main(void)
{
    log_global = (struct log){.level = LOG_ERROR, .fd = -1};
    test_slow_to_ask();
    test_slow_to_listen();
    return test_done();
}
