/* The command line that the public chart of the Anyscale operator (1.8.0) gives its container, as flags of `mobula operator`. */
#ifndef MOBULA_CLI_START_H
#define MOBULA_CLI_START_H

#include <mobula/base.h>

enum { START_ARGUMENTS_MAX = 64 };

struct start {
    char *list[START_ARGUMENTS_MAX + 1]; /* ended by NULL; list[0] is "operator" */
    int count;
    struct slice provider; /* the value of --cloud-provider; empty: not given */
    struct slice ignored;  /* "--a, --b": flags that have no meaning here */
};

/* Global flags, the word start, its flags. False with *e: a flag that this chart does not have. */
bool start_arguments(int argc, char **argv, struct arena *a, struct start *out, struct err *e);

#endif
