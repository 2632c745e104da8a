/* Recognises a living pod, whatever has changed it since it was built: webhooks put containers before ours and beside it, people change
 * labels. So a container is known by a variable that is fixed in it and in no other, and a head by its name. Both hold of pods that KubeRay
 * made. */
#include "build.h"

#include <mobula/pod.h>

/* By rank: a head may have the container of a submitter beside it. */
static const char *const marks[] = {"KUBERAY_GEN_RAY_START_CMD", "RAY_OVERRIDE_RESOURCES", "RAY_JOB_SUBMISSION_ID"};

struct jval ray_live_container(struct jval pod)
{
    struct jval containers = json_get(pod, "spec.containers"), k, c;
    for (size_t i = 0; i < COUNT_OF(marks); i++)
        for (struct jiter it = json_iter(containers); json_next(&it, &k, &c);)
            if (list_has(json_get(c, "env"), "name", slice_of(marks[i])))
                return c;
    return json_at(containers, 0); /* made by somebody whom we do not know */
}

/* Settings that Ray and the operator must agree on: the variables of env.c that a user's own do not replace. */
static const char *const agreed[] = {"KUBERAY_GEN_RAY_START_CMD",
                                     "RAY_OVERRIDE_RESOURCES",
                                     "RAY_CLUSTER_NAME",
                                     "RAY_CLUSTER_NAMESPACE",
                                     "RAY_CLOUD_INSTANCE_ID",
                                     "RAY_NODE_TYPE_NAME",
                                     "RAY_enable_autoscaler_v2",
                                     "FQ_RAY_IP",
                                     "RAY_IP",
                                     "RAY_HEAD_IP",
                                     "RAY_JOB_SUBMISSION_ID"};

bool pod_of_namespace(struct jval object, struct slice ns, struct arena *a)
{
    struct slice address = json_get_str(list_find(json_get(ray_live_container(object), "env"), "name", SLICE("FQ_RAY_IP")), "value", a);
    struct slice here = arena_printf(a, ".%.*s.svc", SLICE_ARG(ns));
    return slice_find_text(address, ".svc") < 0 || slice_find_text(address, here.ptr) >= 0;
}

/* Of variables with one name the kubelet takes the last, so each of them must be the one that was there. */
static bool keeps_variable(struct jval before, struct jval after, const char *name)
{
    struct jval was = list_find(before, "name", slice_of(name)), k, v;
    bool found = false;
    if (!json_there(was))
        return true;
    for (struct jiter it = json_iter(after); json_next(&it, &k, &v);)
        if (json_is(json_get(v, "name"), name)) {
            found = true;
            if (!json_equal(was, v))
                return false;
        }
    return found;
}

const char *ray_live_lost(struct jval before, struct jval after)
{
    struct jval one = ray_live_container(before), two = NO_VALUE, k, v;
    for (struct jiter it = json_iter(json_get(after, "spec.containers")); json_next(&it, &k, &v) && !json_there(two);)
        two = json_equal(json_key(v, SLICE("name")), json_key(one, SLICE("name"))) ? v : two;
    if (json_there(one) && !json_there(two))
        return "name";
    for (size_t i = 0; i < COUNT_OF(agreed); i++)
        if (!keeps_variable(json_key(one, SLICE("env")), json_key(two, SLICE("env")), agreed[i]))
            return agreed[i];
    return NULL;
}

static struct jval controller(struct jval pod)
{
    struct jval k, ref;
    for (struct jiter it = json_iter(json_get(pod, "metadata.ownerReferences")); json_next(&it, &k, &ref);)
        if (json_get_bool(ref, "controller", false) && json_is(json_get(ref, "kind"), "RayCluster"))
            return ref;
    return NO_VALUE;
}

/* Ours are <…>-<index>-<5>, KubeRay's <…>-worker-<5>. */
static bool named_worker(struct slice name)
{
    if (name.len <= NAME_SUFFIX + 1)
        return false;
    size_t end = name.len - NAME_SUFFIX - 1, at = end;
    while (at && name.ptr[at - 1] >= '0' && name.ptr[at - 1] <= '9')
        at--;
    bool index = at < end && at && name.ptr[at - 1] == '-';
    return name.ptr[end] == '-' && (index || slice_ends(slice_head(name, end), SLICE("-worker")));
}

/* Of the legacy kind all pods are ours, and carry the index where they are no head. */
static bool legacy_head(struct jval labels, struct slice name, struct slice uid, struct arena *a)
{
    return slice_ends(name, legacy_head_suffix(uid, a)) && !json_there(json_child(labels, RAY_LABEL_REPLICA_INDEX));
}

bool ray_live_head(struct jval pod, struct arena *a)
{
    struct jval labels = json_get(pod, "metadata.labels"), owner = controller(pod);
    struct slice name = json_get_str(pod, "metadata.name", a), of = json_get_str(owner, "name", a);
    bool labelled = json_is(json_child(labels, RAY_LABEL_NODE_TYPE), "head");
    if (!json_there(owner))
        return labelled;
    if (json_str_eq(json_get(owner, "apiVersion"), ray_api_version(RAY_LEGACY)))
        return legacy_head(labels, name, json_get_str(owner, "uid", a), a);
    bool heads = slice_starts(name, of) && slice_is(slice_skip(name, of.len), "-head");
    return heads || (labelled && !named_worker(name)); /* KubeRay's was <cluster>-head-<5> for long */
}
