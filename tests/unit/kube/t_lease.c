/* Leader election (rule 1.6): the exact protocol, by the monotonic clock. */
#include "answers.h"

struct rig {
    struct fake f;
    struct kube_lease *l;
    int64_t next_ms;
};

static void run(struct rig *r, int64_t ms)
{
    fake_run(&r->f, ms);
    r->next_ms = kube_lease_tick(r->l, r->f.now);
    fake_run(&r->f, 0);
}

static void start(struct rig *r, const char *identity)
{
    struct err e = {0};
    struct kube_lease_options o = {.ns = SLICE("a"), .name = SLICE("mobula"), .identity = slice_of(identity)};
    fake_init(&r->f);
    r->l = kube_lease_start(r->f.client, &o, &e);
    run(r, 0);
}

static void finish(struct rig *r)
{
    kube_lease_free(r->l);
    fake_free(&r->f);
}

static struct fakelink *lease_link(struct rig *r)
{
    return fake_last(&r->f);
}

static void answer(struct rig *r, int code, const char *body)
{
    fake_take(lease_link(r));
    fake_answer(lease_link(r), code, "", slice_of(body));
    run(r, 0);
}

static void lease_text(char out[512], const char *holder, unsigned version, unsigned seconds, unsigned transitions, const char *renewed)
{
    snprintf(out, 512,
             "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"mobula\",\"namespace\":\"a\","
             "\"resourceVersion\":\"%u\",\"labels\":{\"kept\":\"yes\"}},\"spec\":{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":%u,"
             "\"acquireTime\":\"2020-01-01T00:00:00.000000Z\",\"renewTime\":\"%s\",\"leaseTransitions\":%u}}",
             version, holder, seconds, renewed, transitions);
}

static void answer_lease(struct rig *r, const char *holder, unsigned version, const char *renewed)
{
    char text[512];
    lease_text(text, holder, version, 5, 7, renewed);
    answer(r, 200, text);
}

#define T1 "2020-01-01T00:00:01.000000Z"
#define T2 "2020-01-01T00:00:02.000000Z"
#define FAR "2099-01-01T00:00:00.000000Z"

/* Becomes the leader by creating the Lease. */
static void lead(struct rig *r)
{
    start(r, "me");
    answer(r, 404, "");
    answer_lease(r, "me", 1, T1);
}

static void check_create(void)
{
    struct rig r;
    start(&r, "me");
    test_case("1.6.2 read first, with a timeout of its own, on its own connection");
    CHECK_STR(fake_line(lease_link(&r)), "GET /apis/coordination.k8s.io/v1/namespaces/a/leases/mobula?timeout=2s");
    CHECK(!kube_lease_held(r.l, r.f.now));
    answer(&r, 404, "");
    test_case("1.6.2 not there: create it");
    CHECK_STR(fake_line(lease_link(&r)), "POST /apis/coordination.k8s.io/v1/namespaces/a/leases?timeout=2s");
    CHECK(fake_has(lease_link(&r), "\"metadata\":{\"name\":\"mobula\",\"namespace\":\"a\"}"));
    CHECK(fake_has(lease_link(&r), "\"holderIdentity\":\"me\",\"leaseDurationSeconds\":4,\"renewTime\":\"20"));
    CHECK(fake_has(lease_link(&r), "\"acquireTime\":\"20") && fake_has(lease_link(&r), "\"leaseTransitions\":0"));
    CHECK(!kube_lease_held(r.l, r.f.now));
    answer_lease(&r, "me", 1, T1);
    CHECK(kube_lease_held(r.l, r.f.now));
    CHECK_STR(kube_lease_holder(r.l), "me");
    finish(&r);
}

static void check_renew(void)
{
    struct rig r;
    lead(&r);
    test_case("1.6.1 the holder writes what it knows back, with its resourceVersion; what others put there stays");
    run(&r, 1000);
    CHECK_STR(fake_line(lease_link(&r)), "PUT /apis/coordination.k8s.io/v1/namespaces/a/leases/mobula?timeout=2s");
    CHECK(fake_has(lease_link(&r), "\"resourceVersion\":\"1\"") && fake_has(lease_link(&r), "\"labels\":{\"kept\":\"yes\"}"));
    CHECK(fake_has(lease_link(&r), "\"acquireTime\":\"2020-01-01T00:00:00.000000Z\"") &&
          fake_has(lease_link(&r), "\"leaseTransitions\":7"));
    CHECK(!fake_has(lease_link(&r), "\"renewTime\":\"2020"));
    answer_lease(&r, "me", 2, T2);
    test_case("1.6 held for the renew deadline since the write that succeeded was made, and no longer");
    fake_take(lease_link(&r));
    struct now now = r.f.now;
    now.mono_ms += 2999;
    CHECK(kube_lease_held(r.l, now));
    now.mono_ms += 1;
    CHECK(!kube_lease_held(r.l, now));
    finish(&r);
}

