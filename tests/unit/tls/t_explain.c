#include "../test.h"

#include "src/tls/v13.h"

/* Every code that BearSSL has is put in words, with the right kind of error. Words that have been seen to come out of a session are in
 * t_session.c and t_verify.c; here are those that take a broken or hostile peer. */
static const struct {
    int code;
    enum err_code kind;
    const char *text;
} cases[] = {
    {BR_ERR_BAD_PARAM, ERR_TLS, "server broke the protocol (code 1)"},
    {BR_ERR_UNSUPPORTED_VERSION, ERR_TLS, "server speaks neither TLS 1.3 nor 1.2 (or no TLS at all)"},
    {BR_ERR_BAD_VERSION, ERR_TLS, "server changes its TLS version within a connection"},
    {BR_ERR_TOO_LARGE, ERR_TLS, "server sent a record or a message that is too long"},
    {BR_ERR_BAD_MAC, ERR_TLS, "server sent a record that was changed on its way"},
    {BR_ERR_BAD_HANDSHAKE, ERR_TLS, "server broke the protocol (code 14)"},
    {BR_ERR_BAD_CIPHER_SUITE, ERR_TLS, "server chose a cipher suite that was not offered"},
    {BR_ERR_BAD_SECRENEG, ERR_TLS, "server does not know secure renegotiation as it should"},
    {BR_ERR_EXTRA_EXTENSION, ERR_TLS, "server answers an extension that was not offered"},
    {BR_ERR_BAD_FINISHED, ERR_TLS, "server sent a wrong Finished: the handshake was changed on its way"},
    {BR_ERR_INVALID_ALGORITHM, ERR_TLS, "server wants an algorithm that is not known here"},
    {BR_ERR_BAD_SIGNATURE, ERR_TLS, "server sent a wrong signature: it does not have the key of its certificate"},
    {BR_ERR_WRONG_KEY_USAGE, ERR_TLS, "server has a certificate that does not fit the cipher suite"},
    {BR_ERR_NO_CLIENT_AUTH, ERR_TLS, "server wants a client certificate"},
    {BR_ERR_X509_INVALID_VALUE, ERR_TLS_TRUST, "a certificate of the server's chain is malformed (code 33)"},
    {BR_ERR_X509_TRUNCATED, ERR_TLS_TRUST, "a certificate of the server's chain is malformed (code 34)"},
    {BR_ERR_X509_EMPTY_CHAIN, ERR_TLS_TRUST, "server sent no certificate"},
    {BR_ERR_X509_LIMIT_EXCEEDED, ERR_TLS_TRUST, "a certificate of the server's chain has an RSA key above 8192 bits"},
    {BR_ERR_X509_BAD_SIGNATURE, ERR_TLS_TRUST, "a certificate of the server's chain has a wrong signature"},
    {BR_ERR_X509_EXPIRED, ERR_TLS_TRUST, "a certificate of the server's chain is expired or not valid yet"},
    {BR_ERR_X509_DN_MISMATCH, ERR_TLS_TRUST, "the server's certificate chain is out of order"},
    {BR_ERR_X509_NOT_TRUSTED, ERR_TLS_TRUST, "certificate is signed by an unknown CA"},
    {BR_ERR_SEND_FATAL_ALERT + 10, ERR_TLS, "server broke the protocol: alert 10 unexpected_message was sent to it"},
    {BR_ERR_SEND_FATAL_ALERT + 200, ERR_TLS, "server broke the protocol: alert 200 unknown was sent to it"},
    {BR_ERR_RECV_FATAL_ALERT + 80, ERR_TLS, "server ended the session: alert 80 internal_error"},
    {BR_ERR_RECV_FATAL_ALERT + 71, ERR_TLS, "server has no cipher suite, group or signature in common"},
    {BR_ERR_RECV_FATAL_ALERT + 48, ERR_TLS, "server wants a client certificate: alert 48 unknown_ca"},
};

/* What a server reports of its client, and what both sides know of the other's offers. */
static const struct {
    int code;
    bool accepted;
    const char *theirs, *text;
} sides[] = {
    {V13_ERR_GROUP, true, "0x001e 0x0100",
     "client offers no key exchange group that is known here (X25519MLKEM768, X25519, P-256/384/521); it sent 0x001e 0x0100"},
    {V13_ERR_GROUP, false, "0x001e",
     "server chose a key exchange group that was not offered (X25519MLKEM768, X25519, P-256/384/521); it sent 0x001e"},
    {BR_ERR_BAD_CIPHER_SUITE, true, "0xc02f",
     "client offers no cipher suite that is known here (AES-GCM or ChaCha20-Poly1305); it sent 0xc02f"},
    {V13_ERR_SCHEME, true, "0x0804", "client accepts no signature algorithm that the key of our certificate can make; it sent 0x0804"},
    {V13_ERR_SHARE, true, "", "client sent an invalid key for the key exchange"},
    {V13_ERR_OLD, true, "0x0303", "client does not speak TLS 1.3, which --tls-min-version asks for; it sent 0x0303"},
    {V13_ERR_RETRY, true, "", "client ignored the HelloRetryRequest: its second ClientHello has another version, cipher suite or group"},
    {V13_ERR_RETRY, false, "0x0303",
     "server changed its choice of version, cipher suite or group within the handshake, after its HelloRetryRequest; it sent 0x0303"},
    {V13_ERR_PROTOCOL, true, "", "client offers no application protocol that is known here (http/1.1)"},
    {BR_ERR_BAD_FINISHED, true, "", "client sent a wrong Finished: the handshake was changed on its way"},
    {BR_ERR_BAD_MAC, true, "", "client sent a record that was changed on its way"},
    {BR_ERR_SEND_FATAL_ALERT + 40, true, "", "client speaks TLS 1.2 and has no cipher suite or group in common with ours"},
    {BR_ERR_SEND_FATAL_ALERT + 47, true, "", "client broke the protocol: alert 47 illegal_parameter was sent to it"},
    {BR_ERR_RECV_FATAL_ALERT + 109, true, "", "client ended the TLS session: alert 109 missing_extension"},
    {BR_ERR_BAD_PARAM, true, "", "client broke the protocol (code 1)"},
};

static void both_sides(void)
{
    for (size_t i = 0; i < COUNT_OF(sides); i++) {
        struct err e = {0};
        struct tls_failure f = {.accepted = sides[i].accepted, .theirs = sides[i].theirs};
        test_case("code %d, side %d", sides[i].code, sides[i].accepted);
        tls_explain(&e, sides[i].code, &f);
        CHECK_STR(slice_head(slice_of(e.text), strlen(sides[i].text)), sides[i].text);
    }
}

int main(void)
{
    struct tls_failure none = {.theirs = ""};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err e = {0};
        test_case("code %d", cases[i].code);
        tls_explain(&e, cases[i].code, &none);
        CHECK_INT(e.code, cases[i].kind);
        CHECK_STR(slice_head(slice_of(e.text), strlen(cases[i].text)), cases[i].text);
    }
    test_case("every code has words that fit");
    bool all = true;
    for (int code = 1; code < 768; code++) {
        struct err e = {0};
        struct tls_failure f = {code % 5 == 0, code % 2, code % 3, ""};
        tls_explain(&e, code, &f);
        all &= e.code != ERR_NONE && strlen(e.text) > 10 && strlen(e.text) < ERR_TEXT_MAX - 1;
    }
    CHECK(all);
    both_sides();
    return test_done();
}
