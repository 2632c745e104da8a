#include "loop.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

/* A NAT drops a mapping that was silent for 4 minutes, and some firewalls much earlier; a path that died says nothing at all. So a silent
 * connection is probed after 15 s and every 15 s, and given up when neither a probe nor bytes of ours were acknowledged: after 45 s of
 * silence, or 40 s after bytes were sent. Linux gives up at the first probe that is due after TCP_UNACKED_MS, whatever TCP_PROBES says. */
enum { TCP_IDLE_S = 15, TCP_PROBE_S = 15, TCP_PROBES = 3, TCP_UNACKED_MS = 40 * 1000, TCP_BACKLOG = 512 };

void tcp_options(int fd)
{
    static const struct {
        int level, name, value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},           {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, TCP_IDLE_S}, {IPPROTO_TCP, TCP_KEEPINTVL, TCP_PROBE_S},
        {IPPROTO_TCP, TCP_KEEPCNT, TCP_PROBES},  {IPPROTO_TCP, TCP_USER_TIMEOUT, TCP_UNACKED_MS},
    };
    for (size_t i = 0; i < COUNT_OF(options); i++)
        setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof options[i].value);
}

void tcp_silent(int fd)
{
    static const int off = 0;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &off, sizeof off);
}

bool tcp_is_scarce(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

int tcp_socket(int family)
{
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        tcp_options(fd);
    return fd;
}

/* "HOST:PORT", ":PORT", "[V6]:PORT"; no host is every address of both families, where there are two. */
static bool read_address(struct slice text, struct ip *ip, uint16_t *port, struct err *e)
{
    static const struct ip any = {{0}}, loopback = {{[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}};
    size_t colon = text.len;
    while (colon > 0 && text.ptr[colon - 1] != ':')
        colon--;
    struct slice host = slice_head(text, colon ? colon - 1 : 0);
    bool bracket = slice_starts(host, SLICE("[")) && slice_ends(host, SLICE("]"));
    if (bracket)
        host = (struct slice){host.ptr + 1, host.len - 2};
    bool ok = colon > 0 && port_parse(slice_skip(text, colon), port) && bracket == (slice_find(host, ':') >= 0);
    if (slice_empty(host))
        *ip = any;
    else if (host_is_localhost(host))
        *ip = loopback;
    else
        ok = ok && ip_parse(host, ip);
    return ok || err_set(e, ERR_CONFIG, "\"%.*s\" is not an address to listen on: want IP:PORT, [IPV6]:PORT or :PORT", SLICE_ARG(text));
}

static int bound_socket(const struct address *a)
{
    int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    const int on = 1, off = 0;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, &a->any, a->len) == 0 && listen(fd, TCP_BACKLOG) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

bool tcp_listen(struct slice address, int *fd, uint16_t *port, struct err *e)
{
    struct ip ip;
    if (!read_address(address, &ip, port, e))
        return false;
    struct address a = address_of(&ip, *port);
    *fd = bound_socket(&a);
    if (*fd < 0 && slice_starts(address, SLICE(":"))) { /* a machine without IPv6 */
        static const struct ip any_v4 = {{[10] = 0xff, [11] = 0xff}};
        a = address_of(&any_v4, *port);
        *fd = bound_socket(&a);
    }
    if (*fd < 0)
        return err_set(e, ERR_IO, "cannot listen on %.*s: %s", SLICE_ARG(address), strerror(errno));
    a.len = sizeof a.v6;
    getsockname(*fd, &a.any, &a.len);
    *port = address_port(&a);
    return true;
}
