/* The one parser of command-line flags. A command describes its flags in a table and gets its options filled in; the same table
 * prints its usage.
 *
 *     --name VALUE   --name=VALUE   --switch   --switch=false   -f VALUE
 *
 * -n and --namespace are one flag with one row, and so are -o and --output. Of other words a command takes at most one. A list that is
 * given twice has the entries of both. Any other flag that is given twice with different values is an error. */
#ifndef MOBULA_CLI_FLAGS_H
#define MOBULA_CLI_FLAGS_H

#include <mobula/base.h>

enum flag_type {
    FLAG_SWITCH,   /* bool */
    FLAG_TEXT,     /* struct slice; a NUL stands behind it */
    FLAG_LIST,     /* struct slice: entries joined by commas; given again: the entries of both lists, each once */
    FLAG_TEXTS,    /* struct flag_texts: may be given again and again */
    FLAG_INT,      /* int64_t, not negative */
    FLAG_DURATION, /* int64_t, milliseconds: "500ms", "5s", "1m30s", "2h", "0" */
    FLAG_TLS,      /* no field: "1.2" or "1.3" is set for the whole process */
    FLAG_EACH,     /* stands for a row for each that flags.each makes; `at` is for those */
};

/* The row for commands that make or accept connections. */
#define TLS_FLAG                                                                                                                           \
    {                                                                                                                                      \
        "tls-min-version", FLAG_TLS, 0, "1.2|1.3", "oldest version of TLS that is spoken, with every peer (1.2)"                           \
    }

enum { FLAG_TEXTS_MAX = 64, FLAGS_GIVEN_MAX = 128 };
struct flag_texts {
    struct slice list[FLAG_TEXTS_MAX];
    uint32_t count;
};

struct flag {
    const char *name;  /* without dashes; of one letter: given as -f */
    uint8_t type;      /* enum flag_type */
    uint16_t at;       /* offsetof the field in the command's options, which hold the default */
    const char *value; /* the value's name in the usage: "NS[,NS…]"; NULL for switches */
    const char *help;
};

/* Makes row number n of those that a row of FLAG_EACH stands for out of that row. False: there are no more. */
typedef bool flag_each(size_t n, struct flag *row);

struct flags {
    const char *usage;              /* "mobula validate -f FILE [-f FILE …]" */
    const char *about;              /* description of the command, for --help */
    const struct flag *list, *more; /* more: that several commands have */
    uint16_t count, more_count;
    uint16_t word;        /* offsetof the slice for a word that is no flag, which is never the first field; 0: none is taken */
    const char *examples; /* lines of --help; NULL: none */
    flag_each *each;      /* of a list with a row of FLAG_EACH */
};

enum { STATUS_OK = 0, STATUS_ERROR = 1, STATUS_USAGE = 2 }; /* exit statuses of every command */

/* Fills options from argv[1] on. False: the command ends with *status, which is STATUS_OK after --help (printed on stdout) or STATUS_USAGE
 * after a mistake (printed on stderr with where the usage is). */
bool flags_parse(const struct flags *f, int argc, char **argv, void *options, int *status);
/* The same without printing; *help is set by --help or -h and ends the reading. */
bool flags_read(const struct flags *f, int argc, char **argv, void *options, bool *help, struct err *e);
bool flags_has(const struct flags *f, struct slice name);
/* The value of options for a text, or for a switch as "true" or "false"; SLICE_NONE: there is no such flag, or it is of another type. */
struct slice flags_value(const struct flags *f, const void *options, const char *name);
/* For what the table cannot say ("--replicas must be at least 1"): prints it on stderr, and which command prints the usage, so that the
 * mistake is not lost above a page of flags. Returns STATUS_USAGE. */
int flags_wrong(const struct flags *f, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
