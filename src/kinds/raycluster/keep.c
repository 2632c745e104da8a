/* What a RayCluster's own object says of it beyond its spec and status. */
#include <mobula/kinds.h>

void kept_cluster(struct op *op, struct cluster *c, struct jval object, uint32_t round, bool changed, bool status)
{
    (void)round;
    struct slice job = controller_uid(object, SLICE("RayJob"), &op->event_arena);
    struct cluster *owner = cluster_make(op, job, istr_slice(c->ns), c->space, &kind_rayjob);
    owner = owner ? owner : workload_owner(op, c, object);
    cluster_own(op, c, owner != c ? owner : NULL); /* whoever may write the object may name its own uid there */
    if (changed || status)
        cluster_tell(op, c);
}
