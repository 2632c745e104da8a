/* `mobula explain cluster`: why a cluster is as it is, in words. What the operator knows stands in the cluster's status, what is there in
 * its pods, and what Ray wants at this moment says the head itself: so whoever may read the cluster may read why, and nobody has to reach
 * into the operator. */
#ifndef MOBULA_CLI_EXPLAIN_CLUSTER_H
#define MOBULA_CLI_EXPLAIN_CLUSTER_H

#include <mobula/raycluster.h>

enum { EXPLAIN_WORDS_MAX = 16 * MIB }; /* LIMIT_RAY_GROUPS groups, each with LIMIT_SCALE_TOLD pods in trouble, and their reasons */

struct explain_facts {
    struct jval object; /* the RayCluster */
    struct pod *pods;   /* that carry its label and are its own */
    uint32_t pod_count, pod_cap, pages;
    struct slice running; /* values of ray_running_read from its head pod; empty: no head runs */
    struct slice kept;    /* message of condition ClusterKept of its RayJob, which has ended; empty: none, or it cannot be read */
    bool sidecar;         /* KubeRay's autoscaler runs beside its head */
    struct slice said;    /* the head's own `ray status`; empty: … */
    struct slice silence; /* … why there is none */
    bool waits;           /* it has no status and lacks pods: the operator has not begun with it, or is creating the pods … */
    uint32_t ahead;       /* … number of such clusters of the namespace that the operator serves earlier */
    bool unwatched;       /* no installation watches its namespace; false if that cannot be read */
    struct now now;
};

/* One Pod. Those of an older cluster of the same name are passed over. */
void explain_add_pod(struct explain_facts *f, struct jval pod, struct arena *a);
/* The query for a page of the pods of a cluster. A server whose `more` does not fit is not asked: cut short it is another's. */
bool explain_page_path(struct slice ns, struct slice cluster, struct slice more, struct buf *path, struct err *e);
/* The Pods of a page of a list; *more is what the next page is asked for with, or empty. A list has LIMIT_EXPLAIN_PAGES at most, and
 * LIMIT_EXPLAIN_PODS of the cluster's own, whatever the server takes for a page. */
bool explain_add_pods(struct explain_facts *f, struct slice page, struct slice *more, struct arena *a, struct err *e);
/* explain_wait sets f->waits from the cluster and its pods. explain_add_cluster then counts another RayCluster of the namespace in f->ahead
 * if the operator serves it earlier: those with fewer pods first, then the older ones. explain_add_clusters does so for a page. */
void explain_wait(struct explain_facts *f, struct arena *a);
void explain_add_cluster(struct explain_facts *f, struct jval other, struct arena *a);
bool explain_add_clusters(struct explain_facts *f, struct slice page, struct slice *more, struct arena *a, struct err *e);
/* The text that GET /api/cluster_status?format=1 of the dashboard holds; false: it is no such answer. */
bool explain_said(struct slice body, struct arena *a, struct slice *said);
void explain_words(const struct explain_facts *f, struct arena *a, struct buf *out);
/* Appends text of other writers in a form that is safe for a terminal: no control bytes, no blanks at the ends of lines. */
void explain_plain(struct slice text, struct buf *out);

#endif
