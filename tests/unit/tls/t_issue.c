/* Certificates of our own making: OpenSSL and our own client must take them for what they say. */
#include "pki.h"
#include "wire.h"

#include <fcntl.h>
#include <unistd.h>

#define OUT "build/test/issue"

static struct buf cert, key, ca_cert, ca_key;

static void save(const char *name, struct slice text)
{
    char path[128];
    snprintf(path, sizeof path, OUT "/%s", name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && write(fd, text.ptr, text.len) == (ssize_t)text.len);
    close(fd);
}

/* What a command of OpenSSL's prints. */
static const char *openssl(const char *command)
{
    static char text[16 * KIB];
    char line[512];
    snprintf(line, sizeof line, "cd " OUT " && openssl %s 2>&1", command);
    FILE *f = popen(line, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = '\0';
    if (f)
        pclose(f);
    return text;
}

static bool says(const char *command, const char *want)
{
    const char *text = openssl(command);
    bool there = strstr(text, want) != NULL;
    if (!there)
        printf("  openssl %s:\n%s\n  does not say %s\n", command, text, want);
    return there;
}

static const struct slice names[] = {SLICE("hub.ns.svc"),
                                     SLICE("10.0.0.7"),
                                     SLICE("fd00::7"),
                                     SLICE("*.hub.example"),
                                     SLICE("a-longer-name-than-any-address-has.namespace.svc"),
                                     SLICE("10.0.0.8")};

static struct tls_identity *load(const struct buf *c, const struct buf *k)
{
    struct err e = {0};
    struct tls_identity *id = tls_identity_load(buf_slice(c), buf_slice(k), &e);
    if (!CHECK(id))
        printf("  %s\n", e.text);
    return id;
}

static void make_all(int64_t now)
{
    struct err e = {0};
    struct buf *all[] = {&cert, &key, &ca_cert, &ca_key};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        buf_free(all[i]);
        buf_init(all[i], 64 * KIB);
    }
    CHECK(tls_issue(&(struct tls_issue){.not_before_us = now, .not_after_us = now + 3650 * TIME_DAY_US}, &ca_cert, &ca_key, &e));
    struct tls_identity *ca = load(&ca_cert, &ca_key);
    CHECK(tls_issue(&(struct tls_issue){names, COUNT_OF(names), ca, now, now + 60 * TIME_DAY_US, NULL}, &cert, &key, &e));
    tls_identity_drop(ca);
    save("ca.crt", buf_slice(&ca_cert));
    save("tls.crt", buf_slice(&cert));
    save("tls.key", buf_slice(&key));
}

static void foreign(int64_t now)
{
    test_case("OpenSSL verifies the chain, strictly");
    CHECK(says("verify -x509_strict -purpose sslserver -CAfile ca.crt tls.crt", "tls.crt: OK"));
    CHECK(says("verify -x509_strict -purpose sslserver -verify_hostname hub.ns.svc -CAfile ca.crt tls.crt", ": OK"));
    CHECK(says("verify -purpose sslserver -verify_ip 10.0.0.7 -CAfile ca.crt tls.crt", ": OK"));
    CHECK(says("verify -purpose sslserver -verify_ip fd00::7 -CAfile ca.crt tls.crt", ": OK"));
    CHECK(says("verify -purpose sslserver -verify_hostname other.svc -CAfile ca.crt tls.crt", "ostname mismatch"));
    CHECK(says("x509 -in tls.crt -noout -ext subjectAltName,extendedKeyUsage,keyUsage", "DNS:hub.ns.svc, IP Address:10.0.0.7"));
    CHECK(says("x509 -in ca.crt -noout -ext basicConstraints", "CA:TRUE"));
    CHECK(says("x509 -in tls.crt -noout -checkend 5000000", "will not expire"));
    CHECK(says("x509 -in tls.crt -noout -checkend 5200000", "will expire"));
    CHECK(says("pkey -in tls.key -check -noout", "Key is valid"));
    test_case("… a name that is longer than an address stays a name, also before an address");
    CHECK(says("verify -verify_hostname a-longer-name-than-any-address-has.namespace.svc -CAfile ca.crt tls.crt", ": OK"));
    test_case("… for a client as well");
    CHECK(says("verify -x509_strict -purpose sslclient -CAfile ca.crt tls.crt", "tls.crt: OK"));
    test_case("years from 2050 on");
    make_all(now + 30 * 365 * TIME_DAY_US);
    CHECK(says("x509 -in tls.crt -noout -dates", "notBefore=Nov"));
    CHECK(says("x509 -in tls.crt -noout -text", "GMT"));
    CHECK(says("verify -x509_strict -no_check_time -CAfile ca.crt tls.crt", ": OK"));
}

