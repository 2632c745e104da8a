/* A TLS server in the same process, and the wire between it and the session that is tested: bytes move in pieces of sizes that chance
 * decides, from a seed, so a run can be repeated. */
#ifndef MOBULA_TEST_PEER_H
#define MOBULA_TEST_PEER_H

#include "pki.h"

#include "src/tls/trust.h"

struct peer {
    br_ssl_server_context server;
    br_x509_minimal_context clients;
    struct tls_identity *identity;
    struct tls_trust *trust; /* of client certificates, which are demanded when this is set */
    unsigned char records[BR_SSL_BUFSIZE_BIDI];
    struct rng rng;
    size_t piece;      /* largest number of bytes that move at once */
    size_t came, flip; /* bytes that came from the server; the number of one that is changed on its way, from 1 */
};

static void peer_demand_certificate(struct peer *p, int64_t wall_us)
{
    br_ssl_engine_context *engine = &p->server.eng;
    int64_t seconds = wall_us / 1000000;
    br_x509_minimal_init_full(&p->clients, p->trust->anchors, p->trust->count);
    br_x509_minimal_set_time(&p->clients, (uint32_t)(seconds / 86400 + 719528), (uint32_t)(seconds % 86400));
    br_ssl_engine_set_default_rsavrfy(engine);
    br_ssl_engine_set_default_ecdsa(engine);
    br_ssl_engine_set_x509(engine, &p->clients.vtable);
    br_ssl_server_set_trust_anchor_names_alt(&p->server, p->trust->anchors, p->trust->count);
}

/* identity NAME of the PKI; clients: the CA file of client certificates, or NULL. */
__attribute__((unused)) static struct peer *peer_new(const char *name, const char *clients, uint64_t seed, size_t piece)
{
    struct peer *p = mem_alloc(sizeof *p);
    p->identity = pki_identity(name);
    p->piece = piece;
    rng_seed(&p->rng, seed);
    const br_rsa_private_key *rsa = br_skey_decoder_get_rsa(&p->identity->key);
    if (rsa)
        br_ssl_server_init_full_rsa(&p->server, p->identity->chain, p->identity->count, rsa);
    else
        br_ssl_server_init_full_ec(&p->server, p->identity->chain, p->identity->count, BR_KEYTYPE_EC,
                                   br_skey_decoder_get_ec(&p->identity->key));
    p->trust = clients ? pki_trust(clients) : NULL;
    if (clients)
        peer_demand_certificate(p, clock_now().wall_us);
    br_ssl_engine_set_buffer(&p->server.eng, p->records, sizeof p->records, 1);
    br_ssl_engine_inject_entropy(&p->server.eng, "thirty-two bytes of no randomness", 32);
    br_ssl_server_reset(&p->server);
    return p;
}

__attribute__((unused)) static void peer_free(struct peer *p)
{
    tls_identity_drop(p->identity);
    tls_trust_drop(p->trust);
    mem_free(p);
}

static size_t peer_some(struct peer *p, size_t most)
{
    size_t n = 1 + (size_t)rng_below(&p->rng, p->piece);
    return n < most ? n : most;
}

static bool peer_to_server(struct peer *p, struct tls *t)
{
    size_t room = 0;
    struct slice out = tls_send_peek(t);
    unsigned char *to = br_ssl_engine_recvrec_buf(&p->server.eng, &room);
    size_t n = peer_some(p, out.len < room ? out.len : room);
    if (!to || n == 0)
        return false;
    memcpy(to, out.ptr, n);
    tls_send_used(t, n);
    br_ssl_engine_recvrec_ack(&p->server.eng, n);
    return true;
}

static bool peer_to_client(struct peer *p, struct tls *t)
{
    size_t room = 0, len = 0;
    const unsigned char *out = br_ssl_engine_sendrec_buf(&p->server.eng, &len);
    char *to = tls_recv_room(t, &room);
    size_t n = peer_some(p, len < room ? len : room);
    if (!out || !to || n == 0)
        return false;
    memcpy(to, out, n);
    if (p->flip > p->came && p->flip <= p->came + n)
        to[p->flip - p->came - 1] = (char)(to[p->flip - p->came - 1] ^ 1);
    p->came += n;
    br_ssl_engine_sendrec_ack(&p->server.eng, n);
    tls_recv_wrote(t, n);
    return true;
}

/* Moves ciphertext both ways until nothing moves any more. */
__attribute__((unused)) static void peer_pump(struct peer *p, struct tls *t)
{
    for (bool moved = true; moved;) {
        moved = peer_to_server(p, t);
        moved |= peer_to_client(p, t);
    }
}

/* Plaintext that the server has to say; as much as its buffer takes. Returns how much that was. */
__attribute__((unused)) static size_t peer_write(struct peer *p, struct slice s)
{
    size_t room = 0;
    unsigned char *to = br_ssl_engine_sendapp_buf(&p->server.eng, &room);
    size_t n = s.len < room ? s.len : room;
    if (!to || n == 0)
        return 0;
    memcpy(to, s.ptr, n);
    br_ssl_engine_sendapp_ack(&p->server.eng, n);
    br_ssl_engine_flush(&p->server.eng, 0);
    return n;
}

/* Plaintext that the server has received, and forgets. */
__attribute__((unused)) static void peer_read(struct peer *p, struct buf *to)
{
    size_t n = 0;
    const unsigned char *from = br_ssl_engine_recvapp_buf(&p->server.eng, &n);
    if (!from)
        return;
    buf_put(to, (struct slice){(const char *)from, n});
    br_ssl_engine_recvapp_ack(&p->server.eng, n);
}

#endif
