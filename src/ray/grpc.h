/* One gRPC connection over cleartext HTTP/2 (RFC 9113), as bytes in and bytes out: one unary call at a time, hand-made frames, no HTTP/2
 * library. What Ray's GCS sends is understood, and what a proxy before it may send; all else is refused by name.
 *
 * Whatever is wrong with an answer, the caller gets no part of its message. */
#ifndef MOBULA_RAY_GRPC_H
#define MOBULA_RAY_GRPC_H

#include <mobula/base.h>

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

/* ---- between grpc.c, the call, and frames.c, the connection ---- */

enum grpc_frame_type {
    FRAME_DATA,
    FRAME_HEADERS,
    FRAME_PRIORITY,
    FRAME_RST_STREAM,
    FRAME_SETTINGS,
    FRAME_PUSH_PROMISE,
    FRAME_PING,
    FRAME_GOAWAY,
    FRAME_WINDOW_UPDATE,
    FRAME_CONTINUATION,
};
enum { FLAG_END_STREAM = 0x1, FLAG_ACK = 0x1, FLAG_END_HEADERS = 0x4, FLAG_PADDED = 0x8, FLAG_PRIORITY = 0x20 };

bool grpc_bad(struct err *e, const char *what); /* returns false */
void frame_put(struct buf *b, size_t len, enum grpc_frame_type type, unsigned flags, uint32_t stream);
void frame_put_number(struct buf *b, uint32_t number);
/* Preface, SETTINGS and as much of the connection's window as HTTP/2 has. */
void frames_begin(struct grpc *c);
/* One step of the connection's reader. False at the end of *in, when the call is over, or with *e set. */
bool frames_read(struct grpc *c, struct slice *in, struct err *e);
/* Of the call's own stream. */
void call_send(struct grpc *c); /* as much of the body as the windows allow */
bool call_data(struct grpc *c, struct slice piece, struct err *e);
bool call_headers(struct grpc *c, struct slice block, bool end, struct err *e);
bool call_end(struct grpc *c, struct err *e);

#endif