static void check_slow_answer(void)
{
    struct rig r;
    lead(&r);
    run(&r, 1000);
    fake_take(lease_link(&r));
    int64_t asked = r.f.now.mono_ms;
    test_case("1.6 an answer that took a second holds from when it was asked for");
    run(&r, 1000);
    fake_answer(lease_link(&r), 200, "", SLICE("{\"spec\":{\"holderIdentity\":\"me\",\"leaseDurationSeconds\":5}}"));
    CHECK(kube_lease_held(r.l, (struct now){.mono_ms = asked + 2999}));
    CHECK(!kube_lease_held(r.l, (struct now){.mono_ms = asked + 3000}));
    finish(&r);
}

static void check_deadline(void)
{
    struct rig r;
    lead(&r);
    int64_t renewed = r.f.now.mono_ms;
    test_case("1.6.6 no renewal within the deadline: not held, whatever is in flight");
    while (r.f.now.mono_ms < renewed + 2999) {
        run(&r, 1);
        CHECK(kube_lease_held(r.l, r.f.now));
    }
    run(&r, 1);
    CHECK(!kube_lease_held(r.l, r.f.now));
    test_case("1.6.6 after a stop of 20 s: not held, before any tick");
    struct rig s;
    lead(&s);
    s.f.now.mono_ms += 20 * 1000;
    CHECK(!kube_lease_held(s.l, s.f.now));
    finish(&s);
    finish(&r);
}

static void check_other_holder(void)
{
    struct rig r;
    start(&r, "me");
    test_case("1.6.3 1.6.4 another holder is waited for by our clock; times in the record count for nothing");
    answer_lease(&r, "you", 5, FAR);
    CHECK_INT(fake_sent(lease_link(&r)).len, 0);
    CHECK_STR(kube_lease_holder(r.l), "you");
    int64_t seen = r.f.now.mono_ms;
    while (r.f.now.mono_ms < seen + 5000 - 2200) { /* the record stands still */
        run(&r, r.next_ms - r.f.now.mono_ms);
        CHECK(fake_has(lease_link(&r), "GET"));
        answer_lease(&r, "you", 5, FAR);
        CHECK_INT(fake_sent(lease_link(&r)).len, 0);
    }
    test_case("1.6.3 a changed record starts the wait again");
    run(&r, r.next_ms - r.f.now.mono_ms);
    answer_lease(&r, "you", 6, T2);
    seen = r.f.now.mono_ms;
    while (r.next_ms < seen + 5000) {
        run(&r, r.next_ms - r.f.now.mono_ms);
        answer_lease(&r, "you", 6, T2);
        CHECK_INT(fake_sent(lease_link(&r)).len, 0);
    }
    test_case("1.6.5 it stood still for its duration: ours, transitions + 1");
    run(&r, r.next_ms - r.f.now.mono_ms);
    answer_lease(&r, "you", 6, T2);
    CHECK(fake_has(lease_link(&r), "PUT") && fake_has(lease_link(&r), "\"resourceVersion\":\"6\""));
    CHECK(fake_has(lease_link(&r), "\"leaseTransitions\":8") && !fake_has(lease_link(&r), "\"acquireTime\":\"2020"));
    test_case("1.6.5 409: somebody else was faster");
    answer(&r, 409, "{\"kind\":\"Status\",\"reason\":\"Conflict\"}");
    CHECK(!kube_lease_held(r.l, r.f.now));
    finish(&r);
}

