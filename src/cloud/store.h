/* State of the client in store.c, and its functions in request.c and refusal.c. */
#ifndef MOBULA_CLOUD_STORE_H
#define MOBULA_CLOUD_STORE_H

#include <mobula/cloud.h>

enum { CLOUD_REGION_MAX = 64, CLOUD_ETAG_MAX = 160 };

struct cloud_store {
    struct link_owner owner; /* first */
    struct net *net;
    struct cloud_store_options o;
    struct rng rng;
    struct link *link; /* NULL: none is open */
    bool to_identity;  /* the link and the request in flight go to o.identity, for new credentials */
    struct http_reader reader;
    struct buf head, answer; /* of the current request: its head; the kept body of its answer */
    struct arena a;          /* reset for each request */
    char id[LIMIT_CLOUD_SECRET + 1], secret[LIMIT_CLOUD_SECRET + 1], session[LIMIT_CLOUD_TOKEN + 1]; /* current credentials */
    int64_t expires_us;            /* expiry of the credentials; 0: none yet, TIME_NEVER: those of the settings, which do not expire */
    char region[CLOUD_REGION_MAX]; /* that requests are signed for */
    int64_t skew_us;               /* the store's clock minus ours */
    bool skewed, moved, renewed;   /* clock and region were corrected (once for a store); credentials were renewed (once for a call) */
    bool fresh;                    /* credentials were fetched for this request: use them even if they expire soon */
    /* the current call */
    bool busy; /* done has not been called yet */
    struct cloud_call call;
    unsigned tries;            /* attempts that failed */
    int64_t next_ms;           /* monotonic time of the next attempt; TIME_NEVER: one is in flight, or no call is */
    struct slice unsent;       /* rest of the head, or of the whole request for credentials */
    uint64_t sent, got;        /* bytes of the body written to the link; bytes of the answer that call.piece has received */
    bool reused;               /* the link was open already: kept from an earlier request */
    char etag[CLOUD_ETAG_MAX]; /* of the object that a GET began to read, for If-Match of the rest; empty: none */
};

/* Status, and code, message and region of the error document, of an answer. */
struct cloud_refusal {
    int status;
    struct slice code, message, region;
};
void cloud_refusal_read(const struct cloud_store *s, struct arena *a, struct cloud_refusal *out);
/* Writes the error for the caller: status, code, message, remedy. */
void cloud_refusal_words(const struct cloud_store *s, const struct cloud_refusal *r, struct err *e);

/* Writes the head of the call's request, or the whole request for credentials, into s->head. */
bool cloud_request_write(struct cloud_store *s, struct now now, struct err *e);
/* Stores the credentials of s->answer and wipes the answer. */
bool cloud_credentials_take(struct cloud_store *s, struct err *e);
/* Whether credentials are missing or expire within CLOUD_RENEW_S. */
bool cloud_credentials_due(const struct cloud_store *s, struct now now);

#endif
