/* remote: the operator's side of the control plane's wire. It is one call, POST /v1/sync, made again and again over one connection that
 * this process has opened (docs/api/openapi.yaml). What is asked for and reported is state: a call or an answer that is lost, doubled, late
 * or out of order does no harm.
 *
 * An answer is the word of a stranger. It is read whole or not at all; what its workloads ask for is not looked into here. A second call
 * goes out beside one whose answer is held back when there is something to report: of its answer only the questions are used, so that
 * workloads come in the order of one conversation. */
#ifndef MOBULA_REMOTE_H
#define MOBULA_REMOTE_H

#include <mobula/kube.h>

enum { REMOTE_PROTOCOL = 1 };
#define REMOTE_BOOTSTRAP_AUDIENCE "mobula.dev/bootstrap" /* of the tokens that pods show to the control plane */

/* ---- answers ---- */

/* Whether a workload's state is the end of its generation: "SUCCEEDED", "FAILED" or "TERMINATED", which is returned; NULL: it is none. */
const char *remote_ended(struct jval state);
const char *remote_ended_word(struct slice state);

struct remote_item {
    struct slice uid, project, name; /* checked: a uid, a namespace, an object's name */
    int64_t generation;              /* 1 or more */
    struct slice spec;               /* bytes of a JSON object */
    int64_t over;                    /* the generation that has ended, as the status of the control plane says; 0: none */
    bool gone;                       /* everything made from it is to be deleted: only uid is set */
};

struct remote_question {
    struct slice id, kind;
    struct jval all;
};

/* Everything lies in the text and the arena given to the reader. */
struct remote_answer {
    struct slice revision;
    bool full, more;
    bool fresh; /* full: the first page of a list */
    struct remote_item *items;
    uint32_t count;
    uint32_t bad; /* items that were left out, because they are not what the protocol allows; why: the first of them */
    struct err why;
    struct remote_question *questions;
    uint32_t question_count;
    bool wants_types, wants_nodes;
    struct slice identity;  /* by which the control plane knows us; may be empty */
    int64_t retry_after_ms; /* as it was asked for: the caller bounds it */
};
bool remote_read(struct slice text, struct arena *a, struct remote_answer *out, struct err *e);

/* A refusal in one line: "409 CloudInUse: …: …". What the body does not say, the status says. */
enum { REMOTE_WORDS = ERR_TEXT_MAX };
void remote_refusal(int status, struct slice body, char out[REMOTE_WORDS]);

/* ---- the client ---- */

/* A call with news is not held by the server, and it is the only one with news that is under way: so a later report counts. */
enum remote_news { REMOTE_NO_NEWS, REMOTE_NEWS, REMOTE_MORE_NEWS };

struct remote_user {
    /* Writes members of a request, some `room` bytes of news at most, but one text at least; room 0: only what may be told by two calls at
     * a time. Returns whether news was written, and whether there is more than fits. call: the number of this one. */
    enum remote_news (*tell)(void *owner, struct jout *w, size_t room, uint64_t call);
    void (*told)(void *owner, uint64_t call, bool taken); /* the server has what that call has told; or it is to be told again */
    /* The content of the answer must be kept when this returns: the next call says so. */
    void (*heard)(void *owner, const struct remote_answer *a, struct now now);
    void (*asked)(void *owner, const struct remote_question *q, struct now now);
    void (*wanted)(void *owner, bool types, bool nodes,
                   struct now now); /* the control plane does not have the lists of these hashes: the next call must bring them */
};

struct remote_options {
    struct slice cloud, instance, lease, version; /* as in the protocol */
    uint64_t seed;
    const struct remote_user *user;
    void *owner;
};

struct remote;
/* config stays the caller's, and the slices. */
struct remote *remote_new(struct net *net, struct kube_config *config, const struct remote_options *o);
void remote_free(struct remote *r);
/* Only the leader calls. Each start begins with an empty revision: everything is asked for again. Answers to calls before are ignored. */
void remote_start(struct remote *r, struct now now);
void remote_stop(struct remote *r);
/* The last call, of a process that ends and writes no more: the cloud is given back, so that another instance gets it at once. Returns
 * whether there is nothing left to wait for: call it until then. A control plane that did not answer before is not called. */
bool remote_release(struct remote *r, struct now now);
void remote_push(struct remote *r, struct now now);  /* there is something to tell */
void remote_renew(struct remote *r, struct now now); /* reads the token and the CA again now */
/* A GET beside the calls of /v1/sync. */
bool remote_fetch(struct remote *r, struct slice path, kube_done *done, void *owner, uint64_t tag, struct now now, struct err *e);
int64_t remote_tick(struct remote *r, struct now now); /* call it after every net_dispatch; returns when to call again */

struct remote_stats {
    uint64_t calls, failures;       /* sent; refused, unreadable or unanswered */
    uint64_t redirects, unreadable; /* of the failures: redirects; answers that are no valid answer */
    uint64_t long_waits;            /* longer pauses were asked for than REMOTE_RETRY_AFTER_MAX_MS */
    uint64_t items, bad;            /* workloads that came; those that were left out */
    int64_t heard_us;               /* wall clock: the last answer that could be used; 0: none */
    struct err trouble;             /* why the last call failed; ERR_NONE: it did not */
    int refused;                    /* … with this HTTP status; 0: no valid answer came */
    char identity[LIMIT_REMOTE_IDENTITY + 1];
};
const struct remote_stats *remote_stats(const struct remote *r);

/* ---- an agent's reports ---- */

/* An agent runs beside Ray in a pod and reports how Ray is. A control plane gives it a credential that is valid for some minutes for the
 * pod's projected token (POST /v1/bootstrap), and takes reports with it (POST /v1/report); an operator takes them with the token itself. */

enum { REMOTE_AGENT_LEAST_MS = 6 * 1000, REMOTE_AGENT_REPORT_MAX = 16 * KIB }; /* between two reports; bytes of one */

struct remote_agent_options {
    struct slice cloud;      /* deployment id at the control plane; empty: an operator is called */
    struct slice token_file; /* of the pod: read for each call that needs it */
    int64_t every_ms;        /* a report is sent again after this though nothing changed; the longest pause after failures */
    uint64_t seed;
    bool (*read)(struct slice path, struct arena *a, struct slice *out, struct err *e); /* the text of a file, in a */
};
struct remote_agent;
/* config stays the caller's, and the slices. */
struct remote_agent *remote_agent_new(struct net *net, struct kube_config *config, const struct remote_agent_options *o);
void remote_agent_free(struct remote_agent *g);
/* The report, JSON, that is sent next: soon if it is another one than the last that was accepted. Before the first one no call is made. */
void remote_agent_report(struct remote_agent *g, struct slice report);
void remote_agent_renew(struct remote_agent *g, struct now now);   /* reads the CA again now */
int64_t remote_agent_tick(struct remote_agent *g, struct now now); /* call it after every net_dispatch; returns when to call again */

#endif
