/* Connections to the heads of a world. What the operator writes is there at once; answers take the path's time and the head's own, and
 * come in as small pieces as the head likes. */
#include "fakeray.h"
#include "wire.h"

struct fakeray_link {
    struct link link; /* first */
    struct process *process;
    struct fakeray_link *next;
    struct fakeray *head; /* NULL: nobody has this address */
    struct fakehead_conn *conn;
    struct buf room;
    uint16_t port;
    bool tls; /* mutual TLS, with HTTP/2 */
    int64_t open_ms;
    size_t shown;              /* bytes of the output that have come */
    size_t known;              /* bytes of it that were there at the last look */
    int64_t due_ms;            /* when more of them come */
    int64_t wrote_ms, room_ms; /* when it was written to last, and when there is room again */
};

/* ---- as a link ---- */

static struct slice head_peek(struct link *l)
{
    struct fakeray_link *h = (struct fakeray_link *)l;
    return h->conn ? slice_head(buf_slice(&h->conn->out), h->shown) : SLICE_NONE;
}

static void head_used(struct link *l, size_t n)
{
    struct fakeray_link *h = (struct fakeray_link *)l;
    if (n)
        buf_drop(&h->conn->out, n);
    h->shown -= n;
    h->known -= n;
}

static char *head_room(struct link *l, size_t *n)
{
    struct fakeray_link *h = (struct fakeray_link *)l;
    *n = wire_room(h->process->world, l->state == LINK_OPEN ? WORLD_BUFFER : 0, h->wrote_ms == h->process->world->now.mono_ms);
    if (l->state == LINK_OPEN && *n < WORLD_BUFFER)
        h->room_ms = h->process->world->now.mono_ms + 1;
    return buf_room(&h->room, WORLD_BUFFER);
}

static void head_wrote(struct link *l, size_t n)
{
    struct fakeray_link *h = (struct fakeray_link *)l;
    h->process->world->rays->from = h->process;
    h->wrote_ms = h->process->world->now.mono_ms;
    fakehead_feed(h->conn, (struct slice){h->room.ptr, n});
}

static void head_close(struct link *l)
{
    struct fakeray_link *h = (struct fakeray_link *)l, **at = &h->process->world->rays->links;
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    net_forget(l);
    mem_wipe(h->room.ptr, h->room.cap); /* as the operator's net does; what the head has of it is the head's memory */
    if (h->conn) {
        mem_wipe(h->conn->in.ptr, h->conn->in.cap);
        fakehead_disconnect(h->conn);
    }
    buf_free(&h->room);
    mem_free(h);
}

struct link *fakerays_open(struct process *p, const struct endpoint *to, struct link_owner *owner, int64_t deadline_ms)
{
    static const struct link_ops ops = {head_peek, head_used, head_room, head_wrote, head_close};
    struct world *w = p->world;
    struct fakeray_link *h = mem_alloc(sizeof *h);
    h->link = (struct link){.ops = &ops, .net = &p->net, .owner = owner, .deadline_ms = deadline_ms, .state = LINK_OPENING};
    h->process = p;
    h->port = to->port;
    h->tls = to->tls && to->h2 && to->trust && to->identity;
    h->open_ms = w->now.mono_ms + wire_delay_ms(w);
    h->due_ms = h->room_ms = TIME_NEVER;
    buf_init(&h->room, WORLD_BUFFER);
    for (h->head = w->rays->first; h->head && !slice_eq(to->host, slice_of(h->head->ip));)
        h->head = h->head->next;
    h->next = w->rays->links;
    w->rays->links = h;
    return &h->link;
}

/* ---- moving ---- */

static bool is_frozen(const struct fakeray_link *h)
{
    return h->process->world->now.mono_ms < h->process->frozen_until_ms;
}

static bool opens(const struct fakeray_link *h)
{
    return h->link.state == LINK_OPENING && h->head && !h->head->unreachable;
}

static void open_now(struct fakeray_link *h)
{
    bool gcs = h->port == h->head->gcs;
    if (h->head->refused || h->head->down || (!gcs && h->port != h->head->dash)) {
        wire_tell(&h->link, LINK_FAILED, ERR_CONNECT, "connect: refused");
        return;
    }
    if (gcs && h->tls != h->head->tls) {
        wire_tell(&h->link, LINK_FAILED, ERR_TLS, h->tls ? "no TLS is spoken here" : "connection closed");
        return;
    }
    h->conn = fakehead_connect(&h->head->fake, gcs ? 6379 : 8265);
    h->link.state = LINK_OPEN;
    net_wake(&h->link);
}

static bool show(struct fakeray_link *h, struct world *w)
{
    size_t all = h->conn->out.len, piece = h->head->fake.per_step;
    if (all > h->known && h->shown == h->known) {
        h->due_ms = w->now.mono_ms + wire_delay_ms(w) + h->head->answer_ms;
        h->head->late += h->head->answer_ms > 0;
    }
    h->known = all;
    if (h->shown == all || w->now.mono_ms < h->due_ms)
        return false;
    h->shown = piece && piece < all - h->shown ? h->shown + piece : all;
    h->due_ms = h->shown == all ? TIME_NEVER : w->now.mono_ms + (h->head->pace_ms ? h->head->pace_ms : 1);
    net_wake(&h->link);
    return true;
}

