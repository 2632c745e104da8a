#include "peer.h"

#include "src/tls/check.h"

/* The rules of facts/c-stack.md §1.2 and what our own class adds to them: each line is a server certificate, what it was asked for, and
 * what comes of it. trust and name NULL: ca.pem and kubernetes.default.svc. text NULL: the session opens. */
#define K8S "kubernetes.default.svc"
#define YEAR_2001 INT64_C(1000000000000000)
#define IN_FOUR_YEARS (1500 * TIME_DAY_US)

static const struct {
    const char *server, *trust, *name;
    int64_t later_us; /* the clock: this much later than now, or YEAR_2001 */
    enum err_code code;
    const char *text; /* how the error begins */
} cases[] = {
    /* names */
    {"both", NULL, K8S, 0, ERR_NONE, NULL},
    {"both", NULL, "KUBERNETES.Default.svc", 0, ERR_NONE, NULL},
    {"both", NULL, "127.0.0.1", 0, ERR_NONE, NULL},
    {"both", NULL, "fd00::1", 0, ERR_NONE, NULL},
    {"both", NULL, "fd00:0:0:0::1", 0, ERR_NONE, NULL},
    {"both", NULL, "127.0.0.2", 0, ERR_TLS_NAME,
     "certificate is for kubernetes.default.svc, localhost, 127.0.0.1, fd00::1, wanted 127.0.0.2"},
    {"both", NULL, "fd00::2", 0, ERR_TLS_NAME, "certificate is for kubernetes.default.svc, localhost, 127.0.0.1, fd00::1, wanted fd00::2"},
    {"both", NULL, "kubernetes", 0, ERR_TLS_NAME, "certificate is for kubernetes.default.svc, localhost,"},
    {"both", NULL, "a.kubernetes.default.svc", 0, ERR_TLS_NAME, "certificate is for kubernetes.default.svc, localhost,"},
    {"ip", NULL, "127.0.0.1", 0, ERR_NONE, NULL},
    {"ip", NULL, K8S, 0, ERR_TLS_NAME, "certificate is for 127.0.0.1, wanted kubernetes.default.svc"},
    {"address-as-name", NULL, "127.0.0.1", 0, ERR_TLS_NAME, "certificate is for 127.0.0.1, wanted 127.0.0.1"},
    {"wild", NULL, K8S, 0, ERR_NONE, NULL},
    {"wild", NULL, "a.b.default.svc", 0, ERR_TLS_NAME, "certificate is for *.default.svc, wanted a.b.default.svc"},
    {"wild", NULL, "default.svc", 0, ERR_TLS_NAME, "certificate is for *.default.svc, wanted default.svc"},
    {"wild", NULL, "*.default.svc", 0, ERR_TLS_NAME, "certificate is for *.default.svc, wanted *.default.svc"},
    {"partial", NULL, K8S, 0, ERR_TLS_NAME, "certificate is for kub*.default.svc, wanted"},
    {"tld", NULL, "default.svc", 0, ERR_TLS_NAME, "certificate is for *.svc, wanted default.svc"},
    {"cn-client", NULL, K8S, 0, ERR_TLS_NAME, "certificate is for no server (it has no subjectAltName), wanted kubernetes.default.svc"},
    {"cn-server", NULL, K8S, 0, ERR_TLS_NAME, "certificate is for no server (it has no subjectAltName), wanted kubernetes.default.svc"},
    /* purpose */
    {"client-eku", NULL, K8S, 0, ERR_TLS_TRUST, "certificate is not a server's: its extended key usage has no serverAuth"},
    {"no-eku", NULL, K8S, 0, ERR_NONE, NULL},
    {"any-eku", NULL, K8S, 0, ERR_NONE, NULL},
    {"both-eku", NULL, K8S, 0, ERR_NONE, NULL},
    {"critical-eku", NULL, K8S, 0, ERR_TLS_TRUST, "a certificate of the server's chain has a critical extension that is not known here"},
    /* keys and signatures */
    {"p384", NULL, K8S, 0, ERR_NONE, NULL},
    {"rsa", "rsa-ca.pem", K8S, 0, ERR_NONE, NULL},
    {"rsa1024", "rsa-ca.pem", K8S, 0, ERR_TLS_TRUST, "a certificate of the server's chain has an RSA key below 2048 bits"},
    {"sha1", "rsa-ca.pem", K8S, 0, ERR_TLS_TRUST, "a certificate of the server's chain uses an algorithm that is not known here"},
    {"pss256", "rsa-ca.pem", K8S, 0, ERR_NONE, NULL},
    {"pss384", "rsa-ca.pem", K8S, 0, ERR_NONE, NULL},
    {"pss512", "rsa-ca.pem", K8S, 0, ERR_NONE, NULL},
    {"pss256", "rsa8192-ca.pem", K8S, 0, ERR_TLS_TRUST, "certificate is signed by an unknown CA (mobula test RSA CA)"},
    {"pss-salt", "rsa-ca.pem", K8S, 0, ERR_TLS_TRUST, "a certificate of the server's chain uses an algorithm that is not known here"},
    {"pss-salt20", "rsa-ca.pem", K8S, 0, ERR_TLS_TRUST, "a certificate of the server's chain uses an algorithm that is not known here"},
    {"pss-mask", "rsa-ca.pem", K8S, 0, ERR_TLS_TRUST, "a certificate of the server's chain uses an algorithm that is not known here"},
    {"pss-sha1", "rsa-ca.pem", K8S, 0, ERR_TLS_TRUST, "a certificate of the server's chain uses an algorithm that is not known here"},
    {"pss-wrong", "rsa-ca.pem", K8S, 0, ERR_TLS_TRUST, "certificate is signed by an unknown CA (mobula test RSA CA)"},
    {"pss-deep", "rsa-ca.pem", K8S, 0, ERR_NONE, NULL},
    {"pss-mixed", "rsa-ca.pem", K8S, 0, ERR_NONE, NULL},
    {"pss-below", "rsa-ca.pem", K8S, 0, ERR_NONE, NULL},
    {"rsa8192-pss", "rsa8192-ca.pem", K8S, 0, ERR_NONE, NULL},
    {"limit", "rsa-ca.pem", K8S, 0, ERR_NONE, NULL},
    {"past-limit", "rsa-ca.pem", K8S, 0, ERR_LIMIT, "certificate is longer than 8192 bytes (LIMIT_TLS_LEAF)"},
    /* chains */
    {"both", "other.pem", K8S, 0, ERR_TLS_TRUST, "certificate is signed by an unknown CA (mobula test CA)"},
    {"both", "impostor.pem", K8S, 0, ERR_TLS_TRUST, "certificate is signed by an unknown CA (mobula test CA)"}, /* another key */
    {"both", "both.pem", K8S, 0, ERR_NONE, NULL}, /* the server's own certificate as the anchor */
    {"deep", NULL, K8S, 0, ERR_NONE, NULL},
    {"deep", "inter.pem", K8S, 0, ERR_NONE, NULL},
    {"alone", NULL, K8S, 0, ERR_TLS_TRUST, "certificate is signed by an unknown CA (mobula intermediate)"},
    {"alone", "inter.pem", K8S, 0, ERR_NONE, NULL},
    {"reversed", NULL, K8S, 0, ERR_TLS_NAME, "certificate is for no server"},
    {"by-no-ca", NULL, K8S, 0, ERR_TLS_TRUST, "a certificate of the server's chain was signed by one that is no CA"},
    {"constrained-critical", NULL, K8S, 0, ERR_TLS_TRUST,
     "a certificate of the server's chain has a critical extension that is not known here (name constraints, perhaps)"},
    {"constrained-critical", "constrained-ca.pem", K8S, 0, ERR_NONE, NULL}, /* what the error text advises */
    {"constrained-ignored", NULL, K8S, 0, ERR_NONE, NULL},                  /* known limit: constraints that are not critical are ignored */
    /* dates */
    {"both", NULL, K8S, 5000 * TIME_DAY_US, ERR_TLS_TRUST, "certificate expired on 20"},
    {"both", NULL, K8S, YEAR_2001, ERR_TLS_TRUST, "certificate is not valid before 20"},
    {"deep", NULL, K8S, IN_FOUR_YEARS, ERR_TLS_TRUST, "a CA certificate of the server's chain is expired or not valid yet, clock says 20"},
    {"alone", "inter.pem", K8S, IN_FOUR_YEARS, ERR_NONE, NULL}, /* known limit: an anchor's own dates are not looked at */
};

