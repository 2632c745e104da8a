/* TLS on the connections to the API server, of worlds that have it. Both ends are sessions of room tls: operator and server write records,
 * which the wire carries, delays, splits, drops and cuts. Certificates have RSA keys, because the length of an ECDSA
 * signature varies, and a seed would not replay. */
#include "wire.h"

#include "src/tls/session.h"
#include "tests/unit/tls/pki.h"

enum { UPDATE_ONCE_IN = 40 }; /* writes of which one begins with a KeyUpdate */

struct world_keys {
    struct tls_trust *trust;
    struct tls_identity *identity;
};

static const struct world_keys *keys_of(struct world *w)
{
    if (!w->keys) {
        w->keys = mem_alloc(sizeof *w->keys);
        *w->keys = (struct world_keys){pki_trust("rsa-ca.pem"), pki_identity("rsa")};
    }
    return w->keys;
}

void secure_end(struct world *w)
{
    if (!w->keys)
        return;
    tls_trust_drop(w->keys->trust);
    tls_identity_drop(w->keys->identity);
    mem_free(w->keys);
    w->keys = NULL;
}

void secure_free(struct wire *x)
{
    tls_free(x->ours);
    tls_free(x->theirs);
}

/* ---- records on the wire ---- */

/* torn: a random part of the last record is missing. */
static void flush(struct world *w, struct wire *x, struct tls *t, bool torn)
{
    for (struct slice out; (out = tls_send_peek(t)).len; tls_send_used(t, out.len)) {
        w->hits.torn += torn;
        struct slice part = torn ? slice_head(out, (size_t)rng_below(&w->rng, out.len)) : out;
        if (!x->silent && !x->broken && part.len)
            wire_push(w, t == x->ours ? &x->up : &x->down, part);
    }
}

/* New keys for what this end sends; every second time it asks the other end for the same. */
static void update(struct world *w, struct tls *t)
{
    struct v13 *v = &t->side.modern;
    if (t->old || t->state != TLS_OPEN || rng_below(&w->rng, UPDATE_ONCE_IN) != 0)
        return;
    v13_send(v, RECORD_HANDSHAKE, rng_below(&w->rng, 2) ? SLICE("\x18\0\0\1\1") : SLICE("\x18\0\0\1\0"));
    v13_keys_update(&v->out);
    w->hits.updates++;
}

void secure_write(struct world *w, struct wire *x, struct tls *t, struct slice plain, bool torn)
{
    size_t room = 0;
    update(w, t);
    flush(w, x, t, false);
    for (char *to; plain.len && (to = tls_write_room(t, &room)) != NULL;) {
        size_t n = plain.len < room ? plain.len : room;
        memcpy(to, plain.ptr, n);
        tls_write_wrote(t, n);
        tls_flush(t);
        plain = slice_skip(plain, n);
        flush(w, x, t, torn && !plain.len);
    }
}

void secure_close(struct world *w, struct wire *x, struct tls *t)
{
    tls_close(t);
    flush(w, x, t, false);
}

/* ---- the two ends ---- */

void secure_open(struct world *w, struct wire *x)
{
    const struct world_keys *k = keys_of(w);
    struct tls_options o = {.name = SLICE("kubernetes.default.svc"), .trust = k->trust, .wall_us = clock_now().wall_us};
    struct err e = {0};
    x->ours = tls_open(&o, &e);
    if (!x->ours)
        fatal("world: %s", e.text);
    x->theirs = tls_accept(k->identity);
    if (w->tls == WORLD_TLS12) { /* a server without TLS 1.3, which does not mark its hello as one of a server with it */
        tls_go_old(x->theirs);
        br_ssl_engine_remove_flags(&x->theirs->side.engine, BR_OPT_KNOWS_TLS13);
    }
    flush(w, x, x->ours, false);
}

/* Gives bytes of the wire to the session, as many as it takes, and their plaintext to `heard`. */
static void receive(struct world *w, struct wire *x, struct tls *t, struct slice bytes,
                    void (*heard)(struct world *w, struct wire *x, struct slice plain))
{
    size_t room = 0;
    for (char *to; bytes.len && (to = tls_recv_room(t, &room)) != NULL;) {
        size_t n = bytes.len < room ? bytes.len : room;
        memcpy(to, bytes.ptr, n);
        tls_recv_wrote(t, n);
        bytes = slice_skip(bytes, n);
        for (struct slice plain; (plain = tls_read_peek(t)).len; tls_read_used(t, plain.len))
            heard(w, x, plain);
    }
    flush(w, x, t, false);
}

static void hear(struct world *w, struct wire *x, struct slice plain)
{
    (void)w;
    if (x->link)
        buf_put(&x->link->in, plain);
}

/* The client's session has opened: in the version of this world. */
static void opened(struct world *w, struct wire *x)
{
    struct tls_info i;
    struct link *l = &x->link->link;
    tls_info(x->ours, &i);
    if (strcmp(i.version, w->tls == WORLD_TLS12 ? "TLS 1.2" : "TLS 1.3") != 0)
        fatal("world: a session of %s", i.version);
    l->tls[0] = i.version, l->tls[1] = i.group, l->tls[2] = i.suite, l->tls[3] = i.certificate;
    l->state = LINK_OPEN;
    net_wake(l);
    w->hits.sessions++;
}

/* The state of the link follows that of its session. */
static void settle(struct world *w, struct wire *x)
{
    const struct err *e = tls_error(x->ours);
    if (!x->link)
        return;
    if (tls_state(x->ours) == TLS_OPEN && x->link->link.state == LINK_OPENING)
        opened(w, x);
    else if (tls_state(x->ours) == TLS_CLOSED)
        wire_tell(&x->link->link, LINK_ENDED, ERR_CLOSED, "");
    else if (tls_state(x->ours) == TLS_FAILED)
        wire_tell(&x->link->link, LINK_FAILED, e->code, e->text);
}

void secure_down(struct world *w, struct wire *x, struct slice bytes)
{
    if (!x->link)
        return;
    receive(w, x, x->ours, bytes, hear);
    settle(w, x);
    if (x->link)
        net_wake(&x->link->link);
}

void secure_ended(struct world *w, struct wire *x)
{
    tls_eof(x->ours);
    settle(w, x);
}

/* Returns false when the server's end has given the session up. */
bool secure_up(struct world *w, struct wire *x, struct slice bytes, void (*serve)(struct world *w, struct wire *x, struct slice plain))
{
    receive(w, x, x->theirs, bytes, serve);
    return tls_state(x->theirs) != TLS_FAILED;
}
