/* The state of a RayService beyond that of every record. */
#ifndef MOBULA_RAYSERVICE_RECORD_H
#define MOBULA_RAYSERVICE_RECORD_H

#include "rayservice.h"

#include <mobula/kind_raycluster.h>
#include <mobula/kind_rayservice.h>
#include <mobula/settings.h>

/* State of one cluster of a RayService: the answers of its head, and since when it is unused. */
struct serve_asked {
    struct serve_asked *next;
    struct op *op;
    struct record *service;
    char cluster[UID_TEXT_MAX + 1], head[UID_TEXT_MAX + 1]; /* uids; `said` is cleared when the head pod is another one */
    char name[POD_NAME_MAX + 1];                            /* the cluster's */
    struct serve_said said;
    struct arena texts; /* holds said.apps; reset by each answer */
    char trouble[ERR_TEXT_MAX], refused[ERR_TEXT_MAX];
    uint64_t putting;    /* hash of what the request in flight sends, as serve_said has it; 0: that request asks for the applications */
    int32_t sends;       /* target_capacity in it; -1: none */
    bool scales;         /* it sends the configuration that the head has, with another one */
    bool wants;          /* the next answer about applications is kept as … */
    struct buf reported; /* … the configuration that the head has */
    int64_t unused_ms;
};

struct rayservice_own {
    struct serve_asked *asked; /* of clusters that exist */
    int64_t active_ms;         /* see service_view */
};

/* The loaded model. */
static inline struct rayservice *rayservice_model(const struct op *op)
{
    return op->models.loaded->model;
}

/* view.c */
void read_rayservice(struct op *op, struct record *c, const struct spec_object *from);
int64_t decide_rayservice(struct op *op, struct record *c, struct plan *p);

/* route_calls.c */
void view_routes(struct op *op, struct record *c, struct service_view *v); /* the model is loaded */
verb_make rayservice_make_announcement;

/* dashboard.c */
struct serve_asked *asked_of(struct op *op, struct record *c, const struct record *cluster, struct slice head_uid);
void asked_drop(struct op *op, struct record *c);
void asked_drop_gone(struct op *op, struct record *c); /* drops the state of clusters that no longer exist */
verb_do rayservice_ask_head;

/* calls.c */
verb_make rayservice_make_cluster, rayservice_make_update, rayservice_make_delete, rayservice_make_service, rayservice_make_label;
verb_answer rayservice_answer_cluster, rayservice_answer_service, rayservice_answer_label;
bool rayservice_seal(struct op *op, struct record *c, const struct action *act, struct flight *f, struct err *e);

#endif
