#include "loop.h"

#include <mobula/http.h>

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* The state of a connection until it is open. The steps follow one another: DNS, TCP (each address in turn), the proxy, TLS. Each has a
 * time of its own beside the owner's deadline, and failing says at which step. */
struct dial {
    struct arena memory;
    struct endpoint to;
    struct net_proxy proxy;
    struct slice tcp_to; /* "host:port" of the server or of the proxy */
    struct lookup *lookup;
    struct addresses addresses;
    unsigned tried;
    int64_t connect_until_ms; /* of all addresses together */
    struct err refused;       /* by the first address */
    struct http_reader *answer;
};

/* ---- before anything else happens ---- */

static bool check_one(const struct loop *l, struct slice host, uint16_t port, struct err *e)
{
    if (!net_is_host(host) || port == 0)
        return err_set(e, ERR_CONFIG, "\"%.*s\" port %u: want a host name or an IP address, and a port", SLICE_ARG(slice_head(host, 80)),
                       port);
    return net_allow_check(l->allow, host, port, e);
}

static bool check(const struct loop *l, const struct endpoint *to, struct err *e)
{
    if (!check_one(l, to->host, to->port, e))
        return false;
    if (to->proxy && !check_one(l, to->proxy->host, to->proxy->port, e))
        return err_wrap(e, "the proxy");
    if (l->dialled == LIMIT_NET_LINKS)
        return err_set(e, ERR_LIMIT, "no connection to %.*s:%u: LIMIT_NET_LINKS is %d", SLICE_ARG(to->host), to->port, LIMIT_NET_LINKS);
    return true;
}

static struct slice host_port(struct arena *a, struct slice host, uint16_t port)
{
    bool v6 = slice_find(host, ':') >= 0;
    return arena_printf(a, v6 ? "[%.*s]:%u" : "%.*s:%u", SLICE_ARG(host), port);
}

/* The dial lives in its own arena. */
static struct dial *dial_new(const struct endpoint *to)
{
    struct arena memory = {0};
    struct dial *d = arena_new(&memory, struct dial);
    d->to = *to;
    d->to.host = arena_dup(&memory, to->host);
    d->to.tls_name = arena_dup(&memory, slice_empty(to->tls_name) ? to->host : to->tls_name);
    if (to->proxy) {
        d->proxy = (struct net_proxy){arena_dup(&memory, to->proxy->host), to->proxy->port, SLICE_NONE};
        if (!slice_empty(to->proxy->basic))
            d->proxy.basic = arena_dup(&memory, to->proxy->basic);
        d->to.proxy = &d->proxy;
        d->tcp_to = host_port(&memory, d->proxy.host, d->proxy.port);
    } else {
        d->tcp_to = host_port(&memory, d->to.host, d->to.port);
    }
    d->memory = memory;
    return d;
}

static struct slice tcp_host(const struct dial *d)
{
    return d->to.proxy ? d->proxy.host : d->to.host;
}

static void answer_free(struct dial *d)
{
    if (d->answer)
        http_reader_free(d->answer);
    mem_free(d->answer);
    d->answer = NULL;
}

void dial_free(struct wire *w)
{
    struct dial *d = w->dial;
    if (!d)
        return;
    w->dial = NULL;
    if (d->lookup)
        resolver_drop(w->loop->resolver, d->lookup);
    answer_free(d);
    struct arena memory = d->memory;
    arena_free(&memory);
}

static void step(struct wire *w, enum wire_step to, int64_t ms)
{
    w->step = to;
    w->step_until_ms = w->loop->now.mono_ms + ms;
}

/* ---- TLS ---- */

static void secure(struct wire *w)
{
    const struct dial *d = w->dial;
    if (!d->to.tls) {
        wire_opened(w);
        return;
    }
    struct tls_options options = {
        .name = d->to.tls_name,
        .trust = w->trust,
        .identity = w->identity,
        .insecure = d->to.insecure,
        .h2 = d->to.h2,
        .wall_us = w->loop->now.wall_us,
    };
    w->tls = tls_open(&options, &w->link.error);
    if (!w->tls) {
        err_wrap(&w->link.error, "%s", w->peer);
        wire_fail(w);
        return;
    }
    step(w, WIRE_HANDSHAKE, NET_HANDSHAKE_MS);
    wire_move(w);
}

/* ---- the proxy ---- */

