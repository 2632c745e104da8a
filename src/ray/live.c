/* What a living pod is, whoever has changed it since it was built: webhooks put containers before ours and beside it, people change labels.
 * So a container is known by a variable that is fixed in it and in no other, and a head by its name. Both hold of pods that KubeRay made.
 */
#include "build.h"

/* By rank: a head may have the container of a submitter beside it. */
static const char *const marks[] = {"KUBERAY_GEN_RAY_START_CMD", "RAY_OVERRIDE_RESOURCES", "RAY_JOB_SUBMISSION_ID"};

struct jval ray_live_container(struct jval pod)
{
    struct jval containers = json_get(pod, "spec.containers"), k, c;
    for (size_t i = 0; i < COUNT_OF(marks); i++)
        for (struct jiter it = json_iter(containers); json_next(&it, &k, &c);)
            if (list_has(json_key(c, SLICE("env")), "name", slice_of(marks[i])))
                return c;
    return json_at(containers, 0); /* made by somebody whom we do not know */
}
