/* Shared by the files of a lane: lane.c sends and hears, lane_wait.c looks after what waits. */
#ifndef MOBULA_KUBE_LANE_H
#define MOBULA_KUBE_LANE_H

#include "client.h"

void conns_push(struct conns *list, struct conn *conn);
void conns_take(struct conns *list, struct conn *conn);
struct conn *conn_new(struct kube_client *c, enum kube_lane which);
void conn_free(struct conn *conn);
/* Takes its call from it. The connection stands in no list then: conn_rest puts it where it belongs. */
struct call *conn_detach(struct conn *conn);
void conn_rest(struct conn *conn, struct now now);
int64_t conn_due(const struct conn *conn); /* when its call has waited long enough */
/* A request that was sent and is not answered may be waiting for whom the server has passed it on to. */
void conn_trouble(const struct conn *conn, const struct err *why, struct now now);

void queue_front(struct lane *lane, struct call *call);
/* Tells the owner of a call that was not answered. */
void finish_lost(struct kube_client *c, struct call *call, enum kube_outcome outcome, const struct err *why, struct now now);

#endif
