/* children: what a decision may have done to pods and services, the kinds that are decided with their owner. */
#ifndef MOBULA_CHILDREN_H
#define MOBULA_CHILDREN_H

#include <mobula/plan.h>
#include <mobula/pod.h>

/* name, uid; why or, instead, text; version (pods only) */
extern const struct verb pod_delete, kservice_delete;

struct action *plan_delete(struct plan *p, const struct pod *pod, int32_t group, const char *why);
/* For what does not stay true of a pod, that it has not started or is not ready: only as it was seen. It may be at work by now, with a
 * watch that has not told. What stays true, that it has ended or that its template or place is not wanted, needs no version, and that of a
 * pod changes with every word of its kubelet. */
void plan_delete_as_seen(struct plan *p, const struct pod *pod, int32_t group, const char *why);

#endif
