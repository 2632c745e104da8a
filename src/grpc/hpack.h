/* Header fields of HTTP/2 (RFC 7541), read without a table of earlier ones: we announce a table of size 0, and a peer that refers to one
 * all the same is refused. Huffman-coded texts are read, because proxies on the way (service meshes) write them. */
#ifndef MOBULA_RAY_HPACK_H
#define MOBULA_RAY_HPACK_H

#include <mobula/base.h>

enum { HPACK_TEXT = 512 }; /* of a Huffman-coded text so much is kept; no field that is looked at comes near it */

struct hpack_field {
    struct slice name, value; /* name is empty where it is a number of the static table that nobody asks for */
    char text[2][HPACK_TEXT]; /* private: what was Huffman-coded */
};

/* Takes the next field off the front of a whole header block. False at its end, and with *e set where it is malformed; e is needed, and
 * must not be set before. */
bool hpack_next(struct slice *block, struct hpack_field *f, struct err *e);

/* Writes a field that no proxy may put into a table either (tokens). name: of the static table, or 0 and the text. */
void hpack_put(struct buf *b, unsigned index, struct slice name, struct slice value, bool secret);

#endif
