/* A port on which nobody listens. */
#ifndef MOBULA_TEST_PORTS_H
#define MOBULA_TEST_PORTS_H

#include <mobula/base.h>

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

/* Connections to *port are refused until the descriptor is closed. It is bound: a port that was merely free a moment ago may be another
 * program's by now. */
__attribute__((unused)) static int closed_port(uint16_t *port)
{
    struct sockaddr_in6 both = {.sin6_family = AF_INET6};
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    socklen_t len = sizeof both;
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){0}, sizeof(int)) == 0 &&
        bind(fd, (struct sockaddr *)&both, sizeof both) == 0 && getsockname(fd, (struct sockaddr *)&both, &len) == 0) {
        *port = ntohs(both.sin6_port);
        return fd;
    }
    if (fd >= 0)
        close(fd);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* a machine without IPv6 */
    len = sizeof v4;
    if (fd < 0 || bind(fd, (struct sockaddr *)&v4, sizeof v4) != 0 || getsockname(fd, (struct sockaddr *)&v4, &len) != 0)
        fatal("no port: %s", strerror(errno));
    *port = ntohs(v4.sin_port);
    return fd;
}

#endif
