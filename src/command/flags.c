#include <mobula/command.h>
#include <mobula/tls.h>

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- words ---- */

static bool row_at(const struct flags *f, size_t i, struct flag *row)
{
    if (i >= (size_t)f->count + f->more_count)
        return false;
    *row = i < f->count ? f->list[i] : f->more[i - f->count];
    return true;
}

/* Where one is in a table of flags; zero-initialised. */
struct flag_place {
    size_t row, each;
    const char *help; /* of a flag that has none in EMBED_FLAGS */
};

/* The next flag. False: there are no more. */
static bool next_flag(const struct flags *f, struct flag_place *p, struct flag *out)
{
    while (row_at(f, p->row, out)) {
        if (out->type == FLAG_EACH && f->each(p->each++, out, &p->help))
            return true;
        p->row++;
        p->help = NULL;
        if (out->type != FLAG_EACH)
            return true;
        p->each = 0;
    }
    return false;
}

static bool unknown_flag(const struct flags *f, struct slice typed, struct slice name, struct err *e)
{
    struct nearest n = {.typed = name};
    struct flag_place at = {0};
    struct flag flag;
    while (next_flag(f, &at, &flag))
        nearest_try(&n, slice_of(flag.name));
    if (!n.best.ptr)
        return err_set(e, ERR_CONFIG, "unknown flag %.*s", SLICE_ARG(typed));
    return err_set(e, ERR_CONFIG, "unknown flag %.*s; did you mean --%.*s?", SLICE_ARG(typed), SLICE_ARG(n.best));
}

/* ---- values ---- */

static bool read_switch(struct slice value, bool *out, struct err *e)
{
    bool on = slice_eq(value, SLICE("true"));
    if (!on && !slice_eq(value, SLICE("false")))
        return err_set(e, ERR_SYNTAX, "\"%.*s\" is neither true nor false", SLICE_ARG(value));
    *out = on;
    return true;
}

static bool add_text(struct flag_texts *texts, struct slice value, struct err *e)
{
    if (texts->count == FLAG_TEXTS_MAX)
        return err_set(e, ERR_LIMIT, "given more than %d times", FLAG_TEXTS_MAX);
    texts->list[texts->count++] = value;
    return true;
}

/* The result lives until the program ends: options point to it. */
static struct slice join_lists(struct slice list, struct slice more)
{
    static struct arena a;
    while (more.ptr) {
        struct slice entry = slice_trim(slice_cut(&more, ','));
        if (!slice_listed(list, entry))
            list = slice_empty(list) ? arena_dup(&a, entry) : arena_printf(&a, "%.*s,%.*s", SLICE_ARG(list), SLICE_ARG(entry));
    }
    return list;
}

static bool read_value(const struct flag *flag, struct slice value, bool again, void *options, struct err *e)
{
    void *out = (char *)options + flag->at;
    switch ((enum flag_type)flag->type) {
    case FLAG_SWITCH:
        return read_switch(value, out, e);
    case FLAG_TEXT:
        *(struct slice *)out = value;
        return true;
    case FLAG_LIST:
        *(struct slice *)out = again ? join_lists(*(struct slice *)out, value) : value;
        return true;
    case FLAG_TEXTS:
        return add_text(out, value, e);
    case FLAG_INT: {
        int64_t n;
        if (!slice_int(value, &n) || n < 0)
            return err_set(e, ERR_SYNTAX, "\"%.*s\" is not a whole number", SLICE_ARG(value));
        *(int64_t *)out = n;
        return true;
    }
    case FLAG_DURATION:
        return duration_parse(value, out, e);
    case FLAG_TLS:
        tls_insist_on_13(slice_is(value, "1.3"));
        return slice_is(value, "1.3") || slice_is(value, "1.2") ||
               err_set(e, ERR_SYNTAX, "\"%.*s\" is neither 1.2 nor 1.3", SLICE_ARG(value));
    case FLAG_EACH:
        break;
    }
    return false;
}

/* ---- arguments ---- */

/* The second name of a flag (n: namespace), which has no row of its own; NULL: none. */
static const char *twin_of(struct slice name)
{
    static const char *const twins[][2] = {{"n", "namespace"}, {"o", "output"}};
    for (size_t i = 0; i < COUNT_OF(twins); i++)
        for (size_t side = 0; side < 2; side++)
            if (slice_is(name, twins[i][side]))
                return twins[i][!side];
    return NULL;
}

