#ifndef MOBULA_KUBE_STATUS_H
#define MOBULA_KUBE_STATUS_H

#include <mobula/kube.h>

/* Reads a Status that is already indexed: an ERROR event's object (code 0: the Status says it) or an answer's body. */
void kube_status_from(int code, struct jval object, struct kube_status *out);

#endif
