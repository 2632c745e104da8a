/* Certificates of our own making (RFC 5280): a CA on P-256, and a server's certificate by it or by a CA of other software. DER is written
 * from its end to its front, so that the length of what an element holds is known when its head is written. */
#include <mobula/tls.h>

#include "der.h"
#include "trust.h"

#include <stdio.h>

enum { DER_MAX = LIMIT_TLS_LEAF, KEY_ID = 20, KEY_ID_MAX = 64, RSA_BITS_MIN = 2048, CA_NAME_BYTES = 4, LINE = 64 };
enum { DER_UTF8 = 0x0c };

#define OID_P256 "\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07"
static const struct slice key_kind = SLICE("\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01" OID_P256);

/* Signature algorithms: with SHA-256, whatever the curve or the length of an RSA key (RFC 5758 §3.2, RFC 8017 A.2.4). */
static const struct slice ecdsa_kind = SLICE("\x30\x0a\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x02");
static const struct slice rsa_kind = SLICE("\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b\x05\x00");

/* Extensions that are the same each time, as whole elements. */
static const struct slice ca_constraints = SLICE("\x30\x0f\x06\x03\x55\x1d\x13\x01\x01\xff\x04\x05\x30\x03\x01\x01\xff");
static const struct slice ca_usage = SLICE("\x30\x0e\x06\x03\x55\x1d\x0f\x01\x01\xff\x04\x04\x03\x02\x02\x04");
static const struct slice server_usage = SLICE("\x30\x0e\x06\x03\x55\x1d\x0f\x01\x01\xff\x04\x04\x03\x02\x07\x80");
static const struct slice both_purposes = SLICE("\x30\x1d\x06\x03\x55\x1d\x25\x04\x16\x30\x14\x06\x08\x2b\x06\x01\x05\x05\x07\x03\x01"
                                                "\x06\x08\x2b\x06\x01\x05\x05\x07\x03\x02"); /* serverAuth, clientAuth */
#define OID_ALT_NAMES SLICE("\x06\x03\x55\x1d\x11")
#define OID_SUBJECT_KEY SLICE("\x06\x03\x55\x1d\x0e")
#define OID_ISSUER_KEY SLICE("\x06\x03\x55\x1d\x23")
#define OID_NAME SLICE("\x06\x03\x55\x04\x03")

struct key {
    unsigned char secret[BR_EC_KBUF_PRIV_MAX_SIZE], point[BR_EC_KBUF_PUB_MAX_SIZE];
    br_ec_private_key as;
    char id[KEY_ID];
};

/* One of the two is there. */
struct signer {
    const br_ec_private_key *ec;
    const br_rsa_private_key *rsa;
};

struct writer {
    size_t at; /* of the first byte */
    bool full;
    char bytes[DER_MAX];
};

/* ---- writing ---- */

static void put(struct writer *w, struct slice s)
{
    w->full |= s.len > w->at;
    if (w->full)
        return;
    w->at -= s.len;
    if (s.len)
        memcpy(w->bytes + w->at, s.ptr, s.len);
}

static void put_byte(struct writer *w, unsigned byte)
{
    char c = (char)byte;
    put(w, (struct slice){&c, 1});
}

/* Everything before `end` becomes what an element holds. */
static void wrap(struct writer *w, unsigned tag, size_t end)
{
    size_t len = end - w->at;
    if (len >= 0x80) {
        unsigned count = 0x80;
        for (; len; len >>= 8, count++)
            put_byte(w, len & 0xff);
        put_byte(w, count);
    } else {
        put_byte(w, (unsigned)len);
    }
    put_byte(w, tag);
}

static void put_element(struct writer *w, unsigned tag, struct slice content)
{
    size_t end = w->at;
    put(w, content);
    wrap(w, tag, end);
}

static void put_bits(struct writer *w, struct slice content)
{
    size_t end = w->at;
    put(w, content);
    put_byte(w, 0);
    wrap(w, DER_BITS, end);
}

static void put_name(struct writer *w, struct slice common_name)
{
    size_t end = w->at;
    put_element(w, DER_UTF8, common_name);
    put(w, OID_NAME);
    wrap(w, DER_SEQUENCE, end);
    wrap(w, DER_SET, end);
    wrap(w, DER_SEQUENCE, end);
}

/* Years from 2050 on have four digits. */
static void put_time(struct writer *w, int64_t wall_us)
{
    char text[TIME_TEXT_MAX], digits[TIME_TEXT_MAX];
    struct slice all = time_format(wall_us, text); /* 2026-11-21T03:04:05Z */
    size_t n = 0;
    bool two = slice_starts(all, SLICE("20")) && all.ptr[2] < '5';
    for (size_t i = two ? 2 : 0; i < all.len; i++)
        if (all.ptr[i] >= '0' && all.ptr[i] <= '9')
            digits[n++] = all.ptr[i];
    digits[n++] = 'Z';
    put_element(w, two ? DER_UTC_TIME : DER_GENERALIZED_TIME, (struct slice){digits, n});
}

static void put_extension(struct writer *w, struct slice oid, size_t end)
{
    wrap(w, DER_OCTETS, end);
    put(w, oid);
    wrap(w, DER_SEQUENCE, end);
}