static void own(int64_t now)
{
    struct tls_leaf leaf;
    struct err e = {0};
    struct buf other, none;
    buf_init(&other, 64 * KIB);
    buf_init(&none, 64 * KIB);
    test_case("our own client takes it, by each of its names and while it lasts");
    make_all(now);
    struct tls_identity *id = load(&cert, &key), *ca = load(&ca_cert, &ca_key);
    CHECK(trusts(buf_slice(&ca_cert), "hub.ns.svc", now, id) && trusts(buf_slice(&ca_cert), "fd00::7", now, id));
    CHECK(trusts(buf_slice(&ca_cert), "a.hub.example", now, id) && !trusts(buf_slice(&ca_cert), "hub.example", now, id));
    CHECK(!trusts(buf_slice(&ca_cert), "hub.ns.svc", now + 61 * TIME_DAY_US, id) &&
          !trusts(buf_slice(&ca_cert), "hub.ns.svc", now - TIME_DAY_US, id));
    CHECK(tls_identity_leaf(id, SLICE("10.0.0.7"), &leaf) && leaf.has_name && leaf.server);
    CHECK_INT(leaf.not_after_us / 1000000, (now + 60 * TIME_DAY_US) / 1000000);
    test_case("a CA that is renewed is the same for those who know the one before");
    CHECK(tls_issue(&(struct tls_issue){.ca = ca, .not_before_us = now + TIME_DAY_US, .not_after_us = now + 7300 * TIME_DAY_US}, &other,
                    &none, &e));
    CHECK_INT(none.len, 0);
    CHECK(trusts(buf_slice(&other), "hub.ns.svc", now, id));
    save("ca.crt", buf_slice(&ca_cert));
    CHECK(says("verify -x509_strict -CAfile ca.crt tls.crt", ": OK"));
    test_case("another CA is another");
    make_all(now);
    CHECK(!trusts(buf_slice(&ca_cert), "hub.ns.svc", now, id));
    tls_identity_drop(id);
    tls_identity_drop(ca);
    buf_free(&other);
}

/* Writes NAME.key and NAME.crt with OpenSSL, self-signed or signed by a CA; more: X.509 extensions. */
static void make_ca_on(const char *how, const char *name, const char *subject, const char *signer, const char *more)
{
    char line[512];
    snprintf(line, sizeof line, "%s -out %s.key", how, name);
    openssl(line);
    snprintf(line, sizeof line, "req -new -key %s.key -subj '%s' -out %s.csr", name, subject, name);
    openssl(line);
    char by[128];
    snprintf(by, sizeof by, *signer ? "-CA %s.crt -CAkey %s.key" : "-signkey %s%s.key", signer, *signer ? signer : name);
    save("extensions", slice_of(more));
    snprintf(line, sizeof line, "x509 -req -in %s.csr %s -set_serial 7 -days 30 -extfile extensions -out %s.crt", name, by, name);
    openssl(line);
}

static void make_ca(const char *name, const char *subject, const char *signer, const char *more)
{
    make_ca_on("ecparam -name prime256v1 -genkey -noout", name, subject, signer, more);
}

static struct slice saved(const char *name, struct arena *a)
{
    char path[128];
    snprintf(path, sizeof path, OUT "/%s", name);
    return read_file(path, a);
}

static bool issued(const char *by, const char *by_key, int64_t now, struct err *e)
{
    struct arena a = {0};
    struct tls_issue how = {.names = names, .name_count = COUNT_OF(names), .subject = "ray"};
    buf_clear(&cert);
    buf_clear(&key);
    *e = (struct err){0};
    int64_t later = now + TIME_DAY_US / 24; /* a time after OpenSSL made the CA */
    bool well = tls_issue_by(saved(by, &a), saved(by_key, &a), &how, later, &cert, &key, e);
    arena_free(&a);
    return well;
}

