/* Which installation an object belongs to. An installation is identified by its namespace. */
#ifndef MOBULA_CLI_OWNER_H
#define MOBULA_CLI_OWNER_H

#include "apply.h"

#define OWNER_LABEL "mobula.dev/installation"

/* The namespace of the installation that an object belongs to, by its label. Objects of earlier versions have no label: for a binding or a
 * policy it is the namespace of the account that it is for. Empty: the object does not tell. */
struct slice owner_of(struct jval object, struct arena *a);
struct slice owner_of_text(struct slice json, struct arena *a);
/* *other: the namespace of the installation that an object at the API server belongs to, if that is not p->installation; else empty. For a
 * Role of an earlier version its binding is asked. False: the API server did not answer. */
bool owner_other(struct apply *p, const struct apply_object *o, struct jval there, struct slice *other, struct err *e);
/* The object under the name that versions before 0.1.0 gave it, which two installations could share. False: the name has not changed. */
bool owner_former(const struct apply_object *o, struct slice name, struct slice ns, struct arena *a, struct apply_object *former);
/* Adds to the list the objects of this installation that exist under former names of the objects in `of`. */
bool owner_find_former(struct apply *p, const struct apply *of, struct slice name, struct err *e);

#endif
