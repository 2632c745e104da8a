/* What a hostile control plane reaches for by way of time: room that is not free yet, a name that is not known to be taken, an owner that
 * has just gone. */
#include "tests/world/maps.h"
#include "tests/world/planes.h"

#include <stdio.h>

#define KEPT "{\"cloud\":\"c\",\"image\":\"ray:1\",\"job\":{\"entrypoint\":\"python main.py\",\"keepSeconds\":3600}}"

static void begin_guarded(struct world *w, struct plane *p, const char *policy)
{
    stage_plane(w, p);
    watch_map(w, "policy");
    put_map(w, "policy", "policy.yaml", policy);
    world_start_operator(w, false);
    world_run(w, 2000);
}

static size_t pods_now(struct world *w)
{
    return apiserver_count(w->server, SLICE("pods"));
}

static void test_kept_cluster(void)
{
    struct world w;
    struct plane p;
    test_case("a cluster that outlives its job uses its room until it has gone");
    begin_guarded(&w, &p, "maxTotalPods: 1");
    struct plane_workload *x = plane_put(&p, 'a', "n", "one", KEPT);
    CHECK(run_until_says(&w, &p, x, "SUCCEEDED", 30 * 1000));
    CHECK_INT(pods_now(&w), 1);
    struct plane_workload *y = plane_put(&p, 'b', "n", "two", KEPT);
    CHECK(run_until_says(&w, &p, y, "PENDING", 10 * 1000));
    CHECK_STR(plane_says(&p, y, "reason"), "QuotaExceeded");
    CHECK_INT(pods_now(&w), 1);
    test_case("… also to an operator that starts again");
    world_kill_operator(&w);
    world_start_operator(&w, false);
    world_run(&w, 40 * 1000);
    CHECK_INT(pods_now(&w), 1);
    CHECK_INT(jobs_now(&w), 1);
    test_case("… and what waits begins when it has gone");
    world_run(&w, 3600 * 1000);
    CHECK(run_until_says(&w, &p, y, "SUCCEEDED", 60 * 1000));
    end_plane(&w, &p);
}

static void test_unseen_name(void)
{
    struct world w;
    struct plane p;
    test_case("an object of the name that the watch has not shown yet is not taken over");
    begin_guarded(&w, &p, "{}");
    apiserver_faults(w.server)->watch_delay_ms = 20 * 1000;
    apply_job(&w, "train", "");
    struct plane_workload *x = plane_put(&p, 'a', "n", "train", JOB);
    world_run(&w, 5000);
    CHECK_STR(json_str(json_child(job_value(&w, "train", "metadata.labels"), "mobula.dev/workload-uid"), &w.arena), "");
    apiserver_faults(w.server)->watch_delay_ms = 0;
    CHECK(run_until_says(&w, &p, x, "REFUSED", 90 * 1000));
    CHECK_STR(plane_says(&p, x, "reason"), "NameTaken");
    plane_delete(&p, x);
    world_run(&w, 60 * 1000);
    CHECK_INT(jobs_now(&w), 1);
    end_plane(&w, &p);
}

/* The control plane knows the uids of its objects by their statuses. */
static void test_recycled_uid(void)
{
    struct world w;
    struct plane p;
    char uid[40];
    test_case("a workload with the uid of a cluster that has just gone, and whose pods are there still");
    begin_guarded(&w, &p, "{}");
    struct plane_workload *x = plane_put(&p, 'a', "n", "c", "{\"cloud\":\"c\",\"image\":\"ray:1\",\"cluster\":{}}");
    CHECK(run_until_says(&w, &p, x, "RUNNING", 30 * 1000));
    struct slice is = json_get_str(json_at(json_get(json_document(slice_of(x->status), &w.arena, NULL), "objects"), 0), "uid", &w.arena);
    CHECK(slice_copy(is, uid, sizeof uid));
    struct plane_workload *y = NULL;
    plane_delete(&p, x);
    for (int i = 0; i < 400; i++) {
        world_run(&w, 10);
        if (i == 5) {
            y = plane_put(&p, 'b', "n", "again", JOB);
            snprintf(y->uid, sizeof y->uid, "%s", uid);
        }
    }
    CHECK(run_until_says(&w, &p, y, "SUCCEEDED", 120 * 1000));
    plane_delete(&p, y);
    world_run(&w, 60 * 1000);
    CHECK_INT(jobs_now(&w), 0);
    CHECK_INT(pods_now(&w), 0);
    end_plane(&w, &p);
}

