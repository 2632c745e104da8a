/* The texts about scaling, from tests/data/scale/scale-text.case: the old operator's log block, and then what `ray status` says. */
#include "scene.h"

static void run_case(struct slice text)
{
    static struct scale_world w;
    struct scale_plan p;
    struct buf out;
    buf_init(&out, MIB);
    scale_read(&w, &text);
    w.cluster.name = SLICE("example");
    w.cluster.head.name = SLICE("head-node");
    for (uint32_t i = 0; i < w.state.node_count; i++)
        w.nodes[i].ip = arena_printf(&w.a, "10.0.0.%.*s", SLICE_ARG(slice_skip(w.nodes[i].instance_id, 1))); /* as its pod pN has */
    w.nodes[0].type = w.cluster.head.name;
    scale_cluster(&w.view, &w.a, &p);
    scale_log_legacy(&w.view, &p, &w.a, &out);
    scale_status_text(&w.view, &p, &w.a, &out);
    CHECK_SLICE(slice_trim(buf_slice(&out)), slice_trim(text));
    buf_free(&out);
    arena_free(&w.a);
}

/* Every line of the block begins with the cluster's name, whatever the head says; a list ends at its limit. */
static void test_lines(void)
{
    for (uint32_t n = LIMIT_SCALE_TOLD; n <= LIMIT_SCALE_TOLD + 1; n++) {
        test_case("a head that lies in wait for the log, %u of each", n);
        static struct scale_world w;
        struct scale_plan p;
        struct buf out;
        buf_init(&out, MIB);
        scale_begin(&w);
        const struct ray_amount odd = {SLICE("x\nexample-other:2026 \x1b[31m"), INT64_MAX};
        struct ray_demand *list = arena_array(&w.a, n, sizeof *list);
        for (uint32_t i = 0; i < n; i++) {
            struct pod *pod = scale_add_pod(&w, SLICE("gone"));
            scale_add_node(&w, pod, (struct ray_bundle){&odd, 1})->ip = odd.name;
            list[i] = (struct ray_demand){.request.bundle = {&odd, 1}, .count = INT64_MAX};
        }
        w.view.pod_count = w.pod_count;
        w.state.demands = (struct ray_demands){list, n};
        scale_cluster(&w.view, &w.a, &p);
        scale_log_legacy(&w.view, &p, &w.a, &out);
        struct slice rest = buf_slice(&out);
        uint32_t lines = 0, cut = 0, pods = 0;
        while (!slice_empty(rest)) {
            struct slice one = slice_cut(&rest, '\n');
            CHECK(slice_starts(one, SLICE("c:")) && !memchr(one.ptr, 0x1b, one.len));
            cut += slice_ends(one, SLICE(", ...]"));
            pods += slice_ends(one, SLICE("(can_update=True)."));
            lines++;
        }
        CHECK(lines > 10);
        CHECK_INT(cut, n == LIMIT_SCALE_TOLD ? 1 : 3); /* the head is one more among the resources */
        CHECK_INT(pods, LIMIT_SCALE_TOLD);
        buf_clear(&out);
        scale_status_text(&w.view, &p, &w.a, &out);
        CHECK(out.len > 0 && !memchr(out.ptr, 0x1b, out.len));
        CHECK((memmem(out.ptr, out.len, "shapes more", 11) != NULL) == (n > LIMIT_SCALE_TOLD));
        buf_free(&out);
        arena_free(&w.a);
    }
}

int main(void)
{
    test_lines();
    run_cases("tests/data/scale/scale-text.case", run_case);
    return test_done();
}
