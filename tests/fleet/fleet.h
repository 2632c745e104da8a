/* Real control planes and a real operator in one world: processes of `mobula control-plane` that die and come back, and the connections of
 * the operator to them, which are slow, break, and lose what is on its way. The Service before them gives each connection to one of those
 * that live. */
#ifndef MOBULA_TEST_FLEET_H
#define MOBULA_TEST_FLEET_H

#include "tests/model/sim/world.h"

#include <mobula/hub.h>

enum { FLEET_HUBS = 2, FLEET_BUFFER = 4 * MIB };

struct fleet;
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
    struct fleet *fleet;
    struct bridge_end end[2]; /* the operator's, the control plane's */
    bool begun;
};

struct fleet_hub {
    struct process process; /* first */
    struct kube_config *config;
    struct hub *hub; /* NULL: it does not run */
    int64_t next_ms;
};

struct fleet {
    struct world_far far; /* first */
    struct world *world;
    struct kube_config *config; /* how the operator reaches them */
    struct fleet_hub hub[FLEET_HUBS];
    struct bridge *bridges;
    struct rng rng;
    int64_t delay_ms; /* a parcel takes up to that */
    char cloud[HUB_DEPLOYMENT_ID + 1], instance[16];
    uint32_t opened, broken, lost; /* connections; parcels on broken ones */
};

void fleet_begin(struct fleet *f, struct world *w, uint64_t seed);
void fleet_free(struct fleet *f);
void fleet_hub_start(struct fleet *f, uint32_t hub);
void fleet_hub_kill(struct fleet *f, uint32_t hub);
/* About `share` of 256 of the connections break, and what is on its way is lost. */
void fleet_break(struct fleet *f, uint32_t share);

#endif
