/* The CA that signs the certificates of routes: a Secret of the operator's own namespace. The one called ROUTE_CA_OWN is created where it
 * does not exist and renewed with the same key; any other is only read. */
#include "certificate.h"

enum { PEM_MAX = LIMIT_TLS_PEM };

static bool is_own(const struct op *op)
{
    return slice_is(op->o.route_ca, ROUTE_CA_OWN);
}

/* keep: the CA that was read before remains in use. */
static void ca_failed(struct op *op, const char *why, bool keep)
{
    struct route_ca *ca = &certificates_of(op)->ca;
    char text[ERR_TEXT_MAX + 2 * LIMIT_KUBE_NAME];
    keep &= ca->known;
    snprintf(text, sizeof text, "the CA in Secret %.*s of namespace %.*s (--route-ca): %s", SLICE_ARG(op->o.route_ca),
             SLICE_ARG(op->o.settings_ns), why);
    ca->known = keep;
    ca->again_ms = op->now.mono_ms + backoff_ms(&op->rng, ca->failures++, PLAN_BACKOFF_MS, RAY_TOKEN_AGAIN_MAX_MS);
    if (!keep_interned(op, &ca->trouble, intern_get(&op->strings, slice_of(text))))
        return;
    log_warn(keep ? "the CA of routes is used as it was last read" : "certificates of routes cannot be made", LF_CSTR("error", text),
             LF_INT("again_s", (ca->again_ms - op->now.mono_ms) / 1000));
    if (!keep)
        certificates_touch(op);
}

static void ca_call(struct op *op, bool write, const struct tls_identity *old, const char *version);

/* A CA of this name that an administrator created lacks the label, and is only read. */
static bool is_renewed_by_us(const struct op *op, const struct tls_identity *id, struct jval object)
{
    return is_own(op) && op->phase.leading && json_is(json_child(json_get(object, "metadata.labels"), ROUTE_MANAGED), RAY_FIELD_MANAGER) &&
           tls_ca_due(id, op->now.wall_us);
}

static void ca_take(struct op *op, struct slice body, struct err *e)
{
    struct route_ca *ca = &certificates_of(op)->ca;
    struct arena *a = &op->arenas.event;
    struct jval object;
    uint64_t before = hash64(buf_slice(&ca->pem.cert), ca->known);
    bool well = json_read(&object, body, a, e) && kube_secret_ca(object, &ca->pem, a, e);
    struct tls_identity *id = well ? tls_identity_load(buf_slice(&ca->pem.cert), buf_slice(&ca->pem.key), e) : NULL;
    ca->ends_us = INT64_MAX;
    if (id && tls_identity_valid(id, true, op->now.wall_us, &ca->ends_us, e)) {
        struct slice version = json_get_str(object, "metadata.resourceVersion", a);
        ca->known = true;
        ca->again_ms = op->now.mono_ms + certificates_look_ms(op);
        if (hash64(buf_slice(&ca->pem.cert), true) != before)
            certificates_touch(op);
        if (is_renewed_by_us(op, id, object)) {
            ca_call(op, true, id, arena_printf(a, "%.*s", SLICE_ARG(version)).ptr);
        } else {
            ca->failures = 0;
            keep_interned(op, &ca->trouble, NULL);
        }
    }
    tls_identity_drop(id);
}

static void ca_done(void *owner, uint64_t wrote, const struct kube_answer *a, struct now now)
{
    struct op *op = owner;
    struct err e = {0};
    bool absent = a->outcome == KUBE_REFUSED && a->status.code == 404;
    char words[ANSWER_WORDS];
    op->now = now;
    op->flights--;
    certificates_of(op)->ca.asking = false;
    arena_reset(&op->arenas.event, 64 * KIB);
    if (a->outcome == KUBE_OK && wrote)
        log_info("the CA of routes was written", LF("namespace", op->o.settings_ns), LF("secret", op->o.route_ca));
    if (a->outcome == KUBE_OK)
        ca_take(op, a->body, &e);
    else if (absent && !wrote && is_own(op) && op->phase.leading)
        ca_call(op, true, NULL, "");
    else
        err_set(&e, ERR_STATUS, "%s%s", absent ? "it does not exist: create it with tls.crt and tls.key; " : route_tls_hint(a),
                answer_words(a, words));
    if (e.code)
        ca_failed(op, e.text, a->outcome != KUBE_OK && (wrote || !absent));
}

/* old: the CA to renew; NULL: a new one. */
static bool ca_body(struct op *op, const struct tls_identity *old, const char *version, struct buf *out, struct err *e)
{
    const struct route_ca *ca = &certificates_of(op)->ca;
    struct buf cert, key;
    buf_init(&cert, PEM_MAX);
    buf_init(&key, PEM_MAX);
    bool well = tls_issue_ca(old, "mobula routes", op->now.wall_us, &cert, &key, e);
    const struct tls_secret s = {.ns = op->o.settings_ns,
                                 .name = op->o.route_ca,
                                 .cert = buf_slice(&cert),
                                 .key = buf_slice(old ? &ca->pem.key : &key),
                                 .version = version};
    if (well)
        tls_secret_write(&s, out);
    buf_free(&cert);
    buf_wipe(&key);
    return well;
}

static void ca_call(struct op *op, bool write, const struct tls_identity *old, const char *version)
{
    struct route_ca *ca = &certificates_of(op)->ca;
    struct err e = {0};
    struct buf path, body;
    buf_init(&path, LIMIT_HTTP_URL);
    buf_init(&body, LIMIT_JSON_ITEM);
    kube_path(&path, &kube_secrets, op->o.settings_ns, write && !old ? SLICE_NONE : op->o.route_ca, SLICE_NONE);
    const struct kube_request r = {.lane = KUBE_LANE_MAIN,
                                   .method = !write ? SLICE("GET")
                                             : old  ? SLICE("PUT")
                                                    : SLICE("POST"),
                                   .path = buf_slice(&path),
                                   .content_type = write ? SLICE(KUBE_TYPE_JSON) : SLICE_NONE,
                                   .again = !write || old,
                                   .secret = true,
                                   .done = ca_done,
                                   .owner = op,
                                   .tag = write};
    struct kube_request whole = r;
    bool well = !write || ca_body(op, old, version, &body, &e);
    whole.body = buf_slice(&body);
    ca->asking = well && kube_call(op->client, &whole, op->now, &e);
    op->flights += ca->asking;
    if (!ca->asking)
        ca_failed(op, e.text, true);
    buf_wipe(&body);
    buf_free(&path);
}

const struct route_ca *route_ca_follow(struct op *op)
{
    struct route_ca *ca = &certificates_of(op)->ca;
    if (!ca->asking && op->now.mono_ms >= ca->again_ms)
        ca_call(op, false, NULL, NULL);
    return ca;
}
