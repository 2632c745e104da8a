#include "../test.h"

#include <mobula/net.h>

/* Links without anything behind them: only the ready list is looked at. */
struct fake {
    struct link link;
    struct link_owner owner;
    int steps;
    void (*then)(struct fake *f);
    struct fake *other;
    char room[8];
    size_t room_len;
};

static void on_step(struct link_owner *owner, struct link *l, struct now now)
{
    struct fake *f = (struct fake *)(void *)((char *)owner - offsetof(struct fake, owner));
    (void)now;
    CHECK(&f->link == l);
    f->steps++;
    if (f->then)
        f->then(f);
}

static void setup(struct net *n, struct fake *f, size_t count)
{
    *n = (struct net){0};
    for (size_t i = 0; i < count; i++)
        f[i] = (struct fake){.link = {.net = n}, .owner = {on_step}};
    for (size_t i = 0; i < count; i++)
        f[i].link.owner = &f[i].owner;
}

static void wake_self(struct fake *f)
{
    net_wake(&f->link);
}

static void forget_other(struct fake *f)
{
    net_forget(&f->other->link);
}

static void wake_other(struct fake *f)
{
    net_wake(&f->other->link);
}

static void test_turns(void)
{
    struct net n;
    struct fake f[3];
    struct now now = {0};
    setup(&n, f, 3);
    test_case("nobody");
    CHECK(!net_dispatch(&n, now));
    test_case("each once, however often woken");
    net_wake(&f[0].link);
    net_wake(&f[1].link);
    net_wake(&f[0].link);
    CHECK(net_dispatch(&n, now));
    CHECK_INT(f[0].steps, 1);
    CHECK_INT(f[1].steps, 1);
    CHECK_INT(f[2].steps, 0);
    CHECK(!net_dispatch(&n, now));
    test_case("waking oneself waits for the next turn");
    f[0].then = wake_self;
    net_wake(&f[0].link);
    CHECK(net_dispatch(&n, now));
    CHECK_INT(f[0].steps, 2);
    CHECK(net_dispatch(&n, now));
    CHECK_INT(f[0].steps, 3);
    CHECK(n.ready_first == &f[0].link);
    f[0].then = NULL;
    CHECK(net_dispatch(&n, now));
    CHECK(!net_dispatch(&n, now));
}

static void test_forget(void)
{
    struct net n;
    struct fake f[3];
    struct now now = {0};
    setup(&n, f, 3);
    test_case("a link that went away in the same turn is not stepped");
    f[0].then = forget_other;
    f[0].other = &f[1];
    for (int i = 0; i < 3; i++)
        net_wake(&f[i].link);
    CHECK(net_dispatch(&n, now));
    CHECK_INT(f[1].steps, 0);
    CHECK_INT(f[2].steps, 1);
    test_case("the last of the list forgotten, and one more woken");
    setup(&n, f, 3);
    net_wake(&f[0].link);
    net_wake(&f[1].link);
    net_forget(&f[1].link);
    net_wake(&f[2].link);
    CHECK(net_dispatch(&n, now));
    CHECK_INT(f[0].steps + f[2].steps, 2);
    CHECK_INT(f[1].steps, 0);
    test_case("the only one forgotten");
    net_wake(&f[0].link);
    net_forget(&f[0].link);
    CHECK(!n.ready_first && !n.ready_last);
    test_case("one that is still to come in this turn is not put into the next as well");
    setup(&n, f, 2);
    f[0].then = wake_other;
    f[0].other = &f[1];
    net_wake(&f[0].link);
    net_wake(&f[1].link);
    CHECK(net_dispatch(&n, now));
    CHECK_INT(f[1].steps, 1);
    CHECK(!net_dispatch(&n, now));
    test_case("a link without an owner");
    f[0].link.owner = NULL;
    net_wake(&f[0].link);
    CHECK(!net_dispatch(&n, now));
}

static char *fake_room(struct link *l, size_t *n)
{
    struct fake *f = (struct fake *)l;
    *n = sizeof f->room - f->room_len;
    *n = *n > 3 ? 3 : *n;
    return f->room + f->room_len;
}

static void fake_wrote(struct link *l, size_t n)
{
    ((struct fake *)l)->room_len += n;
}

static void test_put(void)
{
    static const struct link_ops ops = {.room = fake_room, .wrote = fake_wrote};
    struct fake f = {.link = {.ops = &ops}};
    struct slice s = SLICE("abcdefgh");
    test_case("link_put fills the room piece by piece");
    CHECK(link_put(&f.link, &s));
    CHECK_INT(s.len, 0);
    CHECK_SLICE(((struct slice){f.room, 8}), SLICE("abcdefgh"));
    CHECK(link_put(&f.link, &s));
    s = SLICE("i");
    CHECK(!link_put(&f.link, &s));
    CHECK_STR(s, "i");
}

int main(void)
{
    test_turns();
    test_forget();
    test_put();
    return test_done();
}
