/* The parts of mobula agent. */
#ifndef MOBULA_CLI_AGENT_H
#define MOBULA_CLI_AGENT_H

#include "cli.h"

#include <mobula/heads.h>
#include <mobula/remote.h>
#include <mobula/ship.h>
#include <mobula/storage.h>

struct agent_options {
    struct slice url, operator_url, ca, cloud, token_file, gcs, dashboard, sandbox;
    int64_t every_ms;
    struct slice bucket, logs, logs_name;
    int64_t flush_ms;
    struct storage_options storage;
};

struct agent {
    struct agent_options o;
    struct net_allow *allow;
    struct loop *loop;
    struct kube_config *config;
    struct remote_agent *calls; /* NULL: nothing is reported */
    struct ray_gcs_pool *pool;
    struct ray_gcs *gcs;
    struct ray_dash_pool *dash_pool;
    struct ray_dash_to dash;
    int64_t dash_ms; /* the dashboard is asked then; TIME_NEVER: its answer is awaited */
    bool dash_known; /* it has answered, or failed to; why: the latter */
    struct err dash_why;
    char version[64]; /* of Ray, as the dashboard has said it */
    struct rng rng;
    bool reports; /* of Ray's state are sent */
    struct storage storage;
    struct ship *ship; /* NULL: no logs are shipped (yet) */
    struct cloud_place bucket;
    int64_t ship_ms; /* the settings of the bucket are read again then, while they cannot be used */
};

/* agent_reports.c: what Ray's GCS and dashboard say, to the control plane or the operator. */
bool agent_reports_open(struct agent *g, struct err *e); /* needs g->loop; before the sandbox */
int64_t agent_reports_step(struct agent *g, struct now now);

/* agent_logs.c: log files, to the bucket. */
int64_t agent_logs_step(struct agent *g, struct now now);

#endif
