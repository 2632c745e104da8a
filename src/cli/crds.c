/* `mobula crds migrate`: objects that are stored in a version other than the storage version of their definition are written again, so that
 * the API server stores them in that version; then status.storedVersions of the definition has that version alone, and a definition without
 * the others can be applied. */
#include "cli.h"

#include <mobula/release.h>

#include <stdio.h>

enum { STATUS_DIFFERS = 3 };

struct crds_options {
    struct slice kubeconfig, context;
    int64_t timeout_ms;
    bool dry_run;
};

static const struct flag list[] = {
#define AT(field) offsetof(struct crds_options, field)
    {"dry-run", FLAG_SWITCH, AT(dry_run), NULL},       {"timeout", FLAG_DURATION, AT(timeout_ms), "TIME"}, TLS_FLAG,
    {"kubeconfig", FLAG_TEXT, AT(kubeconfig), "FILE"}, {"context", FLAG_TEXT, AT(context), "NAME"},
#undef AT
};

static const struct flags flags = {
    .usage = "mobula crds migrate [FLAG...]",
    .list = list,
    .count = COUNT_OF(list),
};

static int migrate(struct migration *m)
{
    struct err e = {0};
    bool any;
    if (!migrate_all(m, &any, &e)) {
        cli_fail(&e);
        fprintf(stderr, "mobula: what was rewritten stays so; the same command goes on\n");
        return m->ask->signal ? 128 + m->ask->signal : STATUS_ERROR;
    }
    return any && m->dry_run ? STATUS_DIFFERS : STATUS_OK;
}

int cli_crds(int argc, char **argv)
{
    struct crds_options o = {0};
    bool named = argc > 1 && slice_is(slice_of(argv[1]), "migrate");
    struct err e = {0};
    int status;
    if (!flags_parse(&flags, argc - named, argv + named, &o, &status))
        return status;
    if (!named)
        return flags_wrong(&flags, "crds: want migrate");
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    struct ask ask = {.timeout_ms = o.timeout_ms};
    struct migration m = {.ask = &ask, .a = &a, .say = cli_say, .dry_run = o.dry_run};
    status = ask_open(&ask, o.kubeconfig, o.context, &e) ? migrate(&m) : cli_fail(&e);
    ask_close(&ask);
    return status;
}
