/* Writes a list of egress with the lines above it, and the addresses that pods of a Ray version contact. */
#include "list.h"

#include <mobula/ray.h>

static struct slice shown(const struct net_rule *r)
{
    struct slice whole = r->v6 ? SLICE("/128") : SLICE("/32");
    return r->kind == NET_NETWORK && slice_ends(r->host, whole) ? slice_head(r->host, r->host.len - whole.len) : r->host;
}

static void put_rows(const struct egress *g, bool pod, const char *prefix, struct arena *a, struct buf *out)
{
    struct slice heads = SLICE("heads of RayClusters");
    for (uint32_t i = 0; i < g->watch.count; i++)
        heads = arena_printf(a, "%.*s%s%.*s", SLICE_ARG(heads), i ? ", " : " in ", SLICE_ARG(g->watch.list[i]));
    struct slice ports = SLICE("");
    for (uint32_t i = 0; i < g->head_port_count; i++)
        ports = arena_printf(a, "%.*s%s%u", SLICE_ARG(ports), i ? "," : "", g->head_ports[i]);
    bool with_heads = pod && g->heads;
    size_t width = with_heads ? heads.len : 0;
    for (const struct net_rule *r = g->rules; r; r = r->next)
        width = shown(r).len > width ? shown(r).len : width;
    for (const struct net_rule *r = g->rules; r; r = r->next)
        buf_printf(out, "%s%-*.*s  %-9u  %s\n", prefix, (int)width, SLICE_ARG(shown(r)), r->port, r->setting);
    if (with_heads)
        buf_printf(out, "%s%-*.*s  %-9.*s  pods with label " RAY_LABEL_NODE_TYPE "=head\n", prefix, (int)width, SLICE_ARG(heads),
                   SLICE_ARG(ports));
}

static void put_lines(struct slice text, struct buf *out)
{
    while (!slice_empty(text)) {
        struct slice line = slice_cut(&text, '\n');
        buf_printf(out, "# %.*s\n", SLICE_ARG(line));
    }
}

/* Entries that the format cannot say, or says wider than they are. */
static void note_rules(const struct egress *g, const struct egress_format *f, struct buf *notes)
{
    for (const struct net_rule *r = g->rules; r; r = r->next) {
        bool prefix = r->kind == NET_WILDCARD && r->host.ptr[0] != '*';
        if (r->kind != NET_NETWORK && !f->names)
            buf_printf(notes, "not in it, because it holds addresses only: %.*s port %u\n", SLICE_ARG(r->host), r->port);
        else if (prefix && !f->prefixes)
            buf_printf(notes, "wider in it, where a star stands first and for anything: %.*s port %u\n", SLICE_ARG(r->host), r->port);
    }
}

/* Addresses outside of the cluster that Ray's pods contact, in Ray POD_VERSION_LEAST to POD_VERSION_MOST (ray_version_number):
 * docs/egress.md. */
static const struct {
    const char *place, *when;
} of_pods[] = {
    {"usage-stats.ray.io:443", "if the template sets RAY_USAGE_STATS_ENABLED; else each pod has it switched off"},
    {"metadata.google.internal:80, 169.254.169.254:80",
     "of a head with a command of its own (ray.io/overwrite-container-cmd), or whose home folder cannot be written"},
    {"metadata.google.internal:80", "of TPU hosts, for the topology of their slice"},
    {"what jobs name", "working_dir, py_modules, pip, and the buckets that a program reads"},
};
enum { POD_VERSION_LEAST = 2009, POD_VERSION_MOST = 2060 };

bool egress_put_pods(struct slice version, struct buf *out, struct err *e)
{
    int64_t n = ray_version_number(version);
    if (slice_empty(version))
        return true;
    if (n == 0)
        return err_set(e, ERR_CONFIG, "--ray-version: \"%.*s\" is no version, such as 2.60.0", SLICE_ARG(slice_head(version, 64)));
    buf_printf(out, "pods of Ray %.*s:\n", SLICE_ARG(version));
    for (size_t i = 0; i < COUNT_OF(of_pods); i++)
        buf_printf(out, "  %s  %s\n", of_pods[i].place, of_pods[i].when);
    if (n < POD_VERSION_LEAST || n > POD_VERSION_MOST)
        buf_put(out, SLICE("  this version may contact more: only 2.9 to 2.60 are known here\n"));
    return true;
}

void egress_put_list(const struct egress *g, const struct egress_format *f, struct arena *a, struct buf *out, struct buf *notes)
{
    note_rules(g, f, notes);
    if (f->about) {
        put_lines(slice_of(f->about), out);
        put_rows(g, f->pod, f->write ? "# " : "", a, out);
        put_lines(buf_slice(notes), out);
    }
    if (f->write)
        f->write(g, out);
}
