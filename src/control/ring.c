/* Which record is served next. The client's request window is the scarce good, so the record whose plan has the fewest actions left is
 * first: of a thousand new clusters some are whole and the others are not begun, instead of a thousand halves. Among equals the one that
 * has waited longer is first. Plans of more than RING_WHOLE actions take turns of a few, so that one cluster's thousand pods do not delay
 * another one's first. Every OLDEST-th record is the one that has waited longest, whatever its size: small ones that keep coming cannot
 * starve it. */
#include "ring.h"

enum { OLDEST = 4 };

/* A large plan has its first turn, in which the head is, before those that have had theirs. */
static uint32_t ring_of(const struct record *c)
{
    uint32_t left = c->work ? c->work->count - c->work->next : 0;
    left += left ? c->work->follow : 0;
    return left <= RING_WHOLE ? left : c->work->next == 0 ? RING_WHOLE : RING_WHOLE + 1;
}

void ring_put(struct op *op, struct record *c, bool front)
{
    struct ring *r = &op->rings[ring_of(c)];
    c->in_ring = true;
    c->next_ring = front ? r->first : NULL;
    if (front || !r->first)
        r->first = c;
    else
        r->last->next_ring = c;
    if (!front || !c->next_ring)
        r->last = c;
}

void ring_add(struct op *op, struct record *c)
{
    if (c->in_ring)
        return;
    c->ring_serial = ++op->ring_serial;
    ring_put(op, c, false);
}

struct ring *ring_next(struct op *op)
{
    struct ring *next = NULL;
    bool oldest = op->ring_picks % OLDEST == OLDEST - 1;
    for (uint32_t i = 0; i < OPERATOR_RINGS; i++) {
        struct ring *r = &op->rings[i];
        if (r->first && (!next || (oldest && r->first->ring_serial < next->first->ring_serial)))
            next = r;
        if (next == &op->rings[0])
            break; /* it has nothing to send */
    }
    return next;
}

struct record *ring_pop(struct ring *r)
{
    struct record *c = r->first;
    r->first = c->next_ring;
    return c;
}
