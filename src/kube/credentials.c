#include "config.h"

/* Where distributions keep the CAs of the world, for a kubeconfig that names none. */
const char *const kube_system_bundles[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem",
                                           NULL};

static bool is_given(const struct kube_secret *s)
{
    return s->data.ptr || s->path;
}

/* Credentials that were given as bytes cannot change once it is loaded. */
static bool is_settled(const struct kube_secret *s)
{
    return !s->path && s->seen != 0;
}

static bool gather(const struct kube_secret *s, struct buf *out, uint64_t *hash, struct err *e)
{
    if (s->path ? !kube_file_read(s->path, out, e) : !buf_put(out, s->data))
        return err_set(e, ERR_LIMIT, "a credential is longer than %zu bytes", out->max);
    *hash = hash64(buf_slice(out), 0) | 1; /* never 0, which means nothing yet */
    return true;
}

/* ---- the token ---- */

static bool set_authorization(struct kube_config *c, const char *scheme, struct slice value)
{
    struct buf *to = &c->private_->authorization;
    buf_wipe(to);
    buf_room(to, strlen(scheme) + value.len); /* at once: a buffer that grows leaves copies behind */
    return buf_put(to, slice_of(scheme)) && buf_put(to, value);
}

void kube_config_set_token(struct kube_config *c, struct slice token)
{
    set_authorization(c, "Bearer ", token);
}

static bool token_is_sound(struct slice token)
{
    for (size_t i = 0; i < token.len; i++)
        if ((unsigned char)token.ptr[i] <= ' ' || (unsigned char)token.ptr[i] >= 0x7f)
            return false;
    return token.len > 0 && token.len <= LIMIT_KUBE_TOKEN;
}

static bool load_token(struct kube_config *c, struct err *e)
{
    struct kube_secret *s = &c->private_->settings.token;
    if (!is_given(s) || is_settled(s))
        return true;
    struct buf text;
    buf_init(&text, LIMIT_KUBE_TOKEN + KIB);
    uint64_t hash;
    bool ok = gather(s, &text, &hash, e);
    struct slice token = slice_trim(buf_slice(&text));
    if (ok && !token_is_sound(token))
        ok = err_set(e, ERR_CONFIG, "%s is empty, above %d bytes, or holds white space", s->path ? s->path : "the token", LIMIT_KUBE_TOKEN);
    if (ok && hash != s->seen) {
        set_authorization(c, "Bearer ", token);
        s->seen = hash;
        kube_slice_wipe(s->data);
    }
    buf_wipe(&text);
    return ok;
}

static bool load_basic(struct kube_config *c, struct err *e)
{
    struct kube_settings *s = &c->private_->settings;
    if (slice_empty(s->username) || !slice_empty(kube_config_authorization(c)))
        return true; /* a token wins */
    struct buf plain, encoded;
    buf_init(&plain, 4 * KIB);
    buf_init(&encoded, 8 * KIB);
    buf_printf(&plain, "%.*s:%.*s", SLICE_ARG(s->username), SLICE_ARG(s->password));
    bool ok = !plain.full && base64_encode(buf_slice(&plain), &encoded) && set_authorization(c, "Basic ", buf_slice(&encoded));
    buf_wipe(&plain);
    buf_wipe(&encoded);
    kube_slice_wipe(s->password);
    return ok || err_set(e, ERR_LIMIT, "username and password are too long");
}

/* ---- whom we trust ---- */

static bool read_system_bundle(struct buf *out, uint64_t *hash, struct err *e)
{
    for (size_t i = 0; kube_system_bundles[i]; i++) {
        struct err why = {0};
        if (kube_file_read(kube_system_bundles[i], out, &why)) {
            *hash = 1; /* read once: a distribution's bundle does not rotate under a running process */
            return true;
        }
        buf_clear(out);
    }
    return err_set(e, ERR_CONFIG, "the cluster has no certificate-authority, and this machine has no CA bundle (%s)",
                   kube_system_bundles[0]);
}

/* Adds the CAs of this text to those that there are. */
static bool add_trust(struct tls_trust **to, const char *what, const char *path, const struct buf *pem, struct err *e)
{
    uint32_t count, skipped;
    struct tls_trust *both, *trust = tls_trust_load(buf_slice(pem), &count, &skipped, e);
    if (!trust)
        return err_wrap(e, "%s%s%s", what, path ? " " : "", path ? path : "");
    if (skipped && path)
        log_warn("certificates of a CA file are damaged, or of a kind that is not supported: they are passed over", LF_CSTR("file", path),
                 LF_INT("count", skipped));
    if (*to) {
        both = tls_trust_join(*to, trust);
        tls_trust_drop(*to);
        tls_trust_drop(trust);
        trust = both;
    }
    *to = trust;
    return true;
}

