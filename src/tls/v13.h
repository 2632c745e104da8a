/* TLS 1.3 (RFC 8446) over BearSSL's primitives: bytes in, bytes out. The handshake's own memory (struct v13_shake) is freed when the
 * session is open; what stays is one pair of keys and the record buffers. No 0-RTT, no resumption, no renegotiation.
 *
 *   schedule.c   transcript hash, HKDF and the secrets          exchange.c  groups of the key exchange
 *   protect.c    records sealed and opened                      sign.c      CertificateVerify
 *   record.c     records in and out, alerts, KeyUpdate          common.c    messages that both sides send
 *   client.c, server.c   the handshake of each side
 */
#ifndef MOBULA_TLS_V13_H
#define MOBULA_TLS_V13_H

#include "check.h"

/* The random of a ServerHello that is a HelloRetryRequest, §4.1.3. */
#define V13_RETRY                                                                                                                          \
    SLICE("\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33"   \
          "\x9c")

enum {
    V13_HASH_MAX = 48,
    V13_TAG = 16,
    V13_HEAD = 5,              /* of a record */
    V13_PLAIN = 16 * KIB,      /* of one record */
    V13_OVERHEAD = 256,        /* that a sealed record may have beyond it */
    V13_RANDOM = 32,           /* of a hello; and the length of our session id */
    V13_SECRET_MAX = 66,       /* a shared secret: P-521's is the longest */
    V13_SHARE_MAX = 1184 + 32, /* X25519MLKEM768's of a client */
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
    EXT_POINT_FORMATS = 11,
    EXT_SIGNATURES = 13,
    EXT_ALPN = 16,
    EXT_VERSIONS = 43,
    EXT_COOKIE = 44,
    EXT_KEY_SHARE = 51,
    EXT_RENEGOTIATION = 0xff01,
};

/* Alerts, §6. */
enum {
    ALERT_CLOSE = 0,
    ALERT_UNEXPECTED = 10,
    ALERT_BAD_MAC = 20,
    ALERT_OVERFLOW = 22,
    ALERT_NO_HANDSHAKE = 40,
    ALERT_BAD_CERT = 42,
    ALERT_EXPIRED = 45,
    ALERT_ILLEGAL = 47,
    ALERT_NO_CA = 48,
    ALERT_DECODE = 50,
    ALERT_DECRYPT = 51,
    ALERT_VERSION = 70,
    ALERT_CANCELED = 90,
    ALERT_NO_EXTENSION = 109,
    ALERT_EXTENSION = 110,
    ALERT_NO_PROTOCOL = 120,
};

enum { VERSION_12 = 0x0303, VERSION_13 = 0x0304 };

/* ---- bytes ---- */

static inline void put8(struct buf *b, unsigned v)
{
    buf_putc(b, (char)v);
}

static inline void put16(struct buf *b, unsigned v)
{
    put8(b, v >> 8);
    put8(b, v);
}

/* A vector with a length of `width` bytes in front, which are filled in by v13_end. */
size_t v13_begin(struct buf *b, unsigned width);
void v13_end(struct buf *b, size_t from, unsigned width);
bool v13_get(struct slice *in, unsigned width, uint32_t *out);
bool v13_get_bytes(struct slice *in, size_t n, struct slice *out);
bool v13_get_vector(struct slice *in, unsigned width, struct slice *out);

/* An extension that is looked for. */
struct v13_extension {
    uint16_t type;
    bool there;
    struct slice body;
};
struct v13;
/* The extensions that end a message. `strict`: any other is an alert, as it was not asked for. */
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
bool v13_fast_aes(void); /* whether AES is preferred to ChaCha20 here */

static inline const br_hash_class *v13_hash(const struct v13_suite *s)
{
    return s->sha384 ? &br_sha384_vtable : &br_sha256_vtable;
}

static inline size_t v13_hash_len(const struct v13_suite *s)
{
    return s->sha384 ? br_sha384_SIZE : br_sha256_SIZE;
}

/* Both hashes run until the suite is known. */
struct v13_transcript {
    br_sha256_context sha256;
    br_sha384_context sha384;
};
void v13_transcript_init(struct v13_transcript *t);
void v13_transcript_add(struct v13_transcript *t, struct slice bytes);
void v13_transcript_out(const struct v13_transcript *t, const struct v13_suite *s, unsigned char *out);
/* §4.4.1: a HelloRetryRequest puts a hash in the place of the first hello. */
void v13_transcript_retry(struct v13_transcript *t, const struct v13_suite *s);

void v13_extract(const struct v13_suite *s, const unsigned char *salt, struct slice secret, unsigned char *out);
void v13_expand(const struct v13_suite *s, const unsigned char *secret, const char *label, struct slice context, unsigned char *out,
                size_t len);

