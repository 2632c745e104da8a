/* What the kind RayService offers to others. Implemented in src/kinds/rayservice. */
#ifndef MOBULA_KIND_RAYSERVICE_H
#define MOBULA_KIND_RAYSERVICE_H

#include <mobula/control.h>

extern const struct kind kind_rayservice;

#endif
