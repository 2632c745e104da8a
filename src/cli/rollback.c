/* `mobula rollback`: an installation as it was before its last change. */
#include "cli.h"
#include "failed.h"

#include <mobula/release.h>

struct rollback_options {
    struct slice ns, kubeconfig, context;
    int64_t timeout_ms;
    bool plane, more_rights;
};

static const struct flag list[] = {
#define AT(field) offsetof(struct rollback_options, field)
    {"namespace", FLAG_TEXT, AT(ns), "NS"},
    {"control-plane", FLAG_SWITCH, AT(plane), NULL},
    {"more-rights", FLAG_SWITCH, AT(more_rights), NULL},
    {"timeout", FLAG_DURATION, AT(timeout_ms), "TIME"},
    TLS_FLAG,
    {"kubeconfig", FLAG_TEXT, AT(kubeconfig), "FILE"},
    {"context", FLAG_TEXT, AT(context), "NAME"},
#undef AT
};

static const struct flags flags = {
    .usage = "mobula rollback [FLAG...]",
    .list = list,
    .count = COUNT_OF(list),
};

static bool check_kinds(const struct apply *p, const struct revision *r, struct err *e)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (!revision_allows(r, &p->list[i], p->a))
            return err_set(e, ERR_STATUS, "the Secret of revisions holds %.*s %.*s, which no installation has: somebody has changed it",
                           SLICE_ARG(p->list[i].kind), SLICE_ARG(p->list[i].name));
    return true;
}

/* Rights that were taken away, or that somebody has written into the Secret, come back only when the admin says so. */
static bool check_rights_given(struct apply *p, struct err *e)
{
    for (uint32_t i = 0; i < p->count; i++) {
        const struct apply_object *o = &p->list[i];
        struct jval live;
        bool absent;
        if (!slice_ends(o->kind, SLICE("Role")) && !slice_ends(o->kind, SLICE("RoleBinding")))
            continue;
        if (!apply_live(p, o, &live, &absent, e))
            return err_wrap(e, "%.*s %.*s", SLICE_ARG(o->kind), SLICE_ARG(o->name));
        struct slice gives = revision_gives(o, live, p->a);
        if (!slice_empty(gives))
            apply_fail(p, arena_printf(p->a, "%.*s %.*s%s%.*s would give more than now: %.*s", SLICE_ARG(o->kind), SLICE_ARG(o->name),
                                       slice_empty(o->ns) ? "" : " in ", SLICE_ARG(o->ns), SLICE_ARG(gives)));
    }
    return p->failed == 0 || err_set(e, ERR_STATUS, "nothing was changed: when these rights are meant, --more-rights gives them");
}

static bool roll_back(struct apply *p, const struct rollback_options *o, struct err *e)
{
    int64_t until_ms = clock_now().mono_ms + o->timeout_ms;
    struct revision r = {.ns = o->ns, .name = install_name(o->plane)};
    if (!ask_open(p->ask, o->kubeconfig, o->context, e) || !revision_read(p, &r, e))
        return false;
    if (slice_empty(r.previous))
        return err_set(e, ERR_STATUS,
                       "namespace %.*s has no previous revision (Secret %.*s" REVISION_SUFFIX
                       " keeps one for each install --apply or upgrade that changes something)",
                       SLICE_ARG(o->ns), SLICE_ARG(r.name));
    if (!apply_read(p, r.previous, e) || !check_kinds(p, &r, e) || !(o->more_rights || check_rights_given(p, e)) || !apply_try(p, e) ||
        !apply_all(p, until_ms, e) || !apply_wait(p, until_ms, e))
        return false;
    revision_next(&r, r.previous); /* they change places */
    return revision_write(p, &r, e) && revision_prune(p, &r, until_ms, e);
}

int cli_rollback(int argc, char **argv)
{
    struct rollback_options o = {.ns = install_defaults.ns, .timeout_ms = install_defaults.timeout_ms};
    struct err e = {0};
    int status;
    if (!flags_parse(&flags, argc, argv, &o, &status))
        return status;
    if (!cli_namespace(o.ns, "--namespace", &e))
        return flags_wrong(&flags, "%s", e.text);
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    struct ask ask = {0};
    struct apply p = {.ask = &ask, .say = cli_say, .a = &a, .replaces = true};
    status = roll_back(&p, &o, &e) ? STATUS_OK : cli_apply_failed(&p, &e);
    ask_close(&ask);
    return status;
}
