/* What an object says of itself beyond its spec and status, of those that may belong to another: whose it is. */
#include "record.h"

void kept_owned(struct op *op, struct record *c, struct jval object, uint32_t round, bool changed, bool status)
{
    (void)round;
    struct record *owner = controller_record(op, c->space, istr_slice(c->ns), object, c->kind);
    record_own(op, c, owner ? owner : workload_owner(op, c, object));
    if (changed || status)
        record_tell(op, c);
}
