/* serve: an HTTP/1.1 server over accepted links. It reads whole requests, within limits of size and time, and hands them to its owner, who
 * answers at once or later. One request of a connection is answered before the next is read. What the requests mean is unknown here. */
#ifndef MOBULA_SERVE_H
#define MOBULA_SERVE_H

#include <mobula/http.h>
#include <mobula/net.h>

/* A request that waits for its answer. */
struct serve_ask {
    const struct http_reader *head; /* method, target, headers */
    struct slice body;
    struct slice peer; /* the client's address; empty: unknown */
    void *state;       /* the owner's; NULL at first */
};

struct serve_user {
    /* A whole request has come. It is answered with serve_answer, now or later. */
    void (*ask)(void *owner, struct serve_ask *q, struct now now);
    /* The received bytes are no request, or one past a limit: to be answered now, with this status. The connection ends then. NULL: the
     * answer has no body. */
    void (*bad)(void *owner, struct serve_ask *q, int status, const struct err *why, struct now now);
    /* The client has gone, or was closed, before it was answered: q is dead after this. NULL for who answers at once. */
    void (*gone)(void *owner, struct serve_ask *q);
};

struct serve_options {
    const struct serve_user *user;
    void *owner;
    uint32_t connections; /* open at a time: for one more, one of least worth is closed (struct link_accept). 0: LIMIT_NET_ACCEPTED */
    uint32_t each;        /* connections of one address that serve_trust has not marked as known; 0: no limit */
    size_t body_max;      /* of one request; 0: a body is not read, and the connection ends with the answer */
    size_t bodies_max;    /* of all requests together */
    size_t answers_max;   /* of all answers that have not been taken yet: beyond it the connection that has waited longest ends. 0: none */
    int64_t head_ms;      /* for the TLS handshake and the head of the first request; 0: request_ms */
    int64_t request_ms;   /* for the body of a request, and for the head of each further request from its first byte */
    int64_t answer_ms;    /* within which its answer must have been taken */
    int64_t idle_ms;      /* how long a connection may be silent between two requests; 0: it ends with its first answer */
};

struct serve;
struct serve *serve_new(const struct serve_options *o);
void serve_free(struct serve *s);                  /* ends all connections; gone is called for what was not answered. NULL is fine */
struct link_accept *serve_accept(struct serve *s); /* for loop_listen */

/* The body is copied; headers as in http_write_response, without Connection. q is dead after this. An answer that cannot be written (above
 * LIMIT_SERVE_ANSWER) becomes a 500 without a body. */
void serve_answer(struct serve_ask *q, int status, const struct http_header *headers, size_t count, struct slice body, struct now now);
/* known: the caller's token was accepted. The connections of known callers are closed last when there are too many. */
void serve_trust(struct serve_ask *q, bool known);
/* Frees the body of a request that is not answered yet. */
void serve_drop_body(struct serve_ask *q);
/* From now on connections end with their next answer, and those without a request end at once. */
void serve_stop(struct serve *s);

struct serve_stats {
    uint32_t connections, waiting; /* now; of them such with a request that is not answered */
    uint64_t requests, bad;        /* whole ones; others */
    size_t bytes;                  /* of bodies that are being read, or wait for their answer */
    size_t answers;                /* bytes of answers that have not been taken yet */
};
const struct serve_stats *serve_stats(const struct serve *s);

#endif
