/* setting_patches: the patches of ConfigMap `patches`: a struct setting_kind, and control_parts.amend. */
#ifndef MOBULA_SETTING_PATCHES_H
#define MOBULA_SETTING_PATCHES_H

#include <mobula/control.h>
#include <mobula/shape.h>

const struct shape_patches *patches_in_force(const struct op *op); /* NULL: there are none */
uint64_t patches_revision(const struct op *op);                    /* changes with them; 0: there are none */
bool patches_text(struct op *op, struct slice text, struct err *e);
void patches_trouble(struct op *op);
bool patches_amend(struct op *op, bool secret, struct buf *object, struct err *e);
void patches_free(struct op *op);

#endif
