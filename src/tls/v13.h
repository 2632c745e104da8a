/* TLS 1.3 (RFC 8446) over BearSSL's primitives: bytes in, bytes out. The memory of the handshake (struct v13_shake) is freed when the
 * session is open; what stays is the keys of both directions and the record buffers. No 0-RTT, no resumption, no renegotiation.
 *
 *   schedule.c   transcript hash, HKDF and the secrets          exchange.c  groups of the key exchange
 *   protect.c    encryption and decryption of records           sign.c      CertificateVerify
 *   record.c     records in and out, alerts, KeyUpdate          common.c    messages that both sides send
 *   client.c, server.c   the handshake of each side
 */
#ifndef MOBULA_TLS_V13_H
#define MOBULA_TLS_V13_H

#include "check.h"

/* The random that marks a ServerHello as a HelloRetryRequest, §4.1.3. */
#define V13_RETRY                                                                                                                          \
    SLICE("\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33"   \
          "\x9c")

enum {
    V13_HASH_MAX = 48,
    V13_TAG = 16,
    V13_NONCE = 12,
    V13_HEAD = 5,         /* header of a record */
    V13_PLAIN = 16 * KIB, /* most plaintext of one record */
    V13_OVERHEAD = 256,   /* most bytes by which encryption may lengthen it, §5.2 */
    V13_RANDOM = 32,      /* random of a hello; our legacy_session_id is as long */
    V13_SECRET_MAX = 66,  /* longest shared secret: P-521 */
    V13_THEIRS = 96,      /* text of what the peer offered or chose */
};

/* Record types, RFC 8446 §5.1. */
enum { RECORD_CCS = 20, RECORD_ALERT = 21, RECORD_HANDSHAKE = 22, RECORD_DATA = 23 };

/* Handshake messages, §4. */
enum {
    MESSAGE_CLIENT_HELLO = 1,
    MESSAGE_SERVER_HELLO = 2,
    MESSAGE_TICKET = 4,
    MESSAGE_EXTENSIONS = 8,
    MESSAGE_CERTIFICATE = 11,
    MESSAGE_REQUEST = 13,
    MESSAGE_VERIFY = 15,
    MESSAGE_FINISHED = 20,
    MESSAGE_KEY_UPDATE = 24,
    MESSAGE_HASH = 254,
};

/* Extensions, §4.2. */
enum {
    EXT_SERVER_NAME = 0,
    EXT_GROUPS = 10,
    EXT_SIGNATURES = 13,
    EXT_ALPN = 16,
    EXT_PSK = 41,
    EXT_EARLY_DATA = 42,
    EXT_VERSIONS = 43,
    EXT_COOKIE = 44,
    EXT_PSK_MODES = 45,
    EXT_KEY_SHARE = 51,
};

/* Alerts, §6. */
enum {
    ALERT_CLOSE = 0,
    ALERT_UNEXPECTED = 10,
    ALERT_BAD_MAC = 20,
    ALERT_OVERFLOW = 22,
    ALERT_NO_HANDSHAKE = 40,
    ALERT_BAD_CERT = 42,
    ALERT_UNSUPPORTED_CERT = 43,
    ALERT_EXPIRED = 45,
    ALERT_ILLEGAL = 47,
    ALERT_NO_CA = 48,
    ALERT_ACCESS_DENIED = 49,
    ALERT_DECODE = 50,
    ALERT_DECRYPT = 51,
    ALERT_VERSION = 70,
    ALERT_INSUFFICIENT = 71,
    ALERT_CANCELED = 90,
    ALERT_NO_EXTENSION = 109,
    ALERT_EXTENSION = 110,
    ALERT_NAME = 112,
    ALERT_NO_CERT = 116,
    ALERT_NO_PROTOCOL = 120,
};

enum { VERSION_12 = 0x0303, VERSION_13 = 0x0304 };

/* ---- encoding and decoding: record.c ---- */

static inline void put8(struct buf *b, unsigned v)
{
    buf_putc(b, (char)v);
}

static inline void put16(struct buf *b, unsigned v)
{
    put8(b, v >> 8);
    put8(b, v);
}