static int64_t clock_of(int64_t later_us)
{
    return later_us == YEAR_2001 ? YEAR_2001 : clock_now().wall_us + later_us;
}

static void verify(const char *server, const char *trust, const char *name, bool insecure, int64_t later_us, enum err_code code,
                   const char *text)
{
    struct peer *p = peer_new(server, NULL, 1, 5000);
    struct tls_options o = {.name = slice_of(name), .trust = trust ? pki_trust(trust) : NULL, .insecure = insecure};
    struct err e = {0};
    o.wall_us = clock_of(later_us);
    struct tls *t = tls_open(&o, &e);
    CHECK(t != NULL);
    CHECK_INT(tls_peer_expires(t), 0);
    peer_pump(p, t);
    CHECK_INT(tls_state(t), text ? TLS_FAILED : TLS_OPEN);
    CHECK_INT(tls_error(t)->code, code);
    if (!CHECK(slice_starts(slice_of(tls_error(t)->text), slice_of(text ? text : ""))))
        printf("  got \"%s\"\n", tls_error(t)->text);
    struct tls_info i;
    tls_info(t, &i);
    bool rsa = br_skey_decoder_get_rsa(&p->identity->key) != NULL, p384 = slice_starts(slice_of(server), SLICE("p384"));
    CHECK_STR(slice_of(i.certificate), text ? "" : rsa ? "RSA" : p384 ? "ECDSA P-384" : "ECDSA P-256");
    if (!text)
        CHECK(tls_peer_expires(t) > clock_now().wall_us + 2650 * TIME_DAY_US); /* 3650 less what its intermediate has: PKI may be old */
    if (text && later_us)
        CHECK(strstr(tls_error(t)->text, ", clock says ") != NULL);
    tls_free(t);
    tls_trust_drop(o.trust);
    peer_free(p);
}

