/* Between the two halves of the reader: read.c frames messages, head.c reads what a head says. */
#ifndef MOBULA_HTTP_READER_H
#define MOBULA_HTTP_READER_H

#include <mobula/http.h>

enum http_framing {
    FRAMING_NONE,
    FRAMING_LENGTH, /* r->length bytes, at least one */
    FRAMING_CHUNKED,
    FRAMING_CLOSE, /* until the connection ends */
};

/* Reads the complete head in r->head, which ends in an empty line and has only CRLF as line ends. Fills the public fields of r. */
bool http_head_parse(struct http_reader *r, enum http_framing *framing, struct err *e);

#endif