static void put_alt_names(struct writer *w, const struct slice *names, uint32_t count)
{
    size_t end = w->at;
    for (uint32_t i = count; i-- > 0;) {
        unsigned char address[16];
        size_t len = der_address(names[i], address);
        if (len)
            put_element(w, DER_IP_ADDRESS, (struct slice){(char *)address, len});
        else
            put_element(w, DER_DNS_NAME, names[i]);
    }
    wrap(w, DER_SEQUENCE, end);
    put_extension(w, OID_ALT_NAMES, end);
}

static void put_key_id(struct writer *w, struct slice oid, struct slice id, bool issuer)
{
    size_t end = w->at;
    put_element(w, issuer ? DER_CONTEXT : DER_OCTETS, id);
    if (issuer)
        wrap(w, DER_SEQUENCE, end);
    put_extension(w, oid, end);
}

/* ---- keys ---- */

static void identify(struct key *k)
{
    br_sha256_context h;
    unsigned char digest[br_sha256_SIZE];
    br_sha256_init(&h);
    br_sha256_update(&h, k->point, TLS_P256_POINT);
    br_sha256_out(&h, digest);
    memcpy(k->id, digest, KEY_ID);
}

static void make_key(struct key *k)
{
    br_hmac_drbg_context random;
    unsigned char seed[32];
    random_bytes(seed, sizeof seed);
    br_hmac_drbg_init(&random, &br_sha256_vtable, seed, sizeof seed);
    br_ec_keygen(&random.vtable, br_ec_get_default(), &k->as, k->secret, BR_EC_secp256r1);
    br_ec_compute_pub(br_ec_get_default(), NULL, k->point, &k->as);
    identify(k);
    mem_wipe(seed, sizeof seed);
    mem_wipe(&random, sizeof random);
}

static struct signer signer_of(const struct tls_identity *id)
{
    br_skey_decoder_context *key = (br_skey_decoder_context *)(uintptr_t)&id->key; /* it only reads */
    return (struct signer){br_skey_decoder_get_ec(key), br_skey_decoder_get_rsa(key)};
}

/* Of a CA that is renewed. */
static bool take_key(struct key *k, const struct tls_identity *id, struct err *e)
{
    const br_ec_private_key *ec = signer_of(id).ec;
    if (!ec || ec->curve != BR_EC_secp256r1)
        return err_set(e, ERR_CONFIG, "the CA's key is not on P-256");
    k->as = *ec;
    br_ec_compute_pub(br_ec_get_default(), NULL, k->point, &k->as);
    identify(k);
    return true;
}

/* ---- PEM ---- */

static void put_pem(struct buf *out, const char *label, struct slice der)
{
    struct buf text;
    buf_init(&text, 2 * (size_t)DER_MAX);
    base64_encode(der, &text);
    buf_printf(out, "-----BEGIN %s-----\n", label);
    for (struct slice rest = buf_slice(&text); rest.len; rest = slice_skip(rest, rest.len < LINE ? rest.len : LINE)) {
        buf_put(out, slice_head(rest, LINE));
        buf_putc(out, '\n');
    }
    buf_printf(out, "-----END %s-----\n", label);
    buf_wipe(&text);
}

static struct slice written(const struct writer *w)
{
    return (struct slice){w->bytes + w->at, DER_MAX - w->at};
}

/* ECPrivateKey of RFC 5915. */
static void put_secret(struct writer *w, const struct key *k, struct buf *out)
{
    w->at = DER_MAX;
    put_bits(w, (struct slice){(const char *)k->point, TLS_P256_POINT});
    wrap(w, DER_CONTEXT_CONSTRUCTED | 1, DER_MAX);
    size_t end = w->at;
    put(w, SLICE(OID_P256));
    wrap(w, DER_CONTEXT_CONSTRUCTED, end);
    put_element(w, DER_OCTETS, (struct slice){(const char *)k->as.x, k->as.xlen});
    put_element(w, DER_INTEGER, SLICE("\x01"));
    wrap(w, DER_SEQUENCE, DER_MAX);
    buf_room(out, 1 * KIB); /* so that no growing buffer leaves a part of the key behind */
    put_pem(out, "EC PRIVATE KEY", written(w));
}

/* ---- certificates ---- */

static const char *subject_of(const struct tls_issue *o)
{
    return o->subject ? o->subject : "mobula control plane";
}

/* A CA has its key's name: certificates of the same key are one CA, and those of another are not taken for it. */
static void put_ca_name(struct writer *w, const struct tls_issue *o, const struct key *ca)
{
    char text[64], id[2 * CA_NAME_BYTES + 1];
    hex_encode((struct slice){ca->id, CA_NAME_BYTES}, id);
    snprintf(text, sizeof text, "%s CA %s", subject_of(o), id);
    put_name(w, slice_of(text));
}

static void put_serial(struct writer *w)
{
    char serial[16];
    random_bytes(serial, sizeof serial);
    serial[0] = (char)((serial[0] & 0x3f) | 0x40); /* positive, and never shorter */
    put_element(w, DER_INTEGER, (struct slice){serial, sizeof serial});
}

