/* What checks.c and nodes.c share. */
#ifndef MOBULA_WORKLOAD_CHECKS_H
#define MOBULA_WORKLOAD_CHECKS_H

#include "workload.h"

#include <mobula/health.h>

enum { HASH_TEXT = 17 };

/* A list that is told by its hash, and whole when the control plane does not have that. */
struct told_list {
    char hash[HASH_TEXT]; /* empty: there is nothing to tell */
    bool wanted;
    uint64_t call;   /* that tells it whole; 0: none */
    int64_t sent_ms; /* monotonic: when that was */
};

/* The nodes of the cluster: a page of the list is read piece by piece, and of each node only a line is kept. */
struct nodes {
    struct told_list told;
    struct buf items;             /* the last list that was read to its end: a JSON array */
    char message[HEALTH_MESSAGE]; /* what is not in it, and why */
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
    /* a round of questions, one at a time */
    uint32_t at, question; /* the component, and which question about it */
    bool asking;
    int64_t next_ms;     /* monotonic: the next round */
    int64_t checked_us;  /* wall clock: the end of the last round; 0: none has ended */
    uint64_t seen, told; /* hashes: of what findings follow from, of what was to be told */
    struct told_list types;
    struct nodes nodes;
    struct arena arena;
};

void list_hash(struct told_list *l, struct slice items, struct slice message);

/* nodes.c */
void nodes_list(struct checks *k); /* begins, unless it is under way */
void nodes_free(struct nodes *n);

#endif
