/* Inside world: a connection, for those who carry its bytes and those who read along. */
#ifndef SIM_WIRE_H
#define SIM_WIRE_H

#include "world.h"

enum what { PIECE_BYTES, PIECE_END, PIECE_RESET };

struct piece {
    struct piece *next;
    int64_t due_ms;
    uint64_t serial;
    enum what what;
    size_t len;
    char bytes[];
};

struct queue {
    struct piece *first, *last;
    int64_t last_due_ms;
    size_t bytes;
};

struct wire_link {
    struct link link; /* first */
    struct wire *wire;
    struct buf in;  /* has come and was not used yet */
    struct buf out; /* room that was given */
};

struct wire {
    struct wire *next;
    struct process *process;
    struct wire_link *link;    /* NULL: closed on this side */
    struct conn *conn;         /* NULL: not open yet, or closed on that side */
    struct tls *ours, *theirs; /* the operator's end and the server's; NULL: no TLS */
    struct queue up, down;
    int64_t open_ms; /* when it opens; TIME_NEVER: it does not */
    bool opened, refused, silent, broken;
    int64_t dies_ms; /* when it is given up: one that does not open, or is silent */
    int64_t cut;     /* bytes of answers that still come through before it breaks; -1: all */
    struct http_reader tap;
    struct world_request *reading;         /* its head was written, its end not yet */
    struct world_request *requests, *last; /* on their way */
    uint64_t written, fed;                 /* bytes */
};

/* wire.c: for every connection of the world, to the API server or to heads */
int64_t wire_delay_ms(struct world *w);                                                     /* what one piece takes on its way */
size_t wire_room(struct world *w, size_t room, size_t in_flight);                           /* what of it a write is given now */
void wire_tell(struct link *l, enum link_state state, enum err_code code, const char *why); /* unless it has ended already */

void wire_push(struct world *w, struct queue *q, struct slice bytes); /* in pieces */

/* secure.c: TLS, in worlds that have it */
void secure_open(struct world *w, struct wire *x); /* the client's hello goes on its way */
void secure_free(struct wire *x);
/* Plaintext of one end; torn: the wire takes only a part of its last record. */
void secure_write(struct world *w, struct wire *x, struct tls *t, struct slice plain, bool torn);
void secure_close(struct world *w, struct wire *x, struct tls *t); /* close_notify */
/* Bytes of the wire arrive at an end. secure_up returns false when the session has failed at the server's end. */
bool secure_up(struct world *w, struct wire *x, struct slice bytes, void (*serve)(struct world *w, struct wire *x, struct slice plain));
void secure_down(struct world *w, struct wire *x, struct slice bytes);
void secure_ended(struct world *w, struct wire *x); /* the stream to the operator has ended */
void secure_end(struct world *w);                   /* frees certificates and keys */

/* costs.c: what the request waits and takes (w->costs) */
void costs_arrived(struct world *w, struct world_request *q);

/* overhear.c: what the operator writes is read along the way. */
void overhear(struct world *w, struct wire *x, struct slice in);
void requests_free(struct wire *x);
void request_free(struct world_request *q);
void count_request(struct world *w, const struct world_request *q);

#endif
