#include <mobula/base.h>

struct chains *chains_new(unsigned bytes, unsigned bits, size_t window)
{
    size_t heads = (size_t)1 << bits;
    struct chains *c = mem_alloc(sizeof *c + (heads + window) * sizeof *c->head);
    *c = (struct chains){.bytes = bytes, .bits = bits, .window = window, .before = c->head + heads};
    return c;
}

static size_t hash(const struct chains *c, struct slice in, size_t at)
{
    uint64_t n = 0;
    memcpy(&n, in.ptr + at, c->bytes);
    return n * 0x9e3779b97f4a7c15u >> (64 - c->bits);
}

size_t chains_next(const struct chains *c, struct slice in, size_t at, size_t from)
{
    size_t next = from ? c->before[(from - 1) & (c->window - 1)] : in.len - at < c->bytes ? 0 : c->head[hash(c, in, at)];
    return next && at - (next - 1) <= c->window && (!from || next < from) ? next : 0; /* not below: its place was given to a later one */
}

void chains_enter(struct chains *c, struct slice in, size_t at)
{
    if (in.len - at < c->bytes)
        return;
    uint32_t *head = c->head + hash(c, in, at);
    c->before[at & (c->window - 1)] = *head;
    *head = (uint32_t)at + 1;
}
