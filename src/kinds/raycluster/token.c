/* Tokens of clusters with authOptions, and CAs of clusters with tlsOptions. The Secret is read before the first request to the head, and
 * again after the head refused the token or the certificate. So the operator needs no watch of Secrets, only the right to get one by name.
 * In memory are the token, which is sent only in its request header, or a client certificate that the CA signed; both are wiped when they
 * are no longer needed. */
#include "record.h"

struct auth {
    char *token; /* NULL: none yet */
    size_t len;
    struct tls_trust *trust; /* AUTH_CA: trust in the CA; identity: the operator's certificate by it. NULL for AUTH_TOKEN */
    struct tls_identity *identity;
    int64_t renew_us;          /* wall clock: when identity is made again */
    uint32_t serial;           /* counts changes of the token or the identity */
    bool asking;               /* a GET is on its way */
    int64_t again_ms;          /* it is not read before */
    uint32_t failures, doubts; /* in a row: GETs that brought no token, and such that brought the one that was refused */
    char secret[LIMIT_KUBE_NAME + 1], trouble[ERR_TEXT_MAX];
};

static const struct {
    const char *name, *keys;
} words[] = {[AUTH_TOKEN] = {"token", RAY_AUTH_KEY}, [AUTH_CA] = {"CA", RAY_CA_CERT " and " RAY_CA_KEY}};

static void wipe(struct auth *t)
{
    mem_wipe(t->token, t->len);
    mem_free(t->token);
    tls_trust_drop(t->trust);
    tls_identity_drop(t->identity);
    t->token = NULL;
    t->trust = NULL;
    t->identity = NULL;
    t->len = 0;
}

static void drop(struct raycluster *own, enum auth_secret which)
{
    if (!own->auths[which])
        return;
    wipe(own->auths[which]);
    mem_free(own->auths[which]);
    own->auths[which] = NULL;
}

void auth_drop(struct record *c)
{
    for (enum auth_secret which = 0; which < AUTH_SECRETS; which++)
        drop(raycluster_of(c), which);
}

/* NULL: there is none. The record may be gone when an answer comes. */
static struct auth *auth_there(const struct record *c, enum auth_secret which)
{
    const struct raycluster *own = raycluster_of(c);
    return own ? own->auths[which] : NULL;
}

static bool is_known(const struct auth *t)
{
    return t->token || t->identity;
}

uint32_t auth_serial(const struct record *c)
{
    uint32_t sum = 0;
    for (enum auth_secret which = 0; which < AUTH_SECRETS; which++)
        sum += auth_there(c, which) ? auth_there(c, which)->serial : 0;
    return sum;
}

/* Once that time has come it is nothing to wake for: whoever needs the token asks, and nobody may need it now. */
int64_t auth_next(const struct op *op, const struct record *c)
{
    int64_t next = TIME_NEVER;
    for (enum auth_secret which = 0; which < AUTH_SECRETS; which++) {
        const struct auth *t = auth_there(c, which);
        bool waits = t && !is_known(t) && !t->asking && t->again_ms > op->now.mono_ms && t->again_ms < next;
        next = waits ? t->again_ms : next;
    }
    return next;
}

/* ---- reading ---- */

static bool read_token(struct auth *t, struct slice body, struct arena *a, struct err *e)
{
    struct buf text;
    struct slice token;
    buf_init(&text, LIMIT_KUBE_TOKEN);
    bool read = ray_auth_read(body, &text, &token, a, e);
    if (read && !slice_eq(token, (struct slice){t->token, t->len})) {
        wipe(t);
        t->token = mem_alloc(token.len);
        memcpy(t->token, token.ptr, token.len);
        t->len = token.len;
        t->serial++;
        t->doubts = 0;
    }
    buf_wipe(&text);
    return read;
}

/* Reads a CA and makes the operator's certificate by it. The certificate is renewed after half of its lifetime (the CA may end before 90
 * days), because the clocks of heads may differ from ours. */
