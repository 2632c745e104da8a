/* dns: the DNS records that host names of the operator's routes need. Objects are read from the API server; hosts and addresses are
 * collected from them; records are written in the formats of DNS servers and clouds. Hosts and addresses come from other clients, and the
 * output is pasted into shells: what is no DNS name or IP address is left out, with a line to `say`. Texts lie in the arena. */
#ifndef MOBULA_DNS_H
#define MOBULA_DNS_H

#include <mobula/explain.h>

#define DNS_FORMATS "table|zone|azure|aws|gcloud|hosts|json"

struct dns_options {
    struct seek_options seek;
    struct slice format;  /* one of DNS_FORMATS */
    struct slice zone;    /* hosts outside are left out; empty: none are */
    struct slice group;   /* resource group of azure, managed zone of gcloud; empty: "GROUP" */
    struct slice address; /* "A,B" of all hosts; empty: that of the object or of its Gateway */
    int64_t ttl;          /* s */
    bool all;             /* every namespace */
};
/* Whether the options can work; the error begins with the flag. */
bool dns_check(const struct dns_options *o, struct arena *a, struct err *e);

/* A host, or a Gateway that was read. */
struct dns_host {
    struct slice name;   /* rag.example.org, *.example.org */
    struct slice object; /* "HTTPRoute team-a/rag-httproute": gave the addresses, or was the first to name the host */
    struct slice to;     /* "A,B": IP addresses, or one DNS name; empty: none are known yet */
    struct dns_host *next;
};

struct dns_records;
/* Reads a Gateway into *out, which stays NO_VALUE if none may be read. False: *e. */
typedef bool dns_gateway(struct dns_records *r, struct slice ns, struct slice name, struct arena *a, struct jval *out, struct err *e);

/* Initialised with o, a, say, and seek or gateway. The caller frees `found`. */
struct dns_records {
    const struct dns_options *o;
    struct arena *a;
    void (*say)(struct slice line);
    struct seek *seek;    /* of dns_read … */
    dns_gateway *gateway; /* … which sets this */
    struct dns_host *first, *last;
    struct map found;      /* hosts by name, and Gateways by "Gateway NS/NAME" */
    bool waits;            /* a host has no address yet */
    struct slice text, to; /* of the object that is added: kind, namespace and name; addresses as in dns_host */
};

/* Adds the hosts of one object, if the operator has made it. */
bool dns_add(struct dns_records *r, const char *kind, struct jval object, struct err *e);
/* Adds those of all objects in the namespace or namespaces of r->seek. Kinds that the server does not know, or that may not be listed, are
 * passed over. */
bool dns_read(struct dns_records *r, struct err *e);
/* Appends the records. Sets r->waits. */
bool dns_write(struct dns_records *r, struct buf *out, struct err *e);

/* ---- between the files of the room ---- */

/* Says "WHAT of OF is left out: WHY" in one line without control characters. */
void dns_say(struct dns_records *r, struct slice what, struct slice of, const char *why);
bool dns_is_name(struct slice text); /* a DNS name in lower case, and no IP address */

#endif
