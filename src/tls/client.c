/* The client's handshake (RFC 8446 §2, §4): one ClientHello for TLS 1.3 and 1.2. */
#include "v13.h"

static struct slice protocol(const struct v13 *v)
{
    return v->h2 ? SLICE("\x02h2") : SLICE("\x08http/1.1");
}

unsigned v13_least = VERSION_12;

/* ---- ClientHello ---- */

static void put_suites(struct buf *b)
{
    static const uint16_t old_gcm[] = {BR_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, BR_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
                                       BR_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, BR_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384};
    static const uint16_t old_chacha[] = {BR_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, BR_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256};
    bool aes = v13_fast_aes();
    size_t list = v13_begin(b, 2);
    for (size_t i = 0; i < COUNT_OF(v13_suites); i++)
        put16(b, v13_suite_nth(i)->id);
    for (unsigned turn = 0; v13_least == VERSION_12 && turn < 2; turn++) {
        bool gcm = aes == (turn == 0);
        for (size_t i = 0; i < (gcm ? COUNT_OF(old_gcm) : COUNT_OF(old_chacha)); i++)
            put16(b, gcm ? old_gcm[i] : old_chacha[i]);
    }
    v13_end(b, list, 2);
}

static size_t begin_extension(struct buf *b, unsigned type)
{
    put16(b, type);
    return v13_begin(b, 2);
}

static void put_name(struct buf *b, const char *host)
{
    size_t all = begin_extension(b, EXT_SERVER_NAME), list = v13_begin(b, 2);
    put8(b, 0);
    size_t name = v13_begin(b, 2);
    buf_put(b, slice_of(host));
    v13_end(b, name, 2);
    v13_end(b, list, 2);
    v13_end(b, all, 2);
}

static void put_lists(const struct v13 *v, struct buf *b)
{
    size_t all = begin_extension(b, EXT_GROUPS), list = v13_begin(b, 2);
    for (size_t i = 0; i < v13_group_count; i++)
        put16(b, v13_groups[i].id);
    v13_end(b, list, 2);
    v13_end(b, all, 2);
    all = begin_extension(b, EXT_SIGNATURES), list = v13_begin(b, 2);
    for (size_t i = 0; i < v13_scheme_count; i++)
        put16(b, v13_schemes[i]);
    v13_end(b, list, 2);
    v13_end(b, all, 2);
    all = begin_extension(b, EXT_ALPN), list = v13_begin(b, 2);
    buf_put(b, protocol(v));
    v13_end(b, list, 2);
    v13_end(b, all, 2);
}

/* Whether key_share holds this group: X25519 and X25519MLKEM768, or after a HelloRetryRequest only the group that it selected. */
static bool is_shared(const struct v13 *v, const struct v13_group *g)
{
    return v->shake->retried ? g == v->shake->retried : g->curve == BR_EC_curve25519;
}

static void put_shares(struct v13 *v, struct buf *b)
{
    size_t all = begin_extension(b, EXT_KEY_SHARE), list = v13_begin(b, 2);
    for (size_t i = 0; i < v13_group_count; i++) {
        if (!is_shared(v, &v13_groups[i]))
            continue;
        put16(b, v13_groups[i].id);
        size_t share = v13_begin(b, 2);
        v13_share(&v->shake->exchange, &v13_groups[i], b);
        v13_end(b, share, 2);
    }
    v13_end(b, list, 2);
    v13_end(b, all, 2);
}

static void put_extensions(struct v13 *v, struct buf *b)
{
    size_t list = v13_begin(b, 2);
    bool old = v13_least == VERSION_12;
    if (old)
        buf_put(b, SLICE("\xff\x01\0\1\0\0\x0b\0\2\1\0")); /* empty renegotiation_info; ec_point_formats: uncompressed */
    if (v->host)
        put_name(b, v->host);
    put_lists(v, b);
    buf_put(b, old ? SLICE("\0\x2b\0\5\4\3\4\3\3") : SLICE("\0\x2b\0\3\2\3\4"));
    if (v->shake->cookie.len) {
        size_t all = begin_extension(b, EXT_COOKIE);
        buf_put(b, buf_slice(&v->shake->cookie));
        v13_end(b, all, 2);
    }
    put_shares(v, b);
    v13_end(b, list, 2);
}

