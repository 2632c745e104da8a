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
    reconcile_cluster(&v, &s->a, &p);
    for (uint32_t i = 0; i < p.count; i++) {
        struct json *doc = arena_new(&s->a, struct json);
        if (p.actions[i].kind != ACTION_STATUS || !CHECK(json_parse(doc, p.actions[i].text, &s->a, &e)))
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

static void check_backoff(void)
{
    test_case("no failure, no wait; a name for every action");
    CHECK_INT(reconcile_backoff_ms(0, 1), 0);
    CHECK_STR(slice_of(action_name((enum action_kind)1000)), "unknown");
}

int main(void)
{
    check_reasons();
    check_backoff();
    return test_done();
}
