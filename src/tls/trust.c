#include <mobula/tls.h>

#include "pem.h"
#include "trust.h"

enum { DN_MAX = 4 * KIB };

static unsigned char *dup_bytes(struct arena *a, const unsigned char *p, size_t len)
{
    return len ? memcpy(arena_alloc(a, len), p, len) : NULL;
}

/* A copy whose bytes lie in the arena. */
static br_x509_trust_anchor dup_anchor(struct arena *a, const br_x509_trust_anchor *from)
{
    br_x509_trust_anchor to = *from;
    to.dn.data = dup_bytes(a, from->dn.data, from->dn.len);
    if (from->pkey.key_type == BR_KEYTYPE_RSA) {
        to.pkey.key.rsa.n = dup_bytes(a, from->pkey.key.rsa.n, from->pkey.key.rsa.nlen);
        to.pkey.key.rsa.e = dup_bytes(a, from->pkey.key.rsa.e, from->pkey.key.rsa.elen);
    } else {
        to.pkey.key.ec.q = dup_bytes(a, from->pkey.key.ec.q, from->pkey.key.ec.qlen);
    }
    return to;
}

static void append_dn(void *owner, const void *bytes, size_t len)
{
    struct buf *dn = owner;
    buf_put(dn, (struct slice){bytes, len});
}

/* False when BearSSL cannot use the certificate as an anchor. */
static bool read_anchor(struct slice der, struct buf *dn, struct arena *a, br_x509_trust_anchor *out)
{
    br_x509_decoder_context decoder;
    buf_clear(dn);
    br_x509_decoder_init(&decoder, append_dn, dn);
    br_x509_decoder_push(&decoder, der.ptr, der.len);
    const br_x509_pkey *key = br_x509_decoder_get_pkey(&decoder);
    if (!key || dn->full)
        return false;
    br_x509_trust_anchor anchor = {
        .dn = {(unsigned char *)dn->ptr, dn->len},
        .flags = br_x509_decoder_isCA(&decoder) ? BR_X509_TA_CA : 0,
        .pkey = *key,
    };
    *out = dup_anchor(a, &anchor);
    return true;
}

static uint32_t count_certificates(struct slice pem, struct pem_block *block, struct err *e)
{
    uint32_t n = 0;
    while (pem_next(&pem, block, e))
        n += pem_is_certificate(block);
    return n;
}

/* All anchors of the text into t, which has room for them. */
static bool read_anchors(struct slice pem, struct tls_trust *t, struct pem_block *block, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf dn, der;
    bool ok = true;
    buf_init(&dn, DN_MAX);
    buf_init(&der, LIMIT_TLS_PEM);
    while (ok && pem_next(&pem, block, e)) {
        if (!pem_is_certificate(block))
            continue;
        buf_clear(&der);
        ok = pem_decode(block->body, &der, e);
        if (ok && read_anchor(buf_slice(&der), &dn, &t->memory, &t->anchors[t->count]))
            t->count++;
    }
    return ok;
}

static struct tls_trust *trust_new(uint32_t room)
{
    struct tls_trust *t = mem_alloc(sizeof *t);
    t->refs = 1;
    t->anchors = arena_array(&t->memory, room, sizeof *t->anchors);
    return t;
}

/* Says on which line of the text the block begins: the last one that was looked at. */
static struct tls_trust *failed(struct slice pem, const struct pem_block *last, struct tls_trust *t, struct err *e)
{
    uint32_t line = 1;
    for (const char *p = pem.ptr; p < last->label.ptr; p++)
        line += *p == '\n';
    tls_trust_drop(t);
    if (e->code != ERR_LIMIT)
        err_wrap(e, "line %u", line);
    return NULL;
}

struct tls_trust *tls_trust_load(struct slice pem, uint32_t *count, uint32_t *skipped, struct err *e)
{
    struct err own = {0};
    struct pem_block block = {0};
    e = e ? e : &own;
    if (pem.len > LIMIT_TLS_PEM) {
        err_set(e, ERR_LIMIT, "CA bundle is longer than %d bytes (LIMIT_TLS_PEM)", LIMIT_TLS_PEM);
        return NULL;
    }
    uint32_t found = count_certificates(pem, &block, e);
    if (found > LIMIT_TLS_ANCHORS)
        err_set(e, ERR_LIMIT, "CA bundle holds %u certificates, more than %d (LIMIT_TLS_ANCHORS)", found, LIMIT_TLS_ANCHORS);
    if (found == 0)
        err_set(e, ERR_MISSING, "no certificate found in the CA bundle: want PEM with -----BEGIN CERTIFICATE-----");
    if (e->code != ERR_NONE)
        return failed(pem, &block, NULL, e);
    struct tls_trust *t = trust_new(found);
    if (read_anchors(pem, t, &block, e) && t->count == 0)
        err_set(e, ERR_CONFIG,
                "none of the %u certificates in the CA bundle can be used: want RSA up to 8192 bits or EC on P-256/384/521, not Ed25519",
                found);
    if (e->code != ERR_NONE)
        return failed(pem, &block, t, e);
    *count = t->count;
    *skipped = found - t->count;
    return t;
}

static void add_all(struct tls_trust *t, const struct tls_trust *from)
{
    for (uint32_t i = 0; i < from->count; i++)
        t->anchors[t->count++] = dup_anchor(&t->memory, &from->anchors[i]);
}

struct tls_trust *tls_trust_join(const struct tls_trust *a, const struct tls_trust *b)
{
    struct tls_trust *t = trust_new(a->count + b->count);
    add_all(t, a);
    add_all(t, b);
    return t;
}

struct tls_trust *tls_trust_keep(struct tls_trust *t)
{
    t->refs++;
    return t;
}

uint64_t tls_trust_hash(const struct tls_trust *t)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; t && i < t->count; i++) {
        const br_x509_trust_anchor *a = &t->anchors[i];
        bool rsa = a->pkey.key_type == BR_KEYTYPE_RSA;
        const void *key = rsa ? a->pkey.key.rsa.n : a->pkey.key.ec.q;
        hash = hash64((struct slice){(const char *)a->dn.data, a->dn.len}, hash);
        hash = hash64((struct slice){key, rsa ? a->pkey.key.rsa.nlen : a->pkey.key.ec.qlen}, hash);
    }
    return hash;
}

void tls_trust_drop(struct tls_trust *t)
{
    if (!t || --t->refs)
        return;
    arena_free(&t->memory);
    mem_free(t);
}
