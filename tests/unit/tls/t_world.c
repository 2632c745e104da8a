/* Random sessions of TLS 1.3 between our client and our server: a seed decides how ciphertext is cut, when each end writes, reads and
 * flushes, and when keys change. t_session does the same for TLS 1.2. */
#include "pki.h"
#include "wire.h"

#include "src/tls/session.h"

/* One end: bytes of plaintext sent (`said`) and received (`heard`); right: all received bytes were correct. */
struct end {
    struct tls *t;
    size_t said, heard;
    bool right;
};

struct world {
    struct rng rng;
    struct end ends[2]; /* client, server */
    size_t piece, total;
    size_t moved, flip; /* bytes that came from the server; the number of one that is changed on its way, from 1 */
};

static char byte_of(size_t i)
{
    return (char)(i * 11 + (i >> 9) * 5);
}

static size_t some(struct world *w, size_t most)
{
    size_t n = 1 + (size_t)rng_below(&w->rng, w->piece);
    return n < most ? n : most;
}

static void world_begin(struct world *w, const char *server, uint64_t seed)
{
    struct tls_options o = {.name = SLICE("kubernetes.default.svc"), .wall_us = clock_now().wall_us};
    struct tls_identity *id = pki_identity(server);
    o.trust = pki_trust(server[0] == 'b' ? "ca.pem" : "rsa-ca.pem");
    rng_seed(&w->rng, seed);
    w->ends[0] = (struct end){.t = tls_open(&o, NULL), .right = true};
    w->ends[1] = (struct end){.t = tls_accept(id), .right = true};
    tls_trust_drop(o.trust);
    tls_identity_drop(id);
}

static void world_end(struct world *w)
{
    tls_free(w->ends[0].t);
    tls_free(w->ends[1].t);
}

/* Moves a piece of ciphertext. */
static bool move(struct world *w, bool from_server)
{
    struct tls *from = w->ends[from_server].t, *to = w->ends[!from_server].t;
    size_t room = 0;
    struct slice out = tls_send_peek(from);
    char *at = out.len ? tls_recv_room(to, &room) : NULL;
    size_t n = some(w, out.len < room ? out.len : room);
    if (!at || n == 0)
        return false;
    memcpy(at, out.ptr, n);
    if (from_server && w->flip > w->moved && w->flip <= w->moved + n)
        at[w->flip - w->moved - 1] = (char)(at[w->flip - w->moved - 1] ^ 1);
    w->moved += from_server ? n : 0;
    tls_send_used(from, n);
    tls_recv_wrote(to, n);
    return true;
}

/* Writes and reads a piece of plaintext, if there is any. */
static bool talk(struct world *w, struct end *e)
{
    size_t room = 0, before = e->said + e->heard;
    char *to = e->said < w->total ? tls_write_room(e->t, &room) : NULL;
    size_t n = to ? some(w, room < w->total - e->said ? room : w->total - e->said) : 0;
    for (size_t i = 0; i < n; i++)
        to[i] = byte_of(e->said + i);
    e->said += n;
    tls_write_wrote(e->t, n);
    if (rng_below(&w->rng, 3) == 0 || e->said == w->total)
        tls_flush(e->t);
    struct slice got = tls_read_peek(e->t);
    got = slice_head(got, some(w, got.len));
    for (size_t i = 0; i < got.len; i++)
        e->right &= got.ptr[i] == byte_of(e->heard + i);
    e->heard += got.len;
    tls_read_used(e->t, got.len);
    return e->said + e->heard != before;
}

/* New keys for what this end sends; with `ask` for what it receives, too. */
static void change_keys(struct end *e, bool ask)
{
    struct v13 *v = &e->t->side.modern;
    if (v->queue.len || v->writing.sealed_end)
        return;
    v13_send(v, RECORD_HANDSHAKE, ask ? SLICE("\x18\0\0\1\1") : SLICE("\x18\0\0\1\0"));
    v13_keys_update(&v->out);
}

static void world_run(struct world *w, unsigned changes)
{
    for (int idle = 0; idle < 3;) {
        bool any = false;
        for (unsigned i = 0; i < 2; i++) {
            any |= move(w, i);
            if (tls_state(w->ends[i].t) != TLS_OPEN)
                continue;
            any |= talk(w, &w->ends[i]);
            if (changes && w->ends[i].said < w->total && rng_below(&w->rng, changes) == 0)
                change_keys(&w->ends[i], rng_below(&w->rng, 2));
        }
        idle = any ? 0 : idle + 1;
    }
}

static void transfers(void)
{
    for (uint64_t seed = 0; seed < 24; seed++) {
        struct world w = {.piece = seed % 3 == 0 ? 5 : seed % 3 == 1 ? 700 : 30000, .total = seed % 3 == 0 ? 3000 : 200000};
        test_case("transfer, seed %d", (int)seed);
        world_begin(&w, seed % 2 ? "both" : "rsa", seed);
        world_run(&w, seed % 4 ? 20 : 0);
        for (unsigned i = 0; i < 2; i++) {
            CHECK(w.ends[i].right && w.ends[i].heard == w.total);
            CHECK_INT(tls_state(w.ends[i].t), TLS_OPEN);
        }
        tls_close(w.ends[seed % 2].t);
        world_run(&w, 0);
        CHECK(tls_state(w.ends[0].t) == TLS_CLOSED && tls_state(w.ends[1].t) == TLS_CLOSED);
        world_end(&w);
    }
}

/* One end closes in the middle of a transfer: the other end receives all data sent before, then close_notify. */
static void closes(void)
{
    for (uint64_t seed = 0; seed < 12; seed++) {
        struct world w = {.piece = 3000, .total = 60000};
        struct end *closer = &w.ends[seed % 2], *other = &w.ends[!(seed % 2)];
        test_case("close_notify in the middle, seed %d", (int)seed);
        world_begin(&w, "both", seed);
        world_run(&w, 0);
        w.total += 20000;
        talk(&w, closer);
        change_keys(closer, seed % 3);
        talk(&w, closer);
        tls_close(closer->t);
        world_run(&w, 0);
        CHECK(other->right && other->heard == closer->said);
        CHECK_INT(tls_state(other->t), TLS_CLOSED);
        world_end(&w);
    }
}

/* One byte from the server is changed, then the connection ends without close_notify: no wrong plaintext is delivered, and the client's
 * session fails. */
static void cuts(void)
{
    size_t opened = 0;
    for (size_t at = 1; at < 2500; at += at < 200 ? 1 : 17) {
        struct world w = {.piece = 400, .total = 600, .flip = at};
        test_case("byte %zu is changed", at);
        world_begin(&w, "both", at);
        world_run(&w, 0);
        CHECK(w.ends[0].right && w.ends[1].right);
        bool whole = w.ends[0].heard == w.total && tls_state(w.ends[0].t) == TLS_OPEN;
        opened += whole && w.moved >= at;
        CHECK(whole || tls_state(w.ends[0].t) == TLS_FAILED || w.moved >= at);
        tls_eof(w.ends[0].t);
        CHECK_INT(tls_state(w.ends[0].t), TLS_FAILED);
        world_end(&w);
    }
    test_case("changed bytes that do no harm: the version in the heads of records");
    CHECK(opened <= 4);
}

int main(void)
{
    transfers();
    closes();
    cuts();
    return test_done();
}
