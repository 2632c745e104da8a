/* Finds the condition of a RayCluster's status that explains why the cluster is not ready. */
#include <mobula/ray.h>
#include <mobula/spec.h>

struct jval ray_cluster_unready(struct jval status)
{
    static const struct {
        const char *type, *word;
    } causes[] = {{"Valid", "False"},         {"InstanceTypesReady", "False"}, {"ReplicaFailure", "True"},        {"HeadPodReady", "False"},
                  {"ZonesExhausted", "True"}, {"WorkersNotReady", "True"},     {"RayClusterProvisioned", "False"}};
    for (size_t i = 0; i < COUNT_OF(causes); i++)
        if (condition_is(status, causes[i].type, causes[i].word))
            return status_condition(status, slice_of(causes[i].type));
    return NO_VALUE;
}
