/* A control plane in a world: workloads with generations, answers that are held until there is news, and what can go wrong with them. */
#ifndef SIM_PLANE_H
#define SIM_PLANE_H

#include "world.h"

#define PLANE_CLOUD "cldrsrc_abcdefghijklmnopqrstuvwx"

struct plane_workload {
    struct plane_workload *next;
    char uid[40], project[64], name[64];
    int64_t generation, observed; /* observed: of the last status */
    uint64_t changed;             /* revision */
    bool deleted;                 /* has a tombstone */
    char *spec;
    char *status;     /* what was reported last; NULL: nothing */
    uint32_t reports; /* of its status */
    char *states;     /* all that were reported, each once in a row: "PENDING STARTING" */
};

struct plane_link;
struct plane {
    struct world_far far; /* first */
    struct world *world;
    struct kube_config *config; /* how it is reached */
    struct plane_workload *first;
    struct plane_link *links;
    uint64_t revision, oldest;          /* who knows less than `oldest` gets everything */
    uint32_t page;                      /* workloads in one answer; 0: all */
    bool down;                          /* connections are refused, and those that stand break */
    int status;                         /* of every answer instead of 200 */
    const char *headers;                /* … and more of its headers; NULL: none */
    const char *text;                   /* … or this body */
    const char *questions;              /* a JSON list for the next answer; NULL: none */
    const char *image;                  /* of workloads that name none; NULL: there is none */
    struct operator_plane more;         /* policy_file and read_file of the operator */
    const char *answered;               /* the last answers that came, in the world's arena … */
    const char *reported;               /* … and what pods had reported */
    uint32_t calls, full, held, broken; /* broken: requests that are none */
    uint32_t links_most;
};

/* Before the operator is started. */
void plane_begin(struct plane *p, struct world *w);
void plane_free(struct plane *p);
/* A workload, or a change of its spec. uid: of its first character and zeros. */
struct plane_workload *plane_put(struct plane *p, char uid, const char *project, const char *name, const char *spec);
struct plane_workload *plane_find(const struct plane *p, struct slice uid);
void plane_delete(struct plane *p, struct plane_workload *x); /* by a tombstone: it is there until DELETED is reported */
void plane_lose(struct plane *p, struct plane_workload *x);   /* as if it had never been */
/* What the last report says, "" when nothing does. */
struct slice plane_says(const struct plane *p, const struct plane_workload *x, const char *path);

#endif
