/* Reading RayCronJobs: KubeRay's fields, and those of a CronJob of Kubernetes beside them. */
#include "raycronjob.h"

#include <mobula/kinds.h>
#include <mobula/spec.h>

const struct kube_resource raycronjob_resource = {SLICE("ray.io"), SLICE("v1"), SLICE("raycronjobs")};

static void read_cron_metadata(struct reader *r, const struct place *root, struct raycronjob *c)
{
    struct metadata m;
    if (!read_metadata(r, root, RAYCRONJOB_NAME_MAX, "the names of its RayJobs and of their clusters fit", &m))
        return;
    c->ns = m.ns;
    c->name = m.name;
    c->uid = m.uid;
    c->generation = m.generation;
    c->deleting = m.deleting;
    time_parse(json_get_str(root->value, "metadata.creationTimestamp", r->arena), &c->created_us, NULL);
}

static bool is_never(const struct schedule *s, struct arena *a)
{
    struct zone *utc = arena_new(a, struct zone);
    zone_utc(utc);
    return schedule_next(s, utc, 0, 0) == INT64_MAX;
}

static void read_when(struct reader *r, const struct place *spec, struct raycronjob *c)
{
    const struct place *schedule = place_key(spec, "schedule"), *zone = place_key(spec, "timeZone");
    struct slice text;
    struct err e = {0};
    if (read_text(r, schedule, REQUIRED, &text) && !schedule_parse(text, &c->schedule, &e))
        place_bad(r, schedule, "%s", e.text);
    else if (e.code == ERR_NONE && place_type(schedule) == JSON_STRING && is_never(&c->schedule, r->arena))
        place_bad(r, schedule, "is never due: no month that it names has such a day");
    if (!read_text(r, zone, OPTIONAL, &text))
        return;
    if (zone_name_valid(text))
        c->zone = text;
    else
        place_bad(r, zone, "is \"%.*s\": must be the name of a time zone such as Europe/Berlin", SLICE_ARG(slice_head(text, 60)));
}

static void read_policy(struct reader *r, const struct place *spec, struct raycronjob *c)
{
    static const char *const words[] = {"Allow", "Forbid", "Replace", NULL};
    const struct place *policy = place_key(spec, "concurrencyPolicy"), *suspend = place_key(spec, "suspend"),
                       *deadline = place_key(spec, "startingDeadlineSeconds");
    const struct place *succeeded = place_key(spec, "successfulJobsHistoryLimit"), *failed = place_key(spec, "failedJobsHistoryLimit");
    struct slice word;
    int64_t n;
    if (read_word(r, policy, words, &word))
        for (int i = 0; words[i]; i++)
            if (slice_is(word, words[i]))
                c->policy = (enum cron_policy)i;
    read_flag(r, suspend, &c->suspend);
    read_int(r, deadline, 1, INT32_MAX, &c->deadline_s);
    if (read_int(r, succeeded, 0, INT32_MAX, &n))
        c->keep_succeeded = (int32_t)n;
    if (read_int(r, failed, 0, INT32_MAX, &n))
        c->keep_failed = (int32_t)n;
}

/* Takes over what was found in the RayJob that would be made: "spec.x" there is `at`.x here. */
static void take_errors(struct reader *r, const struct place *at, const struct spec_errors *found, const struct json *job)
{
    size_t from = json_offset(json_get(json_root(job), "spec")), to = json_offset(at->value);
    for (uint32_t i = 0; i < found->count; i++) {
        struct spec_error e = found->list[i];
        e.path = arena_printf(r->arena, "spec.jobTemplate%.*s", SLICE_ARG(slice_skip(e.path, sizeof "spec" - 1)));
        e.offset = e.offset < from ? to : e.offset - from + to;
        spec_errors_add(r->errors, e);
    }
    r->errors->beyond += found->beyond;
}

/* The RayJob that is made of the template, of which only the spec is not known to be right. False with *e: it cannot be parsed. */
static bool parse_job(struct jval template, struct json *doc, struct arena *a, struct err *e)
{
    return json_parse(doc, arena_printf(a, "{\"metadata\":{\"name\":\"a\"},\"spec\":%.*s}", SLICE_ARG(json_raw(template))), a, e);
}

static void read_template(struct reader *r, const struct place *spec, struct raycronjob *c)
{
    const struct place *at = place_key(spec, "jobTemplate"), *id = place_key(at, "jobId");
    struct spec_errors *found = arena_new(r->arena, struct spec_errors);
    struct json *doc = arena_new(r->arena, struct json);
    struct ray_job *job = arena_new(r->arena, struct ray_job);
    struct err e = {0};
    if (!read_object(r, at, REQUIRED))
        return;
    c->template = at->value;
    if (!parse_job(at->value, doc, r->arena, &e)) {
        place_bad(r, at, "is too large: %s", e.text);
        return;
    }
    found->count = found->beyond = 0;
    ray_read_job(json_root(doc), r->arena, job, found);
    take_errors(r, at, found, doc);
    if (!slice_empty(job->selected) && !slice_empty(job->job_id))
        place_bad(r, id, "would be the same for each run on the cluster that clusterSelector names, which runs it once: remove it");
}

bool raycronjob_read(struct jval object, struct arena *a, struct raycronjob *out, struct spec_errors *errors)
{
    struct reader r = {.arena = a, .errors = errors};
    const struct place *root = place_root(object, a), *spec = place_key(root, "spec");
    uint32_t before = spec_errors_count(errors);
    *out = (struct raycronjob){
        .deadline_s = -1, .keep_succeeded = RAYCRONJOB_KEEP_SUCCEEDED, .keep_failed = RAYCRONJOB_KEEP_FAILED, .template = NO_VALUE};
    if (json_type(object) != JSON_OBJECT) {
        place_bad(&r, root, "the resource is not an object");
        return false;
    }
    read_type_meta(&r, root, "ray.io/v1", "RayCronJob");
    read_cron_metadata(&r, root, out);
    if (read_object(&r, spec, REQUIRED)) {
        read_when(&r, spec, out);
        read_policy(&r, spec, out);
        read_template(&r, spec, out);
    }
    return spec_errors_count(errors) == before;
}

void raycronjob_check(struct jval object, struct arena *a, struct spec_errors *errors, struct spec_errors *notes)
{
    static const char *const known[] = {"schedule",
                                        "timeZone",
                                        "suspend",
                                        "jobTemplate",
                                        "concurrencyPolicy",
                                        "startingDeadlineSeconds",
                                        "successfulJobsHistoryLimit",
                                        "failedJobsHistoryLimit",
                                        NULL};
    struct reader r = {.arena = a, .errors = notes};
    const struct place *root = place_root(object, a), *spec = place_key(root, "spec"), *template = place_key(spec, "jobTemplate");
    struct spec_errors *found = arena_new(a, struct spec_errors);
    struct json *doc = arena_new(a, struct json);
    raycronjob_read(object, a, arena_new(a, struct raycronjob), errors);
    note_unknown(&r, spec, known);
    if (json_type(template->value) != JSON_OBJECT || !parse_job(template->value, doc, a, NULL))
        return;
    found->count = found->beyond = 0;
    ray_job_notes(json_root(doc), a, found);
    take_errors(&r, template, found, doc);
}