void v13_client_hello(struct v13 *v)
{
    struct buf *b = &v->shake->hello;
    if (b->len == 0) {
        random_bytes(v->shake->random, sizeof v->shake->random);
        random_bytes(v->shake->session, sizeof v->shake->session);
    }
    buf_clear(b);
    put8(b, MESSAGE_CLIENT_HELLO);
    size_t all = v13_begin(b, 3);
    put16(b, VERSION_12);
    buf_put(b, (struct slice){(const char *)v->shake->random, V13_RANDOM});
    put8(b, V13_RANDOM);
    buf_put(b, (struct slice){(const char *)v->shake->session, V13_RANDOM});
    put_suites(b);
    put16(b, 0x0100); /* no compression */
    put_extensions(v, b);
    v13_end(b, all, 3);
    if (b->full) { /* the cookie is too long */
        v13_fail(v, ALERT_ILLEGAL, BR_ERR_TOO_LARGE);
        return;
    }
    v13_transcript_add(&v->shake->transcript, buf_slice(b));
    v13_send(v, RECORD_HANDSHAKE, buf_slice(b));
}

/* ---- ServerHello ---- */

enum { SH_VERSIONS, SH_SHARE, SH_COOKIE };

struct server_hello {
    struct slice random, session;
    uint32_t version, suite, compression;
    struct v13_extension ext[3];
    bool retry;
};

/* Whether the ServerHello is of TLS 1.2: it has no supported_versions. Its other extensions, if any, are left to BearSSL. */
static bool is_old(struct slice in)
{
    uint32_t type = 0;
    struct slice all, body;
    if (!v13_get_vector(&in, 2, &all))
        return true;
    while (v13_get(&all, 2, &type) && v13_get_vector(&all, 2, &body))
        if (type == EXT_VERSIONS)
            return false;
    return true;
}

static bool take_old(struct v13 *v, const struct server_hello *h)
{
    struct slice tail = slice_skip(h->random, V13_RANDOM - 8);
    if (v13_least > VERSION_12 || v->suite) {
        const char version[2] = {(char)(h->version >> 8), (char)h->version};
        return v13_fail_for(v, v->suite ? ALERT_ILLEGAL : ALERT_VERSION, v->suite ? V13_ERR_RETRY : V13_ERR_OLD,
                            (struct slice){version, 2});
    }
    if (slice_eq(tail, SLICE("DOWNGRD\1")) || slice_eq(tail, SLICE("DOWNGRD\0")))
        return v13_fail(v, ALERT_ILLEGAL, V13_ERR_DOWNGRADE);
    const char suite[2] = {(char)(h->suite >> 8), (char)h->suite};
    v13_note(v, (struct slice){suite, 2});
    v->old = true;
    return true;
}

static bool take_retry(struct v13 *v, const struct server_hello *h, struct slice message)
{
    uint32_t id = 0;
    struct slice share = h->ext[SH_SHARE].body, cookie = h->ext[SH_COOKIE].body, text;
    const struct v13_group *g = NULL;
    if (v->suite)
        return v13_fail(v, ALERT_UNEXPECTED, BR_ERR_UNEXPECTED);
    if (h->ext[SH_SHARE].there) {
        if (!v13_get(&share, 2, &id) || share.len)
            return v13_fail(v, ALERT_DECODE, V13_ERR_MALFORMED);
        g = v13_group_of(id);
        if (!g || is_shared(v, g))
            return v13_fail_for(v, ALERT_ILLEGAL, V13_ERR_GROUP, h->ext[SH_SHARE].body);
    } else if (!h->ext[SH_COOKIE].there) {
        return v13_fail(v, ALERT_ILLEGAL, V13_ERR_MALFORMED);
    }
    if (h->ext[SH_COOKIE].there && (!v13_get_vector(&cookie, 2, &text) || !text.len || cookie.len))
        return v13_fail(v, ALERT_DECODE, V13_ERR_MALFORMED);
    v->suite = v13_suite_of(h->suite);
    v->shake->retried = g;
    if (h->ext[SH_COOKIE].there)
        buf_put(&v->shake->cookie, h->ext[SH_COOKIE].body);
    v13_transcript_retry(&v->shake->transcript, v->suite);
    v13_transcript_add(&v->shake->transcript, message);
    v13_say_change(v);
    v13_client_hello(v);
    return v->code == 0;
}

