/* kind_rayservice: functions of the kind RayService that the operator and other kinds call. */
#ifndef MOBULA_KIND_RAYSERVICE_H
#define MOBULA_KIND_RAYSERVICE_H

#include <mobula/control.h>

extern const struct kind kind_rayservice;

/* The RayCluster of a RayService that takes its requests, else the one that is to take them; NULL: none. */
struct record *rayservice_cluster(const struct record *c, struct arena *a);

#endif
