/* Bytes from one link to another. What is read stays in the buffer of the link that it came by until the other link has room for it. */
#include "private.h"

#include <stdio.h>

/* Moves off the front of *s what has room. */
static size_t copy(char *to, size_t room, struct slice *s)
{
    size_t n = room < s->len ? room : s->len;
    if (n)
        memcpy(to, s->ptr, n);
    *s = slice_skip(*s, n);
    return n;
}

static size_t copy_frame(struct pump *p, char *to, size_t room)
{
    struct slice left = {p->frame + p->frame_at, (size_t)(p->frame_len - p->frame_at)};
    size_t n = copy(to, room, &left);
    p->frame_at = (uint8_t)(p->frame_at + n);
    return n;
}

static void frame(struct pump *p, struct slice text)
{
    memcpy(p->frame, text.ptr, text.len);
    p->frame_at = 0;
    p->frame_len = (uint8_t)text.len;
}

static size_t copy_data(struct pump *p, struct link *from, char *to, size_t room)
{
    struct slice left = slice_head(link_peek(from), p->data);
    size_t n = copy(to, room, &left);
    link_used(from, n);
    p->data -= n;
    if (p->data == 0 && p->chunked)
        frame(p, SLICE("\r\n"));
    return n;
}

static void take_piece(struct pump *p, size_t length)
{
    char size[24];
    p->data = length;
    if (p->chunked)
        frame(p, (struct slice){size, (size_t)snprintf(size, sizeof size, "%zx\r\n", length)});
    p->body += length;
}

static void take_end(struct pump *p)
{
    p->ended = true;
    if (p->chunked)
        frame(p, SLICE("0\r\n\r\n"));
}

static enum pump_said next_raw(struct pump *p, struct link *from)
{
    p->data = link_peek(from).len;
    p->ended = p->data == 0 && from->state != LINK_OPEN;
    return p->data || p->ended ? PUMP_ROOM : PUMP_SOURCE;
}

/* Nothing is left to be written: looks at what has come. PUMP_ROOM: there is something now. */
static enum pump_said next_piece(struct pump *p, struct link *from, struct http_reader *reader, struct err *e)
{
    struct slice in = link_peek(from), rest = in, body;
    if (p->raw)
        return next_raw(p, from);
    enum http_step step = http_read(reader, &rest, &body, e);
    if (step == HTTP_BODY) {
        link_used(from, (size_t)(body.ptr - in.ptr));
        take_piece(p, body.len);
        return PUMP_ROOM;
    }
    link_used(from, in.len - rest.len);
    if (step == HTTP_MORE && from->state != LINK_OPEN)
        step = from->state == LINK_ENDED ? http_read_end(reader, e) : HTTP_BAD;
    if (step == HTTP_BAD && e->code == ERR_NONE)
        *e = from->error;
    if (step == HTTP_END)
        take_end(p);
    return step == HTTP_END ? PUMP_ROOM : step == HTTP_MORE ? PUMP_SOURCE : PUMP_BAD;
}

static bool is_pending(const struct pump *p)
{
    return !slice_empty(p->first) || p->frame_at < p->frame_len || p->data;
}

/* PUMP_ROOM: something is to be written. */
static enum pump_said refill(struct pump *p, struct link *from, struct http_reader *reader, struct err *e)
{
    enum pump_said said = PUMP_ROOM;
    while (said == PUMP_ROOM && !is_pending(p))
        said = p->ended || (!reader && !p->raw) ? PUMP_DONE : next_piece(p, from, reader, e);
    return said;
}

enum pump_said pump_run(struct pump *p, struct link *from, struct http_reader *reader, struct link *to, struct err *e)
{
    enum pump_said said;
    while ((said = refill(p, from, reader, e)) == PUMP_ROOM) {
        size_t size, used = 0;
        char *room = link_room(to, &size);
        if (size == 0)
            return PUMP_ROOM;
        do {
            used += copy(room + used, size - used, &p->first);
            used += copy_frame(p, room + used, size - used);
            if (p->data)
                used += copy_data(p, from, room + used, size - used);
        } while (used < size && (said = refill(p, from, reader, e)) == PUMP_ROOM);
        link_wrote(to, used);
        p->moved += used;
        if (said != PUMP_ROOM)
            return said;
    }
    return said;
}
