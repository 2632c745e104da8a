#include <mobula/tls.h>

#include "der.h"

#include <arpa/inet.h>

static unsigned char byte_at(struct slice s, size_t i)
{
    return (unsigned char)s.ptr[i];
}

/* The length octets at the front of *in. */
static bool take_length(struct slice *in, size_t *len)
{
    if (slice_empty(*in))
        return false;
    size_t first = byte_at(*in, 0), count = first & 0x7f;
    *in = slice_skip(*in, 1);
    if (first < 0x80) {
        *len = first;
        return true;
    }
    if (count == 0 || count > 4 || count > in->len || byte_at(*in, 0) == 0)
        return false;
    *len = 0;
    for (size_t i = 0; i < count; i++)
        *len = *len << 8 | byte_at(*in, i);
    *in = slice_skip(*in, count);
    return *len >= 0x80;
}

bool der_next(struct slice *in, unsigned *tag, struct slice *content)
{
    struct slice rest = *in;
    size_t len = 0;
    if (slice_empty(rest) || (byte_at(rest, 0) & 0x1f) == 0x1f)
        return false;
    *tag = byte_at(rest, 0);
    rest = slice_skip(rest, 1);
    if (!take_length(&rest, &len) || len > rest.len)
        return false;
    *content = slice_head(rest, len);
    *in = slice_skip(rest, len);
    return true;
}

bool der_take(struct slice *in, unsigned tag, struct slice *content)
{
    unsigned got = 0;
    return der_is_next(*in, tag) && der_next(in, &got, content);
}

bool der_is_next(struct slice in, unsigned tag)
{
    return !slice_empty(in) && byte_at(in, 0) == tag;
}

size_t der_address(struct slice text, unsigned char out[16])
{
    char copy[INET6_ADDRSTRLEN];
    if (slice_empty(text) || !slice_copy(text, copy, sizeof copy))
        return 0;
    return inet_pton(AF_INET, copy, out) == 1 ? 4 : inet_pton(AF_INET6, copy, out) == 1 ? 16 : 0;
}
