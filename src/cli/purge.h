/* Deletes the work of an operator or control plane before the operator or control plane itself is deleted. */
#ifndef MOBULA_CLI_PURGE_H
#define MOBULA_CLI_PURGE_H

#include "apply.h"

enum { PURGE_FINALIZERS_MS = 30 * 1000 }; /* how long the operator has to remove its finalizers */

/* Deletes every object of an operator's (or control plane's) kinds in the namespace (empty: in all), owners before what they own.
 * Our finalizers that are left after PURGE_FINALIZERS_MS, or at once if `runs` is false and nothing else would remove them, are removed
 * here. */
bool purge_namespace(struct apply *p, bool plane, bool runs, struct slice ns, int64_t until_ms, struct err *e);
/* Removes our finalizers from all work of the namespace (empty: of all), so that its later deletion does not wait for a process that is
 * gone. */
bool purge_release(struct apply *p, bool plane, struct slice ns, struct err *e);

/* Whether a finalizer is one of those that the operator or the control plane removes. */
bool purge_strips(struct slice finalizer);

#endif
