/* The handshake of RFC 8448 §3, byte for byte, from both sides: the exchange, the secrets, the records, the signature. */
#include "../test.h"

#include "src/tls/v13.h"

static const char client_hello[] =
    "010000c00303cb34ecb1e78163ba1c38c6dacb196a6dffa21a8d9912ec18a2ef6283024dece7000006130113031302010000910000000b00090000"
    "06736572766572ff01000100000a00140012001d0017001800190100010101020103010400230000003300260024001d002099381de560e4bd43d2"
    "3d8e435a7dbafeb3c06e51c13cae4d5413691e529aaf2c002b0003020304000d0020001e0403050306030203080408050806040105010601020104"
    "02050206020202002d00020101001c00024001";
static const char server_hello[] =
    "020000560303a6af06a4121860dc5e6e60249cd34c95930c8ac5cb1434dac155772ed3e2692800130100002e00330024001d0020c9828876112095"
    "fe66762bdbf7c672e156d6cc253b833df1dd69b1b04e751f0f002b00020304";
static const char extensions[] = "080000240022000a00140012001d00170018001901000101010201030104001c0002400100000000";
static const char certificate[] =
    "0b0001b9000001b50001b0308201ac30820115a003020102020102300d06092a864886f70d01010b0500300e310c300a0603550403130372736130"
    "1e170d3136303733303031323335395a170d3236303733303031323335395a300e310c300a0603550403130372736130819f300d06092a864886f7"
    "0d010101050003818d0030818902818100b4bb498f8279303d980836399b36c6988c0c68de55e1bdb826d3901a2461eafd2de49a91d015abbc9a95"
    "137ace6c1af19eaa6af98c7ced43120998e187a80ee0ccb0524b1b018c3e0b63264d449a6d38e22a5fda430846748030530ef0461c8ca9d9efbfae"
    "8ea6d1d03e2bd193eff0ab9a8002c47428a6d35a8d88d79f7f1e3f0203010001a31a301830090603551d1304023000300b0603551d0f0404030205"
    "a0300d06092a864886f70d01010b05000381810085aad2a0e5b9276b908c65f73a7267170618a54c5f8a7b337d2df7a594365417f2eae8f8a58c8f"
    "8172f9319cf36b7fd6c55b80f21a03015156726096fd335e5e67f2dbf102702e608ccae6bec1fc63a42a99be5c3eb7107c3c54e9b9eb2bd5203b1c"
    "3b84e0a8b2f759409ba3eac9d91d402dcc0cc8f8961229ac9187b42b4de10000";
static const char verify[] =
    "0f000084080400805a747c5d88fa9bd2e55ab085a61015b7211f824cd484145ab3ff52f1fda8477b0b7abc90db78e2d33a5c141a078653fa6bef78"
    "0c5ea248eeaaa785c4f394cab6d30bbe8d4859ee511f602957b15411ac027671459e46445c9ea58c181e818e95b8c3fb0bf3278409d3be152a3da5"
    "043e063dda65cdf5aea20d53dfacd42f74f3";
static const char server_finished[] = "140000209b9b141d906337fbd2cbdce71df4deda4ab42c309572cb7fffee5454b78f0718";
static const char client_finished[] = "14000020a8ec436d677634ae525ac1fcebe11a039ec17694fac6e98527b642f2edd5ce61";

/* ---- the vectors ---- */

static struct slice unhex(const char *text, unsigned char *out)
{
    size_t n = 0;
    for (; text[0] && text[1]; text += 2) {
        const char digits[] = {text[0], text[1], '\0'};
        out[n++] = (unsigned char)strtoul(digits, NULL, 16);
    }
    return (struct slice){(const char *)out, n};
}

static void check_hex(const void *bytes, const char *want)
{
    char text[256];
    hex_encode((struct slice){bytes, strlen(want) / 2}, text);
    CHECK_STR(slice_of(text), want);
}

static void add(struct v13_transcript *t, const char *message)
{
    unsigned char bytes[1024];
    v13_transcript_add(t, unhex(message, bytes));
}

/* ---- the exchange ---- */

