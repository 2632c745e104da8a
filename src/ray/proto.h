/* Protocol Buffers as Ray's messages use them: fields one after the other, what is not known is passed over. Nothing here recurses: a
 * message inside a message is a field's bytes, which its reader walks in turn. */
#ifndef MOBULA_RAY_PROTO_H
#define MOBULA_RAY_PROTO_H

#include <mobula/base.h>

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
