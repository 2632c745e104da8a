/* A session: TLS 1.3 of our own until the peer turns out to speak 1.2, then BearSSL's engine. */
#ifndef MOBULA_TLS_SESSION_H
#define MOBULA_TLS_SESSION_H

#include "v13.h"

/* One block: the state of either version, our class, and the record buffers in both directions. The largest record must fit, because Go
 * ignores the wish for smaller ones. */
struct tls {
    union {
        struct v13 modern;
        br_ssl_engine_context engine; /* what the next two begin with */
        br_ssl_client_context client;
        br_ssl_server_context server;
    } side;
    bool accepted;           /* we are the server */
    bool old;                /* TLS 1.2 */
    struct tls_check *check; /* of a client, until the session is open */
    int64_t expires_us;      /* of the server's certificate */
    struct tls_trust *trust;
    struct tls_identity *identity;
    enum tls_state state;
    struct err error;
    char name[LIMIT_NET_HOST + 1];
    unsigned char records[BR_SSL_BUFSIZE_BIDI];
};

/* The name for SNI. An address never goes into it: RFC 6066 forbids it, and servers refuse it. */
const char *tls_server_name(const struct tls *t);
/* old.c: goes on in TLS 1.2, with the hello that was sent and what has come. */
void tls_go_old(struct tls *t);
void tls_info_old(const br_ssl_engine_context *engine, struct tls_info *out);

#endif
