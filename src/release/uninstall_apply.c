/* Deletes an installation from the cluster: its work first, or its finalizers, then the objects that it consists of. */
#include <mobula/kinds.h>
#include <mobula/release.h>

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
            p->say(arena_printf(p->a, "ConfigMap/%.*s in %.*s is left: the operator in namespace %.*s uses it", SLICE_ARG(one->name),
                                SLICE_ARG(one->ns), SLICE_ARG(other.installation)));
    }
    p->count = kept;
    return true;
}

/* Objects that an operator of all namespaces has made in each namespace with a cluster. */
static bool delete_tools(const struct uninstall_options *o, struct apply *p, int64_t until_ms, struct err *e)
{
    struct apply found = {.ask = p->ask, .say = p->say, .note = p->note, .a = p->a};
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
            p->note(arena_printf(p->a, "--leave-work: finalizers may be left in namespace %.*s, and deletions there wait for them: %s",
                                 SLICE_ARG(watched[i]), why.text));
    }
    return true;
}

bool uninstall_apply(struct uninstall_options *o, struct apply *p, struct err *e)
{
    struct inventory now;
    int64_t until_ms = clock_now().mono_ms + o->timeout_ms;
    if (!find_watched(o, p, &now, e) || !begin(o, p, &now, until_ms, e) || !read_all(o, p, e) || !apply_delete(p, until_ms, e) ||
        (o->all_namespaces && !o->plane && !delete_tools(o, p, until_ms, e)) || !release_work(o, p, e))
        return false;
    uint32_t absent = 0;
    while (absent < p->count && !p->list[absent].changed)
        absent++;
    if (absent == p->count)
        p->note(arena_printf(p->a, "no installation in namespace %.*s: there was nothing to delete", SLICE_ARG(o->ns)));
    return true;
}
