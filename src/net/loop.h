/* loop: what the files of the event loop share. A wire is a link with a socket behind it. */
#ifndef MOBULA_NET_LOOP_H
#define MOBULA_NET_LOOP_H

#include <mobula/net.h>

#include "flow.h"
#include "host.h"
#include "resolve.h"

#include <signal.h>

/* ---- the loop ---- */

#define CONTAINER_OF(member_ptr, type, member) ((type *)(void *)((char *)(member_ptr)-offsetof(type, member)))

/* A descriptor that epoll watches. It is in epoll exactly while `events` is not 0: epoll reports hang-ups whether asked or not, and a
 * link whose owner does not read yet must not turn those into a busy loop. */
struct watch {
    int fd; /* -1: none */
    uint32_t events;
    void (*ready)(struct watch *w);
};

struct listener {
    struct listener *next;
    struct loop *loop;
    struct watch watch;
    struct link_accept *accept;
    struct tls_identity *const *identity; /* NULL: without TLS */
};

struct loop {
    struct net net; /* first: a net of this loop is the loop */
    struct net_allow *allow;
    struct now now;
    int epoll;
    struct watch signal, answers;
    sigset_t mask;    /* as it was before */
    uint32_t signals; /* that came and were not asked for yet, one bit each */
    struct resolver *resolver;
    struct wire *wires;
    int64_t expire_ms; /* the first deadline of a wire, when the loop began to wait */
    bool gone, late;   /* some wire is */
    unsigned dialled;
    struct listener *listeners;
    int64_t accept_pause_ms; /* no accepting before this */
    struct log_limit accept_log, surplus_log;
};

void loop_watch(struct loop *l, struct watch *w, uint32_t events);
void loop_close_fd(struct loop *l, struct watch *w);

/* ---- wires ---- */

enum wire_step {
    WIRE_RESOLVE,
    WIRE_CONNECT,
    WIRE_TUNNEL, /* CONNECT was sent to the proxy */
    WIRE_HANDSHAKE,
    WIRE_OPEN,
    WIRE_CLOSING, /* the owner is gone; what it wrote is still sent, and then the peer's end is awaited */
    WIRE_FAILED,  /* everything but the link and unread bytes is gone; the owner has yet to close it */
    WIRE_GONE,    /* freed at the next wait, because epoll's answers may still point here */
};

struct dial;

struct wire {
    struct link link; /* first */
    struct loop *loop;
    struct wire *next;
    struct watch watch;
    enum wire_step step;
    int64_t step_until_ms; /* of this step; the owner's deadline is link.deadline_ms */
    struct dial *dial;     /* until it is open */
    struct tls *tls;
    struct tls_trust *trust;
    struct tls_identity *identity;
    struct flow in, out;             /* plain: the owner's bytes. TLS keeps its bytes in the session */
    size_t offered;                  /* the last result of wire_room */
    int send_errno;                  /* why nothing can be sent any more */
    const struct listener *listener; /* that took it; NULL: we opened it */
    bool eof, shut, news, starved, late;
    bool heard;  /* the peer has sent bytes or closed its side of the connection */
    bool moved;  /* since the loop last looked: it may want something else, or hold memory that it need not */
    char peer[]; /* "host:port", for what people read */
};

struct wire *wire_new(struct loop *l, struct slice peer);
void wire_ready(struct watch *watch);
/* Ends the wire with link.error, which the caller has set. */
void wire_fail(struct wire *w);
void wire_opened(struct wire *w);
void wire_send(struct wire *w); /* as much of what waits as the socket takes */
/* Reads once. Whether there may be more to read at once. */
bool wire_recv(struct wire *w);
void wire_move(struct wire *w);
uint32_t wire_wants(const struct wire *w); /* events for epoll */
int64_t wire_deadline(const struct wire *w);
void wire_expire(struct wire *w);
void wire_gone(struct wire *w);
void wire_free(struct wire *w);
extern const struct link_ops wire_ops;

/* ---- from a name to an open wire ---- */

struct link *dial_open(struct net *n, const struct endpoint *to, struct link_owner *owner, int64_t deadline_ms, struct err *e);
void dial_free(struct wire *w);
void dial_ready(struct wire *w);
void dial_answer(struct lookup *answer); /* of DNS; takes it */
void dial_expire(struct wire *w);
const char *dial_step_name(const struct wire *w);

/* ---- sockets ---- */

/* Whether errno says that the whole system, or this process, has no room for another socket. */
bool tcp_is_scarce(int error);
/* -1 with errno. Options that the system does not know are left out. */
int tcp_socket(int family);
void tcp_options(int fd);
void tcp_silent(int fd); /* switches TCP keepalives off */
bool tcp_listen(struct slice address, int *fd, uint16_t *port, struct err *e);

/* ---- listening ---- */

uint32_t listener_wants(const struct listener *s);
void listeners_free(struct loop *l);

#endif