static bool read_ca(struct auth *t, struct slice body, struct now now, struct arena *a, struct err *e)
{
    struct jval doc;
    struct tls_trust *trust;
    struct tls_identity *identity;
    struct tls_leaf leaf;
    if (!json_read(&doc, body, a, e) || !ca_take(doc, now.wall_us, a, &trust, &identity, e))
        return false;
    if (tls_trust_hash(trust) != tls_trust_hash(t->trust))
        t->doubts = 0;
    wipe(t);
    t->trust = trust;
    t->identity = identity;
    tls_identity_leaf(identity, SLICE_NONE, &leaf);
    t->renew_us = now.wall_us + (leaf.not_after_us - now.wall_us) / 2;
    t->serial++;
    return true;
}

/* Why the Secret cannot be read, and the remedy. The remedy comes first, because reasons are cut. */
static void explain_refusal(const struct kube_answer *a, enum auth_secret which, struct err *e)
{
    const struct kube_status *s = &a->status;
    if (a->outcome != KUBE_REFUSED)
        *e = a->err;
    else if (s->code == 404)
        err_set(e, ERR_STATUS, "it does not exist: create it with the %s under %s; if the operator made it, delete the head's pod",
                words[which].name, words[which].keys);
    else
        err_set(e, ERR_STATUS, "%s%d %s: %s", s->code == 403 ? "(mobula install --ray-auth prints the right) " : "", s->code,
                kube_reason_text(s->reason), s->message);
}

static void on_secret(struct op *op, struct record *c, enum auth_secret which, const struct kube_answer *a)
{
    const uint64_t said = UINT8_MAX - (uint64_t)which; /* key of this message among those of failed calls; no action has this number */
    struct auth *t = auth_there(c, which);
    struct err e = {0};
    t->asking = false;
    arena_reset(&op->arenas.event, 64 * KIB);
    if (a->outcome != KUBE_OK)
        explain_refusal(a, which, &e);
    else if (which == AUTH_CA)
        read_ca(t, a->body, op->now, &op->arenas.event, &e);
    else
        read_token(t, a->body, &op->arenas.event, &e);
    t->again_ms = op->now.mono_ms + backoff_ms(&op->rng, t->doubts, RAY_TOKEN_AGAIN_MS, RAY_TOKEN_AGAIN_MAX_MS);
    if (e.code == ERR_NONE) {
        t->failures = 0;
        t->trouble[0] = '\0';
        record_tell(op, c);
        return;
    }
    t->again_ms = op->now.mono_ms + backoff_ms(&op->rng, t->failures++, PLAN_BACKOFF_MS, RAY_TOKEN_AGAIN_MAX_MS);
    bool news = strncmp(t->trouble, e.text, sizeof t->trouble) != 0;
    snprintf(t->trouble, sizeof t->trouble, "%s", e.text);
    if (news && say_failed(op, answer_failed(a), said, said_of(c, slice_of(e.text), said)))
        log_warn(which == AUTH_CA ? "cannot read the cluster's CA: no requests are sent to its GCS"
                                  : "cannot read the cluster's token: no requests are sent to its head",
                 LF("namespace", istr_slice(c->ns)), LF_CSTR("cluster", c->name), LF_CSTR("secret", t->secret), LF_CSTR("error", e.text));
}

/* Another Secret may have been named since, and be on its way too. */
static uint64_t name_hash(const struct auth *t)
{
    return hash64(slice_of(t->secret), 0);
}

static void auth_done(void *owner, uint64_t tag, const struct kube_answer *a, struct now now)
{
    struct op *op = owner;
    struct flight *f = (struct flight *)(uintptr_t)tag;
    struct record *c = f->c;
    enum auth_secret which = (enum auth_secret)f->index;
    const struct auth *t = auth_there(c, which);
    op->now = now;
    if (t && t->asking && f->hash == name_hash(t))
        on_secret(op, c, which, a);
    c->in_flight--;
    op->flights--;
    slab_free(&op->slabs.flight, f);
    work_settle(op, c);
}

