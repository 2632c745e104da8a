/* kind_raycluster: functions of the kind RayCluster that higher kinds and the operator call. Its decisions are in raycluster.h. */
#ifndef MOBULA_KIND_RAYCLUSTER_H
#define MOBULA_KIND_RAYCLUSTER_H

#include <mobula/heads.h>
#include <mobula/kind_child.h>
#include <mobula/raycluster.h>
#include <mobula/shape.h>

extern const struct kind kind_raycluster, kind_raycluster_legacy;

/* The ray.io/v1 RayCluster of this name in the namespace of `beside`; NULL: none. */
struct record *cluster_named(struct op *op, const struct record *beside, struct slice name);
/* False with *e: a service of this name belongs to another object of ours. An apply would take it away without a conflict, because both are
 * written by the same field manager. */
bool service_free(struct op *op, const struct record *c, struct slice name, struct err *e);
/* Keeps the pod in the answer to a create. False: the watch has passed its version without it, and the record waits for a list. */
bool answer_pod(struct op *op, const struct flight *f, struct jval pod, uint64_t version);
void say_work(struct op *op, struct record *c, const char *reason); /* log line and event about the pods that a plan created and deleted */

/* ---- requests to the heads of clusters ---- */

/* Name of the Secret with the token that the running head (else the next one) asks for; empty: none. May load the cluster's model. */
struct slice head_secret(struct op *op, struct record *c, struct arena *a);
/* Sends a request to the dashboard of the cluster's head. False with *e: it cannot be sent now, `done` is not called. */
bool head_ask(struct op *op, struct record *c, const struct ray_dash_request *r, ray_dash_done *done, void *owner, uint64_t tag,
              struct err *e);
void heads_forget(struct op *op, const void *owner); /* `done` of its requests is not called any more */
void heads_init(struct op *op);
int64_t heads_tick(struct op *op); /* sends waiting requests; returns when to call again */
void heads_free(struct op *op);

/* ---- the ConfigMap that workers and submitter pods mount (tools.c) ---- */

void tools_want(struct op *op, const struct istr *ns);
/* Forgets the ConfigMap of a namespace without clusters and jobs: the namespace may be deleted and created again without it. */
void tools_drop_unused(struct op *op, const struct istr *ns);
int64_t tools_tick(struct op *op);         /* retries what failed; returns when to call again */
void tools_free(struct op *op);            /* before heads_free */
uint32_t tools_known(const struct op *op); /* number of namespaces whose ConfigMap is tracked */

#endif