static void tunnel_begin(struct wire *w)
{
    struct dial *d = w->dial;
    if (!d->to.proxy) {
        secure(w);
        return;
    }
    struct buf b;
    buf_init(&b, NET_BUFFER);
    struct slice target = host_port(&d->memory, d->to.host, d->to.port);
    struct slice basic = arena_printf(&d->memory, "Basic %.*s", SLICE_ARG(d->proxy.basic));
    struct http_header credentials = {SLICE("Proxy-Authorization"), basic};
    bool fits = http_write_request(&b, SLICE("CONNECT"), target, target, &credentials, slice_empty(d->proxy.basic) ? 0 : 1, NULL);
    if (fits) {
        size_t room;
        memcpy(flow_room(&w->out, &room), b.ptr, b.len);
        flow_wrote(&w->out, b.len);
    }
    buf_wipe(&b);
    if (!fits) {
        err_set(&w->link.error, ERR_PROXY, "proxy %.*s: user and password do not fit in a request", SLICE_ARG(d->tcp_to));
        wire_fail(w);
        return;
    }
    d->answer = mem_alloc(sizeof *d->answer);
    http_reader_init(d->answer, HTTP_RESPONSES);
    http_reader_expect_no_body(d->answer);
    step(w, WIRE_TUNNEL, NET_CONNECT_MS);
    wire_send(w);
}

static void tunnel_answered(struct wire *w)
{
    struct dial *d = w->dial;
    struct err *e = &w->link.error;
    int status = d->answer->status;
    if (status == 407)
        err_set(e, ERR_PROXY, "proxy %.*s wants %s (407): set them in HTTPS_PROXY or proxy-url", SLICE_ARG(d->tcp_to),
                slice_empty(d->proxy.basic) ? "a user and a password" : "another user or password");
    else if (status == 403)
        err_set(e, ERR_PROXY, "proxy %.*s forbids %s (403): it must be allowed there", SLICE_ARG(d->tcp_to), w->peer);
    else if (status != 200)
        err_set(e, ERR_PROXY, "proxy %.*s answered %d %s for %s: it must let it through, or NO_PROXY list it", SLICE_ARG(d->tcp_to), status,
                http_status_text(status), w->peer);
    else if (d->to.tls && !slice_empty(flow_peek(&w->in))) /* a TLS server never speaks first */
        err_set(e, ERR_PROXY,
                "proxy %.*s sent bytes behind its answer, such as a page of its own: it must let %s through, or NO_PROXY list it",
                SLICE_ARG(d->tcp_to), w->peer);
    if (e->code != ERR_NONE) {
        wire_fail(w);
        return;
    }
    answer_free(d);
    secure(w);
}

static void tunnel_move(struct wire *w)
{
    struct dial *d = w->dial;
    wire_send(w);
    wire_recv(w);
    if (w->step == WIRE_FAILED)
        return;
    struct slice came = flow_peek(&w->in), rest = came, body;
    struct err e = {0};
    enum http_step said = http_read(d->answer, &rest, &body, &e);
    flow_used(&w->in, came.len - rest.len);
    if (said == HTTP_HEAD) {
        tunnel_answered(w);
    } else if (said == HTTP_BAD) {
        err_set(&w->link.error, ERR_PROXY, "proxy %.*s does not answer as one that takes CONNECT: %s", SLICE_ARG(d->tcp_to), e.text);
        wire_fail(w);
    } else if (w->eof) {
        err_set(&w->link.error, ERR_PROXY, "proxy %.*s hung up without an answer", SLICE_ARG(d->tcp_to));
        wire_fail(w);
    }
}

/* ---- TCP ---- */

/* The address that is being tried did not work. The first reason is kept: later addresses are the less likely ones. */
static void refused(struct wire *w, const char *why)
{
    struct dial *d = w->dial;
    char text[ADDRESS_TEXT_MAX];
    err_set(&d->refused, ERR_CONNECT, "%s: %s", address_text(&d->addresses.at[d->tried - 1], text), why);
    loop_close_fd(w->loop, &w->watch);
}

/* The system has no sockets of this address's family: a kernel without IPv6, mostly. It is as if the address were not there, so that the
 * error of another address is reported; only for the last address it is the error. */
static void unsupported(struct wire *w, const char *why)
{
    struct dial *d = w->dial;
    struct addresses *a = &d->addresses;
    if (a->count == 1) {
        refused(w, why);
        return;
    }
    a->count--;
    d->tried--;
    memmove(&a->at[d->tried], &a->at[d->tried + 1], (a->count - d->tried) * sizeof a->at[0]);
}

/* Begins with the next address; false when it is clear at once that it does not answer. */
static bool connect_next(struct wire *w)
{
    struct dial *d = w->dial;
    unsigned left = d->addresses.count - d->tried;
    const struct address *a = &d->addresses.at[d->tried++];
    w->watch.fd = tcp_socket(a->any.sa_family);
    if (w->watch.fd < 0 && !tcp_is_scarce(errno)) {
        unsupported(w, strerror(errno));
        return false;
    }
    if (w->watch.fd < 0) {
        bool files = errno == EMFILE || errno == ENFILE;
        err_set(&w->link.error, ERR_IO, "%.*s: %s: %s", SLICE_ARG(d->tcp_to),
                files ? "no file descriptor is left (raise the limit of open files)" : "no socket", strerror(errno));
        wire_fail(w);
        return true;
    }
    if (d->to.silent)
        tcp_silent(w->watch.fd);
    if (connect(w->watch.fd, &a->any, a->len) == 0) {
        tunnel_begin(w);
        return true;
    }
    if (errno != EINPROGRESS) {
        refused(w, strerror(errno));
        return false;
    }
    int64_t rest = d->connect_until_ms - w->loop->now.mono_ms, share = rest / left;
    share = share > NET_ADDRESS_MS ? share : NET_ADDRESS_MS;
    step(w, WIRE_CONNECT, share < rest ? share : rest);
    return true;
}

