/* policy: what a control plane may have made in this cluster. The administrator's own file says so; nothing that comes over the wire
 * changes it. Everything that it does not allow is refused, fields that nobody here knows too. In the room work. */
#ifndef MOBULA_POLICY_H
#define MOBULA_POLICY_H

#include <mobula/shape.h>

/* The 28 rules, by number. Rules with of_object are checked by work_policy_check; the others by the code that talks to the control plane
 * and by the code that writes objects. */
enum { WORK_RULES = 28 };
enum {
    WORK_RULE_RESOURCES = 10,
    WORK_RULE_OWNERSHIP = 16,
    WORK_RULE_READS = 17,
    WORK_RULE_STATUS = 18,
    WORK_RULE_REDIRECTS = 19,
    WORK_RULE_REPLAYS = 20,
    WORK_RULE_MESSAGES = 21,
    WORK_RULE_CLOCKS = 22,
    WORK_RULE_FLOODS = 23,
    WORK_RULE_KINDS = 24,
    WORK_RULE_FREEZE = 25,
    WORK_RULE_SOURCES = 27,
    WORK_RULE_HOSTS = 28,
};
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
    WORK_SOURCES,
    WORK_HOSTS,
    WORK_LISTS,
};

/* Requests of pods. An amount that cannot be read counts as LIMIT_RAY_AMOUNT, more than any node has. */
struct work_size {
    int64_t milli_cpu, memory, gpus, pods;
};
void work_size_add(struct work_size *to, const struct work_size *one, int64_t times); /* -1 times: takes it away */
/* Of a pod template; one that names an instance type asks for that, and for what its containers have beside it. types: NULL: not known. */
void work_pod_size(struct jval template, const struct shape_types *types, struct arena *a, struct work_size *out);
int64_t work_group_pods(struct jval group); /* at its largest */
/* Of all pods of a RayCluster, a RayJob, a RayService or a VersionedService at its largest, by its spec. */
void work_size(struct jval spec, const struct shape_types *types, struct arena *a, struct work_size *out);
/* The field of a policy by which it is too much, as maxTotalCPU; NULL: none. */
const char *work_size_above(const struct work_size *size, const struct work_size *most);

struct work_policy {
    bool frozen;                           /* the kill switch: nothing is written */
    bool sidecars;                         /* further containers, init containers, lifecycle hooks and exec probes are allowed */
    bool digests;                          /* images need a digest */
    bool logs, messages;                   /* sendLogs, sendMessages: what may go to the control plane */
    struct slice prefix;                   /* that names begin with; may be empty */
    struct work_size pod, all;             /* of one pod, and pods of one cluster; of all that runs for the control plane. 0: no limit */
    int64_t objects, project_objects;      /* there at a time, in all and of one project; 0: no limit */
    int64_t new_a_minute, writes_a_minute; /* 0: no limit */
    int64_t grace_s;                       /* the longest terminationGracePeriodSeconds of a pod */
    const struct shape_types *types;       /* that pods may name; NULL: not known */
    struct {
        const struct slice *list; /* "*" stands for any text */
        uint32_t count;
    } allowed[WORK_LISTS];
};

/* The policy without a file: any namespace and any image, nothing else that must be named. */
void work_policy_default(struct work_policy *out);
/* Reads the file's document; every error at once goes to r->errors. With an error nothing is allowed (frozen). */
bool work_policy_read(struct reader *r, const struct place *at, struct work_policy *out);
bool work_policy_field(struct slice name); /* whether a policy has a field of this name */
/* work_policy_read of the file's text; its errors have lines. Everything is in a. */
bool work_policy_text(struct slice text, struct arena *a, struct work_policy *out, struct spec_errors *errors);
/* Whether an object that comes from a workload may be written: a RayCluster, a RayJob, a VersionedService, or a Pod, Service or Ingress of
 * the same origin. Each refusal goes to *refused as "rule NAME: WHAT: WHAT TO DO", with its path. *rule: the number of the first; 0 when it
 * may. */
bool work_policy_check(const struct work_policy *policy, struct jval object, struct arena *a, struct spec_errors *refused, uint32_t *rule);
/* Whether an object that is there already belongs to this workload: nothing else is changed or deleted for it. */
bool work_owns(struct jval object, struct slice uid);

#endif