static bool find_flag(const struct flags *f, struct slice name, struct flag *out)
{
    struct flag_place at = {0};
    struct slice twin = slice_of(twin_of(name));
    while (next_flag(f, &at, out))
        if (slice_is(name, out->name) || slice_is(twin, out->name))
            return true;
    return false;
}

bool flags_has(const struct flags *f, struct slice name)
{
    struct flag flag;
    return find_flag(f, name, &flag);
}

struct slice flags_value(const struct flags *f, const void *options, const char *name)
{
    struct flag flag;
    bool found = find_flag(f, slice_of(name), &flag);
    const void *at = found ? (const char *)options + flag.at : NULL;
    if (found && (flag.type == FLAG_TEXT || flag.type == FLAG_LIST))
        return *(const struct slice *)at;
    if (found && flag.type == FLAG_SWITCH)
        return *(const bool *)at ? SLICE("true") : SLICE("false");
    return SLICE_NONE;
}

/* -f for names of one letter, --name for all others. */
static const char *dashes(const struct flag *flag)
{
    return flag->name[1] ? "--" : "-";
}

/* Flags given so far, by their offset in the options: -n and --namespace have the same one. */
struct flags_given {
    struct {
        uint16_t at;
        struct slice value;
    } list[FLAGS_GIVEN_MAX];
    uint32_t count;
};

/* *again: the flag was given before, and this value adds to it or is the same. */
static bool is_given(struct flags_given *g, const struct flag *flag, struct slice value, bool *again, struct err *e)
{
    *again = false;
    for (uint32_t i = 0; i < g->count; i++)
        if (g->list[i].at == flag->at) {
            *again = true;
            return flag->type == FLAG_LIST || flag->type == FLAG_TEXTS || slice_eq(g->list[i].value, value) ||
                   err_set(e, ERR_CONFIG, "is given twice, as \"%.*s\" and as \"%.*s\": leave one out", SLICE_ARG(g->list[i].value),
                           SLICE_ARG(value));
        }
    if (g->count == FLAGS_GIVEN_MAX)
        return err_set(e, ERR_LIMIT, "more than %d different flags (FLAGS_GIVEN_MAX)", FLAGS_GIVEN_MAX);
    g->list[g->count].at = flag->at;
    g->list[g->count++].value = value;
    return true;
}

bool flags_read(const struct flags *f, int argc, char **argv, void *options, bool *help, struct err *e)
{
    struct flags_given given = {.count = 0};
    bool again;
    *help = false;
    for (int i = 1; i < argc; i++) {
        struct slice value = slice_of(argv[i]);
        if (slice_eq(value, SLICE("--help")) || slice_eq(value, SLICE("-h"))) {
            *help = true;
            return true;
        }
        if (value.len < 2 || value.ptr[0] != '-') {
            struct slice *word = f->word ? (void *)((char *)options + f->word) : NULL;
            if (!word || word->ptr)
                return err_set(e, ERR_CONFIG, "unexpected argument \"%s\"", argv[i]);
            *word = value;
            continue;
        }
        struct slice typed = slice_cut(&value, '='), name = slice_skip(typed, slice_starts(typed, SLICE("--")) ? 2 : 1);
        struct flag flag;
        if (!find_flag(f, name, &flag))
            return unknown_flag(f, typed, name, e);
        if (!value.ptr && flag.type == FLAG_SWITCH)
            value = SLICE("true");
        if (!value.ptr && ++i < argc)
            value = slice_of(argv[i]);
        if (!value.ptr)
            return err_set(e, ERR_CONFIG, "%s%s needs a value: %s", dashes(&flag), flag.name, flag.value);
        if (!is_given(&given, &flag, value, &again, e) || !read_value(&flag, value, again, options, e))
            return err_wrap(e, "%s%s", dashes(&flag), flag.name);
    }
    return true;
}

enum { HELP_COLUMN = 34, HELP_LEAST = 20 };

/* How many columns there are for the help of a flag; 0: it is not for a terminal, or for one that is too narrow, and stays one line. */
static size_t help_width(void)
{
    struct winsize w = {0};
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &w);
    return w.ws_col < HELP_COLUMN + HELP_LEAST ? 0 : w.ws_col - (size_t)HELP_COLUMN;
}

