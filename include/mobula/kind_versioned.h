/* kind_versioned: functions of the kind VersionedService that the operator and other kinds call. */
#ifndef MOBULA_KIND_VERSIONED_H
#define MOBULA_KIND_VERSIONED_H

#include <mobula/control.h>

extern const struct kind kind_versioned;

/* The RayService of a version; version empty: of the primary one. NULL: none. */
struct record *versioned_child_record(const struct record *c, struct slice version, struct arena *a);

#endif
