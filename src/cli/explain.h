/* What `mobula explain` prints, as a function of the manifests: the objects that the operator would create in an empty namespace, by the
 * very same decisions and builders. */
#ifndef MOBULA_CLI_EXPLAIN_H
#define MOBULA_CLI_EXPLAIN_H

#include <mobula/shape.h>

struct explain_how {
    struct ray_options ray;
    const struct shape_types *types; /* NULL: instance types are not applied */
    bool submitter_pods;             /* as the operator has it */
    bool json;                       /* one v1 List; else YAML documents */
    int64_t now_us;                  /* when RayCronJobs are due */
};

/* Objects go to out, what is to be said about the manifests to notes. Returns whether there was no error. */
bool explain_text(const char *file, struct slice text, const struct explain_how *how, struct arena *a, struct buf *out, struct buf *notes);
/* Instance types out of a file: the ConfigMap's manifest, or its text alone. Errors go to notes, a line each; false: there was one. */
bool explain_types(const char *file, struct slice text, struct arena *a, struct shape_types *out, struct buf *notes);
/* Around all of them. */
void explain_begin(const struct explain_how *how, struct buf *out);
void explain_end(const struct explain_how *how, struct buf *out);

#endif
