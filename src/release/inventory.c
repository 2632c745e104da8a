/* Reads which namespaces an installation watches, counts the work in them, and finds other installations that watch the same namespace. */
#include <mobula/kinds.h>
#include <mobula/release.h>

enum { PATH_BYTES = KIB };

/* ---- the Deployment ---- */

struct jval inventory_arguments(struct jval deployment)
{
    return json_key(json_at(json_get(deployment, "spec.template.spec.containers"), 0), SLICE("args"));
}

struct slice inventory_argument(struct jval arguments, const char *flag, bool list, struct arena *a)
{
    struct jval key, one;
    struct slice found = SLICE_NONE;
    for (struct jiter it = json_iter(arguments); json_next(&it, &key, &one);) {
        struct slice value = json_str(one, a);
        if (!slice_is(slice_cut(&value, '='), flag))
            continue;
        value = value.ptr ? value : SLICE("");
        found = list && found.ptr ? arena_printf(a, "%.*s,%.*s", SLICE_ARG(found), SLICE_ARG(value)) : value;
    }
    return found;
}

static struct slice deployment_path(struct slice ns, bool plane, struct arena *a)
{
    struct slice name = install_name(plane);
    return arena_printf(a, "/apis/apps/v1/namespaces/%.*s/deployments/%.*s", SLICE_ARG(ns), SLICE_ARG(name));
}

bool inventory_read(struct apply *p, bool plane, struct inventory *out, struct err *e)
{
    struct ask_answer answer = {0};
    struct slice path = deployment_path(p->installation, plane, p->a);
    char words[ASK_WORDS];
    *out = (struct inventory){.deployment = NO_VALUE, .arguments = NO_VALUE};
    if (!ask_get(p->ask, path, NULL, p->a, &answer, e))
        return false;
    if (answer.code == 404)
        return true;
    if (answer.code >= 300)
        return err_set(e, ERR_STATUS, "%.*s: %s", SLICE_ARG(path), ask_words(&answer, words));
    if (!json_read(&out->deployment, answer.body, p->a, e))
        return false;
    out->arguments = inventory_arguments(out->deployment);
    out->watch = inventory_argument(out->arguments, "--namespace", true, p->a);
    out->all = inventory_argument(out->arguments, "--all-namespaces", false, p->a).ptr != NULL;
    return true;
}

/* ---- counts ---- */

/* needed: the installation reconciles the kind. A 403 for any other kind counts as no objects. */
static bool count(struct apply *p, struct slice api_version, struct slice kind, bool needed, struct slice ns, int64_t *n, struct err *e)
{
    struct apply_object o = {.api_version = api_version, .kind = kind, .ns = ns};
    struct slice path = apply_path(&o, p->a);
    struct ask_answer answer = {0};
    struct jval list;
    char words[ASK_WORDS];
    path = arena_printf(p->a, "%.*s?limit=1", (int)path.len - 1, path.ptr);
    *n = 0;
    if (!ask_get(p->ask, path, NULL, p->a, &answer, e))
        return false;
    if (answer.code == 404 || (answer.code == 403 && !needed)) /* 404: the API server does not know the kind */
        return true;
    if (answer.code >= 300)
        return err_set(e, ERR_STATUS, "%.*ss of %.*s in %s%.*s cannot be counted%s: %s", SLICE_ARG(kind), SLICE_ARG(api_version),
                       slice_empty(ns) ? "all namespaces" : "namespace ", SLICE_ARG(ns),
                       answer.code == 403 ? ": the right to list them is missing" : "", ask_words(&answer, words));
    if (!json_read(&list, answer.body, p->a, e))
        return false;
    *n = (int64_t)json_len(json_key(list, SLICE("items"))) + json_get_int(list, "metadata.remainingItemCount", 0);
    return true;
}