/* Begins a vector with a length of `width` bytes in front; returns its place (`from`), with which v13_end fills in the length. */
size_t v13_begin(struct buf *b, unsigned width);
void v13_end(struct buf *b, size_t from, unsigned width);
bool v13_get(struct slice *in, unsigned width, uint32_t *out);
bool v13_get_bytes(struct slice *in, size_t n, struct slice *out);
bool v13_get_vector(struct slice *in, unsigned width, struct slice *out);

/* An extension to look for in a message: `there` and `body` are set if it is found. */
struct v13_extension {
    uint16_t type;
    bool there;
    struct slice body;
};
struct v13;
/* Reads the extensions at the end of a message. `strict`: one that is not in `known` fails the session, as we did not ask for it. False:
 * the session has failed. */
bool v13_get_extensions(struct v13 *v, struct slice in, struct v13_extension *known, size_t count, bool strict);

/* ---- schedule.c ---- */

struct v13_suite {
    uint16_t id;
    uint8_t key_len;
    bool sha384, chacha;
    const char *name;
};
extern const struct v13_suite v13_suites[3];
const struct v13_suite *v13_suite_of(unsigned id);
bool v13_fast_aes(void);                         /* whether the CPU has instructions for AES-GCM: it is preferred then */
const struct v13_suite *v13_suite_nth(size_t i); /* in order of preference on this CPU */

static inline const br_hash_class *v13_hash(const struct v13_suite *s)
{
    return s->sha384 ? &br_sha384_vtable : &br_sha256_vtable;
}

static inline size_t v13_hash_len(const struct v13_suite *s)
{
    return s->sha384 ? br_sha384_SIZE : br_sha256_SIZE;
}

/* Both hashes are computed, because the first messages come before the suite is known. */
struct v13_transcript {
    br_sha256_context sha256;
    br_sha384_context sha384;
};
void v13_transcript_init(struct v13_transcript *t);
void v13_transcript_add(struct v13_transcript *t, struct slice bytes);
void v13_transcript_out(const struct v13_transcript *t, const struct v13_suite *s, unsigned char *out);
/* §4.4.1: with a HelloRetryRequest, a message_hash takes the place of the first ClientHello. */
void v13_transcript_retry(struct v13_transcript *t, const struct v13_suite *s);

void v13_extract(const struct v13_suite *s, const unsigned char *salt, struct slice secret, unsigned char *out);
void v13_expand(const struct v13_suite *s, const unsigned char *secret, const char *label, struct slice context, unsigned char *out,
                size_t len);

struct v13_secrets {
    unsigned char now[V13_HASH_MAX]; /* the handshake secret, then the master secret */
    unsigned char client[V13_HASH_MAX], server[V13_HASH_MAX];
};
/* Derive the traffic secrets of client and server. For the handshake: from the shared secret and the hash of the transcript up to
 * ServerHello. For application data: from the handshake secret and the hash of the transcript up to the server's Finished. */
void v13_secrets_handshake(struct v13_secrets *k, const struct v13_suite *s, struct slice shared, const unsigned char *transcript);
void v13_secrets_master(struct v13_secrets *k, const struct v13_suite *s, const unsigned char *transcript);
void v13_finished(const struct v13_suite *s, const unsigned char *secret, const unsigned char *transcript, unsigned char *out);

/* ---- protect.c ---- */

/* The keys of one direction. */
struct v13_keys {
    const struct v13_suite *suite; /* NULL: records are in the clear */
    union {
        br_aes_gen_ctr_keys aes;
        unsigned char chacha[32];
    } key;
    br_ghash ghash;
    unsigned char ghash_key[16], iv[V13_NONCE];
    uint64_t sequence;
    unsigned char secret[V13_HASH_MAX];
};
void v13_keys_set(struct v13_keys *k, const struct v13_suite *s, const unsigned char *secret);
void v13_keys_update(struct v13_keys *k);
/* Encrypts in place: head is the record header, text has n bytes of TLSInnerPlaintext and room for the tag behind them. */
void v13_seal(struct v13_keys *k, const unsigned char *head, unsigned char *text, size_t n);
bool v13_open(struct v13_keys *k, const unsigned char *head, unsigned char *text, size_t n); /* decrypts n bytes; the tag is behind them */