struct v13_secrets {
    unsigned char now[V13_HASH_MAX]; /* the handshake secret, then the master secret */
    unsigned char client[V13_HASH_MAX], server[V13_HASH_MAX];
};
/* From the shared secret and the transcript up to ServerHello; from the handshake secret and that up to the server's Finished. */
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
    br_gcm_context gcm;
    unsigned char iv[12];
    uint64_t sequence;
    unsigned char secret[V13_HASH_MAX];
};
void v13_keys_set(struct v13_keys *k, const struct v13_suite *s, const unsigned char *secret);
void v13_keys_update(struct v13_keys *k);
/* In place: head is the record's, text is n bytes of inner plaintext with room for the tag behind them. */
void v13_seal(struct v13_keys *k, const unsigned char *head, unsigned char *text, size_t n);
bool v13_open(struct v13_keys *k, const unsigned char *head, unsigned char *text, size_t n); /* n without the tag, which is behind them */

/* ---- exchange.c ---- */

struct v13_group {
    uint16_t id;
    uint8_t curve; /* of BearSSL's; the classical half of a hybrid */
    bool hybrid;
    const char *name;
    uint16_t client_share, server_share;
};
extern const struct v13_group v13_groups[];
extern const size_t v13_group_count;
const struct v13_group *v13_group_of(unsigned id);

struct v13_exchange {
    unsigned char x25519[32]; /* of X25519 and of the hybrid */
    unsigned char curve[66];  /* of the curve that a HelloRetryRequest or a client chose */
    unsigned char kem[64];    /* seed of the ML-KEM key */
};
/* Appends our share as a client, whose key is made on first use. */
void v13_share(struct v13_exchange *x, const struct v13_group *g, struct buf *out);
/* A client's shared secret from the server's share: its length, 0 when the share is no valid one. */
size_t v13_agree(const struct v13_exchange *x, const struct v13_group *g, struct slice share, unsigned char *secret);
/* A server's answer to a client's share, both at once. */
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

/* RSA-PSS over a hash of the message, with a salt as long as that. */
bool v13_verify_pss(const br_hash_class *hash, const br_rsa_public_key *key, const unsigned char *message, struct slice signature);

/* ---- record.c ---- */

enum v13_step {
    V13_START, /* a server waits for the first hello */
    V13_RETRIED,
    V13_HELLO, /* a client waits for ServerHello */
    V13_EXTENSIONS,
    V13_REQUEST, /* CertificateRequest or Certificate */
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
    struct buf hello;  /* a client's first, for a session of TLS 1.2 that goes on with it */
    struct buf raw;    /* records until the version is known */
    struct buf cookie; /* of the HelloRetryRequest */
    const struct v13_group *retried;
    bool requested;  /* a certificate of ours */
    unsigned scheme; /* we sign with; 0: with none */
    struct buf context;
};

struct v13 {
    bool server, old; /* old: the peer speaks TLS 1.2 */
    enum v13_step step;
    const struct v13_suite *suite;
    const struct v13_group *group;
    struct v13_keys in, out;
    struct v13_shake *shake; /* NULL when open */
    const char *host;        /* a client's SNI, or NULL */
    struct tls_check *check;
    const struct tls_identity *identity;
    bool certified;     /* the peer's certificate has come */
    bool peer_finished; /* no more change_cipher_spec */
    struct buf message; /* a handshake message that is not whole yet */
    struct buf queue;   /* sealed records for the wire, behind those in `sealed` */
    size_t queue_at;
    unsigned char *in_room, *out_room;
    size_t in_len, plain_at, plain_end;    /* of in_room: what has come; plaintext for the caller */
    size_t written, sealed_at, sealed_end; /* of out_room: plaintext behind the head; a sealed record */
    bool flush, closed_in, closed_out;
    unsigned idle; /* records in a row without data */
    int code;      /* why it failed: BR_ERR_*, 0 for none */
};

void v13_start(struct v13 *v, bool server, unsigned char *records);
void v13_free(struct v13 *v);
/* Fails the session: an alert for the peer, a code for tls_explain. Always false. */
bool v13_fail(struct v13 *v, int alert, int code);
/* Puts records with this content into the queue, sealed with the keys of the moment. */
void v13_send(struct v13 *v, unsigned type, struct slice content);
/* A handshake message of ours: into the transcript and the queue. */
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

/* ---- client.c, server.c: one whole message, its head in front ---- */

void v13_client_hello(struct v13 *v);
bool v13_client_take(struct v13 *v, unsigned type, struct slice message);
bool v13_server_take(struct v13 *v, unsigned type, struct slice message);
/* common.c: Certificate, CertificateVerify and Finished */
void v13_say_certificate(struct v13 *v, struct slice context);
bool v13_say_verify(struct v13 *v);
void v13_say_finished(struct v13 *v, const unsigned char *secret);
bool v13_check_finished(struct v13 *v, const unsigned char *secret, struct slice body);

extern unsigned v13_least; /* VERSION_12 or VERSION_13 */
/* Codes of ours beside BearSSL's, for tls_explain. */
enum {
    V13_ERR_DOWNGRADE = 200, /* ServerHello says that the server would rather have spoken TLS 1.3 */
    V13_ERR_GROUP,           /* no group, or none that was offered */
    V13_ERR_OLD,             /* the peer does not speak what we insist on */
    V13_ERR_SCHEME,          /* no signature scheme that both know */
    V13_ERR_MALFORMED,
};

#endif
