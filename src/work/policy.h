/* Inside work: what the files of the policy share. */
#ifndef MOBULA_WORK_POLICY_H
#define MOBULA_WORK_POLICY_H

#include <mobula/policy.h>

struct checker {
    struct reader r;
    const struct work_policy *policy;
    uint32_t rule;       /* the first that refused; 0: none */
    struct slice folder; /* the ConfigMap with the folder that came with the workload: no list has to name it */
};

/* Notes a refusal. */
void policy_refuse(struct checker *c, uint32_t rule, const struct place *at, const char *what);
/* The text must match the list; another type never does. */
void policy_listed(struct checker *c, uint32_t rule, const struct place *at, enum work_list list);
bool policy_matches(const struct work_policy *p, enum work_list list, struct slice text);

enum member_test { ANY, OFF, NEVER, LISTED, LOOK };

/* The allowed members of an object: every member that is none of these is refused by `other`. */
struct member_rule {
    const char *key;
    uint8_t rule, test, list; /* the latter two: enum member_test, enum work_list */
    void (*look)(struct checker *c, const struct place *at);
};
void policy_members(struct checker *c, const struct place *object, const struct member_rule *known, uint32_t other);
/* The same for each item of a list. */
void policy_items(struct checker *c, const struct place *list, const struct member_rule *known, uint32_t other);

void policy_metadata(struct checker *c, const struct place *at);
void policy_pod(struct checker *c, const struct place *spec); /* the member of a template, or of a Pod */

void policy_sources(struct checker *c, const struct place *at, struct jval env); /* sources.c: env is the parsed runtime environment */

#endif