static bool take_keys(struct v13 *v, const struct server_hello *h, struct slice message)
{
    unsigned char secret[V13_SECRET_MAX], transcript[V13_HASH_MAX];
    uint32_t id = 0;
    struct slice in = h->ext[SH_SHARE].body, share;
    if (!h->ext[SH_SHARE].there)
        return v13_fail(v, ALERT_NO_EXTENSION, V13_ERR_GROUP);
    if (!v13_get(&in, 2, &id) || !v13_get_vector(&in, 2, &share) || in.len)
        return v13_fail(v, ALERT_DECODE, V13_ERR_MALFORMED);
    v->group = v13_group_of(id);
    if (!v->group || !is_shared(v, v->group))
        return v13_fail_for(v, ALERT_ILLEGAL, v->shake->retried ? V13_ERR_RETRY : V13_ERR_GROUP, slice_head(h->ext[SH_SHARE].body, 2));
    size_t n = v13_agree(&v->shake->exchange, v->group, share, secret);
    if (n == 0) {
        mem_wipe(secret, sizeof secret);
        return v13_fail(v, ALERT_ILLEGAL, V13_ERR_SHARE);
    }
    v->suite = v13_suite_of(h->suite);
    v13_transcript_add(&v->shake->transcript, message);
    v13_transcript_out(&v->shake->transcript, v->suite, transcript);
    v13_secrets_handshake(&v->shake->secrets, v->suite, (struct slice){(const char *)secret, n}, transcript);
    mem_wipe(secret, sizeof secret);
    v13_keys_set(&v->in, v->suite, v->shake->secrets.server);
    if (!v->shake->retried && !v->shake->cookie.len)
        v13_say_change(v);
    v13_keys_set(&v->out, v->suite, v->shake->secrets.client);
    v->step = V13_EXTENSIONS;
    return true;
}

static bool take_hello(struct v13 *v, struct slice message)
{
    struct slice in = slice_skip(message, 4), chosen;
    struct server_hello h = {.ext = {{.type = EXT_VERSIONS}, {.type = EXT_KEY_SHARE}, {.type = EXT_COOKIE}}};
    uint32_t version = 0;
    if (!v13_get(&in, 2, &h.version) || !v13_get_bytes(&in, V13_RANDOM, &h.random) || !v13_get_vector(&in, 1, &h.session) ||
        !v13_get(&in, 2, &h.suite) || !v13_get(&in, 1, &h.compression))
        return v13_fail(v, ALERT_DECODE, V13_ERR_MALFORMED);
    if (is_old(in))
        return take_old(v, &h);
    h.retry = slice_eq(h.random, V13_RETRY);
    if (!v13_get_extensions(v, in, h.ext, h.retry ? 3 : 2, true))
        return false;
    chosen = h.ext[SH_VERSIONS].body;
    if (!v13_get(&chosen, 2, &version) || chosen.len)
        return v13_fail(v, ALERT_DECODE, V13_ERR_MALFORMED);
    if (version != VERSION_13 || h.version != VERSION_12)
        return v13_fail(v, ALERT_ILLEGAL, BR_ERR_BAD_VERSION);
    if (h.compression || !slice_eq(h.session, (struct slice){(const char *)v->shake->session, V13_RANDOM}))
        return v13_fail(v, ALERT_ILLEGAL, V13_ERR_MALFORMED);
    if (!v13_suite_of(h.suite) || (v->suite && v->suite->id != h.suite)) {
        const char suite[2] = {(char)(h.suite >> 8), (char)h.suite};
        return v13_fail_for(v, ALERT_ILLEGAL, v->suite ? V13_ERR_RETRY : BR_ERR_BAD_CIPHER_SUITE, (struct slice){suite, 2});
    }
    return h.retry ? take_retry(v, &h, message) : take_keys(v, &h, message);
}

