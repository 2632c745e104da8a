/* net: the event loop and its connections. A link is a byte stream with the same interface over a TLS socket, a plain socket and the
 * simulator's queue. This room does not know the protocol spoken over a link.
 *
 * No connection is opened to a name or address that is not on the allowlist; this is checked before DNS is asked. */
#ifndef MOBULA_NET_H
#define MOBULA_NET_H

#include <mobula/base.h>
#include <mobula/tls.h>

/* ---- links ---- */

enum link_state {
    LINK_OPENING, /* DNS, TCP, proxy, TLS */
    LINK_OPEN,
    LINK_ENDED,  /* closed by the peer in order; bytes received before can still be read */
    LINK_FAILED, /* link_error says at which step */
};

struct link;

/* Worth of an accepted link: a listener that is full closes the link of least worth. The owner of the link raises it. */
enum link_worth {
    LINK_STRANGER, /* no complete request has come yet */
    LINK_ASKED,    /* a complete request has come */
    LINK_KNOWN,    /* the token of the last request was accepted */
    LINK_SERVED,   /* likewise, and that request waits for its answer */
};

/* The owner's callback, embedded in the owner's struct: step is called after something happened on the link. It is called from net_dispatch
 * only, never from inside another link call, so it may call any function on any link. */
struct link_owner {
    void (*step)(struct link_owner *owner, struct link *l, struct now now);
};

/* Functions of one kind of link: the event loop and the simulator have one table each. */
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
    int64_t deadline_ms; /* monotonic; then the link fails with ERR_TIMEOUT. TIME_NEVER: none. The owner may change it at any time; the one
                          * given to net_open stays in force after the link is open */
    const char *tls[4];  /* TLS version, group, suite, kind of the server's key, as string constants; NULL: no TLS */
    int64_t peer_expires_us; /* wall clock: notAfter of the server's certificate; 0: unknown */
    struct link *ready_next; /* private to net */
    bool ready;
    enum link_worth worth;
    const char *peer; /* address of the client of an accepted link; NULL: unknown. Valid as long as the link */
};

/* Received plaintext, and how many bytes of it were consumed. The rest stays in the buffer. When the buffer is full the link stops reading
 * from the socket: that is the back-pressure. */
static inline struct slice link_peek(struct link *l)
{
    return l->ops->peek(l);
}
static inline void link_used(struct link *l, size_t n)
{
    l->ops->used(l, n);
}
/* Space for plaintext, and how many bytes of it were written, which also sends them. *n may be 0. An owner that got 0 or filled all of the
 * space is stepped again when there is room. */
static inline char *link_room(struct link *l, size_t *n)
{
    return l->ops->room(l, n);
}
static inline void link_wrote(struct link *l, size_t n)
{
    l->ops->wrote(l, n);
}
/* Writes as much of *s as fits and removes it from the front. Returns whether all of it was written. */
bool link_put(struct link *l, struct slice *s);
/* Closes the link; the pointer is invalid afterwards. Bytes written before are still sent, for at most NET_LINGER_MS. */
static inline void link_close(struct link *l)
{
    l->ops->close(l);
}

/* ---- opening links ---- */

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
    struct slice tls_name;   /* name that the certificate must have; empty: host */
    struct tls_trust *trust; /* counted by the link while it lives */
    struct tls_identity *identity;
    bool insecure;
    bool h2;                       /* TLS with ALPN h2 */
    bool silent;                   /* without TCP keepalives: `check --idle` looks for what forgets silent connections */
    const struct net_proxy *proxy; /* NULL: direct. The proxy itself must be on the allowlist as well */
};

struct net {
    const struct net_ops *ops;
    struct link *ready_first, *ready_last; /* private: links whose owners are stepped at the next dispatch */
    struct link *turn_first;               /* private: links not yet stepped in this dispatch */
};

struct net_ops {
    struct link *(*open)(struct net *n, const struct endpoint *to, struct link_owner *owner, int64_t deadline_ms, struct err *e);
};

/* NULL with *e if it is refused at once (allowlist, LIMIT_NET_LINKS, malformed host). Later failures are shown by the link's state. */
struct link *net_open(struct net *n, const struct endpoint *to, struct link_owner *owner, int64_t deadline_ms, struct err *e);
/* Makes the next dispatch step the link's owner; an owner may use it to be called again. */
void net_wake(struct link *l);
void net_forget(struct link *l); /* for implementations: called before a link is freed */
/* Steps the owners of all links on which something happened. Links that become ready meanwhile wait for the next call; returns whether
 * there are any. */
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
/* Drops what was added with this very literal. Memory of entries is not reused. */
void net_allow_forget(struct net_allow *a, const char *setting);
/* The setting that adds entries, for the error about what is not on the list: a literal. */
void net_allow_remedy(struct net_allow *a, const char *setting);
/* Splits "HOST", "HOST:PORT", "[V6]:PORT"; without a port it is NET_ALLOW_PORT. False: no port from 1 to 65535. What the host is, and
 * whether there is one, net_allow_add checks. */
