/* `mobula uninstall`: the names of what `mobula install` has made, to be deleted here or by kubectl. Definitions are among them only when
 * that is asked for: with them go all RayClusters and RayJobs of every namespace, whoever looks after them. */
#include "apply.h"
#include "cli.h"
#include "install.h"
#include "program.h"
#include "revision.h"

#include <mobula/kinds.h>

#include <stdio.h>

/* What is no file of the installation: the program makes it. */
static const struct made {
    const char *api_version, *kind, *suffix; /* behind install_name */
    bool watched, by_plane;                  /* watched: in each of these namespaces; by_plane: by a control plane, too */
} list_of_made[] = {
    {"v1", "ConfigMap", "-tools", true, false},
    {"v1", "Secret", REVISION_SUFFIX, false, true},
    {"coordination.k8s.io/v1", "Lease", "", false, false},
};

static void put_name(struct slice api_version, struct slice kind, struct slice name, struct slice ns, struct buf *out)
{
    buf_printf(out, "---\napiVersion: %.*s\nkind: %.*s\nmetadata:\n  name: %.*s\n", SLICE_ARG(api_version), SLICE_ARG(kind),
               SLICE_ARG(name));
    if (!slice_empty(ns))
        buf_printf(out, "  namespace: \"%.*s\"\n", SLICE_ARG(ns));
}

static void put_definition(const char *plural, struct buf *out)
{
    put_name(SLICE("apiextensions.k8s.io/v1"), SLICE("CustomResourceDefinition"), slice_of(plural), SLICE_NONE, out);
}

static void put_definitions(bool plane, enum operator_kinds family, struct buf *out)
{
    for (size_t i = 0; plane && install_plane_kinds[i]; i++)
        put_definition(install_plane_kinds[i], out);
    for (size_t i = 0; !plane && kinds[i]; i++)
        if (kinds[i]->check && wanted_kind(kinds[i], family))
            put_definition(kinds[i]->plural, out);
}

static bool is_twice(const struct apply *p, uint32_t n)
{
    const struct apply_object *o = &p->list[n];
    for (uint32_t i = n + 1; i < p->count; i++)
        if (slice_eq(p->list[i].kind, o->kind) && slice_eq(p->list[i].name, o->name) && slice_eq(p->list[i].ns, o->ns))
            return true;
    return false;
}

/* Reads the files of an installation with whatever flags: their objects in the order in which they are made. */
static bool read_installed(const struct uninstall_options *o, struct apply *p, struct err *e)
{
    struct install_options i = install_defaults;
    __attribute__((cleanup(buf_free))) struct buf text;
    buf_init(&text, INSTALL_TEXT_MAX);
    i.ns = o->ns;
    i.watch = o->watch;
    i.kinds = o->kinds;
    i.plane = o->plane;
    i.program = o->program.len <= INSTALL_PROGRAM_MAX ? o->program : SLICE_NONE; /* else no ConfigMap can hold it */
    return install_write_all(&i, &text, e) && apply_read(p, buf_slice(&text), e);
}

/* The last first. */
static void put_installed(const struct apply *p, bool of_cluster, struct buf *out)
{
    for (uint32_t n = p->count; n-- > 0;)
        if (slice_empty(p->list[n].ns) == of_cluster && !is_twice(p, n))
            put_name(p->list[n].api_version, p->list[n].kind, p->list[n].name, p->list[n].ns, out);
}

static void put_made(const struct uninstall_options *o, const struct cli_namespaces *watched, struct arena *a, struct buf *out)
{
    for (size_t i = 0; i < COUNT_OF(list_of_made); i++) {
        const struct made *m = &list_of_made[i];
        struct slice name = arena_printf(a, "%.*s%s", SLICE_ARG(install_name(o->plane)), m->suffix);
        for (uint32_t k = 0; k < (m->watched ? watched->count : 1) && (m->by_plane || !o->plane); k++)
            put_name(slice_of(m->api_version), slice_of(m->kind), name, m->watched ? watched->list[k] : o->ns, out);
    }
}

/* What an admin of the namespaces may delete goes before what is the cluster's. */
bool uninstall_write(const struct uninstall_options *o, struct buf *out, struct err *e)
{
    struct cli_namespaces watched;
    enum operator_kinds family;
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    struct apply p = {.a = &a};
    if (!read_installed(o, &p, e) || !cli_kinds(o->kinds, &family, e) ||
        !cli_namespaces(slice_empty(o->watch) ? o->ns : o->watch, "--watch-namespace", &watched, e))
        return false;
    put_installed(&p, false, out);
    put_made(o, &watched, &a, out);
    put_installed(&p, true, out);
    if (o->crds)
        put_definitions(o->plane, family, out);
    return true;
}

/* ---- the command ---- */

