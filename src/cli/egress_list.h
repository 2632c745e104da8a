/* The parts of egress_write: the list is gathered, and described. */
#ifndef MOBULA_CLI_EGRESS_LIST_H
#define MOBULA_CLI_EGRESS_LIST_H

#include "egress.h"

/* The sources of the list, and where it goes. */
struct egress_gather {
    const struct egress_options *o;
    struct egress *list;
    struct arena *arena;
    struct net_allow *allow;
    struct buf *notes;
};

/* egress_profiles.c: adds the rows of one profile of egress_domains.txt. */
bool egress_add_profile(struct egress_gather *g, struct slice name, struct err *e);

/* egress_words.c: the list, under lines about it where the format has comments; and the addresses that pods of a Ray version contact. */
void egress_put_list(const struct egress *g, const struct egress_format *f, struct arena *a, struct buf *out, struct buf *notes);
bool egress_put_pods(struct slice version, struct buf *out, struct err *e);

#endif
