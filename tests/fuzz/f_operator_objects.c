/* Watch events become records, records decisions. Parts separated by NUL: + and a kind as it is called in the table of all kinds
 * ("+rayclusters.ray.io"), and the object that is told of; with - it was deleted; t: time passes. Everything is told twice, and the second
 * time must change nothing: a record is what its object says. */
#include "tests/unit/kube/fakenet.h"
#include <mobula/inspect.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void tell(struct op *op, struct slice part)
{
    const char *object = memchr(part.ptr, '{', part.len);
    struct slice kind = slice_skip(object ? slice_head(part, (size_t)(object - part.ptr)) : part, 1);
    inspect_tell(op, kind, slice_skip(part, kind.len + 1), part.ptr[0] == '-');
    if (inspect_broken(op))
        abort();
}

static void play(struct fake *f, struct op *op, struct slice in)
{
    for (struct slice rest = in; rest.ptr;) {
        struct slice part = slice_cut(&rest, '\0');
        if (part.len && part.ptr[0] == 't')
            f->now = (struct now){f->now.mono_ms + 1000, f->now.wall_us + 1000000};
        else if (part.len)
            tell(op, part);
        inspect_complete(op);
        operator_step(op, f->now);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct slice namespaces[] = {{"n", 1}};
    const struct operator_options o = {.namespaces = namespaces,
                                       .namespace_count = 1,
                                       .ray = {.tools = RAY_TOOLS_NONE, .cluster_domain = SLICE("cluster.local"), .version = SLICE("0")},
                                       .instance = SLICE("fuzz"),
                                       .seed = 1};
    struct fake f;
    struct err e = {0};
    log_global = (struct log){.level = LOG_DEBUG, .fd = -1};
    fake_init(&f);
    f.refuse = "there is no server";
    struct op *op = operator_new(&f.net, f.config, &o, &e);
    struct slice in = {(const char *)data, size};
    play(&f, op, in);
    struct inspect_figures once = inspect_figures(op);
    bool removes = false;
    for (struct slice rest = in; rest.ptr;) {
        struct slice part = slice_cut(&rest, '\0');
        removes |= part.len && part.ptr[0] == '-';
    }
    play(&f, op, in);
    struct inspect_figures twice = inspect_figures(op);
    if (!removes && (once.pods != twice.pods || once.services != twice.services))
        abort();
    operator_free(op);
    fake_free(&f);
    return 0;
}
