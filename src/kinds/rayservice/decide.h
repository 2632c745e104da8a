/* Inside rayservice: what a decision has found out, for its parts. */
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
    const struct service_cluster *pending;  /* it is to become the active one; NULL: none, or it does not exist yet */
    const struct service_cluster *switched; /* this decision saw that both services lead to it now: it becomes the active one; NULL: none */
    bool missing;                           /* the cluster that the spec asks for does not exist */
    bool timed_out;                         /* no cluster was ready within the initializing timeout: given up */
};

/* decide.c */
/* The cluster is the one that the spec asks for: it gets the configuration of the spec. Another one goes on with its own. */
bool rayservice_wanted(const struct service_decision *d, const struct service_cluster *c);
/* All applications run, with the configuration of the spec where there is one. *why: what keeps them from it; may be NULL. */
bool rayservice_runs(const struct service_decision *d, const struct service_cluster *c, struct slice *why);
/* The configuration that its head was given last, by rayservice.config_hash; 0: not known. */
uint64_t rayservice_given(const struct service_decision *d, const struct service_cluster *c);

/* ask.c: questions to heads, and the label of heads that take requests */
void rayservice_ask(struct service_decision *d, const struct service_cluster *c);

/* status.c: adds the status patch when it says something new, and events that belong to it. Returns whether the server has it already. */
bool rayservice_decide_status(struct service_decision *d);

#endif
