/* Of room shape: patches of the objects that are written. The ConfigMap's text `patches.yaml` is a list (or an object whose member patches
 * is the list) of
 *     kind: Pod                          # left out: objects of every kind
 *     selector: "a.io/x in (A, B), !y"   # left out: all of them. Over annotations and labels together; an annotation wins over a label
 *     patch: [{op, path, value|from}, …] # RFC 6902, with what json_edit_new adds to it
 * They are applied in the order of the text; each sees what those before it made. Pure functions of bytes. docs/patches.md. */
#ifndef MOBULA_PATCHES_H
#define MOBULA_PATCHES_H

#include <mobula/shape.h>

enum shape_relation { SHAPE_IN, SHAPE_NOT_IN, SHAPE_EXISTS, SHAPE_NOT_EXISTS };
struct shape_requirement {
    struct slice key;
    enum shape_relation relation;
    const struct slice *values;
    uint32_t value_count;
};
/* Met when all requirements are; none: by everything. */
struct shape_selector {
    const struct shape_requirement *list;
    uint32_t count;
};
/* Kubernetes' own syntax: key, !key, key=v, key==v, key!=v, key in (v, …), key notin (v, …), joined by commas. */
bool shape_selector_read(struct slice text, struct arena *a, struct shape_selector *out, struct err *e);
/* As Kubernetes has it: != and notin are met by an object without the key, too. */
bool shape_selector_meets(const struct shape_selector *s, struct json_edit *object);

struct shape_patch {
    struct slice kind; /* empty: every kind */
    struct shape_selector selector;
    const struct json_op *ops;
    uint32_t op_count;
    uint32_t line; /* of the patch in its text */
};
/* All patches of one text. */
struct shape_patches {
    const struct shape_patches *below; /* applied before these; NULL: none */
    struct slice name;                 /* for messages: "ConfigMap patches"; empty: none is needed */
    const struct shape_patch *list;
    uint32_t count;
    uint64_t revision; /* changes with the text, and with the text of what is below */
};

/* Reads a text. Every error at once goes to *errors; returns whether there was none: only then *out may be used. Operations that would
 * change what the operator recognises its objects by (name, namespace, owner, its labels and its hash annotation) are refused. Everything
 * is in a. */
bool shape_patches_read(struct slice text, struct arena *a, struct shape_patches *out, struct spec_errors *errors);
/* Puts a set on top of another one. */
void shape_patches_above(struct shape_patches *set, const struct shape_patches *below);

/* Whether one of the patches may be for objects of this kind. */
bool shape_patches_for(const struct shape_patches *set, struct slice kind);

/* One operation, as it was applied to one object. */
struct shape_step {
    const struct shape_patches *set;
    const struct shape_patch *patch;
    const struct json_op *op;
    uint32_t number, op_number; /* from 1, in the set and in the patch */
    struct slice before, after; /* the whole object */
};
struct shape_listener {
    bool (*heard)(void *who, const struct shape_step *step); /* false: stop, *e is set */
    void *who;
};
/* The object as the patches make it, in a; the text itself when none is for it. A Service's hash annotation then changes with what comes of
 * it, so that one that was sent with other patches is sent again. An error names the patch's number and line, and the operation's number,
 * its op and path. listener: hears every operation; NULL: nobody does. */
bool shape_patches_apply(const struct shape_patches *set, struct slice object, const struct shape_listener *listener, struct arena *a,
                         struct slice *out, struct err *e);

#endif
