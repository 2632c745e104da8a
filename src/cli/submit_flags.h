/* The flags of mobula submit, and the submission that they make. */
#ifndef MOBULA_CLI_SUBMIT_FLAGS_H
#define MOBULA_CLI_SUBMIT_FLAGS_H

#include "cli.h"

#include <mobula/explain.h>
#include <mobula/submit.h>

struct submit_flags {
    struct slice address, cluster, id, token_file;
    struct seek_options seek;
    struct slice runtime_env, metadata, num_cpus, num_gpus, memory, resources;
    bool no_wait, stop;
    int64_t timeout_ms, patience_ms;
};

extern const struct flags submit_flags; /* of a struct submit_flags */

struct submit_token {
    struct slice path, given; /* a file, or the token itself */
    char text[LIMIT_RAY_TOKEN + 1];
};

struct submit_desk {
    struct submit_token token;
    struct submit_options o;
    struct buf entrypoint, body;
    struct arena a;
};

/* Fills a zero-initialised desk from flags, environment and the words of the entrypoint; sends nothing. The caller
 * sets say and show of d->o.voice. */
bool submit_desk_fill(struct submit_desk *d, const struct submit_flags *f, const struct slice *words, size_t count, struct rng *rng,
                      struct err *e);
void submit_desk_free(struct submit_desk *d); /* but not the desk's own memory */

/* submit_values.c: checks the flags whose values are JSON. */
bool submit_values_check(const struct submit_flags *f, struct arena *a, struct err *e);

#endif
