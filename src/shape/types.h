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
/* A map of labels; false: it is none. */
bool type_labels(struct reader *r, const struct place *at);
/* A number or a bool as the member value, or among values: of tolerations, terms of an affinity, variables. all: as any member. */
void type_strings(struct reader *r, const struct place *at, bool all);
void type_architecture(struct type_reader *t, const struct place *at);

#endif
