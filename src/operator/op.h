/* Inside operator: what it shows of itself. */
#ifndef MOBULA_OP_H
#define MOBULA_OP_H

#include <mobula/kind_raycluster.h>
#include <mobula/kind_rayjob.h>
#include <mobula/kind_route.h>
#include <mobula/kind_workload.h>
#include <mobula/kinds.h>
#include <mobula/serve.h>
#include <mobula/settings.h>

/* health.c, metrics.c */
enum health_serves { HEALTH_PROBES, HEALTH_STATUS, HEALTH_FIGURES };
struct serve *health_new(struct op *op, enum health_serves what);
void metrics_write(const struct op *op, struct buf *b);

#endif
