#include <mobula/net.h>

#include <mobula/http.h>

#include "host.h"

#include <stdio.h>
#include <stdlib.h>

enum { PROXY_PORT = 80 };

/* The connection that NO_PROXY is asked about. */
struct target {
    struct slice host;
    struct slice port; /* as text, because that is how entries are compared: ":0443" is not ":443" */
    bool is_ip;
    struct ip ip;
};

/* "foo.com" holds itself and its subdomains, ".foo.com" and "*.foo.com" subdomains only. */
static bool domain_holds(struct slice domain, struct slice host)
{
    if (slice_starts(domain, SLICE("*.")))
        domain = slice_skip(domain, 1);
    if (domain.ptr[0] == '.')
        return host_same_tail(host, domain);
    if (!host_same_tail(host, domain))
        return false;
    return host.len == domain.len || host.ptr[host.len - domain.len - 1] == '.';
}

/* One entry of NO_PROXY. What cannot be read holds nothing. */
static bool entry_holds(struct slice entry, const struct target *to)
{
    struct cidr network;
    if (cidr_parse(entry, &network))
        return to->is_ip && cidr_has(&network, &to->ip);
    struct slice host, port;
    if (!host_split_port(entry, &host, &port)) {
        host = entry;
        port = SLICE_NONE;
    }
    if (slice_empty(host) || (!slice_empty(port) && !slice_eq(port, to->port)))
        return false;
    struct ip ip;
    if (ip_parse(host, &ip))
        return to->is_ip && memcmp(&ip, &to->ip, sizeof ip) == 0;
    return !to->is_ip && domain_holds(host, to->host);
}

static bool list_holds(struct slice no_proxy, const struct target *to)
{
    /* Split first: Go looks for "*" among all entries, and an entry before it cannot say otherwise. */
    while (no_proxy.ptr) {
        struct slice entry = slice_trim(slice_cut(&no_proxy, ','));
        if (slice_is(entry, "*") || (!slice_empty(entry) && entry_holds(entry, to)))
            return true;
    }
    return false;
}

static bool never_proxied(const struct target *to)
{
    struct slice api = slice_of(getenv("KUBERNETES_SERVICE_HOST"));
    if (to->is_ip ? ip_is_loopback(&to->ip) : slice_eq_nocase(to->host, SLICE("localhost")))
        return true;
    return (!slice_empty(api) && slice_eq_nocase(to->host, api)) || host_same_tail(to->host, SLICE(".svc")) ||
           host_same_tail(to->host, SLICE(".cluster.local"));
}

bool net_proxy_basic(struct slice userinfo, struct arena *a, struct slice *out)
{
    struct slice password = userinfo, user = slice_cut(&password, ':');
    struct buf plain, encoded;
    buf_init(&plain, LIMIT_HTTP_URL);
    buf_init(&encoded, LIMIT_HTTP_URL * 2);
    bool ok = http_percent_decode(user, a, &user) && http_percent_decode(password, a, &password) && buf_put(&plain, user) &&
              buf_putc(&plain, ':') && buf_put(&plain, password) && base64_encode(buf_slice(&plain), &encoded);
    if (ok)
        *out = arena_dup(a, buf_slice(&encoded));
    buf_wipe(&plain);
    buf_wipe(&encoded);
    return ok;
}

/* "host", "host:port", "[v6]:port" of a URL. */
static bool read_authority(struct slice s, struct net_proxy *out)
{
    struct slice port;
    struct ip ip;
    bool bracket = slice_starts(s, SLICE("["));
    out->port = PROXY_PORT;
    if (!host_split_port(s, &out->host, &port)) {
        bool closed = bracket && slice_ends(s, SLICE("]"));
        out->host = closed ? (struct slice){s.ptr + 1, s.len - 2} : s;
    } else if (!slice_empty(port) && (!port_parse(port, &out->port) || out->port == 0)) {
        return false;
    }
    bool v6 = slice_find(out->host, ':') >= 0;
    return bracket == v6 && (ip_parse(out->host, &ip) || host_is_name(out->host));
}

