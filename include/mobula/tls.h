/* tls: a TLS session, 1.3 or 1.2, as a transformer of bytes. It knows no socket: the owner moves ciphertext to and from the wire, and
 * plaintext to and from the caller. Only this room knows BearSSL, and this header is all that an engine must offer.
 *
 * TLS 1.3 is our code on BearSSL's primitives. TLS 1.2 is BearSSL's engine, which continues from the same ClientHello. AES-GCM or
 * ChaCha20-Poly1305, ephemeral keys, ALPN http/1.1 or h2, no renegotiation, no tickets. Certificates are checked by our own X.509
 * class on top of BearSSL's: the chain, its dates, subjectAltName (DNS names and IP addresses), extended key usage serverAuth; the
 * common name is never looked at. There is no revocation check. */
#ifndef MOBULA_TLS_H
#define MOBULA_TLS_H

#include <mobula/base.h>

/* ---- anchors of trust and our own identity: loaded once, shared by sessions, counted ---- */

struct tls_trust;
/* Every certificate of the PEM text as a trust anchor. CRLF, a byte-order mark and a missing last newline are fine; text between blocks is
 * skipped; a certificate that cannot be an anchor (RSA above 8192 bits, unknown key) is passed over and counted in *skipped; none at all,
 * or a BEGIN without its END, is an error that names the line. Anchors hold name and key only: an anchor's own dates and constraints are
 * not checked. */
struct tls_trust *tls_trust_load(struct slice pem, uint32_t *count, uint32_t *skipped, struct err *e);
/* a and b together, for egress hosts behind an inspecting proxy. */
struct tls_trust *tls_trust_join(const struct tls_trust *a, const struct tls_trust *b);
struct tls_trust *tls_trust_keep(struct tls_trust *t);
void tls_trust_drop(struct tls_trust *t);           /* NULL is fine */
uint64_t tls_trust_hash(const struct tls_trust *t); /* of the names and keys of its CAs; NULL is fine */

struct tls_identity;
/* A certificate chain, of a client or a server, and its key (RSA or EC; PKCS#1, SEC1 or PKCS#8, not encrypted). A key that does not belong
 * to the first certificate is an error. The key is wiped with the last user. */
struct tls_identity *tls_identity_load(struct slice cert_pem, struct slice key_pem, struct err *e);
struct tls_identity *tls_identity_keep(struct tls_identity *i);
void tls_identity_drop(struct tls_identity *i);

/* ---- sessions ---- */

struct tls_options {
    struct slice name; /* the name that the certificate must be for: a plain DNS name or an IP address, no trailing dot, no brackets */
    struct tls_trust *trust;       /* NULL only with insecure */
    struct tls_identity *identity; /* NULL: an empty list when the server asks */
    bool insecure;                 /* accept any certificate: kubeconfig's insecure-skip-tls-verify */
    bool h2;                       /* offer ALPN h2 instead of http/1.1 */
    int64_t wall_us;               /* the clock's time, for the dates in certificates */
};

enum tls_state {
    TLS_HANDSHAKE,
    TLS_OPEN,   /* plaintext may be written and read */
    TLS_CLOSED, /* the peer said close_notify; what it sent before may still be read */
    TLS_FAILED, /* tls_error says why; nothing more is sent or received but the alert in tls_send_peek */
};

struct tls;
struct tls *tls_open(const struct tls_options *options, struct err *e); /* one block of 39 KiB; 7 KiB more until TLS_OPEN */
struct tls *tls_accept(struct tls_identity *identity);                  /* the server's side: no client certificate is asked for */
void tls_free(struct tls *t);                                           /* wiped; NULL is fine */

/* Four directions, each a pair: "here is what there is / how much room there is" and "so much of it was used / written". Lengths may be 0.
 */
