/* edge: a reverse proxy for Ray's HTTP ports. It takes requests over plain connections or TLS, asks who calls, chooses a version of the
 * service by weight or by a header, and passes bodies on as they come, in both directions. Routes stand in a file: docs/edge.md. */
#ifndef MOBULA_EDGE_H
#define MOBULA_EDGE_H

#include <mobula/kube.h>
#include <mobula/serve.h>

#define EDGE_AUDIENCE "mobula.dev/edge" /* audience of tokens that an edge accepts and an API server does not */
#define EDGE_PATH "/.mobula/"           /* paths of the edge's own: the login page */

struct edge_options {
    struct net_allow *allow; /* the egress allowlist, to which upstreams are added; NULL: everything is allowed */
    struct slice ns;         /* of routes that name none */
    uint32_t connections;    /* of clients at a time; 0: EDGE_CONNECTIONS */
    int64_t body_max;        /* bytes of a request's body */
    int64_t answer_ms;       /* silence of an upstream that has a request; 0: EDGE_ANSWER_MS */
    bool tls;                /* clients come over TLS */
    bool behind_proxy;       /* X-Forwarded headers of clients are a proxy's, and are believed */
    uint64_t seed;
    /* The text of a file, in a. */
    bool (*read)(struct slice path, struct arena *a, struct slice *out, struct err *e);
};

struct edge;
/* config NULL: there are no users, only tokens. The caller keeps config, net and all slices until edge_free. */
struct edge *edge_new(struct net *net, struct kube_config *config, const struct edge_options *o);
void edge_free(struct edge *g);
struct edge_text {
    struct slice text;
    const char *file; /* path of the file, or the flag, that the text is from: errors begin with it */
};
/* Takes the routes of the first text and of those of services behind it. False with *e: the first is wrong, and nothing has changed. What
 * is wrong with a service's text is logged, and the service has no routes. */
bool edge_configure(struct edge *g, const struct edge_text *texts, uint32_t count, struct err *e);
bool edge_has_users(const struct edge *g); /* a route asks the API server */
/* The certificate for loop_listen_tls. False: nothing changes. */
bool edge_certify(struct edge *g, struct slice cert, struct slice key, struct err *e);
struct tls_identity *const *edge_identity(const struct edge *g);
/* Reads token files again. Tokens of a file that is missing (ERR_MISSING of `read`) are not accepted any more; all else that is wrong with
 * a file, or with that of an upstream, leaves what was read before. */
void edge_reload(struct edge *g);
/* The files of an edge. Zero-initialise it, set the first members, and keep it until the edge's end. */
struct edge_files {
    struct edge *edge;
    struct slice config;                         /* path of the file of routes; empty: it has one route, of the next four: */
    struct slice upstream, auth, cluster, token; /* as in the file; auth, cluster and token may be empty */
    struct slice cert, key;                      /* paths; empty: no TLS */
    /* Lists the files with routes of services, in a, and returns their number; NULL: there are none. */
    uint32_t (*list)(const void *of, struct arena *a, const struct slice **files);
    const void *of;
    int64_t next_ms;     /* when edge_files_reload is due */
    uint64_t configured; /* hash of the routes in use */
    struct log_memory said;
};
bool edge_files_read(struct edge_files *f, struct err *e); /* before the edge runs: what is wrong is an error */
/* Reads all of them again, and token files, every EDGE_RELOAD_MS. What is wrong is logged, and what was read before stays in use. */
void edge_files_reload(struct edge_files *f, struct now now);
/* Does what is due and returns when to call again. Call it after every net_dispatch. */
int64_t edge_step(struct edge *g, struct now now);
void edge_renew(struct edge *g, struct now now); /* reads the credentials again now */
/* Connections end with their next answer. close: those without a request end now, and new ones at once. True: no request is under way. */
bool edge_drain(struct edge *g, bool close, struct now now);
struct link_accept *edge_accept(struct edge *g);  /* for clients */
struct link_accept *edge_figures(struct edge *g); /* /metrics, /healthz and /readyz */

#endif
