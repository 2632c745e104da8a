/* preview: what would be made of an object in an empty namespace, for `mobula explain`: see kind.preview in control.h. */
#ifndef MOBULA_PREVIEW_H
#define MOBULA_PREVIEW_H

#include <mobula/ray.h>
#include <mobula/shape.h>
#include <mobula/spec.h>

/* The request of `mobula explain` to a kind: see kind.preview. */
struct preview {
    struct ray_options ray;
    const struct shape_types *types; /* NULL: instance types are not applied */
    bool steps;                      /* `untyped` is wanted, too */
    bool submitter_pods;             /* as in operator_options */
    int64_t now_us;
    struct slice untyped; /* the object given to put as it would be without its instance type; .ptr NULL: the same */
    /* Takes one object that would be made, as JSON, and shows what would be made of that. False: p->err says why not. */
    bool (*put)(struct preview *p, struct slice object);
    const void *to; /* put's own */
    struct arena *arena;
    struct spec_errors *errors; /* of the object itself */
    struct slice note;          /* why not all of it is made; empty: all is */
    struct err err;
};
/* The uid that an object without one has in a preview. Names end in letters that are made of it, which only the API server gives. */
#define PREVIEW_UID "00000000-0000-0000-0000-000000000000"

#endif
