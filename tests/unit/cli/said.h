/* Runs commands in the process of the test and keeps the text that they print. */
#ifndef MOBULA_TEST_SAID_H
#define MOBULA_TEST_SAID_H

#include "../test.h"

#include <stdio.h>
#include <unistd.h>

static inline int divert(int fd, FILE *to)
{
    int kept = dup(fd);
    if (!to || kept < 0 || dup2(fileno(to), fd) < 0)
        fatal("no temporary file");
    return kept;
}

static inline void restore(int fd, int kept, FILE *from, char *text, size_t size)
{
    dup2(kept, fd);
    close(kept);
    rewind(from);
    text[fread(text, 1, size - 1, from)] = 0;
    fclose(from);
}

/* Runs it with its last argument NULL. said: its text on stderr. */
static inline int run_said(int (*run)(int argc, char **argv), char **argv, char *said, size_t size)
{
    int argc = 0;
    while (argv[argc])
        argc++;
    FILE *to = tmpfile();
    int kept = divert(STDERR_FILENO, to), status = run(argc, argv);
    restore(STDERR_FILENO, kept, to, said, size);
    return status;
}

#endif