static void print_help(struct slice text, size_t width, FILE *to)
{
    while (width && text.len > width) {
        size_t at = width;
        while (at > 0 && text.ptr[at] != ' ')
            at--;
        if (at == 0)
            break; /* a word of that length */
        fprintf(to, "%.*s\n%*s", (int)at, text.ptr, HELP_COLUMN, "");
        text = slice_skip(text, at + 1);
    }
    fprintf(to, "%.*s\n", SLICE_ARG(text));
}

static bool is_word(struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!(s.ptr[i] >= 'a' && s.ptr[i] <= 'z') && (s.ptr[i] != '-' || i == 0))
            return false;
    return !slice_empty(s);
}

/* "explain cluster" of "mobula explain cluster NAME [-n NS]": the words that stand for themselves. */
static struct slice command_name(const struct flags *f)
{
    struct slice rest = slice_of(f->usage), name, word;
    slice_cut(&rest, ' ');
    name = slice_head(rest, 0);
    while (is_word(word = slice_cut(&rest, ' ')))
        name.len = (size_t)(word.ptr + word.len - name.ptr);
    return name;
}

/* A place in the part of EMBED_FLAGS that is about a command. */
struct help {
    struct slice texts, command;
    bool elsewhere; /* in the section of another command */
};

/* The next line of those for all commands or of the command's section, with the head of the section. False: there are no more. */
static bool next_line(struct help *h, struct slice *line)
{
    while (!slice_empty(h->texts)) {
        *line = slice_cut(&h->texts, '\n');
        if (slice_starts(*line, SLICE("[")))
            h->elsewhere = !slice_eq(slice_head(slice_skip(*line, 1), line->len - 2), h->command);
        if (!h->elsewhere)
            return true;
    }
    return false;
}

/* Returns the help of a flag: the last line of its name, as the command's own section comes behind the lines for all. */
static struct slice find_help(struct help h, const char *flag)
{
    struct slice found = SLICE_NONE, line;
    while (next_line(&h, &line))
        if (slice_eq(slice_cut(&line, ':'), slice_of(flag)))
            found = slice_trim(line);
    return found;
}

/* Prints the lines that begin with the mark, each behind the indent; before them the title. */
static void print_lines(struct help h, struct slice mark, const char *title, const char *indent, FILE *to)
{
    for (struct slice line; next_line(&h, &line);)
        if (slice_starts(line, mark)) {
            fprintf(to, "%s%s%.*s\n", title, indent, SLICE_ARG(slice_skip(line, mark.len)));
            title = "";
        }
}

static void print_flag(const struct flag *flag, struct slice help, FILE *to)
{
    int width = fprintf(to, "  %s%s%s%s", dashes(flag), flag->name, flag->value ? " " : "", flag->value ? flag->value : "");
    for (const char *c = flag->value; c && *c; c++)
        width -= (*c & 0xc0) == 0x80; /* a character takes one column however many bytes it has */
    if (width + 2 > HELP_COLUMN)
        width = fprintf(to, "\n") - 1;
    fprintf(to, "%*s", HELP_COLUMN - width, "");
    print_help(help, help_width(), to);
}

static void print_usage(const struct flags *f, FILE *to)
{
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    struct help h = {.texts = embed_file(embed_all(&a), EMBED_FLAGS), .command = f->section ? slice_of(f->section) : command_name(f)};
    struct flag_place at = {0};
    struct flag flag;
    print_lines(h, SLICE("= "), "", "", to);
    fprintf(to, "\nusage: %s\n", f->usage);
    while (next_flag(f, &at, &flag)) {
        print_flag(&flag, at.help ? slice_of(at.help) : find_help(h, flag.name), to);
        flag.name = twin_of(slice_of(flag.name));
        if (flag.name)
            print_flag(&flag, SLICE("the same"), to);
    }
    print_lines(h, SLICE("> "), "\nexamples:\n", "  ", to);
}

bool flags_parse(const struct flags *f, int argc, char **argv, void *options, int *status)
{
    bool help;
    struct err e = {0};
    if (!flags_read(f, argc, argv, options, &help, &e)) {
        *status = flags_wrong(f, "%s", e.text);
        return false;
    }
    if (!help)
        return true;
    print_usage(f, stdout);
    *status = STATUS_OK;
    return false;
}

int flags_wrong(const struct flags *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("mobula: ", stderr);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\nsee: mobula help %.*s\n", SLICE_ARG(command_name(f)));
    return STATUS_USAGE;
}
