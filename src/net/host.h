/* host: what may stand where a host is named, and addresses as numbers. No lookups. */
#ifndef MOBULA_NET_HOST_H
#define MOBULA_NET_HOST_H

#include <mobula/base.h>

#include <netinet/in.h>
#include <sys/socket.h>

/* An IPv4 address is held as ::ffff:a.b.c.d, so that both spellings of one address are equal. */
struct ip {
    uint8_t bytes[16];
};

/* The first `bits` of the 128. An IPv6 network that is not inside ::ffff:0:0/96 holds no IPv4 address, however short its prefix. */
struct cidr {
    struct ip net;
    unsigned bits;
};

/* Dotted decimal without leading zeros, or IPv6 without brackets and zone. */
bool ip_parse(struct slice text, struct ip *out);
bool ip_is_v4(const struct ip *ip);
bool ip_is_loopback(const struct ip *ip);
/* An address that another host may have, and this network's routers bring us to: not unspecified, loopback, link-local or multicast. */
bool ip_is_routed(const struct ip *ip);
bool cidr_parse(struct slice text, struct cidr *out); /* "10.0.0.0/8"; bits of the address behind the prefix are ignored */
bool cidr_has(const struct cidr *c, const struct ip *ip);

/* Letters, digits, - and _ in labels of at most 63, joined by dots, at most LIMIT_NET_HOST in all, no trailing dot. A last label of digits
 * is refused: such a name is an odd spelling of an address ("127.1", "2130706433"), and some resolvers take it for one. */
bool host_is_name(struct slice host);
bool host_is_localhost(struct slice host);                   /* localhost and everything below it: never asked of DNS (RFC 6761) */
bool host_same_tail(struct slice host, struct slice suffix); /* ends in suffix, any case */

bool port_parse(struct slice text, uint16_t *out); /* 0 to 65535, decimal */

/* Splits "host:port" and "[v6]:port" as Go's net.SplitHostPort does; false where that fails: then the whole text is the host, or nothing.
 */
bool host_split_port(struct slice s, struct slice *host, struct slice *port);

/* Where TCP connects to. */
struct address {
    socklen_t len;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
};

struct address address_of(const struct ip *ip, uint16_t port);
uint16_t address_port(const struct address *a);
enum { ADDRESS_TEXT_MAX = INET6_ADDRSTRLEN };
const char *address_text(const struct address *a, char out[ADDRESS_TEXT_MAX]); /* the IP address; the port is left out */

#endif