enum { NET_ALLOW_PORT = 443 };
bool net_place(struct slice text, struct slice *host, uint16_t *port);
/* Splits "http[s]://AUTHORITY[/REST]", and takes scheme, host and port into *at. False: it is no such URL, or its port is none. */
bool net_url(struct slice url, struct endpoint *at, struct slice *authority, struct slice *rest);
/* net_allow_add for such a text; "[V6/BITS]:PORT" too. strict: no wildcards. */
bool net_allow_text(struct net_allow *a, struct slice text, bool strict, const char *setting, struct err *e);

/* The entries in the order in which they were added: for output to firewalls. */
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

/* The settings that say which proxy a connection goes through: the values of HTTPS_PROXY, NO_PROXY and MOBULA_PROXIES. */
struct net_proxies {
    struct slice https, none, table;
};
struct net_proxies net_proxies_environment(void); /* of the environment; https_proxy and no_proxy, too */
/* Whether a connection to host:port goes through a proxy, which is parsed into *out (memory in a).
 *
 * The table comes first: "ENTRY=URL,ENTRY=direct,…", entries as in NO_PROXY; the first that holds the destination decides. Then HTTPS_PROXY
 * and NO_PROXY as Go reads them: localhost, loopback addresses, what the variable KUBERNETES_SERVICE_HOST names, .svc and .cluster.local
 * are never proxied. Where we differ: a proxy that cannot work (https://, socks5://, no host) is an error when it would be used, where Go
 * goes direct; entries that are not ASCII match nothing. */
bool net_proxy_for(const struct net_proxies *p, struct slice host, uint16_t port, struct arena *a, struct net_proxy *out, bool *use,
                   struct err *e);
/* "user:password" of a URL, each percent-encoded, as the credentials of Basic: of a user alone the password is empty. False: it is
 * malformed or too long. */
bool net_proxy_basic(struct slice userinfo, struct arena *a, struct slice *out);
bool net_is_ip(struct slice host);
bool net_is_host(struct slice host); /* an address or a name, no wildcard */

/* ---- the loop: the one place with system calls ---- */

struct loop;
struct loop *loop_new(struct net_allow *allow, struct err *e); /* allow stays the caller's and may grow */
void loop_free(struct loop *l);                                /* ends every link at once: their pointers are dead */
struct net *loop_net(struct loop *l);
/* From now on plain links have buffers of NET_BULK bytes instead of NET_BUFFER: fewer system calls for a large file. */
void loop_bulk(void);
/* Keeps so many unused buffers of NET_BUFFER bytes for the next connections, for servers of many requests a second. Default: a few. */
void loop_keep(uint32_t buffers);
/* Listens on "HOST:PORT", ":PORT" or "[V6]:PORT"; each accepted connection becomes an open plain link, and accept is called with it to set
 * its owner (it may close it, and without an owner it is closed). At most `most` links of each listener are open at a time: for one more,
 * the link of least worth fails with ERR_LIMIT, a silent one before others, then the oldest. At most `most_each` links of one address below
 * LINK_KNOWN are open: for one more, a link of that address fails. "0" as PORT picks one: *port. */
struct link_accept {
    void (*accept)(struct link_accept *a, struct link *l, struct now now);
    uint32_t most;      /* 0: LIMIT_NET_ACCEPTED */
    uint32_t most_each; /* 0: no limit for one address */
};
bool loop_listen(struct loop *l, struct slice address, struct link_accept *accept, uint16_t *port, struct err *e);
/* The same with TLS: a link is accepted before its handshake, and opens after it. *identity is looked at for each connection, and may be
 * replaced. */
bool loop_listen_tls(struct loop *l, struct slice address, struct link_accept *accept, struct tls_identity *const *identity, uint16_t *port,
                     struct err *e);
/* Closes all listeners: the system refuses new connections from now on. */
void loop_deaf(struct loop *l);
/* Waits until something happened, a signal came or the deadline passed; moves bytes; returns the time. Links that have news are then found
 * by net_dispatch. */
struct now loop_wait(struct loop *l, int64_t deadline_ms);
/* SIGTERM, SIGINT and SIGHUP are blocked and read here: the next one that came, or 0. */
int loop_signal(struct loop *l);

#endif
