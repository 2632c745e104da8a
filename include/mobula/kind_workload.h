/* kind_workload: what the operator uses of workloads, which a control plane wants to run here. */
#ifndef MOBULA_KIND_WORKLOAD_H
#define MOBULA_KIND_WORKLOAD_H

#include <mobula/control.h>

extern const struct kind kind_workload;

void workloads_init(struct op *op, struct net *net);
void workloads_free(struct op *op); /* after the records */
void workloads_renew(struct op *op);
bool workloads_stop(struct op *op);                         /* gives the cloud back; returns whether nothing is left to wait for */
int64_t workloads_tick(struct op *op);                      /* returns when to call again */
void workloads_figures(const struct op *op, struct buf *b); /* lines of /metrics */
uint64_t workloads_calls(const struct op *op);              /* made to the control plane */

/* checks.c: what this operator checks of itself and its cluster, and reports */
void checks_init(struct op *op);
void checks_free(struct op *op);
int64_t checks_tick(struct op *op); /* returns when to call again */
/* A line for each component. False: one is not well, or nothing has been checked yet. */
bool checks_run(struct op *op, struct buf *out);
void checks_config(const struct op *op, struct buf *out); /* how it was started, as JSON, without secrets */

/* policy.c: what a control plane may have made here, and a struct setting_kind */
bool policy_text(struct op *op, struct slice text, struct err *e);
/* It has changed, or what it is held against, as the sizes of instance types: what was decided by it, and is not written yet, is decided
 * again. */
void policy_anew(struct op *op);
void policy_free(struct op *op);
bool policy_start(struct op *op, struct err *e); /* reads the policy file, if there is one */
bool policy_file_broken(const struct op *op);    /* what it holds now is not what is in force */

#endif
