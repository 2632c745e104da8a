/* The flags of `mobula egress`, which fill a struct egress_options. */
#ifndef MOBULA_CLI_EGRESS_H
#define MOBULA_CLI_EGRESS_H

#include "cli.h"

#include <mobula/egress.h>

extern const struct flags egress_flags;

#endif
