/* The state that is kept for one RayCluster, and for all of them. */
#include "record.h"

const struct own_type raycluster_own = {sizeof(struct raycluster)};

struct raycluster *raycluster_of(const struct record *c)
{
    return record_own_as(c, &raycluster_own);
}

struct rayclusters *rayclusters_of(const struct op *op)
{
    return *kind_own(op, own_kind(op, &raycluster_own));
}
