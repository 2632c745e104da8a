/* Another TLS program (of OpenSSL, of GnuTLS) at the other end of a session, over a socket on loopback. */
#ifndef MOBULA_TEST_TLS_PROGRAM_H
#define MOBULA_TEST_TLS_PROGRAM_H

#include "pki.h"
#include "wire.h"

#include "src/tls/v13.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define AES128 "TLS_AES_128_GCM_SHA256"

/* A child with a pipe to its standard input and one from its output. */
struct child {
    pid_t pid;
    int in, out;
};

static struct child spawn(const char *command)
{
    int to[2], from[2];
    if (pipe(to) || pipe(from))
        fatal("pipe");
    struct child c = {.pid = fork(), .in = to[1], .out = from[0]};
    if (c.pid == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        dup2(from[1], 2);
        for (int fd = 3; fd < 64; fd++)
            close(fd);
        execl("/bin/sh", "sh", "-c", command, NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    return c;
}

static void finish(struct child *c)
{
    close(c->in);
    kill(c->pid, SIGTERM);
    waitpid(c->pid, NULL, 0);
    close(c->out);
}

/* What the child says behind these words, once `end` has come there too. */
static const char *wait_for(struct child *c, const char *words, const char *end)
{
    static char text[8192];
    for (size_t used = 0;;) {
        ssize_t n = used < sizeof text - 1 ? read(c->out, text + used, sizeof text - 1 - used) : 0;
        used += n > 0 ? (size_t)n : 0;
        text[used] = '\0';
        const char *at = strstr(text, words);
        if (at && strstr(at + strlen(words), end))
            return at + strlen(words);
        if (n <= 0)
            fatal("the other program does not say \"%s\": %s", words, text);
    }
}

/* Moves ciphertext until the session has plaintext, has ended, or (when `open`) is open. */
static void move(struct tls *t, int fd, bool open)
{
    for (;;) {
        struct slice out = tls_send_peek(t);
        if (out.len) {
            ssize_t n = send(fd, out.ptr, out.len, MSG_NOSIGNAL);
            if (n <= 0)
                return;
            tls_send_used(t, (size_t)n);
            continue;
        }
        if (tls_state(t) >= TLS_CLOSED || tls_read_peek(t).len || (open && tls_state(t) == TLS_OPEN))
            return;
        size_t room = 0;
        char *to = tls_recv_room(t, &room);
        ssize_t n = to ? recv(fd, to, room, 0) : 0;
        if (n <= 0) {
            tls_eof(t);
            return;
        }
        tls_recv_wrote(t, (size_t)n);
    }
}

static void check_info(struct tls *t, const char *want)
{
    struct tls_info i;
    char text[128];
    tls_info(t, &i);
    snprintf(text, sizeof text, "%s %s %s", i.version, i.group, i.suite);
    char *hybrid = strstr(text, " X25519MLKEM768 "); /* OpenSSL from 3.5 on takes the hybrid, unless the row forces a group */
    if (hybrid && strstr(want, " X25519 "))
        memmove(hybrid + 7, hybrid + 15, strlen(hybrid + 15) + 1);
    /* a processor without instructions for AES prefers ChaCha20, where a row does not force the suite */
    const char *aes = v13_fast_aes() ? NULL : strstr(want, "AES_128_GCM_SHA256");
    char otherwise[128];
    snprintf(otherwise, sizeof otherwise, "%.*sCHACHA20_POLY1305_SHA256", aes ? (int)(aes - want) : 0, want);
    CHECK_STR(slice_of(text), aes && strcmp(text, otherwise) == 0 ? otherwise : want);
}

static void hears(struct tls *t, int fd, const char *text)
{
    move(t, fd, false);
    struct slice got = tls_read_peek(t);
    CHECK_STR(got, text);
    tls_read_used(t, got.len);
}

static int dial(unsigned short port)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (connect(fd, (struct sockaddr *)&at, sizeof at))
        fatal("connect");
    return fd;
}

static const char *ca_of(const char *server)
{
    return strcmp(server, "rsa8192") == 0                                 ? "rsa8192-ca.pem"
           : strcmp(server, "rsa") == 0 || strncmp(server, "pss", 3) == 0 ? "rsa-ca.pem"
                                                                          : "ca.pem";
}

static struct tls *session(const char *server, const char *client)
{
    struct tls_options o = {.name = SLICE("kubernetes.default.svc"), .wall_us = clock_now().wall_us};
    o.trust = pki_trust(ca_of(server));
    o.identity = client ? pki_identity(client) : NULL;
    struct tls *t = tls_open(&o, NULL);
    tls_trust_drop(o.trust);
    tls_identity_drop(o.identity);
    return t;
}

/* The server's end of a session. */
static struct tls *serve(const char *name)
{
    struct tls_identity *id = pki_identity(name);
    struct tls *t = tls_accept(id);
    tls_identity_drop(id);
    return t;
}

static void hang_up(struct child *c, int fd, struct tls *t)
{
    tls_free(t);
    close(fd);
    finish(c);
}

/* Talks to the child as its client. want: version, group, suite; NULL: the session fails, and its error begins with `error`. reply: what
 * the server makes of "stressed". */
static void talk(struct child *c, int fd, struct tls *t, const char *want, const char *error, const char *reply)
{
    move(t, fd, true);
    if (!want) {
        CHECK_INT(tls_state(t), TLS_FAILED);
        CHECK_STR(slice_head(slice_of(tls_error(t)->text), strlen(error)), error);
    } else if (CHECK_INT(tls_state(t), TLS_OPEN)) {
        check_info(t, want);
        say(t, "stressed\n");
        hears(t, fd, reply);
    }
    if (tls_error(t)->code && want)
        printf("  %s\n", tls_error(t)->text);
    hang_up(c, fd, t);
}

/* A listening socket on loopback. */
static int listener_on(unsigned short *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 4) || getsockname(fd, (struct sockaddr *)&at, &len))
        fatal("listen");
    *port = ntohs(at.sin_port);
    return fd;
}

/* Where other programs connect to us. */
static int begin(unsigned short *port)
{
    struct arena a = {0};
    pki_file("ca.pem", &a);
    arena_free(&a);
    alarm(120);
    signal(SIGPIPE, SIG_IGN);
    return listener_on(port);
}

#endif