/* ---- exchange.c ---- */

struct v13_group {
    uint16_t id;
    uint8_t curve; /* BR_EC_*; of a hybrid: its ECDHE part */
    bool hybrid;
    const char *name;
    uint16_t client_share, server_share;
};
extern const struct v13_group v13_groups[];
extern const size_t v13_group_count;
const struct v13_group *v13_group_of(unsigned id);

/* Whether a big-endian number is a private key of a NIST curve: from 1 to its order less 1. Clears the bits above the order's first. */
bool v13_is_scalar(int curve, unsigned char *key);

struct v13_exchange {
    unsigned char x25519[32]; /* private key of X25519, in the hybrid too */
    unsigned char curve[66];  /* private key of the NIST curve that a HelloRetryRequest selected */
    unsigned char kem[64];    /* seed of the ML-KEM key pair */
};
/* Client: appends our key share of a group; its private key is generated on first use. */
void v13_share(struct v13_exchange *x, const struct v13_group *g, struct buf *out);
/* Client: computes the shared secret from the server's share. Returns its length; 0: the share is invalid. */
size_t v13_agree(const struct v13_exchange *x, const struct v13_group *g, struct slice share, unsigned char *secret);
/* Server: appends our share to `out` and computes the shared secret. Returns its length; 0: the client's share is invalid. */
size_t v13_answer(const struct v13_group *g, struct slice share, struct buf *out, unsigned char *secret);

/* ---- sign.c ---- */

extern const uint16_t v13_schemes[];
extern const size_t v13_scheme_count;
/* The scheme with which this identity signs, among those in `offered` (pairs of bytes); 0: none. */
unsigned v13_scheme_for(const struct tls_identity *id, struct slice offered);
bool v13_scheme_fits(const br_x509_pkey *key, unsigned scheme);
bool v13_sign(const struct tls_identity *id, unsigned scheme, bool server, const struct v13_suite *s, const unsigned char *transcript,
              struct buf *out);
bool v13_verify(const br_x509_pkey *key, unsigned scheme, bool server, const struct v13_suite *s, const unsigned char *transcript,
                struct slice signature);

/* Verifies RSA-PSS: `message` is the hash of the message, and the salt is as long. */
bool v13_verify_pss(const br_hash_class *hash, const br_rsa_public_key *key, const unsigned char *message, struct slice signature);

/* ---- record.c ---- */

enum v13_step {
    V13_START, /* a server waits for the first ClientHello */
    V13_RETRIED,
    V13_HELLO, /* a client waits for ServerHello */
    V13_EXTENSIONS,
    V13_REQUEST, /* a client waits for CertificateRequest or Certificate */
    V13_CERTIFICATE,
    V13_VERIFY,
    V13_FINISHED,
    V13_OPEN,
};

struct v13_shake {
    struct v13_transcript transcript;
    struct v13_exchange exchange;
    struct v13_secrets secrets;
    unsigned char random[V13_RANDOM], session[V13_RANDOM];
    struct buf hello;  /* our ClientHello: a TLS 1.2 session continues with it */
    struct buf raw;    /* received records, until the version is known: for BearSSL, if it is TLS 1.2 */
    struct buf cookie; /* of the HelloRetryRequest */
    const struct v13_group *retried;
    bool requested;  /* the server has asked for a client certificate */
    unsigned scheme; /* of our CertificateVerify; 0: we send no certificate */
    size_t early;    /* the client sent early_data, which is not accepted: bytes of its 0-RTT records that may still be skipped */
};