static const struct flag list[] = {
#define AT(field) offsetof(struct uninstall_options, field)
    {"namespace", FLAG_TEXT, AT(ns), "NS", "where the operator runs (mobula)"},
    {"watch-namespace", FLAG_LIST, AT(watch), "NS[,NS...]", "where it makes clusters (the same)"},
    {"all-namespaces", FLAG_SWITCH, AT(all_namespaces), NULL,
     "of an installation with this flag, with --apply: ConfigMaps " RAY_TOOLS_CONFIGMAP_NAME
     " and what --purge deletes, in every namespace"},
    {"control-plane", FLAG_SWITCH, AT(plane), NULL, "the control plane there, not the operator; --watch-namespace: its projects"},
    {"crds", FLAG_SWITCH, AT(crds), NULL,
     "the definitions, too: every RayCluster, RayJob, RayCronJob and RayService of every namespace is deleted with them"},
    {"kinds", FLAG_TEXT, AT(kinds), "ray.io|legacy|all", "with --crds, the definitions of which group (ray.io)"},
    {"purge", FLAG_SWITCH, AT(purge), NULL,
     "with --apply: first every RayService, RayCronJob, RayJob and RayCluster of the namespaces where it makes clusters, while the "
     "operator "
     "runs"},
    {"apply", FLAG_SWITCH, AT(apply), NULL, "delete it, in this order, and wait until each is gone"},
    {"timeout", FLAG_DURATION, AT(timeout_ms), "TIME", "of --apply (2m)"},
    TLS_FLAG,
    {"kubeconfig", FLAG_TEXT, AT(kubeconfig), "FILE",
     "of --apply: how to reach the API server (default: $KUBECONFIG, else in-cluster, else ~/.kube/config)"},
    {"context", FLAG_TEXT, AT(context), "NAME", "of the kubeconfig (default: its current-context)"},
#undef AT
};

static const struct flags flags = {
    .usage = "mobula uninstall [--apply] [FLAG...]",
    .about = "Prints the names of what `mobula install` with these flags has made, and of ConfigMap " RAY_TOOLS_CONFIGMAP_NAME
             ", for `kubectl delete --ignore-not-found -f -`; with --apply it deletes them itself.\n"
             "Namespaces, definitions, RayClusters, RayJobs, RayCronJobs and RayServices stay, and so do the pods of clusters. Delete "
             "RayJobs that run "
             "on a cluster of\n"
             "somebody else's (clusterSelector) before: the operator takes their finalizer off.",
    .list = list,
    .count = COUNT_OF(list),
};

/* Batch by batch, while the operator runs: it takes finalizers off. What owns goes before what is owned. */
static bool purge_kind(struct apply *p, const struct kind *k, struct slice ns, int64_t until_ms, struct err *e)
{
    do {
        p->count = 0;
        if (!apply_find(p, k->api_version, k->name, ns, NULL, NULL, e) || !apply_purge(p, until_ms, e))
            return false;
    } while (p->count == APPLY_OBJECTS_MAX);
    return true;
}

static bool purge(const struct uninstall_options *o, struct apply *p, int64_t until_ms, struct err *e)
{
    struct cli_namespaces watched;
    struct apply found = {.ask = p->ask, .a = p->a};
    if (!cli_namespaces(slice_empty(o->watch) ? o->ns : o->watch, "--watch-namespace", &watched, e) || !apply_read(&found, SLICE_NONE, e))
        return false;
    if (o->all_namespaces)
        watched.list[0] = SLICE("");
    for (uint32_t n = 0; n < watched.count; n++)
        for (uint32_t i = kind_count(); i-- > 0;)
            if (kinds[i]->check && !purge_kind(&found, kinds[i], watched.list[n], until_ms, e))
                return err_wrap(e, "--purge");
    return true;
}

/* What an operator of all namespaces has made wherever there was a cluster. */
static bool delete_tools(struct apply *p, int64_t until_ms, struct err *e)
{
    struct apply found = {.ask = p->ask, .a = p->a};
    do {
        if (!apply_read(&found, SLICE_NONE, e) ||
            !apply_find(&found, SLICE("v1"), "ConfigMap", SLICE(""), NULL, RAY_TOOLS_CONFIGMAP_NAME, e) ||
            !apply_delete(&found, until_ms, e))
            return false;
    } while (found.count == APPLY_OBJECTS_MAX);
    return true;
}

static int apply(const struct uninstall_options *o, struct slice text)
{
    struct err e = {0};
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    struct ask ask = {0};
    struct apply p = {.ask = &ask, .a = &a, .spares = true};
    const char *programs = arena_printf(&a, INSTALL_PROGRAM_LABELS, SLICE_ARG(install_name(o->plane))).ptr;
    int status = STATUS_OK;
    int64_t until_ms = clock_now().mono_ms + o->timeout_ms;
    if (!apply_read(&p, text, &e) || !ask_open(&ask, o->kubeconfig, o->context, &e) || (o->purge && !purge(o, &p, until_ms, &e)) ||
        !apply_find(&p, SLICE("v1"), "ConfigMap", o->ns, programs, NULL, &e) || !apply_delete(&p, until_ms, &e) ||
        (o->all_namespaces && !delete_tools(&p, until_ms, &e)))
        status = apply_failed(&p, &e);
    ask_close(&ask);
    uint32_t absent = 0;
    while (absent < p.count && !p.list[absent].changed)
        absent++;
    if (status == STATUS_OK && absent == p.count)
        fprintf(stderr, "mobula: no installation in namespace %.*s: there was nothing to delete\n", SLICE_ARG(o->ns));
    return status;
}

int cli_uninstall(int argc, char **argv)
{
    struct uninstall_options o = {.ns = install_defaults.ns, .kinds = install_defaults.kinds, .timeout_ms = install_defaults.timeout_ms};
    int status;
    if (!flags_parse(&flags, argc, argv, &o, &status))
        return status;
    if (o.purge && o.plane)
        return flags_wrong(&flags, "--purge deletes what an operator runs: leave it out with --control-plane");
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
        return apply(&o, buf_slice(&out));
    return cli_print(buf_slice(&out)) ? STATUS_OK : STATUS_ERROR;
}
