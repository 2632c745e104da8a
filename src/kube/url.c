#include "config.h"

static bool host_is_name(struct slice host)
{
    for (size_t i = 0; i < host.len; i++) {
        char c = host.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_'))
            return false;
    }
    return host.len > 0 && host.len <= LIMIT_NET_HOST;
}

/* "host", "host:1", "[v6]", "[v6]:1" */
static bool split_host_port(struct slice authority, struct slice *host, struct slice *port)
{
    if (!slice_starts(authority, SLICE("["))) {
        *host = slice_cut(&authority, ':');
        *port = authority;
        return host_is_name(*host);
    }
    ptrdiff_t close = slice_find(authority, ']');
    if (close < 0)
        return false;
    *host = (struct slice){authority.ptr + 1, (size_t)close - 1};
    struct slice rest = slice_skip(authority, (size_t)close + 1);
    bool colon = slice_starts(rest, SLICE(":"));
    *port = colon ? slice_skip(rest, 1) : SLICE_NONE;
    return (colon || slice_empty(rest)) && slice_find(*host, ':') >= 0 && net_is_ip(*host);
}

static struct slice cut_scheme(struct slice text, struct kube_url *out)
{
    if (slice_eq_nocase(slice_head(text, 8), SLICE("https://"))) {
        out->tls = true;
        return slice_skip(text, 8);
    }
    return slice_eq_nocase(slice_head(text, 7), SLICE("http://")) ? slice_skip(text, 7) : SLICE_NONE;
}

/* The last @ ends the user, as every browser reads it. */
static struct slice cut_user(struct slice authority, struct kube_url *out)
{
    for (size_t i = authority.len; i-- > 0;) {
        if (authority.ptr[i] != '@')
            continue;
        out->user = slice_head(authority, i);
        return slice_skip(authority, i + 1);
    }
    return authority;
}

/* No error quotes anything: of a URL that is not understood, any piece may be a password. */
bool kube_url_parse(struct slice text, const char *what, struct kube_url *out, struct err *e)
{
    *out = (struct kube_url){0};
    struct slice rest = cut_scheme(text, out), port;
    if (!rest.ptr)
        return err_set(e, ERR_CONFIG, "%s must begin with https:// or http://", what);
    struct slice authority = slice_cut(&rest, '/');
    out->path = rest.ptr ? (struct slice){rest.ptr - 1, rest.len + 1} : SLICE("");
    while (slice_ends(out->path, SLICE("/")))
        out->path.len--;
    authority = cut_user(authority, out);
    if (slice_find(out->path, '?') >= 0 || slice_find(out->path, '#') >= 0)
        return err_set(e, ERR_CONFIG, "%s has a query or a fragment: want only scheme, host, port and path", what);
    if (!split_host_port(authority, &out->host, &port))
        return err_set(e, ERR_CONFIG, "%s: there is no host name or address in it", what);
    int64_t number = out->tls ? 443 : 80;
    if (port.ptr && (!slice_int(port, &number) || number < 1 || number > UINT16_MAX))
        return err_set(e, ERR_CONFIG, "%s: what stands for its port is no port", what);
    out->port = (uint16_t)number;
    return true;
}
