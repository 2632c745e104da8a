/* A network without sockets, and a client on it, in virtual time. The test reads what the client sent and says what comes back. */
#ifndef MOBULA_TEST_FAKENET_H
#define MOBULA_TEST_FAKENET_H

#include "../test.h"

#include "src/kube/client.h"
#include "src/kube/config.h"

enum { FAKE_LINKS = LIMIT_KUBE_WATCHES + 64, FAKE_BYTES = 64 * MIB };

struct fake;

/* What the test keeps of a link, also behind its close. The link itself is freed then, so that a use of it is found. */
struct fakelink {
    struct fake *fake;
    struct link *link;  /* NULL: closed by the client */
    struct buf in, out; /* to the client; from it */
    size_t room;        /* bytes that the client may put at once */
    size_t most;        /* that it may put in all, not above `room`; 0: any number */
    char scratch[4096];
    char host[64];
    uint16_t port;
    bool tls;
};

struct fake_actual {
    struct link link; /* first */
    struct fakelink *of;
};

struct fake {
    struct net net;
    struct fakelink *links[FAKE_LINKS];
    uint32_t count;
    bool manual;        /* links stay in LINK_OPENING until fake_open */
    const char *refuse; /* opening fails at once with this text */
    struct kube_config *config;
    struct kube_client *client;
    struct now now;
    int64_t next_ms; /* what the last tick returned */
};

static struct fakelink *fakelink_of(struct link *l)
{
    return ((struct fake_actual *)l)->of;
}

static struct slice fake_peek(struct link *l)
{
    return buf_slice(&fakelink_of(l)->in);
}

static void fake_used(struct link *l, size_t n)
{
    buf_drop(&fakelink_of(l)->in, n);
}

static char *fake_room(struct link *l, size_t *n)
{
    struct fakelink *f = fakelink_of(l);
    *n = l->state == LINK_OPEN ? f->room : 0;
    if (f->most)
        *n = f->out.len < f->most ? f->most - f->out.len : 0;
    return f->scratch;
}

static void fake_wrote(struct link *l, size_t n)
{
    struct fakelink *f = fakelink_of(l);
    buf_put(&f->out, (struct slice){f->scratch, n});
    net_wake(l);
}

static void fake_closed(struct link *l)
{
    fakelink_of(l)->link = NULL;
    net_forget(l);
    mem_free(l);
}

static const struct link_ops fake_link_ops = {fake_peek, fake_used, fake_room, fake_wrote, fake_closed};

static struct link *fake_net_open(struct net *n, const struct endpoint *to, struct link_owner *owner, int64_t deadline_ms, struct err *e)
{
    struct fake *f = (struct fake *)n;
    if (f->refuse || f->count == FAKE_LINKS) {
        err_set(e, ERR_CONNECT, "%s", f->refuse ? f->refuse : "no more links in this test");
        return NULL;
    }
    struct fake_actual *a = mem_alloc(sizeof *a);
    struct fakelink *l = mem_alloc(sizeof *l);
    a->of = l;
    a->link = (struct link){.ops = &fake_link_ops, .net = n, .owner = owner, .deadline_ms = deadline_ms};
    a->link.state = f->manual ? LINK_OPENING : LINK_OPEN;
    l->fake = f;
    l->link = &a->link;
    l->room = sizeof l->scratch;
    l->port = to->port;
    l->tls = to->tls;
    snprintf(l->host, sizeof l->host, "%.*s", SLICE_ARG(to->host));
    buf_init(&l->in, FAKE_BYTES);
    buf_init(&l->out, FAKE_BYTES);
    f->links[f->count++] = l;
    net_wake(&a->link);
    return &a->link;
}

static const struct net_ops fake_net_ops = {fake_net_open};

/* ---- what the test does ---- */

/* Moves time, and lets the client do what is due. */
static void fake_run(struct fake *f, int64_t ms)
{
    f->now.mono_ms += ms;
    f->now.wall_us += ms * 1000;
    do
        f->next_ms = kube_client_tick(f->client, f->now);
    while (net_dispatch(&f->net, f->now));
}

__attribute__((unused)) static void fake_open(struct fakelink *l)
{
    l->link->state = LINK_OPEN;
    net_wake(l->link);
    fake_run(l->fake, 0);
}

