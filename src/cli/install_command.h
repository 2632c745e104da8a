/* The parts of mobula install and mobula upgrade. */
#ifndef MOBULA_CLI_INSTALL_COMMAND_H
#define MOBULA_CLI_INSTALL_COMMAND_H

#include "cli.h"

#include <mobula/artifact.h>
#include <mobula/kinds.h>
#include <mobula/release.h>

/* install_flags.c: of a struct install_options */
extern const struct flags install_flags, upgrade_flags;

/* install_apply.c: applies these manifests, or shows what would change, and returns the exit code. Prints progress, errors, and the
 * commands that take an incomplete change back. */
int install_apply(struct apply *p, const struct install_options *o, struct slice manifests);

#endif
