/* kind_workload: functions of the kind Workload that the operator calls. A workload is a request of a control plane to run a job here. */
#ifndef MOBULA_KIND_WORKLOAD_H
#define MOBULA_KIND_WORKLOAD_H

#include <mobula/control.h>

extern const struct kind kind_workload;

void workloads_init(struct op *op, struct net *net);
void workloads_free(struct op *op); /* after the records */
void workloads_renew(struct op *op);
bool workloads_stop(struct op *op);                         /* releases the cloud; true: nothing is in flight any more */
int64_t workloads_tick(struct op *op);                      /* returns when to call again */
void workloads_figures(const struct op *op, struct buf *b); /* lines of /metrics */
uint64_t workloads_calls(const struct op *op);              /* made to the control plane */

/* checks.c: health checks of this operator and its cluster, reported to the control plane */
void checks_init(struct op *op);
void checks_free(struct op *op);
int64_t checks_tick(struct op *op); /* returns when to call again */
/* A line for each component. False: one is not well, or nothing has been checked yet. */
bool checks_run(struct op *op, struct buf *out);
void checks_config(const struct op *op, struct buf *out); /* how it was started, as JSON, without secrets */

#endif
