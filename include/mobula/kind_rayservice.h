/* kind_rayservice: functions of the kind RayService that the operator and other kinds call. */
#ifndef MOBULA_KIND_RAYSERVICE_H
#define MOBULA_KIND_RAYSERVICE_H

#include <mobula/control.h>

extern const struct kind kind_rayservice;

#endif
