/* One HTTP/1.1 conversation over one link: a request goes out, its answer comes in, then perhaps the next. No pipelining. Calls gather the
 * answer, watches use it as it comes. */
#ifndef MOBULA_KUBE_EXCHANGE_H
#define MOBULA_KUBE_EXCHANGE_H

#include <mobula/kube.h>

struct exchange;

/* Callbacks to its user. head and body may close the exchange; only end, lost and code outside may send or open again; none may free it. */
struct exchange_events {
    void (*head)(struct exchange *x, struct now now); /* x->reader holds the headers, until end */
    void (*body)(struct exchange *x, struct slice piece, struct now now);
    void (*end)(struct exchange *x, struct now now); /* the answer is complete; x->link is NULL when the link cannot carry another */
    void (*lost)(struct exchange *x, const struct err *why,
                 struct now now); /* the link is closed; x->sent and x->heard say how far it came */
};

struct exchange {
    struct link_owner owner; /* first: the link gives it back to us */
    const struct exchange_events *events;
    struct kube_client_stats *stats;
    struct link *link; /* NULL: closed */
    struct http_reader reader;
    int status;          /* of the answer: it outlives the link */
    struct slice unsent; /* rest of the request: the user's bytes */
    size_t sent;         /* bytes of this request that went to the link: 0 means that the server cannot have seen it */
    uint32_t answers;    /* complete ones on this link */
    bool opened;         /* the link was open once */
    bool busy;           /* from exchange_send until end or lost */
    bool heard;          /* bytes of this answer came */
    int64_t heard_ms;    /* when the last ones came */
    int64_t sent_ms;     /* when the first bytes of this request went to the link */
};

void exchange_init(struct exchange *x, const struct exchange_events *events, struct kube_client_stats *stats);
bool exchange_open(struct exchange *x, struct net *net, const struct endpoint *to, int64_t deadline_ms, struct err *e);
/* The bytes must stay until end or lost. They go out as the link opens and has room. */
void exchange_send(struct exchange *x, struct slice request, struct now now);
void exchange_unsend(struct exchange *x); /* takes a request back of which nothing has gone */
void exchange_close(struct exchange *x);

#endif
