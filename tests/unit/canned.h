/* A server on loopback with a list of answers. It answers each connection with the next of them, and all that follow with the last. Answers
 * to certain requests stand at the end of the list, and are no part of that order. */
#ifndef MOBULA_TEST_CANNED_H
#define MOBULA_TEST_CANNED_H

#include <mobula/base.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

struct canned_answer {
    struct slice bytes; /* SLICE_NONE: hold the connection and say nothing */
    const char *to;     /* the answer to every request whose first line has this in it; NULL: a part of the order */
};

struct canned {
    int listener;
    uint16_t port;
    const struct canned_answer *answers;
    size_t count;
    pthread_t thread;
    char heard[16 * KIB]; /* the first line of each request, and its body: "GET /path\nPOST /path {}\n" */
};

static struct slice canned_line(struct slice request)
{
    struct slice line = slice_cut(&request, '\r');
    ptrdiff_t version = slice_find_text(line, " HTTP/1.1");
    return version < 0 ? line : slice_head(line, (size_t)version);
}

static void canned_keep(struct canned *c, struct slice request)
{
    size_t had = strlen(c->heard);
    ptrdiff_t end = slice_find_text(request, "\r\n\r\n");
    struct slice body = end < 0 ? SLICE_NONE : slice_skip(request, (size_t)end + 4), line = canned_line(request);
    snprintf(c->heard + had, sizeof c->heard - had, "%.*s%s%.*s\n", SLICE_ARG(line), slice_empty(body) ? "" : " ", SLICE_ARG(body));
}

/* *next: the place in the order. */
static struct slice canned_find(const struct canned *c, struct slice request, size_t *next)
{
    struct slice line = slice_cut(&request, '\r');
    for (size_t i = 0; i < c->count; i++)
        if (c->answers[i].to && slice_has(line, c->answers[i].to))
            return c->answers[i].bytes;
    const struct canned_answer *found = &c->answers[*next];
    *next += *next + 1 < c->count && !found[1].to;
    return found->bytes;
}

/* Closed only when the other side has: what it still sends would else be answered with a reset, sooner or later than the end is read. */
static void canned_close_behind(int fd)
{
    char byte;
    while (recv(fd, &byte, 1, 0) > 0)
        ;
    close(fd);
}

static void *canned_serve(void *arg)
{
    struct canned *c = arg;
    char text[8 * KIB];
    int fd;
    for (size_t next = 0; (fd = accept(c->listener, NULL, NULL)) >= 0;) {
        ssize_t n = recv(fd, text, sizeof text, 0);
        struct slice request = {text, n > 0 ? (size_t)n : 0}, answer = canned_find(c, request, &next);
        if (n > 0 && answer.ptr) {
            canned_keep(c, request);
            (void)!send(fd, answer.ptr, answer.len, MSG_NOSIGNAL);
        }
        if (answer.ptr)
            shutdown(fd, SHUT_WR);
        canned_close_behind(fd);
    }
    return NULL;
}

__attribute__((unused)) static void canned_start(struct canned *c, const struct canned_answer *answers, size_t count)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    *c = (struct canned){.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .answers = answers, .count = count};
    if (c->listener < 0 || bind(c->listener, (struct sockaddr *)&a, len) != 0 || listen(c->listener, 8) != 0 ||
        getsockname(c->listener, (struct sockaddr *)&a, &len) != 0)
        fatal("cannot listen");
    c->port = ntohs(a.sin_port);
    if (pthread_create(&c->thread, NULL, canned_serve, c) != 0)
        fatal("no thread");
}

/* Afterwards c->heard may be read. */
__attribute__((unused)) static void canned_stop(struct canned *c)
{
    shutdown(c->listener, SHUT_RDWR);
    pthread_join(c->thread, NULL);
    close(c->listener);
}

/* An answer of HTTP/1.1 with a body, on a connection that ends with it. */
#define CANNED_HTTP(status, body)                                                                                                          \
    {                                                                                                                                      \
        .bytes = SLICE("HTTP/1.1 " status "\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n" body)                          \
    }

#endif