/* ---- encrypted handshake messages ---- */

static bool take_extensions(struct v13 *v, struct slice in)
{
    struct v13_extension ext[] = {{.type = EXT_SERVER_NAME}, {.type = EXT_GROUPS}, {.type = EXT_ALPN},      {.type = EXT_VERSIONS},
                                  {.type = EXT_KEY_SHARE},   {.type = EXT_COOKIE}, {.type = EXT_SIGNATURES}};
    struct slice list;
    if (!v13_get_extensions(v, in, ext, COUNT_OF(ext), true))
        return false;
    for (size_t i = 3; i < COUNT_OF(ext); i++)
        if (ext[i].there)
            return v13_fail(v, ALERT_ILLEGAL, BR_ERR_EXTRA_EXTENSION);
    if (ext[0].there && ext[0].body.len)
        return v13_fail(v, ALERT_DECODE, V13_ERR_MALFORMED);
    if (ext[2].there && (!v13_get_vector(&ext[2].body, 2, &list) || ext[2].body.len))
        return v13_fail(v, ALERT_DECODE, V13_ERR_MALFORMED);
    if (ext[2].there && !slice_eq(list, protocol(v)))
        return v13_fail(v, ALERT_ILLEGAL, V13_ERR_MALFORMED);
    v->step = V13_REQUEST;
    return true;
}

static bool take_request(struct v13 *v, struct slice in)
{
    struct v13_extension ext[] = {{.type = EXT_SIGNATURES}};
    struct slice context, list;
    if (!v13_get_vector(&in, 1, &context))
        return v13_fail(v, ALERT_DECODE, V13_ERR_MALFORMED);
    if (context.len)
        return v13_fail(v, ALERT_ILLEGAL, V13_ERR_MALFORMED);
    if (!v13_get_extensions(v, in, ext, COUNT_OF(ext), false))
        return false;
    if (!ext[0].there)
        return v13_fail(v, ALERT_NO_EXTENSION, V13_ERR_SCHEME);
    if (!v13_get_vector(&ext[0].body, 2, &list) || ext[0].body.len || !list.len || list.len % 2)
        return v13_fail(v, ALERT_DECODE, V13_ERR_MALFORMED);
    v->shake->requested = true;
    v->shake->scheme = v13_scheme_for(v->identity, list);
    v->step = V13_CERTIFICATE;
    return true;
}

static int alert_for(int verdict)
{
    return verdict == BR_ERR_X509_EXPIRED       ? ALERT_EXPIRED
           : verdict == BR_ERR_X509_NOT_TRUSTED ? ALERT_NO_CA
           : verdict == BR_ERR_X509_UNSUPPORTED ? ALERT_UNSUPPORTED_CERT
                                                : ALERT_BAD_CERT;
}