static int64_t deadline_of(const struct fakeray_link *h)
{
    bool waits = h->link.state == LINK_OPEN || h->link.state == LINK_OPENING;
    bool never = !waits || is_frozen(h) || h->link.deadline_ms == TIME_NEVER;
    return never ? TIME_NEVER : h->link.deadline_ms - h->process->ahead_ms;
}

static bool move_one(struct fakeray_link *h, struct world *w)
{
    bool moved = false;
    if (opens(h) && w->now.mono_ms >= h->open_ms) {
        open_now(h);
        moved = true;
    }
    if (h->conn && h->link.state == LINK_OPEN)
        moved |= show(h, w);
    if (h->room_ms <= w->now.mono_ms) {
        h->room_ms = TIME_NEVER;
        net_wake(&h->link);
        moved = true;
    }
    if (h->conn && h->conn->ended && h->shown == h->conn->out.len && h->link.state == LINK_OPEN) {
        wire_tell(&h->link, LINK_ENDED, ERR_NONE, NULL);
        moved = true;
    }
    if (deadline_of(h) <= w->now.mono_ms) {
        wire_tell(&h->link, LINK_FAILED, ERR_TIMEOUT, "deadline passed");
        moved = true;
    }
    return moved;
}

bool fakerays_move(struct world *w)
{
    bool moved = false;
    for (struct fakeray_link *h = w->rays ? w->rays->links : NULL; h; h = h->next)
        moved |= move_one(h, w);
    return moved;
}

int64_t fakerays_deadline(const struct world *w)
{
    int64_t next = TIME_NEVER;
    for (const struct fakeray_link *h = w->rays ? w->rays->links : NULL; h; h = h->next) {
        next = earlier(next, deadline_of(h));
        next = opens(h) ? earlier(next, h->open_ms) : next;
        next = h->link.state == LINK_OPEN ? earlier(next, earlier(h->due_ms, h->room_ms)) : next;
    }
    return next;
}

/* ---- through the API server ---- */

static struct fakeray *head_behind(const struct fakerays *all, const struct apiserver_passed *p)
{
    char name[FAKERAY_NAME + 16];
    for (struct fakeray *h = all->first; h; h = h->next) {
        snprintf(name, sizeof name, strcmp(h->kind, "ray.io") == 0 ? "%s-head-svc" : "%s-ray-head", h->cluster);
        bool own = slice_eq(p->service, slice_of(name)) || (h->service && slice_is(p->service, h->service));
        if (own && slice_eq(p->ns, slice_of(h->ns)) && h->pod[0] && !h->down)
            return h;
    }
    return NULL;
}

/* As a proxy reads it: all of it, or nothing. */
static int answer_of(const struct fakehead_conn *c, struct buf *out, struct err *e)
{
    struct http_reader r;
    struct slice in = buf_slice(&c->out), piece;
    enum http_step step = HTTP_HEAD;
    http_reader_init(&r, HTTP_RESPONSES);
    while (step == HTTP_HEAD || step == HTTP_BODY) {
        step = http_read(&r, &in, &piece, e);
        if (step == HTTP_BODY)
            buf_put(out, piece);
    }
    if (step == HTTP_MORE && c->ended)
        step = http_read_end(&r, e);
    int status = step == HTTP_END ? r.status : step == HTTP_MORE && !c->ended ? APISERVER_SILENT : APISERVER_BROKEN;
    http_reader_free(&r);
    return status;
}

/* The answer is there at once, or never: one that comes too slowly is none. */
int fakerays_serve(void *owner, const struct apiserver_passed *p, struct buf *out, struct err *e)
{
    struct fakerays *all = owner;
    struct fakeray *h = head_behind(all, p);
    const struct http_header token = {SLICE("Authorization"), p->token};
    if (!h)
        return APISERVER_NOBODY;
    if (h->unreachable || h->pace_ms)
        return APISERVER_SILENT;
    if (h->refused || p->port != h->dash) {
        err_set(e, ERR_CONNECT, "dial tcp %s:%lld: connect: connection refused", h->ip, (long long)p->port);
        return APISERVER_BROKEN;
    }
    all->from = NULL; /* whether they may was seen when they sent it */
    struct fakehead_conn *c = fakehead_connect(&h->fake, 8265);
    struct buf request;
    buf_init(&request, LIMIT_HTTP_BODY);
    http_write_request(&request, p->method, p->target, slice_of(h->ip), &token, p->token.ptr != NULL, &p->body);
    fakehead_feed(c, buf_slice(&request));
    int status = answer_of(c, out, e);
    fakehead_disconnect(c);
    buf_free(&request);
    return status;
}

/* ---- from outside ---- */

uint32_t fakerays_cut(struct world *w, const struct fakeray *h, uint32_t share)
{
    uint32_t n = 0;
    for (struct fakeray_link *l = w->rays->links; l; l = l->next)
        if (l->head && (!h || l->head == h) && l->link.state == LINK_OPEN && (share >= 256 || rng_below(&w->rng, 256) < share)) {
            wire_tell(&l->link, LINK_FAILED, ERR_CLOSED, "the head reset the connection");
            n++;
        }
    return n;
}

uint32_t fakerays_links(const struct world *w)
{
    uint32_t count = 0;
    for (const struct fakeray_link *l = w->rays->links; l; l = l->next)
        count++;
    return count;
}
