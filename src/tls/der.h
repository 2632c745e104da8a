/* DER, as far as the X.509 class needs it: one element after the other off the front of a slice. */
#ifndef MOBULA_TLS_DER_H
#define MOBULA_TLS_DER_H

#include <mobula/base.h>

/* The identifier octets that occur in certificates; no tag number above 30 does. */
enum {
    DER_BOOLEAN = 0x01,
    DER_INTEGER = 0x02,
    DER_BITS = 0x03,
    DER_OCTETS = 0x04,
    DER_OID = 0x06,
    DER_UTC_TIME = 0x17,
    DER_GENERALIZED_TIME = 0x18,
    DER_SEQUENCE = 0x30,
    DER_SET = 0x31,
    DER_CONTEXT = 0x80,
    DER_CONTEXT_CONSTRUCTED = 0xa0,
    /* of GeneralName */
    DER_DNS_NAME = DER_CONTEXT | 2,
    DER_IP_ADDRESS = DER_CONTEXT | 7,
};

/* Takes one element off the front of *in; false when there is no whole one, or its length is not in the one form that DER allows. */
bool der_next(struct slice *in, unsigned *tag, struct slice *content);
/* The same for an element that must have this tag. */
bool der_take(struct slice *in, unsigned tag, struct slice *content);
/* Whether the next element has this tag. */
bool der_is_next(struct slice in, unsigned tag);
/* Writes the content of a DER_IP_ADDRESS; returns its length, or 0 where the text is no address. */
size_t der_address(struct slice text, unsigned char out[16]);

#endif
