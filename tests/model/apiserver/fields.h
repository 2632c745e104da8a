/* Sets of fields, as metadata.managedFields holds them: a tree whose edges are path elements in FieldsV1 spelling: f:NAME for a member,
 * k:{…} for the item of a keyed list, v:… for an item of a set. A node that is a member of the set says so; inner nodes need not be. */
#ifndef APISERVER_FIELDS_H
#define APISERVER_FIELDS_H

#include "shape.h"

struct fields {
    struct slice element; /* of the root: empty */
    bool member;
    struct fields *child, *next;
};

/* Every leaf of a value: what somebody who applies it owns. */
struct fields *fields_of(const struct node *value, struct shape shape, struct arena *a);
/* What differs between two values: leaves of `now` that are new or changed, and leaves of `before` that are gone. */
void fields_compare(const struct node *before, const struct node *now, struct shape shape, struct arena *a, struct fields *changed,
                    struct fields *removed);

struct fields *fields_union(const struct fields *x, const struct fields *y, struct arena *a);
struct fields *fields_minus(const struct fields *x, const struct fields *y, struct arena *a);
struct fields *fields_both(const struct fields *x, const struct fields *y, struct arena *a);
bool fields_empty(const struct fields *f);
bool fields_equal(const struct fields *x, const struct fields *y);
const struct fields *fields_child(const struct fields *f, struct slice element);

/* Takes out of a value what is in the last set and owned by nobody. A member in which nobody owns anything goes with all that it holds,
 * though it be a default. */
void fields_cut(struct node *value, const struct fields *last, const struct fields *owned, struct shape shape, struct arena *a);

struct fields *fields_read(const struct node *v1, struct arena *a);
void fields_drop(struct fields *f, struct slice element, bool really); /* takes a top-level element out */
struct node *fields_write(const struct fields *f, struct arena *a);
/* Calls visit with ".spec.containers[name=\"x\"].image" for each member: those of one level before those below it. */
typedef void (*fields_visit)(void *owner, struct slice path);
void fields_walk(const struct fields *f, struct slice prefix, struct arena *a, fields_visit visit, void *owner);

#endif
