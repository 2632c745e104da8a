/* grpc: unary gRPC calls over cleartext HTTP/2 (RFC 9113), and the Protocol Buffers that they carry. Both are bytes in and bytes out:
 * hand-made frames, no HTTP/2 library, no generated code. What Ray's GCS sends is understood, and what a proxy before it may send; all else
 * is refused by name. This room knows nothing of Ray. */
#ifndef MOBULA_GRPC_H
#define MOBULA_GRPC_H

#include <mobula/base.h>

/* ---- one connection, with one call at a time ----
 *
 * Whatever is wrong with an answer, the caller gets no part of its message. */

enum { GRPC_NO_STATUS = -1, GRPC_UNIMPLEMENTED = 12 };
enum { GRPC_TEXT_MAX = 160 }; /* what is kept of a grpc-message */
enum { GRPC_FRAME_HEAD = 9 };

/* The frame that is coming in. */
struct grpc_frame {
    unsigned char head[GRPC_FRAME_HEAD];
    unsigned have; /* bytes of the head */
    unsigned type, flags;
    uint32_t stream, left; /* bytes of the payload that have not come */
    uint32_t pad;          /* bytes of padding at its end: DATA */
    bool pad_known;
};

struct grpc {
    struct buf out; /* to be sent. Its owner takes off the front what it has sent */
    /* the connection */
    struct grpc_frame frame;
    struct buf block;                            /* payload of frames but DATA; a header block in several frames */
    bool began;                                  /* our preface was written */
    bool settled;                                /* the peer's SETTINGS have come */
    bool going_away;                             /* it takes no further calls */
    bool block_open;                             /* a header block goes on in the next frame … */
    bool block_ends;                             /* … and ends its stream */
    int64_t window, stream_window, first_window; /* bytes that may be sent; of a stream when it begins */
    uint32_t credit;                             /* DATA bytes that came and were not given back */
    uint32_t chatter;                            /* bytes since the call began that are no DATA of it */
    /* the call */
    uint32_t stream; /* its number, or that of the last one */
    bool calling, headed;
    struct buf body;   /* what is left to send of the request */
    struct buf answer; /* with the prefix of 5 bytes */
    int http_status, status;
    char text[GRPC_TEXT_MAX]; /* grpc-message, cleaned */
};

/* What a call is. */
struct grpc_request {
    struct slice path;      /* "/package.Service/Method" */
    struct slice authority; /* who is asked: "10.0.0.5:6379" */
    struct slice token;     /* sent as "authorization: Bearer …", or empty */
    struct slice message;
    size_t answer_max; /* bytes of the message that may come back */
};

enum grpc_step {
    GRPC_MORE,    /* all bytes were used; come again with more */
    GRPC_DONE,    /* grpc_answer has the message */
    GRPC_REFUSED, /* a well-formed no: *e and status say which; the connection is still good unless it is going away */
    GRPC_BROKEN,  /* the connection must be closed; *e says why */
};

void grpc_init(struct grpc *c);
void grpc_free(struct grpc *c); /* usable again afterwards, for another connection */
/* Writes the request into c->out. No call may be under way. */
void grpc_call(struct grpc *c, const struct grpc_request *r);
/* Uses bytes off the front of *in. Between calls too: a peer may ask for an answer to its PING, or say that it goes away. */
enum grpc_step grpc_read(struct grpc *c, struct slice *in, struct err *e);
struct slice grpc_answer(const struct grpc *c); /* until the next call */
/* Gives memory back that is not needed between calls. */
void grpc_rest(struct grpc *c);
/* The connection can carry another call. */
bool grpc_reusable(const struct grpc *c);

/* ---- Protocol Buffers ----
 *
 * Fields one after the other; what is not known is passed over. Nothing here recurses: a message inside a message is a field's bytes, which
 * its reader walks in turn. */

enum proto_type { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_BYTES = 2, PROTO_FIXED32 = 5 };

struct proto_field {
    uint32_t number;
    enum proto_type type;
    uint64_t value;     /* VARINT, FIXED64, FIXED32 */
    struct slice bytes; /* BYTES: a piece of the message */
};

/* Takes a field off the front. False at the end of the message, and with *e set where it is malformed; e is needed, and must not be set
 * before. */
bool proto_next(struct slice *message, struct proto_field *f, struct err *e);
/* How many fields of this number there are, up to where the message is malformed. */
uint32_t proto_count(struct slice message, uint32_t number);

/* The field's value as its schema has it. A field of another wire type is an error: what the sender meant is unknown. */
bool proto_bytes(const struct proto_field *f, struct slice *out, struct err *e);
bool proto_text(const struct proto_field *f, struct slice *out, struct err *e); /* must be UTF-8 */
bool proto_int(const struct proto_field *f, int64_t *out, struct err *e);
bool proto_double(const struct proto_field *f, double *out, struct err *e);

/* Writing; a value that is 0 or empty is left out, as proto3 has it. */
void proto_put_int(struct buf *b, uint32_t number, int64_t value);
void proto_put_bytes(struct buf *b, uint32_t number, struct slice bytes);
void proto_put_double(struct buf *b, uint32_t number, double value);
/* A message inside: what is written between the two is its content. It is there even when it is empty. */
size_t proto_open(struct buf *b, uint32_t number);
void proto_close(struct buf *b, size_t at);

#endif
