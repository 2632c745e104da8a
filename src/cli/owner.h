/* Which installation an object belongs to: that of a namespace. */
#ifndef MOBULA_CLI_OWNER_H
#define MOBULA_CLI_OWNER_H

#include "apply.h"

#define OWNER_LABEL "mobula.dev/installation"

/* The namespace of the installation that an object outside of its own namespace belongs to: by its label, and where earlier versions have
 * made it by the account that it is for. Empty: it does not say. */
struct slice owner_of(struct jval object, struct arena *a);
struct slice owner_of_text(struct slice json, struct arena *a);
/* Whether an object of the API server belongs to another installation than p->installation, whose namespace *other is then. A Role of an
 * earlier version says nothing of this itself: its binding does. False: no answer. */
bool owner_other(struct apply *p, const struct apply_object *o, struct jval there, struct slice *other, struct err *e);
/* The object as versions before 0.1.0 called it, in names that two installations could share. False: it has the same name as ever. */
bool owner_former(const struct apply_object *o, struct slice name, struct slice ns, struct arena *a, struct apply_object *former);
/* Adds what is there of this installation under former names of the objects in `of` to the list. */
bool owner_find_former(struct apply *p, const struct apply *of, struct slice name, struct err *e);

#endif
