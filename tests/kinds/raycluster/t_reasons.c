/* Which pod counts as the head when there are several, and what a condition says of it: a reason must be one word for the API server,
 * whatever a kubelet calls it. */
#include "scene.h"

static struct slice head_reason(struct scene *s)
{
    const struct pod *pods[PODS_MAX];
    struct cluster_view v;
    struct plan p;
    struct err e = {0};
    struct jval k, c;
    scene_view(s, pods, &v);
    raycluster_decide(&v, &s->a, &p);
    for (uint32_t i = 0; i < p.count; i++) {
        struct json *doc = arena_new(&s->a, struct json);
        if (p.actions[i].verb != &verb_status || !CHECK(json_parse(doc, p.actions[i].text, &s->a, &e)))
            continue;
        for (struct jiter it = json_iter(json_get(json_root(doc), "status.conditions")); json_next(&it, &k, &c);)
            if (json_str_eq(json_get(c, "type"), SLICE("HeadPodReady")))
                return json_get_str(c, "reason", &s->a);
    }
    return SLICE_NONE;
}

static const struct {
    const char *reason, *want;
} reasons[] = {
    {"", "ContainersNotReady"}, {"ImagePullBackOff", "ImagePullBackOff"},
    {"azAZ09", "azAZ09"},       {"9Lives", "Unknown"},
    {"two words", "Unknown"},   {"a-b", "Unknown"},
    {"a@b", "Unknown"},         {"a[b", "Unknown"},
    {"a{b", "Unknown"},         {"a:b", "Unknown"},
    {"_", "Unknown"},           {"\xc3\xa9", "Unknown"},
};

static struct scene one_head(const char *reason)
{
    struct scene s = {.hosts = 1, .max = 1000, .pod_count = 1};
    s.pods[0] = (struct pod){.name = "h", .uid = "u", .head = true, .phase = POD_PENDING, .reason = slice_of(reason)};
    return s;
}

static void check_reasons(void)
{
    for (size_t i = 0; i < COUNT_OF(reasons); i++) {
        struct scene s = one_head(reasons[i].reason);
        test_case("a head that waits for \"%s\"", reasons[i].reason);
        read_cluster(&s);
        CHECK_STR(head_reason(&s), reasons[i].want);
        arena_free(&s.a);
    }
    for (int more = 0; more < 2; more++) {
        char text[130];
        test_case("128 bytes and %d", more);
        memset(text, 'r', sizeof text);
        text[128 + more] = '\0';
        struct scene s = one_head(text);
        read_cluster(&s);
        CHECK((head_reason(&s).len == 128) == (more == 0));
        arena_free(&s.a);
    }
}

/* A head that is decided each second: what one decision writes becomes the status of the next, as the server would have it. */
struct told {
    struct scene s;
    int64_t ms, at_ms, reasons_ms;
    uint32_t reasons, writes, fleet;
    struct slice status;
};

static void decide(struct told *t, const char *reason)
{
    const struct pod *pods[PODS_MAX];
    struct cluster_view v;
    struct plan p;
    struct json doc;
    struct err e = {0};
    t->s.pods[0].reason = slice_of(reason);
    scene_view(&t->s, pods, &v);
    v.now.mono_ms += t->ms;
    v.now.wall_us += t->ms * 1000;
    v.status = t->status;
    v.status_at_ms = t->at_ms;
    v.fleet.all = t->fleet;
    v.reasons = t->reasons;
    v.reasons_ms = t->reasons_ms;
    raycluster_decide(&v, &t->s.a, &p);
    for (uint32_t i = 0; i < p.count; i++) {
        if (p.actions[i].verb != &verb_status || !CHECK(json_parse(&doc, p.actions[i].text, &t->s.a, &e)))
            continue;
        t->status = arena_dup(&t->s.a, json_raw(json_get(json_root(&doc), "status")));
        t->at_ms = v.now.mono_ms;
        t->reasons_ms = p.reasons ? t->at_ms : t->reasons_ms;
        t->reasons = p.reasons ? p.reasons : t->reasons;
        t->writes++;
    }
    t->ms += 1000;
}

/* Returns how many times the status was written meanwhile. */
static uint32_t decide_for(struct told *t, int seconds, const char *one, const char *other)
{
    uint32_t before = t->writes;
    for (int i = 0; i < seconds; i++)
        decide(t, i % 3 == 2 ? other : one);
    return t->writes - before;
}

static void check_turns(void)
{
    enum { MINUTE = 60 };
    struct told t = {.s = one_head("ErrImagePull")};
    read_cluster(&t.s);
    test_case("a head that fails for one reason is told of once");
    CHECK_INT(decide_for(&t, 10 * MINUTE, "ErrImagePull", "ErrImagePull"), 1);
    test_case("another reason is told of at once, when the last one was told of long ago");
    CHECK_INT(decide_for(&t, 1, "CrashLoopBackOff", ""), 1);
    test_case("while reasons take turns the pause grows to that of mere progress");
    CHECK_INT(decide_for(&t, 10, "CrashLoopBackOff", "ErrImagePull"), 0);
    uint32_t first = decide_for(&t, 1 * MINUTE, "CrashLoopBackOff", "ErrImagePull");
    CHECK(first >= 2 && first <= 3);
    uint32_t more = decide_for(&t, 10 * MINUTE, "ErrImagePull", "CrashLoopBackOff");
    CHECK(more >= 10 && more <= 2 * 10);
    test_case("and when they have come to rest, another one waits no longer than at first");
    decide_for(&t, 6 * MINUTE, "ErrImagePull", "ErrImagePull");
    CHECK_INT(decide_for(&t, 1, "CrashLoopBackOff", ""), 1);
    CHECK_INT(decide_for(&t, 22, "ErrImagePull", "ErrImagePull"), 1);
    arena_free(&t.s.a);
}

static void check_large_fleet(void)
{
    enum { MINUTE = 60 };
    struct told t = {.s = one_head("ErrImagePull"), .fleet = 2500};
    read_cluster(&t.s);
    test_case("in a fleet whose progress waits five minutes, reasons that take turns wait half a minute and no longer");
    decide_for(&t, 5 * MINUTE, "ErrImagePull", "CrashLoopBackOff");
    for (int i = 0; i < 20; i++) {
        uint32_t n = decide_for(&t, 1 * MINUTE, "CrashLoopBackOff", "ErrImagePull");
        CHECK(n >= 1 && n <= 2);
    }
    arena_free(&t.s.a);
}

int main(void)
{
    check_reasons();
    check_turns();
    check_large_fleet();
    return test_done();
}
