/* The parts of egress_write: the list is gathered, and described. */
#ifndef MOBULA_EGRESS_LIST_H
#define MOBULA_EGRESS_LIST_H

#include "formats.h"

/* The sources of the list, and where it goes. */
struct egress_gather {
    const struct egress_options *o;
    struct egress *list;
    struct arena *arena;
    struct net_allow *allow;
    struct buf *notes;
};

/* profiles.c: adds the rows of one profile of domains.txt. */
bool egress_add_profile(struct egress_gather *g, struct slice name, struct err *e);

/* words.c: the list, under lines about it where the format has comments; and the addresses that pods of a Ray version contact. */
void egress_put_list(const struct egress *g, const struct egress_format *f, struct arena *a, struct buf *out, struct buf *notes);
bool egress_put_pods(struct slice version, struct buf *out, struct err *e);

/* bucket.c: adds the servers of a bucket, if one is named, and of --sts-url. */
bool egress_add_bucket(const struct egress_bucket *o, struct net_allow *allow, struct arena *a, struct err *e);
bool egress_add_sts(struct slice url, struct net_allow *allow, struct arena *a, struct err *e);

#endif
