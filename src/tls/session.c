#include "session.h"

static bool check_options(const struct tls_options *o, struct err *e)
{
    if (o->name.len > LIMIT_NET_HOST)
        return err_set(e, ERR_LIMIT, "server name is longer than %d bytes (LIMIT_NET_HOST)", LIMIT_NET_HOST);
    if (slice_find(o->name, '\0') >= 0)
        return err_set(e, ERR_CONFIG, "server name holds a NUL");
    if (!o->insecure && slice_empty(o->name))
        return err_set(e, ERR_CONFIG, "no server name to check the certificate against");
    if (!o->insecure && !o->trust)
        return err_set(e, ERR_CONFIG, "no CA to check the server's certificate against");
    return true;
}

static void settle(struct tls *t);

struct tls *tls_open(const struct tls_options *options, struct err *e)
{
    if (!check_options(options, e))
        return NULL;
    struct tls *t = mem_alloc(sizeof *t);
    t->trust = options->trust ? tls_trust_keep(options->trust) : NULL;
    t->identity = options->identity ? tls_identity_keep(options->identity) : NULL;
    if (options->name.len)
        memcpy(t->name, options->name.ptr, options->name.len);
    t->check = mem_alloc(sizeof *t->check);
    tls_check_init(t->check, slice_of(t->name), t->trust, options->insecure, options->wall_us);
    v13_start(&t->side.modern, false, t->records);
    t->h2 = t->side.modern.h2 = options->h2;
    t->side.modern.host = tls_server_name(t);
    t->side.modern.check = t->check;
    t->side.modern.identity = t->identity;
    v13_client_hello(&t->side.modern);
    return t;
}

struct tls *tls_accept(struct tls_identity *identity)
{
    struct tls *t = mem_alloc(sizeof *t);
    t->accepted = true;
    t->identity = tls_identity_keep(identity);
    v13_start(&t->side.modern, true, t->records);
    t->side.modern.identity = t->identity;
    return t;
}

static void free_check(struct tls *t)
{
    if (!t->check)
        return;
    tls_check_free(t->check);
    mem_free(t->check);
    t->check = NULL;
}

void tls_free(struct tls *t)
{
    if (!t)
        return;
    if (!t->old)
        v13_free(&t->side.modern);
    free_check(t);
    tls_trust_drop(t->trust);
    tls_identity_drop(t->identity);
    mem_wipe(t, sizeof *t);
    mem_free(t);
}

/* ---- the result of a session ---- */

static void fail(struct tls *t, enum err_code code, const char *text)
{
    t->state = TLS_FAILED;
    err_set(&t->error, code, "%s", text);
}

static void fail_code(struct tls *t, int code, bool suite_agreed)
{
    bool about_suites = code == BR_ERR_BAD_CIPHER_SUITE || code == BR_ERR_SEND_FATAL_ALERT + ALERT_NO_HANDSHAKE;
    const char *theirs = !t->old ? t->side.modern.theirs : about_suites ? t->theirs : "";
    struct tls_failure f = {t->accepted, t->identity != NULL, suite_agreed, theirs};
    t->state = TLS_FAILED;
    if (t->check && t->check->error.code != ERR_NONE)
        t->error = t->check->error;
    else
        tls_explain(&t->error, code, &f);
}

static void settle_closed(struct tls *t, int code, bool suite_agreed)
{
    if (code)
        fail_code(t, code, suite_agreed);
    else if (t->state == TLS_OPEN)
        t->state = TLS_CLOSED;
    else
        fail(t, ERR_CLOSED,
             t->accepted ? "client closed the connection before the TLS handshake was done"
                         : "server closed the connection before the TLS handshake was done");
}

/* The kind of the key in the server's certificate. */
static const char *name_key(const struct tls_check *c)
{
    unsigned usages = 0;
    const br_x509_pkey *key = c->vtable->get_pkey(&c->vtable, &usages);
    int curve = key && key->key_type == BR_KEYTYPE_EC ? key->key.ec.curve : 0;
    return !key                       ? ""
           : curve == 0               ? "RSA"
           : curve == BR_EC_secp256r1 ? "ECDSA P-256"
           : curve == BR_EC_secp384r1 ? "ECDSA P-384"
                                      : "ECDSA P-521";
}

static void opened(struct tls *t)
{
    t->state = TLS_OPEN;
    t->certificate = t->check ? name_key(t->check) : "";
    t->expires_us = t->check ? t->check->leaf_expires_us : 0;
    if (t->old)
        br_ssl_engine_set_x509(&t->side.engine, NULL);
    else
        t->side.modern.check = NULL;
    free_check(t);
}

static void settle_old(struct tls *t);

static void settle_modern(struct tls *t)
{
    struct v13 *v = &t->side.modern;
    if (v->old) {
        tls_go_old(t);
        settle_old(t);
        return;
    }
    if (t->state == TLS_HANDSHAKE && v->step == V13_OPEN)
        opened(t);
    if (!v->code && !v->closed_in)
        return;
    settle_closed(t, v->code, v->certified);
    if (!v->code)
        v13_close(v);
}

/* After every step of the engine. When an open engine neither takes nor gives plaintext and wants nothing from the wire, then the peer has
 * said close_notify, and only our own is still to be sent. */
