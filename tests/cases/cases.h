/* Conformance cases of Ray's autoscaler: what their programs share. A case is run, or skipped with a reason. Beside the conventions that
 * the file's "meta" states, these words are read:
 *
 *   existing              the same as existing_nodes; of a v2 case, as instances
 *   count                 of a node, an instance, a demand or a request: so many of it
 *   demands_repeated      more demands: [{shape, count}], or {demands, times}: all of these so many times
 *   labels                of a node type of a v2 case: the labels of its nodes
 *   label_selector        of a request of a v2 case: labels that its node must have, a value for each
 *   score_first           the first part of a score: gpu_ok as true or false, else the number of matching types
 *   NAME_count            how many an answer's NAME has in all, where it does not matter which */
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
void kase_check_left(struct kase *k, const struct ray_want *wants, uint32_t count, const char *what);
/* Whether the case says what NAME is to be, or NAME_count: how many of it in all. */
bool kase_expects(const struct kase *k, const char *name);
/* Counts by name, absent ones being 0; only their sum where the case says no more. */
struct kase_count {
    struct slice name;
    int64_t count;
};
void kase_check_counts(struct kase *k, const struct kase_count *got, uint32_t count, const char *what);
void kase_check_total(struct kase *k, int64_t got, const char *what);

void run_v2_schedule(struct kase *k);
void run_v2_node_score(struct kase *k);
void check_score(struct kase *k, bool fits, const struct ray_score *got);

#endif
