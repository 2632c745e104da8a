/* The administrator's policy over what a control plane asks for. */
#include "tests/world/maps.h"
#include "tests/world/planes.h"

static void begin_guarded(struct world *w, struct plane *p, const char *policy)
{
    stage_plane(w, p);
    watch_map(w, "policy");
    if (policy)
        put_map(w, "policy", "policy.yaml", policy);
    world_start_operator(w, false);
    world_run(w, 2000);
}

static void mark_frozen(struct world *w, const char *value)
{
    struct slice body = arena_printf(&w->arena, "{\"metadata\":{\"annotations\":{\"" SETTING_FROZEN "\":%s}}}", value);
    CHECK_INT(world_call(w, "PATCH", arena_printf(&w->arena, "%s/policy", maps_path).ptr, "application/merge-patch+json", body), 200);
}

static bool has_message(struct plane *p, struct plane_workload *x, const char *words)
{
    struct slice message = plane_says(p, x, "message");
    bool has = slice_has(message, words);
    if (!has)
        printf("  says %.*s\n", SLICE_ARG(message));
    return has;
}

static void test_in_force(void)
{
    struct world w;
    struct plane p;
    test_case("a policy is in force within a second, and so is its change");
    begin_guarded(&w, &p, "images: [registry.bank/*]\\n");
    struct plane_workload *x = plane_put(&p, 'a', "n", "train", JOB);
    CHECK(run_until_says(&w, &p, x, "REFUSED", 1000));
    CHECK_STR(plane_says(&p, x, "reason"), "PolicyRefused");
    CHECK(has_message(&p, x, "rule images: is not in the policy's list"));
    put_map(&w, "policy", "policy.yaml", "images: ['ray:*']\\n");
    world_run(&w, 1000);
    CHECK_INT(jobs_now(&w), 1);
    CHECK(run_until_says(&w, &p, x, "RUNNING", 20 * 1000));
    test_case("a broken one: the one before stays in force, and the event names the line");
    put_map(&w, "policy", "policy.yaml", "images: ['*']\\nmaxPods: many\\n");
    world_run(&w, 500);
    CHECK(inspect_setting(w.op, "policy").broken);
    CHECK(tells(&w, "BrokenSetting", "policy.yaml: line 2: maxPods: is a string"));
    struct plane_workload *y = plane_put(&p, 'b', "n", "other", "{\"image\":\"evil:1\",\"job\":{\"entrypoint\":\"x\"}}");
    CHECK(run_until_says(&w, &p, y, "REFUSED", 1000));
    test_case("and so it does when the ConfigMap goes");
    CHECK_INT(world_call(&w, "DELETE", arena_printf(&w.arena, "%s/policy", maps_path).ptr, "application/json", SLICE("{}")), 200);
    world_run(&w, 500);
    CHECK(inspect_setting(w.op, "policy").broken);
    y = plane_put(&p, 'b', "n", "other", "{\"image\":\"evil:2\",\"job\":{\"entrypoint\":\"x\"}}");
    world_run(&w, 1000);
    CHECK_STR(plane_says(&p, y, "state"), "REFUSED");
    CHECK_INT(plane_says(&p, y, "state").len && jobs_now(&w) == 1, 1);
    end_plane(&w, &p);
}

static void test_broken_from_the_start(void)
{
    struct world w;
    struct plane p;
    test_case("a policy that was never right: nothing is written, and the status says the line");
    begin_guarded(&w, &p, "imagez: []\\n");
    struct plane_workload *x = plane_put(&p, 'a', "n", "train", JOB);
    CHECK(run_until_says(&w, &p, x, "PENDING", 2000));
    CHECK_STR(plane_says(&p, x, "reason"), "Frozen");
    CHECK(has_message(&p, x, "rule freeze: ") && has_message(&p, x, "ConfigMap policy is broken: line 1: imagez: is no field"));
    world_run(&w, 60 * 1000);
    CHECK_INT(jobs_now(&w), 0);
    put_map(&w, "policy", "policy.yaml", "{}");
    CHECK(run_until_says(&w, &p, x, "STARTING", 1000));
    end_plane(&w, &p);
    test_case("no right to read it: nothing is written either");
    stage_plane(&w, &p);
    watch_map(&w, "policy");
    override(&w, "GET", maps_path, 403, false, 5);
    world_start_operator(&w, false);
    x = plane_put(&p, 'a', "n", "train", JOB);
    CHECK(run_until_says(&w, &p, x, "PENDING", 2000));
    CHECK(has_message(&p, x, "ConfigMap policy cannot be read"));
    CHECK(run_until_says(&w, &p, x, "STARTING", 60 * 1000));
    end_plane(&w, &p);
    test_case("no ConfigMap: the default holds");
    begin_guarded(&w, &p, NULL);
    x = plane_put(&p, 'a', "n", "train", JOB);
    CHECK(run_until_says(&w, &p, x, "STARTING", 1000));
    end_plane(&w, &p);
}

