/* Shared by the files of this folder. */
#ifndef MOBULA_ROUTE_RECORD_H
#define MOBULA_ROUTE_RECORD_H

#include <mobula/kind_route.h>
#include <mobula/ray.h>

/* The owner's record is looked up by uid: it may go while the route still stands. */
struct route_record {
    struct route route; /* first: views point at it */
    const struct kind *kind;
    const struct istr *ns, *text, *trouble, *address; /* they hold the slices of `route` */
    struct space *space;
    char owner[UID_TEXT_MAX + 1]; /* empty: it is somebody else's */
    uint32_t round;
    uint32_t doubted; /* our DELETE was answered 404 in this round: a list of a later one decides; 0: no doubt */
    bool by_us;       /* our DELETE is in flight or was accepted */
};

/* All routes of one kind. */
struct certificates;
struct routes {
    struct map by_uid;
    struct slab slab;
    struct certificates *certificates; /* of Ingresses, for routes of all kinds; NULL: not needed yet */
};
struct routes *routes_of(const struct op *op, const struct kind *k);

/* The parts of one kind beside its table. */
struct route_kind {
    const struct kind *kind;
    const struct verb *remove;
    struct slice suffix; /* of the names of ours: of somebody else's objects only those with it are kept, because they may be in the way */
    /* The content of the object's status: trouble and address as in struct route; in the arena or the object. NULL: it says
     * nothing, and what is applied is in force. */
    void (*read)(struct jval object, struct arena *a, struct slice *trouble, struct slice *address);
};
extern const struct route_kind route_kinds[]; /* ended by one without a kind; flight.index is the place in it */
int32_t route_kind_of(const struct kind *k);

/* keep.c: the functions of struct kind */
void keep_route(struct op *op, struct source *from, struct jval object, uint64_t version, uint32_t round);
void drop_route(struct op *op, struct source *from, struct jval object);
void sweep_routes(struct op *op, struct source *from, uint64_t version);
void free_ingresses(struct op *op);
void free_gateways(struct op *op);
void free_httproutes(struct op *op);
void free_grpcroutes(struct op *op);
void free_virtualservices(struct op *op);
/* Keeps an object from an answer to a call. NULL: it is none of ours. */
struct route_record *extract_route(struct op *op, struct space *space, const struct kind *k, struct jval object, uint64_t version,
                                   uint32_t round);
struct route_record *route_by_uid(struct op *op, const struct kind *k, struct slice uid);
struct route_record *route_named(const struct op *op, const struct record *c, const struct kind *k, struct slice name);
void route_by_us(struct op *op, struct slice uid, bool by_us);

bool route_seal(struct op *op, struct record *c, const struct action *act, struct flight *f, struct err *e);

/* certificate.c */
verb_make route_tls_make;
verb_answer route_tls_answer;
verb_failed route_tls_failed;
bool route_tls_secret(int32_t index);

/* delete.c */
verb_make route_make_delete;
verb_answer route_answer_delete;

#endif
