/* What must hold of an operator's records, whatever it was told. */
#ifndef MOBULA_FUZZ_OP_RECORDS_H
#define MOBULA_FUZZ_OP_RECORDS_H

#include "tests/unit/kube/fakenet.h"
#include <mobula/kinds.h>

static void check_pod(const struct pod_record *r)
{
    const struct pod *p = &r->pod;
    if (strnlen(p->name, sizeof p->name) == sizeof p->name || strnlen(p->uid, sizeof p->uid) == sizeof p->uid ||
        strnlen(p->ip, sizeof p->ip) == sizeof p->ip)
        abort();
    if (p->phase > POD_UNKNOWN || p->index < -1 || p->host < 0 || (p->ready && p->phase != POD_RUNNING) || !p->uid[0])
        abort();
}

/* Clusters know the job that owns them, which is of their namespace, and it them; only jobs follow clusters that are not their own, and as
 * many as are counted. */
static void check_jobs(struct op *op)
{
    struct cluster *c;
    uint32_t owned = 0, follows = 0;
    for (uint32_t i = 0; (c = map_next(&op->clusters, &i)) != NULL;) {
        owned += c->owner != NULL;
        for (const struct cluster *own = c->clusters; own; own = own->next_owned, owned--)
            if (own->owner != c || own->kind == &kind_rayjob || own->ns != c->ns)
                abort();
        if (c->job && (c->job->c != c || c->kind != &kind_rayjob))
            abort();
        follows += c->job && c->job->follows.at;
    }
    if (owned || follows != op->watched)
        abort();
}

/* Each record is in its cluster's list and the lists hold nothing else. */
static void check_records(struct op *op)
{
    const struct pod_record *r;
    struct cluster *c;
    uint32_t pods = 0;
    for (uint32_t i = 0; (r = map_next(&op->pods, &i)) != NULL; pods++) {
        check_pod(r);
        if (cluster_get(op, slice_of(r->of->uid), istr_slice(r->of->ns)) != r->of)
            abort();
    }
    for (uint32_t i = 0; (c = map_next(&op->clusters, &i)) != NULL;) {
        uint32_t count = 0;
        for (const struct pod_record *p = c->pods; p; p = p->next, count++)
            if (p->of != c)
                abort();
        if (count != c->pod_count || count > pods)
            abort();
        pods -= count;
    }
    if (pods)
        abort();
    check_jobs(op);
}

#endif