/* The holder renews every second, half a second behind the full one by its clock, 50 ms on its way, and is killed after ten. */
static void check_takeover(void)
{
    static const struct {
        int64_t skew_ms, most_ms; /* the holder's wall clock less ours; from its last renewal until ours is sent */
    } cases[] = {{0, 4400}, {60 * 1000, 4400}, {-100, 4500}, {333, 5400}, {-3600 * 1000 - 700, 5400}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rig r;
        char stamp[TIME_TEXT_MAX], record[512];
        int64_t renewed_ms = 0, looks = 0;
        bool asks = false;
        start(&r, "me");
        fake_take(lease_link(&r)); /* its first read is answered below */
        test_case("who waits takes over within %lld ms of the last renewal, clocks %lld ms apart", (long long)cases[i].most_ms,
                  (long long)cases[i].skew_ms);
        int64_t begun = r.f.now.mono_ms, wall_us = r.f.now.wall_us, writes = 0;
        for (asks = true; r.f.now.mono_ms < begun + 20 * 1000 && writes == 0; run(&r, 10)) {
            int64_t ms = r.f.now.mono_ms - begun;
            asks |= fake_sent(lease_link(&r)).len > 0;
            writes += fake_has(lease_link(&r), "PUT");
            if (!asks || writes)
                continue;
            renewed_ms = ms < 550 ? -500 : (ms < 10 * 1000 ? ms - 550 : 9000) / 1000 * 1000 + 500;
            int64_t by_holder_us = wall_us / 1000000 * 1000000 + (renewed_ms + cases[i].skew_ms) * 1000;
            lease_text(record, "you", (unsigned)(renewed_ms + 1000), 4, 7, time_format_micro(by_holder_us, stamp).ptr);
            looks++;
            asks = false;
            answer(&r, 200, record);
            asks = fake_sent(lease_link(&r)).len > 0;
            writes += fake_has(lease_link(&r), "PUT");
        }
        int64_t took = r.f.now.mono_ms - begun - renewed_ms;
        CHECK_INT(writes, 1);
        CHECK(took >= KUBE_LEASE_MS && took <= cases[i].most_ms);
        CHECK(looks <= 2 + (r.f.now.mono_ms - begun) / 800);
        finish(&r);
    }
}

static void answer_without_holder(struct rig *r, unsigned seconds)
{
    char text[512];
    lease_text(text, "", 6, seconds, 7, T2);
    answer(r, 200, text);
}

static void check_released_by_other(void)
{
    struct rig r;
    start(&r, "me");
    test_case("1.6.4 a record that was released is free at once");
    answer_without_holder(&r, 1);
    CHECK(fake_has(lease_link(&r), "PUT"));
    finish(&r);
    start(&r, "me");
    test_case("1.6.4 one that nobody has held yet, too");
    answer(&r, 200, "{\"metadata\":{\"resourceVersion\":\"1\"},\"spec\":{}}");
    CHECK(fake_has(lease_link(&r), "PUT"));
    test_case("our own record, from before a restart, is ours again with a write");
    finish(&r);
    start(&r, "me");
    answer_lease(&r, "me", 5, T1);
    CHECK(!kube_lease_held(r.l, r.f.now));
    CHECK(fake_has(lease_link(&r), "PUT") && fake_has(lease_link(&r), "\"leaseTransitions\":7"));
    finish(&r);
}

enum taken_away { DELETED, EMPTIED };

static void answer_taken_away(struct rig *r, enum taken_away how)
{
    if (how == DELETED)
        answer(r, 404, "");
    else
        answer_without_holder(r, 5);
}

