/* Inside shape: the parts that the readers of instance types and of compute configs share. */
#ifndef MOBULA_SHAPE_TYPES_H
#define MOBULA_SHAPE_TYPES_H

#include <mobula/shape.h>
#include <mobula/spec.h>

/* One type while it is read. */
struct type_reader {
    struct reader r;
    struct shape_type *type;
    struct shape_amount amounts[LIMIT_SHAPE_RESOURCES];
};

void type_begin(struct type_reader *t, struct slice name);
void type_keep(struct type_reader *t); /* t->type gets its amounts */

/* One member of `resources`; an accelerator; an architecture. What is wrong is complained of. */
void type_resource(struct type_reader *t, const struct place *at);
void type_accelerator(struct type_reader *t, const struct place *at, struct slice name);
void type_architecture(struct type_reader *t, const struct place *at);

#endif
