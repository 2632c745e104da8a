/* Inside operator: what it shows of itself. */
#ifndef MOBULA_OP_H
#define MOBULA_OP_H

#include <mobula/kinds.h>
#include <mobula/serve.h>

/* health.c, metrics.c */
struct serve *health_new(struct op *op, bool figures);
void metrics_write(const struct op *op, struct buf *b);

#endif
