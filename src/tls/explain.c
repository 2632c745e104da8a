/* Codes of BearSSL's and alerts of the peer's in words that a person can act on. */
#include <mobula/tls.h>

#include "v13.h"

static const struct {
    int code;
    const char *text;
} certificate_texts[] = {
    {BR_ERR_X509_EMPTY_CHAIN, "server sent no certificate"},
    {BR_ERR_X509_UNSUPPORTED,
     "a certificate of the server's chain uses an algorithm that is not known here: want RSA or EC on P-256/384/521, signed with PKCS#1 or "
     "ECDSA and SHA-2"},
    {BR_ERR_X509_LIMIT_EXCEEDED, "a certificate of the server's chain has an RSA key above 4096 bits"},
    {BR_ERR_X509_WRONG_KEY_TYPE, "a certificate of the server's chain has the wrong kind of key for its signature"},
    {BR_ERR_X509_BAD_SIGNATURE, "a certificate of the server's chain has a wrong signature"},
    {BR_ERR_X509_EXPIRED, "a certificate of the server's chain is expired or not valid yet"},
    {BR_ERR_X509_DN_MISMATCH, "the server's certificate chain is out of order: each must be followed by the one that signed it"},
    {BR_ERR_X509_CRITICAL_EXTENSION,
     "a certificate of the server's chain has a critical extension that is not known here (name constraints, perhaps): trust the CA that "
     "issued the server's certificate directly"},
    {BR_ERR_X509_NOT_CA, "a certificate of the server's chain was signed by one that is no CA"},
    {BR_ERR_X509_FORBIDDEN_KEY_USAGE, "the key usage of a certificate of the server's chain does not allow what it is used for"},
    {BR_ERR_X509_WEAK_PUBLIC_KEY, "a certificate of the server's chain has an RSA key below 2048 bits"},
    {BR_ERR_X509_NOT_TRUSTED, "certificate is signed by an unknown CA"},
};

static const struct {
    int code;
    const char *text;
} engine_texts[] = {
    {BR_ERR_UNSUPPORTED_VERSION, "server speaks neither TLS 1.3 nor 1.2 (or no TLS at all)"},
    {BR_ERR_BAD_VERSION, "server changes its TLS version within a connection"},
    {BR_ERR_BAD_LENGTH, "record with a wrong length"},
    {BR_ERR_TOO_LARGE, "record is too long"},
    {BR_ERR_BAD_MAC, "record was changed on its way"},
    {BR_ERR_UNEXPECTED, "unexpected message"},
    {BR_ERR_BAD_CIPHER_SUITE, "server chose a cipher suite that was not offered"},
    {BR_ERR_BAD_SECRENEG, "server does not know secure renegotiation as it should"},
    {BR_ERR_EXTRA_EXTENSION, "server answers an extension that was not offered"},
    {BR_ERR_BAD_FINISHED, "the handshake was changed on its way"},
    {BR_ERR_INVALID_ALGORITHM, "server wants an algorithm that is not known here"},
    {BR_ERR_BAD_SIGNATURE, "server's signature is wrong: it does not have the key of its certificate"},
    {BR_ERR_WRONG_KEY_USAGE, "server's certificate does not fit the cipher suite"},
    {BR_ERR_NO_CLIENT_AUTH, "server wants a client certificate"},
    {V13_ERR_DOWNGRADE, "server speaks TLS 1.3, but its answer says TLS 1.2: the handshake was changed on its way"},
    {V13_ERR_GROUP, "server chose a group for the key exchange that was not offered, or sent a key that is not of it"},
    {V13_ERR_OLD, "server does not speak TLS 1.3, which --tls-min-version asks for"},
    {V13_ERR_SCHEME, "server signs with an algorithm that was not offered, or that does not fit its certificate"},
    {V13_ERR_MALFORMED, "malformed message in the handshake"},
};

/* RFC 5246 §7.2, RFC 8446 §6. */
static const struct {
    int number;
    const char *name;
} alerts[] = {
    {10, "unexpected_message"},
    {20, "bad_record_mac"},
    {22, "record_overflow"},
    {40, "handshake_failure"},
    {42, "bad_certificate"},
    {43, "unsupported_certificate"},
    {44, "certificate_revoked"},
    {45, "certificate_expired"},
    {46, "certificate_unknown"},
    {47, "illegal_parameter"},
    {48, "unknown_ca"},
    {49, "access_denied"},
    {50, "decode_error"},
    {51, "decrypt_error"},
    {70, "protocol_version"},
    {71, "insufficient_security"},
    {80, "internal_error"},
    {86, "inappropriate_fallback"},
    {90, "user_canceled"},
    {100, "no_renegotiation"},
    {110, "unsupported_extension"},
    {112, "unrecognized_name"},
    {116, "certificate_required"},
    {120, "no_application_protocol"},
};

enum {
    ALERT_ACCESS_DENIED = 49,
    ALERT_INSUFFICIENT_SECURITY = 71,
    ALERT_UNRECOGNIZED_NAME = 112,
    ALERT_CERTIFICATE_REQUIRED = 116,
};

static const char *alert_name(int number)
{
    for (size_t i = 0; i < COUNT_OF(alerts); i++)
        if (alerts[i].number == number)
            return alerts[i].name;
    return "unknown";
}

