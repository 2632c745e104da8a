/* What is special about a built-in kind. */
#ifndef APISERVER_RULES_H
#define APISERVER_RULES_H

#include "server.h"
#include "status.h"

enum name_rule { NAME_SUBDOMAIN, NAME_LABEL, NAME_LABEL_1035, NAME_PATH };

struct rules {
    enum name_rule name;
    const char *blank; /* what is printed of an object that says nothing; NULL: nothing */
    bool checks_first; /* what is wrong with the metadata is said only when nothing else is wrong */
    /* What reading and printing a typed object does to its text: values get their canonical form. */
    void (*decode)(struct status *st, struct node *object, struct arena *a);
    /* Defaults, which belong to whoever wrote the object. */
    void (*defaults)(struct node *object, struct arena *a);
    /* What refuses a new object before it is looked at; false with st. */
    bool (*admit)(struct status *st, struct apiserver *s, const struct node *object);
    /* What admission and allocation add to a new object (old NULL) or a changed one; it belongs to nobody. */
    void (*fill)(struct apiserver *s, struct node *object, const struct node *old, struct arena *a);
    /* What allocation refuses: when it adds a cause nothing else is looked at. */
    void (*begin)(struct status *st, const struct node *object, const struct node *old, bool dry_run);
    /* Adds a status_cause for everything that is wrong. */
    void (*check)(struct status *st, const struct api *api, const struct node *object, const struct node *old);
};

/* names.c: a cause for each thing that is wrong with a name. */
void names_check(struct status *st, struct slice field, struct slice name, enum name_rule rule);
void names_check_qualified(struct status *st, struct slice field, struct slice key);
void names_check_label_value(struct status *st, struct slice field, struct slice value);

/* metadata.c */
void metadata_check(struct status *st, const struct api *api, const struct node *meta, bool is_new);

extern const struct rules rules_namespace, rules_pod, rules_service, rules_crd, rules_lease, rules_event, rules_role, rules_binding,
    rules_secret, rules_account, rules_configmap;

#endif
