/* Between grpc.c, the call, and frames.c, the connection. */
#ifndef MOBULA_GRPC_FRAMES_H
#define MOBULA_GRPC_FRAMES_H

#include <mobula/grpc.h>

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