static void test_specs(void)
{
    enum { EACH = 900 * KIB, MANY = 60 };
    struct world w;
    struct plane p;
    test_case("the specs of all workloads have a bound together, and what is beyond it is left out");
    begin_guarded(&w, &p, "{}");
    p.page = 1;
    struct plane_workload *first = plane_put(&p, 'a', "n", "first", JOB);
    char *spec = mem_alloc(EACH + 1);
    int n = snprintf(spec, EACH, "{\"x\":\"");
    memset(spec + n, 'x', (size_t)(EACH - n - 2));
    memcpy(spec + EACH - 2, "\"}", 3);
    uint64_t before = world_heap_bytes();
    for (int i = 1; i < MANY; i++) {
        spec[n] = (char)('0' + i / 10); /* each is another text */
        spec[n + 1] = (char)('0' + i % 10);
        struct plane_workload *x = plane_put(&p, 'z', "n", "", spec);
        snprintf(x->uid, sizeof x->uid, "%08d-0000-4000-8000-000000000000", i);
        snprintf(x->name, sizeof x->name, "w%d", i);
    }
    uint64_t theirs = world_heap_bytes() - before;
    p.oldest = p.revision; /* in pages */
    world_run(&w, 60 * 1000);
    CHECK(world_heap_bytes() - before - theirs < LIMIT_REMOTE_SPECS + 6 * MIB);
    mem_free(spec);
    test_case("… and what runs goes on");
    CHECK_STR(plane_says(&p, first, "state"), "SUCCEEDED");
    end_plane(&w, &p);
}

static void test_questions(void)
{
    struct world w;
    struct plane p;
    struct buf b;
    uint64_t late = 0;
    test_case("more than 20 questions a second, after 100 at once, are not looked into");
    begin_guarded(&w, &p, "{}");
    uint32_t before = w.requests;
    for (int i = 0; i < 50; i++) {
        buf_init(&b, 64 * KIB);
        for (int n = 0; n < LIMIT_REMOTE_QUESTIONS; n++)
            buf_printf(&b, "%s{\"id\":\"q%d.%d\",\"kind\":\"tokenReview\",\"token\":\"t%d\"}", n ? "," : "[", i, n, n);
        buf_putc(&b, ']');
        p.questions = arena_dup(&w.arena, buf_slice(&b)).ptr;
        buf_free(&b);
        world_run(&w, 200);
        late += p.answered && strstr(p.answered, "rule floods: more than 20 questions a second");
    }
    CHECK(late > 10);
    CHECK(w.requests - before < 100 + 20 * 10 + 100);
    end_plane(&w, &p);
}

static void test_long_error(void)
{
    struct world w;
    struct plane p;
    test_case("an API server's error of 9,000 bytes about a token is cut in the answer");
    begin_guarded(&w, &p, "{}");
    p.questions = "[{\"id\":\"q1\",\"kind\":\"tokenReview\",\"token\":\"bad-long\"}]";
    world_run(&w, 30 * 1000);
    CHECK_INT(p.broken, 0);
    CHECK(p.answered &&
          strstr(p.answered, "{\"id\":\"q1\",\"kind\":\"tokenReview\",\"ok\":false,\"error\":\"the API server does not accept"));
    CHECK(p.answered && strstr(p.answered, "000…"));
    end_plane(&w, &p);
}

int main(void)
{
    test_kept_cluster();
    test_unseen_name();
    test_recycled_uid();
    test_specs();
    test_questions();
    test_long_error();
    return test_done();
}
