/* Declarations that the files of the edge share.
 *
 * A front is a client's connection, a back one to an upstream, and a call is one request from its first byte to its answer's last. Bytes
 * of bodies are in the links' buffers only: a pump moves them from one link to the other, and changes their framing on the way. */
#ifndef MOBULA_EDGE_PRIVATE_H
#define MOBULA_EDGE_PRIVATE_H

#include <mobula/edge.h>
#include <mobula/tls.h>

/* ---- routes: config.c, route.c ---- */

struct version {
    struct slice name, host; /* host: with a star for the cluster's name, or without */
    struct slice authority;  /* host:port, for messages and for clients that send no Host */
    uint16_t port;
    int64_t weight, turn; /* turn: of the smooth round robin */
};

/* Tokens that callers send: SHA-256 sums of them. */
struct token_file {
    struct slice path; /* empty: the sums are in the route */
    char sum[LIMIT_EDGE_TOKENS][TLS_SHA256_HEX];
    uint32_t count;
};
/* A token that the upstream gets. */
struct upstream_token {
    struct slice path;
    char text[LIMIT_EDGE_TOKEN + 8]; /* "Bearer TOKEN" */
    size_t len;
};

/* Guards let a call pass to the upstream, or answer it. The first one is the strictest. */
enum guard { GUARD_USERS, GUARD_TOKEN, GUARD_NONE };

struct route {
    struct slice host; /* in lower case; "*.NAME": any one label before it; empty: any */
    struct slice path; /* a prefix of whole segments, without a slash at its end: "" is any */
    bool strip;        /* the upstream gets the path without it */
    enum guard guard;
    struct token_file tokens;        /* of guard_token */
    struct upstream_token *upstream; /* NULL: none */
    struct {
        struct slice resource, name, ns; /* name "*": the label before the host */
        struct slice write;              /* the verb for what is not only read; for that it is get */
    } right;
    struct version *versions;
    uint32_t version_count;
};

struct config {
    struct arena arena;
    struct route *routes;
    uint32_t count;
    uint32_t users; /* calls that point into it, and the edge itself */
    bool has_users;
};

struct config *config_new(void);
/* Adds the routes of a text. False with *e: none was added. */
bool config_add(struct config *c, const struct edge_options *o, const struct edge_text *t, struct err *e);
bool config_allow(const struct config *c, struct net_allow *allow, struct err *e);
void config_drop(struct config *c);

/* A request's target and host, as routes see them: percent-decoded, without empty segments; host in lower case, without a port. */
struct place_asked {
    struct slice host, path;
};
/* False: two readers could take the target for different paths, or the host for different hosts. */
bool asked_read(struct slice target, struct slice host, struct arena *a, struct place_asked *out, struct err *e);
/* The route with the most exact host and, of those, the longest path; NULL: none. *label: what the star of its host stands for. */
const struct route *route_find(const struct config *c, const struct place_asked *asked, struct slice *label);
/* The version by the name in a header, or by weight; NULL: none of that name. */
struct version *route_version(const struct route *r, struct slice pinned);
/* The target for the upstream. False: it does not begin with the route's path as it was written. */
bool route_target(const struct route *r, struct slice target, struct arena *a, struct slice *out);

/* ---- bytes from one link to another: pump.c ---- */

struct pump {
    struct slice first; /* bytes before the body, not sent yet: a head */
    char frame[32];     /* chunk framing, not sent yet */
    uint8_t frame_at, frame_len;
    bool chunked;         /* the receiver gets chunks */
    bool raw;             /* bytes are passed on as they are, until the end of the link */
    bool ended;           /* the last byte of the body has been read */
    size_t data;          /* bytes at the front of the source's buffer that belong to the body */
    uint64_t body, moved; /* bytes of the body; bytes that were written to the receiver */
};
enum pump_said {
    PUMP_SOURCE, /* waits for bytes of the source */
    PUMP_ROOM,   /* waits for the receiver */
    PUMP_DONE,   /* everything has been written */
    PUMP_BAD,    /* the source's message is broken: *e */
};
/* reader NULL, and not raw: there is no body. */
enum pump_said pump_run(struct pump *p, struct link *from, struct http_reader *reader, struct link *to, struct err *e);

/* ---- calls ---- */

enum call_state {
    CALL_HEAD,    /* the request's head is read */
    CALL_FORM,    /* the body for the login page is read */
    CALL_WAITING, /* for a review */
    CALL_RELAY,   /* the upstream has it */
    CALL_TUNNEL,  /* after 101 */
    CALL_ANSWER,  /* the answer is our own, and is being sent */
};

struct front {
    struct link_owner owner; /* first */
    struct edge *edge;
    struct link *link;
    struct call *call; /* NULL: no byte of a request has come */
    struct front *next, **back;
};

struct back {
    struct link_owner owner; /* first */
    struct edge *edge;
    struct link *link;
    struct call *call;           /* NULL: it is idle, in edge->idle */
    struct back *next, **before; /* of idle ones */
    bool reused;
    uint16_t port;
    char host[]; /* NUL behind it */
};