/* Limits of what a server sends. Certificates behind the one whose issuer is trusted are not looked at. */
static void limits(void)
{
    static char junk[LIMIT_TLS_MESSAGE + 1];
    struct tls_identity *id = pki_identity("both");
    struct tls_trust *trust = pki_trust("ca.pem");
    for (unsigned over = 0; over < 2; over++) {
        struct tls_check c;
        const br_x509_class **x = &c.vtable;
        test_case("a chain of %d certificates", LIMIT_TLS_PEER_CHAIN + over);
        tls_check_init(&c, SLICE(K8S), trust, false, clock_now().wall_us);
        (*x)->start_chain(x, NULL);
        for (unsigned i = 0; i < LIMIT_TLS_PEER_CHAIN + over; i++) {
            (*x)->start_cert(x, (uint32_t)id->chain[0].data_len);
            (*x)->append(x, id->chain[0].data, id->chain[0].data_len);
            (*x)->end_cert(x);
        }
        CHECK_INT((*x)->end_chain(x), over ? BR_ERR_X509_LIMIT_EXCEEDED : 0);
        CHECK_STR(slice_of(c.error.text), over ? "server sent more than 16 certificates (LIMIT_TLS_PEER_CHAIN)" : "");
        tls_check_free(&c);
        for (int insecure = 0; insecure < 2; insecure++) {
            test_case("a certificate of %zu bytes, insecure %d", sizeof junk - 1 + over, insecure);
            tls_check_init(&c, SLICE(K8S), trust, insecure, clock_now().wall_us);
            (*x)->start_chain(x, NULL);
            (*x)->start_cert(x, (uint32_t)(sizeof junk - 1 + over));
            (*x)->append(x, (const unsigned char *)junk, sizeof junk - 1 + over);
            (*x)->end_cert(x);
            CHECK((*x)->end_chain(x) != 0);
            CHECK_INT(c.error.code, over ? ERR_LIMIT : insecure ? ERR_NONE : ERR_TLS_TRUST);
            tls_check_free(&c);
        }
    }
    tls_identity_drop(id);
    tls_trust_drop(trust);
}

