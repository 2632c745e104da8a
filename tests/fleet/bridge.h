/* Connections between the processes of one world. What one end writes comes to the other after a random delay; a connection that breaks
 * loses what is on its way. */
#ifndef MOBULA_TEST_BRIDGE_H
#define MOBULA_TEST_BRIDGE_H

#include "tests/model/sim/world.h"

#include <mobula/hub.h>

enum { BRIDGE_BUFFER = 16 * MIB };

struct bridge;

/* What is on its way to one end. */
struct parcel {
    struct parcel *next;
    int64_t due_ms;
    bool end; /* the other end was closed */
    size_t len;
    char bytes[];
};

struct bridge_end {
    struct link link; /* first */
    struct bridge *bridge;
    struct buf in;
    struct parcel *first, *last;
    bool open; /* there is a link: it was opened, and not closed yet */
    char room[16 * KIB];
};

struct bridge {
    struct bridge *next;
    struct bridges *all;
    const struct process *caller;
    struct bridge_end end[2]; /* the caller's, the hub's */
    bool begun;
};

struct bridges {
    struct bridge *first;
    void *owner; /* for called() */
    const struct world *world;
    struct rng rng;
    int64_t delay_ms; /* a parcel takes up to that; 0: none */
    /* The hub that is called, and its process; NULL: the connection is refused. */
    struct hub *(*called)(struct bridges *all, const struct process *caller, struct process **p);
    uint32_t opened, refused, closed, broken; /* connections */
    uint32_t lost;                            /* parcels on broken ones */
};

struct link *bridge_open(struct bridges *all, struct process *caller, struct link_owner *owner, int64_t deadline_ms);
/* Returns whether anything moved. */
bool bridges_move(struct bridges *all);
int64_t bridges_deadline(const struct bridges *all);
/* About `share` of 256 of the connections break. */
void bridges_break(struct bridges *all, uint32_t share);
void bridges_free(struct bridges *all);

#endif
