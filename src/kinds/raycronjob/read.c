/* Reading RayCronJobs: KubeRay's fields, and those of a CronJob of Kubernetes beside them. */
#include "raycronjob.h"

#include <mobula/spec.h>

const struct kube_resource raycronjob_resource = {SLICE("ray.io"), SLICE("v1"), SLICE("raycronjobs")};

static void read_cron_metadata(struct reader *r, const struct spec_object *from, struct raycronjob *c)
{
    struct metadata m;
    if (!read_metadata(r, from, RAYCRONJOB_NAME_MAX, "the names of its RayJobs and of their clusters fit", &m))
        return;
    c->ns = m.ns;
    c->name = m.name;
    c->uid = m.uid;
    c->generation = m.generation;
    c->deleting = m.deleting;
    time_parse(json_get_str(from->metadata->value, "creationTimestamp", r->arena), &c->created_us, NULL);
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
    if (slice_eq_nocase(text, SLICE("Local")))
        place_bad(r, zone, "is %.*s, the zone of whichever machine runs the operator: name one, such as Europe/Berlin", SLICE_ARG(text));
    else if (zone_name_valid(text))
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

static void read_template(struct reader *r, const struct place *spec, struct raycronjob *c)
{
    const struct place *at = place_key(spec, "jobTemplate"), *id = place_key(at, "jobId");
    struct ray_job *job = arena_new(r->arena, struct ray_job);
    if (!read_object(r, at, REQUIRED))
        return;
    c->template = at->value;
    ray_read_job_spec(at, r->arena, job, r->errors);
    if (!slice_empty(job->selected) && !slice_empty(job->job_id))
        place_bad(r, id, "would be the same for each run on the cluster that clusterSelector names, which runs it once: remove it");
}

bool raycronjob_read_resource(const struct spec_object *from, struct arena *a, struct raycronjob *out, struct spec_errors *errors)
{
    struct reader r = {.arena = a, .errors = errors};
    uint32_t before = spec_errors_count(errors);
    *out = (struct raycronjob){
        .deadline_s = -1, .keep_succeeded = RAYCRONJOB_KEEP_SUCCEEDED, .keep_failed = RAYCRONJOB_KEEP_FAILED, .template = NO_VALUE};
    if (!from->kept && json_type(from->root->value) != JSON_OBJECT) {
        place_bad(&r, from->root, "the resource is not an object");
        return false;
    }
    read_type_meta(&r, from->root, "ray.io/v1", "RayCronJob");
    read_cron_metadata(&r, from, out);
    if (read_object(&r, from->spec, REQUIRED)) {
        read_when(&r, from->spec, out);
        read_policy(&r, from->spec, out);
        read_template(&r, from->spec, out);
    }
    return spec_errors_count(errors) == before;
}

bool raycronjob_read(struct jval object, struct arena *a, struct raycronjob *out, struct spec_errors *errors)
{
    const struct spec_object from = spec_object_of(object, a);
    return raycronjob_read_resource(&from, a, out, errors);
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
    const struct spec_object from = spec_object_of(object, a);
    const struct place *template = place_key(from.spec, "jobTemplate");
    raycronjob_read_resource(&from, a, arena_new(a, struct raycronjob), errors);
    note_unknown(&r, from.spec, known);
    if (json_type(template->value) == JSON_OBJECT)
        ray_job_spec_notes(template, a, notes);
}
