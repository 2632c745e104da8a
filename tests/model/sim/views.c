/* What an operator takes for the state of the store. Its first view is never one of before it started, which a lagging server may still
 * have, and no view is older than the one before it. */
#include "sim.h"

#include <mobula/inspect.h>

void views_started(struct sim *s, uint32_t process)
{
    memset(&s->view[process], 0, sizeof s->view[process]);
    s->view[process].since = apiserver_revision(s->w.server);
}

static void look(struct sim *s, uint32_t process, uint32_t ns, uint32_t source)
{
    struct inspect_view w = inspect_view(s->w.process[process].op, ns, source);
    struct inspect_kind kind;
    uint64_t *seen = &s->view[process].version[ns][source], since = s->view[process].since;
    if (!inspect_kind(source, &kind) || !w.version)
        return;
    if (!*seen && w.version < since)
        sim_violation(s, "no view of before it started", "op-%u: %s at %llu, and it started at %llu", process, kind.resource,
                      (unsigned long long)w.version, (unsigned long long)since);
    if (w.version < *seen)
        sim_violation(s, "time never goes back", "op-%u: %s from %llu to %llu", process, kind.resource, (unsigned long long)*seen,
                      (unsigned long long)w.version);
    *seen = w.version;
}

void views_look(struct sim *s)
{
    for (uint32_t i = 0; i < WORLD_PROCESSES; i++) {
        const struct op *op = s->w.process[i].op;
        for (uint32_t n = 0; op && n < inspect_namespaces(op); n++)
            for (uint32_t k = 0; k < inspect_kinds(); k++)
                look(s, i, n, k);
    }
}
