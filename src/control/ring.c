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
    struct ring *r = &op->ring.rings[ring_of(c)];
    c->in_ring = true;
    c->ring.next = front ? r->first : NULL;
    if (front || !r->first)
        r->first = c;
    else
        r->last->ring.next = c;
    if (!front || !c->ring.next)
        r->last = c;
}

void ring_add(struct op *op, struct record *c)
{
    if (c->in_ring)
        return;
    c->ring.serial = ++op->ring.serial;
    ring_put(op, c, false);
}

struct ring *ring_next(struct op *op)
{
    struct ring *next = NULL;
    bool oldest = op->ring.picks % OLDEST == OLDEST - 1;
    for (uint32_t i = 0; i < OPERATOR_RINGS; i++) {
        struct ring *r = &op->ring.rings[i];
        if (r->first && (!next || (oldest && r->first->ring.serial < next->first->ring.serial)))
            next = r;
        if (next == &op->ring.rings[0])
            break; /* it has nothing to send */
    }
    return next;
}

struct record *ring_pop(struct ring *r)
{
    struct record *c = r->first;
    r->first = c->ring.next;
    return c;
}
