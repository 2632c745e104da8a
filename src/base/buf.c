#include <mobula/base.h>

#include <stdio.h>

enum { BUF_FIRST = 256 };

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.max = max};
}

void buf_free(struct buf *b)
{
    mem_free(b->ptr);
    buf_init(b, b->max);
}

void buf_wipe(struct buf *b)
{
    if (b->ptr)
        mem_wipe(b->ptr, b->cap);
    buf_free(b);
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->full = false;
}

void buf_shrink(struct buf *b, size_t keep)
{
    buf_clear(b);
    if (b->cap > keep)
        buf_free(b);
}

char *buf_room(struct buf *b, size_t n)
{
    if (b->full || n > b->max - b->len) {
        b->full = true;
        return NULL;
    }
    if (!b->ptr || n > b->cap - b->len) {
        size_t want = b->len + n, cap = b->cap > b->max / 2 ? b->max : b->cap * 2;
        cap = cap < BUF_FIRST ? BUF_FIRST : cap;
        cap = cap > b->max ? b->max : cap;
        b->cap = cap > want ? cap : want;
        b->ptr = mem_resize(b->ptr, b->cap + 1); /* one more, for the NUL that buf_printf cannot help writing */
    }
    return b->ptr + b->len;
}

bool buf_put(struct buf *b, struct slice s)
{
    char *room = buf_room(b, s.len);
    if (room && s.len) {
        memcpy(room, s.ptr, s.len);
        b->len += s.len;
    }
    return room != NULL;
}

bool buf_putc(struct buf *b, char c)
{
    char *room = buf_room(b, 1);
    if (!room)
        return false;
    *room = c;
    b->len++;
    return true;
}

bool buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    size_t spare = b->ptr ? b->cap - b->len : 0; /* most texts fit what there is, and are formatted once */
    int len = vsnprintf(b->ptr ? b->ptr + b->len : NULL, b->ptr ? spare + 1 : 0, fmt, ap);
    va_end(ap);
    if (len < 0)
        fatal("buf_printf: cannot format \"%s\"", fmt);
    bool written = b->ptr && (size_t)len <= spare;
    char *room = buf_room(b, (size_t)len);
    if (room && !written)
        vsnprintf(room, (size_t)len + 1, fmt, again);
    if (room)
        b->len += (size_t)len;
    va_end(again);
    return room != NULL;
}

void buf_drop(struct buf *b, size_t n)
{
    if (n > b->len)
        fatal("buf_drop: %zu of %zu bytes", n, b->len);
    b->len -= n;
    if (b->len)
        memmove(b->ptr, b->ptr + n, b->len);
}
