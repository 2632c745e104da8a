/* grpc: unary gRPC calls over HTTP/2 (RFC 9113), and reading and writing of Protocol Buffers. Both are bytes in and bytes out,
 * without an HTTP/2 library or generated code. It understands the frames that a gRPC server, or a proxy in front of it, sends for a unary
 * call, and refuses all others by name. It contains nothing specific to Ray. */
#ifndef MOBULA_GRPC_H
#define MOBULA_GRPC_H

#include <mobula/base.h>

/* ---- one connection, with one call at a time ----
 *
 * The caller gets a complete, valid message or none of it. */

enum { GRPC_NO_STATUS = -1, GRPC_UNIMPLEMENTED = 12 };
enum { GRPC_TEXT_MAX = 160 }; /* bytes kept of a grpc-message */
enum { GRPC_FRAME_HEAD = 9 };

/* The frame that is being received. */
struct grpc_frame {
    unsigned char head[GRPC_FRAME_HEAD];
    unsigned have; /* bytes of the head */
    unsigned type, flags;
    uint32_t stream, left; /* bytes of the payload not yet received */
    uint32_t pad;          /* bytes of padding at the end of a DATA frame */
    bool pad_known;
};

struct grpc {
    struct buf out; /* bytes to send; the owner removes from the front what it has sent */
    /* the connection */
    struct grpc_frame frame;
    struct buf block;                            /* payload of a frame other than DATA; a header block of several frames */
    bool began;                                  /* our preface was written */
    bool settled;                                /* the peer's SETTINGS were received */
    bool going_away;                             /* GOAWAY was received: no further calls */
    bool block_open;                             /* a header block continues in the next frame … */
    bool block_ends;                             /* … and ends its stream */
    int64_t window, stream_window, first_window; /* bytes that may be sent: connection, stream, initial value of a stream */
    uint32_t credit;                             /* DATA bytes received and not yet returned by WINDOW_UPDATE */
    uint32_t chatter;                            /* bytes received during the call that are not its DATA; see LIMIT_RAY_CHATTER */
    /* the call */
    uint32_t stream; /* of this call, or of the last one */
    bool calling, headed;
    struct buf body;   /* unsent part of the request */
    struct buf answer; /* including the 5-byte message prefix */
    int http_status, status;
    char text[GRPC_TEXT_MAX]; /* grpc-message, with control characters replaced */
};

/* One call. */
struct grpc_request {
    struct slice path;      /* "/package.Service/Method" */
    struct slice authority; /* host and port: "10.0.0.5:6379" */
    struct slice token;     /* sent as "authorization: Bearer …", or empty */
    struct slice message;
    size_t answer_max; /* limit on the answer's message, in bytes */
    bool tls;          /* the connection has TLS */
};

enum grpc_step {
    GRPC_MORE,    /* all bytes were used; call again with more */
    GRPC_DONE,    /* grpc_answer has the message */
    GRPC_REFUSED, /* the server answered with an error, see *e and status; the connection is usable unless it is going away */
    GRPC_BROKEN,  /* the connection must be closed; *e says why */
};

void grpc_init(struct grpc *c);
void grpc_free(struct grpc *c); /* afterwards it can be used for another connection */
/* Writes the request into c->out. No call may be under way. */
void grpc_call(struct grpc *c, const struct grpc_request *r);
/* Consumes bytes from the front of *in. Call it between calls too: the peer may send PING or GOAWAY. */
enum grpc_step grpc_read(struct grpc *c, struct slice *in, struct err *e);
struct slice grpc_answer(const struct grpc *c); /* until the next call */
/* Frees memory that is not needed between calls. */
void grpc_rest(struct grpc *c);
/* The connection can carry another call. */
bool grpc_reusable(const struct grpc *c);

/* ---- Protocol Buffers ----
 *
 * A message is walked field by field, and unknown fields are skipped. Nothing recurses: an embedded message is the bytes of a field, which
 * its reader walks in turn. */

enum proto_type { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_BYTES = 2, PROTO_FIXED32 = 5 };

struct proto_field {
    uint32_t number;
    enum proto_type type;
    uint64_t value;     /* VARINT, FIXED64, FIXED32 */
    struct slice bytes; /* BYTES: a piece of the message */
};

/* Removes one field from the front of *message. False at the end, or with *e set if the message is malformed; e must not be NULL, nor set
 * before. */
bool proto_next(struct slice *message, struct proto_field *f, struct err *e);
/* The count of fields of this number; of a malformed message, those before the error. */
uint32_t proto_count(struct slice message, uint32_t number);

/* The field's value in the type of its schema. Another wire type is an error. */
bool proto_bytes(const struct proto_field *f, struct slice *out, struct err *e);
bool proto_text(const struct proto_field *f, struct slice *out, struct err *e); /* must be UTF-8 */
bool proto_int(const struct proto_field *f, int64_t *out, struct err *e);
bool proto_double(const struct proto_field *f, double *out, struct err *e);

/* Writing. A value that is 0 or empty is left out, as in proto3. */
void proto_put_int(struct buf *b, uint32_t number, int64_t value);
void proto_put_bytes(struct buf *b, uint32_t number, struct slice bytes);
void proto_put_double(struct buf *b, uint32_t number, double value);
/* An embedded message: its content is written between the two calls. An empty one is written too. */
size_t proto_open(struct buf *b, uint32_t number);
void proto_close(struct buf *b, size_t at);

#endif
