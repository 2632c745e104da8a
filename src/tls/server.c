/* The server's handshake (RFC 8446 §2, §4). It sends no NewSessionTicket: operators and pods keep their connections, the replicas would
 * have to share the key of the tickets, and a stolen ticket key would weaken the forward secrecy of past sessions. */
#include "v13.h"

enum { CH_VERSIONS, CH_GROUPS, CH_SIGNATURES, CH_SHARE, CH_ALPN, CH_EARLY, CH_PSK, CH_MODES, CH_COUNT };

struct client_hello {
    uint32_t version;
    struct slice random, session, suites, compression;
    struct v13_extension ext[CH_COUNT];
};

/* ---- reading ClientHello ---- */

static bool has16(struct slice list, unsigned wanted)
{
    uint32_t one = 0;
    while (v13_get(&list, 2, &one))
        if (one == wanted)
            return true;
    return false;
}

static bool read_list(struct slice *body, unsigned width)
{
    struct slice list;
    if (!v13_get_vector(body, width, &list) || body->len || !list.len || list.len % 2)
        return false;
    *body = list;
    return true;
}

static bool read_hello(struct v13 *v, struct slice in, struct client_hello *h)
{
    static const uint16_t types[CH_COUNT] = {EXT_VERSIONS, EXT_GROUPS,     EXT_SIGNATURES, EXT_KEY_SHARE,
                                             EXT_ALPN,     EXT_EARLY_DATA, EXT_PSK,        EXT_PSK_MODES};
    for (size_t i = 0; i < CH_COUNT; i++)
        h->ext[i].type = types[i];
    if (!v13_get(&in, 2, &h->version) || !v13_get_bytes(&in, V13_RANDOM, &h->random) || !v13_get_vector(&in, 1, &h->session) ||
        h->session.len > V13_RANDOM || !v13_get_vector(&in, 2, &h->suites) || !h->suites.len || h->suites.len % 2 ||
        !v13_get_vector(&in, 1, &h->compression) || !h->compression.len)
        return v13_fail(v, ALERT_DECODE, V13_ERR_MALFORMED);
    if (!in.len) /* no extensions: a client without TLS 1.3 */
        return true;
    if (!v13_get_extensions(v, in, h->ext, CH_COUNT, false))
        return false;
    if ((h->ext[CH_VERSIONS].there && !read_list(&h->ext[CH_VERSIONS].body, 1)) ||
        (h->ext[CH_GROUPS].there && !read_list(&h->ext[CH_GROUPS].body, 2)) ||
        (h->ext[CH_SIGNATURES].there && !read_list(&h->ext[CH_SIGNATURES].body, 2)))
        return v13_fail(v, ALERT_DECODE, V13_ERR_MALFORMED);
    return true;
}

static bool check_hello(struct v13 *v, const struct client_hello *h)
{
    if (h->compression.len != 1 || h->compression.ptr[0])
        return v13_fail(v, ALERT_ILLEGAL, V13_ERR_MALFORMED);
    for (size_t i = CH_GROUPS; i <= CH_SHARE; i++)
        if (!h->ext[i].there)
            return v13_fail(v, ALERT_NO_EXTENSION, V13_ERR_MALFORMED);
    if (h->ext[CH_PSK].there && !h->ext[CH_MODES].there)
        return v13_fail(v, ALERT_NO_EXTENSION, V13_ERR_MALFORMED);
    return true;
}

/* ---- choosing suite, group and protocol ---- */

static const struct v13_suite *choose_suite(struct slice offered)
{
    for (size_t i = 0; i < COUNT_OF(v13_suites); i++)
        if (has16(offered, v13_suite_nth(i)->id))
            return v13_suite_nth(i);
    return NULL;
}

/* Finds the client's key share of a group; share->ptr is NULL if it sent none. False: key_share is malformed. */
static bool find_share(struct slice body, const struct v13_group *g, struct slice *share)
{
    struct slice list, one;
    uint32_t id = 0;
    *share = SLICE_NONE;
    if (!v13_get_vector(&body, 2, &list) || body.len)
        return false;
    while (list.len) {
        if (!v13_get(&list, 2, &id) || !v13_get_vector(&list, 2, &one) || !one.len)
            return false;
        if (id == g->id && !share->ptr)
            *share = one;
    }
    return true;
}

