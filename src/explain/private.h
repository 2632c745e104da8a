/* Lines that the texts of `mobula explain cluster`, `service` and `job` have in common, and what they read for them. */
#ifndef MOBULA_EXPLAIN_PRIVATE_H
#define MOBULA_EXPLAIN_PRIVATE_H

#include <mobula/explain.h>

#include <mobula/control.h>

/* Reads the object at the path. False: *silence is the reason, *code the HTTP status; 0: no answer. */
bool explain_find(struct seek *s, struct slice path, struct jval *out, struct slice *silence, int *code);
/* The object of that kind and name. */
bool explain_find_object(struct seek *s, const struct kind *kind, struct slice name, struct jval *out, struct err *e);
/* Whether the namespace of the object is known to have no installation that watches it for kinds of its API group. */
bool explain_unwatched(struct seek *s, struct jval object);
/* "5 min": the time from then to now, both wall time in microseconds; 0 s if it is negative. */
const char *explain_age(int64_t now_us, int64_t then_us, struct arena *a);
/* Appends lines about the operator that reconciles the object. lacks: the kind and the flag of `mobula install` without which an operator
 * ignores it; NULL: every operator reconciles the kind. */
void explain_put_operator(struct jval object, bool unwatched, const char *const lacks[2], struct arena *a, struct buf *out);

#endif
