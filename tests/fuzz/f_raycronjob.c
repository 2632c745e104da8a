/* A RayCronJob, its status, and the file of its time zone, with NULs between: whatever the reader lets through becomes RayJobs that the
 * reader of RayJobs lets through, at times that the schedule names, and none twice. */
#include "src/kinds/raycronjob/raycronjob.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS = 4 };
static const int64_t first_s = 1800000000;

static void check_times(const struct raycronjob *c, const struct zone *z)
{
    int64_t at = first_s, until_s, created_s = c->created_us / 1000000;
    for (int i = 0; i < STEPS; i++) {
        int64_t next = schedule_next(&c->schedule, z, created_s, at);
        int32_t offset = zone_offset(z, at, &until_s);
        if (next <= at || until_s <= at || offset < -26 * 3600 || offset > 26 * 3600)
            abort();
        if (next == INT64_MAX)
            return;
        struct schedule_due due = schedule_due(&c->schedule, z, created_s, at, next);
        if (due.count != 1 || due.more || due.last_s != next || due.next_s <= next)
            abort();
        at = next;
    }
}

/* What the plan makes stands in the next view. */
static void take_job(const struct cron_view *v, const struct action *act, struct cron_child *job, struct arena *a)
{
    static struct spec_errors errors;
    struct ray_job read;
    struct json doc;
    struct buf b;
    int64_t due_us;
    errors.count = errors.beyond = 0;
    buf_init(&b, LIMIT_JSON_ITEM * 2);
    if (!time_parse(act->text, &due_us, NULL) || due_us > v->now.wall_us || !raycronjob_build_job(v->cron, due_us / 1000000, &b, a) ||
        !json_parse(&doc, arena_dup(a, buf_slice(&b)), a, NULL) || !ray_read_job(json_root(&doc), a, &read, &errors) ||
        !slice_eq(read.name, act->name) || raycronjob_scheduled(json_get(json_root(&doc), "metadata"), read.name, a) != due_us / 1000000)
        abort();
    for (uint32_t i = 0; i < v->job_count; i++)
        if (slice_eq(v->jobs[i].name, act->name))
            abort(); /* twice */
    *job = (struct cron_child){.name = act->name, .uid = arena_dup(a, act->name), .scheduled_s = due_us / 1000000};
    buf_free(&b);
}

static void decide(const struct raycronjob *c, const struct spec_errors *errors, const struct zone *z, struct slice status, struct arena *a)
{
    struct cron_child jobs[STEPS];
    struct cron_view v = {.cron = c, .errors = errors, .zone = z, .jobs = jobs, .now = {1000000, first_s * 1000000}};
    struct json doc;
    if (json_parse(&doc, status, a, NULL))
        v.status = status;
    for (int step = 0; step < STEPS; step++) {
        struct plan p, q;
        raycronjob_decide(&v, a, &p);
        raycronjob_decide(&v, a, &q);
        if (p.count != q.count || p.next_ms != q.next_ms || p.next_ms <= v.now.mono_ms)
            abort();
        for (uint32_t i = 0; i < p.count; i++) {
            const struct action *act = &p.actions[i];
            if (act->verb == &verb_status && !json_parse(&doc, act->text, a, NULL))
                abort();
            if (act->verb == &raycronjob_create_job) {
                take_job(&v, act, &jobs[v.job_count], a);
                v.job_count++;
            }
        }
        v.now.mono_ms += 1000;
        v.now.wall_us += step == 1 ? -INT64_C(7200000000) : INT64_C(3600000000); /* the clock is put back between */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct spec_errors errors;
    static struct zone zone;
    struct arena a = {0};
    struct json doc;
    struct raycronjob c;
    struct slice rest = {(const char *)data, size}, resource = slice_cut(&rest, '\0'), status = slice_cut(&rest, '\0');
    errors.count = errors.beyond = 0;
    if (json_parse(&doc, resource, &a, NULL)) {
        bool ok = raycronjob_read(json_root(&doc), &a, &c, &errors);
        if (ok != (errors.count == 0))
            abort();
        for (uint32_t i = 0; i < errors.count; i++)
            if (errors.list[i].offset > doc.text.len || slice_empty(errors.list[i].text))
                abort();
        bool zoned = zone_read(rest, &zone, NULL);
        if (!zoned)
            zone_utc(&zone);
        if (ok)
            check_times(&c, &zone);
        decide(&c, &errors, zoned || !rest.len ? &zone : NULL, status, &a);
    }
    arena_free(&a);
    return 0;
}