/* Whoever deletes a Lease, or takes its holder's name out of it, stops nobody: the holder leads until it looks, for renew_ms at most. */
static void check_taken_away(enum taken_away how)
{
    static const char *const names[] = {[DELETED] = "deleted", [EMPTIED] = "emptied by hand"};
    static const char *const methods[] = {[DELETED] = "POST", [EMPTIED] = "PUT"};
    struct rig r;
    start(&r, "me");
    answer_lease(&r, "you", 5, T1);
    run(&r, r.next_ms - r.f.now.mono_ms);
    test_case("1.6.4 another's Lease is %s: waited for as if it had been renewed then", names[how]);
    answer_taken_away(&r, how);
    int64_t seen = r.f.now.mono_ms;
    CHECK_INT(fake_sent(lease_link(&r)).len, 0);
    while (r.next_ms < seen + 5000) {
        run(&r, r.next_ms - r.f.now.mono_ms);
        CHECK(fake_has(lease_link(&r), "GET"));
        answer_taken_away(&r, how);
        CHECK_INT(fake_sent(lease_link(&r)).len, 0);
    }
    test_case("1.6.5 and then taken: %s", names[how]);
    run(&r, r.next_ms - r.f.now.mono_ms);
    answer_taken_away(&r, how);
    CHECK(fake_has(lease_link(&r), methods[how]) && fake_has(lease_link(&r), "\"holderIdentity\":\"me\""));
    CHECK(fake_has(lease_link(&r), "\"acquireTime\":\"20") && !fake_has(lease_link(&r), "\"acquireTime\":\"2020"));
    answer_lease(&r, "me", 7, T2);
    CHECK(kube_lease_held(r.l, r.f.now));

    test_case("its holder takes it back at once, and does not lead until then: %s", names[how]);
    run(&r, 1000);
    answer(&r, how == DELETED ? 404 : 409, how == DELETED ? "" : "{\"kind\":\"Status\",\"reason\":\"Conflict\"}");
    answer_taken_away(&r, how);
    CHECK(!kube_lease_held(r.l, r.f.now));
    CHECK(fake_has(lease_link(&r), methods[how]));
    answer_lease(&r, "me", 8, T2);
    CHECK(kube_lease_held(r.l, r.f.now));

    test_case("but not when its term has ended meanwhile: another may have led: %s", names[how]);
    run(&r, 3000);
    CHECK(fake_has(lease_link(&r), "GET"));
    answer_taken_away(&r, how);
    CHECK_INT(fake_sent(lease_link(&r)).len, 0);
    finish(&r);
}

static void check_lost(void)
{
    struct rig r;
    lead(&r);
    test_case("1.6.1 a renewal that fails: read at once, in the same round");
    run(&r, 1000);
    answer(&r, 409, "{\"kind\":\"Status\",\"reason\":\"Conflict\"}");
    CHECK(fake_has(lease_link(&r), "GET"));
    test_case("1.6 somebody else holds it: not ours at once");
    CHECK(kube_lease_held(r.l, r.f.now));
    answer_lease(&r, "you", 9, T2);
    CHECK(!kube_lease_held(r.l, r.f.now));
    finish(&r);

    lead(&r);
    test_case("500 on a renewal: read, still ours, written again");
    run(&r, 1000);
    answer(&r, 500, "");
    answer_lease(&r, "me", 3, T1);
    CHECK(fake_has(lease_link(&r), "PUT") && fake_has(lease_link(&r), "\"resourceVersion\":\"3\""));
    answer_lease(&r, "me", 4, T2);
    CHECK(kube_lease_held(r.l, r.f.now));
    test_case("the Lease is deleted: created again");
    run(&r, 1000);
    answer(&r, 404, "");
    answer(&r, 404, "");
    CHECK(fake_has(lease_link(&r), "POST"));
    finish(&r);
}

static void on_trouble(void *owner, struct slice line)
{
    *(uint32_t *)owner += memmem(line.ptr, line.len, "leader election does not work", 29) != NULL;
}

static void check_log(void)
{
    struct rig r;
    uint32_t lines = 0;
    lead(&r);
    test_case("errors that come and go are one line a minute");
    const struct log before = log_global;
    log_global = (struct log){.level = LOG_WARN, .fd = -1, .sink = on_trouble, .owner = &lines};
    for (uint32_t i = 0; i < 5; i++) {
        run(&r, 1000);
        answer(&r, 403, "{\"kind\":\"Status\",\"message\":\"no\"}");
        answer_lease(&r, "me", 3 + 2 * i, T1);
        answer_lease(&r, "me", 4 + 2 * i, T2);
        CHECK(kube_lease_held(r.l, r.f.now));
    }
    CHECK_INT(lines, 1);
    log_global = before;
    finish(&r);
}

static void check_silence(void)
{
    struct rig r;
    lead(&r);
    test_case("a renewal without an answer times out in time for another");
    run(&r, 1000);
    fake_take(lease_link(&r));
    uint32_t links = r.f.count;
    CHECK(r.next_ms > r.f.now.mono_ms); /* nothing to do but wait */
    run(&r, 1500);
    CHECK_INT(r.f.count, links + 1);
    CHECK(fake_has(lease_link(&r), "GET"));
    answer_lease(&r, "me", 1, T1);
    CHECK(fake_has(lease_link(&r), "PUT"));
    answer_lease(&r, "me", 2, T2);
    CHECK(kube_lease_held(r.l, r.f.now));
    finish(&r);
}

