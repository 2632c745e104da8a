/* Brings an installation to the state of its manifests: looks first, records a revision, applies, and deletes the surplus. */
#include <mobula/release.h>

/* Records the revision in a Secret. Without the right to Secrets the installation goes on, and rollback cannot come back to it. */
static void record(struct apply *p, struct revision *r, const struct inventory *now, const struct apply *gone)
{
    struct err e = {0};
    if (revision_read(p, r, &e) && (r->current.ptr || !json_there(now->deployment) || revision_live(p, r, gone, &e))) {
        revision_next(r, revision_text(r, p));
        if (revision_write(p, r, &e))
            return;
    }
    p->note(arena_printf(p->a, "this revision is not recorded, and mobula rollback cannot come back to it: %s", e.text));
    *r = (struct revision){.ns = r->ns, .name = r->name, .current = revision_text(r, p)};
}

static bool brings_namespace(const struct apply *p, struct slice ns)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (slice_eq(p->list[i].kind, SLICE("Namespace")) && slice_eq(p->list[i].name, ns) && slice_empty(p->list[i].version))
            return true;
    return false;
}

static struct slice own_path(struct apply *p, const char *api_version, const char *kind, struct slice name, struct slice ns)
{
    struct apply_object o = {.api_version = slice_of(api_version), .kind = slice_of(kind), .name = name, .ns = ns};
    return apply_path(&o, p->a);
}

/* Flags that show in objects other than the Deployment: each of them makes an object, or keeps one from being made. */
static bool look_beside(struct apply *p, const struct install_options *o, const struct inventory *now, struct err *e)
{
    struct slice name = install_name(o->plane), nodes = arena_printf(p->a, "mobula.%.*s.nodes", SLICE_ARG(o->ns)),
                 former = arena_printf(p->a, "mobula-%.*s-nodes", SLICE_ARG(o->ns));
    const struct {
        struct slice path;
        bool made; /* the flag makes the object; else it keeps it from being made */
        const char *flag;
    } all[] = {
        {own_path(p, "networking.k8s.io/v1", "NetworkPolicy", name, o->ns), false, "--no-network-policy"},
        {own_path(p, "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", nodes, SLICE_NONE), true, "--report-nodes"},
        {own_path(p, "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", former, SLICE_NONE), true, "--report-nodes"},
    };
    if (!json_there(now->deployment))
        return true;
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        struct ask_answer answer = {0};
        if (apply_has(p, all[i].path) == all[i].made || (all[i].made && (o->plane || o->with.report_nodes)))
            continue;
        if (!ask_get(p->ask, all[i].path, NULL, p->a, &answer, e))
            return false;
        if (all[i].made ? answer.code < 300 : answer.code == 404)
            apply_fail(p, arena_printf(p->a,
                                       "the installation in namespace %.*s has the flag %s, which would go: give it again, or take it away "
                                       "with --drop-flags",
                                       SLICE_ARG(o->ns), all[i].flag));
    }
    return true;
}

/* Reads the existing Deployment. Without the right to do so the dry run follows all the same: it names every right that is missing. */
static bool read_inventory(struct apply *p, bool plane, struct inventory *now, struct err *e)
{
    if (inventory_read(p, plane, now, e))
        return true;
    if (e->code != ERR_STATUS)
        return false;
    if (!slice_has(slice_of(e->text), ": 401 ")) /* the dry run reports 401 with its remedy */
        apply_fail(p, arena_dup(p->a, slice_of(e->text)));
    *e = (struct err){0};
    return true;
}

/* Before anything is changed: adds failures, for apply_try, for namespaces that would no longer be watched or that another installation
 * watches. */
static bool look_around(struct apply *p, const struct install_options *o, struct inventory *now, struct err *e)
{
    return o->crds_only || (read_inventory(p, o->plane, now, e) && inventory_clash(p, o, e) && apply_needs(p, e) &&
                            (!p->keeps_flags || (inventory_given_up(p, now, o, e) && look_beside(p, o, now, e))));
}

/* Deletes objects under the names of earlier versions, after those with the new names exist. */
static bool delete_former(struct apply *p, const struct install_options *o, int64_t until_ms, struct err *e)
{
    struct apply gone = {.ask = p->ask, .say = p->say, .note = p->note, .a = p->a, .spares = true, .installation = o->ns};
    return apply_read(&gone, SLICE_NONE, e) && owner_find_former(&gone, p, install_name(o->plane), e) && apply_delete(&gone, until_ms, e);
}

/* Lists objects of the installation that the new manifests lack, whether mobula or kubectl applied them. */
static bool find_surplus(struct apply *p, const struct install_options *o, const struct inventory *now, struct apply *gone, struct err *e)
{
    *gone =
        (struct apply){.ask = p->ask, .say = p->say, .note = p->note, .a = p->a, .spares = true, .shows = p->shows, .installation = o->ns};
    return apply_read(gone, SLICE_NONE, e) && (o->crds_only || surplus_find(gone, p, o, now, e));
}

bool install_change_read(struct install_change *c, struct apply *p, const struct install_options *o, struct slice manifests, struct err *e)
{
    *c = (struct install_change){.now.deployment = NO_VALUE,
                                 .revision = {.ns = o->ns, .name = install_name(o->plane)},
                                 .until_ms = clock_now().mono_ms + o->timeout_ms};
    p->installation = o->ns;
    return apply_read(p, manifests, e) && look_around(p, o, &c->now, e) && apply_try(p, e) && find_surplus(p, o, &c->now, &c->gone, e);
}

bool install_change_apply(struct install_change *c, struct apply *p, const struct install_options *o, struct err *e)
{
    int64_t until_ms = c->until_ms;
    bool records = !o->crds_only, fresh = brings_namespace(p, o->ns);
    apply_say_ports(p);
    /* Recorded before anything is changed, so that a change that stops half way can be rolled back. */
    if (records && !fresh)
        record(p, &c->revision, &c->now, &c->gone);
    if (!apply_all(p, until_ms, e))
        return false;
    if (records && fresh)
        record(p, &c->revision, &c->now, &c->gone);
    return apply_wait(p, until_ms, e) && delete_former(p, o, until_ms, e) && (!records || revision_prune(p, &c->revision, until_ms, e)) &&
           apply_delete(&c->gone, until_ms, e);
}
