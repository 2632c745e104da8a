/* Workloads: what a control plane wants to run here. The kind has no resource in this API server: its source is the poll (room remote), and
 * the control plane's cluster holds the objects. A workload becomes one RayJob, RayCluster or VersionedService with the workload's uid in a
 * label, and from there on that object is the one path; what it says goes back as the workload's status.
 *
 * A record is made by the control plane's answer or by an object that carries its uid; objects are its children, as the pods of a
 * RayCluster are. The newest generation is applied, whatever the order of answers; the object's annotation says which one it is. */
#ifndef MOBULA_WORKLOAD_H
#define MOBULA_WORKLOAD_H

#include "view.h"

#include <mobula/kind_raycluster.h>
#include <mobula/kind_rayjob.h>
#include <mobula/kind_versioned.h>
#include <mobula/kind_workload.h>
#include <mobula/remote.h>
#include <mobula/settings.h>

#define WORKLOAD_FIELD_MANAGER "mobula-remote"

/* The report about a workload to the control plane. */
struct workload_news {
    char *text; /* JSON; NULL: the control plane has it */
    size_t len;
    uint64_t hash;      /* of the last one, which may be told already */
    uint64_t told_hash; /* of the one that `call` tells */
    uint64_t call;      /* the call that tells it; 0: none */
};

/* The state of a workload beside that of a record of any kind: workload_of. */
struct workload {
    bool listed;    /* the control plane has named it since this process leads; else only its objects are known */
    bool outside;   /* its namespace is not watched here */
    bool ended;     /* everything made from it is to be deleted, the record too: the control plane says so, or does not have it any more */
    bool held;      /* … but not yet: see workloads.held_ms */
    uint32_t round; /* of the full list that named it last */
    size_t bytes;   /* of its spec, in workloads.spec_bytes */
    int64_t made;   /* newest generation that was seen on an object of it; 0: none */
    int64_t over;   /* the newest generation that has ended, whatever is left of it: it is not made again; 0: none */
    bool gone;      /* the report says DELETED: once it was told, nothing is left to do */
    struct workload_news status;
    struct workload_news ray;           /* messages of its own pods, by agents.c */
    uint64_t ray_health;                /* hash of the health that was said last */
    int64_t ray_ms;                     /* monotonic: the next report of its pods is refused before … */
    int64_t ray_change_ms, ray_same_ms; /* … and not told before, when it has changed, or is the same */
    /* quota.c */
    struct work_size size, used; /* of an object with a spec of the hash `sized`; counted for it */
    uint64_t sized;
    bool counts;                    /* it counts as one of maxObjects */
    bool ended_here;                /* its object has ended, and uses nothing any more */
    int64_t waits_ms;               /* monotonic: since when it waits for room in a quota; 0: it does not */
    int64_t slot_ms;                /* monotonic: when the rates let it be written; 0: not asked yet */
    const char *slow;               /* the rate that slot_ms comes from */
    struct workload_folder *folder; /* folder.c; NULL: none was wanted */
};

/* ---- the model: build.c ---- */

/* policy: whether it is frozen does not count. */
void workload_build(const struct record *c, struct jval spec, const struct work_options *o, const struct work_policy *policy,
                    struct arena *a, struct workload_model *out);
/* The object. uid: it must be this one; empty: it is made. */
bool workload_write(const struct workload_model *m, struct slice uid, struct arena *a, struct buf *out, struct err *e);
/* The generation of the workload that an object was made from; 0: it does not say. meta: its metadata. */
int64_t workload_generation(struct jval meta, struct arena *a);

/* ---- quotas and rates: quota.c ---- */

struct workloads;
/* Whether the workload's object may be written now, or (m NULL) deleted. From then on it counts as written. */
bool quota_admit(struct workloads *s, struct record *c, const struct workload_model *m, struct arena *a, struct workload_wait *out);
/* Counts what is there of it. Returns when to look again: the cluster of a job that has ended goes without a word. */
int64_t quota_use(struct workloads *s, struct record *c, struct arena *a);
void quota_leave(struct workloads *s, struct record *c); /* the record goes */
void quota_reset(struct workloads *s);                   /* the policy has changed */
/* Counts and logs that a rule keeps the workload from being carried out. */
void workload_rule(struct op *op, const struct record *c, uint32_t rule, struct slice message);

