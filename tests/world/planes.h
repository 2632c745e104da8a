/* A world with a control plane that says what is to run. */
#ifndef MOBULA_TEST_PLANES_H
#define MOBULA_TEST_PLANES_H

#include "jobs.h"

#include "tests/model/sim/plane.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"

#define JOB "{\"cloud\":\"c\",\"image\":\"ray:1\",\"job\":{\"entrypoint\":\"python main.py\"}}"
#define JOB_ENDS "{\"cloud\":\"c\",\"image\":\"ray:1\",\"job\":{\"entrypoint\":\"python main.py\"},\"terminate\":true}"

/* A world with the control plane, before the operator starts. */
static void stage_plane(struct world *w, struct plane *p)
{
    make_job_world(w, false);
    world_kill_operator(w);
    plane_begin(p, w);
}

static void begin_plane(struct world *w, struct plane *p)
{
    stage_plane(w, p);
    world_start_operator(w, false);
    world_run(w, 2000);
}

static void end_plane(struct world *w, struct plane *p)
{
    CHECK_INT(p->broken, 0);
    end_job_world(w);
    plane_free(p);
}

static bool run_until_says(struct world *w, struct plane *p, struct plane_workload *x, const char *state, int64_t ms)
{
    int64_t until = w->now.mono_ms + ms;
    while (w->now.mono_ms < until && !slice_eq(plane_says(p, x, "state"), slice_of(state)))
        world_step(w, until);
    return slice_eq(plane_says(p, x, "state"), slice_of(state));
}

static size_t jobs_now(struct world *w)
{
    return apiserver_count(w->server, SLICE("rayjobs.ray.io"));
}

#pragma GCC diagnostic pop

#endif