static void test_frozen(void)
{
    struct world w;
    struct plane p;
    test_case("the kill switch: what runs goes on, nothing is made, changed or deleted");
    begin_guarded(&w, &p, "{}");
    struct plane_workload *x = plane_put(&p, 'a', "n", "train", JOB);
    CHECK(run_until_says(&w, &p, x, "RUNNING", 20 * 1000));
    mark_frozen(&w, "\"true\"");
    world_run(&w, 500);
    struct plane_workload *y = plane_put(&p, 'b', "n", "other", JOB);
    plane_delete(&p, x);
    CHECK(run_until_says(&w, &p, y, "PENDING", 2000));
    CHECK_STR(plane_says(&p, y, "reason"), "Frozen");
    CHECK(has_message(&p, y, "ConfigMap policy has the annotation mobula.dev/frozen"));
    CHECK(run_until_says(&w, &p, x, "TERMINATING", 2000));
    CHECK(run_until(&w, "train", "Complete", 60 * 1000));
    CHECK_INT(jobs_now(&w), 1);
    test_case("a restart changes nothing");
    world_kill_operator(&w);
    world_start_operator(&w, false);
    world_run(&w, 30 * 1000);
    CHECK_INT(jobs_now(&w), 1);
    CHECK_STR(plane_says(&p, y, "reason"), "Frozen");
    test_case("frozen by the text as well: one of them is enough");
    put_map(&w, "policy", "policy.yaml", "frozen: true");
    mark_frozen(&w, "null");
    world_run(&w, 2000);
    CHECK(has_message(&p, y, "its policy says frozen: true"));
    CHECK_INT(jobs_now(&w), 1);
    test_case("it goes on where it stopped");
    put_map(&w, "policy", "policy.yaml", "{}");
    CHECK(run_until_says(&w, &p, y, "STARTING", 2000));
    CHECK(!plane_find(&p, SLICE("aaaaaaaa-0000-4000-8000-000000000000")));
    CHECK_INT(jobs_now(&w), 1);
    end_plane(&w, &p);
}

static void test_quotas(void)
{
    struct world w;
    struct plane p;
    test_case("what has no room waits, the oldest first, and begins when there is room");
    begin_guarded(&w, &p, "maxTotalPods: 1");
    struct plane_workload *x = plane_put(&p, 'a', "n", "one", JOB);
    world_run(&w, 1000);
    struct plane_workload *y = plane_put(&p, 'b', "n", "two", JOB);
    world_run(&w, 1000);
    struct plane_workload *z = plane_put(&p, 'c', "n", "three", JOB);
    CHECK(run_until_says(&w, &p, z, "PENDING", 2000));
    CHECK_INT(jobs_now(&w), 1);
    test_case("also to an operator that starts again");
    world_kill_operator(&w);
    world_start_operator(&w, false);
    world_run(&w, 3000);
    CHECK_INT(jobs_now(&w), 1);
    CHECK(run_until_says(&w, &p, x, "SUCCEEDED", 30 * 1000));
    CHECK(run_until_says(&w, &p, y, "SUCCEEDED", 180 * 1000)); /* the quota is free again when the last pod of the previous job has ended */
    CHECK_STR(plane_says(&p, z, "state").len ? SLICE("said") : SLICE(""), "said");
    CHECK(run_until_says(&w, &p, z, "SUCCEEDED", 180 * 1000));
    CHECK_INT(jobs_now(&w), 3);
    end_plane(&w, &p);
    test_case("a larger quota lets them begin at once");
    begin_guarded(&w, &p, "maxObjects: 1");
    for (int i = 0; i < 4; i++)
        x = plane_put(&p, (char)('a' + i), "n", arena_printf(&w.arena, "w%d", i).ptr, JOB);
    CHECK(run_until_says(&w, &p, x, "PENDING", 2000));
    put_map(&w, "policy", "policy.yaml", "maxObjects: 4");
    world_run(&w, 1000);
    CHECK_INT(jobs_now(&w), 4);
    test_case("a flood of deletions has a rate as well");
    put_map(&w, "policy", "policy.yaml", "writesPerMinute: 6");
    world_run(&w, 1000);
    for (int i = 0; i < 4; i++)
        plane_delete(&p, plane_find(&p, arena_printf(&w.arena, "%c%c%c%c%c%c%c%c-0000-4000-8000-000000000000", 'a' + i, 'a' + i, 'a' + i,
                                                     'a' + i, 'a' + i, 'a' + i, 'a' + i, 'a' + i)));
    world_run(&w, 2000);
    CHECK_INT(jobs_now(&w), 3);
    world_run(&w, 40 * 1000);
    CHECK_INT(jobs_now(&w), 0);
    world_run(&w, 2000);
    CHECK(!p.first);
    end_plane(&w, &p);
}

