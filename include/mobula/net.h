/* net: one event loop and the connections it carries. A link is the same thing for its owner whether a TLS socket, a plain one or the
 * simulator's queue is behind it. What is said over a link is unknown here.
 *
 * No connection leaves for a name or address that is not on the allowlist: that is checked before DNS is asked. */
#ifndef MOBULA_NET_H
#define MOBULA_NET_H

#include <mobula/base.h>
#include <mobula/tls.h>

/* ---- links ---- */

enum link_state {
    LINK_OPENING, /* DNS, TCP, proxy, TLS */
    LINK_OPEN,
    LINK_ENDED,  /* the peer ended it in order; what it sent before may still be read */
    LINK_FAILED, /* link_error says at which step */
};

struct link;

/* Who is told that something happened on a link: embedded by the owner. step is called from net_dispatch only, never from inside another
 * link call, so that an owner may do anything to any link inside it. */
struct link_owner {
    void (*step)(struct link_owner *owner, struct link *l, struct now now);
};

/* What a kind of link can do; the loop's and the simulator's each fill one. */
struct link_ops {
    struct slice (*peek)(struct link *l);
    void (*used)(struct link *l, size_t n);
    char *(*room)(struct link *l, size_t *n);
    void (*wrote)(struct link *l, size_t n);
    void (*close)(struct link *l);
};

struct link {
    const struct link_ops *ops;
    struct net *net;
    struct link_owner *owner;
    enum link_state state;
    struct err error;
    int64_t deadline_ms; /* absolute; passing it fails the link with ERR_TIMEOUT; TIME_NEVER. The owner sets it whenever it likes: the one
                          * given to net_open goes on after the link is open */
    int64_t peer_expires_us; /* the end of the server's certificate; 0: unknown */
    struct link *ready_next; /* private to net */
    bool ready;
};

/* Plaintext that has come, and how much of it was used. What is not used stays. While an owner leaves bytes unused, the link stops reading
 * from the wire when its buffer is full: that is the back-pressure. */
static inline struct slice link_peek(struct link *l)
{
    return l->ops->peek(l);
}
static inline void link_used(struct link *l, size_t n)
{
    l->ops->used(l, n);
}
/* Where plaintext may be put, and how much was. wrote() also sends. *n may be 0; an owner that was given 0, or that filled all of it, is
 * stepped again when there is room. */
static inline char *link_room(struct link *l, size_t *n)
{
    return l->ops->room(l, n);
}
static inline void link_wrote(struct link *l, size_t n)
{
    l->ops->wrote(l, n);
}
/* Puts as much of s as fits and takes it off the front; returns whether all of it went. */
bool link_put(struct link *l, struct slice *s);
/* The owner is done with it: the pointer is dead after this. What was written before is still sent (bounded by a short deadline). */
static inline void link_close(struct link *l)
{
    l->ops->close(l);
}

/* ---- where links come from ---- */

struct net_proxy {
    struct slice host; /* of an http:// proxy that takes CONNECT */
    uint16_t port;
    struct slice basic; /* base64 of user:password, or SLICE_NONE; never logged */
};

/* All slices are copied by net_open. */
struct endpoint {
    struct slice host; /* a DNS name without trailing dot, or an IP address without brackets */
    uint16_t port;
    bool tls;
    struct slice tls_name;   /* what the certificate must be for; empty: host */
    struct tls_trust *trust; /* counted by the link while it lives */
    struct tls_identity *identity;
    bool insecure;
    const struct net_proxy *proxy; /* NULL: direct. The proxy itself must be on the allowlist as well */
};

struct net {
    const struct net_ops *ops;
    struct link *ready_first, *ready_last; /* private: who is stepped at the next dispatch */
    struct link *turn_first;               /* private: who is still to be stepped in this one */
};

struct net_ops {
    struct link *(*open)(struct net *n, const struct endpoint *to, struct link_owner *owner, int64_t deadline_ms, struct err *e);
};

/* NULL with *e when it is refused at once (allowlist, LIMIT_NET_LINKS, malformed host); every later failure shows in the link's state. */
struct link *net_open(struct net *n, const struct endpoint *to, struct link_owner *owner, int64_t deadline_ms, struct err *e);
/* Marks a link so that its owner is stepped at the next dispatch; also how an owner asks for another turn. */
void net_wake(struct link *l);
void net_forget(struct link *l); /* for implementations: the link is going away */
/* Steps the owners of all links on which something happened. Links that become ready meanwhile wait for the next call. Returns whether any
 * did. */
bool net_dispatch(struct net *n, struct now now);

