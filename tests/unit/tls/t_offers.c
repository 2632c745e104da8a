/* The table of docs/security.md says what a ClientHello offers, in its order: each cell is compared with the bytes of a hello. */
#include "subject.h"

/* Numbers of the IANA registries and their text on the page, which stands behind `join` unless it is the first. Schemes with the same key
 * share one text. Suites of TLS 1.2 have none: the page says that they have the ciphers of TLS 1.3. */
struct offer {
    unsigned id;
    const char *join, *text;
};

static const struct offer versions[] = {{0x0304, "", "1.3"}, {0x0303, ", ", "1.2"}, {0}};
static const struct offer groups[] = {
    {0x11ec, "", "X25519MLKEM768 (1.3 only)"}, {29, ", ", "X25519"}, {23, ", ", "P-256"}, {24, ", ", "P-384"}, {25, ", ", "P-521"}, {0}};
static const struct offer suites[] = {{0x1301, ", ", "AES-128-GCM"},
                                      {0x1302, ", ", "AES-256-GCM"},
                                      {0x1303, ", ", "ChaCha20-Poly1305"},
                                      {BR_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, "", ""},
                                      {BR_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, "", ""},
                                      {BR_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, "", ""},
                                      {BR_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, "", ""},
                                      {BR_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, "", ""},
                                      {BR_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, "", ""},
                                      {0}};
static const struct offer schemes[] = {{0x0403, "", "ECDSA P-256"},
                                       {0x0503, ", ", "P-384"},
                                       {0x0603, ", ", "P-521"},
                                       {0x0401, "; ", "RSA PKCS #1 (1.2 only)"},
                                       {0x0501, "", ""},
                                       {0x0601, "", ""},
                                       {0x0804, "; ", "RSA-PSS"},
                                       {0x0805, "", ""},
                                       {0x0806, "; ", "SHA-256 to SHA-512"},
                                       {0}};

static void put_offer(struct buf *b, const struct offer *known, uint32_t id)
{
    while (known->id && known->id != id)
        known++;
    buf_printf(b, "%s%s", b->len ? known->join : "", known->id ? known->text : "?");
}

/* Compares a list of two-byte numbers with the cell behind `row`. */
static void compare(struct slice docs, const char *row, struct slice list, const struct offer *known)
{
    struct buf text;
    uint32_t id = 0;
    test_case("%s", row);
    buf_init(&text, KIB);
    while (v13_get(&list, 2, &id))
        put_offer(&text, known, id);
    buf_putc(&text, '\0');
    ptrdiff_t at = slice_find_text(docs, row);
    if (CHECK(at >= 0 && list.len == 0)) {
        docs = slice_skip(docs, (size_t)at + strlen(row));
        CHECK_STR(slice_head(docs, (size_t)slice_find_text(docs, " |")), text.ptr);
    }
    buf_free(&text);
}

static struct slice list_of(const struct v13_extension *x, unsigned width)
{
    struct slice body = x->body, list = SLICE_NONE;
    CHECK(x->there && v13_get_vector(&body, width, &list) && body.len == 0);
    return list;
}

static void compare_shares(struct slice docs, struct slice list)
{
    uint32_t id = 0, seen[3] = {0};
    struct slice share;
    size_t n = 0;
    test_case("key shares");
    while (n < COUNT_OF(seen) && v13_get(&list, 2, &id) && v13_get_vector(&list, 2, &share))
        seen[n++] = id;
    CHECK(n == 2 && seen[0] == 0x11ec && seen[1] == 29);
    CHECK(slice_has(docs, "The ClientHello has\nkey shares for X25519MLKEM768 and X25519;"));
}

/* On a processor without instructions for AES the last suite of TLS 1.3 comes first. */
static void compare_suites(struct slice docs, struct slice list)
{
    char turned[6];
    CHECK(slice_has(docs, "| ChaCha20 first on processors without instructions for AES |"));
    if (!v13_fast_aes() && CHECK(list.len > sizeof turned)) {
        memcpy(turned, list.ptr + 2, 4);
        memcpy(turned + 4, list.ptr, 2);
        compare(docs, "| suites of 1.3 | ", (struct slice){turned, sizeof turned}, suites);
    } else {
        compare(docs, "| suites of 1.3 | ", slice_head(list, sizeof turned), suites);
    }
    list = slice_skip(list, sizeof turned);
    CHECK_INT(list.len, 2 * 6);
    test_case("suites of 1.2: all are known");
    for (uint32_t id = 0, i; v13_get(&list, 2, &id);) {
        for (i = 3; suites[i].id && suites[i].id != id;)
            i++;
        CHECK(suites[i].id);
    }
}

int main(void)
{
    struct arena a = {0};
    struct v13_extension ext[] = {{.type = EXT_VERSIONS}, {.type = EXT_GROUPS}, {.type = EXT_SIGNATURES}, {.type = EXT_KEY_SHARE}};
    struct slice docs = read_file("docs/security.md", &a), random, session, list = SLICE_NONE, compression = SLICE_NONE;
    struct subject *s = subject_new(false, V13_HELLO);
    struct slice hello = slice_skip(buf_slice(&s->v.shake->hello), 4 + 2);
    CHECK(v13_get_bytes(&hello, V13_RANDOM, &random) && v13_get_vector(&hello, 1, &session) && v13_get_vector(&hello, 2, &list) &&
          v13_get_vector(&hello, 1, &compression) && v13_get_extensions(&s->v, hello, ext, COUNT_OF(ext), false));
    CHECK(compression.len == 1 && compression.ptr[0] == 0);
    compare_suites(docs, list);
    compare(docs, "| versions | ", list_of(&ext[0], 1), versions);
    compare(docs, "| groups | ", list_of(&ext[1], 2), groups);
    compare(docs, "| signatures of the handshake | ", list_of(&ext[2], 2), schemes);
    compare_shares(docs, list_of(&ext[3], 2));
    subject_free(s);
    arena_free(&a);
    return test_done();
}
