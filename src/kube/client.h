/* Shared by the files of the client: calls wait in lanes, and a lane sends them over a few connections. */
#ifndef MOBULA_KUBE_CLIENT_H
#define MOBULA_KUBE_CLIENT_H

#include "exchange.h"
#include "window.h"

enum {
    KUBE_LANES = KUBE_LANE_PROXY + 1,
    CALL_TRIES = 10,        /* client-go's bound for answers that ask for another try */
    WARNINGS_KEPT = 64,     /* distinct Warning texts remembered */
    CLIENT_RENEW_MS = 1000, /* many calls may be told 401 at once: the files are read for the first of them … */
    CLIENT_RENEW_HEARSAY_MS =
        KUBE_RELOAD_MS,  /* … and no more often than they are anyway where the 401 may be somebody else's than the server's */
    BODY_KEPT = 4 * KIB, /* the part of its body buffer that a connection keeps between answers */
};

/* A request and what became of it so far. It stands in one place at a time: a lane's queue, its list for later, or a connection. */
struct call {
    struct call *next;
    enum kube_lane lane;
    uint32_t class; /* window_class() */
    bool again;     /* may be sent twice */
    bool at_once;   /* a 5xx is reported at once, and so is a 429 about a write */
    bool maybe;     /* an earlier try may have had an effect: it can never be KUBE_UNSENT any more */
    bool renewed;   /* 401 has been answered with fresh credentials once */
    bool secret;    /* its answer holds one */
    bool warnings;  /* its owner tells of warnings */
    unsigned tries; /* times it was sent, or its connection could not be opened */
    int64_t made_ms, deadline_ms, not_before_ms;
    int64_t begin_ms; /* likewise of what is not on its way, or not any more */
    kube_done *done;  /* NULL: nobody waits any more */
    kube_piece *piece;
    int64_t timeout_ms; /* of which deadline_ms was made */
    void *owner;
    const void *about;
    uint64_t tag;
    struct err why; /* the error that stopped the last try */
    int told;       /* the HTTP status of the last no */
    char method[8], content_type[48];
    struct buf request; /* as it goes over the wire, formed once; kept while it may have to be sent again, wiped then: it holds the token */
    size_t path_at, path_len, body_len; /* within request, for forming it again with other credentials; the body is its end … */
    struct buf header;                  /* … and the value of the request's own header, which may be a secret too */
    struct slice header_name;           /* a literal */
};

/* A connection of a lane. */
struct conn {
    struct exchange x; /* first */
    struct kube_client *client;
    struct conn *prev, *next;
    enum kube_lane lane;
    struct call *call; /* NULL: idle, or closed */
    struct buf body, warnings;
    bool secret; /* the length of body's content */
    int64_t retry_after_ms, idle_since_ms;
    uint64_t serial;     /* of the request */
    uint32_t generation; /* of the trust and identity that it was opened with */
};

struct conns {
    struct conn *first, *last;
};

struct lane {
    struct call *first, *last; /* the queue */
    struct call *later;        /* calls that wait for their not_before_ms */
    uint32_t queued;           /* both */
    int64_t queue_deadline_ms; /* no queued call's deadline is earlier */
    int64_t busy_deadline_ms;  /* and none of those that are under way */
    struct conns busy, idle;   /* idle: most recently used first */
    uint32_t in_flight;
    int64_t not_before_ms; /* Retry-After, or the backoff between failed connections: nothing starts earlier */
    unsigned failures;     /* connections that could not be opened, in a row */
};

struct kube_client {
    struct net *net;
    struct kube_config *config;
    const char *user_agent;
    struct rng rng;
    struct lane lanes[KUBE_LANES];
    struct conns closed;  /* freed by the next tick, when no step still uses them */
    struct window window; /* of the main lane */
    uint64_t serial;      /* requests sent so far */
    uint32_t generation;
    int64_t reloaded_ms; /* the last reload that a 401 forced */
    struct kube_watch *watches;
    uint32_t watch_count;
    bool news; /* since the tick began an owner was told something, or a watch was started: whoever has looked may have to look again */
    int64_t backoff_max_ms;
    bool warm;       /* one connection of the main lane stands even when there is nothing to send */
    int64_t warm_ms; /* not before this time is another one opened for that */
    bool no_stream;  /* the server has refused sendInitialEvents (L12) */
    uint64_t warnings[WARNINGS_KEPT];
    uint32_t warning_count;
    struct log_limit trouble_log, reload_log;
    bool trouble_said; /* … and not yet that it is over */
    struct kube_client_stats stats;
};

/* ---- call.c: one call ---- */

/* A request as bytes: everything that every request carries, and the configuration's prefix before the path. */
bool call_form(struct kube_client *c, struct buf *out, const struct kube_request *r, struct err *e);
void call_reform(struct kube_client *c, struct call *call); /* with the credentials of now */
void call_free(struct call *call);
/* Tells the owner, and frees it. The answer's outcome says the rest. */
void call_finish(struct kube_client *c, struct call *call, struct kube_answer *answer, struct now now);
/* Calls of this owner go on, but the owner is not called back. */
void calls_orphan(struct kube_client *c, const void *owner);

/* ---- lane.c, lane_wait.c: queues and connections ---- */

void lane_add(struct kube_client *c, struct call *call);
/* Calls that may be in flight: the window, or 1 while the server cannot be reached. */
uint32_t lane_limit(const struct kube_client *c, enum kube_lane which);
void lane_run(struct kube_client *c, enum kube_lane which, struct now now);
void lane_tick(struct kube_client *c, enum kube_lane which, struct now now);
int64_t lane_next(const struct kube_client *c, enum kube_lane which, struct now now); /* when lane_tick has something to do */
void lane_close_idle(struct kube_client *c, enum kube_lane which);
/* A connection has ended. If its peer stopped acknowledging, the path is dead, and idle connections are as dead: none is used again, or the
 * next call would wait as long on one of them to find that out. */
void client_lost(struct kube_client *c, const struct exchange *x, const struct err *why);
void lane_free(struct kube_client *c, enum kube_lane which);
void conns_reap(struct kube_client *c);

/* ---- client.c: what calls and watches both need ---- */

void client_trouble(struct kube_client *c, const struct err *why, struct now now); /* something stands between us and the server */
void client_well(struct kube_client *c, struct now now);                           /* the server has answered */
void client_goes_on(struct kube_client *c, struct now now);                        /* a watch has told something */
void client_warnings(struct kube_client *c, const struct http_reader *r);          /* logs Warning headers (C8) */
void client_gather_warnings(const struct http_reader *r, struct buf *out);         /* as kube_answer has them */
/* Credentials may have rotated: they are read again, unless they have been for another 401 within the last apart_ms. */
void client_renew(struct kube_client *c, int64_t apart_ms, struct now now);
/* After each answer but those of 500 and above. */
void client_window(struct kube_client *c, enum kube_lane lane, const struct window_answer *a, struct now now);
void client_denied(struct kube_client *c, const struct kube_status *status, struct now now); /* 401 even so */
bool client_open(struct kube_client *c, struct exchange *x, int64_t deadline_ms, struct err *e);

/* ---- watch.c ---- */

int64_t watches_tick(struct kube_client *c, struct now now);
void watches_free(struct kube_client *c);

#endif
