/* Actions of plans on pods. */
#include <mobula/children.h>

struct action *plan_delete(struct plan *p, const struct pod *pod, int32_t group, const char *why)
{
    struct action *act = plan_add(p, &pod_delete);
    act->group = pod->head ? GROUP_HEAD : group; /* a head is reported as one, whatever it is deleted for */
    act->index = pod->index;
    act->why = why;
    act->name = slice_of(pod->name);
    act->uid = slice_of(pod->uid);
    return act;
}

void plan_delete_as_seen(struct plan *p, const struct pod *pod, int32_t group, const char *why)
{
    plan_delete(p, pod, group, why)->version = pod->version;
}
