/* What is kept of a RayService beside what a record of any kind has. */
#ifndef MOBULA_RAYSERVICE_RECORD_H
#define MOBULA_RAYSERVICE_RECORD_H

#include "rayservice.h"

#include <mobula/kinds.h>

/* One of its clusters: what its head said, and since when it is not used. */
struct serve_asked {
    struct serve_asked *next;
    struct op *op;
    struct record *service;
    char cluster[UID_TEXT_MAX + 1], head[UID_TEXT_MAX + 1]; /* uids: another head knows nothing of what this one said */
    char name[POD_NAME_MAX + 1];                            /* of the cluster */
    struct serve_said said;
    struct arena texts; /* of said.apps; reset as a whole by each answer */
    char trouble[ERR_TEXT_MAX], refused[ERR_TEXT_MAX];
    uint64_t putting; /* hash of the configuration in the request under way; 0: the request is a question */
    int64_t unused_ms;
};

struct rayservice_own {
    struct serve_asked *asked; /* of clusters that exist */
};

/* The loaded model. */
static inline struct rayservice *rayservice_model(const struct op *op)
{
    return op->loaded->model;
}

/* view.c */
void read_rayservice(struct op *op, struct record *c, const struct spec_object *from);
int64_t decide_rayservice(struct op *op, struct record *c, struct plan *p);

/* dashboard.c */
struct serve_asked *asked_of(struct op *op, struct record *c, const struct record *cluster, struct slice head_uid);
void asked_drop(struct op *op, struct record *c);
void asked_drop_gone(struct op *op, struct record *c); /* of clusters that are gone */
verb_do rayservice_ask_head;

/* calls.c */
verb_make rayservice_make_cluster, rayservice_make_update, rayservice_make_delete, rayservice_make_service, rayservice_make_label;
verb_answer rayservice_answer_cluster, rayservice_answer_service, rayservice_answer_label;
bool rayservice_seal(struct op *op, struct record *c, const struct action *act, struct flight *f, struct err *e);
verb_failed rayservice_failed_by;

#endif
