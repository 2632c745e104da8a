/* The state of an installation before an upgrade, so that it can go back: the objects of the present and of the previous revision in Secret
 * mobula-revisions of the operator's namespace (mobula-control-plane-revisions of a control plane's), as Helm keeps them. Definitions and
 * namespaces are not among them: they stay as they are. */
#ifndef MOBULA_CLI_REVISION_H
#define MOBULA_CLI_REVISION_H

#include "apply.h"

#define REVISION_SUFFIX "-revisions" /* behind the name of what is installed */

struct revision {
    struct slice ns, name;          /* install_name */
    struct slice current, previous; /* manifests; empty: none is recorded */
};

/* Reads the Secret. False with *e: no answer, or what it holds cannot be read. */
bool revision_read(struct apply *p, struct revision *r, struct err *e);
bool revision_write(struct apply *p, const struct revision *r, struct err *e);
/* The objects of the list that belong to a revision, as documents. */
struct slice revision_text(const struct revision *r, const struct apply *p);
/* Sets r->current from the objects of p and gone that exist at the API server: an installation applied by kubectl has no revision yet. */
bool revision_live(struct apply *p, struct revision *r, const struct apply *gone, struct err *e);
/* The recorded list becomes the previous revision, and the list the current one, unless it is that already. */
void revision_next(struct revision *r, struct slice next);
/* Whether an object may come out of a Secret: who may write that would otherwise decide what an admin applies. Of what an installation has
 * in its own namespace none may lie in another, and rights are for the installation's own account. */
bool revision_allows(const struct revision *r, const struct apply_object *o, struct arena *a);
/* The rights that a Role or binding gives beyond the live one (NO_VALUE: there is none); empty: none, or it is something else. */
struct slice revision_gives(const struct apply_object *o, struct jval live, struct arena *a);
/* Deletes what the other revision has and the list has not, and programs that neither needs. */
bool revision_prune(struct apply *p, const struct revision *r, int64_t until_ms, struct err *e);

#endif
