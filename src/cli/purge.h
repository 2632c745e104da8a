/* Deletes the work of an operator or control plane before it goes itself. */
#ifndef MOBULA_CLI_PURGE_H
#define MOBULA_CLI_PURGE_H

#include "apply.h"

enum { PURGE_FINALIZERS_MS = 30 * 1000 }; /* so long the operator has time to take its finalizers off */

/* Deletes every object of an operator's (or control plane's) kinds in the namespace (empty: in all), owners before what they own.
 * Finalizers of ours that are still there after PURGE_FINALIZERS_MS, or at once where nothing runs that would take them off, are taken off
 * here. */
bool purge_namespace(struct apply *p, bool plane, bool runs, struct slice ns, int64_t until_ms, struct err *e);

#endif