bool inventory_reconciles(const struct inventory *now, const struct kind *k, struct arena *a)
{
    struct slice group = inventory_argument(now->arguments, "--kinds", false, a);
    enum operator_kinds family = OPERATOR_ALL_KINDS;
    struct slice on =
        k->optional.flag ? inventory_argument(now->arguments, arena_printf(a, "--%s", k->optional.flag).ptr, false, a) : SLICE("");
    if (!slice_empty(group) && !cli_kinds(group, &family, NULL))
        family = OPERATOR_ALL_KINDS;
    return wanted_kind(k, family) && !slice_is(on, "false");
}

static void put_count(struct buf *out, int64_t n, struct slice kind)
{
    if (n > 0)
        buf_printf(out, "%s%lld %.*s%s", out->len ? ", " : "", (long long)n, SLICE_ARG(kind), n == 1 ? "" : "s");
}

bool inventory_count(struct apply *p, const struct inventory *now, bool plane, struct slice ns, struct slice *words, struct err *e)
{
    static const struct slice of_plane[] = {SLICE("Workload"), SLICE("Cloud"), SLICE("ComputeConfig")};
    __attribute__((cleanup(buf_free))) struct buf out;
    int64_t n;
    buf_init(&out, KIB);
    for (size_t i = 0; plane && i < COUNT_OF(of_plane); i++) {
        if (!count(p, SLICE("mobula.dev/v1"), of_plane[i], true, ns, &n, e))
            return false;
        put_count(&out, n, of_plane[i]);
    }
    for (size_t i = 0; !plane && kinds[i]; i++) {
        if (!kinds[i]->check)
            continue;
        if (!count(p, kinds[i]->api_version, slice_of(kinds[i]->name), inventory_reconciles(now, kinds[i], p->a), ns, &n, e))
            return false;
        put_count(&out, n, slice_of(kinds[i]->name));
    }
    *words = out.len ? arena_dup(p->a, buf_slice(&out)) : SLICE_NONE;
    return true;
}

/* ---- namespaces that would no longer be watched ---- */

static bool give_up(struct apply *p, const struct inventory *now, bool plane, struct slice ns, struct err *e)
{
    struct slice words, where = slice_empty(ns) ? SLICE("--all-namespaces") : arena_printf(p->a, "namespace %.*s", SLICE_ARG(ns));
    if (!inventory_count(p, now, plane, ns, &words, e))
        return err_wrap(e, "%.*s would no longer be watched, and the work in it could not be counted (--drop-flags does not count it)",
                        SLICE_ARG(where));
    apply_fail(p, arena_printf(p->a,
                               "%.*s would no longer be watched, and %.*s in %s would have no operator. Name it in %s, or add "
                               "--drop-flags to stop watching it",
                               SLICE_ARG(where), SLICE_ARG(slice_empty(words) ? SLICE("nothing") : words), slice_empty(ns) ? "all" : "it",
                               slice_empty(ns) ? "the command again" : "--watch-namespace, too"));
    return true;
}

bool inventory_given_up(struct apply *p, const struct inventory *now, const struct install_options *o, struct err *e)
{
    struct slice keeps = slice_empty(o->watch) ? o->ns : o->watch;
    if (!json_there(now->deployment) || o->all_namespaces)
        return true;
    if (now->all)
        return give_up(p, now, o->plane, SLICE(""), e);
    for (struct slice rest = now->watch; !slice_empty(rest);) {
        struct slice ns = slice_trim(slice_cut(&rest, ','));
        if (!slice_listed(keeps, ns) && !give_up(p, now, o->plane, ns, e))
            return false;
    }
    return true;
}

/* ---- other installations that watch a namespace ---- */

/* Whether the other installation's Deployment exists, watches the namespace (empty: any) and is for the same kinds. A Deployment that may
 * not be read counts as active. */
static bool is_active(struct ask *k, struct slice ns, bool plane, struct slice watched, struct slice kinds_of, struct arena *a,
                      bool *active, struct err *e)
{
    struct ask_answer answer = {0};
    struct jval deployment;
    if (!ask_get(k, deployment_path(ns, plane, a), NULL, a, &answer, e))
        return false;
    *active = answer.code != 404;
    if (answer.code >= 300 || plane || !json_read(&deployment, answer.body, a, NULL))
        return true;
    struct jval arguments = inventory_arguments(deployment);
    struct slice list = inventory_argument(arguments, "--namespace", true, a);
    *active = slice_empty(watched) || slice_empty(list) || slice_listed(list, watched);
    if (!*active || slice_empty(kinds_of))
        return true;
    struct slice theirs = inventory_argument(arguments, "--kinds", false, a);
    *active = slice_empty(theirs) || slice_is(theirs, "all") || slice_is(kinds_of, "all") || slice_eq(theirs, kinds_of);
    return true;
}

