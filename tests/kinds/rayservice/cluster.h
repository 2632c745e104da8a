/* The RayCluster of a RayService in a simulated world. */
#ifndef TESTS_RAYSERVICE_CLUSTER_H
#define TESTS_RAYSERVICE_CLUSTER_H

#include "tests/world/scene.h"

/* The spec of a cluster with one worker. version: its rayVersion. scaled: by the autoscaler, which keeps that worker. */
static struct slice cluster_spec(struct world *w, const char *version, bool scaled)
{
    const char *more = arena_printf(&w->arena, "\"rayVersion\":\"%s\",%s", version, scaled ? "\"enableInTreeAutoscaling\":true," : "").ptr;
    struct slice cluster = cluster_body(w, "c", 1, more);
    const char *at = strstr(cluster.ptr, "\"spec\":");
    struct slice spec = slice_skip(cluster, (size_t)(at - cluster.ptr) + 7);
    spec.len--; /* the closing brace of the RayCluster */
    char *min = (char *)(uintptr_t)strstr(spec.ptr, "\"minReplicas\":0");
    if (scaled)
        min[strlen("\"minReplicas\":")] = '1'; /* else the autoscaler deletes an idle worker */
    return spec;
}

#endif
