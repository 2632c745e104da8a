/* The wire between a client's and a server's session in the same process. */
#ifndef MOBULA_TEST_TLS_WIRE_H
#define MOBULA_TEST_TLS_WIRE_H

#include "../test.h"

#include <mobula/tls.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"

/* What one has for the wire goes to the other, `most` bytes at a time. */
static bool carry(struct tls *from, struct tls *to, size_t most)
{
    size_t room = 0;
    struct slice out = slice_head(tls_send_peek(from), most);
    char *at = tls_recv_room(to, &room);
    size_t n = out.len < room ? out.len : room;
    if (!at || n == 0)
        return false;
    memcpy(at, out.ptr, n);
    tls_send_used(from, n);
    tls_recv_wrote(to, n);
    return true;
}

/* The session sends this text, which must fit its record buffer. */
static void say(struct tls *t, const char *text)
{
    size_t room = 0;
    char *to = tls_write_room(t, &room);
    if (!CHECK(to && room >= strlen(text)))
        return;
    memcpy(to, text, strlen(text));
    tls_write_wrote(t, strlen(text));
    tls_flush(t);
}

static void pump(struct tls *a, struct tls *b, size_t most)
{
    for (bool moved = true; moved;) {
        moved = carry(a, b, most);
        moved |= carry(b, a, most);
    }
}

/* Whether our own client, which trusts these PEM texts, takes the server of this identity for `name` at this time. */
static bool trusts(struct slice trusted, const char *name, int64_t wall_us, struct tls_identity *id)
{
    struct err e = {0};
    uint32_t count = 0, skipped = 0;
    struct tls_options o = {.name = slice_of(name), .wall_us = wall_us, .trust = tls_trust_load(trusted, &count, &skipped, &e)};
    if (!CHECK(o.trust && id))
        return false;
    struct tls *client = tls_open(&o, &e), *server = tls_accept(id);
    tls_trust_drop(o.trust);
    pump(client, server, SIZE_MAX);
    bool open = tls_state(client) == TLS_OPEN && tls_state(server) == TLS_OPEN;
    tls_free(client);
    tls_free(server);
    return open;
}

#pragma GCC diagnostic pop

#endif
