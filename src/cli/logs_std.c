#include "logs_std.h"

#include <stdio.h>

static bool print_text(void *owner, struct slice text)
{
    (void)owner;
    return cli_print(text);
}

static void print_row(void *owner, struct slice row)
{
    (void)owner;
    printf("%.*s\n", SLICE_ARG(row));
}

static void print_note(void *owner, struct slice line)
{
    (void)owner;
    fprintf(stderr, "%.*s\n", SLICE_ARG(line));
}

const struct logs_sink cli_logs_std = {.text = print_text, .row = print_row, .note = print_note};
