/* logs: logs of Ray jobs and clusters. A live one comes from the head's dashboard, through the API server's proxy, or from the kubelet of a
 * submitter pod; one that `mobula agent` has stored comes from a bucket. Calls block, and a download writes files. The text of a log and
 * the lines beside it go to the caller's sink. */
#ifndef MOBULA_LOGS_H
#define MOBULA_LOGS_H

#include <mobula/explain.h>
#include <mobula/storage.h>

/* ---- output ---- */

/* Functions that take the output. Rows and notes have no newline at their end; the text of a log is passed on as it is. */
struct logs_sink {
    void *owner;
    bool (*text)(void *owner, struct slice text); /* the next part of a log; false: it cannot be written */
    void (*row)(void *owner, struct slice row);   /* of a list of stored files */
    void (*note)(void *owner, struct slice line); /* to people, beside the log */
};

/* ---- a log that is read again and again ---- */

enum { LOGS_LAST = 128 };

/* A log that comes from its beginning each time, and is shown once. Zero-initialise it, and set `sink`. */
struct logs_view {
    const struct logs_sink *sink;
    uint64_t shown, seen; /* bytes shown; and of the reading that is under way */
    bool json;            /* it comes as {"logs": "…"} */
    bool malformed;
    bool deaf; /* the output has no reader */
    struct ray_log_text text;
    char last[LOGS_LAST]; /* the end of what was shown */
    size_t last_len;
};
void logs_view_begin(struct logs_view *v, bool json);
void logs_view_add(struct logs_view *v, struct slice piece);
/* Whether it was a log, to its end. */
bool logs_view_end(struct logs_view *v);

/* The log has gone, and `kept` holds the last lines of it: shows what comes behind what was shown. False: that is not in there. */
bool logs_view_rest(struct logs_view *v, struct slice kept);

/* Of a list of Pods the newest of the job's own that has started; empty: there is none. *container is the one that is to show the log, by
 * the name that its template gives it; where there is none by that name the first. */
struct slice logs_submitter(struct jval pods, struct slice uid, struct slice *container, struct arena *a);

/* ---- stored logs ---- */

struct logs_bucket_options {
    struct slice url;                  /* empty: no bucket */
    struct slice node, file, download; /* empty: all; download: a folder that gets the files */
    int64_t since_ms;                  /* only what was stored within this time; 0: all */
    struct storage_options storage;
};

/* Whether the options ask for more than the log of a job's driver. */
bool logs_bucket_asked(const struct logs_bucket_options *o);
/* Lists, prints or downloads the logs of a cluster; of a job or service (made: "rayjob."), its history and those of all its clusters. */
bool logs_bucket_read(const struct logs_bucket_options *o, const struct logs_sink *sink, struct slice ns, struct slice name,
                      const char *made, struct err *e);
/* Passes the log of a job's driver to the sink, without its first `skip` bytes. id: submission id; empty: of the last attempt of the RayJob
 * `cluster`. False without an error: the bucket has none. */
bool logs_bucket_driver(const struct logs_bucket_options *o, const struct logs_sink *sink, struct slice ns, struct slice cluster,
                        struct slice id, uint64_t skip, struct err *e);

/* ---- the log of a job that the API server knows ---- */

struct logs_options {
    bool cluster, service; /* a RayCluster or RayService is named, and not a RayJob */
    struct slice name, id;
    bool follow;
    struct seek_options seek;
    struct logs_bucket_options bucket;
};

struct logs_target {
    struct slice id, cluster;    /* empty: it has none yet */
    struct slice phase, message; /* of a RayJob: jobDeploymentStatus, and its words */
    struct slice uid, container; /* of its submitter, where it has one */
    bool begun;                  /* Ray has said that it runs, or that it has run */
    bool pods;                   /* its submitter may be a pod */
};

/* Zero-initialise it, set `o` and `view.sink`, and open `seek` with the arena `a`. */
struct logs_live {
    const struct logs_options *o;
    struct seek seek;
    struct arena a; /* of one reading */
    struct logs_view view;
    struct logs_target job;
    bool over;       /* the job has ended: what is left is its log */
    uint64_t id;     /* of the job that is shown */
    uint64_t said;   /* the last line to people */
    unsigned failed; /* readings in a row, when it is over */
    bool absent;     /* the object does not exist */
    bool missing;    /* the RayJob itself does not exist … */
    bool deleted;    /* … and its log may be in the bucket */
    struct err e;
};

enum logs_end {
    LOGS_DONE,
    LOGS_FAILED, /* l->e or a note has said why, or l->view.deaf: the sink failed; l->deleted: the bucket is left to ask, and l->e says why
                    the API server was no help */
    LOGS_SIGNAL, /* a signal came: l->seek.ask.signal */
};
/* Passes the job's log to the sink, with o->follow until the job has ended. */
enum logs_end logs_follow(struct logs_live *l);

#endif
