/* Objects of an installation that it does not want any more, and what other appliers have set on those that it wants. */
#ifndef MOBULA_CLI_SURPLUS_H
#define MOBULA_CLI_SURPLUS_H

#include "inventory.h"

/* Adds to `gone` the objects under names of this installation that exist, belong to it, and are not in p->list, whatever has applied them.
 * now: the namespaces that it has watched. False: the API server did not answer. */
bool surplus_find(struct apply *gone, const struct apply *p, const struct install_options *o, const struct inventory *now, struct err *e);

/* A merge patch of metadata.managedFields that gives us the fields which `kubectl apply` of our manifests has set on the object, on either
 * side; what we do not set again is then removed by our own apply. SLICE_NONE: kubectl has not applied our manifests. */
struct slice surplus_takeover(struct jval there, struct arena *a);

/* Whether an entry of managedFields is of an apply of our manifests, by mobula or kubectl. */
bool surplus_applies(struct jval entry);

#endif
