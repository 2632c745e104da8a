#include "pki.h"

#include "src/tls/der.h"

/* A certificate built by hand, of which one part is as the case wants it; the rest is right. Lengths are put in by wrap(). */
struct parts {
    struct slice issuer, validity, extensions;
};

#define UTC_2001_2049                                                                                                                      \
    SLICE("\x17\x0d"                                                                                                                       \
          "010909014640Z"                                                                                                                  \
          "\x17\x0d"                                                                                                                       \
          "491231235959Z")
#define CN_CA                                                                                                                              \
    SLICE("\x31\x0b\x30\x09\x06\x03\x55\x04\x03\x0c\x02"                                                                                   \
          "CA")

static void put_wrapped(struct buf *b, unsigned tag, struct slice content)
{
    buf_putc(b, (char)tag);
    if (content.len >= 0x100)
        buf_printf(b, "%c%c%c", 0x82, (int)(content.len >> 8), (int)(content.len & 0xff));
    else if (content.len >= 0x80)
        buf_printf(b, "%c%c", 0x81, (int)content.len);
    else
        buf_putc(b, (char)content.len);
    buf_put(b, content);
}

/* Wraps what stands behind `from` in an element. */
static void wrap(struct buf *b, size_t from, unsigned tag)
{
    struct buf copy;
    buf_init(&copy, MIB);
    buf_put(&copy, slice_skip(buf_slice(b), from));
    b->len = from;
    put_wrapped(b, tag, buf_slice(&copy));
    buf_free(&copy);
}

static void put_certificate(struct buf *b, const struct parts *p)
{
    buf_put(b, SLICE("\xa0\x03\x02\x01\x02\x02\x01\x4d\x30\x00")); /* version 3, serial 77, an algorithm */
    put_wrapped(b, DER_SEQUENCE, p->issuer);
    put_wrapped(b, DER_SEQUENCE, p->validity);
    buf_put(b, SLICE("\x30\x00\x30\x00")); /* subject, key */
    size_t extensions = b->len;
    put_wrapped(b, DER_SEQUENCE, p->extensions);
    wrap(b, extensions, DER_CONTEXT_CONSTRUCTED | 3);
    wrap(b, 0, DER_SEQUENCE);
    buf_put(b, SLICE("\x30\x00\x03\x01\x00")); /* algorithm and signature */
    wrap(b, 0, DER_SEQUENCE);
}

#define OID_SAN "\x06\x03\x55\x1d\x11"
#define OID_EKU "\x06\x03\x55\x1d\x25"
#define SAN_AB                                                                                                                             \
    "\x30\x0d" OID_SAN "\x04\x06\x30\x04\x82\x02"                                                                                          \
    "ab"