static bool is_about_our_certificate(int alert)
{
    bool certificate = alert >= ALERT_BAD_CERT && alert <= ALERT_ACCESS_DENIED && alert != ALERT_ILLEGAL;
    return certificate || alert == ALERT_CERTIFICATE_REQUIRED;
}

/* handshake_failure says little, but a server that has sent its certificate has agreed on a suite: what fails then is ours. */
static void explain_alert(struct err *e, int alert, bool has_identity, bool suite_agreed)
{
    const char *name = alert_name(alert);
    bool vague = alert == ALERT_NO_HANDSHAKE || alert == ALERT_INSUFFICIENT_SECURITY;
    if (alert == ALERT_VERSION)
        err_set(e, ERR_TLS, "server does not speak %s: alert %d %s",
                v13_least == VERSION_13 ? "TLS 1.3, which --tls-min-version asks for" : "TLS 1.3 or 1.2, which were offered", alert, name);
    else if (vague && !suite_agreed)
        err_set(e, ERR_TLS,
                "server has no cipher suite, group or signature in common with ours (AES-GCM or ChaCha20-Poly1305; "
                "X25519MLKEM768, X25519, P-256/384/521; "
                "ECDSA or RSA): alert %d %s",
                alert, name);
    else if (vague || is_about_our_certificate(alert))
        err_set(e, ERR_TLS, "server %s client certificate: alert %d %s", has_identity ? "refuses our" : "wants a", alert, name);
    else if (alert == ALERT_UNRECOGNIZED_NAME)
        err_set(e, ERR_TLS, "server does not know the name that it was asked for: alert %d %s", alert, name);
    else
        err_set(e, ERR_TLS, "server ended the session: alert %d %s", alert, name);
}

static void explain_dates(struct err *e, const struct tls_leaf *leaf, int64_t wall_us)
{
    char clock_text[TIME_TEXT_MAX], text[TIME_TEXT_MAX];
    struct slice clock = time_format(wall_us, clock_text);
    if (wall_us > leaf->not_after_us)
        err_set(e, ERR_TLS_TRUST, "certificate expired on %.*s, clock says %.*s", SLICE_ARG(time_format(leaf->not_after_us, text)),
                SLICE_ARG(clock));
    else if (wall_us < leaf->not_before_us)
        err_set(e, ERR_TLS_TRUST, "certificate is not valid before %.*s, clock says %.*s",
                SLICE_ARG(time_format(leaf->not_before_us, text)), SLICE_ARG(clock));
    else
        err_set(e, ERR_TLS_TRUST, "a CA certificate of the server's chain is expired or not valid yet, clock says %.*s", SLICE_ARG(clock));
}

void tls_explain_certificate(struct err *e, int code, const struct tls_leaf *leaf, int64_t wall_us)
{
    if (code == BR_ERR_X509_EXPIRED && leaf)
        explain_dates(e, leaf, wall_us);
    if (code == BR_ERR_X509_NOT_TRUSTED && leaf && leaf->issuer[0])
        err_set(e, ERR_TLS_TRUST, "certificate is signed by an unknown CA (%s)", leaf->issuer);
    for (size_t i = 0; i < COUNT_OF(certificate_texts); i++)
        if (certificate_texts[i].code == code)
            err_set(e, ERR_TLS_TRUST, "%s", certificate_texts[i].text);
    err_set(e, ERR_TLS_TRUST, "a certificate of the server's chain is malformed (code %d)", code);
}

void tls_explain(struct err *e, int code, bool has_identity, bool suite_agreed)
{
    if (code >= BR_ERR_SEND_FATAL_ALERT) {
        err_set(e, ERR_TLS, "server broke the protocol: alert %d %s was sent to it", code - BR_ERR_SEND_FATAL_ALERT,
                alert_name(code - BR_ERR_SEND_FATAL_ALERT));
        return;
    }
    if (code >= BR_ERR_RECV_FATAL_ALERT) {
        explain_alert(e, code - BR_ERR_RECV_FATAL_ALERT, has_identity, suite_agreed);
        return;
    }
    for (size_t i = 0; i < COUNT_OF(engine_texts); i++)
        if (engine_texts[i].code == code)
            err_set(e, ERR_TLS, "%s", engine_texts[i].text);
    if (code >= BR_ERR_X509_OK) {
        tls_explain_certificate(e, code, NULL, 0);
        return;
    }
    err_set(e, ERR_TLS, "protocol error (code %d)", code);
}

void tls_explain_client(struct err *e, int code)
{
    int alert = code - (code >= BR_ERR_SEND_FATAL_ALERT ? BR_ERR_SEND_FATAL_ALERT : BR_ERR_RECV_FATAL_ALERT);
    if (code >= BR_ERR_SEND_FATAL_ALERT)
        err_set(e, ERR_TLS, "client broke the protocol: alert %d %s was sent to it", alert, alert_name(alert));
    else if (code >= BR_ERR_RECV_FATAL_ALERT)
        err_set(e, ERR_TLS, "client ended the TLS session: alert %d %s", alert, alert_name(alert));
    else if (code == V13_ERR_OLD)
        err_set(e, ERR_TLS, "client does not speak TLS 1.3, which --tls-min-version asks for");
    else
        err_set(e, ERR_TLS, "the TLS session with the client failed (code %d)", code);
}
