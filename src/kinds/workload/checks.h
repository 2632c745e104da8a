/* Shared by checks.c and nodes.c. */
#ifndef MOBULA_WORKLOAD_CHECKS_H
#define MOBULA_WORKLOAD_CHECKS_H

#include "workload.h"

#include <mobula/cloud.h>
#include <mobula/health.h>

enum { HASH_TEXT = 17 };

/* A list of which each call has the hash, and the items when the control plane has asked for them. */
struct told_list {
    char hash[HASH_TEXT]; /* empty: there is no list */
    bool wanted;          /* the control plane has asked for the items */
    uint64_t call;        /* under way, with the items; 0: none */
    int64_t sent_ms;      /* monotonic: when it was sent */
};

/* The nodes of the cluster: a page of the list is read piece by piece, and of each node only the item of the report is kept. */
struct nodes {
    struct told_list told;
    struct buf items;             /* the last list that was read to its end: a JSON array */
    char message[HEALTH_MESSAGE]; /* objects that are missing in it, and why */
    bool barred;                  /* a review of our rights says that nodes may not be listed */
    bool listing;
    /* while it is being read */
    struct json_slicer slicer;
    struct buf fresh, more; /* more: where the next page begins */
    struct jout out;
    uint32_t count, beyond;
    bool whole; /* the page has come to its end */
};

struct checks {
    struct op *op;
    bool excluded[HEALTH_COMPONENTS];
    struct health_finding found[HEALTH_COMPONENTS]; /* of those that ask the API server */
    /* the check under way, one question at a time */
    uint32_t at, question; /* the component, and which question about it */
    bool asking, rights;   /* rights: of KUBERNETES_PERMISSIONS alone */
    int64_t next_ms;       /* monotonic: the next check */
    int64_t rights_ms;     /* monotonic: the next one of the rights alone */
    int64_t ended_ms;      /* monotonic: when the last check ended; 0: none has */
    uint32_t denied;       /* op->watches_denied when the last check began */
    int64_t checked_us;    /* wall clock: the end of the last check; 0: none has ended */
    uint64_t seen, told;   /* hashes: of the inputs of findings; of the findings and types reported last */
    struct told_list types;
    struct nodes nodes;
    struct {
        struct cloud_store *store; /* NULL: there is no bucket, or its settings cannot be used */
        struct cloud_probe probe;
        bool checking, checked;
        int64_t next_ms;
        char trouble[HEALTH_MESSAGE]; /* empty: the last check was successful, or none has ended */
        struct log_limit log;
    } bucket;
    struct arena arena;
};

void list_hash(struct told_list *l, struct slice items, struct slice message);

/* bucket.c: the check of the bucket, every OPERATOR_CHECK_MS. */
void bucket_init(struct checks *k);
int64_t bucket_tick(struct checks *k);
void bucket_free(struct checks *k);

/* nodes.c */
void nodes_list(struct checks *k); /* begins, unless it is under way */
void nodes_free(struct nodes *n);

#endif
