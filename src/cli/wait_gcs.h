/* Waiting for the GCS, Ray's control service: one health check after another until one says that it serves. Driven like all owners of
 * links: gcs_wait_step, loop_wait, net_dispatch, again. */
#ifndef MOBULA_CLI_WAIT_GCS_H
#define MOBULA_CLI_WAIT_GCS_H

#include <mobula/heads.h>

enum {
    GCS_RETRY_MS = 1000,   /* between two attempts, with a quarter of jitter both ways */
    GCS_REPEAT_MS = 10000, /* the same reason is said again after this */
};

struct gcs_wait {
    struct ray_gcs_pool *pool;
    struct ray_gcs *gcs;
    int64_t until_ms; /* no attempt begins or goes on after this */
    struct rng rng;
    int64_t next_ms; /* when the next attempt begins */
    bool asking;
    bool serving;   /* done */
    struct err why; /* why not, after the last attempt that ended */
};

/* If Ray's RAY_USE_TLS is set: loads the files of RAY_TLS_CA_CERT, RAY_TLS_SERVER_CERT and RAY_TLS_SERVER_KEY into *o, which keeps them
 * until the process ends. False: a file is missing or malformed. */
bool gcs_tls(struct ray_gcs_options *o, struct err *e);
/* "HOST:PORT" or "[V6]:PORT". */
bool gcs_address(struct slice text, struct endpoint *to, struct err *e);
bool gcs_wait_begin(struct gcs_wait *w, struct net *net, const struct endpoint *to, int64_t until_ms, uint64_t seed, struct err *e);
void gcs_wait_end(struct gcs_wait *w);
/* Begins an attempt when one is due; returns when to come again. */
int64_t gcs_wait_step(struct gcs_wait *w, struct now now);
/* It is serving, or the time is over and w->why says why not. */
bool gcs_wait_over(const struct gcs_wait *w, struct now now);

#endif
