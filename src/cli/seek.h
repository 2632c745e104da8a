/* Objects that commands look up in the API server: a cluster, its head, the token of its dashboard; and the dashboard, through the API
 * server's proxy, which whoever may read the cluster has wherever they sit. */
#ifndef MOBULA_CLI_SEEK_H
#define MOBULA_CLI_SEEK_H

#include "explain_cluster.h"

#include <mobula/command.h>
#include <mobula/heads.h>

struct seek_options {
    struct slice ns, group, kubeconfig, context;
    int64_t timeout_ms;
};
/* Rows of a table of flags; at: the offset of the struct seek_options. */
#define SEEK_AT(at, field) ((at) + offsetof(struct seek_options, field))
#define SEEK_PLACE_FLAGS(at)                                                                                                               \
    {"n", FLAG_TEXT, SEEK_AT(at, ns), "NS", "its namespace (default: that of the context or service account)"}, TLS_FLAG,                  \
        {"kubeconfig", FLAG_TEXT, SEEK_AT(at, kubeconfig), "FILE",                                                                         \
         "how to reach the API server (default: $KUBECONFIG, else in-cluster, else ~/.kube/config)"},                                      \
    {                                                                                                                                      \
        "context", FLAG_TEXT, SEEK_AT(at, context), "NAME", "of the kubeconfig (default: its current-context)"                             \
    }
/* SEEK_PLACE_FLAGS and --group, for commands about a RayCluster. */
#define SEEK_FLAGS(at)                                                                                                                     \
    SEEK_PLACE_FLAGS(at),                                                                                                                  \
    {                                                                                                                                      \
        "group", FLAG_TEXT, SEEK_AT(at, group), "GROUP",                                                                                   \
            "ray.io or cluster.ray.io, when there is one RayCluster of each kind by that name"                                             \
    }

struct seek {
    const struct seek_options *o;
    struct ask ask;
    struct slice ns;
    struct arena *a; /* results lie in there */
};
bool seek_group_known(const struct seek_options *o); /* --group is one of the two, or not given */
/* Wants seek_close, also after a failure. */
bool seek_open(struct seek *s, const struct seek_options *o, struct arena *a, struct err *e);
void seek_close(struct seek *s);

/* "/apis/…/namespaces/NS/rayclusters/NAME/SUB" in the namespace. */
struct slice seek_path(struct seek *s, const struct kube_resource *r, struct slice name, struct slice sub);
/* "429 TooManyRequests: …" into *e, behind `what`: an answer that is not the object. */
bool seek_refused(const struct ask_answer *answer, const char *what, struct err *e);
/* The RayCluster of that name, of whichever kind. *absent: the server has none. */
bool seek_cluster(struct seek *s, struct slice name, struct jval *object, bool *absent, struct err *e);
/* A head that runs, among pods that were read; NULL: there is none. */
const struct pod *seek_running_head(const struct explain_facts *f);
/* The header of the token in a cluster's Secret. */
bool seek_token(struct seek *s, struct slice secret, struct http_header *out, struct err *e);

/* The dashboard of a cluster's head, through the API server. */
struct seek_head {
    struct slice path;        /* "/api/v1/namespaces/NS/pods/POD:PORT/proxy" */
    struct slice secret;      /* that holds the token it asks for; empty: it asks for none */
    struct http_header token; /* of that, once seek_token has found it */
};
/* Where it is, for pods of the cluster that were read. False: no head runs. */
bool seek_head_of(struct seek *s, const struct explain_facts *f, struct seek_head *out);
/* Finds cluster, head and token. *absent: there is no such cluster, or no head of it runs: *e says which. */
bool seek_head(struct seek *s, struct slice cluster, struct seek_head *out, bool *absent, struct err *e);

#endif
