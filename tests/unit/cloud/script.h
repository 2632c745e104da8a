/* The client against scripted stores, over simulated links and in virtual time. */
#include "../test.h"

#include <mobula/cloud.h>

enum { STEPS = 12, SENT_MAX = 256 * KIB };
#define BEGAN_US (1369353600LL * 1000000) /* 2013-05-24T00:00:00Z */

/* ---- the scripted store ---- */

/* The store's answer to one request. */
struct answer {
    const char *bytes; /* NULL: end of the script */
    bool closes;       /* the store closes the connection after the answer … */
    bool hangs;        /* … or never answers */
};

struct fake {
    struct link l; /* first */
    struct net net;
    const struct answer *script;
    unsigned next, requests, links, deaf; /* deaf: so many connections take no byte */
    size_t early;                         /* the first request is answered after so many bytes, and no more of it is taken; 0: when whole */
    struct slice in;
    struct answer now;
    struct buf sent, one; /* all requests; the one being received */
    char room[4096];
};

static struct fake *of(struct link *l)
{
    return (struct fake *)l;
}

static struct slice peek(struct link *l)
{
    return of(l)->in;
}

static void settle(struct fake *f)
{
    if (slice_empty(f->in) && f->now.closes)
        f->l.state = LINK_ENDED;
    net_wake(&f->l);
}

static void used(struct link *l, size_t n)
{
    of(l)->in = slice_skip(of(l)->in, n);
    if (n && slice_empty(of(l)->in))
        settle(of(l));
}

static char *room(struct link *l, size_t *n)
{
    bool takes = of(l)->links > of(l)->deaf && (!of(l)->early || of(l)->requests != 1 || of(l)->links > 1);
    *n = takes ? sizeof of(l)->room : 0;
    return of(l)->room;
}

/* Whether a request is complete: head, and Content-Length bytes of body. */
static bool is_whole(struct slice text)
{
    ptrdiff_t end = slice_find_text(text, "\r\n\r\n"), at = slice_find_text(text, "\r\nContent-Length: ");
    int64_t length = 0;
    struct slice rest = at < 0 ? SLICE("0\r") : slice_skip(text, (size_t)at + strlen("\r\nContent-Length: "));
    return end >= 0 && slice_int(slice_cut(&rest, '\r'), &length) && text.len >= (size_t)end + 4 + (size_t)length;
}

static void wrote(struct link *l, size_t n)
{
    struct fake *f = of(l);
    buf_put(&f->sent, (struct slice){f->room, n});
    buf_put(&f->one, (struct slice){f->room, n});
    bool early = f->early && f->requests == 0 && f->one.len >= f->early;
    if (!early && !is_whole(buf_slice(&f->one)))
        return;
    buf_clear(&f->one);
    f->requests++;
    f->now = f->script[f->next];
    if (!CHECK(f->now.bytes != NULL))
        f->now = (struct answer){"", true, false};
    else
        f->next++;
    f->in = slice_of(f->now.bytes);
    settle(f);
}

static void close_link(struct link *l)
{
    net_forget(l);
    l->state = LINK_FAILED;
}

static struct link *open_link(struct net *n, const struct endpoint *to, struct link_owner *owner, int64_t deadline_ms, struct err *e)
{
    static const struct link_ops ops = {peek, used, room, wrote, close_link};
    struct fake *f = (struct fake *)((char *)n - offsetof(struct fake, net));
    (void)to;
    (void)e;
    f->l = (struct link){.ops = &ops, .net = n, .owner = owner, .state = LINK_OPEN, .deadline_ms = deadline_ms};
    f->in = SLICE_NONE;
    f->now = (struct answer){NULL, false, false};
    f->links++;
    buf_clear(&f->one);
    return &f->l;
}

/* ---- the client ---- */

struct run {
    struct fake f;
    struct cloud_store *s;
    struct buf got, said;
    bool over;
    struct err err;
    int status;
    struct now now;
};

