/* kinds: the table of all kinds. What one kind offers to others is in its own header, kind_NAME.h. */
#ifndef MOBULA_KINDS_H
#define MOBULA_KINDS_H

#include <mobula/control.h>

extern const struct kind *const kinds[];       /* lowest first, ended by NULL */
extern const struct control_parts kinds_parts; /* the tables of this room, for the core */

#endif
