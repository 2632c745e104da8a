/* RayJobs and the pods that submit them. */
#include "golden.h"

struct made {
    struct arena arena;
    struct buf pod;
    struct err e;
    bool ok;
};

static void build(struct made *m, struct jval job_object, struct jval spec, struct jval options)
{
    struct ray_job job;
    struct spec_errors errors = {0};
    const struct ray_options o = golden_options(options, &m->arena);
    if (!CHECK(ray_read_job(job_object, &m->arena, &job, &errors)))
        printf("  %.*s\n", SLICE_ARG(spec_errors_text(&errors, 4096, &m->arena)));
    bool ours;
    struct jval on = json_there(spec) ? spec : job.cluster_spec;
    const struct ray_submitter s = {.name = SLICE("demo-s"),
                                    .id = SLICE("demo-id"),
                                    .cluster = SLICE("demo-c"),
                                    .dashboard = SLICE("demo-c-head-svc.n.svc.cluster.local:8265"),
                                    .secret = ray_auth_secret(on, SLICE("demo-c"), &ours, &m->arena),
                                    .spec = on};
    buf_init(&m->pod, LIMIT_JSON_ITEM);
    m->ok = ray_build_submitter_pod(&job, &s, &o, &m->arena, &m->pod, &m->e);
}

static void made_free(struct made *m)
{
    buf_free(&m->pod);
    arena_free(&m->arena);
}

static void check_case(struct jval c)
{
    struct made m = {0};
    struct json doc;
    struct err e = {0};
    struct slice error = json_get_str(c, "error", &m.arena);
    build(&m, json_get(c, "job"), json_get(c, "spec"), c);
    CHECK_INT(m.ok, !error.ptr);
    CHECK(!error.ptr || slice_starts(slice_of(m.e.text), error));
    if (m.ok && CHECK(json_parse(&doc, buf_slice(&m.pod), &m.arena, &e))) {
        struct buf got, want;
        buf_init(&got, LIMIT_JSON_ITEM);
        buf_init(&want, LIMIT_JSON_ITEM);
        json_canonical(json_root(&doc), &got);
        json_canonical(json_get(c, "is"), &want);
        CHECK_SLICE(buf_slice(&got), buf_slice(&want));
        buf_free(&got);
        buf_free(&want);
    }
    made_free(&m);
}

static void vectors(void)
{
    struct arena a = {0};
    struct json doc;
    struct err e = {0};
    struct jval k, c;
    size_t n = 0;
    if (CHECK(json_parse(&doc, read_file("tests/data/ray/submitter.json", &a), &a, &e)))
        for (struct jiter it = json_iter(json_get(json_root(&doc), "cases")); json_next(&it, &k, &c); n++) {
            test_case("%.*s", SLICE_ARG(json_get_str(c, "id", &a)));
            check_case(c);
        }
    CHECK(n > 0);
    arena_free(&a);
}

/* Linux would not start it. */
static void arguments(void)
{
    for (int extra = 0; extra < 2; extra++) {
        struct made m = {0};
        struct json doc;
        struct err e = {0};
        test_case("an entrypoint of LIMIT_RAY_ARGUMENT + %d", extra);
        struct slice text =
            arena_printf(&m.arena,
                         "{\"metadata\":{\"name\":\"demo\",\"uid\":\"u\"},\"spec\":{\"entrypoint\":\"%0*d\",\"rayClusterSpec\":{"
                         "\"headGroupSpec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"h\",\"image\":\"i\"}]}}}}}}",
                         LIMIT_RAY_ARGUMENT + extra, 0);
        CHECK(json_parse(&doc, text, &m.arena, &e));
        build(&m, json_root(&doc), json_key(json_root(&doc), SLICE("no")), json_root(&doc));
        CHECK_INT(m.ok, extra == 0);
        CHECK(extra == 0 || strstr(m.e.text, "spec.entrypoint has 122881 bytes, and a submitter pod takes 122880 (LIMIT_RAY_ARGUMENT)"));
        made_free(&m);
    }
}

int main(void)
{
    vectors();
    arguments();
    return test_done();
}