/* Chooses the hybrid if the client supports it, even if that takes a HelloRetryRequest; else our first group with a share of the client's;
 * else our first group that the client supports, by a HelloRetryRequest. *share is SLICE_NONE if a HelloRetryRequest is needed. NULL: the
 * session has failed. */
static const struct v13_group *choose_group(struct v13 *v, const struct client_hello *h, struct slice *share)
{
    const struct v13_group *known = NULL;
    for (size_t i = 0; i < v13_group_count; i++) {
        const struct v13_group *g = &v13_groups[i];
        if (!find_share(h->ext[CH_SHARE].body, g, share)) {
            v13_fail(v, ALERT_DECODE, V13_ERR_MALFORMED);
            return NULL;
        }
        bool offered = has16(h->ext[CH_GROUPS].body, g->id);
        if (share->ptr && !offered) {
            v13_fail(v, ALERT_ILLEGAL, V13_ERR_SHARE);
            return NULL;
        }
        if (offered && (share->ptr || g->hybrid))
            return g;
        known = known ? known : offered ? g : NULL;
    }
    if (!known)
        v13_fail_for(v, ALERT_NO_HANDSHAKE, V13_ERR_GROUP, h->ext[CH_GROUPS].body);
    return known;
}

/* Whether the client offers http/1.1, or no ALPN at all. False: the session has failed. */
static bool check_protocol(struct v13 *v, const struct v13_extension *alpn)
{
    struct slice body = alpn->body, list, one = SLICE_NONE;
    bool http = !alpn->there;
    if (alpn->there && (!v13_get_vector(&body, 2, &list) || !list.len || body.len))
        return v13_fail(v, ALERT_DECODE, V13_ERR_MALFORMED);
    while (alpn->there && list.len) {
        if (!v13_get_vector(&list, 1, &one) || !one.len)
            return v13_fail(v, ALERT_DECODE, V13_ERR_MALFORMED);
        http |= slice_is(one, "http/1.1");
    }
    return http || v13_fail(v, ALERT_NO_PROTOCOL, V13_ERR_PROTOCOL);
}

/* ---- sending HelloRetryRequest, or ServerHello to Finished ---- */

/* Writes a ServerHello or HelloRetryRequest up to the body of key_share. Returns the place of the length of the extensions; *all: of the
 * message. */
static size_t begin_hello(const struct v13 *v, struct buf *b, const struct client_hello *h, struct slice random, size_t *all)
{
    buf_init(b, LIMIT_TLS_HELLO);
    put8(b, MESSAGE_SERVER_HELLO);
    *all = v13_begin(b, 3);
    put16(b, VERSION_12);
    buf_put(b, random);
    put8(b, (unsigned)h->session.len);
    buf_put(b, h->session);
    put16(b, v->suite->id);
    put8(b, 0);
    size_t list = v13_begin(b, 2);
    buf_put(b, SLICE("\0\x2b\0\2\3\4"));
    put16(b, EXT_KEY_SHARE);
    return list;
}

static void say_retry(struct v13 *v, const struct client_hello *h)
{
    struct buf b;
    size_t all, list = begin_hello(v, &b, h, V13_RETRY, &all);
    put16(&b, 2);
    put16(&b, v->group->id);
    v13_end(&b, list, 2);
    v13_end(&b, all, 3);
    v13_transcript_retry(&v->shake->transcript, v->suite);
    v13_say(v, &b);
    v13_say_change(v);
    v->shake->retried = v->group;
    v->step = V13_RETRIED;
}

static bool say_hello(struct v13 *v, const struct client_hello *h, struct slice share)
{
    struct buf b;
    unsigned char random[V13_RANDOM], secret[V13_SECRET_MAX], transcript[V13_HASH_MAX];
    size_t all, list;
    random_bytes(random, sizeof random);
    list = begin_hello(v, &b, h, (struct slice){(const char *)random, sizeof random}, &all);
    size_t body = v13_begin(&b, 2);
    put16(&b, v->group->id);
    size_t ours = v13_begin(&b, 2), n = v13_answer(v->group, share, &b, secret);
    if (n == 0) {
        buf_free(&b);
        mem_wipe(secret, sizeof secret);
        return v13_fail(v, ALERT_ILLEGAL, V13_ERR_SHARE);
    }
    v13_end(&b, ours, 2);
    v13_end(&b, body, 2);
    v13_end(&b, list, 2);
    v13_end(&b, all, 3);
    v13_say(v, &b);
    if (!v->shake->retried)
        v13_say_change(v);
    v13_transcript_out(&v->shake->transcript, v->suite, transcript);
    v13_secrets_handshake(&v->shake->secrets, v->suite, (struct slice){(const char *)secret, n}, transcript);
    mem_wipe(secret, sizeof secret);
    v13_keys_set(&v->in, v->suite, v->shake->secrets.client);
    v13_keys_set(&v->out, v->suite, v->shake->secrets.server);
    return true;
}

