/* Running a command about objects of a control plane: its verb, its flags and its command behind "--". */
#include "fleet.h"

#include <mobula/submit.h>

#include <stdio.h>

const struct flag cli_fleet_flags[FLEET_FLAGS] = {
    {"server", FLAG_TEXT, FLEET_AT(server), "URL"},
    {"token-file", FLAG_TEXT, FLEET_AT(token_file), "FILE"},
    {"ca-file", FLAG_TEXT, FLEET_AT(ca_file), "FILE"},
    TLS_FLAG,
    {"timeout", FLAG_DURATION, FLEET_AT(timeout_ms), "TIME"},
    {"n", FLAG_TEXT, FLEET_AT(ns), "NS"},
    {"name", FLAG_TEXT, FLEET_AT(name), "NAME"},
    {"o", FLAG_TEXT, FLEET_AT(output), "table|json|yaml|name"},
    {"kubeconfig", FLAG_TEXT, FLEET_AT(kubeconfig), "FILE"},
    {"context", FLAG_TEXT, FLEET_AT(context), "NAME"},
};

/* Flags of the documents that have no meaning here: they and their values are taken out. */
static void drop_unused(int *argc, char **argv)
{
    static const char unused[] = " --anyscale-operator-iam-identity --kubernetes-dataplane-identity --anyscale-iam-role-id "
                                 "--anyscale-service-account-email --provider-name --project-id --vpc-name --filestore-location ";
    int kept = 0;
    for (int i = 0; i < *argc; i++) {
        struct slice rest = slice_of(argv[i]), name = slice_cut(&rest, '=');
        char word[64];
        snprintf(word, sizeof word, " %.*s ", SLICE_ARG(name));
        if (!slice_starts(name, SLICE("--")) || !strstr(unused, word)) {
            argv[kept++] = argv[i];
            continue;
        }
        fprintf(stderr, "mobula: %.*s: of no use here\n", SLICE_ARG(name));
        i += !rest.ptr;
    }
    *argc = kept;
}

/* Where the flags end. What stands behind "--" is the command, as `mobula submit` takes it. */
static bool cut_command(int argc, char **argv, struct desk *d, int *end, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf line = {.max = LIMIT_JSON_ITEM};
    for (*end = 1; *end < argc && strcmp(argv[*end], "--") != 0;)
        ++*end;
    size_t count = *end < argc ? (size_t)(argc - *end - 1) : 0;
    struct slice *words = arena_array(&d->a, count, sizeof *words);
    for (size_t i = 0; i < count; i++)
        words[i] = slice_of(argv[*end + 1 + (int)i]);
    bool well = count == 0 || submit_entrypoint(words, count, &line, e);
    d->command = arena_dup(&d->a, buf_slice(&line));
    return well;
}

/* How many of the arguments are the verb; 0: it is none. */
static int find_verb(const struct cli_fleet_command *n, int argc, char **argv, size_t *v)
{
    for (*v = 0; *v < FLEET_VERBS && n->verbs[*v].name; ++*v) {
        struct slice rest = slice_of(n->verbs[*v].name);
        int i = 1;
        while (rest.ptr && i < argc && slice_eq(slice_cut(&rest, ' '), slice_of(argv[i])))
            i++;
        if (!rest.ptr && slice_ends(slice_of(n->verbs[*v].name), slice_of(argv[i - 1])))
            return i - 1;
    }
    return 0;
}

static int wrong_verb(const struct cli_fleet_command *n, const char *typed)
{
    struct slice rest = slice_of(n->flags.usage), verbs;
    slice_cut(&rest, ' ');
    verbs = slice_trim(slice_cut(&rest, '['));
    return flags_wrong(&n->flags, *typed ? "\"%s\": want mobula %.*s" : "%swant mobula %.*s", typed, SLICE_ARG(verbs));
}

/* A word that is no flag is the name of what the command is about. Returns what is wrong, if anything. */
static const char *place_word(cli_fleet_verb *run, struct desk *d)
{
    struct fleet_options *o = &d->o;
    struct slice *name = run == cli_node_list ? &o->cloud : &o->name;
    if (run == cli_job_submit && (o->word.ptr || slice_empty(o->cloud) || slice_empty(d->command)))
        return "--cloud NAME and a command behind -- are needed";
    if (o->word.ptr)
        *name = o->word;
    if (slice_empty(*name) && run != cli_fleet_show && run != cli_job_submit)
        return "NAME is needed";
    if (run == cli_config_create && slice_empty(o->file))
        return "-f FILE is needed: the compute config";
    return strstr("table json yaml name", o->output.ptr) ? NULL : "-o is table, json, yaml or name";
}

int cli_fleet_run(const struct cli_fleet_command *n, int argc, char **argv)
{
    struct desk d = {.noun = &n->noun,
                     .told = cli_fleet_note,
                     .o = {.output = SLICE("table"), .retries = 1, .lines = 1000},
                     .command = SLICE(""),
                     .status = STATUS_ERROR};
    int status, end;
    struct err e = {0};
    size_t v;
    int words = find_verb(n, argc, argv, &v);
    if (!words && argc > 1 && argv[1][0] != '-')
        return wrong_verb(n, argv[1]);
    bool cut = cut_command(argc, argv, &d, &end, &e);
    end -= words;
    drop_unused(&end, argv + words);
    if (!flags_parse(&n->flags, end, argv + words, &d.o, &status))
        return status;
    if (!cut)
        return flags_wrong(&n->flags, "%s", e.text);
    if (!words)
        return wrong_verb(n, "");
    cli_fleet_verb *run = n->verbs[v].run;
    const char *wrong = place_word(run, &d);
    if (wrong)
        return flags_wrong(&n->flags, "%s", wrong);
    bool waits = run == cli_job_wait || (run == cli_job_submit && d.o.wait);
    d.ask.timeout_ms = waits && d.o.timeout_ms > ASK_MS ? ASK_MS : d.o.timeout_ms;
    bool ok = fleet_open(&d, &e) && run(&d, &e);
    ask_close(&d.ask);
    arena_free(&d.a);
    if (!ok && e.code != ERR_NONE)
        cli_fail(&e);
    return ok ? STATUS_OK : d.status;
}
