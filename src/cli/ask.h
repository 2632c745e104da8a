/* A command's conversation with the API server: one question at a time, each waited for. */
#ifndef MOBULA_CLI_ASK_H
#define MOBULA_CLI_ASK_H

#include <mobula/kube.h>

enum {
    ASK_MS = 15 * 1000, /* for one answer, from DNS to its last byte */
};

/* The row of flag --timeout; at: the offset of an int64_t that becomes ask.timeout_ms. */
#define ASK_TIMEOUT_FLAG(at)                                                                                                               \
    {                                                                                                                                      \
        "timeout", FLAG_DURATION, at, "TIME", "of waiting for an answer (15s)"                                                             \
    }

struct ask {
    struct net_allow *allow;
    struct kube_config *config;
    struct loop *loop;
    struct kube_client *client;
    int64_t timeout_ms; /* of a request, and of all attempts until the first answer; set before ask_open; 0: ASK_MS */
    int64_t until_ms;   /* deadline of the first answer, monotonic; 0: no request was sent */
    bool heard, told;   /* heard: a request was answered; told: the reason for no answer was printed */
    int signal;         /* number of the signal that ended a request or a pause; 0: none */
};
/* kubeconfig and context as the operator's flags have them; empty: not given. ask_close also after a failure. */
bool ask_open(struct ask *k, struct slice kubeconfig, struct slice context, struct err *e);
/* The same with another server, which is called in the same way. */
bool ask_open_url(struct ask *k, const struct kube_config_url *o, struct err *e);
void ask_close(struct ask *k);

struct ask_answer {
    int code; /* HTTP status */
    enum kube_reason reason;
    bool object;                                  /* a Status object says so: the API server itself, and nobody behind it */
    bool manager_conflict, namespace_terminating; /* causes that the Status names */
    struct slice body;                            /* in the arena given */
    struct slice message;                         /* of what is not 2xx: the server's words */
};
/* The refusing part and its words: "403 Forbidden: …". The message of an answer without a Status object is the HTTP status alone. */
enum { ASK_WORDS = ERR_TEXT_MAX + 64 };
const char *ask_words(const struct ask_answer *answer, char out[ASK_WORDS]);
/* header: one more, for whom the server passes the request on to; NULL: none. False: no answer came, and *e says at which step it failed.
 */
bool ask_get(struct ask *k, struct slice path, const struct http_header *header, struct arena *a, struct ask_answer *out, struct err *e);
/* Sends a JSON body to be created, once: with ?dryRun=All, or a review, it changes nothing. warnings: lines of what the server warned of;
 * may be NULL. */
bool ask_post(struct ask *k, struct slice path, struct slice body, struct arena *a, struct ask_answer *out, struct slice *warnings,
              struct err *e);
/* The server's own clock, of which every account may ask. False: it does not tell, and *out and *e say why. review: of the account that
 * asks.
 */
bool ask_time(struct ask *k, struct arena *a, int64_t *wall_us, struct json *review, struct ask_answer *out, struct err *e);
/* Server-side apply, which may be sent again: the path has fieldManager, and force or dryRun. And a DELETE with its options, and a PUT with
 * its resourceVersion. */
bool ask_apply(struct ask *k, struct slice path, struct slice body, struct arena *a, struct ask_answer *out, struct err *e);
bool ask_merge(struct ask *k, struct slice path, struct slice body, struct arena *a, struct ask_answer *out, struct err *e); /* RFC 7386 */
bool ask_put(struct ask *k, struct slice path, struct slice body, struct arena *a, struct ask_answer *out, struct err *e);
bool ask_delete(struct ask *k, struct slice path, struct slice body, struct arena *a, struct ask_answer *out, struct err *e);
/* The same as ask_get for an answer without bound, of which each part goes to piece(owner, 0, …) as it comes: out->body is empty then. */
bool ask_text(struct ask *k, struct slice path, const struct http_header *header, kube_piece *piece, void *owner, struct arena *a,
              struct ask_answer *out, struct err *e);
/* False: a signal has ended it. */
bool ask_pause(struct ask *k, int64_t ms);

#endif
