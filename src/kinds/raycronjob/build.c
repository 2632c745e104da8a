/* The RayJob of one run. Its metadata is what KubeRay's has, but for the name, which is made of the time. */
#include "raycronjob.h"

#include <mobula/spec.h>

struct slice raycronjob_job_name(const struct raycronjob *c, int64_t due_s, struct arena *a)
{
    return arena_printf(a, "%.*s-%lld", SLICE_ARG(c->name), (long long)(due_s / 60));
}

bool raycronjob_build_job(const struct raycronjob *c, int64_t due_s, struct buf *out, struct arena *a)
{
    const struct owner owner = {ray_api_version(RAY_V1), SLICE("RayCronJob"), c->ns, c->name, c->uid};
    char due[TIME_TEXT_MAX];
    struct jout w;
    jout_init(&w, out);
    struct slice name = raycronjob_job_name(c, due_s, a), when = time_format(due_s * 1000000, due);
    jout_form(&w,
              "{apiVersion:'ray.io/v1',kind:'RayJob',metadata:{name:'%.*s',namespace:'%.*s',"
              "labels:{" RAYCRONJOB_LABEL ":'%.*s'},annotations:{" RAYCRONJOB_TIME ":'%.*s'}",
              SLICE_ARG(name), SLICE_ARG(c->ns), SLICE_ARG(c->name), SLICE_ARG(when));
    write_owner(&w, &owner);
    jout_end(&w);
    jout_kval(&w, "spec", c->template);
    jout_end(&w);
    return !out->full;
}

int64_t raycronjob_scheduled(struct jval metadata, struct slice name, struct arena *a)
{
    struct slice time = json_str(json_child(json_get(metadata, "annotations"), RAYCRONJOB_TIME), a);
    int64_t us, minutes;
    if (time_parse(time, &us, NULL))
        return us / 1000000;
    if (!json_there(json_child(json_get(metadata, "labels"), RAYCRONJOB_LABEL)))
        return CRON_NEVER;
    while (slice_find(name, '-') >= 0)
        slice_cut(&name, '-');
    return slice_int(name, &minutes) && minutes > 0 && minutes < INT32_MAX ? minutes * 60 : CRON_NEVER;
}
