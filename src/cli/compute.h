/* Checks of compute configs whose notes go to standard error. */
#ifndef MOBULA_CLI_COMPUTE_H
#define MOBULA_CLI_COMPUTE_H

#include <mobula/explain.h>

/* compute_text, with the notes on standard error; file "-": standard input. */
bool compute_check(struct slice file, struct slice text, const struct compute_how *how, struct arena *a, struct buf *out,
                   struct buf *notes);
/* Whether a control plane should store this config: notes go to standard error, and *e says that nothing was stored. */
bool compute_is_sound(struct slice file, struct slice text, struct arena *a, struct err *e);

#endif
