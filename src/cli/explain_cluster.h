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
    struct slice running; /* what ray_running_read read from its head pod; empty: no head runs */
    struct slice kept; /* why its RayJob, which is over, leaves it: message of condition ClusterKept; empty: it does not, or is unknown */
    bool sidecar;      /* KubeRay's autoscaler runs beside its head */
    struct slice said; /* the head's own `ray status`; empty: … */
    struct slice silence; /* … why there is none */
    bool waits;           /* it has no status, and not all of its pods: the operator has not come to it, or is about to make them … */
    uint32_t ahead;       /* … and so many others of the namespace, which are begun no more than this one, come before it */
    bool unwatched;       /* no installation watches its namespace, as far as may be read */
    struct now now;
};

/* One Pod. Those of an older cluster of the same name are passed over. */
void explain_add_pod(struct explain_facts *f, struct jval pod, struct arena *a);
/* What a page of the pods of a cluster is asked for with. A server whose `more` does not fit is not asked: cut short it is another's. */
bool explain_page_path(struct slice ns, struct slice cluster, struct slice more, struct buf *path, struct err *e);
/* The Pods of a page of a list; *more is what the next page is asked for with, or empty. A list has LIMIT_EXPLAIN_PAGES at most, and
 * LIMIT_EXPLAIN_PODS of the cluster's own, whatever the server takes for a page. */
bool explain_add_pods(struct explain_facts *f, struct slice page, struct slice *more, struct arena *a, struct err *e);
/* Sets f->waits from the cluster and its pods; then each other RayCluster of its namespace is added, or a page of them. The operator serves
 * those with fewer pods first, then the older ones. */
void explain_wait(struct explain_facts *f, struct arena *a);
void explain_add_cluster(struct explain_facts *f, struct jval other, struct arena *a);
bool explain_add_clusters(struct explain_facts *f, struct slice page, struct slice *more, struct arena *a, struct err *e);
/* The text that GET /api/cluster_status?format=1 of the dashboard holds; false: it is no such answer. */
bool explain_said(struct slice body, struct arena *a, struct slice *said);
void explain_words(const struct explain_facts *f, struct arena *a, struct buf *out);
/* Text that others wrote, for a terminal: without control bytes and without lines that end in blanks. */
void explain_plain(struct slice text, struct buf *out);

#endif
