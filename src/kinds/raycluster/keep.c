/* What a RayCluster's own object says of it beyond its spec and status. */
#include "record.h"

void kept_cluster(struct op *op, struct record *c, struct jval object, uint32_t round, bool changed, bool status)
{
    (void)round;
    struct record *owner = controller_record(op, c->space, istr_slice(c->ns), object, &kind_raycluster);
    record_own(op, c, owner ? owner : workload_owner(op, c, object));
    if (changed || status)
        record_tell(op, c);
}
