/* resolve: names to addresses, on one helper thread, because getaddrinfo blocks for as long as it likes. The loop asks, goes on, and is
 * woken through a descriptor. The thread starts with the first question: with IP addresses only, the process stays single-threaded.
 *
 * A name is looked up as it stands in /etc/hosts, and then in DNS with a trailing dot, so that search domains are never tried: they leak
 * the name, and one of them answering REFUSED would end the lookup before the real name was asked. libc does not find a name with a
 * trailing dot in /etc/hosts; hence we read that file ourselves. */
#ifndef MOBULA_NET_RESOLVE_H
#define MOBULA_NET_RESOLVE_H

#include "host.h"

struct addresses {
    unsigned count;
    struct address at[LIMIT_NET_ADDRESSES];
};

struct lookup {
    struct lookup *next;
    void *asker; /* NULL: nobody waits for it any more */
    bool taken;  /* the thread has it, or had it */
    struct addresses found;
    struct err error; /* ERR_DNS when there is no address */
    uint16_t port;
    char name[LIMIT_NET_HOST + 2]; /* with its trailing dot */
};

struct resolver;
struct resolver *resolver_new(struct err *e);
void resolver_free(struct resolver *r);    /* does not wait: a thread that is stuck takes the rest with it when it returns */
int resolver_fd(const struct resolver *r); /* readable when there are answers */
struct lookup *resolver_ask(struct resolver *r, struct slice host, uint16_t port, void *asker, struct err *e);
/* The asker gave up. A question that the thread has not begun is forgotten, so questions never pile up behind a stuck one. */
void resolver_drop(struct resolver *r, struct lookup *l);
/* The next answer, to be freed with mem_free; NULL when there is none. Answers nobody waits for are left out. */
struct lookup *resolver_next(struct resolver *r);

/* Whether this line of /etc/hosts ("address name alias… # comment") gives the name an address. */
bool hosts_line_has(struct slice line, struct slice name, struct ip *out);
/* The cluster's domain for a name that ends in ".svc", from a line "search … svc.DOMAIN …" of /etc/resolv.conf, as kubelets write it.
 * Empty: the name does not end so, or the line has no such domain. */
struct slice search_line_domain(struct slice line, struct slice name);
/* localhost is not asked of anybody. */
void addresses_of_localhost(uint16_t port, struct addresses *out);

#endif