static void check_release(void)
{
    struct rig r;
    lead(&r);
    test_case("1.6.7 release: no holder, one second, not held from now on");
    kube_lease_release(r.l, r.f.now);
    fake_run(&r.f, 0);
    CHECK(!kube_lease_held(r.l, r.f.now));
    CHECK(fake_has(lease_link(&r), "PUT"));
    CHECK(fake_has(lease_link(&r), "\"holderIdentity\":\"\",\"leaseDurationSeconds\":1") &&
          fake_has(lease_link(&r), "\"leaseTransitions\":7"));
    answer_lease(&r, "", 2, T2);
    run(&r, 10 * 1000);
    CHECK_INT(fake_sent(lease_link(&r)).len, 0);
    finish(&r);

    lead(&r);
    test_case("1.6.7 release while a renewal is in flight: behind it");
    run(&r, 1000);
    kube_lease_release(r.l, r.f.now);
    CHECK(!kube_lease_held(r.l, r.f.now));
    answer_lease(&r, "me", 2, T2);
    CHECK(fake_has(lease_link(&r), "\"holderIdentity\":\"\""));
    CHECK(fake_has(lease_link(&r), "\"resourceVersion\":\"2\""));
    finish(&r);

    start(&r, "me");
    answer_lease(&r, "you", 2, T2);
    test_case("1.6.7 who does not hold it releases nothing");
    kube_lease_release(r.l, r.f.now);
    fake_run(&r.f, 0);
    CHECK_INT(fake_sent(lease_link(&r)).len, 0);
    finish(&r);

    for (int there = 0; there < 2; there++) {
        start(&r, "me");
        test_case("who is to end takes no Lease that it is told of then: %s", there ? "free" : "none");
        kube_lease_release(r.l, r.f.now);
        if (there)
            answer_lease(&r, "", 2, T2);
        else
            answer(&r, 404, "");
        run(&r, 10 * 1000);
        CHECK_INT(fake_sent(lease_link(&r)).len, 0);
        CHECK(!kube_lease_held(r.l, r.f.now));
        finish(&r);
    }
}

static void check_garbage(void)
{
    struct rig r;
    char text[512];
    start(&r, "me");
    test_case("a duration that cannot be meant is not waited for for ever");
    lease_text(text, "you", 1, 4000000000u, 1, "yesterday");
    answer(&r, 200, text);
    CHECK_INT(fake_sent(lease_link(&r)).len, 0);
    run(&r, 5000);
    answer(&r, 200, text);
    CHECK(fake_has(lease_link(&r), "PUT"));
    finish(&r);
    start(&r, "me");
    test_case("a body that is no Lease: not leader");
    answer(&r, 200, "<html>");
    CHECK(!kube_lease_held(r.l, r.f.now) && fake_sent(lease_link(&r)).len == 0);
    run(&r, 3000);
    answer(&r, 403, "");
    CHECK(!kube_lease_held(r.l, r.f.now));
    finish(&r);
}

static const struct {
    int64_t lease, renew, retry;
    bool ok;
} settings[] = {
    {0, 0, 0, true},           {15000, 10000, 2000, true}, {3000, 3000, 1000, false}, {3001, 3000, 1000, true},
    {5000, 1200, 1000, false}, {5000, 1201, 1000, true},   {5000, 3000, -1, false},
};

static void check_settings(void)
{
    struct fake f;
    fake_init(&f);
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        struct err e = {0};
        struct kube_lease_options o = {.ns = SLICE("a"),
                                       .name = SLICE("n"),
                                       .identity = SLICE("me"),
                                       .lease_ms = settings[i].lease,
                                       .renew_ms = settings[i].renew,
                                       .retry_ms = settings[i].retry};
        test_case("1.6 lease > renew > 1.2 x retry, case %zu", i);
        struct kube_lease *l = kube_lease_start(f.client, &o, &e);
        CHECK((l != NULL) == settings[i].ok);
        CHECK(l || e.code == ERR_CONFIG);
        kube_lease_free(l);
    }
    fake_free(&f);
}

int main(void)
{
    log_quiet();
    check_create();
    check_renew();
    check_slow_answer();
    check_deadline();
    check_other_holder();
    check_takeover();
    check_released_by_other();
    check_taken_away(DELETED);
    check_taken_away(EMPTIED);
    check_lost();
    check_log();
    check_silence();
    check_release();
    check_garbage();
    check_settings();
    return test_done();
}
