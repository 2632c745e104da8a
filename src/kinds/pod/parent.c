/* The owner of a pod or service. */
#include <mobula/kinds.h>

struct slice extract_owner(struct jval object, struct arena *a)
{
    struct slice uid = controller_uid(object, SLICE("RayCluster"), a);
    return uid.len ? uid : controller_uid(object, SLICE("RayJob"), a);
}

struct cluster *extract_parent(struct op *op, struct space *space, struct jval child)
{
    struct arena *a = &op->event_arena;
    struct slice name = json_get_str(child, "metadata.name", a), uid = json_get_str(child, "metadata.uid", a);
    bool known = name.len <= POD_NAME_MAX && name_dns1123_subdomain(name) && uid.len <= UID_TEXT_MAX && name_dns1123_label(uid);
    struct slice ns = json_get_str(child, "metadata.namespace", a), owner = controller_uid(child, SLICE("RayCluster"), a);
    if (!known)
        return NULL;
    return owner.len ? cluster_make(op, owner, ns, space, &kind_raycluster)
                     : cluster_make(op, controller_uid(child, SLICE("RayJob"), a), ns, space, &kind_rayjob);
}

bool extract_labelled(struct jval object)
{
    return json_there(json_child(json_get(object, "metadata.labels"), RAY_LABEL_CLUSTER));
}

bool extract_elsewhere(struct jval pod, struct arena *a)
{
    struct jval label = json_child(json_get(pod, "metadata.labels"), RAY_LABEL_CLUSTER);
    struct slice owner = json_get_str(controller_ref(pod, SLICE("RayCluster")), "name", a);
    return json_there(label) && !slice_empty(owner) && !json_str_eq(label, owner);
}
