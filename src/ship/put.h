/* How log files and journals store a batch of lines. */
#ifndef MOBULA_SHIP_PUT_H
#define MOBULA_SHIP_PUT_H

#include <mobula/ship.h>

/* Compresses a batch into *packed, and fills the call that stores it as c->key, if there is no object of that name. */
void ship_put(struct cloud_call *c, const struct cloud_protocol *p, struct slice plain, bool unconditional, struct buf *packed,
              struct arena *a);
/* A generation that sorts by time: seconds, and 32 further bits. */
uint64_t ship_generation(int64_t wall_s, uint64_t more);

#endif
