/* A session: our own TLS 1.3, or BearSSL's engine once the peer turns out to speak only TLS 1.2. */
#ifndef MOBULA_TLS_SESSION_H
#define MOBULA_TLS_SESSION_H

#include "v13.h"

/* One allocation: the state of either version and the record buffers of both directions. Each buffer holds the largest record, because Go
 * ignores max_fragment_length, which asks for smaller ones. */
struct tls {
    union {
        struct v13 modern;
        br_ssl_engine_context engine; /* first member of the next two */
        br_ssl_client_context client;
        br_ssl_server_context server;
    } side;
    bool accepted;           /* we are the server */
    bool old;                /* TLS 1.2 */
    bool h2;                 /* a client offers ALPN h2 */
    struct tls_check *check; /* verifies the server's certificate; NULL in a server, and when the session is open */
    const char *certificate; /* kind of its key; NULL until the session is open */
    int64_t expires_us;      /* notAfter of the server's certificate; 0: unknown */
    struct tls_trust *trust;
    struct tls_identity *identity;
    enum tls_state state;
    struct err error;
    char name[LIMIT_NET_HOST + 1];
    char theirs[V13_THEIRS]; /* of TLS 1.2: the cipher suites of the client, or the server's */
    unsigned char records[BR_SSL_BUFSIZE_BIDI];
};
_Static_assert(sizeof(struct tls) <= 40 * KIB, "the memory of an open session, as docs/performance.md has it");

/* The name for SNI; NULL: the name is empty or an IP address. RFC 6066 forbids addresses in SNI, and servers refuse them. */
const char *tls_server_name(const struct tls *t);
/* old.c: continues in TLS 1.2, with the ClientHello that a client has sent and the records received so far. */
void tls_go_old(struct tls *t);
void tls_info_old(const br_ssl_engine_context *engine, struct tls_info *out);

#endif
