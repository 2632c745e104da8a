/* Answers to the operator's own writes and questions. Parts separated by NUL: first an object that it is told of, then what befalls its
 * oldest request that waits: a status of three digits and the body behind it is the answer, x a connection that breaks, t a second that
 * passes, an object one that it is told of meanwhile. Objects are told as f_operator_objects has them, + and a kind as it is called in the
 * table of all kinds before them; without that they are RayClusters, and with p pods. Whatever a server says, records stay whole and no
 * DELETE goes without a uid. */
#include "tests/unit/kube/fakenet.h"
#include <mobula/inspect.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS_MAX = 64, PARTS_MAX = 48 };

static const struct slice clusters = SLICE("rayclusters.ray.io");

static void settle(struct fake *f, struct op *op)
{
    for (int i = 0; i < STEPS_MAX; i++) {
        operator_wake(op, f->now);
        operator_step(op, f->now);
        if (!net_dispatch(&f->net, f->now))
            break;
    }
    if (inspect_broken(op))
        abort();
}

/* Watches are never answered: what there is has been told. */
static bool is_watch(const struct fakelink *l)
{
    return fake_has(l, "limit=") || fake_has(l, "watch=");
}

static struct fakelink *waiting(const struct fake *f)
{
    for (uint32_t i = 0; i < f->count; i++)
        if (f->links[i]->link && f->links[i]->out.len && !is_watch(f->links[i]))
            return f->links[i];
    return NULL;
}

static void answer(struct fake *f, struct slice part)
{
    struct fakelink *l = waiting(f);
    int64_t status = 0;
    if (!l)
        return;
    if (slice_starts(fake_line(l), SLICE("DELETE ")) && !fake_has(l, "\"uid\":\""))
        abort();
    if (part.ptr[0] == 'x') {
        fake_fail(l, ERR_CLOSED, "reset");
    } else if (slice_int(slice_head(part, 3), &status) && status >= 200 && status <= 599) {
        fake_take(l);
        fake_answer(l, (int)status, "", slice_skip(part, 3));
    }
}

static bool tell(struct op *op, struct slice part)
{
    if (!part.len)
        return false;
    const char *object = memchr(part.ptr, '{', part.len);
    struct slice kind = slice_head(part, object ? (size_t)(object - part.ptr) : part.len), text = slice_skip(part, kind.len);
    kind = slice_empty(kind) ? clusters : slice_eq(kind, SLICE("p")) ? SLICE("pods") : slice_skip(kind, 1);
    return inspect_tell(op, kind, text, false);
}

static void befall(struct fake *f, struct op *op, struct slice part)
{
    if (part.ptr[0] == 't')
        f->now = (struct now){f->now.mono_ms + 1000, f->now.wall_us + 1000000};
    else if (memchr("{p+", part.ptr[0], 3))
        tell(op, part);
    else
        answer(f, part);
}

static void play(struct fake *f, struct op *op, struct slice in)
{
    settle(f, op);
    inspect_complete(op);
    if (!tell(op, slice_cut(&in, '\0')))
        return;
    settle(f, op);
    for (int parts = 0; in.ptr && parts < PARTS_MAX; parts++) {
        struct slice part = slice_cut(&in, '\0');
        if (part.len)
            befall(f, op, part);
        settle(f, op);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct slice namespaces[] = {{"n", 1}};
    const struct operator_options o = {
        .namespaces = namespaces,
        .namespace_count = 1,
        .ray = {.tools = RAY_TOOLS_CONFIGMAP, .cluster_domain = SLICE("cluster.local"), .version = SLICE("0"), .sidecar = true},
        .executable = {.bytes = SLICE("a program")},
        .instance = SLICE("fuzz"),
        .seed = 1};
    struct fake f;
    struct err e = {0};
    log_global = (struct log){.level = LOG_DEBUG, .fd = -1};
    fake_init(&f);
    struct op *op = operator_new(&f.net, f.config, &o, &e);
    play(&f, op, (struct slice){(const char *)data, size});
    operator_free(op);
    fake_free(&f);
    return 0;
}
