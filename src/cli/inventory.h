/* The existing objects of an installation, and the work in the namespaces that it watches. */
#ifndef MOBULA_CLI_INVENTORY_H
#define MOBULA_CLI_INVENTORY_H

#include "install.h"

struct inventory {
    struct jval deployment, arguments; /* NO_VALUE: it does not exist */
    struct slice watch;                /* "a,b": the namespaces that it watches; empty: all */
    bool all;
};
/* The arguments of a Deployment of ours. */
struct jval inventory_arguments(struct jval deployment);
/* The value of a flag among arguments, as the program reads it: if it is given twice, the last one, of a list all. SLICE_NONE: it is not
 * given; empty: it has no value. */
struct slice inventory_argument(struct jval arguments, const char *flag, bool list, struct arena *a);
/* Reads the Deployment of the installation in p->installation. False: the API server did not answer, or refused. */
bool inventory_read(struct apply *p, bool plane, struct inventory *out, struct err *e);
/* *words: the work in a namespace (empty: in all), such as "2 RayClusters, 1 RayJob"; empty: there is none. False: the API server did not
 * answer, or refuses to list a kind that the installation works with. */
bool inventory_count(struct apply *p, const struct inventory *now, bool plane, struct slice ns, struct slice *words, struct err *e);
/* Adds a failure for each namespace that the installation watches now and would not watch with these options. */
bool inventory_given_up(struct apply *p, const struct inventory *now, const struct install_options *o, struct err *e);

/* The operator (or control plane) of another installation that watches a namespace. */
struct watcher {
    struct slice installation; /* its namespace; empty: none was found */
    bool known;                /* all bindings could be read; else there may be one that was not found */
};
/* Finds an operator that watches namespace ns (empty: any namespace), by the bindings of its account. but: an installation to ignore.
 * kinds: the value of --kinds; operators for the other group only are ignored; empty: none is. False: the API server did not answer. */
bool inventory_watcher(struct ask *k, struct slice ns, struct slice but, bool plane, struct slice kinds, struct arena *a,
                       struct watcher *out, struct err *e);
/* Adds a failure for each namespace that another installation watches for the same kinds. */
bool inventory_clash(struct apply *p, const struct install_options *o, struct err *e);

#endif
