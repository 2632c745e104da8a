/* Waiting for the GCS, Ray's control service: one gRPC health check after another until one says SERVING. Driven like all owners of links:
 * gcs_wait_step, loop_wait, net_dispatch, again. */
#ifndef MOBULA_CLI_WAIT_GCS_H
#define MOBULA_CLI_WAIT_GCS_H

#include <mobula/net.h>

enum {
    GCS_RETRY_MS = 1000,   /* between two attempts, with a quarter of jitter both ways */
    GCS_ATTEMPT_MS = 5000, /* one attempt, from DNS to the answer */
    GCS_REPEAT_MS = 10000, /* the same reason is said again after this */
};

struct gcs_wait {
    struct link_owner owner;
    struct net *net;
    struct endpoint to;
    struct slice address; /* as it was given, for messages */
    int64_t until_ms;     /* no attempt begins or goes on after this */
    struct rng rng;
    /* private */
    struct link *link; /* of the attempt that runs, or NULL */
    struct slice unsent;
    int64_t next_ms; /* when the next attempt begins */
    bool opened;     /* the attempt got a connection */
    bool serving;    /* done */
    struct err why;  /* why not, after the last attempt that ended */
};

/* "HOST:PORT" or "[V6]:PORT". */
bool gcs_address(struct slice text, struct endpoint *to, struct err *e);
/* Begins an attempt when one is due; returns when to come again. */
int64_t gcs_wait_step(struct gcs_wait *w, struct now now);
/* It is serving, or the time is over and w->why says why not. */
bool gcs_wait_over(const struct gcs_wait *w, struct now now);

#endif
