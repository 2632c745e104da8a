/* Finds objects of an installation that its new manifests lack, and fields of the others that kubectl has applied. */
#ifndef MOBULA_CLI_SURPLUS_H
#define MOBULA_CLI_SURPLUS_H

#include "inventory.h"

/* Adds to `gone` the objects of this installation that exist and are not in p->list, whether mobula or kubectl applied them. now: has the
 * namespaces that it watched so far. False: the API server did not answer. */
bool surplus_find(struct apply *gone, const struct apply *p, const struct install_options *o, const struct inventory *now, struct err *e);

/* A merge patch of metadata.managedFields that moves fields set by `kubectl apply` of our manifests (client-side or server-side) to our
 * field manager. Our next apply then removes those that it does not set. SLICE_NONE: kubectl has not applied our manifests. */
struct slice surplus_takeover(struct jval there, struct arena *a);

/* Whether an entry of managedFields comes from an apply of our manifests, by mobula or kubectl. */
bool surplus_applies(struct jval entry);

#endif
