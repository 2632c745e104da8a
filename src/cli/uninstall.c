/* `mobula uninstall`: the names of what `mobula install` has made, to be deleted here or by kubectl. Definitions are among them only when
 * that is asked for: the API server then deletes all RayClusters, RayJobs, RayCronJobs and RayServices of every
 * namespace, other operators' too. */
#include "cli.h"
#include "failed.h"

#include <mobula/artifact.h>
#include <mobula/kinds.h>
#include <mobula/release.h>

#include <stdio.h>

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

static const struct slice *watched_list(const struct uninstall_options *o, struct cli_namespaces *w, uint32_t *count, struct err *e)
{
    static const struct slice everywhere[] = {SLICE("")};
    *count = 1;
    if (o->all_namespaces)
        return everywhere;
    if (!cli_namespaces(slice_empty(o->watch) ? o->ns : o->watch, "--watch-namespace", w, e))
        return NULL;
    *count = w->count;
    return w->list;
}

/* Fails if work is left that no operator would reconcile any more. */
static bool look_first(const struct uninstall_options *o, struct apply *p, const struct inventory *now, const struct slice *watched,
                       uint32_t count, struct err *e)
{
    for (uint32_t i = 0; i < (o->crds ? 1 : count); i++) {
        struct slice ns = o->crds ? SLICE("") : watched[i], words;
        if (!inventory_count(p, now, o->plane, ns, &words, e))
            return err_wrap(e, "nothing was uninstalled: the work could not be counted (--leave-work does not count it)");
        if (!slice_empty(words))
            apply_fail(p, arena_printf(p->a, "%s%.*s: %.*s left", slice_empty(ns) ? "all namespaces" : "namespace ", SLICE_ARG(ns),
                                       SLICE_ARG(words)));
    }
    return p->failed == 0 || err_set(e, ERR_STATUS, "nothing was deleted: --purge deletes that first%s",
                                     o->crds ? "" : ", --leave-work leaves it without anything that looks after it");
}

/* Deletes the work first (--purge), while the operator runs and can remove its finalizers. Then checks that none is left. */
static bool begin(const struct uninstall_options *o, struct apply *p, const struct inventory *now, int64_t until_ms, struct err *e)
{
    struct cli_namespaces store;
    uint32_t count;
    bool there = json_there(now->deployment), runs = json_get_int(now->deployment, "status.readyReplicas", 0) > 0 || !there;
    const struct slice *watched = watched_list(o, &store, &count, e);
    if (!watched)
        return false;
    for (uint32_t i = 0; o->purge && i < count; i++)
        if (!purge_namespace(p, now, o->plane, runs, watched[i], until_ms, e))
            return false;
    return o->leave_work || (!there && !o->crds) || look_first(o, p, now, watched, count, e);
}

/* Takes ConfigMaps mobula-tools off the list in namespaces that another operator watches: all operators of a namespace share it. */
static bool spare_shared(const struct uninstall_options *o, struct apply *p, struct err *e)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        struct apply_object *one = &p->list[i];
        struct watcher other = {.known = true};
        bool tools = apply_is(one, "ConfigMap") && slice_is(one->name, RAY_TOOLS_CONFIGMAP_NAME);
        if (tools && !inventory_watcher(p->ask, one->ns, o->ns, false, SLICE_NONE, p->a, &other, e))
            return false;
        if (slice_empty(other.installation))
            p->list[kept++] = *one;
        else
            printf("ConfigMap/%.*s in %.*s is left: the operator in namespace %.*s uses it\n", SLICE_ARG(one->name), SLICE_ARG(one->ns),
                   SLICE_ARG(other.installation));
    }
    p->count = kept;
    return true;
}

/* Objects that an operator of all namespaces has made in each namespace with a cluster. */
static bool delete_tools(const struct uninstall_options *o, struct apply *p, int64_t until_ms, struct err *e)
{
    struct apply found = {.ask = p->ask, .say = p->say, .a = p->a};
    bool more;
    do {
        if (!apply_read(&found, SLICE_NONE, e) ||
            !apply_find(&found, SLICE("v1"), "ConfigMap", SLICE(""), NULL, RAY_TOOLS_CONFIGMAP_NAME, e))
            return false;
        more = found.count == APPLY_OBJECTS_MAX;
        if (!spare_shared(o, &found, e) || !apply_delete(&found, until_ms, e))
            return false;
    } while (more && found.count > 0);
    return true;
}

/* Lists the objects to delete: those of the options, those under the names of earlier versions, and ConfigMaps of the program. */
static bool read_all(const struct uninstall_options *o, struct apply *p, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf text;
    const char *programs = arena_printf(p->a, INSTALL_PROGRAM_LABELS, SLICE_ARG(install_name(o->plane))).ptr;
    buf_init(&text, MIB);
    if (!uninstall_write(o, &text, e) || !apply_read(p, arena_dup(p->a, buf_slice(&text)), e) || !spare_shared(o, p, e))
        return false;
    struct apply named = *p;
    return owner_find_former(p, &named, install_name(o->plane), e) && apply_find(p, SLICE("v1"), "ConfigMap", o->ns, programs, NULL, e);
}

/* Without --watch-namespace, takes the namespaces from the existing Deployment. */
static bool find_watched(struct uninstall_options *o, struct apply *p, struct inventory *now, struct err *e)
{
    if (!inventory_read(p, o->plane, now, e))
        return false;
    if (slice_empty(o->watch) && !o->all_namespaces) {
        o->all_namespaces = now->all;
        o->watch = now->all ? SLICE_NONE : now->watch;
    }
    return true;
}

/* With --leave-work, removes the finalizers of the work, once nothing runs that would add them again. Without the right to do so they stay,
 * and a warning names them. */
static bool release_work(const struct uninstall_options *o, struct apply *p, struct err *e)
{
    struct cli_namespaces store;
    uint32_t count = 0;
    const struct slice *watched = o->leave_work ? watched_list(o, &store, &count, e) : NULL;
    if (o->leave_work && !watched)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        struct err why = {0};
        if (!purge_release(p, o->plane, watched[i], &why))
            fprintf(stderr, "mobula: --leave-work: finalizers may be left in namespace %.*s, and deletions there wait for them: %s\n",
                    SLICE_ARG(watched[i]), why.text);
    }
    return true;
}

static int apply(struct uninstall_options *o)
{
    struct err e = {0};
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    struct ask ask = {0};
    struct apply p = {.ask = &ask, .say = cli_say, .a = &a, .spares = true, .installation = o->ns};
    struct inventory now;
    int status = STATUS_OK;
    int64_t until_ms = clock_now().mono_ms + o->timeout_ms;
    if (!ask_open(&ask, o->kubeconfig, o->context, &e) || !find_watched(o, &p, &now, &e) || !begin(o, &p, &now, until_ms, &e) ||
        !read_all(o, &p, &e) || !apply_delete(&p, until_ms, &e) || (o->all_namespaces && !o->plane && !delete_tools(o, &p, until_ms, &e)) ||
        !release_work(o, &p, &e))
        status = cli_apply_failed(&p, &e);
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
