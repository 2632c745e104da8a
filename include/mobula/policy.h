/* policy: what a control plane may have made in this cluster. The administrator's own file says so; nothing that comes over the wire
 * changes it. Everything that it does not allow is refused, fields that nobody here knows too. In the room work. */
#ifndef MOBULA_POLICY_H
#define MOBULA_POLICY_H

#include <mobula/shape.h>
#include <mobula/spec.h>
#include <mobula/work.h>

/* The 26 rules, by number. Those of an object are what work_policy_check looks for; the others are kept by who speaks to the control plane
 * and by who writes. */
enum { WORK_RULES = 26 };
struct work_rule {
    const char *name; /* "secrets" */
    const char *says;
    bool of_object;
};
extern const struct work_rule work_rules[WORK_RULES + 1]; /* [0] is none */

enum work_list {
    WORK_NAMESPACES,
    WORK_ACCOUNTS,
    WORK_SECRETS,
    WORK_CONFIGMAPS,
    WORK_CLAIMS,
    WORK_IMAGES,
    WORK_PULL_SECRETS,
    WORK_NODE_LABELS,
    WORK_TOLERATIONS,
    WORK_PRIORITY_CLASSES,
    WORK_SCHEDULERS,
    WORK_RUNTIME_CLASSES,
    WORK_LABELS,
    WORK_LISTS,
};

struct work_policy {
    bool frozen;                           /* the kill switch: nothing is written */
    bool sidecars;                         /* further containers, init containers, lifecycle hooks and exec probes are allowed */
    bool digests;                          /* images need a digest */
    struct slice prefix;                   /* that names begin with; may be empty */
    int64_t milli_cpu, memory, gpus, pods; /* of one pod; of one cluster. 0: no limit */
    struct {
        const struct slice *list; /* "*" stands for any text */
        uint32_t count;
    } allowed[WORK_LISTS];
};

/* What holds without a file: any namespace and any image, nothing else that must be named. */
void work_policy_default(struct work_policy *out);
/* Reads the file's document; every error at once goes to r->errors. With an error nothing is allowed (frozen). */
bool work_policy_read(struct reader *r, const struct place *at, struct work_policy *out);
/* The same of the file's text, with lines. Everything is in a. */
bool work_policy_text(struct slice text, struct arena *a, struct work_policy *out, struct shape_errors *errors);
/* Whether an object that comes from a workload may be written: a RayCluster, a RayJob, or a Pod, Service or Ingress of the same origin.
 * Each refusal goes to *refused as "rule NAME: WHAT: WHAT TO DO", with its path. *rule: the number of the first; 0 when it may. */
bool work_policy_check(const struct work_policy *policy, struct jval object, struct arena *a, struct ray_errors *refused, uint32_t *rule);
/* Whether an object that is there already belongs to this workload: nothing else is changed or deleted for it. */
bool work_owns(struct jval object, struct slice uid);

#endif