/* name NULL: "ab". names: those that are read, as in the error text. */
static const struct {
    const char *id;
    struct slice extensions;
    const char *name;
    bool ok, has_name, has_eku, server;
    const char *names;
} extension_cases[] = {
    {"none", {"", 0}, "ab", true, false, false, false, ""},
    {"dns", SLICE(SAN_AB), "ab", true, true, false, false, "ab"},
    {"dns-other-case", SLICE(SAN_AB), "AB", true, true, false, false, "ab"},
    {"dns-prefix", SLICE(SAN_AB), "a", true, false, false, false, "ab"},
    {"dns-longer", SLICE(SAN_AB), "abc", true, false, false, false, "ab"},
    {"critical",
     SLICE("\x30\x10" OID_SAN "\x01\x01\xff\x04\x06\x30\x04\x82\x02"
           "ab"),
     "ab", true, true, false, false, "ab"},
    {"two-names",
     SLICE("\x30\x10" OID_SAN "\x04\x09\x30\x07\x82\x01"
           "x"
           "\x82\x02"
           "ab"),
     "ab", true, true, false, false, "x, ab"},
    {"email-is-passed-over",
     SLICE("\x30\x10" OID_SAN "\x04\x09\x30\x07\x81\x01"
           "x"
           "\x82\x02"
           "ab"),
     "ab", true, true, false, false, "ab"},
    {"email-is-no-name",
     SLICE("\x30\x0d" OID_SAN "\x04\x06\x30\x04\x81\x02"
           "ab"),
     "ab", true, false, false, false, ""},
    {"nul-in-name",
     SLICE("\x30\x0f" OID_SAN "\x04\x08\x30\x06\x82\x04"
           "ab\0x"),
     "ab", true, false, false, false, "ab?x"},
    {"control-bytes",
     SLICE("\x30\x0d" OID_SAN "\x04\x06\x30\x04\x82\x02"
           "\x1b\xff"),
     "ab", true, false, false, false, "??"},
    {"empty-name", SLICE("\x30\x0b" OID_SAN "\x04\x04\x30\x02\x82\x00"), "", true, false, false, false, ""},
    {"ipv4", SLICE("\x30\x0f" OID_SAN "\x04\x08\x30\x06\x87\x04\x0a\x60\x00\x01"), "10.96.0.1", true, true, false, false, "10.96.0.1"},
    {"ipv4-with-zero", SLICE("\x30\x0f" OID_SAN "\x04\x08\x30\x06\x87\x04\x0a\x60\x00\x01"), "010.96.0.1", true, false, false, false,
     "10.96.0.1"},
    {"ipv4-mapped", SLICE("\x30\x0f" OID_SAN "\x04\x08\x30\x06\x87\x04\x0a\x60\x00\x01"), "::ffff:10.96.0.1", true, false, false, false,
     "10.96.0.1"},
    {"ip-5-bytes", SLICE("\x30\x10" OID_SAN "\x04\x09\x30\x07\x87\x05\x0a\x60\x00\x01\x00"), "ab", false, false, false, false, ""},
    {"san-twice", SLICE(SAN_AB SAN_AB), "ab", false, false, false, false, ""},
    {"san-and-more",
     SLICE("\x30\x0f" OID_SAN "\x04\x08\x30\x04\x82\x02"
           "ab"
           "\x05\x00"),
     "ab", false, false, false, false, ""},
    {"value-and-more",
     SLICE("\x30\x0f" OID_SAN "\x04\x06\x30\x04\x82\x02"
           "ab"
           "\x05\x00"),
     "ab", false, false, false, false, ""},
    {"san-too-short",
     SLICE("\x30\x0d" OID_SAN "\x04\x06\x30\x04\x82\x03"
           "ab"),
     "ab", false, false, false, false, ""},
    {"unknown-extension", SLICE("\x30\x07\x06\x01\x2a\x04\x02\x05\x00" SAN_AB), "ab", true, true, false, false, "ab"},
    {"indefinite",
     SLICE("\x30\x0f" OID_SAN "\x04\x08\x30\x80\x82\x02"
           "ab"
           "\x00\x00"),
     "ab", false, false, false, false, ""},
    {"long-form-for-short",
     SLICE("\x30\x0e" OID_SAN "\x04\x07\x30\x81\x04\x82\x02"
           "ab"),
     "ab", false, false, false, false, ""},
    {"high-tag",
     SLICE("\x30\x0e" OID_SAN "\x04\x07\x30\x05\x9f\x82\x01"
           "ab"),
     "ab", false, false, false, false, ""},
    {"eku-server", SLICE("\x30\x13" OID_EKU "\x04\x0c\x30\x0a\x06\x08\x2b\x06\x01\x05\x05\x07\x03\x01"), "ab", true, false, true, true, ""},
    {"eku-client", SLICE("\x30\x13" OID_EKU "\x04\x0c\x30\x0a\x06\x08\x2b\x06\x01\x05\x05\x07\x03\x02"), "ab", true, false, true, false,
     ""},
    {"eku-any", SLICE("\x30\x0f" OID_EKU "\x04\x08\x30\x06\x06\x04\x55\x1d\x25\x00"), "ab", true, false, true, true, ""},
    {"eku-empty", SLICE("\x30\x09" OID_EKU "\x04\x02\x30\x00"), "ab", true, false, true, false, ""},
    {"eku-twice", SLICE("\x30\x09" OID_EKU "\x04\x02\x30\x00\x30\x09" OID_EKU "\x04\x02\x30\x00"), "ab", false, false, false, false, ""},
    {"eku-not-oid", SLICE("\x30\x0b" OID_EKU "\x04\x04\x30\x02\x05\x00"), "ab", false, false, false, false, ""},
};

