/* Whose turn it is among calls to dashboards: RAY_DASH_LINKS have a connection at a time, no more than RAY_DASH_LINKS_HOST of them to one
 * host, and RAY_DASH_LINKS_DOUBTFUL to heads that did not answer the last time. Hosts come round by turns, the calls to one of them in
 * their order. However many wait, each step costs the same: a thousand jobs may share one head. */
#ifndef MOBULA_RAY_DASH_TURN_H
#define MOBULA_RAY_DASH_TURN_H

#include <mobula/base.h>

struct dash;
struct turn_host;

struct turn {
    struct dash *call;
    struct turn *prev, *next; /* those that wait for the same */
    struct turn_host *host;
    uint64_t number; /* of all that were entered */
    bool doubtful, linked;
};

/* A host with calls that wait; doubtful ones have a lane of their own. */
struct turn_lane {
    struct turn_host *host;
    struct turn *first, *last;
    struct turn_lane *prev, *next; /* in the round */
    bool listed;
};

struct turn_round {
    struct turn_lane *first, *last; /* without those that were found to be full */
};

struct turns {
    struct map hosts;
    struct turn_round rounds[2]; /* [1]: of doubtful calls */
    uint32_t links, doubtful;    /* doubtful: of the links */
    uint64_t entered, looked;    /* looked: how often a lane was looked at, to find whose turn it is */
};

void turn_enter(struct turns *all, struct turn *t, struct slice host, uint16_t port, bool doubtful);
struct turn *turn_next(struct turns *all); /* NULL: nobody's */
void turn_take(struct turns *all, struct turn *t);
void turn_leave(struct turns *all, struct turn *t); /* it is over, or is not to be any more */

#endif
