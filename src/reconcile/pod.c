/* What a pod's record says about it. */
#include "reconcile_private.h"

bool pod_failed(const struct pod *pod)
{
    return !pod->deleting && (pod->phase == POD_FAILED || pod->phase == POD_SUCCEEDED || pod->ended);
}

bool pod_live(const struct pod *pod)
{
    return !pod->deleting && !pod_failed(pod);
}

bool pod_doubted(const struct pod *pod)
{
    return pod->doubted && !pod->ended && pod->phase != POD_FAILED && pod->phase != POD_SUCCEEDED;
}

bool pod_stands(const struct pod *pod)
{
    return pod_live(pod) || pod_doubted(pod);
}

bool pod_outdated(const struct pod *pod, const struct ray_group *spec)
{
    /* A pod without our annotation was made by somebody else, whose hash we cannot know: it counts as it is. */
    return pod->hash != 0 && pod->hash != spec->hash;
}

struct slice pod_failure_text(const struct pod *pod, struct arena *a)
{
    if (pod->phase == POD_SUCCEEDED)
        return arena_printf(a, "pod %s ended with exit code 0: Ray must keep running", pod->name);
    if (slice_empty(pod->reason))
        return arena_printf(a, "pod %s ended with exit code %d", pod->name, (int)pod->exit_code);
    return arena_printf(a, "pod %s ended with exit code %d (%.*s)", pod->name, (int)pod->exit_code, SLICE_ARG(pod->reason));
}