static void done(void *owner, const struct cloud_answer *answer, struct now now)
{
    struct run *r = owner;
    (void)now;
    r->over = true;
    r->err = answer->err;
    r->status = answer->status;
}

static void say(void *owner, const char *line)
{
    struct run *r = owner;
    buf_printf(&r->said, "%s\n", line);
}

static struct slice get(void *owner, const char *name)
{
    (void)owner;
    (void)name;
    return SLICE("");
}

static bool read_token(void *owner, struct slice path, struct arena *a, struct slice *text, struct err *e)
{
    (void)owner;
    (void)path;
    (void)e;
    *text = arena_dup(a, SLICE("pod-token\n"));
    return true;
}

static const struct cloud_surroundings surroundings = {get, read_token, NULL};

/* o: what differs from a store of S3 with keys. */
static void begin_with(struct run *r, const struct answer *script, struct cloud_store_options o)
{
    static const struct net_ops ops = {open_link};
    o.from = &surroundings;
    o.settings.source = "the case";
    o.store = (struct cloud_host){.at = o.store.at, .authority = SLICE("store:9000"), .path = SLICE("")};
    o.identity = (struct cloud_host){.authority = SLICE("sts"), .path = SLICE("/id")};
    o.signer = (struct cloud_host){.authority = SLICE("signer"), .path = SLICE("/v1/serviceAccounts")};
    o.bucket = SLICE("bucket");
    o.path_style = true;
    o.say = say;
    o.owner = r;
    o.seed = 1;
    *r = (struct run){.f.net.ops = &ops, .f.script = script, .now = {1000, BEGAN_US}};
    buf_init(&r->f.sent, SENT_MAX);
    buf_init(&r->f.one, SENT_MAX);
    buf_init(&r->got, SENT_MAX);
    buf_init(&r->said, SENT_MAX);
    r->s = cloud_store_new(&r->f.net, &o);
}

static void end(struct run *r)
{
    cloud_store_free(r->s);
    buf_free(&r->f.sent);
    buf_free(&r->f.one);
    buf_free(&r->got);
    buf_free(&r->said);
}

/* Runs the client until the call is done. Virtual time advances to the next deadline when no link is ready. */
static void wait_for(struct run *r, struct cloud_call *c, cloud_done *then)
{
    c->done = then;
    c->done_owner = c->owner = r;
    r->over = false;
    cloud_store_call(r->s, c, r->now);
    for (int i = 0; i < 1000 && !r->over; i++) {
        int64_t next = cloud_store_tick(r->s, r->now);
        CHECK(!r->over || next <= r->now.mono_ms); /* the owner must look at the call at once */
        if (net_dispatch(&r->f.net, r->now) || r->over)
            continue;
        if (next == TIME_NEVER && r->f.l.state == LINK_OPEN) {
            next = r->f.l.deadline_ms;
            r->f.l.state = LINK_FAILED;
            r->f.l.error = (struct err){0};
            err_put(&r->f.l.error, ERR_TIMEOUT, "no answer in time");
            net_wake(&r->f.l);
        }
        r->now.wall_us += (next - r->now.mono_ms) * 1000;
        r->now.mono_ms = next;
    }
    CHECK(r->over);
}

static inline void wait_over(struct run *r, struct cloud_call *c)
{
    wait_for(r, c, done);
}

#define OK "HTTP/1.1 200 OK\r\nETag: \"e1\"\r\nContent-Length: 5\r\n\r\nhello"
#define NO(status, headers, code)                                                                                                          \
    "HTTP/1.1 " status " X\r\n" headers "Transfer-Encoding: chunked\r\n\r\n"                                                               \
    "7\r\n<Error>\r\n" code "8\r\n</Error>\r\n0\r\n\r\n"
#define CODE(length, name) length "\r\n<Code>" name "</Code>\r\n"
