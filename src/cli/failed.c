#include "failed.h"

#include <stdio.h>

int cli_apply_failed(const struct apply *p, const struct err *e)
{
    for (uint32_t i = 0; i < p->failed && i < APPLY_FAILURES_MAX; i++) {
        static char line[APPLY_WORDS_MAX + KIB]; /* longer than struct err: lists of rights are printed whole */
        fprintf(stderr, "mobula: %.*s\n", SLICE_ARG(utf8_clean(p->failures[i], line, sizeof line)));
    }
    cli_fail(e);
    return p->ask->signal ? 128 + p->ask->signal : STATUS_ERROR;
}

void cli_apply_note(struct slice line)
{
    fprintf(stderr, "mobula: %.*s\n", SLICE_ARG(line));
}
