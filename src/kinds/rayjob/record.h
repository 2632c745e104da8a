/* The state of a RayJob beside that of a record of any kind. */
#ifndef MOBULA_RAYJOB_RECORD_H
#define MOBULA_RAYJOB_RECORD_H

#include <mobula/kind_raycluster.h>
#include <mobula/kind_rayjob.h>
#include <mobula/settings.h>

/* A time in status, and when this process first saw it there. */
struct job_time {
    uint64_t what; /* hash of the time and the attempt; 0: status has no such time */
    int64_t since_ms;
};

/* Hangs on the record once it has been decided on. Most of it is of the requests to the dashboard of the job's cluster: ask.c. */
struct job {
    struct op *op;
    struct record *c;
    struct job_said said;                                   /* the dashboard's answer */
    char *texts;                                            /* the bytes that the slices of `said` point at */
    struct name_watch follows;                              /* the cluster in status, if the job does not own it */
    int64_t submitter_ms;                                   /* when this process created the last submitter pod; 0: it has not */
    int64_t leaving_ms;                                     /* when it was first seen with a deletionTimestamp; 0: it has none */
    int64_t giving_up_ms;                                   /* since when it has been seen Suspending or Retrying; 0: it is neither */
    struct job_time started, ended, ray_ended;              /* startTime, endTime and rayJobInfo.endTime */
    bool seen, silent_before;                               /* seen: it was decided on; silent_before: see job_view */
    const struct verb *verb;                                /* of the request in flight; NULL: none */
    bool doubted;                                           /* status has changed since this request was sent: an answer
                                                               'no such job' may be outdated and is asked again */
    char cluster[POD_NAME_MAX + 1], id[RAY_JOB_ID_MAX + 1]; /* of the request: the RayCluster's name and the submission id */
};

/* view.c */
struct job *job_there(const struct record *c);                    /* NULL: not a RayJob, or not decided yet */
struct job *job_of(struct op *op, struct record *c);              /* created on first use */
void job_decide(struct op *op, struct record *c, struct plan *p); /* in the plan's arena */
void job_drop(struct op *op, struct record *c);                   /* frees it; answers still to come are ignored */
int64_t decide_job(struct op *op, struct record *c, struct plan *p);
void read_job(struct op *op, struct record *c, const struct spec_object *from);
void kept_job(struct op *op, struct record *c, struct jval object, uint32_t round, bool status);

/* ask.c */
void job_forget_words(struct job *j);                  /* the message and the log */
void job_forget_answers(struct op *op, struct job *j); /* all answers of its head */
/* Another process has written into status that Ray knows the job: what this process heard to the contrary is older. Ask again. */
void job_doubt(struct record *c);

/* The loaded model. */
static inline struct ray_job *job_model(const struct op *op)
{
    return op->models.loaded->model;
}

/* manifest.c: kind.check and kind.preview */
void rayjob_check(struct jval object, struct arena *a, struct spec_errors *errors, struct spec_errors *notes);
bool rayjob_preview(struct jval object, struct preview *p);

/* ---- handlers of verbs ---- */

verb_make job_make_cluster, job_make_delete, job_make_mark, job_make_suspend, job_make_submitter;
verb_answer job_answer;
verb_do job_ask;

#endif