static void connect_any(struct wire *w)
{
    struct dial *d = w->dial;
    while (d->tried < d->addresses.count && w->loop->now.mono_ms < d->connect_until_ms)
        if (connect_next(w))
            return;
    const char *proxy = d->to.proxy ? "the proxy " : "";
    if (d->tried > 1)
        err_wrap(&d->refused, "%u addresses tried, the first", d->tried);
    err_set(&w->link.error, ERR_CONNECT, "no connection to %s%.*s: %s", proxy, SLICE_ARG(d->tcp_to), d->refused.text);
    wire_fail(w);
}

static void connect_begin(struct wire *w)
{
    w->dial->connect_until_ms = w->loop->now.mono_ms + NET_CONNECT_MS;
    connect_any(w);
}

static void connect_done(struct wire *w)
{
    int error = 0;
    socklen_t len = sizeof error;
    getsockopt(w->watch.fd, SOL_SOCKET, SO_ERROR, &error, &len);
    if (error == 0) {
        tunnel_begin(w);
        return;
    }
    refused(w, strerror(error));
    connect_any(w);
}

/* ---- DNS ---- */

static void resolve(struct wire *w)
{
    struct dial *d = w->dial;
    struct slice host = tcp_host(d);
    uint16_t port = d->to.proxy ? d->proxy.port : d->to.port;
    struct ip ip;
    if (ip_parse(host, &ip)) {
        d->addresses.at[d->addresses.count++] = address_of(&ip, port);
        connect_begin(w);
    } else if (host_is_localhost(host)) {
        addresses_of_localhost(port, &d->addresses);
        connect_begin(w);
    } else {
        step(w, WIRE_RESOLVE, NET_DNS_MS);
        d->lookup = resolver_ask(w->loop->resolver, host, port, w, &w->link.error);
        if (!d->lookup)
            wire_fail(w);
    }
}

void dial_answer(struct lookup *answer)
{
    struct wire *w = answer->asker;
    struct dial *d = w->dial;
    d->lookup = NULL;
    d->addresses = answer->found;
    w->link.error = answer->error;
    mem_free(answer);
    if (w->link.error.code != ERR_NONE)
        wire_fail(w);
    else
        connect_begin(w);
}

/* ---- calls from the rest of the loop ---- */

struct link *dial_open(struct net *n, const struct endpoint *to, struct link_owner *owner, int64_t deadline_ms, struct err *e)
{
    struct loop *l = CONTAINER_OF(n, struct loop, net);
    if (!check(l, to, e))
        return NULL;
    struct dial *d = dial_new(to);
    struct wire *w = wire_new(l, host_port(&d->memory, to->host, to->port));
    l->dialled++;
    w->dial = d;
    w->link.owner = owner;
    w->link.deadline_ms = deadline_ms;
    w->trust = to->trust ? tls_trust_keep(to->trust) : NULL;
    w->identity = to->identity ? tls_identity_keep(to->identity) : NULL;
    resolve(w);
    return &w->link;
}

void dial_ready(struct wire *w)
{
    if (w->step == WIRE_CONNECT)
        connect_done(w);
    else
        tunnel_move(w);
}

const char *dial_step_name(const struct wire *w)
{
    static const char *const names[] = {
        [WIRE_RESOLVE] = "during the DNS lookup",
        [WIRE_CONNECT] = "while connecting",
        [WIRE_TUNNEL] = "while waiting for the proxy",
        [WIRE_HANDSHAKE] = "during the TLS handshake",
    };
    return names[w->step];
}

void dial_expire(struct wire *w)
{
    struct dial *d = w->dial;
    struct err *e = &w->link.error;
    switch (w->step) {
    case WIRE_CONNECT:
        refused(w, "no answer");
        connect_any(w);
        return;
    case WIRE_RESOLVE:
        err_set(e, ERR_DNS, "no answer from DNS for %.*s in %d s", SLICE_ARG(tcp_host(d)), NET_DNS_MS / 1000);
        break;
    case WIRE_TUNNEL:
        err_set(e, ERR_PROXY, "proxy %.*s gave no answer for %s in %d s", SLICE_ARG(d->tcp_to), w->peer, NET_CONNECT_MS / 1000);
        break;
    default:
        err_set(e, ERR_TLS, "%s: no TLS handshake in %d s: no TLS server, or large packets are lost on the way (MTU)", w->peer,
                NET_HANDSHAKE_MS / 1000);
        break;
    }
    wire_fail(w);
}