/* The namespace of the installation whose operator a binding gives its rights; empty: the binding is for something else. */
static struct slice watcher_of(struct jval binding, bool plane, struct arena *a)
{
    struct slice name = install_name(plane), owner = json_get_str(json_at(json_key(binding, SLICE("subjects")), 0), "namespace", a);
    struct slice role = json_get_str(binding, "roleRef.name", a);
    bool is = slice_eq(role, name) || slice_eq(role, arena_printf(a, "%.*s.%.*s", SLICE_ARG(name), SLICE_ARG(owner))) ||
              slice_eq(role, arena_printf(a, "%.*s-%.*s", SLICE_ARG(name), SLICE_ARG(owner)));
    return is ? owner : SLICE_NONE;
}

static bool find_watcher(struct ask *k, struct slice path, struct slice ns, struct slice but, bool plane, struct slice kinds_of,
                         struct arena *a, struct watcher *out, struct err *e)
{
    struct ask_answer answer = {0};
    struct jval list, key, binding;
    struct slice name = install_name(plane);
    path = arena_printf(a, "/apis/rbac.authorization.k8s.io/v1%.*s?labelSelector=app.kubernetes.io%%2Fname%%3D%.*s", SLICE_ARG(path),
                        SLICE_ARG(name));
    if (!slice_empty(out->installation))
        return true;
    if (!ask_get(k, path, NULL, a, &answer, e))
        return false;
    if (answer.code >= 300 || !json_read(&list, answer.body, a, NULL)) {
        out->known = false;
        return true;
    }
    for (struct jiter it = json_iter(json_key(list, SLICE("items"))); json_next(&it, &key, &binding);) {
        struct slice owner = watcher_of(binding, plane, a);
        bool active = false;
        if (slice_empty(owner) || slice_eq(owner, but))
            continue;
        if (!is_active(k, owner, plane, ns, kinds_of, a, &active, e))
            return false;
        if (active)
            out->installation = owner;
    }
    return true;
}

bool inventory_watcher(struct ask *k, struct slice ns, struct slice but, bool plane, struct slice kinds_of, struct arena *a,
                       struct watcher *out, struct err *e)
{
    struct slice path = slice_empty(ns) ? SLICE("/rolebindings") : arena_printf(a, "/namespaces/%.*s/rolebindings", SLICE_ARG(ns));
    *out = (struct watcher){.known = true};
    return find_watcher(k, path, ns, but, plane, kinds_of, a, out, e) &&
           find_watcher(k, SLICE("/clusterrolebindings"), ns, but, plane, kinds_of, a, out, e);
}

bool inventory_clash(struct apply *p, const struct install_options *o, struct err *e)
{
    struct slice rest = o->all_namespaces ? SLICE("") : slice_empty(o->watch) ? o->ns : o->watch;
    do {
        struct slice ns = slice_trim(slice_cut(&rest, ','));
        struct watcher other;
        if (!inventory_watcher(p->ask, ns, o->ns, o->plane, o->args.kinds, p->a, &other, e))
            return false;
        if (!slice_empty(other.installation))
            apply_fail(p, arena_printf(p->a,
                                       "%s%.*s: the installation in namespace %.*s looks after it already. Two of them must not: leave it "
                                       "out, or take that one away with mobula uninstall%s --apply --namespace=%.*s",
                                       slice_empty(ns) ? "all namespaces" : "namespace ", SLICE_ARG(ns), SLICE_ARG(other.installation),
                                       o->plane ? " --control-plane" : "", SLICE_ARG(other.installation)));
    } while (!slice_empty(rest));
    return true;
}
