/* Real control planes and a real operator in one world: processes of `mobula control-plane` that die and come back, and the connections of
 * the operator to them, which are slow, break, and lose what is on its way. The Service before them gives each connection to one of those
 * that live. */
#ifndef MOBULA_TEST_FLEET_H
#define MOBULA_TEST_FLEET_H

#include "bridge.h"

enum { FLEET_HUBS = 2 };

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
    struct bridges bridges;
    char cloud[HUB_DEPLOYMENT_ID + 1], instance[16];
};

void fleet_begin(struct fleet *f, struct world *w, uint64_t seed);
void fleet_free(struct fleet *f);
void fleet_hub_start(struct fleet *f, uint32_t hub);
void fleet_hub_kill(struct fleet *f, uint32_t hub);

#endif
