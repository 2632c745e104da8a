/* kind_versioned: functions of the kind VersionedService that the operator and other kinds call. */
#ifndef MOBULA_KIND_VERSIONED_H
#define MOBULA_KIND_VERSIONED_H

#include <mobula/control.h>

extern const struct kind kind_versioned;

#endif