static void test_left_queue(void)
{
    struct world w;
    struct plane p;
    test_case("a workload that was terminated while it waited is not the oldest that waits");
    begin_guarded(&w, &p, "maxObjects: 1");
    struct plane_workload *x = plane_put(&p, 'a', "n", "one", JOB);
    world_run(&w, 1000);
    struct plane_workload *y = plane_put(&p, 'b', "n", "two", JOB);
    CHECK(run_until_says(&w, &p, y, "PENDING", 2000));
    struct plane_workload *z = plane_put(&p, 'c', "n", "three", JOB);
    CHECK(run_until_says(&w, &p, z, "PENDING", 2000));
    plane_put(&p, 'b', "n", "two", JOB_ENDS);
    CHECK(run_until_says(&w, &p, y, "TERMINATED", 2000));
    plane_put(&p, 'a', "n", "one", JOB_ENDS);
    CHECK(run_until_says(&w, &p, x, "TERMINATED", 5000));
    CHECK(run_until_says(&w, &p, z, "STARTING", 5000));
    end_plane(&w, &p);
}

#define OF_TYPE(type)                                                                                                                      \
    "{\"cloud\":\"c\",\"image\":\"ray:1\",\"job\":{\"entrypoint\":\"x\"},\"computeConfig\":{\"inline\":{\"head_node\":"                    \
    "{\"instance_type\":\"" type "\"}}}}"

static void test_types(void)
{
    struct world w;
    struct plane p;
    stage_plane(&w, &p);
    watch_map(&w, "instance-types");
    put_types(&w, "t: {resources: {CPU: 16, memory: 8Gi}}");
    watch_map(&w, "policy");
    put_map(&w, "policy", "policy.yaml", "{maxPodCPU: 8, maxTotalCPU: 8}");
    world_start_operator(&w, false);
    world_run(&w, 2000);
    test_case("a pod is as large as its instance type …");
    struct plane_workload *x = plane_put(&p, 'a', "n", "one", OF_TYPE("t"));
    CHECK(run_until_says(&w, &p, x, "REFUSED", 2000));
    CHECK(has_message(&p, x, "ask for more CPU than the policy's maxPodCPU"));
    test_case("… is now: what was refused for it is looked at again when the types change");
    put_types(&w, "t: {resources: {CPU: 4, memory: 8Gi}}");
    world_run(&w, 1000);
    CHECK_INT(jobs_now(&w), 1);
    test_case("and so is what is used of a quota");
    put_types(&w, "t: {resources: {CPU: 8, memory: 8Gi}}");
    world_run(&w, 1000);
    struct plane_workload *y = plane_put(&p, 'b', "n", "two", OF_TYPE("t"));
    CHECK(run_until_says(&w, &p, y, "PENDING", 2000));
    CHECK_STR(plane_says(&p, y, "reason"), "QuotaExceeded");
    put_types(&w, "t: {resources: {CPU: 2, memory: 8Gi}}");
    world_run(&w, 1000);
    CHECK_INT(jobs_now(&w), 2);
    test_case("of a type that is not there nobody knows whether it is too large");
    y = plane_put(&p, 'c', "n", "three", OF_TYPE("u"));
    CHECK(run_until_says(&w, &p, y, "REFUSED", 2000));
    CHECK(has_message(&p, y, "rule resources: names an instance type that is not there"));
    CHECK_INT(jobs_now(&w), 2);
    put_types(&w, "{t: {resources: {CPU: 2, memory: 8Gi}}, u: {resources: {CPU: 1, memory: 8Gi}}}");
    world_run(&w, 1000);
    CHECK_INT(jobs_now(&w), 3);
    end_plane(&w, &p);
}

