/* When connections are opened: a few at a time, and one for the next call. */
#include "answers.h"

static void check_opening(void)
{
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    f.manual = true;
    test_case("KUBE_OPENING connections open at a time, and those that stand carry the queue");
    for (int i = 0; i < 20; i++)
        post(&f, &a);
    CHECK_INT(f.count, KUBE_OPENING);
    fake_open(f.links[0]);
    CHECK_INT(f.count, KUBE_OPENING + 1);
    fake_take(f.links[0]);
    fake_answer(f.links[0], 201, "", SLICE("{}"));
    CHECK(fake_sent(f.links[0]).len > 0);
    fake_free(&f);
}

static void check_warm(void)
{
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    test_case("one connection is kept for the next call, when asked for");
    kube_client_keep_warm(f.client);
    fake_run(&f, 1000);
    CHECK_INT(f.count, 0); /* not before the server has answered once */
    post(&f, &a);
    fake_run(&f, 0);
    fake_take(f.links[0]);
    fake_answer(f.links[0], 201, "", SLICE("{}"));
    CHECK_INT(a.count, 1);
    fake_run(&f, NET_IDLE_MS);
    CHECK_INT(f.count, 2);
    fake_run(&f, NET_IDLE_MS);
    CHECK_INT(f.count, 3);
    test_case("but not while the server is in trouble");
    fake_fail(fake_last(&f), ERR_CLOSED, "gone");
    f.refuse = "connection refused";
    fake_run(&f, NET_IDLE_MS);
    CHECK_INT(f.count, 3);
    CHECK(f.next_ms > f.now.mono_ms);
    fake_free(&f);
}

int main(void)
{
    check_opening();
    check_warm();
    return test_done();
}