struct v13 {
    bool server, old; /* old: the peer speaks TLS 1.2, and old.c continues */
    bool h2;          /* a client offers ALPN h2 */
    enum v13_step step;
    const struct v13_suite *suite;
    const struct v13_group *group;
    struct v13_keys in, out;
    struct v13_shake *shake; /* NULL when the session is open */
    const char *host;        /* a client's SNI, or NULL */
    struct tls_check *check;
    const struct tls_identity *identity;
    bool certified;     /* the server's Certificate has arrived */
    bool peer_finished; /* the peer's Finished was valid: change_cipher_spec is an error from then on */
    struct buf message; /* the received part of a handshake message */
    struct buf queue;   /* records for the wire, sent after the one in writing.room */
    size_t queue_at;
    struct {
        unsigned char *room;
        size_t len, plain_at, plain_end; /* bytes received; where the caller's plaintext is */
    } reading;
    struct {
        unsigned char *room;
        size_t written, sealed_at, sealed_end; /* bytes of plaintext behind the header; where the sealed record is */
    } writing;
    bool flush, closed_in, closed_out;
    bool update_owed;        /* the peer asked for our KeyUpdate: it is sent before our next application data */
    unsigned idle;           /* records in a row without application data: at most LIMIT_TLS_IDLE */
    int code;                /* of the failure: BR_ERR_* or V13_ERR_*; 0: not failed */
    char theirs[V13_THEIRS]; /* for the error text: what the peer offered or chose, where that is the reason; else "" */
};

void v13_start(struct v13 *v, bool server, unsigned char *records);
void v13_free(struct v13 *v);
/* Fails the session: queues the alert for the peer, and keeps the code for tls_explain. Returns false. */
bool v13_fail(struct v13 *v, int alert, int code);
/* Writes two-byte numbers of the peer's (versions, suites, groups, schemes) to v->theirs. */
void v13_note(struct v13 *v, struct slice numbers);
/* v13_fail because of such numbers. */
bool v13_fail_for(struct v13 *v, int alert, int code, struct slice numbers);
/* Appends records with this content to the queue, encrypted with the current keys, if any. */
void v13_send(struct v13 *v, unsigned type, struct slice content);
/* Appends a handshake message of ours to the transcript and the queue, and frees it. */
void v13_say(struct v13 *v, struct buf *message);
void v13_say_change(struct v13 *v); /* change_cipher_spec, §D.4 */
void v13_opened(struct v13 *v);

struct slice v13_send_peek(struct v13 *v);
void v13_send_used(struct v13 *v, size_t n);
char *v13_recv_room(struct v13 *v, size_t *n);
void v13_recv_wrote(struct v13 *v, size_t n);
struct slice v13_read_peek(const struct v13 *v);
void v13_read_used(struct v13 *v, size_t n);
char *v13_write_room(struct v13 *v, size_t *n);
void v13_write_wrote(struct v13 *v, size_t n);
void v13_flush(struct v13 *v);
void v13_close(struct v13 *v);

/* ---- client.c, server.c: `message` is one whole handshake message with its header ---- */

void v13_client_hello(struct v13 *v);
bool v13_client_take(struct v13 *v, unsigned type, struct slice message);
bool v13_server_take(struct v13 *v, unsigned type, struct slice message);
/* common.c: Certificate, CertificateVerify and Finished */
void v13_say_certificate(struct v13 *v);
bool v13_say_verify(struct v13 *v);
void v13_say_finished(struct v13 *v, const unsigned char *secret);
bool v13_check_finished(struct v13 *v, const unsigned char *secret, struct slice body);

extern unsigned v13_least; /* lowest version offered and accepted: VERSION_12 (default) or VERSION_13 */
/* Our own error codes for tls_explain, in a range that BearSSL does not use. */
enum {
    V13_ERR_DOWNGRADE = 200, /* ServerHello of TLS 1.2 whose random says that the server speaks TLS 1.3, §4.1.3 */
    V13_ERR_GROUP,           /* no group in common, or one that was not offered */
    V13_ERR_SHARE,           /* the peer's key share is invalid */
    V13_ERR_OLD,             /* the peer does not speak TLS 1.3, and tls_insist_on_13 is on */
    V13_ERR_RETRY,           /* version, suite or group after a HelloRetryRequest are others than in it */
    V13_ERR_SCHEME,          /* no signature scheme in common, or one that does not fit the key */
    V13_ERR_PROTOCOL,        /* no application protocol in common */
    V13_ERR_MALFORMED,
};

#endif