/* A public exponent of LIMIT_TLS_EXPONENT bytes is computed with, a longer one is refused: the signature of a key by itself as RSA-PSS is
 * never valid, so the time is what differs, and the test looks at the padding: x^e with e = 1 leaves a message as it is. */
static void exponents(void)
{
    static unsigned char n[256] = {0xff, [255] = 0xff}, e[LIMIT_TLS_EXPONENT + 1] = {[LIMIT_TLS_EXPONENT] = 1};
    static unsigned char x[256], hash[32];
    static const unsigned char oid[] = {9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1};
    static const unsigned char info[] = {0,    0x30, 0x31, 0x30, 0x0d, 6, 9, 0x60, 0x86, 0x48,
                                         0x01, 0x65, 3,    4,    2,    1, 5, 0,    4,    0x20}; /* DigestInfo of SHA-256 */
    memset(x + 1, 0xff, sizeof x - 1);
    x[1] = 1;
    memcpy(x + sizeof x - 32 - sizeof info, info, sizeof info);
    memset(x + sizeof x - 32, 7, 32);
    for (size_t over = 0; over < 2; over++) {
        const br_rsa_public_key key = {n, sizeof n, e + 1 - over, LIMIT_TLS_EXPONENT + over};
        test_case("a public exponent of %zu bytes", key.elen);
        CHECK_INT(tls_verify_rsa(x, sizeof x, oid, 32, &key, hash), !over);
    }
}

static void options(void)
{
    static const char nul[] = "a\0b";
    char longest[LIMIT_NET_HOST + 1];
    memset(longest, 'a', sizeof longest);
    struct tls_trust *trust = pki_trust("ca.pem");
    const struct {
        const char *id;
        struct tls_options o;
        enum err_code code;
    } bad[] = {
        {"no name", {.trust = trust}, ERR_CONFIG},
        {"no trust", {.name = SLICE("a")}, ERR_CONFIG},
        {"name with NUL", {.name = {nul, 3}, .trust = trust}, ERR_CONFIG},
        {"name too long", {.name = {longest, LIMIT_NET_HOST + 1}, .trust = trust}, ERR_LIMIT},
        {"name at the limit", {.name = {longest, LIMIT_NET_HOST}, .trust = trust}, ERR_NONE},
        {"insecure without both", {.insecure = true}, ERR_NONE},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct err e = {0};
        test_case("options: %s", bad[i].id);
        struct tls *t = tls_open(&bad[i].o, &e);
        CHECK_INT(e.code, bad[i].code);
        CHECK((t != NULL) == (bad[i].code == ERR_NONE));
        tls_free(t);
    }
    tls_trust_drop(trust);
}

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *trust = cases[i].trust ? cases[i].trust : "ca.pem";
        test_case("%s asked for %s, trusting %s", cases[i].server, cases[i].name, trust);
        verify(cases[i].server, trust, cases[i].name, false, cases[i].later_us, cases[i].code, cases[i].text);
    }
    test_case("insecure: any certificate will do");
    verify("cn-client", NULL, "wrong.name", true, 0, ERR_NONE, NULL);
    verify("rsa1024", NULL, "wrong.name", true, 0, ERR_NONE, NULL);
    verify("limit", NULL, "", true, 0, ERR_NONE, NULL);
    limits();
    exponents();
    options();
    return test_done();
}
