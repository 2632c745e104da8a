/* Laying one pod template over another. */
#ifndef MOBULA_SHAPE_OVERLAY_H
#define MOBULA_SHAPE_OVERLAY_H

#include <mobula/json.h>

/* As RFC 7386, but lists whose items have a name in Kubernetes (containers, volumes, env …) are merged by it, and tolerations are added.
 * null takes a member away. False with *e: the result is larger than LIMIT_JSON_ITEM. */
bool overlay(struct jval under, struct jval over, struct arena *a, struct slice *out, struct err *e);

#endif