static void test_image(void)
{
    struct world w;
    struct plane p;
    test_case("a workload without an image is refused where there is no default");
    begin_guarded(&w, &p, "{}");
    struct plane_workload *x = plane_put(&p, 'a', "n", "train", "{\"job\":{\"entrypoint\":\"x\"}}");
    CHECK(run_until_says(&w, &p, x, "REFUSED", 1000));
    CHECK(has_message(&p, x, "spec.image: is missing, and this cloud has no default"));
    end_plane(&w, &p);
    test_case("it gets the default, which the policy looks at too");
    stage_plane(&w, &p);
    p.image = "registry.bank/ray:2";
    world_start_operator(&w, false);
    x = plane_put(&p, 'a', "n", "train", "{\"job\":{\"entrypoint\":\"x\"}}");
    CHECK(run_until_says(&w, &p, x, "STARTING", 3000));
    CHECK_STR(
        json_get_str(json_at(job_value(&w, "train", "spec.rayClusterSpec.headGroupSpec.template.spec.containers"), 0), "image", &w.arena),
        "registry.bank/ray:2");
    end_plane(&w, &p);
}

static const char *file_text; /* NULL: there is no such file */

static bool read_policy_file(struct slice path, struct arena *a, struct slice *out, struct err *e)
{
    CHECK_STR(path, "/etc/mobula/policy.yaml");
    if (!file_text)
        return err_set(e, ERR_MISSING, "cannot open %.*s: No such file or directory", SLICE_ARG(path));
    *out = arena_dup(a, slice_of(file_text));
    return true;
}

static void begin_with_file(struct world *w, struct plane *p, const char *text)
{
    file_text = text;
    stage_plane(w, p);
    p->more = (struct operator_plane){.policy_file = SLICE("/etc/mobula/policy.yaml"), .read_file = read_policy_file};
    watch_map(w, "policy");
    world_start_operator(w, false);
    world_run(w, 2000);
}

/* Another generation of the workload, with this image. */
static struct plane_workload *ask_image(struct plane *p, char uid, const char *image)
{
    const char name[] = {uid, '\0'};
    return plane_put(p, uid, "n", name, arena_printf(&p->world->arena, "{\"image\":\"%s\",\"job\":{\"entrypoint\":\"x\"}}", image).ptr);
}

static void test_file(void)
{
    struct world w;
    struct plane p;
    test_case("the policy file is read again every minute");
    begin_with_file(&w, &p, "images: ['good/*']\n");
    struct plane_workload *x = ask_image(&p, 'a', "other/ray");
    CHECK(run_until_says(&w, &p, x, "REFUSED", 1000));
    file_text = "images: ['other/*']\n";
    world_run(&w, POLICY_FILE_MS);
    CHECK_STR(plane_says(&p, x, "state"), "STARTING");
    test_case("one that is broken is counted, and the one before stays in force");
    const char *const broken[] = {"images: ['*']\nimagez: []\n", "images: [", "", NULL};
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        file_text = broken[i];
        operator_renew(w.op, w.now);
        world_run(&w, 10);
        if (!broken[i] || *broken[i])
            CHECK(inspect_figures(w.op).policy_file);
        x = ask_image(&p, 'b', i % 2 ? "good/1" : "good/2");
        CHECK(run_until_says(&w, &p, x, "REFUSED", 1000));
        file_text = "images: ['other/*']\n";
        operator_renew(w.op, w.now);
        world_run(&w, 10);
        CHECK(!inspect_figures(w.op).policy_file);
    }
    test_case("a ConfigMap comes before it");
    put_map(&w, "policy", "policy.yaml", "images: ['good/*']");
    x = ask_image(&p, 'c', "good/ray");
    CHECK(run_until_says(&w, &p, x, "STARTING", 2000));
    end_plane(&w, &p);
}

/* With a file that is broken from the beginning the operator does not start, and says where. */
static void test_file_at_the_start(void)
{
    static const struct {
        const char *text, *told;
    } cases[] = {
        {"images: ['*']\nimagez: []\n", "--policy-file /etc/mobula/policy.yaml: line 2: imagez: is no field of a policy"},
        {NULL, "--policy-file: cannot open /etc/mobula/policy.yaml: No such file"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w;
        struct plane p;
        struct err e = {0};
        test_case("from the beginning: %s", cases[i].told);
        begin_with_file(&w, &p, "{}");
        static const struct slice namespaces[] = {{"n", 1}};
        struct operator_options o = {.namespaces = namespaces, .namespace_count = 1, .plane = p.far.options(&p.far)};
        file_text = cases[i].text;
        struct op *op = operator_new(&w.process[0].net, w.process[0].config, &o, &e);
        CHECK(!op && slice_starts(slice_of(e.text), slice_of(cases[i].told)));
        end_plane(&w, &p);
    }
}

int main(void)
{
    test_file();
    test_file_at_the_start();
    test_in_force();
    test_broken_from_the_start();
    test_frozen();
    test_quotas();
    test_left_queue();
    test_types();
    test_image();
    return test_done();
}
