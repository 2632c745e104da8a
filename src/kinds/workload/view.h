/* Inside workload: what its decision, a pure function, looks at and answers: what is made from a spec, a view of the workload and of its
 * objects, and the reports to the control plane. */
#ifndef MOBULA_WORKLOAD_VIEW_H
#define MOBULA_WORKLOAD_VIEW_H

#include <mobula/plan.h>
#include <mobula/pod.h>
#include <mobula/policy.h>
#include <mobula/work.h>

struct kind;

/* The kinds of objects that workloads become, a line each. Actions and flights carry the number of the line as their index. */
struct workload_form {
    enum work_kind work;
    const struct kind *kind;
    bool has_folder; /* its pods mount the folder that came with the workload */
    bool by_spec;    /* the state that is reported depends on its spec, too */
};
enum { WORKLOAD_FORMS = 3 };
extern const struct workload_form workload_forms[WORKLOAD_FORMS]; /* kind.c */
int32_t workload_form_of(const struct kind *k);                   /* -1: no workload becomes such an object */

/* The objects made from a spec. */
struct workload_model {
    bool terminate;
    int32_t form;              /* of workload_forms; -1: there is no object, because the workload is refused or to be ended */
    struct slice name, object; /* object: for server-side apply */
    struct jval made;          /* the same, indexed */
    const char *reason;        /* of a refusal, in one word … */
    struct slice message;      /* … and in a sentence */
    uint32_t rule;             /* that refused; 0: none */
    struct work_size size;
    struct slice folder; /* SHA-256 of the folder that came with it; empty: none */
};

/* The reason for a workload's present state, as it is reported to the control plane. */
struct workload_wait {
    uint32_t rule;
    const char *reason;
    struct slice message;
    int64_t look_ms; /* look again then */
};

struct workload_object {
    int32_t form;          /* of workload_forms */
    int64_t generation;    /* of the workload, as it stands on the object */
    struct work_object is; /* as the API server has it */
};

/* Whether the name that the model is to have is taken, by an object that is not of this workload. */
enum workload_name { WORKLOAD_NAME_FREE, WORKLOAD_NAME_GOING, WORKLOAD_NAME_TAKEN };

struct workload_view {
    struct slice uid, ns;
    int64_t generation, made, over;
    bool known; /* there is a spec */
    bool ended, held, outside;
    struct slice frozen; /* why remote writes are frozen; .ptr NULL: they are not */
    const struct workload_model *model;
    const struct workload_object *objects;
    uint32_t count;
    enum workload_name name;          /* of the model */
    struct slice lacks;               /* why objects of the model's kind cannot be made here; .ptr NULL: they can */
    bool quiet;                       /* sendMessages of the policy is false */
    const struct workload_wait *wait; /* a quota or a rate stands in the way of what the same view without it comes to; NULL: none does */
    const struct group_failures *refusals;
    struct slice folder_missing; /* why the folder that the pods wait for cannot be stored; .ptr NULL: it is stored, or on its way */
    struct now now;
};

/* The actions for it. */
extern const struct verb workload_apply, workload_delete; /* name; delete: uid, and index is the form */

struct workload_told {
    struct slice report; /* the status, as JSON in a; empty: there is nothing to tell */
    bool withheld;       /* it lacks what the policy's sendMessages keeps back */
    uint32_t rule;       /* of the policy, that keeps the workload from being carried out; 0: none */
    struct slice why;    /* … in its words */
    int64_t over;        /* the generation that the object shows to have ended; 0: none */
};
void workload_decide(const struct workload_view *in, struct arena *a, struct plan *p, struct workload_told *out);

#endif
