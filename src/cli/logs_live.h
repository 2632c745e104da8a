/* The log of a job that the API server knows: from its head, or from its submitter pod. */
#ifndef MOBULA_CLI_LOGS_LIVE_H
#define MOBULA_CLI_LOGS_LIVE_H

#include "cli.h"
#include "logs.h"
#include "logs_bucket.h"

#include <mobula/explain.h>

struct logs_options {
    bool cluster, service; /* a RayCluster or RayService is named, and not a RayJob */
    struct slice name, id;
    bool follow;
    struct seek_options seek;
    struct logs_bucket_options bucket;
};

struct logs_target {
    struct slice id, cluster;    /* empty: it has none yet */
    struct slice phase, message; /* of a RayJob: jobDeploymentStatus, and its words */
    struct slice uid, container; /* of its submitter, where it has one */
    bool begun;                  /* Ray has said that it runs, or that it has run */
    bool pods;                   /* its submitter may be a pod */
};

struct logs_live {
    const struct logs_options *o;
    struct seek seek;
    struct arena a; /* of one reading */
    struct logs_view view;
    struct logs_target job;
    bool over;       /* the job has ended: what is left is its log */
    uint64_t id;     /* of the job that is shown */
    uint64_t said;   /* the last line to people */
    unsigned failed; /* readings in a row, when it is over */
    bool absent;     /* the object does not exist */
    bool missing;    /* the RayJob itself does not exist … */
    bool deleted;    /* … and its log may be in the bucket */
    struct err e;
};

/* logs_read.c: reads the job and its log once. They set l->e, and l->absent if the API server answers that something does not exist. */
bool logs_read_job(struct logs_live *l);                           /* l->job and l->over of a RayJob */
bool logs_find_submitter(struct logs_live *l, struct slice *path); /* whether it has a submitter pod; path: of that pod's log */
bool logs_read_submitter(struct logs_live *l, struct slice path);  /* prints what is new in it */
bool logs_read_head(struct logs_live *l);                          /* the same, from the head's dashboard */

/* logs_follow.c: prints the log, with -f until the job has ended, and returns the exit code. */
int logs_follow(struct logs_live *l);

#endif
