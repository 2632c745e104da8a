#include "host.h"

#include <arpa/inet.h>

static const uint8_t v4_prefix[12] = {[10] = 0xff, [11] = 0xff};

bool ip_parse(struct slice text, struct ip *out)
{
    char z[INET6_ADDRSTRLEN];
    if (text.len >= sizeof z || slice_find(text, '\0') >= 0)
        return false;
    memcpy(z, text.ptr ? text.ptr : "", text.len);
    z[text.len] = '\0';
    if (inet_pton(AF_INET6, z, out->bytes) == 1)
        return true;
    memcpy(out->bytes, v4_prefix, sizeof v4_prefix);
    return inet_pton(AF_INET, z, out->bytes + sizeof v4_prefix) == 1;
}

bool ip_is_v4(const struct ip *ip)
{
    return memcmp(ip->bytes, v4_prefix, sizeof v4_prefix) == 0;
}

bool ip_is_loopback(const struct ip *ip)
{
    static const struct ip one = {{[15] = 1}};
    return ip_is_v4(ip) ? ip->bytes[12] == 127 : memcmp(ip, &one, sizeof one) == 0;
}

bool ip_is_routed(const struct ip *ip)
{
    static const struct ip none = {0};
    const uint8_t *b = ip->bytes, *v4 = b + 12;
    if (ip_is_loopback(ip))
        return false;
    if (ip_is_v4(ip))
        return v4[0] != 0 && v4[0] < 224 && !(v4[0] == 169 && v4[1] == 254);
    return memcmp(ip, &none, sizeof none) != 0 && b[0] != 0xff && !(b[0] == 0xfe && (b[1] & 0xc0) == 0x80);
}

/* The digits of a prefix length or a port. */
static bool small_number(struct slice text, unsigned max, unsigned *out)
{
    unsigned n = 0;
    if (slice_empty(text))
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c < '0' || c > '9')
            return false;
        n = n * 10 + (unsigned)(c - '0');
        if (n > max)
            return false;
    }
    *out = n;
    return true;
}

bool cidr_parse(struct slice text, struct cidr *out)
{
    struct slice bits = text, host = slice_cut(&bits, '/');
    if (!bits.ptr || !ip_parse(host, &out->net))
        return false;
    bool v4 = slice_find(host, ':') < 0;
    if (!small_number(bits, v4 ? 32 : 128, &out->bits))
        return false;
    out->bits += v4 ? 96 : 0;
    for (unsigned i = 0; i < 16; i++) {
        unsigned keep = out->bits > i * 8 ? out->bits - i * 8 : 0;
        out->net.bytes[i] &= (uint8_t)(keep >= 8 ? 0xff : 0xff00U >> keep);
    }
    return true;
}

bool cidr_has(const struct cidr *c, const struct ip *ip)
{
    if (ip_is_v4(&c->net) != ip_is_v4(ip))
        return false;
    unsigned whole = c->bits / 8, rest = c->bits % 8;
    if (memcmp(c->net.bytes, ip->bytes, whole) != 0)
        return false;
    return rest == 0 || ((c->net.bytes[whole] ^ ip->bytes[whole]) >> (8 - rest)) == 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-' || c == '_';
}

bool host_is_name(struct slice host)
{
    if (slice_empty(host) || host.len > LIMIT_NET_HOST)
        return false;
    size_t label = 0, digits = 0;
    for (size_t i = 0; i < host.len; i++) {
        char c = host.ptr[i];
        if (c == '.') {
            if (label == 0)
                return false;
            label = digits = 0;
            continue;
        }
        if (!is_name_char(c) || ++label > 63)
            return false;
        digits += is_digit(c);
    }
    return label > 0 && digits < label;
}

bool host_same_tail(struct slice host, struct slice suffix)
{
    return host.len >= suffix.len && slice_eq_nocase(slice_skip(host, host.len - suffix.len), suffix);
}

bool host_is_localhost(struct slice host)
{
    return slice_eq_nocase(host, SLICE("localhost")) || host_same_tail(host, SLICE(".localhost"));
}

bool port_parse(struct slice text, uint16_t *out)
{
    unsigned n;
    if (!small_number(text, UINT16_MAX, &n))
        return false;
    *out = (uint16_t)n;
    return true;
}

bool host_split_port(struct slice s, struct slice *host, struct slice *port)
{
    size_t colon = s.len;
    while (colon > 0 && s.ptr[colon - 1] != ':')
        colon--;
    if (colon-- == 0)
        return false;
    *host = slice_head(s, colon);
    *port = slice_skip(s, colon + 1);
    if (slice_starts(*host, SLICE("["))) {
        if (slice_find(*host, ']') != (ptrdiff_t)host->len - 1)
            return false;
        *host = (struct slice){host->ptr + 1, host->len - 2};
    } else if (slice_find(*host, ':') >= 0 || slice_find(*host, ']') >= 0) {
        return false;
    }
    return slice_find(*host, '[') < 0 && slice_find(*port, '[') < 0 && slice_find(*port, ']') < 0;
}

struct address address_of(const struct ip *ip, uint16_t port)
{
    struct address a = {0};
    if (ip_is_v4(ip)) {
        a.len = sizeof a.v4;
        a.v4.sin_family = AF_INET;
        a.v4.sin_port = htons(port);
        memcpy(&a.v4.sin_addr, ip->bytes + sizeof v4_prefix, sizeof a.v4.sin_addr);
    } else {
        a.len = sizeof a.v6;
        a.v6.sin6_family = AF_INET6;
        a.v6.sin6_port = htons(port);
        memcpy(&a.v6.sin6_addr, ip->bytes, sizeof a.v6.sin6_addr);
    }
    return a;
}

uint16_t address_port(const struct address *a)
{
    return ntohs(a->any.sa_family == AF_INET6 ? a->v6.sin6_port : a->v4.sin_port);
}

const char *address_text(const struct address *a, char out[ADDRESS_TEXT_MAX])
{
    const void *ip = a->any.sa_family == AF_INET6 ? (const void *)&a->v6.sin6_addr : (const void *)&a->v4.sin_addr;
    return inet_ntop(a->any.sa_family, ip, out, ADDRESS_TEXT_MAX) ? out : "an unknown address";
}
