/* `mobula edge --print`: the manifests of an edge (airgap/install/edge.yaml). */
#include "edge.h"

#include "cli.h"

static const struct flag list[] = {POD_FLAGS(0)};
static const struct flags of_file = {.usage = "mobula edge --print --values FILE", .list = list, .count = COUNT_OF(list)};

bool edge_print(const struct flags *flags, int argc, char **argv, struct edge_command *o, struct err *e)
{
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    __attribute__((cleanup(buf_free))) struct buf out;
    bool help;
    buf_init(&out, INSTALL_TEXT_MAX);
    if (!slice_empty(o->values)) { /* then the flags again, which override the file */
        struct slice file = o->values;
        o->pod = install_defaults;
        if (!values_read(&of_file, file, &o->pod, &a, e) || !flags_read(flags, argc, argv, o, &help, e))
            return false;
    }
    o->pod.ns = slice_empty(o->ns) ? SLICE("default") : o->ns;
    o->pod.edge = true;
    return install_write_edge(&o->pod, &out, e) && (cli_print(buf_slice(&out)) || err_set(e, ERR_IO, "cannot be printed"));
}
