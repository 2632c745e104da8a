/* inspect: all that tests, the simulator and the fuzzers see of the controller core: copies of what an operator knows, in words that stay
 * when the core changes, and, at the end, a way to tell it of objects without a server. The program calls none of this, and its linker
 * leaves it out. A part of the room operator. Slices and pointers are valid until the operator's next step. */
#ifndef MOBULA_INSPECT_H
#define MOBULA_INSPECT_H

#include <mobula/operator.h>
#include <mobula/plan.h>
#include <mobula/pod.h>

struct inspect_figures {
    bool leading, stopping;
    bool waits;       /* a record is to be decided at once */
    bool types;       /* instance types are in force */
    bool policy_file; /* that of the policy is broken */
    uint32_t records, pods, services;
    uint64_t allocated; /* records, pods, services and requests in memory, known to somebody or not */
    uint32_t strings, tools, timers;
    uint32_t calls; /* without an answer yet */
    uint64_t decisions, plans, scalings, plane_calls, watch_restarts, events_dropped;
};
struct inspect_figures inspect_figures(const struct op *op);
uint32_t inspect_old_plans(const struct op *op, int64_t until_ms); /* plans under way that were decided at that time or before */
struct kube_lease *inspect_lease(const struct op *op);             /* NULL: without leader election */
void inspect_metrics(const struct op *op, struct buf *out);

/* ---- kinds and what is known of them ---- */

uint32_t inspect_kinds(void);
struct inspect_kind {
    const char *resource, *name; /* "rayclusters.ray.io" and "RayCluster", "pods" and "Pod" */
    bool stored;                 /* in the API server, and watched there */
    bool decided;                /* the operator decides on its objects; else they are children of such ones */
};
bool inspect_kind(uint32_t number, struct inspect_kind *out); /* false: there are no more */
uint32_t inspect_namespaces(const struct op *op);             /* watched ones; 1: all of them, perhaps */
/* How one kind is watched in one of the operator's namespaces. */
struct inspect_view {
    bool complete;    /* its list, or it is known that no such object exists */
    bool again;       /* it has been listed more than once */
    uint64_t version; /* the watch has told everything up to it; 0: it has not, or nothing is watched */
};
struct inspect_view inspect_view(const struct op *op, uint32_t ns, uint32_t kind);
struct inspect_setting {
    bool known, broken, empty; /* empty: no text was taken, or it went */
    const struct err *why;
};
struct inspect_setting inspect_setting(const struct op *op, const char *setting);
/* The setting's place in operator_options.settings: "policy" is that of --policy-configmap. */
uint32_t inspect_setting_place(const char *setting);

/* ---- records ---- */

struct inspect_record {
    const char *kind; /* its resource, as inspect_kind has it */
    struct slice ns, name, uid, spec, status;
    bool present, deleting;
    bool backs_off; /* it, or a group of it */
    bool head;      /* it has a head pod that is not being deleted */
    uint32_t pods, in_flight, head_failures;
    int64_t generation;
    uint64_t version;
    const struct verb *asks; /* of a RayJob: the question that its dashboard has not answered yet; NULL: none */
    const struct record *record;
};
bool inspect_record(struct op *op, struct slice uid, struct slice ns, struct inspect_record *out);
/* for (uint32_t at = 0; inspect_records(op, &at, &r);) */
bool inspect_records(const struct op *op, uint32_t *at, struct inspect_record *out);
/* The same of the records that *of owns. */
bool inspect_owned(const struct op *op, const struct inspect_record *of, uint32_t *at, struct inspect_record *out);
const struct verb *inspect_action(const struct inspect_record *r, uint32_t number); /* of its plan; NULL: there are no more */

struct inspect_pod {
    const struct pod *pod;
    bool by_us;   /* our DELETE is under way, or was accepted */
    bool present; /* its owner is there */
};
bool inspect_pods(const struct op *op, uint32_t *at, struct inspect_pod *out);
struct inspect_service {
    const struct service *service;
    bool present;
};
bool inspect_services(const struct op *op, uint32_t *at, struct inspect_service *out);

/* ---- an operator without a server ---- */

/* As a watch of its first namespace would tell of this object, or of its end. False: there is no such kind, or that is no object. */
bool inspect_tell(struct op *op, struct slice kind, struct slice object, bool gone);
void inspect_complete(struct op *op); /* as if all lists were complete */
/* The invariant of records that is violated, whatever an operator received; NULL: all does. */
const char *inspect_broken(struct op *op);

#endif
