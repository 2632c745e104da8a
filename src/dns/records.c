/* Collects host names and addresses from the operator's objects. */
#include <mobula/dns.h>
#include <mobula/route.h>

#define HOSTNAME "external-dns.alpha.kubernetes.io/hostname"

void dns_say(struct dns_records *r, struct slice what, struct slice of, const char *why)
{
    r->say(arena_clean(r->a, arena_printf(r->a, "%.*s of %.*s is left out: %s", SLICE_ARG(what), SLICE_ARG(of), why), KIB));
}

bool dns_is_name(struct slice text)
{
    return !net_is_ip(text) && net_is_host(text) && name_dns_host(text); /* net_is_host: 10.0.0 is no name */
}

static struct slice annotation(struct jval object, const char *name, struct arena *a)
{
    return json_str(json_child(json_get(object, "metadata.annotations"), name), a);
}

static struct dns_host *make_host(struct dns_records *r, struct slice name)
{
    struct dns_host *h = arena_new(r->a, struct dns_host);
    h->name = arena_dup(r->a, name);
    map_put(&r->found, h->name, h);
    return h;
}

/* ---- addresses: they go to r->to ---- */

/* Adds each of "A,B". A DNS name becomes a CNAME, beside which no other record is allowed. */
static void add_addresses(struct dns_records *r, struct slice list)
{
    while (!slice_empty(list)) {
        struct slice one = slice_trim(slice_cut(&list, ',')), had = r->to;
        bool name = dns_is_name(one);
        if (slice_listed(had, one))
            continue;
        if (!name && !net_is_ip(one))
            dns_say(r, one, r->text, "it is neither an IP address nor a DNS name");
        else if (had.len && (name || dns_is_name(had) || had.len > LIMIT_DNS_ADDRESSES))
            dns_say(r, one, r->text, "there are other addresses");
        else
            r->to = had.len ? arena_printf(r->a, "%.*s,%.*s", SLICE_ARG(had), SLICE_ARG(one)) : arena_dup(r->a, one);
    }
}

/* Adds the addresses of the annotation or, without one, of the list in the status. Returns whether the object has either. */
static bool add_own(struct dns_records *r, struct jval object, const char *status)
{
    struct slice given = annotation(object, ROUTE_ADDRESS, r->a);
    struct jval k, one;
    add_addresses(r, given);
    if (!slice_empty(given))
        return true;
    for (struct jiter it = json_iter(json_get(object, status)); json_next(&it, &k, &one);) {
        struct slice ip = json_get_str(one, "ip", r->a), name = json_get_str(one, "hostname", r->a);
        add_addresses(r, ip.len ? ip : name.len ? name : json_get_str(one, "value", r->a));
    }
    return r->to.len > 0;
}

/* Reads a Gateway, if none of that key was read before. NULL: *e. */
static const struct dns_host *find_gateway(struct dns_records *r, struct slice ns, struct slice name, struct err *e)
{
    struct slice key = arena_printf(r->a, "Gateway %.*s/%.*s", SLICE_ARG(ns), SLICE_ARG(name)), text = r->text, to = r->to;
    struct dns_host *h = map_get(&r->found, key);
    __attribute__((cleanup(arena_free))) struct arena scratch = {0};
    struct jval gateway = NO_VALUE;
    if (h)
        return h;
    if (name_dns1123_label(ns) && name_dns1123_subdomain(name) && !r->gateway(r, ns, name, &scratch, &gateway, e))
        return NULL;
    h = make_host(r, key);
    r->text = key;
    r->to = SLICE_NONE;
    add_own(r, gateway, "status.addresses");
    h->to = r->to;
    r->text = text;
    r->to = to;
    return h;
}

/* Adds the addresses of the Gateways of a route. */
static bool add_parents(struct dns_records *r, struct jval route, struct err *e)
{
    struct jval k, parent;
    for (struct jiter it = json_iter(json_get(route, "spec.parentRefs")); json_next(&it, &k, &parent);) {
        struct slice ns = json_get_str(parent, "namespace", r->a);
        ns = ns.ptr ? ns : json_get_str(route, "metadata.namespace", r->a);
        const struct dns_host *h = find_gateway(r, ns, json_get_str(parent, "name", r->a), e);
        if (!h)
            return false;
        add_addresses(r, h->to);
    }
    return true;
}

/* ---- hosts: they get r->to ---- */

/* A host has the addresses of one object. */
static void add_host(struct dns_records *r, struct slice name)
{
    struct dns_host *h = map_get(&r->found, name);
    struct slice to = r->to;
    if (!dns_is_name(slice_skip(name, slice_starts(name, SLICE("*.")) ? 2 : 0))) {
        dns_say(r, name, r->text, "it is no DNS name");
        return;
    }
    if (!h) {
        h = make_host(r, name);
        h->object = r->text;
        *(r->first ? &r->last->next : &r->first) = h;
        r->last = h;
    }
    if (slice_empty(h->to) && !slice_empty(to)) {
        h->object = r->text;
        h->to = to;
    }
    while (!slice_empty(to)) {
        struct slice one = slice_cut(&to, ',');
        if (!slice_listed(h->to, one))
            dns_say(r, one, r->text, arena_printf(r->a, "%.*s has other addresses", SLICE_ARG(name)).ptr);
    }
}

/* Appends the hosts of an object: "A,B,". */
static void put_hosts(struct jval object, struct arena *a, struct buf *out)
{
    static const char *const lists[] = {"spec.rules", "spec.hostnames", "spec.hosts"};
    struct jval k, one;
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        for (struct jiter it = json_iter(json_get(object, lists[i])); json_next(&it, &k, &one);) {
            buf_put(out, json_str(json_type(one) == JSON_OBJECT ? json_get(one, "host") : one, a));
            buf_putc(out, ',');
        }
    buf_put(out, annotation(object, HOSTNAME, a));
}

/* The annotation is that of all objects that the operator makes. A Service of another type has no address outside the cluster. */
bool dns_add(struct dns_records *r, const char *kind, struct jval object, struct err *e)
{
    struct jval type = json_get(object, "spec.type");
    struct slice ns = json_get_str(object, "metadata.namespace", r->a), name = json_get_str(object, "metadata.name", r->a);
    __attribute__((cleanup(buf_free))) struct buf hosts = {.max = LIMIT_JSON_ITEM};
    if (slice_empty(annotation(object, RAY_ANNOTATION_HASH, r->a)) || (json_there(type) && !json_is(type, "LoadBalancer")) ||
        !name_dns1123_subdomain(name) || !name_dns1123_label(ns))
        return true;
    r->text = arena_printf(r->a, "%s %.*s/%.*s", kind, SLICE_ARG(ns), SLICE_ARG(name));
    r->to = SLICE_NONE;
    put_hosts(object, r->a, &hosts);
    bool looked = false; /* for addresses: when the first host is found */
    for (struct slice rest = buf_slice(&hosts); !slice_empty(rest);) {
        struct slice host = slice_trim(slice_cut(&rest, ','));
        if (slice_empty(host) || slice_is(host, "*")) /* a route for all hosts needs no record */
            continue;
        if (!looked) {
            looked = true;
            add_addresses(r, r->o->address);
            if (!r->to.len && !add_own(r, object, "status.loadBalancer.ingress") && !add_parents(r, object, e))
                return false;
        }
        add_host(r, host);
    }
    return true;
}
