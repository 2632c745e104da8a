/* A store that answers as a case says. */
#include "../test.h"

#include <mobula/ship.h>

#include <stdio.h>

#define EMPTY "<EnumerationResults/>"

struct fake {
    struct link l; /* first */
    struct net net;
    struct slice in;
    struct buf one; /* the request that is being received */
    unsigned puts, heads, lists, deletes;
    struct buf seen;                        /* heads of all PUTs and DELETEs */
    const char *put, *head, *list, *delete; /* answers; list: a body */
    char text[4 * KIB], room[LIMIT_HTTP_HEAD];
};

static struct fake *of(struct link *l)
{
    return (struct fake *)l;
}

static struct slice peek(struct link *l)
{
    return of(l)->in;
}

static void used(struct link *l, size_t n)
{
    of(l)->in = slice_skip(of(l)->in, n);
}

static char *room(struct link *l, size_t *n)
{
    *n = sizeof of(l)->room;
    return of(l)->room;
}

/* The answer comes when the end of the head was received; bodies are short, and come with it. */
static void wrote(struct link *l, size_t n)
{
    struct fake *f = of(l);
    buf_put(&f->one, (struct slice){f->room, n});
    struct slice one = buf_slice(&f->one);
    ptrdiff_t end = slice_find_text(one, "\r\n\r\n");
    bool put = slice_starts(one, SLICE("PUT ")), head = slice_starts(one, SLICE("HEAD ")), del = slice_starts(one, SLICE("DELETE "));
    const char *body = put || head || del ? "" : f->list ? f->list : EMPTY;
    if (end < 0 || (put && one.len == (size_t)end + 4))
        return;
    f->puts += put;
    f->deletes += del;
    f->lists += slice_starts(one, SLICE("GET "));
    if ((put || del) && f->seen.max)
        buf_put(&f->seen, slice_head(one, (size_t)end + 4));
    f->heads += head;
    snprintf(f->text, sizeof f->text, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s",
             put    ? f->put
             : head ? f->head
             : del  ? f->delete
                    : "200 OK",
             strlen(body), body);
    f->in = slice_of(f->text);
    buf_clear(&f->one);
    net_wake(l);
}

static void close_link(struct link *l)
{
    net_forget(l);
}

static struct link *open_link(struct net *n, const struct endpoint *to, struct link_owner *owner, int64_t deadline_ms, struct err *e)
{
    static const struct link_ops ops = {peek, used, room, wrote, close_link};
    struct fake *f = (struct fake *)((char *)n - offsetof(struct fake, net));
    (void)to;
    (void)e;
    f->l = (struct link){.ops = &ops, .net = n, .owner = owner, .state = LINK_OPEN, .deadline_ms = deadline_ms};
    return &f->l;
}

static const struct net_ops fake_net = {open_link};
static const struct cloud_surroundings fake_surroundings;
static const struct cloud_store_options fake_store = {
    .protocol = &cloud_azure,
    .from = &fake_surroundings,
    .settings = {.keys = {SLICE("acc"), SLICE("a2V5"), SLICE("")}, .region = SLICE("auto"), .source = "the case"},
    .store = {.authority = SLICE("store:9000"), .path = SLICE("")},
    .bucket = SLICE("logs"),
    .path_style = true,
    .seed = 1};
