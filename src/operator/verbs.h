/* What can be done, a constant each: how its call is made, and what an answer to it means. A decision names the verb (mobula/plan.h),
 * execute.c begins it, answer.c hears of it, and neither knows which it is. */
#ifndef MOBULA_OPERATOR_VERBS_H
#define MOBULA_OPERATOR_VERBS_H

#include "op.h"

/* Of a call: its method and content type, and whether it may be sent again. Its path and body are op->path and op->body. */
struct call_text {
    struct slice method, content_type;
    bool again;
};

/* False with *e: it cannot be made. */
typedef bool verb_make(struct op *op, struct cluster *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e);
/* Carries out what is no call to the API server. */
typedef void verb_do(struct op *op, struct cluster *c, const struct action *act);
/* Returns whether the flight goes on: something has to be looked up. */
typedef bool verb_answer(struct op *op, struct flight *f, const struct kube_answer *a);
/* The call cannot be made: whose failure it is. */
typedef void verb_failed(struct op *op, struct cluster *c, const struct action *act, const char *text);

struct verb {
    const char *name;
    enum verb_how how;
    verb_do *carry_out; /* VERB_ASK, VERB_SAY, VERB_MOVE */
    verb_make *make;    /* all others, and so are the following */
    verb_answer *answer;
    verb_failed *failed;
    void (*by_us)(struct op *op, struct slice uid, bool by_us); /* VERB_DELETE; may be NULL */
    bool (*secret)(int32_t index); /* whether what goes over the wire, and comes back, holds a token; NULL: no */
};

uint32_t verb_number(const struct verb *v); /* below VERBS_MAX, for counters */
extern const struct verb *const verbs[];    /* by number, ended by NULL */

bool verb_secret(const struct verb *v, int32_t index);
verb_failed group_failed_by, job_failed_by;

/* execute.c */
verb_make make_pod, make_delete, make_service, make_status;
/* answer.c */
verb_answer answer_create, answer_try, answer_delete, answer_status, answer_service;
/* decide.c */
verb_do count_failure, forget_failures;
/* say.c */
verb_do say_planned;
/* account.c */
verb_make account_make;
verb_answer account_answer;
bool account_secret(int32_t index);
/* job_calls.c */
verb_make job_make_cluster, job_make_delete, job_make_suspend, job_make_finalizers, job_make_submitter;
verb_answer job_answer;
/* job_dash.c */
verb_do job_ask;

#endif
