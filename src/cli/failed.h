/* Notes and the end of commands that change an installation. */
#ifndef MOBULA_CLI_FAILED_H
#define MOBULA_CLI_FAILED_H

#include <mobula/release.h>

/* Prints failures and *e. Returns the exit status. */
int cli_apply_failed(const struct apply *p, const struct err *e);
/* apply.note: a line to standard error. */
void cli_apply_note(struct slice line);

#endif
