/* The output of `mobula explain`, as a function of the manifests: the objects that the operator would create in an empty namespace, by the
 * very same decisions and builders. */
#ifndef MOBULA_CLI_EXPLAIN_H
#define MOBULA_CLI_EXPLAIN_H

#include <mobula/patches.h>
#include <mobula/ray.h>

struct explain_how {
    struct ray_options ray;
    const struct shape_types *types;     /* NULL: instance types are not applied */
    const struct shape_patches *patches; /* NULL: none are applied */
    bool steps;                          /* changes by types and patches are shown as diffs, instead of the objects */
    bool submitter_pods;                 /* as the operator has it */
    bool json;                           /* one v1 List; else YAML documents */
    int64_t now_us;                      /* when RayCronJobs are due */
};

/* Objects go to out, what is to be said about the manifests to notes. Returns whether there was no error. */
bool explain_text(const char *file, struct slice text, const struct explain_how *how, struct arena *a, struct buf *out, struct buf *notes);
/* Instance types out of a file: the ConfigMap's manifest, or its text alone. Errors go to notes, a line each; false: there was one. */
bool explain_types(const char *file, struct slice text, struct arena *a, struct shape_types *out, struct buf *notes);
/* Patches, the same way. */
bool explain_patches(const char *file, struct slice text, struct arena *a, struct shape_patches *out, struct buf *notes);
/* The object as the patches make it; with how->steps, each operation goes to out as a diff, and before them what its instance type has made
 * of it. untyped: what it would be without one; .ptr NULL: the same. */
bool explain_patched(const struct explain_how *how, struct slice untyped, struct slice object, struct arena *a, struct slice *made,
                     struct buf *out, struct err *e);
/* Around all of them. */
void explain_begin(const struct explain_how *how, struct buf *out);
void explain_end(const struct explain_how *how, struct buf *out);

#endif