struct call {
    struct front *front;
    struct back *back; /* while the upstream has it */
    enum call_state state;
    bool last;      /* the client's connection ends with the answer */
    bool head;      /* HEAD: answers have no body */
    bool upgrade;   /* WebSocket is asked for */
    bool reading;   /* the request changes nothing */
    bool replied;   /* the head of the answer has been written */
    bool own_token; /* Authorization, or our cookie, was for the edge */
    enum pump_said up_said, down_said;
    struct http_reader request, answer;
    struct pump up, down;
    struct buf sent;  /* the head as the upstream gets it, kept for a second try */
    struct buf reply; /* the head of the answer, or our whole answer */
    struct buf form;
    struct arena arena;
    struct config *config;
    const struct route *route;
    struct version *version;
    struct slice label; /* the label in the place of the host's star */
    struct slice user;  /* of a user's token; empty: none */
    int64_t slow_until_ms;
    uint64_t slow_moved, moved;     /* slow_moved: when its time began */
    struct call *next_waiting;      /* for the same review */
    struct review *review;          /* that it waits for … */
    void (*resume)(struct call *c); /* … and what then goes on */
};

struct edge {
    struct edge_options o;
    struct link_accept accept;
    struct net *net;
    struct kube_client *client; /* NULL: no users */
    struct serve *figures;
    struct config *config; /* NULL: none yet */
    struct tls_identity *identity;
    uint64_t certified; /* hash of its texts */
    struct front *fronts;
    struct back *idle;
    struct call *spare; /* by next_waiting */
    uint32_t spare_count, idle_count, front_count, busy;
    struct now now;
    struct map tokens, rights; /* auth.c */
    uint32_t asked, asked_unknown;
    int64_t unknown_ms, address_ms[EDGE_ADDRESSES], user_ms[EDGE_ADDRESSES];
    char key[TLS_MAC]; /* of the tokens' hashes */
    struct log_memory said;
    bool draining, closed;
    struct {
        uint64_t codes[600], reviews, reviews_failed, retries, evicted;
        uint64_t failures[4]; /* by enum failure */
    } stats;
};

enum failure { FAILURE_CONNECT, FAILURE_CLOSED, FAILURE_TIMEOUT, FAILURE_ANSWER };

/* front.c */
void front_run(struct front *f);
void front_leave(struct front *f);
void fronts_start(struct edge *g);
void fronts_drain(struct edge *g); /* those without a request end */

/* call.c */
struct call *edge_call_new(struct front *f);
void edge_call_free(struct call *c);
void edge_calls_free(struct edge *g); /* those that are kept */
void edge_call_begin(struct call *c); /* its head has been read: routes, guards */
/* The guard lets it pass. As after each guard, the front is to be run. */
void edge_call_forward(struct call *c);
/* Our own answer, a line of text; the rest of the request is not read, and the connection ends, unless it has no body. */
void edge_call_refuse(struct call *c, int status, const char *fmt, ...) PRINTF_LIKE(3, 4);
void edge_call_answer(struct call *c, int status, const struct http_header *headers, size_t count, struct slice body);

/* relay.c */
void relay_open(struct call *c); /* to the upstream of c->version */
enum relay_said {
    RELAY_WAITS,
    RELAY_DONE, /* the answer has been passed on, or is our own now (CALL_ANSWER) */
    RELAY_OVER, /* the client's connection is of no use any more */
};
enum relay_said relay_run(struct call *c);
/* back.c */
struct back *back_open(struct call *c, struct slice host, uint16_t port, bool fresh, struct err *e);
void back_keep(struct back *b); /* it is idle now */
void back_close(struct back *b);
void backs_free(struct edge *g);

/* head.c: heads as they are passed on */
bool head_request(struct call *c, struct slice target, struct err *e);
bool head_answer(struct call *c, struct err *e);
bool head_is_hop(const struct http_reader *r, struct slice name); /* belongs to one connection only */
bool head_lists(struct slice value, struct slice word);           /* "a, b" has it, in any case of letters */
struct slice head_forwarded_for(const struct call *c);            /* as a proxy that is believed says; SLICE_NONE: nothing */

/* auth.c */
void guard_none(struct call *c);
void guard_token(struct call *c);
void guard_user(struct call *c);
bool edge_auth_read_tokens(struct edge *g, struct token_file *f, struct err *e);
bool edge_auth_read_upstream(struct edge *g, struct upstream_token *t, struct err *e);
void edge_auth_forget(struct call *c); /* it does not wait any more */
void edge_auth_free(struct edge *g);
/* The user of a token, without a right: for the login page. False: c waits, or was answered. */
bool edge_auth_who(struct call *c, struct slice token, struct review **out);
struct slice review_user(const struct review *r); /* empty: the token was refused */

/* login.c */
bool login_is(struct slice path); /* a path of our own */
void login_begin(struct call *c); /* … is asked for */
void login_form(struct call *c);  /* its form has come */
/* A token is missing, or was refused (why): the page for browsers, 401 for programs. */
void login_ask(struct call *c, struct slice why);
struct slice login_cookie(const struct http_reader *r); /* the token in our cookie; empty: none */
/* The Cookie header's value without ours, in a. */
struct slice login_strip(struct slice cookies, struct arena *a);
bool login_same_origin(const struct call *c); /* a page of this host sent it, as far as the browser says; for what only reads: no other */

/* metrics.c */
void edge_figures_write(const struct edge *g, struct buf *b);
struct serve *edge_figures_start(struct edge *g);

#endif
