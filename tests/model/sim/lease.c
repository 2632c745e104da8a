/* Who leads, as the store has it: the Lease is read as it is stored, and its times are the world's. What an operator thinks of its lease is
 * not asked but to hold it against this. */
#include "sim.h"

#include "tests/model/apiserver/dom.h"

#include <mobula/inspect.h>

enum { EDIT_MS = 20 * 1000 }; /* an edit has no more to do with what is seen so much later */

static const char *const identities[WORLD_PROCESSES] = {"op-0", "op-1"};

void lease_started(struct sim *s, uint32_t process)
{
    s->lease.has_seen[process] = false;
    s->lease.sent_ms[process] = s->lease.stored_ms[process] = INT64_MIN / 2;
}

void lease_arrived(struct sim *s, const struct world_request *q)
{
    if (slice_starts(q->target, SLICE("/apis/coordination.k8s.io/")))
        s->lease.asked_ms = q->began_ms - WORLD_START_MS;
}

/* A record that bears an operator's name was written by that operator, in the request that is being served: whoever tampers with it puts
 * others' names. Its renewTime is told by a clock that may be wrong by an hour, so what counts is when it was sent. */
void lease_changed(struct sim *s, const struct apiserver_change *c)
{
    struct slice holder = SLICE_NONE;
    if (!slice_eq(c->plural, SLICE("leases")))
        return;
    const struct node *lease = c->what == APISERVER_DELETED ? NULL : dom_reread(c->json, &s->arena);
    if (lease)
        holder = dom_str(lease, "spec.holderIdentity");
    s->lease.holder = -1;
    for (int i = 0; i < WORLD_PROCESSES; i++)
        if (slice_eq(holder, slice_of(identities[i]))) {
            s->lease.holder = i;
            s->lease.sent_ms[i] = s->lease.asked_ms;
            s->lease.stored_ms[i] = sim_now(s);
            s->lease.ms = dom_int(lease, "spec.leaseDurationSeconds", 0) * 1000;
        }
}

/* It may act until SIM_RENEW_MS after it has sent what was stored, and no longer than the record says that others wait; and as long as the
 * record bears its name. Who loses the lease to the hand of somebody who edits it learns that with the next renewal. */
bool lease_holds(const struct sim *s, uint32_t process)
{
    int64_t lasts = s->lease.ms < SIM_RENEW_MS ? s->lease.ms : SIM_RENEW_MS;
    bool mine = s->lease.holder == (int)process || s->tampered_ms >= s->lease.stored_ms[process];
    return !s->plan->setup.elect || (mine && sim_now(s) < s->lease.sent_ms[process] + lasts);
}

/* Whoever has seen another hold the Lease does not take it while that one may not know that it was deleted. A process that has just started
 * has seen nobody, and whose name was written over by hand nobody can know. */
void lease_step(struct sim *s)
{
    uint32_t holders = 0;
    for (uint32_t i = 0; i < WORLD_PROCESSES; i++) {
        const struct process *p = &s->w.process[i];
        if (!p->op || !inspect_lease(p->op))
            continue;
        struct slice holder = kube_lease_holder(inspect_lease(p->op));
        s->lease.has_seen[i] |= !slice_empty(holder) && !slice_eq(holder, slice_of(identities[i]));
        if (!kube_lease_held(inspect_lease(p->op), world_process_now(p)))
            continue;
        holders++;
        if (!lease_holds(s, i))
            sim_violation(s, "one leader", "op-%u takes itself for the leader, and by the Lease it is not", i);
    }
    int by = s->lease.holder;
    if (holders > 1 && by >= 0 && s->lease.has_seen[by] && sim_now(s) >= s->edited_ms + EDIT_MS)
        sim_violation(s, "one leader", "op-%d has taken the Lease, and another process still leads", by);
}
