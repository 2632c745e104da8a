/* ring: the records with work wait in rings, by how much of it is left (ring.c); turn.c serves them. */
#ifndef MOBULA_CONTROL_RING_H
#define MOBULA_CONTROL_RING_H

#include <mobula/control.h>

enum { RING_WHOLE = OPERATOR_RINGS - 2 /* a plan of so many actions or fewer is carried out as a whole */ };

/* front: it goes on with its turn as soon as there is room. */
void ring_put(struct op *op, struct record *c, bool front);
/* The next one to be served; NULL: none waits. */
struct ring *ring_next(struct op *op);
/* The record counts as waiting until in_ring is cleared, so nothing frees it or adds it again. */
struct record *ring_pop(struct ring *r);

#endif
