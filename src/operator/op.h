/* Inside operator: what it shows of itself. */
#ifndef MOBULA_OP_H
#define MOBULA_OP_H

#include <mobula/kinds.h>

/* health.c, metrics.c */
struct health *health_new(struct op *op, bool metrics);
void health_free(struct health *h);
struct link_accept *health_accept(struct health *h);
void metrics_write(const struct op *op, struct buf *b);

#endif