static void exchange(struct slice server_share, struct slice client_share, unsigned char *secret)
{
    static const char *const keys[2] = {"49af42ba7f7994852d713ef2784bcbcaa7911de26adc5642cb634540e7ea5005",
                                        "b1580eeadf6dd589b8ef4f2d5652578cc810e9980191ec8d058308cea216a21e"};
    const struct slice shares[2] = {server_share, client_share};
    for (int side = 0; side < 2; side++) {
        struct v13_exchange x = {0};
        struct buf ours;
        test_case("exchange, %s", side ? "server" : "client");
        unhex(keys[side], x.x25519);
        buf_init(&ours, KIB);
        v13_share(&x, v13_group_of(29), &ours);
        CHECK(slice_eq(buf_slice(&ours), shares[!side]));
        CHECK_INT(v13_agree(&x, v13_group_of(29), shares[side], secret), 32);
        check_hex(secret, "8bd4054fb55b9d63fdfbacf9f04b9f0d35e6d63f537563efd46272900f89492d");
        buf_free(&ours);
    }
}

/* ---- the records ---- */

static void record(const unsigned char *secret, const char *inner, const char *want)
{
    unsigned char bytes[128], head[128];
    struct v13_keys k = {0};
    struct slice text = unhex(inner, bytes);
    unhex(want, head);
    v13_keys_set(&k, v13_suite_of(0x1301), secret);
    v13_seal(&k, head, bytes, text.len);
    check_hex(bytes, want + 2 * V13_HEAD);
    CHECK_INT(k.sequence, 1);
    v13_keys_set(&k, v13_suite_of(0x1301), secret);
    CHECK(v13_open(&k, head, bytes, text.len));
    check_hex(bytes, inner);
    bytes[0] ^= 1; /* a changed byte: decryption fails */
    v13_keys_set(&k, v13_suite_of(0x1301), secret);
    CHECK(!v13_open(&k, head, bytes, text.len));
}

/* ---- the signature ---- */

static void signature(const struct v13_suite *s, const unsigned char *transcript)
{
    unsigned char bytes[1024], changed[V13_HASH_MAX];
    br_x509_decoder_context d;
    struct slice message = unhex(certificate, bytes), one;
    test_case("CertificateVerify");
    message = slice_skip(message, 4 + 1 + 3);
    CHECK(v13_get_vector(&message, 3, &one));
    br_x509_decoder_init(&d, NULL, NULL);
    br_x509_decoder_push(&d, one.ptr, one.len);
    const br_x509_pkey *key = br_x509_decoder_get_pkey(&d);
    if (!CHECK(key != NULL))
        return;
    unsigned char signed_bytes[256];
    message = slice_skip(unhex(verify, signed_bytes), 8);
    CHECK(v13_verify(key, 0x0804, true, s, transcript, message));
    CHECK(!v13_verify(key, 0x0804, false, s, transcript, message));
    CHECK(!v13_verify(key, 0x0805, true, s, transcript, message));
    CHECK(!v13_verify(key, 0x0403, true, s, transcript, message));
    CHECK(!v13_verify(key, 0x0804, true, s, transcript, slice_head(message, message.len - 1)));
    memcpy(changed, transcript, sizeof changed);
    changed[0] ^= 1;
    CHECK(!v13_verify(key, 0x0804, true, s, changed, message));
}