__attribute__((unused)) static void fake_put(struct fakelink *l, struct slice s)
{
    if (!l->link)
        return;
    buf_put(&l->in, s);
    net_wake(l->link);
    fake_run(l->fake, 0);
}

__attribute__((unused)) static void fake_fail(struct fakelink *l, enum err_code code, const char *text)
{
    if (!l->link)
        return;
    err_set(&l->link->error, code, "%s", text);
    l->link->state = LINK_FAILED;
    net_wake(l->link);
    fake_run(l->fake, 0);
}

__attribute__((unused)) static void fake_end(struct fakelink *l)
{
    if (!l->link)
        return;
    l->link->state = LINK_ENDED;
    net_wake(l->link);
    fake_run(l->fake, 0);
}

/* An answer with a length; headers: whole lines with CRLF. */
__attribute__((unused)) static void fake_answer(struct fakelink *l, int status, const char *headers, struct slice body)
{
    struct buf b;
    buf_init(&b, FAKE_BYTES);
    buf_printf(&b, "HTTP/1.1 %d X\r\nContent-Type: application/json\r\n%sContent-Length: %zu\r\n\r\n", status, headers, body.len);
    buf_put(&b, body);
    fake_put(l, buf_slice(&b));
    buf_free(&b);
}

/* The head of a chunked answer, a chunk, and the end. */
__attribute__((unused)) static void fake_stream(struct fakelink *l)
{
    fake_put(l, SLICE("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"));
}

__attribute__((unused)) static void fake_chunk(struct fakelink *l, struct slice data)
{
    struct buf b;
    buf_init(&b, FAKE_BYTES);
    http_write_chunk(&b, data);
    fake_put(l, buf_slice(&b));
    buf_free(&b);
}

__attribute__((unused)) static void fake_last_chunk(struct fakelink *l)
{
    fake_put(l, SLICE("0\r\n\r\n"));
}

/* What the client has sent on this link and the test has not taken yet. */
__attribute__((unused)) static struct slice fake_sent(const struct fakelink *l)
{
    return buf_slice(&l->out);
}

__attribute__((unused)) static bool fake_has(const struct fakelink *l, const char *text)
{
    return l->out.len && memmem(l->out.ptr, l->out.len, text, strlen(text)) != NULL;
}

__attribute__((unused)) static void fake_take(struct fakelink *l)
{
    buf_clear(&l->out);
}

/* "GET /api/v1/pods?limit=500": the first line of what was sent, without the version. */
__attribute__((unused)) static struct slice fake_line(const struct fakelink *l)
{
    struct slice s = fake_sent(l), line = slice_cut(&s, '\r');
    return slice_ends(line, SLICE(" HTTP/1.1")) ? slice_head(line, line.len - 9) : line;
}

/* The newest link. */
__attribute__((unused)) static struct fakelink *fake_last(const struct fake *f)
{
    return f->links[f->count - 1];
}

__attribute__((unused)) static uint32_t fake_alive(const struct fake *f)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->count; i++)
        n += f->links[i]->link != NULL;
    return n;
}

static struct kube_config *fake_config(void)
{
    struct kube_config *c = mem_alloc(sizeof *c);
    c->private_ = mem_alloc(sizeof *c->private_);
    buf_init(&c->private_->authorization, LIMIT_KUBE_TOKEN + 16);
    buf_put(&c->private_->authorization, SLICE("Bearer secret-1"));
    c->host = c->tls_name = SLICE("api.test");
    c->port = 6443;
    c->tls = true;
    c->insecure = true; /* nothing to load: TLS is the network's business */
    c->namespace_ = SLICE("default");
    c->source = SLICE("test");
    c->name = "API server";
    return c;
}

__attribute__((unused)) static void fake_init(struct fake *f)
{
    *f = (struct fake){.now = {.mono_ms = 1000 * 1000, .wall_us = 1795000000LL * 1000000}};
    f->net.ops = &fake_net_ops;
    f->config = fake_config();
    f->client = kube_client_new(&f->net, f->config, 7, "mobula/test");
    fake_run(f, 0);
}

__attribute__((unused)) static void fake_free(struct fake *f)
{
    kube_client_free(f->client);
    kube_config_free(f->config);
    for (uint32_t i = 0; i < f->count; i++) {
        buf_free(&f->links[i]->in);
        buf_free(&f->links[i]->out);
        if (f->links[i]->link)
            mem_free(f->links[i]->link);
        mem_free(f->links[i]);
    }
}

#endif
