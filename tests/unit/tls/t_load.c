#include "pki.h"

#include "src/tls/trust.h"

/* What is done to the text of a good certificate before it is loaded: the traps of facts/c-stack.md §1.6, where BearSSL's own decoder
 * finds no anchor and says nothing. */
struct change {
    const char *id, *before, *after;
    bool crlf, no_last_newline, half;
    uint32_t count, skipped;
    enum err_code code;
    const char *text;
};

#define NO_KEY "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n"

static const struct change changes[] = {
    {.id = "plain", .count = 1},
    {.id = "crlf", .crlf = true, .count = 1},
    {.id = "byte-order-mark", .before = "\xef\xbb\xbf", .count = 1},
    {.id = "no-last-newline", .no_last_newline = true, .count = 1},
    {.id = "all-at-once", .before = "\xef\xbb\xbf", .crlf = true, .no_last_newline = true, .count = 1},
    {.id = "text-around", .before = "Certificate:\n    Version: 3\n-----\n", .after = "# the end\n-----", .count = 1},
    {.id = "key-beside", .before = NO_KEY, .after = NO_KEY, .count = 1},
    {.id = "begin-twice", .before = "-----BEGIN CERTIFICATE-----  \n", .code = ERR_SYNTAX, .text = "BEGIN CERTIFICATE without"},
    {.id = "truncated", .half = true, .code = ERR_SYNTAX, .text = "PEM: BEGIN CERTIFICATE without END CERTIFICATE"},
    {.id = "begin-only", .after = "-----BEGIN CERTIFICATE-----", .code = ERR_SYNTAX, .text = "BEGIN CERTIFICATE without"},
    {.id = "other-end",
     .after = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END X-----\n",
     .code = ERR_SYNTAX,
     .text = "PEM: BEGIN CERTIFICATE without END CERTIFICATE"},
    {.id = "not-base64",
     .after = "-----BEGIN CERTIFICATE-----\nA*AA\n-----END CERTIFICATE-----\n",
     .code = ERR_SYNTAX,
     .text = "PEM: base64 has byte 0x2a"},
    {.id = "not-base64-in-line-3",
     .before = "# ours\n\n-----BEGIN CERTIFICATE-----\nA*AA\n-----END CERTIFICATE-----\n",
     .code = ERR_SYNTAX,
     .text = "line 3: PEM: base64 has byte 0x2a"},
    {.id = "begin-in-line-2",
     .before = "# ours\n-----BEGIN CERTIFICATE-----\nAAAA\n",
     .code = ERR_SYNTAX,
     .text = "line 2: PEM: BEGIN CERTIFICATE without END CERTIFICATE"},
    {.id = "not-der", .after = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", .count = 1, .skipped = 1},
    {.id = "empty-block", .after = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", .count = 1, .skipped = 1},
    {.id = "old-label", .after = "-----BEGIN X509 CERTIFICATE-----\nAAAA\n-----END X509 CERTIFICATE-----\n", .count = 1, .skipped = 1},
};

static void put_changed(struct buf *b, const struct change *c, struct slice pem)
{
    buf_put(b, slice_of(c->before));
    pem = slice_head(pem, c->half ? pem.len / 2 : pem.len);
    pem.len -= c->no_last_newline && slice_ends(pem, SLICE("\n"));
    for (struct slice line; pem.ptr;) {
        line = slice_cut(&pem, '\n');
        buf_put(b, line);
        buf_put(b, pem.ptr ? c->crlf ? SLICE("\r\n") : SLICE("\n") : SLICE(""));
    }
    buf_put(b, slice_of(c->after));
}

static void check_load(struct slice pem, uint32_t count, uint32_t skipped, enum err_code code, const char *text)
{
    struct err e = {0};
    uint32_t got_count = 0, got_skipped = 0;
    struct tls_trust *t = tls_trust_load(guarded(pem), &got_count, &got_skipped, &e);
    CHECK((t != NULL) == (code == ERR_NONE));
    CHECK_INT(e.code, code);
    CHECK_INT(got_count, count);
    CHECK_INT(got_skipped, skipped);
    if (!CHECK(slice_has(slice_of(e.text), text ? text : "")))
        printf("  got \"%s\"\n", e.text);
    tls_trust_drop(t);
}

static void traps(struct arena *a)
{
    struct slice pem = pki_file("ca.pem", a);
    struct buf b;
    buf_init(&b, MIB);
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        test_case("trust: %s", changes[i].id);
        buf_clear(&b);
        put_changed(&b, &changes[i], pem);
        check_load(buf_slice(&b), changes[i].count, changes[i].skipped, changes[i].code, changes[i].text);
    }
    test_case("trust: every prefix");
    bool right = true;
    for (size_t n = 0; n + 1 < pem.len; n++) { /* all but the last newline */
        struct err e = {0};
        uint32_t count = 0, skipped = 0;
        struct tls_trust *t = tls_trust_load(guarded(slice_head(pem, n)), &count, &skipped, &e);
        right &= t == NULL && (e.code == ERR_SYNTAX || e.code == ERR_MISSING);
        tls_trust_drop(t);
    }
    CHECK(right);
    buf_free(&b);
}

static void what_can_be_an_anchor(struct arena *a)
{
    struct slice ca = pki_file("ca.pem", a), rsa_ca = pki_file("rsa-ca.pem", a), rsa8256 = read_file("tests/data/tls/rsa8256.pem", a);
    struct slice ed25519 = pki_file("ed25519.pem", a), rsa8192 = pki_file("rsa8192-ca.pem", a);
    struct buf b;
    buf_init(&b, MIB);
    test_case("trust: RSA-8256 and Ed25519 are passed over");
    buf_put(&b, rsa8256);
    buf_put(&b, rsa8192);
    buf_put(&b, ca);
    buf_put(&b, ed25519);
    buf_put(&b, rsa_ca);
    check_load(buf_slice(&b), 3, 2, ERR_NONE, NULL);
    test_case("trust: nothing usable");
    check_load(rsa8256, 0, 0, ERR_CONFIG, "none of the 1 certificates in the CA bundle can be used");
    check_load(ed25519, 0, 0, ERR_CONFIG, "none of the 1 certificates in the CA bundle can be used: want RSA up to 8192 bits");
    test_case("trust: nothing at all");
    check_load(SLICE(""), 0, 0, ERR_MISSING, "line 1: no certificate found in the CA bundle");
    check_load(SLICE("\n" NO_KEY), 0, 0, ERR_MISSING, "line 2: no certificate found in the CA bundle");
    check_load(SLICE("{\"kind\":\"Status\"}"), 0, 0, ERR_MISSING, "no certificate found in the CA bundle");
    buf_free(&b);
}

static void limits(struct arena *a)
{
    struct slice ca = pki_file("ca.pem", a);
    struct buf b;
    buf_init(&b, 2 * LIMIT_TLS_PEM);
    test_case("trust: LIMIT_TLS_ANCHORS");
    for (int i = 0; i < LIMIT_TLS_ANCHORS; i++)
        buf_put(&b, ca);
    check_load(buf_slice(&b), LIMIT_TLS_ANCHORS, 0, ERR_NONE, NULL);
    buf_put(&b, ca);
    check_load(buf_slice(&b), 0, 0, ERR_LIMIT, "CA bundle holds 4097 certificates, more than 4096 (LIMIT_TLS_ANCHORS)");
    test_case("trust: LIMIT_TLS_PEM");
    buf_clear(&b);
    buf_put(&b, ca);
    while (b.len < LIMIT_TLS_PEM)
        buf_putc(&b, '\n');
    check_load(buf_slice(&b), 1, 0, ERR_NONE, NULL);
    buf_putc(&b, '\n');
    check_load(buf_slice(&b), 0, 0, ERR_LIMIT, "CA bundle is longer than 4194304 bytes (LIMIT_TLS_PEM)");
    buf_free(&b);
}

static void join(void)
{
    test_case("trust: join");
    struct tls_trust *a = pki_trust("ca.pem"), *b = pki_trust("rsa-ca.pem"), *both = tls_trust_join(a, b);
    struct tls_trust *kept = tls_trust_keep(both);
    tls_trust_drop(a);
    tls_trust_drop(b);
    tls_trust_drop(both);
    CHECK_INT(kept->count, 2);
    CHECK_INT(kept->anchors[0].pkey.key_type, BR_KEYTYPE_EC);
    CHECK_INT(kept->anchors[1].pkey.key_type, BR_KEYTYPE_RSA);
    CHECK_INT(kept->anchors[1].pkey.key.rsa.nlen, 256);
    tls_trust_drop(kept);
    tls_trust_drop(NULL);
}

static const struct {
    const char *cert, *key;
    enum err_code code;
    const char *text;
} identities[] = {
    {"client-ec.pem", "ec.key", ERR_NONE, NULL},
    {"client-ec.pem", "ec.pkcs8.key", ERR_NONE, NULL},
    {"client-p384.pem", "ec384.key", ERR_NONE, NULL},
    {"ec.parameters.pem", "ec.parameters.key", ERR_NONE, NULL}, /* a block of curve parameters before the key */
    {"client-rsa.pem", "rsa.key", ERR_NONE, NULL},
    {"client-rsa.pem", "rsa.pkcs8.key", ERR_NONE, NULL},
    {"deep.pem", "ec.key", ERR_NONE, NULL}, /* a chain of two */
    {"client-ec.pem", "ca.key", ERR_CONFIG, "key does not belong to the first certificate"},
    {"client-ec.pem", "ec384.key", ERR_CONFIG, "key does not belong to the first certificate"},
    {"client-ec.pem", "rsa.key", ERR_CONFIG, "key does not belong to the first certificate"},
    {"client-rsa.pem", "rsa-ca.key", ERR_CONFIG, "key does not belong to the first certificate"},
    {"client-rsa.pem", "rsa1024.key", ERR_CONFIG, "key does not belong to the first certificate"},
    {"client-rsa.pem", "ec.key", ERR_CONFIG, "key does not belong to the first certificate"},
    {"reversed.pem", "ec.key", ERR_CONFIG, "key does not belong to the first certificate"},
    {"client-ec.pem", "encrypted.key", ERR_CONFIG, "private key is encrypted"},
    {"client-ec.pem", "encrypted-old.key", ERR_CONFIG, "private key is encrypted"},
    {"client-ec.pem", "ed25519.key", ERR_CONFIG,
     "key: private key cannot be used: want RSA up to 8192 bits or EC on P-256/384/521, not Ed25519"},
    {"ed25519.pem", "ec.key", ERR_CONFIG, "certificate cannot be used: want RSA up to 8192 bits or EC on P-256/384/521, not Ed25519"},
    {"client-ec.pem", "client-ec.pem", ERR_MISSING, "no private key found"},
    {"ec.key", "ec.key", ERR_MISSING, "no certificate found"},
};

/* Keys up to TLS_RSA_MAX: the modulus of the private key is compared with the certificate's. */
static void large_keys(void)
{
    static const char *const names[] = {"rsa4096", "client-rsa8192"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        test_case("identity: RSA %s", names[i]);
        struct tls_identity *id = pki_identity(names[i]);
        CHECK_INT(br_skey_decoder_get_rsa(&id->key)->n_bitlen, i ? 8192 : 4096);
        tls_identity_drop(id);
    }
}

static void identity_table(struct arena *a)
{
    for (size_t i = 0; i < COUNT_OF(identities); i++) {
        struct err e = {0};
        test_case("identity: %s with %s", identities[i].cert, identities[i].key);
        struct slice cert = pki_file(identities[i].cert, a), key = pki_file(identities[i].key, a);
        struct tls_identity *id = tls_identity_load(guarded_n(0, cert), guarded_n(1, key), &e);
        CHECK((id != NULL) == (identities[i].code == ERR_NONE));
        CHECK_INT(e.code, identities[i].code);
        if (!CHECK(slice_starts(slice_of(e.text), slice_of(identities[i].text ? identities[i].text : ""))))
            printf("  got \"%s\"\n", e.text);
        tls_identity_drop(id);
    }
}

static void check_identity(struct slice cert, struct slice key, enum err_code code, const char *text)
{
    struct err e = {0};
    struct tls_identity *id = tls_identity_load(guarded_n(0, cert), guarded_n(1, key), &e);
    CHECK_INT(e.code, code);
    if (!CHECK(slice_has(slice_of(e.text), text ? text : "")))
        printf("  got \"%s\"\n", e.text);
    tls_identity_drop(id);
}

static void identity_edges(struct arena *a)
{
    struct slice cert = pki_file("client-ec.pem", a), key = pki_file("ec.key", a);
    struct buf b;
    buf_init(&b, 2 * LIMIT_TLS_PEM);
    test_case("identity: LIMIT_TLS_CHAIN");
    for (int i = 0; i < LIMIT_TLS_CHAIN; i++)
        buf_put(&b, cert);
    check_identity(buf_slice(&b), key, ERR_NONE, NULL);
    buf_put(&b, cert);
    check_identity(buf_slice(&b), key, ERR_LIMIT, "certificate has a chain of more than 8 (LIMIT_TLS_CHAIN)");
    test_case("identity: LIMIT_TLS_MESSAGE bytes of a chain");
    struct tls_identity *one = pki_identity("client-ec");
    for (size_t over = 0; over < 2; over++) {
        size_t zeros = LIMIT_TLS_MESSAGE - one->chain[0].data_len + over;
        struct buf junk;
        buf_init(&junk, MIB);
        memset(buf_room(&junk, zeros), 0, zeros);
        junk.len = zeros;
        buf_clear(&b);
        buf_printf(&b, "%.*s-----BEGIN CERTIFICATE-----\n", SLICE_ARG(cert));
        base64_encode(buf_slice(&junk), &b);
        buf_printf(&b, "\n-----END CERTIFICATE-----\n");
        check_identity(buf_slice(&b), key, over ? ERR_LIMIT : ERR_NONE,
                       over ? "certificate has a chain of more than 131072 bytes (LIMIT_TLS_MESSAGE)" : NULL);
        buf_free(&junk);
    }
    tls_identity_drop(one);
    test_case("identity: cut files");
    check_identity(slice_head(cert, cert.len / 2), key, ERR_SYNTAX, "certificate: PEM: BEGIN CERTIFICATE without END");
    check_identity(cert, slice_head(key, key.len / 2), ERR_SYNTAX, "key: PEM: BEGIN EC PRIVATE KEY without END");
    check_identity(cert, SLICE("-----BEGIN PRIVATE KEY-----\nA*AA\n-----END PRIVATE KEY-----"), ERR_SYNTAX, "key: PEM: base64 has");
    test_case("identity: LIMIT_TLS_PEM");
    buf_clear(&b);
    buf_put(&b, key);
    while (b.len < LIMIT_TLS_PEM)
        buf_putc(&b, '\n');
    check_identity(cert, buf_slice(&b), ERR_NONE, NULL);
    buf_putc(&b, '\n');
    check_identity(cert, buf_slice(&b), ERR_LIMIT, "certificate or key is longer than 4194304 bytes (LIMIT_TLS_PEM)");
    buf_free(&b);
    test_case("identity: keep and drop");
    struct tls_identity *id = pki_identity("client-rsa");
    CHECK(tls_identity_keep(id) == id);
    tls_identity_drop(id);
    CHECK_INT(id->count, 1);
    tls_identity_drop(id);
    tls_identity_drop(NULL);
}

int main(void)
{
    struct arena a = {0};
    traps(&a);
    what_can_be_an_anchor(&a);
    limits(&a);
    join();
    identity_table(&a);
    large_keys();
    identity_edges(&a);
    arena_free(&a);
    return test_done();
}