#define IS_CA_NAMED(id) "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\nsubjectKeyIdentifier=" id "\n"
#define IS_CA IS_CA_NAMED("hash")

static void of_others(int64_t now)
{
    struct tls_leaf leaf;
    struct err e;
    make_ca("root", "/C=DE/O=Corp/CN=Corp Root", "", IS_CA);
    make_ca("issuing", "/O=Corp/OU=Ray/CN=Corp Issuing", "root", IS_CA);
    make_ca("server", "/CN=server", "root", "basicConstraints=CA:FALSE\n");
    make_ca("looks", "/CN=looks", "root", "1.2.3.4=DER:0603551d13040530030101ff\nbasicConstraints=CA:FALSE\n");
    make_ca("lists", "/CN=lists", "root", "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,cRLSign\n");
    make_ca("bytes", "/CN=bytes", "root", "1.2.3.4=DER:0603551d1304053000\n" IS_CA);
    make_ca("plain", "/CN=plain", "root", "keyUsage=keyCertSign\n");
    test_case("an intermediate CA made by OpenSSL signs");
    if (!CHECK(issued("issuing.crt", "issuing.key", now, &e)))
        printf("  %s\n", e.text);
    save("tls.crt", buf_slice(&cert));
    save("tls.key", buf_slice(&key));
    CHECK(says("verify -purpose sslserver -verify_ip 10.0.0.7 -CAfile root.crt -untrusted tls.crt tls.crt", "tls.crt: OK"));
    CHECK(says("verify -purpose sslclient -CAfile root.crt -untrusted tls.crt tls.crt", "tls.crt: OK"));
    struct tls_identity *id = load(&cert, &key);
    CHECK(id && tls_identity_leaf(id, SLICE("10.0.0.7"), &leaf) && leaf.has_name);
    CHECK_STR(slice_of(leaf.issuer), "Corp Issuing");
    test_case("… no longer than the CA itself");
    CHECK(leaf.not_after_us < now + 31 * TIME_DAY_US);
    tls_identity_drop(id);
    test_case("… 90 days with a CA of ours");
    make_all(now);
    save("own.crt", buf_slice(&ca_cert));
    save("own.key", buf_slice(&ca_key));
    CHECK(issued("own.crt", "own.key", now + TIME_DAY_US, &e));
    id = load(&cert, &key);
    CHECK(id && tls_identity_leaf(id, SLICE("x"), &leaf));
    CHECK_INT((leaf.not_after_us - leaf.not_before_us) / TIME_DAY_US, TLS_ISSUED_DAYS);
    tls_identity_drop(id);
    test_case("CAs that cannot sign");
    CHECK(!issued("issuing.crt", "root.key", now, &e) && strstr(e.text, "does not belong"));
    CHECK(!issued("server.crt", "server.key", now, &e) && strstr(e.text, "certificate 1 of the chain is no CA's"));
    CHECK(!issued("plain.crt", "plain.key", now, &e) && strstr(e.text, "certificate 1 of the chain is no CA's"));
    CHECK(!issued("looks.crt", "looks.key", now, &e) && strstr(e.text, "it has no basicConstraints with CA:TRUE"));
    CHECK(!issued("lists.crt", "lists.key", now, &e) && strstr(e.text, "it has no keyCertSign in its keyUsage"));
    CHECK(issued("bytes.crt", "bytes.key", now, &e));
    CHECK(!issued("root.crt", "root.key", now + 31 * TIME_DAY_US, &e) && strstr(e.text, "certificate 1 of the chain is valid only until"));
    CHECK(!issued("root.crt", "root.key", now - 2 * TIME_DAY_US, &e) && strstr(e.text, "certificate 1 of the chain is valid only from"));
}