static bool say_rest(struct v13 *v, const struct client_hello *h)
{
    struct buf b;
    unsigned char transcript[V13_HASH_MAX];
    bool alpn = h->ext[CH_ALPN].there;
    buf_init(&b, KIB);
    buf_put(&b, alpn ? SLICE("\x08\0\0\x11\0\x0f\0\x10\0\x0b\0\x09\x08http/1.1") : SLICE("\x08\0\0\2\0\0"));
    v13_say(v, &b);
    v13_say_certificate(v);
    if (!v13_say_verify(v))
        return false;
    v13_say_finished(v, v->out.secret);
    v13_transcript_out(&v->shake->transcript, v->suite, transcript);
    v13_secrets_master(&v->shake->secrets, v->suite, transcript);
    v13_keys_set(&v->out, v->suite, v->shake->secrets.server);
    v->step = V13_FINISHED;
    return true;
}

/* ---- receiving ClientHello and Finished ---- */

static bool take_old(struct v13 *v, const struct client_hello *h)
{
    const char version[2] = {(char)(h->version >> 8), (char)h->version};
    struct slice versions = h->ext[CH_VERSIONS].there ? h->ext[CH_VERSIONS].body : (struct slice){version, 2};
    v->old = v13_least == VERSION_12 && !v->shake->retried;
    v13_note(v, h->suites);
    return v->old || v13_fail_for(v, ALERT_VERSION, v->shake->retried ? V13_ERR_RETRY : V13_ERR_OLD, versions);
}

static bool take_hello(struct v13 *v, struct slice message)
{
    struct client_hello h = {0};
    struct slice share = SLICE_NONE;
    const struct v13_group *asked = v->shake->retried;
    if (!read_hello(v, slice_skip(message, 4), &h))
        return false;
    if (!has16(h.ext[CH_VERSIONS].body, VERSION_13))
        return take_old(v, &h);
    if (!check_hello(v, &h) || !check_protocol(v, &h.ext[CH_ALPN]))
        return false;
    const struct v13_suite *suite = choose_suite(h.suites);
    if (!suite)
        return v13_fail_for(v, ALERT_NO_HANDSHAKE, BR_ERR_BAD_CIPHER_SUITE, h.suites);
    v->group = choose_group(v, &h, &share);
    if (!v->group)
        return false;
    if (asked && (v->group != asked || !share.ptr || suite != v->suite))
        return v13_fail(v, ALERT_ILLEGAL, V13_ERR_RETRY);
    v->suite = suite;
    v->shake->scheme = v13_scheme_for(v->identity, h.ext[CH_SIGNATURES].body);
    if (!v->shake->scheme)
        return v13_fail_for(v, ALERT_NO_HANDSHAKE, V13_ERR_SCHEME, h.ext[CH_SIGNATURES].body);
    v->shake->early = h.ext[CH_EARLY].there && !asked ? LIMIT_TLS_EARLY : 0;
    v13_transcript_add(&v->shake->transcript, message);
    if (!share.ptr) {
        say_retry(v, &h);
        return true;
    }
    return say_hello(v, &h, share) && say_rest(v, &h);
}

static bool take_finished(struct v13 *v, struct slice message)
{
    if (!v13_check_finished(v, v->in.secret, slice_skip(message, 4)))
        return false;
    v->peer_finished = true;
    v13_keys_set(&v->in, v->suite, v->shake->secrets.client);
    v13_opened(v);
    return true;
}

bool v13_server_take(struct v13 *v, unsigned type, struct slice message)
{
    if ((v->step == V13_START || v->step == V13_RETRIED) && type == MESSAGE_CLIENT_HELLO)
        return take_hello(v, message);
    if (v->step == V13_FINISHED && type == MESSAGE_FINISHED)
        return take_finished(v, message);
    return v13_fail(v, ALERT_UNEXPECTED, BR_ERR_UNEXPECTED);
}