/* In TLS 1.3 a scheme fixes the curve of the key, and PKCS #1 v1.5 is none. */
static void schemes(void)
{
    static const struct {
        unsigned scheme;
        unsigned char key_type;
        int curve;
        bool fits;
    } rows[] = {
        {0x0403, BR_KEYTYPE_EC, BR_EC_secp256r1, true},
        {0x0403, BR_KEYTYPE_EC, BR_EC_secp384r1, false},
        {0x0503, BR_KEYTYPE_EC, BR_EC_secp384r1, true},
        {0x0503, BR_KEYTYPE_EC, BR_EC_secp256r1, false},
        {0x0603, BR_KEYTYPE_EC, BR_EC_secp521r1, true},
        {0x0403, BR_KEYTYPE_RSA, 0, false},
        {0x0804, BR_KEYTYPE_RSA, 0, true},
        {0x0806, BR_KEYTYPE_RSA, 0, true},
        {0x0804, BR_KEYTYPE_EC, BR_EC_secp256r1, false},
        {0x0401, BR_KEYTYPE_RSA, 0, false},
        {0x0809, BR_KEYTYPE_RSA, 0, false},
        {0x0203, BR_KEYTYPE_EC, BR_EC_secp256r1, false},
        {0x0807, BR_KEYTYPE_EC, BR_EC_secp256r1, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        br_x509_pkey key = {.key_type = rows[i].key_type};
        test_case("scheme %04x with a key of type %d on curve %d", rows[i].scheme, rows[i].key_type, rows[i].curve);
        if (rows[i].curve)
            key.key.ec.curve = rows[i].curve;
        CHECK_INT(v13_scheme_fits(&key, rows[i].scheme), rows[i].fits);
    }
}

/* Private keys of NIST curves are from 1 to the order less 1; P-521 has 521 bits in 66 bytes. */
static void scalars(void)
{
    static const int curves[] = {BR_EC_secp256r1, BR_EC_secp384r1, BR_EC_secp521r1};
    for (size_t i = 0; i < COUNT_OF(curves); i++) {
        size_t len = 0;
        const unsigned char *order = br_ec_get_default()->order(curves[i], &len);
        unsigned char key[66] = {0};
        test_case("private keys of curve %d", curves[i]);
        CHECK(!v13_is_scalar(curves[i], key));
        key[len - 1] = 1;
        CHECK(v13_is_scalar(curves[i], key));
        memcpy(key, order, len);
        CHECK(!v13_is_scalar(curves[i], key));
        key[len - 1]--; /* orders are odd */
        CHECK(v13_is_scalar(curves[i], key));
        key[len - 1] += 2;
        CHECK(!v13_is_scalar(curves[i], key));
        memset(key, 0xff, len);
        CHECK(!v13_is_scalar(curves[i], key));
        CHECK_INT(key[0], curves[i] == BR_EC_secp521r1 ? 1 : 0xff);
        memset(key + 1, 0x7f, len - 1);
        CHECK(v13_is_scalar(curves[i], key));
    }
}

int main(void)
{
    const struct v13_suite *s = v13_suite_of(0x1301);
    struct v13_transcript t;
    struct v13_secrets k = {0};
    unsigned char client[1024], server[1024], secret[V13_SECRET_MAX], hash[V13_HASH_MAX], mac[V13_HASH_MAX], hs_client[V13_HASH_MAX],
        hs_server[V13_HASH_MAX];
    struct slice ch = unhex(client_hello, client), sh = unhex(server_hello, server);
    exchange((struct slice){memmem(sh.ptr, sh.len, "\xc9\x82\x88\x76", 4), 32},
             (struct slice){memmem(ch.ptr, ch.len, "\x99\x38\x1d\xe5", 4), 32}, secret);
    test_case("secrets of the handshake");
    v13_transcript_init(&t);
    v13_transcript_add(&t, ch);
    v13_transcript_add(&t, sh);
    v13_transcript_out(&t, s, hash);
    check_hex(hash, "860c06edc07858ee8e78f0e7428c58edd6b43f2ca3e6e95f02ed063cf0e1cad8");
    v13_secrets_handshake(&k, s, (struct slice){(const char *)secret, 32}, hash);
    check_hex(k.now, "1dc826e93606aa6fdc0aadc12f741b01046aa6b99f691ed221a9f0ca043fbeac");
    check_hex(k.client, "b3eddb126e067f35a780b3abf45e2d8f3b1a950738f52e9600746a0e27a55a21");
    check_hex(k.server, "b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38");
    memcpy(hs_client, k.client, sizeof hs_client);
    memcpy(hs_server, k.server, sizeof hs_server);
    add(&t, extensions);
    add(&t, certificate);
    v13_transcript_out(&t, s, hash);
    signature(s, hash);
    test_case("Finished and the secrets of the session");
    add(&t, verify);
    v13_transcript_out(&t, s, hash);
    v13_finished(s, hs_server, hash, mac);
    check_hex(mac, server_finished + 8);
    add(&t, server_finished);
    v13_transcript_out(&t, s, hash);
    v13_finished(s, hs_client, hash, mac);
    check_hex(mac, client_finished + 8);
    v13_secrets_master(&k, s, hash);
    check_hex(k.now, "18df06843d13a08bf2a449844c5f8a478001bc4d4c627984d5a41da8d0402919");
    check_hex(k.client, "9e40646ce79a7f9dc05af8889bce6552875afa0b06df0087f792ebb7c17504a5");
    check_hex(k.server, "a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643");
    test_case("records");
    record(hs_client, "14000020a8ec436d677634ae525ac1fcebe11a039ec17694fac6e98527b642f2edd5ce6116",
           "170303003575ec4dc238cce60b298044a71e219c56cc77b0517fe9b93c7a4bfc44d87f38f80338ac98fc46deb384bd1caeacab6867d726c40546");
    schemes();
    scalars();
    return test_done();
}
