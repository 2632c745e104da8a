/* State of the client in store.c, and its functions in request.c, refusal.c, oauth.c. */
#ifndef MOBULA_CLOUD_STORE_H
#define MOBULA_CLOUD_STORE_H

#include <mobula/cloud.h>

#define CLOUD_AZURE_VERSION "2018-11-09"                                                 /* of Azure's protocol and of SAS */
#define CLOUD_NO_BODY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" /* SHA-256 of an empty body */
enum {
    CLOUD_REGION_MAX = 64,
    CLOUD_CHUNK = 128 * KIB /* bytes of a body that are signed together */
};

/* A request that the client makes by itself before a call. */
struct cloud_errand {
    const char *what;  /* it is for, in messages */
    const char *right; /* that it needs: remedy of a 403; NULL: none is known */
    enum cloud_peer {  /* the server */
                      CLOUD_TO_STORE,
                      CLOUD_TO_IDENTITY,
                      CLOUD_TO_SIGNER
    } to;
    bool (*write)(struct cloud_store *s, struct now now, struct err *e); /* writes the whole request into s->head */
    bool (*take)(struct cloud_store *s, struct now now, struct err *e);  /* reads s->answer */
};

/* Credentials that were fetched. */
struct cloud_fetched {
    char id[LIMIT_CLOUD_SECRET + 1], secret[LIMIT_CLOUD_SECRET + 1], session[LIMIT_CLOUD_TOKEN + 1];
    int64_t expires_us; /* 0: none yet, TIME_NEVER: those of the settings, which do not expire */
    bool fresh;         /* fetched for the current call: used even if they expire soon */
    bool foreign;       /* Google: session is a token of the federation, by which that of a service account is fetched next */
    bool delegated;     /* Azure: a key was fetched for the current call */
    struct cloud_delegation delegation;
};

struct cloud_store {
    struct link_owner owner; /* first */
    struct net *net;
    struct cloud_store_options o;
    struct rng rng;
    struct link *link;                 /* NULL: none is open … */
    const struct cloud_host *linked;   /* … else to this server */
    const struct cloud_errand *errand; /* the request in flight; NULL: it is the call */
    struct http_reader reader;
    struct buf head, answer; /* of the current request: its head; the kept body of its answer */
    struct arena a;          /* reset for each request */
    struct cloud_fetched keys;
    char region[CLOUD_REGION_MAX]; /* that requests are signed for */
    int64_t skew_us;               /* the store's clock minus ours */
    bool skewed, moved, renewed;   /* clock and region were corrected (once for a store); credentials were renewed (once for a call) */
    /* the current call */
    bool busy; /* done has not been called yet */
    struct cloud_call call;
    struct slice url;               /* signed for call.sign_s; empty: not yet */
    int64_t url_s;                  /* its validity */
    unsigned tries;                 /* attempts that failed */
    int64_t next_ms;                /* monotonic time of the next attempt; TIME_NEVER: one is in flight, or no call is */
    struct slice unsent;            /* rest of the head, or of the whole request of an errand */
    uint64_t sent, got;             /* bytes of the body written to the link; bytes of the answer that call.piece has received */
    char signature[TLS_SHA256_HEX]; /* of the last chunk that was sent, or of the headers; empty: the body is not sent in signed chunks */
    int64_t signed_us;              /* the time of that signature */
    bool reused;                    /* the link was open already: kept from an earlier request */
    char etag[CLOUD_ETAG_MAX];      /* of the object that a GET began to read, for If-Match of the rest; empty: none */
};

/* Status, and code, message and region of the error document, of an answer. */
struct cloud_refusal {
    int status;
    struct slice code, message, region;
};
void cloud_refusal_read(const struct cloud_store *s, struct arena *a, struct cloud_refusal *out);
/* Writes the error for the caller: status, code, message, remedy. */
void cloud_refusal_words(const struct cloud_store *s, const struct cloud_refusal *r, struct err *e);

/* Writes the head of the call's request into s->head. */
bool cloud_request_write(struct cloud_store *s, struct now now, struct err *e);
/* Reads and signs the next chunk of the body, and behind the last one the end of the body: they become s->unsent. */
bool cloud_request_chunk(struct cloud_store *s, struct err *e);
/* Fills the request of a URL for the call, with all but what a signature adds, and the signer. Sets s->url_s to at most max_s. */
struct cloud_signer cloud_url_begin(struct cloud_store *s, int64_t max_s, struct now now, struct cloud_request *r);
void cloud_url_end(struct cloud_store *s, const struct cloud_request *r); /* writes s->url */
/* Whether credentials are missing or expire within CLOUD_RENEW_S, and were not fetched for this call. */
bool cloud_credentials_due(const struct cloud_store *s, struct now now);
/* Reads the pod's token from settings.token_file; empty: there is no such file. */
bool cloud_pod_token(struct cloud_store *s, struct slice *token, struct err *e);
const struct cloud_errand *cloud_errand_aws(const struct cloud_store *s, struct now now);
const struct cloud_errand *cloud_errand_azure(const struct cloud_store *s, struct now now);
const struct cloud_errand *cloud_errand_google(const struct cloud_store *s, struct now now);

#endif
