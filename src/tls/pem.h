/* PEM as it is found in the field: CRLF, byte-order marks, a last line without newline, text between the blocks. */
#ifndef MOBULA_TLS_PEM_H
#define MOBULA_TLS_PEM_H

#include <mobula/base.h>

struct pem_block {
    struct slice label; /* "CERTIFICATE" */
    struct slice body;  /* the label between BEGIN and END */
};

/* Takes the next block off the front of *text. False at the end, and with *e set when a BEGIN has no END of its own. */
bool pem_next(struct slice *text, struct pem_block *out, struct err *e);
/* The bytes of a block, appended to *der. No copy of them is left anywhere else. */
bool pem_decode(struct slice body, struct buf *der, struct err *e);
bool pem_is_certificate(const struct pem_block *block);

#endif