struct slice tls_send_peek(struct tls *t); /* ciphertext for the wire */
void tls_send_used(struct tls *t, size_t n);
char *tls_recv_room(struct tls *t, size_t *n); /* where ciphertext from the wire goes */
void tls_recv_wrote(struct tls *t, size_t n);
struct slice tls_read_peek(struct tls *t); /* plaintext for the caller */
void tls_read_used(struct tls *t, size_t n);
char *tls_write_room(struct tls *t, size_t *n); /* where the caller's plaintext goes */
void tls_write_wrote(struct tls *t, size_t n);
void tls_flush(struct tls *t); /* written bytes become a record now */

/* The wire ended. Without close_notify before it the session fails, so that a cut answer is never taken for a whole one. Nothing is lost by
 * that: there is no room for ciphertext, and so no reason to read the wire, before all plaintext has been used. */
void tls_eof(struct tls *t);
/* Queues close_notify behind what was written; unread plaintext is thrown away and nothing more is received. The session is TLS_CLOSED at
 * once; it may be freed when tls_send_peek has nothing left. */
void tls_close(struct tls *t);

enum tls_state tls_state(const struct tls *t);
/* Set when TLS_FAILED: ERR_TLS_TRUST or ERR_TLS_NAME for the certificate, ERR_CLOSED for a cut connection, else ERR_TLS. Names what a
 * person can act on: "server speaks neither TLS 1.3 nor 1.2", "certificate is for X, wanted Y", "certificate expired on …, clock says …",
 * "certificate is signed by an unknown CA (…)", "server wants a client certificate". */
const struct err *tls_error(const struct tls *t);
/* Of an open session: version, key exchange group, suite, and of a client's the kind of the server's key: "TLS 1.3", "X25519",
 * "TLS_AES_128_GCM_SHA256", "ECDSA P-256" (or "RSA"). */
struct tls_info {
    const char *version, *group, *suite, *certificate;
};
void tls_info(const struct tls *t, struct tls_info *out);
/* on: sessions of this process that begin from now on neither offer nor accept TLS 1.2. Default: off. */
void tls_insist_on_13(bool on);
/* When the server's certificate ends, in microseconds since 1970; 0 before the handshake is done. */
int64_t tls_peer_expires(const struct tls *t);

/* The DER walk of our X.509 class, for its tests and fuzzer: what a leaf certificate is for. */
struct tls_leaf {
    bool has_name;                       /* name is in its subjectAltName */
    bool has_eku, server;                /* extendedKeyUsage is there; it allows serverAuth */
    bool ca, no_signer;                  /* basicConstraints has cA; keyUsage exists and lacks keyCertSign */
    char first_name[128];                /* the first names in it, for the error text */
    char issuer[96];                     /* the common name of who signed it, or else the organisation; likewise */
    int64_t not_before_us, not_after_us; /* microseconds since 1970 */
    struct slice subject, key_id;        /* DER of the subject's name; subjectKeyIdentifier, empty if there is none. Both point into the
                                          * certificate */
    bool self_issued;                    /* its issuer has the subject's name: a chain ends with it */
};
/* name as in tls_options. An IP address is looked for among the IP addresses only, a DNS name among the DNS names only: in any case of
 * letters, with "*" as the whole leftmost label and at least two labels behind it. */
bool tls_leaf_read(struct slice der, struct slice name, struct tls_leaf *out, struct err *e);

/* tls_leaf_read of an identity's first certificate. */
bool tls_identity_leaf(const struct tls_identity *id, struct slice name, struct tls_leaf *out);
/* Whether the first certificate is for the name, which may be a wildcard: *.example.com. */
bool tls_identity_for(const struct tls_identity *id, struct slice name, struct tls_leaf *out);

/* Whether all certificates of the chain, which ends with a self-issued one, are valid at this time, and all (ca), or all but the first, may
 * sign others. Shortens *not_after_us to their earliest end. */
bool tls_identity_valid(const struct tls_identity *id, bool ca, int64_t wall_us, int64_t *not_after_us, struct err *e);

/* ---- certificates of our own making: on P-256, signed with SHA-256 ---- */