static void extensions(void)
{
    for (size_t i = 0; i < COUNT_OF(extension_cases); i++) {
        struct parts p = {CN_CA, UTC_2001_2049, extension_cases[i].extensions};
        struct tls_leaf leaf;
        struct err e = {0};
        struct buf b;
        test_case("extensions: %s", extension_cases[i].id);
        buf_init(&b, MIB);
        put_certificate(&b, &p);
        CHECK(tls_leaf_read(guarded(buf_slice(&b)), slice_of(extension_cases[i].name), &leaf, &e) == extension_cases[i].ok);
        CHECK_INT(e.code, extension_cases[i].ok ? ERR_NONE : ERR_SYNTAX);
        CHECK_INT(leaf.has_name, extension_cases[i].has_name);
        CHECK_INT(leaf.has_eku, extension_cases[i].has_eku);
        CHECK_INT(leaf.server, extension_cases[i].server);
        CHECK_STR(slice_of(leaf.first_name), extension_cases[i].names);
        buf_free(&b);
    }
}

/* Names that do not all fit are left out whole, not cut. */
static void many_names(void)
{
    struct buf san, b;
    struct tls_leaf leaf;
    test_case("many names");
    buf_init(&san, MIB);
    buf_init(&b, MIB);
    for (int i = 0; i < 100; i++)
        buf_printf(&san, "%c%cname-%04d", 0x82, 9, i);
    wrap(&san, 0, DER_SEQUENCE);
    wrap(&san, 0, DER_OCTETS);
    struct buf extension;
    buf_init(&extension, MIB);
    buf_put(&extension, SLICE(OID_SAN));
    buf_put(&extension, buf_slice(&san));
    wrap(&extension, 0, DER_SEQUENCE);
    struct parts p = {CN_CA, UTC_2001_2049, buf_slice(&extension)};
    put_certificate(&b, &p);
    CHECK(tls_leaf_read(guarded(buf_slice(&b)), SLICE("name-0099"), &leaf, NULL));
    CHECK(leaf.has_name);
    CHECK(strlen(leaf.first_name) == 11 * 11 - 2);
    buf_free(&extension);
    buf_free(&san);
    buf_free(&b);
}

#define IN_2001 INT64_C(1000000000000000)