static void ask(struct op *op, struct record *c, enum auth_secret which)
{
    struct auth *t = auth_there(c, which);
    struct err e = {0};
    struct buf path;
    struct flight *f = slab_alloc(&op->slabs.flight);
    *f = (struct flight){.op = op, .c = c, .index = (int32_t)which, .hash = name_hash(t)};
    buf_init(&path, LIMIT_HTTP_URL);
    kube_path(&path, &kube_secrets, istr_slice(c->ns), slice_of(t->secret), SLICE_NONE);
    const struct kube_request r = {.lane = KUBE_LANE_MAIN,
                                   .method = SLICE("GET"),
                                   .path = buf_slice(&path),
                                   .again = true,
                                   .secret = true,
                                   .done = auth_done,
                                   .owner = op,
                                   .about = c,
                                   .tag = (uint64_t)(uintptr_t)f};
    t->asking = kube_call(op->client, &r, op->now, &e);
    c->in_flight += t->asking;
    op->flights += t->asking;
    if (!t->asking) { /* too many wait already */
        t->again_ms = op->now.mono_ms + PLAN_BACKOFF_MS;
        slab_free(&op->slabs.flight, f);
    }
    buf_free(&path);
}

/* ---- questions of other files ---- */

static struct auth *auth_of(struct op *op, struct record *c, enum auth_secret which)
{
    struct raycluster *own = raycluster_of(c);
    struct slice secret = head_way(op, c)->secrets[which];
    struct auth **t = &own->auths[which];
    if (*t && !slice_eq(slice_of((*t)->secret), secret))
        drop(own, which);
    if (*t || slice_empty(secret))
        return *t;
    *t = mem_alloc(sizeof **t);
    slice_copy(secret, (*t)->secret, sizeof(*t)->secret);
    return *t;
}

/* Whether the token or CA is known; reads its Secret when that is due. NULL in *out: the cluster needs none. */
static bool is_ready(struct op *op, struct record *c, enum auth_secret which, struct auth **out, struct err *e)
{
    struct auth *t = *out = auth_of(op, c, which);
    bool current = !t || (is_known(t) && !(t->identity && op->now.wall_us >= t->renew_us));
    if (!current && !t->asking && op->now.mono_ms >= t->again_ms)
        ask(op, c, which);
    if (current || is_known(t))
        return true;
    if (!t->trouble[0])
        return err_set(e, ERR_MISSING, "the %s in Secret %s is being read", words[which].name, t->secret);
    return err_set(e, ERR_STATUS, "the %s in Secret %s cannot be read: %s", words[which].name, t->secret, t->trouble);
}

bool auth_token(struct op *op, struct record *c, struct slice *token, struct err *e)
{
    struct auth *t;
    bool ready = is_ready(op, c, AUTH_TOKEN, &t, e);
    *token = t ? (struct slice){t->token, t->len} : SLICE_NONE;
    return ready;
}

bool auth_tls(struct op *op, struct record *c, struct tls_trust **trust, struct tls_identity **identity, struct err *e)
{
    struct auth *t;
    bool ready = is_ready(op, c, AUTH_CA, &t, e);
    *trust = t ? t->trust : NULL;
    *identity = t ? t->identity : NULL;
    return ready;
}

void auth_refused(struct op *op, struct record *c, enum auth_secret which, struct err *e)
{
    static const char none[] = "; spec.authOptions says which Secret holds the token that it asks for";
    struct auth *t = auth_there(c, which);
    size_t used = strlen(e->text);
    if (!t) {
        /* Ray's own 403 names the authentication token; any other 403 comes from a proxy before the head */
        bool foreign = which == AUTH_CA || (strstr(e->text, "HTTP status 403") && !strstr(e->text, "authentication token"));
        snprintf(e->text + used, sizeof e->text - used, "%s", foreign ? "" : none);
        return;
    }
    snprintf(e->text + used, sizeof e->text - used, "; it is not the one in Secret %s: delete the head's pod, or put the old one back",
             t->secret);
    if (t->asking || op->now.mono_ms < t->again_ms)
        return;
    t->doubts++;
    ask(op, c, which);
}

/* Jobs ask the head as soon as the cluster is ready: a first question that waits for the token would be told as a failure. */
void auth_follow(struct op *op, struct record *c)
{
    struct slice token;
    struct auth *t;
    bool needed = auth_there(c, AUTH_TOKEN) || !slice_empty(cluster_model(op)->auth.secret);
    if (auth_there(c, AUTH_CA))
        is_ready(op, c, AUTH_CA, &t, NULL);
    if (needed && auth_of(op, c, AUTH_TOKEN) && (c->family.owner || op->names.watched) && !slice_empty(head_address(op, c)))
        auth_token(op, c, &token, NULL);
}
