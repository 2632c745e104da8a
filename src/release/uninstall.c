/* The names of the objects of an installation, to be deleted. */
#include <mobula/artifact.h>
#include <mobula/kinds.h>
#include <mobula/release.h>

/* Objects that are no files of the installation: the program makes them. */
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
    i.args.kinds = o->kinds;
    i.plane = o->plane;
    i.program.bytes = o->program.len <= INSTALL_PROGRAM_MAX ? o->program : SLICE_NONE; /* else no ConfigMap can hold it */
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

/* Objects that an admin of the namespaces may delete go before those of the cluster. */
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
