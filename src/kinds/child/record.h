/* Shared by the files of this folder. */
#ifndef MOBULA_CHILD_RECORD_H
#define MOBULA_CHILD_RECORD_H

#include <mobula/heads.h>
#include <mobula/kind_child.h>
#include <mobula/ray.h>

void pod_notify_owner(struct op *op, struct pod_record *pod, enum child_news what); /* calls told() of the owner's kind */
void pod_remove(struct op *op, struct pod_record *r);
void service_remove(struct op *op, struct service_record *r);
void pod_by_us(struct op *op, struct slice uid, bool by_us); /* marks whether our DELETE is in flight or was accepted */
void kservice_by_us(struct op *op, struct slice uid, bool by_us);
/* controller_record of a pod or service. NULL, too, if the child's own uid or name is invalid. */
struct record *extract_parent(struct op *op, struct space *space, struct jval child, const struct kind *kind);
void doubt_pod(struct op *op, struct pod_record *r);
void doubt_service(struct op *op, struct service_record *r);
/* The object or its spec has changed: the backoff of the doubt starts again with its first, short delay. */
void doubt_restart_backoff(struct op *op, struct record *c, struct doubt *d);

/* delete.c: verb_handler of pod_delete and kservice_delete */
verb_make make_delete;
verb_answer answer_delete;
void pod_outlived(struct op *op, const struct flight *f, const struct kube_answer *a); /* verb_handler.undone */
bool pod_has_newer_version(const struct op *op, const struct action *act);             /* verb_handler.outdated */

#endif