/* No error quotes the URL: it may hold a password. `from` is the variable that it stands in. */
static bool read_url(struct slice url, const char *from, struct arena *a, struct net_proxy *out, struct err *e)
{
    *out = (struct net_proxy){0};
    ptrdiff_t at = slice_find_text(url, "://");
    if (at >= 0 && slice_find(url, ':') == at) { /* else it stands in a password */
        struct slice scheme = slice_head(url, (size_t)at);
        url = slice_skip(url, scheme.len + strlen("://"));
        if (!slice_eq_nocase(scheme, SLICE("http")))
            return err_set(e, ERR_CONFIG, "%s names a proxy of scheme %.*s://: only http:// proxies are supported", from,
                           SLICE_ARG(slice_head(scheme, 16)));
    }
    size_t end = 0;
    while (end < url.len && url.ptr[end] != '/' && url.ptr[end] != '?' && url.ptr[end] != '#')
        end++;
    url = slice_head(url, end);
    size_t sign = url.len; /* behind the last @: a password may hold one */
    while (sign > 0 && url.ptr[sign - 1] != '@')
        sign--;
    if (sign > 0 && !net_proxy_basic(slice_head(url, sign - 1), a, &out->basic))
        return err_set(e, ERR_CONFIG, "%s has a user or password that is malformed or too long: want percent-encoded text", from);
    if (!read_authority(slice_skip(url, sign), out))
        return err_set(e, ERR_CONFIG, "%s is not a proxy's address: want http://[USER:PASSWORD@]HOST[:PORT]", from);
    out->host = arena_dup(a, out->host);
    return true;
}

#define TABLE "MOBULA_PROXIES"

/* The first of two variables that is set to something, as in Go: an empty one does not hide the other. */
static struct slice variable(const char *name, const char *other)
{
    struct slice value = slice_of(getenv(name));
    return slice_empty(value) ? slice_of(getenv(other)) : value;
}

struct net_proxies net_proxies_environment(void)
{
    return (struct net_proxies){variable("HTTPS_PROXY", "https_proxy"), variable("NO_PROXY", "no_proxy"), slice_of(getenv(TABLE))};
}

/* The table's entry for it; SLICE_NONE: nothing. */
static bool look_up(struct slice table, const struct target *to, struct slice *url, struct err *e)
{
    while (!slice_empty(table)) {
        struct slice value = slice_trim(slice_cut(&table, ',')), entry = slice_cut(&value, '=');
        if (slice_empty(entry) || slice_empty(value))
            return err_set(e, ERR_CONFIG, TABLE ": want ENTRY=URL or ENTRY=direct, joined by commas; entries are those of NO_PROXY");
        if (list_holds(entry, to)) {
            *url = value;
            return true;
        }
    }
    return true;
}

bool net_proxy_for(const struct net_proxies *p, struct slice host, uint16_t port, struct arena *a, struct net_proxy *out, bool *use,
                   struct err *e)
{
    char port_text[8];
    struct target to = {.host = host};
    struct slice url = SLICE_NONE;
    to.port = (struct slice){port_text, (size_t)snprintf(port_text, sizeof port_text, "%u", port)};
    to.is_ip = ip_parse(host, &to.ip);
    *use = false;
    if (!look_up(p->table, &to, &url, e))
        return false;
    *use = url.ptr ? !slice_eq(url, SLICE("direct")) : !slice_empty(p->https) && !never_proxied(&to) && !list_holds(p->none, &to);
    return !*use || read_url(url.ptr ? url : p->https, url.ptr ? "a URL of " TABLE : "HTTPS_PROXY", a, out, e);
}

bool net_is_ip(struct slice host)
{
    struct ip ip;
    return ip_parse(host, &ip);
}

bool net_is_host(struct slice host)
{
    return net_is_ip(host) || host_is_name(host);
}
