/* What is special about a built-in kind. */
#ifndef APISERVER_RULES_H
#define APISERVER_RULES_H

#include "server.h"
#include "status.h"

struct rules {
    /* What a name may be, and how that is said; NULL: a DNS-1123 subdomain. */
    bool (*name)(struct slice name);
    const char *name_rule;
    /* What reading and printing a typed object does to its text: values get their canonical form. */
    void (*decode)(struct status *st, struct node *object, struct arena *a);
    /* Defaults, which belong to whoever wrote the object. */
    void (*defaults)(struct node *object, struct arena *a);
    /* What admission and allocation add to a new object (old NULL) or a changed one; it belongs to nobody. */
    void (*fill)(struct apiserver *s, struct node *object, const struct node *old, struct arena *a);
    /* Adds a status_cause for everything that is wrong. */
    void (*check)(struct status *st, const struct api *api, const struct node *object, const struct node *old);
};

extern const struct rules rules_namespace, rules_pod, rules_service, rules_crd, rules_lease, rules_event, rules_path_name;

#endif
