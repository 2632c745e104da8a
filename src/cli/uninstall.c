/* `mobula uninstall`: the names of what `mobula install` has made, to be deleted here or by kubectl. Definitions are among them only when
 * that is asked for: the API server then deletes all RayClusters, RayJobs, RayCronJobs and RayServices of every
 * namespace, other operators' too. */
#include "cli.h"
#include "failed.h"

#include <mobula/artifact.h>
#include <mobula/release.h>

static const struct flag list[] = {
#define AT(field) offsetof(struct uninstall_options, field)
    {"namespace", FLAG_TEXT, AT(ns), "NS"},
    {"watch-namespace", FLAG_LIST, AT(watch), "NS[,NS...]"},
    {"all-namespaces", FLAG_SWITCH, AT(all_namespaces), NULL},
    {"control-plane", FLAG_SWITCH, AT(plane), NULL},
    {"crds", FLAG_SWITCH, AT(crds), NULL},
    {"kinds", FLAG_TEXT, AT(kinds), "ray.io|legacy|all"},
    {"purge", FLAG_SWITCH, AT(purge), NULL},
    {"leave-work", FLAG_SWITCH, AT(leave_work), NULL},
    {"apply", FLAG_SWITCH, AT(apply), NULL},
    {"timeout", FLAG_DURATION, AT(timeout_ms), "TIME"},
    TLS_FLAG,
    {"kubeconfig", FLAG_TEXT, AT(kubeconfig), "FILE"},
    {"context", FLAG_TEXT, AT(context), "NAME"},
#undef AT
};

static const struct flags flags = {
    .usage = "mobula uninstall [--apply] [FLAG...]",
    .list = list,
    .count = COUNT_OF(list),
};

static int apply(struct uninstall_options *o)
{
    struct err e = {0};
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    struct ask ask = {0};
    struct apply p = {.ask = &ask, .say = cli_say, .note = cli_apply_note, .a = &a, .spares = true, .installation = o->ns};
    int status = STATUS_OK;
    if (!ask_open(&ask, o->kubeconfig, o->context, &e) || !uninstall_apply(o, &p, &e))
        status = cli_apply_failed(&p, &e);
    ask_close(&ask);
    return status;
}

int cli_uninstall(int argc, char **argv)
{
    struct uninstall_options o = {
        .ns = install_defaults.ns, .kinds = install_defaults.args.kinds, .timeout_ms = install_defaults.timeout_ms};
    int status;
    if (!flags_parse(&flags, argc, argv, &o, &status))
        return status;
    if (o.purge && o.leave_work)
        return flags_wrong(&flags, "--purge and --leave-work exclude each other");
    if (o.crds && o.leave_work)
        return flags_wrong(&flags, "--crds and --leave-work exclude each other: with the definitions all work is deleted");
    if (o.all_namespaces && (!o.apply || o.plane || !slice_empty(o.watch)))
        return flags_wrong(&flags, "--all-namespaces needs --apply, and excludes --watch-namespace and --control-plane");
    if (o.purge && !o.apply)
        return flags_wrong(&flags, "--purge needs --apply: what it deletes is looked up in the cluster");
    struct err e = {0};
    struct slice arch;
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    __attribute__((cleanup(buf_free))) struct buf out;
    buf_init(&out, MIB);
    if (!o.apply) /* else all that are there are found by their label */
        program_read(SLICE_NONE, &a, &o.program, &arch, &e);
    if (!uninstall_write(&o, &out, &e))
        return flags_wrong(&flags, "%s", e.text);
    if (o.apply)
        return apply(&o);
    return cli_print(buf_slice(&out)) ? STATUS_OK : STATUS_ERROR;
}
