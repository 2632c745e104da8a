/* Inside rayservice: the state of one decision, shared by decide.c, ask.c and status.c. */
#ifndef MOBULA_RAYSERVICE_DECIDE_H
#define MOBULA_RAYSERVICE_DECIDE_H

#include "rayservice.h"

struct service_decision {
    const struct service_view *in;
    const struct rayservice *s;
    struct arena *a;
    struct plan *p;
    struct jval prior;                      /* the status that the server has */
    const struct service_cluster *active;   /* the services lead to it; NULL: to none */
    const struct service_cluster *pending;  /* the cluster that will become active; NULL: none, or it does not exist yet */
    const struct service_cluster *switched; /* the pending cluster to which both services lead now: it becomes active; NULL: none */
    bool missing;                           /* the cluster that the spec asks for does not exist */
    bool rollback;                          /* requests go back to the active cluster: the spec is no more the pending one's */
    bool moved;                             /* all requests and all capacity are with the pending cluster */
    bool due;                               /* a step waits for the next answer of a head */
    int32_t weight;                         /* percent of the requests that the pending cluster is to get */
    struct slice waits;                     /* the condition that the next step waits for */
    bool timed_out;                         /* no cluster became active within the initializing timeout: all are deleted */
};

/* decide.c */
/* Whether the configuration of the spec is for this cluster: the pending one, else the active one. Other clusters keep theirs. */
bool rayservice_wanted(const struct service_decision *d, const struct service_cluster *c);
bool rayservice_fits(const struct service_decision *d, const struct service_cluster *c);
/* Whether all applications of the cluster run and a pod takes requests; of a wanted cluster with the spec's configuration. False: *why says
 * what is missing; why may be NULL. */
bool rayservice_runs(const struct service_decision *d, const struct service_cluster *c, struct slice *why);
/* The same of the applications alone. */
bool rayservice_apps_run(const struct service_decision *d, const struct service_cluster *c, struct slice *why);
/* rayservice.config_hash of the configuration last sent to the cluster's head; 0: not known. */
uint64_t rayservice_given(const struct service_decision *d, const struct service_cluster *c);
/* An action about this cluster: its name and uid. */
struct action *rayservice_add(struct service_decision *d, const struct verb *verb, const struct service_cluster *c);

/* steps.c: an upgrade in steps */
void rayservice_steps(struct service_decision *d); /* decides the next step, and the routes */
bool rayservice_in_steps(const struct service_decision *d);
bool rayservice_rolled_back(const struct service_decision *d); /* the pending cluster gets no requests, and the active one is whole */
int32_t rayservice_capacity(const struct service_decision *d, const struct service_cluster *c);  /* percent that its head has taken */
int32_t rayservice_goal(const struct service_decision *d, const struct service_cluster *c);      /* percent that it is to have */
int32_t rayservice_traffic(const struct service_decision *d, const struct service_cluster *c);   /* percent; -1: no route tells */
struct jval rayservice_prior(const struct service_decision *d, const struct service_cluster *c); /* its text in status */
/* Why requests do not come through the Gateway; empty: they do. */
struct slice rayservice_routes_trouble(const struct service_decision *d);
/* Whether the list of Gateways or HTTPRoutes has not arrived yet. */
bool rayservice_routes_unknown(const struct service_decision *d);
/* Plans that both routes go. Returns whether they are gone. */
bool rayservice_end_routes(struct service_decision *d, const char *why);

/* ask.c: requests to the cluster's head, and the label of a head that takes Serve requests */
void rayservice_ask(struct service_decision *d, const struct service_cluster *c);

/* status.c: adds the status patch when it says something new, and events that belong to it. Returns whether the server has it already. */
bool rayservice_decide_status(struct service_decision *d);

#endif
