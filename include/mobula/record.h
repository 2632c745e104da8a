/* record: what the controller core keeps of a custom resource and its children. docs/architecture.md has a table of a record's states.
 * Times are milliseconds of the monotonic clock unless a member says otherwise. Texts belong to the record or are interned. */
#ifndef MOBULA_RECORD_H
#define MOBULA_RECORD_H

#include <mobula/kube.h>
#include <mobula/plan.h>
#include <mobula/pod.h>

struct record;
struct kind;
struct verb_handler;
struct pod_record; /* children of a record: kinds.h */
struct service_record;
struct shape_types;

/* An unconfirmed claim. A DELETE was answered 404 or 409, but a proxy or webhook can answer that too. Until the watch or a consistent list
 * confirms it, the object keeps its place and is not deleted again. */
struct doubt {
    int64_t ms;        /* the watch may confirm it until then; after that a list is requested; 0: no doubt */
    uint32_t round;    /* keeper.round when the doubt began: a consistent list of a later round decides */
    uint8_t disproved; /* consecutive doubts about this version that a list disproved: each doubles the next wait */
};

/* Failures of one group. A record lists only groups that have failed. */
struct failing {
    struct failing *next;
    const struct istr *group; /* NULL: the head */
    struct group_failures f;
};

/* A plan that is being carried out: its actions and, behind them, their texts, in one block. */
struct work {
    uint32_t count, next;
    uint32_t turn;   /* actions carried out in its present turn */
    uint32_t follow; /* plan.follow plus the actions that did not fit the plan */
    uint32_t created_head, created, deleted_head, deleted, refused;
    int64_t began_ms;
    char why_deleted[256]; /* the reasons of its deletions, each once */
    char first_created[POD_NAME_MAX + 1];
    uint64_t status_hash; /* plan.status_hash */
    uint32_t reasons;     /* plan.reasons */
    bool writes_status;   /* its events tell what that status says, and are said when it is stored */
    struct action actions[];
};

/* A record's key: uid and namespace. A user of one namespace may write any uid into an ownerReference; with the namespace in the key that
 * never reaches a record of another namespace. */
enum { RECORD_KEY_MAX = UID_TEXT_MAX + 1 + LIMIT_KUBE_NAMESPACE };

struct record {
    union {
        char uid[UID_TEXT_MAX + 1];
        char key[RECORD_KEY_MAX];
    };
    struct space *space;
    bool present; /* the custom resource exists; false: only children of it have been seen */
    bool deleting, dirty, queued, in_ring;
    bool status_ours; /* `status` is the result of our last successful status write, not of somebody else's */
    bool by_us;       /* our DELETE was accepted */
    bool unsure;      /* another client deleted one of our pods or services. That may be garbage collection, so check that the resource
                         still exists before recreating anything */
    const struct kind *kind;
    void *own; /* state private to its kind, of controller.own; NULL: none */
    const struct istr *ns;
    char *name;
    struct {
        const struct istr *spec; /* its bytes */
        const struct istr *meta; /* {"labels":…,"annotations":…}, and "finalizers" if the kind uses them */
        uint64_t version;
        int64_t generation, deleted_us; /* deleted_us: deletionTimestamp; 0: none */
    } seen;                             /* of the resource, as the API server has it */
    const struct istr *warned;          /* warnings of the API server about this generation, a line each; NULL: none */
    struct {
        char *text;
        size_t len;
        uint64_t hash; /* plan.status_hash of our last successful status write */
        int64_t at_ms, not_before_ms;
        int64_t reasons_ms; /* monotonic: when the last status write that had plan.reasons was answered … */
        uint32_t reasons;   /* … and those */
        uint32_t trouble;   /* consecutive failed status writes */
    } status;
    struct {
        struct pod_record *pods;
        struct service_record *services;
        uint32_t pod_count, ready_count; /* of pods */
        struct failing *failing;
    } children;
    struct {
        struct record *owner; /* its controlling owner, a custom resource too; NULL: none of ours */
        bool orphan;          /* `owner` was found by labels (orphan.c): its ownerReference has not been written yet */
        struct record *owned; /* custom resources that it owns, linked by the next line */
        struct record *next, **at;
    } family;
    struct work *work;
    struct {
        int64_t not_before_ms;
        uint32_t trouble; /* consecutive calls that failed for reasons outside the spec: the whole record backs off */
        uint8_t waits;    /* consecutive creates refused because an older object of the same name is still being deleted */
    } backoff;
    uint32_t in_flight;
    uint32_t round;
    struct {
        uint32_t pods_round; /* the outcome of a POST is unknown: no decision before a consistent list of pods of this round */
        uint32_t missed;     /* consecutive reads because of `unsure` that did not find it */
    } doubt;
    int64_t decided_ms; /* monotonic: the last decision */
    struct {
        int64_t wake_ms; /* touched at this time; TIME_NEVER: not in the heap */
        uint32_t heap_at;
    } timer;
    struct record *next_dirty;
    struct {
        struct record *next;
        uint64_t serial; /* position in the queue: lower for records that have waited longer */
    } ring;
};

#endif
