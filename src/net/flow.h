/* flow: bytes on their way through a plain link, in one direction. At most flow_size of them; an empty flow holds no memory once
 * flow_rest was called. They may be a head's token or a proxy's password, so what is given back is wiped. */
#ifndef MOBULA_NET_FLOW_H
#define MOBULA_NET_FLOW_H

#include <mobula/base.h>

struct flow {
    char *ptr;
    size_t at, end; /* bytes under way: [at, end) of `size` bytes */
    size_t top;     /* bytes of the buffer that have been written to */
    size_t size;    /* bytes of the buffer, if there is one */
};
extern size_t flow_size; /* of the next buffers: NET_BUFFER, or NET_BULK */

/* Unused buffers are wiped and kept for the next connections: memory that is returned to the system and taken again costs page faults. */
void flow_keep(uint32_t most); /* keeps at most so many (default FLOW_KEPT); 0 frees them all */
char *flow_take(void);
void flow_give(char *buffer, size_t top, size_t size); /* wipes the first bytes of it */
enum { FLOW_KEPT = 4 };

static inline struct slice flow_peek(const struct flow *f)
{
    return f->ptr ? (struct slice){f->ptr + f->at, f->end - f->at} : SLICE_NONE;
}

static inline void flow_used(struct flow *f, size_t n)
{
    if (n > f->end - f->at)
        fatal("%zu bytes used of %zu", n, f->end - f->at);
    f->at += n;
    if (f->at == f->end)
        f->at = f->end = 0;
}

/* How much room flow_room would give. */
static inline size_t flow_space(const struct flow *f)
{
    return (f->ptr ? f->size : flow_size) - (f->end - f->at);
}

static inline char *flow_room(struct flow *f, size_t *n)
{
    if (!f->ptr) {
        f->ptr = flow_take();
        f->size = flow_size;
    }
    if (f->at > 0) {
        memmove(f->ptr, f->ptr + f->at, f->end - f->at);
        f->end -= f->at;
        f->at = 0;
    }
    *n = f->size - f->end;
    return f->ptr + f->end;
}

static inline void flow_wrote(struct flow *f, size_t n)
{
    if (n > f->size - f->end)
        fatal("%zu bytes written where %zu fit", n, f->size - f->end);
    f->end += n;
    f->top = f->end > f->top ? f->end : f->top;
}

static inline void flow_drop(struct flow *f)
{
    if (f->ptr)
        flow_give(f->ptr, f->top, f->size);
    *f = (struct flow){0};
}

static inline void flow_rest(struct flow *f)
{
    if (f->ptr && f->at == f->end)
        flow_drop(f);
}

#endif
