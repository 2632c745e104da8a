/* Drops parts of a plan, larger ones first, as long as what is left breaks the same invariant. */
#include "sim.h"

static bool still_broken(const struct sim_plan *p, const char *which)
{
    struct sim_result *r = mem_alloc(sizeof *r);
    sim_both(p, false, NULL, r);
    bool same = strcmp(r->which, which) == 0;
    mem_free(r);
    return same;
}

static void without(const struct sim_plan *p, uint32_t from, uint32_t count, struct sim_plan *out)
{
    *out = *p;
    uint32_t rest = p->count - from - count;
    memmove(out->entries + from, out->entries + from + count, rest * sizeof out->entries[0]);
    out->count = from + rest;
}

void sim_minimise(struct sim_plan *p, const char *which, FILE *out)
{
    struct sim_plan *less = mem_alloc(sizeof *less);
    for (uint32_t part = (p->count + 1) / 2; part > 0;) {
        bool dropped = false;
        for (uint32_t from = 0; from < p->count;) {
            uint32_t count = part < p->count - from ? part : p->count - from;
            without(p, from, count, less);
            if (still_broken(less, which)) {
                *p = *less;
                dropped = true;
            } else {
                from += count;
            }
        }
        if (out)
            fprintf(out, "%u entries are left\n", p->count);
        if (part > 1)
            part = (part + 1) / 2;
        else if (!dropped)
            break;
    }
    mem_free(less);
}
