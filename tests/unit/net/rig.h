/* rig: what the tests of the loop share. A loop whose owners gather what comes and send what they are told; servers on loopback, each one
 * thread with blocking sockets; and a look at the process's descriptors. */
#ifndef MOBULA_TEST_NET_RIG_H
#define MOBULA_TEST_NET_RIG_H

#include "../ports.h"

#include <mobula/net.h>

#include <pthread.h>

/* ---- our side ---- */

struct probe {
    struct link_owner owner;
    struct link *link;
    struct slice to_send; /* what is left of it */
    struct buf got;
    size_t hold; /* leave bytes unused while this many were gathered; 0: never */
    int steps;
    bool close_at_end; /* when everything was sent and the peer has ended */
};

struct rig {
    struct net_allow *allow;
    struct loop *loop;
    struct now now;
    int fds; /* open before there was a rig */
};

void rig_open(struct rig *r);
/* Closes the loop; false when other descriptors are open than before. */
bool rig_close(struct rig *r);
void rig_turn(struct rig *r, int64_t ms);
/* For as long as anybody may be held up: this process, a server's thread, the whole machine. Only a check that fails waits so long. */
enum { RIG_PATIENCE_S = 30 };
/* Turns until *done; whether it came true. */
#define RIG_UNTIL(r, done)                                                                                                                 \
    ({                                                                                                                                     \
        int64_t rig_end_ = clock_now().mono_ms + RIG_PATIENCE_S * 1000;                                                                    \
        while (!(done) && clock_now().mono_ms < rig_end_)                                                                                  \
            rig_turn((r), 20);                                                                                                             \
        (done);                                                                                                                            \
    })

void probe_init(struct probe *p, struct slice to_send);
void probe_free(struct probe *p); /* closes its link */
/* A link to 127.0.0.1:port. */
void probe_open(struct probe *p, struct rig *r, uint16_t port);
void probe_open_to(struct probe *p, struct rig *r, const struct endpoint *to);
bool probe_over(const struct probe *p); /* ended or failed */
/* Whether the connection stands and the TLS handshake goes on. */
bool probe_shakes_hands(const struct probe *p);
/* Waits, without a turn of the loop, until there is something to read for the probe. */
bool probe_await_bytes(const struct probe *p);

/* ---- the other side ---- */

struct server {
    int listener, peer; /* peer: of the connection being served, or -1 */
    uint16_t port;
    int rounds;                      /* connections to serve, one after the other */
    void (*serve)(struct server *s); /* talks on s->peer, which is closed afterwards */
    const void *arg;
    pthread_t thread;
};

void server_start(struct server *s, int rounds, void (*serve)(struct server *s), const void *arg);
void server_stop(struct server *s); /* waits for it */
void send_all(int fd, struct slice s);
void serve_echo(struct server *s);
int open_fds(void);

/* len bytes in which a lost or doubled piece shows. */
struct slice pattern(struct arena *a, size_t len);

#endif
