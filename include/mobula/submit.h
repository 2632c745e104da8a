/* submit: one submission to a Ray dashboard, and the job that becomes of it, followed to its end: one question after another, over a pool
 * of dashboard calls. Driven like all owners of links: submit_step, ray_dash_pool_tick, loop_wait, net_dispatch, again.
 *
 * Nothing runs twice: the session of the Ray that gets the submission is asked for first, and a submission whose answer was lost is sent
 * again, under the same id, only to the same session. */
#ifndef MOBULA_SUBMIT_H
#define MOBULA_SUBMIT_H

#include <mobula/command.h>
#include <mobula/heads.h>
#include <mobula/ray.h>

enum {
    SUBMIT_LOOK_MS = 1000,        /* between two looks at the job and its log … */
    SUBMIT_LOOK_MAX_MS = 5000,    /* … growing to this while the log says nothing new */
    SUBMIT_RETRY_MS = 500,        /* after the first question without an answer … */
    SUBMIT_RETRY_MAX_MS = 10000,  /* … doubling to this */
    SUBMIT_REPEAT_MS = 30 * 1000, /* the same trouble is said again after this */
    SUBMIT_TRIES = 5,             /* submissions that Ray answers with an error of its own; and readings of the last of a log */
    SUBMIT_STOP_MS = 5000,        /* to tell the job to stop, when leaving */
    SUBMIT_LOG_SHARE = 4,         /* a log that took so long to read is not read again before so many times as long */
    STATUS_UNKNOWN = 3,           /* exit status: the job was submitted, or may have been, and goes on without us */
    STATUS_SIGNAL = 128,          /* … and the signal's number */
};

/* ---- a dashboard behind the API server ---- */

/* Questions through the API server's proxy, one at a time: for a client outside of the cluster, which reaches no head. */
struct submit_proxy {
    struct kube_client *client;
    struct slice path; /* "/api/v1/namespaces/NS/pods/POD:PORT/proxy" */
    /* private: the question under way */
    ray_dash_done *done; /* NULL: none is */
    ray_dash_text *text;
    void *owner;
    enum ray_dash_call call;
    uint64_t serial; /* its number: answers to earlier ones are nobody's any more */
    struct ray_log_text log;
    bool malformed;
};

/* As ray_dash_ask and ray_dash_forget; of `to` only the receiver counts. */
bool submit_proxy_ask(struct submit_proxy *p, const struct ray_dash_to *to, const struct ray_dash_request *r, struct now now,
                      struct err *e);
void submit_proxy_forget(struct submit_proxy *p);

/* ---- the submission ---- */

/* The arguments of the caller's callback, which is never called from inside submit_begin. */
struct submit_voice {
    void (*say)(void *owner, const char *line);                     /* news for people, without a newline */
    bool (*show)(void *owner, struct slice text);                   /* of the log; false: nobody reads it any more */
    bool (*token)(void *owner, struct slice *token, struct err *e); /* the current one, before each question; may be NULL */
    void *owner;
};

struct submit_options {         /* slices stay the caller's, as long as the submission */
    struct submit_proxy *proxy; /* through the API server; NULL: at … */
    struct slice host;          /* … this address */
    uint16_t port;
    bool follow;               /* a job of this id that Ray has: nothing is submitted */
    struct ray_submission job; /* with its id */
    struct slice body;         /* the same, as it is sent */
    bool wait;                 /* follow it to its end */
    bool stop;                 /* tell it to stop when leaving before its end */
    int64_t timeout_ms;        /* leave after so long; 0: never */
    int64_t patience_ms;       /* a dashboard may be silent for so long; 0: for ever */
    struct submit_voice voice;
};

enum submit_stage {
    SUBMIT_SESSION, /* which Ray is it? */
    SUBMIT_POST,
    SUBMIT_LOOK, /* at the job */
    SUBMIT_LOG,
    SUBMIT_GONE, /* Ray does not know the job: is it another Ray? */
    SUBMIT_STOP,
    SUBMIT_OVER,
};

enum { SUBMIT_SESSION_MAX = 128, SUBMIT_STATUS_MAX = 32 };

struct submit {
    const struct submit_options *o;
    struct ray_dash_pool *pool;
    struct rng rng;
    enum submit_stage stage;
    bool asking, hinted; /* hinted: that the first question has no answer yet was printed */
    int64_t began_ms, next_ms, gap_ms;
    int64_t stop_until_ms;
    bool maybe;     /* a submission is on its way, or had no answer that says what became of it */
    bool submitted; /* Ray has the job */
    bool again;     /* … from before */
    char session[SUBMIT_SESSION_MAX], status[SUBMIT_STATUS_MAX], words[ERR_TEXT_MAX];
    /* questions in a row without an answer */
    unsigned failures;
    int64_t asked_ms;            /* the last question, or the last part of its answer */
    int64_t failing_ms, said_ms; /* failing_ms: when the first of them was asked */
    char said[ERR_TEXT_MAX];
    unsigned refusals; /* submissions that Ray answered with an error of its own */
    unsigned denials;
    struct {
        uint64_t shown, seen; /* bytes shown, and bytes of the answer that is coming in */
        bool news, deaf;
        unsigned failures;
        int64_t asked_ms, next_ms;
    } log;
    /* the end */
    bool ended; /* the job: what is left is its log */
    int64_t age_s;
    int leaving; /* the exit status of who leaves before the end */
    int exit;
};

void submit_begin(struct submit *s, const struct submit_options *o, struct ray_dash_pool *pool, uint64_t seed, struct now now);
/* Asks what is due; returns when to come again. */
int64_t submit_step(struct submit *s, struct now now);
/* A signal: ends it at once, or when the job was told to stop. */
void submit_leave(struct submit *s, int signal, struct now now);
static inline bool submit_over(const struct submit *s)
{
    return s->stage == SUBMIT_OVER;
}

/* "http://HOST:PORT", "HOST:PORT", "HOST" (port 8265), [V6] in brackets. The slice of the host lies in text. */
bool submit_address(struct slice text, const char *setting, struct slice *host, uint16_t *port, struct err *e);
/* The words of a command as one shell line: a single word is a line already, several are quoted so that each arrives as it is. */
bool submit_entrypoint(const struct slice *words, size_t count, struct buf *out, struct err *e);

#endif