static bool take_certificate(struct v13 *v, struct slice in)
{
    const br_x509_class **check = &v->check->vtable;
    struct slice context, list, one, extensions;
    if (!v13_get_vector(&in, 1, &context) || context.len || !v13_get_vector(&in, 3, &list) || in.len || !list.len)
        return v13_fail(v, ALERT_DECODE, V13_ERR_MALFORMED);
    (*check)->start_chain(check, v->host);
    v->certified = true;
    while (list.len) {
        if (!v13_get_vector(&list, 3, &one) || !one.len || !v13_get_vector(&list, 2, &extensions))
            return v13_fail(v, ALERT_DECODE, V13_ERR_MALFORMED);
        if (extensions.len) /* our ClientHello asks for none, such as status_request */
            return v13_fail(v, ALERT_EXTENSION, BR_ERR_EXTRA_EXTENSION);
        (*check)->start_cert(check, (uint32_t)one.len);
        (*check)->append(check, (const unsigned char *)one.ptr, one.len);
        (*check)->end_cert(check);
    }
    int verdict = (int)(*check)->end_chain(check);
    if (verdict)
        return v13_fail(v, alert_for(verdict), verdict);
    v->step = V13_VERIFY;
    return true;
}

static bool take_verify(struct v13 *v, struct slice in)
{
    unsigned char transcript[V13_HASH_MAX];
    struct slice signature, number = slice_head(in, 2);
    uint32_t scheme = 0;
    unsigned usages = 0;
    const br_x509_pkey *key = v->check->vtable->get_pkey(&v->check->vtable, &usages);
    if (!v13_get(&in, 2, &scheme) || !v13_get_vector(&in, 2, &signature) || in.len)
        return v13_fail(v, ALERT_DECODE, V13_ERR_MALFORMED);
    if (!key || !(usages & BR_KEYTYPE_SIGN))
        return v13_fail(v, ALERT_BAD_CERT, BR_ERR_WRONG_KEY_USAGE);
    if (!v13_scheme_fits(key, scheme))
        return v13_fail_for(v, ALERT_ILLEGAL, V13_ERR_SCHEME, number);
    v13_transcript_out(&v->shake->transcript, v->suite, transcript);
    if (!v13_verify(key, scheme, true, v->suite, transcript, signature))
        return v13_fail(v, ALERT_DECRYPT, BR_ERR_BAD_SIGNATURE);
    v->step = V13_FINISHED;
    return true;
}

/* The application traffic secrets depend on the transcript up to the server's Finished: it is hashed before our messages are added. */
static bool take_finished(struct v13 *v, struct slice message)
{
    unsigned char transcript[V13_HASH_MAX];
    if (!v13_check_finished(v, v->in.secret, slice_skip(message, 4)))
        return false;
    v13_transcript_add(&v->shake->transcript, message);
    v13_transcript_out(&v->shake->transcript, v->suite, transcript);
    v->peer_finished = true;
    if (v->shake->requested) {
        v13_say_certificate(v);
        if (v->shake->scheme && !v13_say_verify(v))
            return false;
    }
    v13_say_finished(v, v->out.secret);
    v13_secrets_master(&v->shake->secrets, v->suite, transcript);
    v13_keys_set(&v->in, v->suite, v->shake->secrets.server);
    v13_keys_set(&v->out, v->suite, v->shake->secrets.client);
    v13_opened(v);
    return true;
}

static bool take_encrypted(struct v13 *v, unsigned type, struct slice body)
{
    if (v->step == V13_EXTENSIONS && type == MESSAGE_EXTENSIONS)
        return take_extensions(v, body);
    if (v->step == V13_REQUEST && type == MESSAGE_REQUEST)
        return take_request(v, body);
    if ((v->step == V13_REQUEST || v->step == V13_CERTIFICATE) && type == MESSAGE_CERTIFICATE)
        return take_certificate(v, body);
    if (v->step == V13_VERIFY && type == MESSAGE_VERIFY)
        return take_verify(v, body);
    return v13_fail(v, ALERT_UNEXPECTED, BR_ERR_UNEXPECTED);
}

bool v13_client_take(struct v13 *v, unsigned type, struct slice message)
{
    if (v->step == V13_HELLO && type == MESSAGE_SERVER_HELLO)
        return take_hello(v, message);
    if (v->step == V13_FINISHED && type == MESSAGE_FINISHED)
        return take_finished(v, message);
    if (!take_encrypted(v, type, slice_skip(message, 4)))
        return false;
    v13_transcript_add(&v->shake->transcript, message);
    return true;
}