/* Kinds of CAs that companies have, and texts that OpenSSL prints of a certificate signed by each. */
static const struct {
    const char *key, *algorithm, *authority;
    struct slice extensions;
} sorts[] = {
    {"genrsa -traditional", "sha256WithRSAEncryption", "X509v3 Authority Key Identifier", SLICE(IS_CA)},
    {"genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:3072", "sha256WithRSAEncryption", "Signature Algorithm",
     SLICE("basicConstraints=critical,CA:TRUE\nsubjectKeyIdentifier=none\n")},
    {"genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:4096", "sha256WithRSAEncryption", "01:02:03:04:05:06:07:08",
     SLICE(IS_CA_NAMED("0102030405060708"))},
    {"ecparam -name secp384r1 -genkey -noout", "ecdsa-with-SHA256", "Authority Key Identifier", SLICE(IS_CA)},
    {"ecparam -name secp521r1 -genkey -noout", "ecdsa-with-SHA256", "Authority Key Identifier", SLICE(IS_CA)},
};

static void of_every_sort(int64_t now)
{
    struct arena a = {0};
    struct err e = {0};
    for (size_t i = 0; i < COUNT_OF(sorts); i++) {
        test_case("a CA of openssl %s", sorts[i].key);
        make_ca_on(sorts[i].key, "sort", "/O=Corp/CN=Corp CA", "", sorts[i].extensions.ptr);
        if (!CHECK(issued("sort.crt", "sort.key", now, &e)))
            printf("  %s\n", e.text);
        save("tls.crt", buf_slice(&cert));
        if (!strstr(sorts[i].extensions.ptr, "none")) /* OpenSSL is strict about key identifiers */
            CHECK(says("verify -x509_strict -purpose sslserver -verify_ip 10.0.0.7 -CAfile sort.crt tls.crt", "tls.crt: OK"));
        CHECK(says("verify -purpose sslclient -CAfile sort.crt tls.crt", "tls.crt: OK"));
        CHECK(says("x509 -in tls.crt -noout -text", sorts[i].algorithm) && says("x509 -in tls.crt -noout -text", sorts[i].authority));
        CHECK(says("x509 -in tls.crt -noout -text", "ASN1 OID: prime256v1"));
        struct tls_identity *id = load(&cert, &key);
        CHECK(trusts(saved("sort.crt", &a), "hub.ns.svc", now + TIME_DAY_US / 24, id));
        tls_identity_drop(id);
    }
    arena_free(&a);
    test_case("an RSA key that no client accepts");
    make_ca_on("genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2040", "weak", "/CN=weak", "", IS_CA);
    CHECK(!issued("weak.crt", "weak.key", now, &e));
    CHECK_STR(slice_of(e.text), "the CA's RSA key has 2040 bits: clients want 2048 or more");
    test_case("such a CA is not renewed");
    struct buf other;
    buf_init(&other, 64 * KIB);
    struct tls_identity *ca = tls_identity_load(saved("sort.crt", &a), saved("sort.key", &a), &e);
    e = (struct err){0};
    CHECK(ca && !tls_issue(&(struct tls_issue){.ca = ca, .not_before_us = now, .not_after_us = now + TIME_DAY_US}, &other, &other, &e));
    CHECK_STR(slice_of(e.text), "the CA's key is not on P-256");
    tls_identity_drop(ca);
    buf_free(&other);
    arena_free(&a);
}

static struct slice joined(struct arena *a, struct slice one, struct slice other)
{
    return arena_printf(a, "%.*s%.*s", SLICE_ARG(one), SLICE_ARG(other));
}

/* Whether a certificate of this CA, which was issued at `now`, is due so many days later. ca: the CA at that time. */
static bool is_due(struct slice ca, int64_t ca_ends_us, int64_t now, int days)
{
    struct tls_identity *id = load(&cert, &key);
    struct tls_leaf leaf;
    CHECK(id && tls_identity_for(id, SLICE("hub.ns.svc"), &leaf));
    tls_identity_drop(id);
    return tls_issue_due(buf_slice(&cert), &leaf, ca, ca_ends_us, now + days * TIME_DAY_US);
}

