/* The work of `mobula compute-config`, as a function of the texts. */
#ifndef MOBULA_CLI_COMPUTE_H
#define MOBULA_CLI_COMPUTE_H

#include <mobula/compute.h>
#include <mobula/patches.h>

#define COMPUTE_IMAGE "rayproject/ray:2.60.0" /* of the rendered cluster, unless another is named */

struct compute_how {
    struct slice name, image, ray_version; /* of the RayCluster; the last may be empty */
    const struct shape_types *types;       /* NULL: not known */
    const struct shape_patches *patches;   /* which the cluster's objects must bear; NULL: none */
};

/* Writes the RayCluster of a compute config as YAML to out, and "FILE:LINE: PATH: TEXT" for each error and warning to notes. Returns
 * whether there was no error; then out has the cluster. */
bool compute_text(const char *file, struct slice text, const struct compute_how *how, struct arena *a, struct buf *out, struct buf *notes);
/* compute_text, with the notes on standard error; file "-": standard input. */
bool compute_check(struct slice file, struct slice text, const struct compute_how *how, struct arena *a, struct buf *out,
                   struct buf *notes);
/* Whether a control plane should store this config: notes go to standard error, and *e says that nothing was stored. */
bool compute_is_sound(struct slice file, struct slice text, struct arena *a, struct err *e);

#endif
