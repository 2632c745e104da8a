/* Conformance cases of Ray's autoscaler: what their programs share. A case is run, or skipped with a reason. */
#ifndef MOBULA_CASES_H
#define MOBULA_CASES_H

#include <mobula/json.h>

#include "src/scale/private.h"

struct kase {
    struct arena *a;
    struct jval types; /* the case's node types, or the set that it names */
    struct jval input, expected;
    struct slice skip;  /* why it cannot be run; empty: it was */
    struct slice wrong; /* what differs; empty: nothing */
};

PRINTF_LIKE(2, 3) void kase_skip(struct kase *k, const char *fmt, ...);
PRINTF_LIKE(2, 3) void kase_wrong(struct kase *k, const char *fmt, ...);
/* Skips the case when `object` has a member that is not among the words. */
void kase_known(struct kase *k, struct jval object, const char *what, const char *const *words);

int64_t kase_int(struct jval object, const char *key, const char *other, int64_t otherwise);
struct ray_bundle kase_bundle(struct kase *k, struct jval shape);
/* [{shape, count}] in their order, equal neighbours not merged; learned. */
struct scale_wants kase_wants(struct kase *k, struct ray_pack *p, struct jval list);
void kase_learn(struct kase *k, struct ray_pack *p, struct jval list);
/* The same amounts under the same names. */
bool kase_same_bundle(const struct ray_bundle *a, const struct ray_bundle *b);
/* What is left of the wants is what `want` lists, in any order. */
void kase_check_left(struct kase *k, const struct ray_want *wants, uint32_t count, struct jval want, const char *what);
/* Counts by name, absent ones being 0. */
struct kase_count {
    struct slice name;
    int64_t count;
};
void kase_check_counts(struct kase *k, const struct kase_count *got, uint32_t count, struct jval want, const char *what);

void run_v2_schedule(struct kase *k);
void run_v2_node_score(struct kase *k);
void check_score(struct kase *k, bool fits, const struct ray_score *got, struct jval want);

#endif