/* ---- the egress allowlist ---- */

struct net_allow; /* counted set of host:port */
struct net_allow *net_allow_new(void);
void net_allow_free(struct net_allow *a);
/* host is a name, a wildcard (see below), an IP address or a CIDR; port 0: any. setting is what an error tells the user to change
 * ("--kubeconfig", "--egress-allow"): a literal, or text that outlives the list.
 *
 * A wildcard has one star, at the end of its first label: "*.example.dev", "grafana-*.example.dev". The star stands for one character or
 * more of that label: "*.example.dev" holds a.example.dev, neither example.dev nor a.b.example.dev. */
bool net_allow_add(struct net_allow *a, struct slice host, uint16_t port, const char *setting, struct err *e);
/* The setting that adds entries, for the error about what is not on the list: a literal. */
void net_allow_remedy(struct net_allow *a, const char *setting);
/* The same of "HOST", "HOST:PORT", "[V6]:PORT", "[V6/BITS]:PORT"; without a port it is NET_ALLOW_PORT. strict: no wildcards. */
enum { NET_ALLOW_PORT = 443 };
bool net_allow_text(struct net_allow *a, struct slice text, bool strict, const char *setting, struct err *e);

/* What was added, in that order: for who tells firewalls of it. */
enum net_rule_kind { NET_NAME, NET_WILDCARD, NET_NETWORK };
struct net_rule {
    struct net_rule *next;
    enum net_rule_kind kind;
    bool v6;           /* of a network */
    uint16_t port;     /* 0: any */
    struct slice host; /* in lower case; of a network "10.0.0.0/8", of one address "10.0.0.1/32" */
    const char *setting;
};
const struct net_rule *net_allow_first(const struct net_allow *a);

/* An address that comes and goes with what it belongs to, a cluster's head: counted, and dropped as often as it was added. It comes from
 * outside, so it must be one that such a thing may have: not a name, not this machine's own (loopback, link-local, where clouds keep
 * credentials), no multicast. At most LIMIT_NET_PEERS. */
bool net_allow_peer(struct net_allow *a, struct slice ip, uint16_t port, struct err *e);
void net_allow_drop_peer(struct net_allow *a, struct slice ip, uint16_t port);
bool net_allow_check(const struct net_allow *a, struct slice host, uint16_t port, struct err *e);

/* HTTPS_PROXY and NO_PROXY as Go reads them: whether a connection to host:port goes through the proxy of this URL, which is parsed into
 * *out (memory in a). https_proxy and no_proxy are the variables' values. localhost, loopback addresses, what the variable
 * KUBERNETES_SERVICE_HOST names, .svc and .cluster.local are never proxied. Where we differ: a proxy that cannot work (https://, socks5://,
 * no host) is an error when it would be used, where Go goes direct; entries of NO_PROXY that are not ASCII match nothing. */
bool net_proxy_for(struct slice https_proxy, struct slice no_proxy, struct slice host, uint16_t port, struct arena *a,
                   struct net_proxy *out, bool *use, struct err *e);
/* "user:password" of a URL, each percent-encoded, as the credentials of Basic: of a user alone the password is empty. False: it is
 * malformed or too long. */
bool net_proxy_basic(struct slice userinfo, struct arena *a, struct slice *out);
bool net_is_ip(struct slice host);

/* ---- the loop: the one place with system calls ---- */

struct loop;
struct loop *loop_new(struct net_allow *allow, struct err *e); /* allow stays the caller's and may grow */
void loop_free(struct loop *l);                                /* ends every link at once: their pointers are dead */
struct net *loop_net(struct loop *l);
/* Listens on "HOST:PORT", ":PORT" or "[V6]:PORT"; each accepted connection becomes an open plain link, and accept is called with it to set
 * its owner (it may close it, and without an owner it is closed). At most LIMIT_NET_ACCEPTED of each listener are open at a time: for one
 * more the oldest fails with ERR_LIMIT. "0" as PORT picks one: *port. */
struct link_accept {
    void (*accept)(struct link_accept *a, struct link *l, struct now now);
};
bool loop_listen(struct loop *l, struct slice address, struct link_accept *accept, uint16_t *port, struct err *e);
/* Waits until something happened, a signal came or the deadline passed; moves bytes; returns the time. Links that have news are then found
 * by net_dispatch. */
struct now loop_wait(struct loop *l, int64_t deadline_ms);
/* SIGTERM, SIGINT and SIGHUP are blocked and read here: the next one that came, or 0. */
int loop_signal(struct loop *l);

#endif
