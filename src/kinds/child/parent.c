/* The owner of a pod or service. */
#include "record.h"

struct slice extract_owner(const struct op *op, struct jval object, struct arena *a)
{
    struct slice uid;
    controller_of(op, object, &kind_pod, a, &uid);
    return uid;
}

struct record *extract_parent(struct op *op, struct space *space, struct jval child, const struct kind *kind)
{
    struct arena *a = &op->arenas.event;
    struct slice name = json_get_str(child, "metadata.name", a), uid = json_get_str(child, "metadata.uid", a);
    bool known = name.len <= POD_NAME_MAX && name_dns1123_subdomain(name) && uid.len <= UID_TEXT_MAX && name_dns1123_label(uid);
    return known ? controller_record(op, space, json_get_str(child, "metadata.namespace", a), child, kind) : NULL;
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