static void put_tbs(struct writer *w, const struct tls_issue *o, const struct key *key, struct slice signature_kind)
{
    struct slice id = {key->id, KEY_ID};
    size_t end = w->at;
    struct tls_leaf signer = {.ca = true};
    if (o->name_count) { /* issuer and key identifier are those of the CA's certificate: other software may have made the CA */
        tls_identity_leaf(o->ca, SLICE_NONE, &signer);
        put_alt_names(w, o->names, o->name_count);
        if (signer.key_id.len && signer.key_id.len <= KEY_ID_MAX)
            put_key_id(w, OID_ISSUER_KEY, signer.key_id, true);
        put_key_id(w, OID_SUBJECT_KEY, id, false);
        put(w, both_purposes);
        put(w, server_usage);
    } else {
        put_key_id(w, OID_SUBJECT_KEY, id, false);
        put(w, ca_usage);
        put(w, ca_constraints);
    }
    wrap(w, DER_SEQUENCE, end);
    wrap(w, DER_CONTEXT_CONSTRUCTED | 3, end);
    size_t at = w->at;
    put_bits(w, (struct slice){(const char *)key->point, TLS_P256_POINT});
    put(w, key_kind);
    wrap(w, DER_SEQUENCE, at);
    if (o->name_count)
        put_name(w, slice_of(subject_of(o)));
    else
        put_ca_name(w, o, key);
    at = w->at;
    put_time(w, o->not_after_us);
    put_time(w, o->not_before_us);
    wrap(w, DER_SEQUENCE, at);
    if (o->name_count)
        put_element(w, DER_SEQUENCE, signer.subject);
    else
        put_ca_name(w, o, key);
    put(w, signature_kind);
    put_serial(w);
    put(w, SLICE("\xa0\x03\x02\x01\x02")); /* version 3 */
    wrap(w, DER_SEQUENCE, end);
}

/* The signature stands behind what it signs, so that is written first and moved to its place. */
static bool sign(struct writer *w, struct signer by, struct slice signature_kind, struct err *e)
{
    unsigned char digest[br_sha256_SIZE], signature[TLS_RSA_MAX];
    struct writer tbs = *w;
    br_sha256_context h;
    size_t len;
    br_sha256_init(&h);
    br_sha256_update(&h, written(w).ptr, written(w).len);
    br_sha256_out(&h, digest);
    if (by.ec) {
        len = br_ecdsa_sign_asn1_get_default()(br_ec_get_default(), &br_sha256_vtable, digest, by.ec, signature);
    } else {
        len = (by.rsa->n_bitlen + 7) / 8;
        if (!br_rsa_pkcs1_sign_get_default()(BR_HASH_OID_SHA256, digest, sizeof digest, by.rsa, signature))
            return err_set(e, ERR_CONFIG, RSA_CANNOT_SIGN, by.rsa->n_bitlen);
    }
    w->at = DER_MAX;
    put_bits(w, (struct slice){(char *)signature, len});
    put(w, signature_kind);
    put(w, written(&tbs));
    wrap(w, DER_SEQUENCE, DER_MAX);
    return !w->full || err_set(e, ERR_LIMIT, "the certificate would be longer than %d bytes (LIMIT_TLS_LEAF)", LIMIT_TLS_LEAF);
}

static bool issue(const struct tls_issue *o, struct key *own, struct writer *w, struct buf *cert, struct buf *key, struct err *e)
{
    bool leaf = o->name_count > 0, fresh = leaf || !o->ca; /* a CA that is renewed keeps its key */
    if (fresh)
        make_key(own);
    else if (!take_key(own, o->ca, e))
        return false;
    struct signer by = leaf ? signer_of(o->ca) : (struct signer){.ec = &own->as};
    struct slice kind = by.ec ? ecdsa_kind : rsa_kind;
    if (by.rsa && by.rsa->n_bitlen < RSA_BITS_MIN)
        return err_set(e, ERR_CONFIG, "the CA's RSA key has %u bits: clients want %d or more", by.rsa->n_bitlen, RSA_BITS_MIN);
    put_tbs(w, o, own, kind);
    if (!sign(w, by, kind, e))
        return false;
    put_pem(cert, "CERTIFICATE", written(w));
    if (fresh)
        put_secret(w, own, key);
    return true;
}

bool tls_issue(const struct tls_issue *o, struct buf *cert_pem, struct buf *key_pem, struct err *e)
{
    struct key own;
    struct writer w = {.at = DER_MAX};
    bool well = issue(o, &own, &w, cert_pem, key_pem, e);
    mem_wipe(&own, sizeof own);
    mem_wipe(&w, sizeof w);
    return well;
}

void tls_mac(struct slice key, struct slice text, char out[TLS_MAC])
{
    br_hmac_key_context k;
    br_hmac_context h;
    br_hmac_key_init(&k, &br_sha256_vtable, key.ptr, key.len);
    br_hmac_init(&h, &k, 0);
    br_hmac_update(&h, text.ptr, text.len);
    br_hmac_out(&h, out);
    mem_wipe(&k, sizeof k);
    mem_wipe(&h, sizeof h);
}
