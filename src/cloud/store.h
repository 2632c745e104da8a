/* The client's own state. */
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
    bool to_identity;  /* the link, and the request under way, are of the identity's host */
    struct http_reader reader;
    struct buf head, answer;
    struct arena a; /* of one request */
    char id[LIMIT_CLOUD_SECRET + 1], secret[LIMIT_CLOUD_SECRET + 1], session[LIMIT_CLOUD_TOKEN + 1];
    int64_t expires_us; /* of these keys; 0: there are none */
    char region[CLOUD_REGION_MAX];
    int64_t skew_us;             /* the store's clock, less ours */
    bool skewed, moved, renewed; /* what is done once: for good, for good, for each call */
    bool fresh;                  /* the keys came for this very request: they are used, however soon they end */
    /* the call */
    bool busy;
    struct cloud_call call;
    unsigned tries;
    int64_t next_ms;     /* when it is tried; TIME_NEVER: it is under way */
    struct slice unsent; /* of the head, or of the identity's whole request */
    uint64_t sent, got;  /* bytes of the body; of the answer that the caller has */
    bool reused;         /* the link has carried a request before */
    char etag[CLOUD_ETAG_MAX];
};

/* What an answer says. */
struct cloud_refusal {
    int status;
    struct slice code, message, region;
};
void cloud_refusal_read(const struct cloud_store *s, struct arena *a, struct cloud_refusal *out);
/* The error for the caller. */
void cloud_refusal_words(const struct cloud_store *s, const struct cloud_refusal *r, struct err *e);

/* Writes the request that is due into s->head. */
bool cloud_request_write(struct cloud_store *s, struct now now, struct err *e);
/* Takes new credentials out of the identity's answer. */
bool cloud_credentials_take(struct cloud_store *s, struct err *e);
bool cloud_credentials_due(const struct cloud_store *s, struct now now);

#endif