/* ---- the conversation: sync.c ---- */

struct workloads {
    struct op *op;
    struct remote *remote;
    struct map by_uid; /* of present records */
    bool on;           /* this process leads, and calls */
    bool leaves;       /* something of the present full list could not be kept: nothing is deleted by it */
    bool frozen;       /* as the log says */
    uint32_t round;    /* of the present full list */
    int64_t held_ms;   /* monotonic: deletions by a full list wait until then; TIME_NEVER: none waits */
    int64_t heard_ms;  /* monotonic: the last answer */
    uint64_t revision; /* of the last answer, when it is a number */
    int64_t sequence;  /* of the last report */
    size_t spec_bytes; /* of all specs: LIMIT_REMOTE_SPECS */
    struct log_limit flood_log;
    struct work_size used; /* of all together; quota.c */
    uint32_t objects;
    int64_t next_new_us, next_write_us;
    uint64_t rules[WORK_RULES + 1];  /* how often each has refused */
    uint64_t writes;                 /* that were carried out */
    struct agents *agents;           /* NULL: they do not report here */
    size_t bytes;                    /* of the texts that the control plane is to be told of workloads */
    struct workload_answer *answers; /* to questions, and questions whose answer is not known yet */
    uint32_t answer_count;
    int64_t asked_ms;                /* of questions: for rate_pays */
    char fetching[UID_TEXT_MAX + 1]; /* the workload whose folder is under way; empty: none */
    struct log_limit folder_log;
};

/* policy.c */
void policy_follow(struct workloads *s); /* logs when the policy stops remote writes, and when it allows them again */
/* kind.on_setting. The policy, or data that it is compared with (sizes of instance types), has changed: decisions that were not written yet
 * are made again. */
void policy_changed(struct op *op, const struct setting *which);

/* folder.c: fetches and stores the folder of a job, once the job's object is there; fills v->folder_missing. Returns when to call again. */
int64_t workload_folder(struct workloads *s, struct record *c, struct workload_view *v);

/* kind.c */
struct workloads *workloads_of(const struct op *op); /* the conversation with a control plane; NULL: there is none */
extern const struct own_type workload_own;
struct workload *workload_of(const struct record *c); /* NULL: the record is not that of a workload that is present */
/* The record of this uid. NULL: there is none. */
struct record *workload_find(const struct workloads *s, struct slice uid);
/* Found or made. NULL: there are too many. */
struct record *workload_record(struct workloads *s, struct slice uid, struct slice ns, struct slice name);
/* Returns whether it is news. */
bool workload_keep_report(struct workloads *s, struct record *c, struct slice report, bool gone);

/* sync.c: a text in the place of the one that has not been told yet; or, with .ptr NULL, none. */
void workload_tell(struct workloads *s, struct workload_news *n, struct slice text, uint64_t hash);

/* agents.c */
void agents_free(struct agents *g);
void agents_figures(const struct agents *g, struct buf *b);

/* question.c */
struct workload_pod {
    struct slice uid, name;
    const struct record *of; /* the workload */
};
const struct record *workload_of_pod(struct op *op, struct slice uid);
/* A TokenReview of a pod's token, and what its answer says. Returns what is wrong, or NULL. */
bool review_ask(struct op *op, struct slice token, kube_done *done, void *owner, struct err *e);
const char *review_read(struct op *op, const struct kube_answer *said, struct workload_pod *out, struct arena *a);
/* *bytes: of the news that the request has. The first one is written even if it does not fit. */
enum remote_news answers_tell(struct workloads *s, struct jout *w, size_t room, size_t *bytes, uint64_t call);
void answers_told(struct workloads *s, uint64_t call, bool taken);
void question_asked(void *owner, const struct remote_question *q, struct now now);
void questions_free(struct workloads *s);

/* checks.c: the members health, instanceTypes and nodes of each request. checks_wanted: whether a request must be made for them now. */
void checks_tell(struct op *op, struct jout *w, size_t room, uint64_t call);
void checks_told(struct op *op, uint64_t call, bool taken);
bool checks_wanted(struct op *op, bool types, bool nodes);

/* sync.c */
extern const struct remote_user workload_user;

/* calls.c */
extern const struct verb_handler workload_handlers[];

#endif
