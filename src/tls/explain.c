/* Error texts for failed sessions: BearSSL's and our codes, and alerts, from the side of a client and of a server. */
#include <mobula/tls.h>

#include "v13.h"

static const struct {
    int code;
    const char *text;
} certificate_texts[] = {
    {BR_ERR_X509_EMPTY_CHAIN, "server sent no certificate"},
    {BR_ERR_X509_UNSUPPORTED,
     "a certificate of the server's chain uses an algorithm that is not known here: want RSA or EC on P-256/384/521, signed with ECDSA, "
     "PKCS#1 or PSS (salt as long as the hash) and SHA-2, not Ed25519"},
    {BR_ERR_X509_LIMIT_EXCEEDED, "a certificate of the server's chain has an RSA key above 8192 bits"},
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

#define SUITES "AES-GCM or ChaCha20-Poly1305"
#define CURVES "X25519, P-256/384/521"
#define GROUPS "X25519MLKEM768, " CURVES

/* The peer's action, behind the word "server" or "client". */
static const struct {
    int code;
    const char *server, *client; /* client NULL: the same text */
} session_texts[] = {
    {BR_ERR_UNSUPPORTED_VERSION, "speaks neither TLS 1.3 nor 1.2 (or no TLS at all)", NULL},
    {BR_ERR_BAD_VERSION, "changes its TLS version within a connection", NULL},
    {BR_ERR_BAD_LENGTH, "sent a record with a wrong length", NULL},
    {BR_ERR_TOO_LARGE, "sent a record or a message that is too long", NULL},
    {BR_ERR_BAD_MAC, "sent a record that was changed on its way", NULL},
    {BR_ERR_UNEXPECTED, "sent an unexpected message", NULL},
    {BR_ERR_BAD_CIPHER_SUITE, "chose a cipher suite that was not offered (" SUITES ")",
     "offers no cipher suite that is known here (" SUITES ")"},
    {BR_ERR_BAD_SECRENEG, "does not know secure renegotiation as it should", NULL},
    {BR_ERR_EXTRA_EXTENSION, "answers an extension that was not offered", NULL},
    {BR_ERR_BAD_FINISHED, "sent a wrong Finished: the handshake was changed on its way", NULL},
    {BR_ERR_INVALID_ALGORITHM, "wants an algorithm that is not known here", NULL},
    {BR_ERR_BAD_SIGNATURE, "sent a wrong signature: it does not have the key of its certificate", NULL},
    {BR_ERR_WRONG_KEY_USAGE, "has a certificate that does not fit the cipher suite", NULL},
    {BR_ERR_NO_CLIENT_AUTH, "wants a client certificate", NULL},
    {V13_ERR_DOWNGRADE, "chose TLS 1.2 but says that it speaks TLS 1.3: the handshake was changed on its way", NULL},
    {V13_ERR_GROUP, "chose a key exchange group that was not offered (" GROUPS ")",
     "offers no key exchange group that is known here (" GROUPS ")"},
    {V13_ERR_SHARE, "sent an invalid key for the key exchange", NULL},
    {V13_ERR_OLD, "does not speak TLS 1.3, which --tls-min-version asks for", NULL},
    {V13_ERR_RETRY, "changed its choice of version, cipher suite or group within the handshake, after its HelloRetryRequest",
     "ignored the HelloRetryRequest: its second ClientHello has another version, cipher suite or group"},
    {V13_ERR_SCHEME, "signed with an algorithm that was not offered, or that does not fit its certificate",
     "accepts no signature algorithm that the key of our certificate can make"},
    {V13_ERR_PROTOCOL, "chose an application protocol other than http/1.1", "offers no application protocol that is known here (http/1.1)"},
    {V13_ERR_MALFORMED, "sent a malformed handshake message", NULL},
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
    {109, "missing_extension"},
    {110, "unsupported_extension"},
    {112, "unrecognized_name"},
    {116, "certificate_required"},
    {120, "no_application_protocol"},
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
    return certificate || alert == ALERT_NO_CERT;
}

/* A server that has sent its certificate has agreed on a suite: handshake_failure is then about our certificate. */
static void explain_alert(struct err *e, int alert, const struct tls_failure *f)
{
    const char *name = alert_name(alert);
    bool vague = alert == ALERT_NO_HANDSHAKE || alert == ALERT_INSUFFICIENT;
    if (f->accepted)
        err_set(e, ERR_TLS, "client ended the TLS session: alert %d %s", alert, name);
    else if (alert == ALERT_VERSION)
        err_set(e, ERR_TLS, "server does not speak %s: alert %d %s",
                v13_least == VERSION_13 ? "TLS 1.3, which --tls-min-version asks for" : "TLS 1.3 or 1.2, which were offered", alert, name);
    else if (vague && !f->suite_agreed)
        err_set(e, ERR_TLS,
                "server has no cipher suite, group or signature in common with ours (" SUITES "; " GROUPS
                "; ECDSA or RSA, not Ed25519): alert %d %s",
                alert, name);
    else if (vague || is_about_our_certificate(alert))
        err_set(e, ERR_TLS, "server %s client certificate: alert %d %s", f->has_identity ? "refuses our" : "wants a", alert, name);
    else if (alert == ALERT_NAME)
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

/* An alert that BearSSL's engine (TLS 1.2) has sent. handshake_failure: it found nothing in common. */
static void explain_sent(struct err *e, int alert, const struct tls_failure *f)
{
    if (alert == ALERT_NO_HANDSHAKE && f->accepted)
        err_set(e, ERR_TLS, "client speaks TLS 1.2 and has no cipher suite or group in common with ours (" SUITES "; " CURVES ")%s%s",
                f->theirs[0] ? "; it sent " : "", f->theirs);
    else
        err_set(e, ERR_TLS, "%s broke the protocol: alert %d %s was sent to it", f->accepted ? "client" : "server", alert,
                alert_name(alert));
}

void tls_explain(struct err *e, int code, const struct tls_failure *f)
{
    const char *peer = f->accepted ? "client" : "server";
    if (code >= BR_ERR_SEND_FATAL_ALERT) {
        explain_sent(e, code - BR_ERR_SEND_FATAL_ALERT, f);
        return;
    }
    if (code >= BR_ERR_RECV_FATAL_ALERT) {
        explain_alert(e, code - BR_ERR_RECV_FATAL_ALERT, f);
        return;
    }
    for (size_t i = 0; i < COUNT_OF(session_texts); i++)
        if (session_texts[i].code == code)
            err_set(e, ERR_TLS, "%s %s%s%s", peer,
                    f->accepted && session_texts[i].client ? session_texts[i].client : session_texts[i].server,
                    f->theirs[0] ? "; it sent " : "", f->theirs);
    if (code >= BR_ERR_X509_OK && code < V13_ERR_DOWNGRADE) {
        tls_explain_certificate(e, code, NULL, 0);
        return;
    }
    err_set(e, ERR_TLS, "%s broke the protocol (code %d)", peer, code);
}
