/* Every field of a RayJob's spec, edited while its program runs: the job is submitted once and followed to its end on the cluster to which
 * it was submitted. */
#include "fields.h"
#include "jobs.h"

static struct slice job_body(struct arena *a)
{
    static const char *const template = "{\"metadata\":{\"labels\":{\"a\":\"b\"},\"annotations\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{"
                                        "\"name\":\"ray\",\"image\":\"ray:1\"}]}}";
    return arena_printf(
        a,
        "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayJob\",\"metadata\":{\"name\":\"j\",\"namespace\":\"n\"},\"spec\":{"
        "\"entrypoint\":\"python j.py\",\"shutdownAfterJobFinishes\":true,\"ttlSecondsAfterFinished\":600,\"rayClusterSpec\":{"
        "\"headGroupSpec\":{\"rayStartParams\":{\"num-gpus\":\"0\"},\"template\":%s},\"workerGroupSpecs\":[{\"groupName\":"
        "\"small\",\"replicas\":1,\"minReplicas\":0,\"maxReplicas\":10,\"rayStartParams\":{\"num-gpus\":\"0\"},"
        "\"template\":%s}]}}}",
        template, template);
}

/* Edits that end the run, or hand the RayJob to another controller. */
static const struct {
    const char *path, *value, *phase; /* phase NULL: managed by another controller */
} other_ends[] = {
    {"/spec/suspend", "true", "Suspended"},
    {"/spec/activeDeadlineSeconds", "2", "Failed"},
    {"/spec/managedBy", "\"kueue.x-k8s.io/multikueue\"", NULL},
};

static struct slice first_head(struct world *w)
{
    struct slice names[4], head;
    if (pod_names(w, "head", names, 4) != 1)
        return SLICE("");
    head = apiserver_get(w->server, SLICE("pods"), SLICE("n"), names[0], &w->arena);
    struct jval doc;
    return json_read(&doc, head, &w->arena, NULL) ? json_get_str(doc, "metadata.uid", &w->arena) : SLICE("");
}

static void say_case(bool is, const struct field_edit *edit, const char *what)
{
    if (!CHECK(is))
        printf("  %.*s = %.*s: %s\n", SLICE_ARG(edit->path), SLICE_ARG(slice_head(edit->value, 100)), what);
}

static bool run_case(const struct field_edit *edit, struct slice definition, struct slice cluster, struct slice body)
{
    static const char job_path[] = "/apis/ray.io/v1/namespaces/n/rayjobs/j";
    struct world w;
    struct apiserver_config config = {.seed = 1};
    const char *phase = "Complete";
    for (size_t i = 0; i < COUNT_OF(other_ends); i++)
        if (slice_is(edit->path, other_ends[i].path) && slice_is(edit->value, other_ends[i].value))
            phase = other_ends[i].phase;
    world_init(&w, &config);
    board = (struct board){.world = &w, .run_ms = 25 * 1000};
    make_namespace(&w);
    take_definition(&w, cluster);
    take_definition(&w, definition);
    fakerays_begin(&w, true);
    w.rays->dash = board_answer;
    CHECK_INT(world_call(&w, "POST", jobs_path, "application/json", body), 201);
    world_start_operator(&w, false);
    CHECK(run_until(&w, "j", "Running", 20 * 1000));
    world_run(&w, 3000);
    struct slice head = first_head(&w), patch = arena_printf(&w.arena, "[{\"op\":\"add\",\"path\":\"%.*s\",\"value\":%.*s}]",
                                                             SLICE_ARG(edit->path), SLICE_ARG(edit->value));
    bool taken = world_call(&w, "PATCH", job_path, "application/json-patch+json", patch) == 200;
    if (taken && phase) {
        say_case(run_until(&w, "j", phase, 60 * 1000), edit, "the job did not end as it should");
        say_case(board.taken == 1, edit, "the job was submitted twice");
        say_case(slice_is(slice_of(phase), "Suspended") || !strstr(job_text(&w, "j").ptr, "ClusterLost"), edit, "its cluster was lost");
        bool keeps = !strstr(edit->path.ptr, "deletionStrategy") && !strstr(edit->path.ptr, "shutdownAfter") &&
                     !strstr(edit->path.ptr, "ttlSeconds") && strcmp(phase, "Suspended") != 0;
        say_case(!keeps || slice_eq(first_head(&w), head), edit, "another head runs");
    }
    end_job_world(&w);
    return taken;
}

int main(void)
{
    struct arena a = {0};
    struct fields *f = arena_new(&a, struct fields);
    f->a = &a;
    struct slice definition = read_definition(&a, "rayjobs.ray.io"), cluster = read_definition(&a, "rayclusters.ray.io"),
                 body = job_body(&a);
    test_case("every field of a RayJob's spec is edited while the job runs");
    fields_read(f, definition, body);
    uint32_t taken = 0;
    for (uint32_t i = 0; i < f->count; i++)
        taken += run_case(&f->list[i], definition, cluster, body);
    printf("  %u edits, %u of them taken by the server\n", f->count, taken);
    CHECK(taken > 150);
    arena_free(&a);
    return test_done();
}