static bool load_trust(struct kube_config *c, bool *changed, struct err *e)
{
    struct kube_secret *s = &c->private_->settings.ca, *more = &c->private_->settings.more_ca;
    if (!c->tls || c->insecure || (is_settled(s) && !more->path))
        return true;
    struct buf pem, beside;
    buf_init(&pem, LIMIT_TLS_PEM);
    buf_init(&beside, LIMIT_TLS_PEM);
    uint64_t hash = 0, more_hash = 0;
    bool ok = is_given(s) ? gather(s, &pem, &hash, e) : read_system_bundle(&pem, &hash, more->path ? NULL : e) || more->path;
    ok = ok && (!more->path || gather(more, &beside, &more_hash, e));
    if (ok && (hash != s->seen || more_hash != more->seen)) {
        struct tls_trust *trust = NULL;
        ok = (!pem.len || add_trust(&trust, "certificate-authority", s->path, &pem, e)) &&
             (!more->path || add_trust(&trust, "--egress-ca-file", more->path, &beside, e));
        if (ok) {
            tls_trust_drop(c->trust);
            c->trust = trust;
            s->seen = hash;
            more->seen = more_hash;
            *changed = true;
        } else {
            tls_trust_drop(trust);
        }
    }
    buf_free(&pem);
    buf_free(&beside);
    return ok;
}

/* ---- our credentials ---- */

static bool use_identity(struct kube_config *c, const struct buf *cert, const struct buf *key, struct err *e)
{
    struct kube_settings *s = &c->private_->settings;
    struct tls_identity *identity = tls_identity_load(buf_slice(cert), buf_slice(key), e);
    if (!identity)
        return err_wrap(e, "client-certificate%s%s", s->cert.path ? " " : "", s->cert.path ? s->cert.path : "");
    tls_identity_drop(c->identity);
    c->identity = identity;
    return true;
}

/* While a pair of files is being replaced, one of them may be the new one already: then the old pair stays until the next look. */
static bool load_identity(struct kube_config *c, bool *changed, struct err *e)
{
    struct kube_settings *s = &c->private_->settings;
    if ((!is_given(&s->cert) && !is_given(&s->key)) || (is_settled(&s->cert) && is_settled(&s->key)))
        return true;
    if (!is_given(&s->cert) || !is_given(&s->key))
        return err_set(e, ERR_CONFIG, "client-certificate and client-key belong together: one of them is missing");
    struct buf cert, key;
    uint64_t cert_hash, key_hash;
    buf_init(&cert, LIMIT_TLS_PEM);
    buf_init(&key, LIMIT_TLS_PEM);
    bool ok = gather(&s->cert, &cert, &cert_hash, e) && gather(&s->key, &key, &key_hash, e);
    if (ok && (cert_hash != s->cert.seen || key_hash != s->key.seen)) {
        ok = use_identity(c, &cert, &key, e);
        if (ok) {
            s->cert.seen = cert_hash;
            s->key.seen = key_hash;
            *changed = true;
        }
    }
    if (is_settled(&s->cert) && is_settled(&s->key))
        kube_slice_wipe(s->key.data);
    buf_free(&cert);
    buf_wipe(&key);
    return ok;
}

/* ---- an exec plugin ---- */

static void take_exec_result(struct kube_settings *s, const struct kube_exec_result *r, struct arena *a)
{
    /* Each run leaves its output in the arena of the configuration. That is a terminal's process, which runs it a few times at most. */
    if (!slice_empty(r->token))
        s->token = (struct kube_secret){.data = arena_dup(a, r->token)};
    if (!slice_empty(r->cert_pem)) {
        s->cert = (struct kube_secret){.data = arena_dup(a, r->cert_pem)};
        s->key = (struct kube_secret){.data = arena_dup(a, r->key_pem)};
    }
    s->exec.expires_us = r->expires_us;
}

static bool run_exec(struct kube_config *c, int64_t wall_us, bool at_once, struct err *e)
{
    static const int64_t LEEWAY_US = 60 * 1000000LL;
    struct kube_settings *s = &c->private_->settings;
    bool expired = s->exec.expires_us != 0 && wall_us > s->exec.expires_us - LEEWAY_US;
    if (!s->exec.argv || (!at_once && !expired))
        return true;
    struct arena scratch = {0};
    struct kube_exec_result r;
    bool ok = kube_exec_run(&s->exec, &scratch, &r, e);
    if (ok)
        take_exec_result(s, &r, &c->private_->arena);
    kube_slice_wipe(r.token);
    kube_slice_wipe(r.key_pem);
    arena_free(&scratch);
    return ok;
}

bool kube_credentials_load(struct kube_config *c, int64_t wall_us, bool at_once, bool *changed, struct err *e)
{
    *changed = false;
    bool exec = run_exec(c, wall_us, at_once, e);
    bool token = load_token(c, e), basic = load_basic(c, e);
    bool trust = load_trust(c, changed, e), identity = load_identity(c, changed, e);
    return exec && token && basic && trust && identity;
}

void kube_credentials_wipe(struct kube_config *c)
{
    struct kube_settings *s = &c->private_->settings;
    buf_wipe(&c->private_->authorization);
    kube_slice_wipe(s->token.data);
    kube_slice_wipe(s->key.data);
    kube_slice_wipe(s->password);
}
