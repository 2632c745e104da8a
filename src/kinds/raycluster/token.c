/* Tokens of clusters with authOptions. A cluster's Secret is read when its head is to be asked something for the first time, and again when
 * the head has refused the token: so no watch of Secrets is needed, and no right but to read one by its name. What is kept is the token
 * itself; it goes nowhere but into the header that carries it, and is wiped when it is not needed any more. */
#include "record.h"

struct auth {
    char *token; /* NULL: none yet */
    size_t len;
    uint32_t serial;           /* of the token: another one has another number */
    bool asking;               /* a GET is on its way */
    int64_t again_ms;          /* it is not read before */
    uint32_t failures, doubts; /* in a row: GETs that brought no token, and such that brought the one that was refused */
    char secret[LIMIT_KUBE_NAME + 1], trouble[ERR_TEXT_MAX];
};

static void token_wipe(struct auth *t)
{
    mem_wipe(t->token, t->len);
    mem_free(t->token);
    t->token = NULL;
    t->len = 0;
}

void auth_drop(struct record *c)
{
    struct raycluster *own = raycluster_of(c);
    if (!own->auth)
        return;
    token_wipe(own->auth);
    mem_free(own->auth);
    own->auth = NULL;
}

/* NULL: there is none. The record may be gone when an answer comes. */
static struct auth *auth_there(const struct record *c)
{
    const struct raycluster *own = raycluster_of(c);
    return own ? own->auth : NULL;
}

uint32_t auth_serial(const struct record *c)
{
    const struct auth *t = auth_there(c);
    return t ? t->serial : 0;
}

/* Once that time has come it is nothing to wake for: whoever needs the token asks, and nobody may need it now. */
int64_t auth_next(const struct op *op, const struct record *c)
{
    const struct auth *t = auth_there(c);
    bool waits = t && !t->token && !t->asking && t->again_ms > op->now.mono_ms;
    return waits ? t->again_ms : TIME_NEVER;
}

/* ---- reading ---- */

static bool read_token(struct auth *t, struct slice body, struct arena *a, struct err *e)
{
    struct buf text;
    struct slice token;
    buf_init(&text, LIMIT_KUBE_TOKEN);
    bool read = ray_auth_read(body, &text, &token, a, e);
    if (read && !slice_eq(token, (struct slice){t->token, t->len})) {
        token_wipe(t);
        t->token = mem_alloc(token.len);
        memcpy(t->token, token.ptr, token.len);
        t->len = token.len;
        t->serial++;
        t->doubts = 0;
    }
    mem_wipe(text.ptr, text.len);
    buf_free(&text);
    return read;
}

/* Why there is no token, and what to do. What to do stands first: reasons are cut. */
static void explain_refusal(const struct kube_answer *a, struct err *e)
{
    const struct kube_status *s = &a->status;
    if (a->outcome != KUBE_REFUSED)
        *e = a->err;
    else if (s->code == 404)
        err_set(e, ERR_STATUS,
                "it does not exist: make it, with the token under " RAY_AUTH_KEY ", or delete the head's pod if it was ours");
    else
        err_set(e, ERR_STATUS, "%s%d %s: %s", s->code == 403 ? "(mobula install --ray-auth prints the right) " : "", s->code,
                kube_reason_text(s->reason), s->message);
}

static void on_secret(struct op *op, struct record *c, const struct kube_answer *a)
{
    enum { TOKEN = UINT8_MAX }; /* among what is said of calls: no action */
    struct auth *t = auth_there(c);
    struct err e = {0};
    t->asking = false;
    arena_reset(&op->arenas.event, 64 * KIB);
    if (a->outcome != KUBE_OK)
        explain_refusal(a, &e);
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
    if (news && say_failed(op, answer_failed(a), TOKEN, said_of(c, slice_of(e.text), TOKEN)))
        log_warn("the cluster's token cannot be read: its head is not asked anything", LF("namespace", istr_slice(c->ns)),
                 LF_CSTR("cluster", c->name), LF_CSTR("secret", t->secret), LF_CSTR("error", e.text));
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
    const struct auth *t = auth_there(c);
    op->now = now;
    if (t && t->asking && f->hash == name_hash(t))
        on_secret(op, c, a);
    c->in_flight--;
    op->flights--;
    slab_free(&op->slabs.flight, f);
    work_settle(op, c);
}

static void ask(struct op *op, struct record *c)
{
    struct auth *t = auth_there(c);
    struct err e = {0};
    struct buf path;
    struct flight *f = slab_alloc(&op->slabs.flight);
    *f = (struct flight){.op = op, .c = c, .hash = name_hash(t)};
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

static struct auth *auth_of(struct op *op, struct record *c)
{
    struct raycluster *own = raycluster_of(c);
    struct slice secret = head_way(op, c)->secret;
    if (own->auth && !slice_eq(slice_of(own->auth->secret), secret))
        auth_drop(c);
    if (own->auth || slice_empty(secret))
        return own->auth;
    own->auth = mem_alloc(sizeof *own->auth);
    slice_copy(secret, own->auth->secret, sizeof own->auth->secret);
    return own->auth;
}

bool auth_token(struct op *op, struct record *c, struct slice *token, struct err *e)
{
    struct auth *t = auth_of(op, c);
    *token = SLICE_NONE;
    if (!t)
        return true;
    *token = (struct slice){t->token, t->len};
    if (t->token)
        return true;
    if (!t->asking && op->now.mono_ms >= t->again_ms)
        ask(op, c);
    if (!t->trouble[0])
        return err_set(e, ERR_MISSING, "the token in Secret %s is being read", t->secret);
    return err_set(e, ERR_STATUS, "the token in Secret %s cannot be read: %s", t->secret, t->trouble);
}

void auth_refused(struct op *op, struct record *c, struct err *e)
{
    static const char none[] = "; spec.authOptions says which Secret holds the token that it asks for";
    struct auth *t = auth_there(c);
    size_t used = strlen(e->text);
    if (!t) {
        /* Ray's own 403 names the authentication token; any other 403 comes from a proxy before the head */
        bool foreign = strstr(e->text, "HTTP status 403") && !strstr(e->text, "authentication token");
        snprintf(e->text + used, sizeof e->text - used, "%s", foreign ? "" : none);
        return;
    }
    snprintf(e->text + used, sizeof e->text - used, "; it is not the one in Secret %s: delete the head's pod, or put the old one back",
             t->secret);
    if (t->asking || op->now.mono_ms < t->again_ms)
        return;
    t->doubts++;
    ask(op, c);
}

/* Jobs ask the head as soon as the cluster is ready: a first question that waits for the token would be told as a failure. */
void auth_follow(struct op *op, struct record *c)
{
    struct slice token;
    if (auth_there(c) || !slice_empty(cluster_model(op)->auth.secret))
        auth_of(op, c);
    if (auth_there(c) && (c->family.owner || op->names.watched) && !slice_empty(head_address(op, c)))
        auth_token(op, c, &token, NULL);
}
