/* `mobula install --values FILE`: a file with the keys of the chart's values. */
#ifndef MOBULA_CLI_VALUES_H
#define MOBULA_CLI_VALUES_H

#include "install.h"

#include <mobula/command.h>

/* Sets the options that a file of values names, as the flags would: a key is the name of a flag (pullSecrets: --pull-secret, networkPolicy:
 * false: --no-network-policy), or one of install_raw. False: *e names the file and the key. */
bool values_read(const struct flags *f, struct slice file, struct install_options *o, struct arena *a, struct err *e);

#endif