static const struct {
    const char *id;
    struct slice issuer, validity;
    bool ok;
    int64_t not_before_us, not_after_us;
    const char *want;
} date_cases[] = {
    {"utc", CN_CA, UTC_2001_2049, true, IN_2001, INT64_C(2524607999000000), "CA"},
    {"utc-1950", CN_CA,
     SLICE("\x17\x0d"
           "700101000001Z"
           "\x17\x0d"
           "010909014640Z"),
     true, 1000000, IN_2001, "CA"},
    {"generalized", CN_CA,
     SLICE("\x18\x0f"
           "20010909014640Z"
           "\x18\x0f"
           "99991231235959Z"),
     true, IN_2001, INT64_C(253402300799000000), "CA"},
    {"no-seconds", CN_CA,
     SLICE("\x17\x0b"
           "0109090146Z"
           "\x17\x0d"
           "491231235959Z"),
     false, 0, 0, ""},
    {"offset", CN_CA,
     SLICE("\x17\x0d"
           "010909014640+"
           "\x17\x0d"
           "491231235959Z"),
     false, 0, 0, ""},
    {"month-13", CN_CA,
     SLICE("\x17\x0d"
           "011309014640Z"
           "\x17\x0d"
           "491231235959Z"),
     false, 0, 0, ""},
    {"letters", CN_CA,
     SLICE("\x17\x0d"
           "01aa09014640Z"
           "\x17\x0d"
           "491231235959Z"),
     false, 0, 0, ""},
    {"one-date", CN_CA,
     SLICE("\x17\x0d"
           "010909014640Z"),
     false, 0, 0, ""},
    {"three-dates", CN_CA,
     SLICE("\x17\x0d"
           "010909014640Z"
           "\x17\x0d"
           "491231235959Z"
           "\x05\x00"),
     false, 0, 0, ""},
    {"organization",
     SLICE("\x31\x0a\x30\x08\x06\x03\x55\x04\x0a\x0c\x01"
           "O"),
     UTC_2001_2049, true, IN_2001, INT64_C(2524607999000000), "O"},
    {"both",
     SLICE("\x31\x0a\x30\x08\x06\x03\x55\x04\x0a\x0c\x01"
           "O"
           "\x31\x0b\x30\x09\x06\x03\x55\x04\x03\x0c\x02"
           "CA"),
     UTC_2001_2049, true, IN_2001, INT64_C(2524607999000000), "CA"},
    {"no-issuer", {"", 0}, UTC_2001_2049, true, IN_2001, INT64_C(2524607999000000), ""},
    {"issuer-cut",
     SLICE("\x31\x0b\x30\x09\x06\x03\x55\x04\x03\x0c\x03"
           "CA"),
     UTC_2001_2049, false, 0, 0, ""},
};

static void dates_and_issuer(void)
{
    for (size_t i = 0; i < COUNT_OF(date_cases); i++) {
        struct parts p = {date_cases[i].issuer, date_cases[i].validity, {"", 0}};
        struct tls_leaf leaf;
        struct buf b;
        test_case("dates: %s", date_cases[i].id);
        buf_init(&b, MIB);
        put_certificate(&b, &p);
        CHECK(tls_leaf_read(guarded(buf_slice(&b)), SLICE("a"), &leaf, NULL) == date_cases[i].ok);
        CHECK_INT(leaf.not_before_us, date_cases[i].not_before_us);
        CHECK_INT(leaf.not_after_us, date_cases[i].not_after_us);
        CHECK_STR(slice_of(leaf.issuer), date_cases[i].want);
        buf_free(&b);
    }
}

/* A whole certificate from openssl, cut at every byte and with every byte changed: refused or read, never more than its bytes. */
static void cut_and_changed(void)
{
    struct arena a = {0};
    struct slice pem = pki_file("both.pem", &a), name = SLICE("kubernetes.default.svc");
    struct buf der;
    struct tls_leaf leaf;
    buf_init(&der, MIB);
    slice_cut(&pem, '\n');
    ptrdiff_t end = slice_find(pem, '-');
    CHECK(base64_decode(slice_head(pem, (size_t)end), &der, NULL));
    test_case("cut");
    CHECK(tls_leaf_read(guarded(buf_slice(&der)), name, &leaf, NULL) && leaf.has_name && leaf.server);
    bool refused = true;
    for (size_t n = 0; n < der.len; n++)
        refused &= !tls_leaf_read(guarded(slice_head(buf_slice(&der), n)), name, &leaf, NULL) && !leaf.has_name && !leaf.server;
    CHECK(refused);
    test_case("changed");
    size_t names = 0;
    for (size_t i = 0; i < der.len; i++) {
        der.ptr[i] = (char)(der.ptr[i] ^ 0xff);
        names += tls_leaf_read(guarded(buf_slice(&der)), name, &leaf, NULL) && leaf.has_name;
        der.ptr[i] = (char)(der.ptr[i] ^ 0xff);
    }
    CHECK(names > 0 && names < der.len - name.len);
    buf_free(&der);
    arena_free(&a);
}

int main(void)
{
    extensions();
    many_names();
    dates_and_issuer();
    cut_and_changed();
    return test_done();
}
