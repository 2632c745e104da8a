#include "golden.h"

static const char *const files[] = {
    "v1-plain",   "v1-command",         "v1-probes",          "v1-hosts",        "v1-accelerators",
    "v1-env",     "v1-resources",       "v1-service",         "v1-autoscaling",  "v1-tls",
    "v1-sidecar", "v1-sidecar-default", "v1-sidecar-options", "v1-sidecar-name", "v1-auth",
    "v1-tag",     "v1-agent",           "v1-agent-image",     "v1-ship",         "v1-ship-secret",
    "v1-own-tls", "v1-own-tls-image",   "v1-serve",           "v1-serve-usual",  "legacy-one",
    "legacy-two", "legacy-other",
};

static void check_entry(struct golden *g, struct jval want)
{
    struct buf got, one, two;
    struct err e = {0};
    struct json doc;
    buf_init(&got, LIMIT_JSON_ITEM);
    buf_init(&one, LIMIT_JSON_ITEM);
    buf_init(&two, LIMIT_JSON_ITEM);
    if (!CHECK(golden_build(g, want, &got, &e)))
        printf("  %s\n", e.text);
    struct slice masked = golden_mask(buf_slice(&got), &g->arena);
    if (CHECK(json_parse(&doc, masked, &g->arena, &e))) {
        json_canonical(json_root(&doc), &one);
        json_canonical(json_get(want, "is"), &two);
        CHECK_SLICE(buf_slice(&one), buf_slice(&two));
    }
    buf_free(&got);
    buf_free(&one);
    buf_free(&two);
}

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        struct golden g;
        char path[128];
        snprintf(path, sizeof path, "tests/data/ray/%s.json", files[i]);
        test_case("%s", files[i]);
        if (golden_load(&g, path)) {
            struct jval k, want;
            size_t n = 0;
            for (struct jiter it = json_iter(json_get(json_root(&g.doc), "want")); json_next(&it, &k, &want); n++) {
                test_case("%s want[%zu]", files[i], n);
                check_entry(&g, want);
            }
            CHECK(n > 0);
        }
        arena_free(&g.arena);
    }
    return test_done();
}