struct tls_issue {
    const struct slice *names; /* DNS names and IP addresses of a server, which may be a client as well; none: a CA's certificate */
    uint32_t name_count;
    const struct tls_identity *ca; /* signs. NULL: a new CA is made. With no names: its certificate is renewed, its key stays */
    int64_t not_before_us, not_after_us;
    const char *subject; /* common name, or the beginning of a CA's. NULL: "mobula control plane" */
};
/* Appends PEM; no key when a CA is renewed. No other copy of the private key is left in memory. */
bool tls_issue(const struct tls_issue *o, struct buf *cert_pem, struct buf *key_pem, struct err *e);
/* A CA's certificate for TLS_CA_DAYS, from a day before wall_us because clocks differ. old: the CA to renew, with its key; NULL: a new one.
 * It is to be renewed when fewer than TLS_CA_RENEW_DAYS are left (tls_ca_due). */
enum { TLS_CA_DAYS = 3650, TLS_CA_RENEW_DAYS = 365 };
bool tls_issue_ca(const struct tls_identity *old, const char *subject, int64_t wall_us, struct buf *cert_pem, struct buf *key_pem,
                  struct err *e);
bool tls_ca_due(const struct tls_identity *ca, int64_t wall_us);
/* Issues a certificate signed by the CA in ca_cert and ca_key (PEM), followed by ca_cert, which has the CA's chain. It is valid for
 * TLS_ISSUED_DAYS, from a day before wall_us, but no longer than the chain. o has names and subject. False: the key does not fit the
 * certificate, a certificate of the chain is not a CA's, has expired or is not valid yet, or the result would be longer than
 * tls_identity_load takes. */
enum { TLS_ISSUED_DAYS = 90 };
bool tls_issue_by(struct slice ca_cert, struct slice ca_key, struct tls_issue *o, int64_t wall_us, struct buf *cert_pem,
                  struct buf *key_pem, struct err *e);
/* Whether a certificate (PEM, and its leaf) needs a successor: it was not issued by the CA of ca_cert, whose chain ends at ca_ends_us, or
 * two thirds of its life are over and its successor would be valid for longer. */
bool tls_issue_due(struct slice cert_pem, const struct tls_leaf *leaf, struct slice ca_cert, int64_t ca_ends_us, int64_t wall_us);

/* HMAC of SHA-256. */
enum { TLS_MAC = 32 };
void tls_mac(struct slice key, struct slice text, char out[TLS_MAC]);

/* RSASSA-PKCS1-v1_5 with SHA-256 over the text, by the private key of a PEM text (PKCS#1 or PKCS#8). False: no RSA key (*e). */
enum { TLS_RSA_MAX = 1024 }; /* bytes of the longest RSA modulus; in BearSSL: BR_MAX_RSA_SIZE */
bool tls_rsa_sign(struct slice key_pem, struct slice text, char out[TLS_RSA_MAX], size_t *len, struct err *e);

/* ---- signed files ---- */

enum { TLS_SHA256_HEX = 65, TLS_P256_POINT = 65 };
struct tls_key {
    unsigned char point[TLS_P256_POINT];
    char fingerprint[TLS_SHA256_HEX]; /* SHA-256 of the key in DER form, as sha256sum prints it */
};
/* The first public key of a PEM text; it must be on P-256. */
bool tls_key_load(struct slice pem, struct tls_key *out, struct err *e);
/* Whether signature is one by the key over SHA-256 of the bytes: ECDSA in DER form, as openssl dgst -sha256 -sign makes it. */
bool tls_key_signed(const struct tls_key *key, struct slice bytes, struct slice signature);
void tls_sha256_hex(struct slice bytes, char out[TLS_SHA256_HEX]);
/* SHA-256 of bytes that come in pieces. */
struct tls_sha256 {
    uint64_t state[14];
};
void tls_sha256_begin(struct tls_sha256 *h);
void tls_sha256_add(struct tls_sha256 *h, struct slice bytes);
void tls_sha256_end(const struct tls_sha256 *h, char out[TLS_SHA256_HEX]);

#endif