static void settle_old(struct tls *t)
{
    unsigned now = br_ssl_engine_current_state(&t->side.engine);
    if (t->state == TLS_HANDSHAKE && now & (BR_SSL_SENDAPP | BR_SSL_RECVAPP))
        opened(t);
    if (now & BR_SSL_CLOSED)
        settle_closed(t, br_ssl_engine_last_error(&t->side.engine), !t->check || t->check->certificates > 0);
    else if (t->state == TLS_OPEN && !(now & (BR_SSL_SENDAPP | BR_SSL_RECVAPP | BR_SSL_RECVREC)))
        t->state = TLS_CLOSED;
}

static void settle(struct tls *t)
{
    if (t->state >= TLS_CLOSED)
        return;
    if (t->old)
        settle_old(t);
    else
        settle_modern(t);
}

enum tls_state tls_state(const struct tls *t)
{
    return t->state;
}

const struct err *tls_error(const struct tls *t)
{
    return &t->error;
}

void tls_info(const struct tls *t, struct tls_info *out)
{
    const struct v13 *v = &t->side.modern;
    *out = (struct tls_info){"no TLS", "", "", ""};
    if (t->old)
        tls_info_old(&t->side.engine, out);
    else if (v->group && v->suite)
        *out = (struct tls_info){"TLS 1.3", v->group->name, v->suite->name, ""};
    if (t->certificate)
        out->certificate = t->certificate;
}

void tls_insist_on_13(bool on)
{
    v13_least = on ? VERSION_13 : VERSION_12;
}

int64_t tls_peer_expires(const struct tls *t)
{
    return t->expires_us;
}

/* ---- moving bytes ---- */

/* A TLS 1.3 session that has failed may still have a fatal alert to send. */
struct slice tls_send_peek(struct tls *t)
{
    size_t n = 0;
    if (!t->old)
        return t->state == TLS_FAILED && !t->side.modern.code ? SLICE_NONE : v13_send_peek(&t->side.modern);
    const unsigned char *p = t->state == TLS_FAILED ? NULL : br_ssl_engine_sendrec_buf(&t->side.engine, &n);
    return p ? (struct slice){(const char *)p, n} : SLICE_NONE;
}

void tls_send_used(struct tls *t, size_t n)
{
    if (n == 0)
        return;
    if (t->old)
        br_ssl_engine_sendrec_ack(&t->side.engine, n);
    else
        v13_send_used(&t->side.modern, n);
    settle(t);
}

char *tls_recv_room(struct tls *t, size_t *n)
{
    *n = 0;
    if (t->state >= TLS_CLOSED)
        return NULL;
    return t->old ? (char *)br_ssl_engine_recvrec_buf(&t->side.engine, n) : v13_recv_room(&t->side.modern, n);
}

void tls_recv_wrote(struct tls *t, size_t n)
{
    if (n == 0)
        return;
    if (t->old)
        br_ssl_engine_recvrec_ack(&t->side.engine, n);
    else
        v13_recv_wrote(&t->side.modern, n);
    settle(t);
}

struct slice tls_read_peek(struct tls *t)
{
    size_t n = 0;
    if (!t->old)
        return t->state == TLS_OPEN ? v13_read_peek(&t->side.modern) : SLICE_NONE;
    const unsigned char *p = t->state == TLS_OPEN ? br_ssl_engine_recvapp_buf(&t->side.engine, &n) : NULL;
    return p ? (struct slice){(const char *)p, n} : SLICE_NONE;
}

void tls_read_used(struct tls *t, size_t n)
{
    if (n == 0)
        return;
    if (t->old)
        br_ssl_engine_recvapp_ack(&t->side.engine, n);
    else
        v13_read_used(&t->side.modern, n);
    settle(t);
}

char *tls_write_room(struct tls *t, size_t *n)
{
    *n = 0;
    if (t->state != TLS_OPEN)
        return NULL;
    return t->old ? (char *)br_ssl_engine_sendapp_buf(&t->side.engine, n) : v13_write_room(&t->side.modern, n);
}

void tls_write_wrote(struct tls *t, size_t n)
{
    if (n == 0)
        return;
    if (t->old)
        br_ssl_engine_sendapp_ack(&t->side.engine, n);
    else
        v13_write_wrote(&t->side.modern, n);
    settle(t);
}

void tls_flush(struct tls *t)
{
    if (t->state != TLS_OPEN)
        return;
    if (t->old)
        br_ssl_engine_flush(&t->side.engine, 0);
    else
        v13_flush(&t->side.modern);
}

void tls_eof(struct tls *t)
{
    if (t->state == TLS_HANDSHAKE)
        fail(t, ERR_CLOSED,
             t->accepted ? "client ended the connection during the TLS handshake" : "server ended the connection during the TLS handshake");
    else if (t->state == TLS_OPEN)
        fail(t, ERR_CLOSED, "connection was cut: it ended without close_notify");
}

void tls_close(struct tls *t)
{
    if (t->state >= TLS_CLOSED)
        return;
    if (t->old) {
        tls_read_used(t, tls_read_peek(t).len);
        tls_flush(t);
        br_ssl_engine_close(&t->side.engine);
    } else {
        v13_close(&t->side.modern);
    }
    t->state = TLS_CLOSED;
}
