/* What is there of an installation, and what lies in the namespaces that it watches. */
#ifndef MOBULA_CLI_INVENTORY_H
#define MOBULA_CLI_INVENTORY_H

#include "install.h"

struct inventory {
    struct jval deployment; /* NO_VALUE: there is none, or it may not be read */
    struct slice watch;     /* "a,b": what it watches; empty: everything */
    bool all;
};
/* Reads the Deployment of the installation in p->installation. False: no answer. */
bool inventory_read(struct apply *p, bool plane, struct inventory *out, struct err *e);
/* "2 RayClusters and 1 RayJob" of a namespace (empty: of all); empty: none, or they may not be read. */
bool inventory_count(struct apply *p, bool plane, struct slice ns, struct slice *words, struct err *e);
/* Adds a failure for each namespace that the installation watches and one with these options would not. */
bool inventory_given_up(struct apply *p, const struct inventory *now, const struct install_options *o, struct err *e);

/* The operator (or control plane) of another installation that watches a namespace. */
struct watcher {
    struct slice installation; /* empty: there is none */
    bool known;                /* whether all bindings could be read: else there may be one */
};
/* Looks for operators of namespace ns (empty: of any) by the bindings of their accounts. but: the installation that does not count.
 * kinds: value of its --kinds; an operator of the other group does not count; empty: any does. False: no answer. */
bool inventory_watcher(struct ask *k, struct slice ns, struct slice but, bool plane, struct slice kinds, struct arena *a,
                       struct watcher *out, struct err *e);
/* Adds a failure for each namespace that another installation watches for the same kinds. */
bool inventory_clash(struct apply *p, const struct install_options *o, struct err *e);

#endif
