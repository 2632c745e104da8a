/* Questions of the control plane: shared by question.c and replicas.c. */
#ifndef MOBULA_WORKLOAD_QUESTION_H
#define MOBULA_WORKLOAD_QUESTION_H

#include "workload.h"

enum { QUESTION_ID_MAX = 64 };

struct workload_answer {
    struct workload_answer *next;
    struct workloads *of;
    uint64_t call; /* that told it last; 0: none */
    char id[QUESTION_ID_MAX];
    int64_t lines;                 /* of the end of a log that are asked for */
    struct replica_logs *replicas; /* the logs of a service while they are read; NULL: none are */
    char *text;                    /* NULL: it is not known yet */
    size_t len;
};

/* The code tells the control plane whether to ask again. */
enum said { SAID = 0, SAID_LATER = 503, SAID_FORBIDDEN = 403, SAID_GONE = 404 };
void answer_log(struct workload_answer *a, enum said code, struct slice text);
struct slice last_lines(struct slice log, int64_t lines);

/* Asks the head of a version of a service (empty: of the primary one) for the ends of its replicas' logs, and answers. False: c is no
 * VersionedService, or nothing can be asked for; *e has the reason if it is a failure. */
bool replica_logs_ask(struct workload_answer *a, struct record *c, struct slice version, struct err *e);
void replica_logs_free(struct workload_answer *a);

#endif