static void due(int64_t now)
{
    struct arena a = {0};
    struct err e;
    struct tls_leaf leaf;
    const int64_t ages = 3650 * TIME_DAY_US;
    make_ca("root", "/CN=Corp Root", "", IS_CA);
    make_ca("issuing", "/CN=Corp Issuing", "root", IS_CA);
    make_ca("old", "/CN=Corp Root", "", IS_CA);
    struct slice root = saved("root.crt", &a), issuing = saved("issuing.crt", &a), chain = joined(&a, issuing, root);
    struct slice old = saved("old.crt", &a);
    test_case("a certificate of an intermediate CA whose chain has the root is not due at once");
    save("chain.crt", chain);
    CHECK(issued("chain.crt", "issuing.key", now, &e));
    save("tls.crt", buf_slice(&cert));
    CHECK(says("verify -purpose sslserver -verify_ip 10.0.0.7 -CAfile root.crt -untrusted tls.crt tls.crt", "tls.crt: OK"));
    CHECK(!is_due(chain, now + 30 * TIME_DAY_US, now, 0));
    test_case("nor when two thirds of its life are over, if the CA would end with its successor as well; before that if the chain changes");
    CHECK(!is_due(chain, now + 30 * TIME_DAY_US, now, 25) && is_due(chain, now + ages, now, 25));
    CHECK(!is_due(chain, now + ages, now, 18) && is_due(joined(&a, issuing, old), now + ages, now, 0));
    test_case("a wildcard is for any label there, and for no other name");
    struct tls_identity *id = load(&cert, &key);
    CHECK(tls_identity_for(id, SLICE("*.hub.example"), &leaf) && !tls_identity_for(id, SLICE("*.ns.svc"), &leaf));
    tls_identity_drop(id);
    test_case("certificates behind a self-signed one are not part of the chain, whatever they are");
    make_ca("server", "/CN=server", "root", "basicConstraints=CA:FALSE\n");
    save("more.crt", joined(&a, root, saved("server.crt", &a)));
    CHECK(issued("more.crt", "root.key", now, &e));
    save("more.crt", joined(&a, issuing, saved("server.crt", &a)));
    CHECK(!issued("more.crt", "issuing.key", now, &e) && strstr(e.text, "certificate 2 of the chain is no CA's"));
    for (int more = 0; more < 2; more++) {
        test_case("a CA with a chain of %d: with the certificate in front it has to fit", LIMIT_TLS_CHAIN - 1 + more);
        struct slice all = root;
        for (int i = 2; i < LIMIT_TLS_CHAIN + more; i++)
            all = joined(&a, all, old);
        save("long.crt", all);
        CHECK(issued("long.crt", "root.key", now, &e) == !more);
    }
    CHECK(strstr(e.text, "certificate has a chain of more than 8 (LIMIT_TLS_CHAIN)"));
    arena_free(&a);
}

static void limits(int64_t now)
{
    struct slice many[200];
    struct err e = {0};
    struct tls_identity *ca = load(&ca_cert, &ca_key);
    for (size_t i = 0; i < COUNT_OF(many); i++)
        many[i] = SLICE("a-long-name-of-a-service-that-nobody-should-need-to-type.example");
    buf_clear(&cert);
    test_case("names that do not fit");
    CHECK(!tls_issue(&(struct tls_issue){many, COUNT_OF(many), ca, now, now + TIME_DAY_US, NULL}, &cert, &key, &e));
    CHECK_STR(slice_of(e.text), "the certificate would be longer than 8192 bytes (LIMIT_TLS_LEAF)");
    tls_identity_drop(ca);
}

int main(void)
{
    int64_t now = clock_now().wall_us;
    if (system("mkdir -p " OUT) != 0)
        fatal("mkdir");
    make_all(now);
    foreign(now);
    own(now);
    of_others(now);
    of_every_sort(now);
    due(now);
    make_all(now);
    limits(now);
    test_case("HMAC: the second case of RFC 4231");
    char mac[TLS_MAC];
    tls_mac(SLICE("Jefe"), SLICE("what do ya want for nothing?"), mac);
    CHECK(memcmp(mac, "\x5b\xdc\xc1\x46\xbf\x60\x75\x4e", 8) == 0);
    struct buf *all[] = {&cert, &key, &ca_cert, &ca_key};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        buf_free(all[i]);
    return test_done();
}
