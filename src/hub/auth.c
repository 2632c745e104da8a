/* Authentication and authorization of callers, by TokenReview and SubjectAccessReview at the API server of the hub's cluster. Answers are
 * cached for a few seconds, by the SHA-256 of the token: the token itself is not kept. */
#include "private.h"

#include <stdio.h>

/* The result of a review of a token, or of a right: the key is the token's hash, or that and the right. */
struct review {
    struct slice key;
    int64_t until_ms;
    bool yes;
    struct slice user, subject; /* of a token: the name, and members of a SubjectAccessReview's spec */
    struct slice reason;
    int64_t full_ms; /* of a token: for auth_pays */
    char text[];
};

static void review_drop(struct map *m, struct review *r)
{
    map_del(m, r->key);
    mem_free(r);
}

/* An accepted token counts as known for HUB_KNOWN_MS after its review has expired: the next review is not charged to the budget of unknown
 * tokens, and its rate limit (full_ms) continues. */
static bool is_known(const struct review *r, struct now now)
{
    return r && r->yes && r->until_ms + HUB_KNOWN_MS > now.mono_ms;
}

/* Drops reviews until there is room for one more: 1. expired ones of unknown tokens; 2. rejections; 3. expired acceptances; 4. all. */
static void make_room(struct map *m, struct now now)
{
    struct review *r;
    for (int step = 0; step < 4 && m->count >= LIMIT_HUB_USERS; step++)
        for (uint32_t i = 0; (r = map_next(m, &i)) != NULL;) {
            bool over = r->until_ms <= now.mono_ms;
            if (step == 3 || (step == 0 && over && !is_known(r, now)) || (step == 1 && !r->yes) || (step == 2 && over))
                review_drop(m, r);
        }
}

static struct review *remember(struct hub *h, struct map *m, struct slice key, bool yes, const struct slice texts[3])
{
    struct review *old = map_get(m, key);
    struct review *r = mem_alloc(sizeof *r + key.len + texts[0].len + texts[1].len + texts[2].len);
    struct slice *to[] = {&r->user, &r->subject, &r->reason};
    char *p = r->text;
    memcpy(p, key.ptr, key.len);
    r->key = (struct slice){p, key.len};
    p += key.len;
    for (int i = 0; i < 3; i++) {
        if (texts[i].len)
            memcpy(p, texts[i].ptr, texts[i].len);
        *to[i] = (struct slice){p, texts[i].len};
        p += texts[i].len;
    }
    r->yes = yes;
    r->until_ms = h->now.mono_ms + (yes ? HUB_YES_MS : HUB_NO_MS);
    r->full_ms = old ? old->full_ms : 0;
    if (old)
        review_drop(m, old);
    make_room(m, h->now);
    map_put(m, r->key, r);
    return r;
}

static struct review *remembered(struct hub *h, struct map *m, struct slice key)
{
    struct review *r = map_get(m, key);
    return r && r->until_ms > h->now.mono_ms ? r : NULL;
}

void auth_keep(struct call *c, struct slice key, bool yes, struct slice words)
{
    const struct slice texts[] = {SLICE_NONE, SLICE_NONE, words};
    remember(c->hub, &c->hub->auth.verdicts, key, yes, texts);
}

struct slice auth_kept(struct call *c, struct slice key)
{
    const struct review *r = remembered(c->hub, &c->hub->auth.verdicts, key);
    return r ? arena_dup(&c->arena, r->reason) : SLICE_NONE;
}

void auth_free(struct hub *h)
{
    struct map *const maps[] = {&h->auth.users, &h->auth.verdicts};
    struct review *r;
    for (size_t m = 0; m < COUNT_OF(maps); m++) {
        for (uint32_t i = 0; (r = map_next(maps[m], &i)) != NULL;)
            review_drop(maps[m], r);
        map_free(maps[m]);
    }
}

/* ---- asking ---- */

static void review_done(struct hub *h, struct call *c, void *about, const struct kube_answer *a)
{
    (void)c;
    (void)a;
    h->auth.reviews--;
    h->auth.unknown_reviews -= about != NULL;
}

/* Charges a review to the budget of unknown tokens, in all and by address. It keeps a flood of them from the API server, and from taking up
 * the reviews of known callers. */
static bool unknown_pays(struct call *c)
{
    struct hub *h = c->hub;
    int64_t *address = &h->auth.address_ms[hash64(c->ask->peer, h->o.seed) % HUB_ADDRESSES];
    return h->auth.unknown_reviews < LIMIT_HUB_UNKNOWN_REVIEWS && rate_pays(address, HUB_ADDRESS_MS, HUB_ADDRESS_BURST, h->now) &&
           rate_pays(&h->auth.unknown_ms, HUB_UNKNOWN_MS, HUB_UNKNOWN_BURST, h->now);
}

/* Sends a request about a token, which lies in h->body and is wiped there. known: the token was accepted lately, and the budget of unknown
 * tokens is not charged. */
static void ask(struct call *c, struct kube_client *to, struct kube_request *r, bool known, call_step *then)
{
    struct hub *h = c->hub;
    r->secret = true;
    r->timeout_ms = HUB_REVIEW_MS;
    if (h->auth.reviews >= LIMIT_HUB_REVIEWS || (!known && !unknown_pays(c))) {
        call_refuse(c, &refuse_later, "too many %stokens are being reviewed at this moment", known ? "" : "unknown ");
    } else {
        h->auth.reviews++;
        h->auth.unknown_reviews += !known;
        c->then = then;
        hub_ask_at(h, to, c, r, review_done, known ? NULL : h);
    }
    mem_wipe(h->body.ptr, h->body.cap);
    buf_clear(&h->body);
}

/* Sends the review in h->body. */
static void ask_review(struct call *c, struct slice path, bool known, call_step *then)
{
    struct hub *h = c->hub;
    struct kube_request r = {.method = SLICE("POST"), .path = path, .content_type = SLICE(KUBE_TYPE_JSON), .body = buf_slice(&h->body)};
    ask(c, h->client, &r, known, then);
}

/* The status of the review that came back; not there: it was refused, and so is the call. */
static struct jval review_status(struct call *c, const char *what)
{
    struct jval doc;
    const struct kube_answer *a = c->answer;
    struct err e = {0};
    if (a->outcome == KUBE_OK && json_read(&doc, arena_dup(&c->arena, a->body), &c->arena, &e))
        return json_get(doc, "status");
    if (a->outcome == KUBE_REFUSED && a->status.code == 403 && log_memory_pass(&c->hub->said, hash64(slice_of(what), 403), c->hub->now))
        log_error("the control plane may not ask who calls: give its account the role of the installation", LF_CSTR("review", what),
                  LF_CSTR("error", a->status.message));
    call_refuse(c, &refuse_lost, "the API server of the control plane gave no %s: %s", what,
                a->outcome == KUBE_REFUSED ? a->status.message
                : a->outcome == KUBE_OK    ? e.text
                                           : a->err.text);
    return (struct jval){.at = -1};
}

/* ---- the user of a call ---- */

bool auth_pays(int64_t *full_ms, struct now now)
{
    return rate_pays(full_ms, HUB_RATE_MS, HUB_BURST, now);
}

struct slice auth_bearer(const struct call *c)
{
    return http_bearer(c->ask->head);
}

static void known(struct call *c, struct review *r)
{
    static const struct refusal nobody = {401, "Unauthorized", "give a token that the API server of the control plane accepts", 0};
    serve_trust(c->ask, r->yes);
    if (!r->yes) {
        call_refuse(c, &nobody, "the API server does not accept the token%s%.*s", slice_empty(r->reason) ? "" : ": ", SLICE_ARG(r->reason));
    } else {
        c->user = arena_dup(&c->arena, r->user);
        c->subject = arena_dup(&c->arena, r->subject);
        c->next_step(c);
    }
}

/* The audience that the review of this token asks for. NULL: the API server's own. */
static const char *audience_of(struct slice token, struct arena *a)
{
    return token.len <= LIMIT_HUB_TOKEN && kube_token_is_for(token, HUB_AUDIENCE, a) ? HUB_AUDIENCE : NULL;
}

static void on_token(struct call *c)
{
    struct jval status = review_status(c, "TokenReview");
    struct kube_review r;
    if (!json_there(status))
        return;
    kube_token_reviewed(status, audience_of(auth_bearer(c), &c->arena), &c->arena, &r);
    const struct slice texts[] = {r.user, r.subject, r.reason};
    known(c, remember(c->hub, &c->hub->auth.users, c->token, r.yes, texts));
}

static void on_caller(struct call *c)
{
    struct slice texts[3] = {SLICE_NONE, SLICE_NONE, SLICE_NONE};
    if (!caller_answer(c, c->answer, &texts[0], &texts[2]))
        return;
    bool yes = !slice_empty(texts[0]);
    struct review *r = remember(c->hub, &c->hub->auth.users, c->token, yes, texts);
    r->until_ms += yes ? HUB_PROOF_MS : 0;
    known(c, r);
}

/* The token claims to be a proof. False: it cannot be one, and the call is refused. */
static bool check_proof(struct call *c, struct slice token)
{
    static const struct refusal nobody = {401, "Unauthorized", "give the operator and the control plane the same --sts-url", 0};
    const char *why = !c->hub->auth.sts ? "this control plane takes none: it has no --sts-url" : caller_check(token, c->hub->now.wall_us);
    c->proven = caller_cloud(token);
    if (why)
        call_refuse(c, &nobody, "the proof of an identity of AWS is not valid: %s", why);
    return why == NULL;
}

void auth_who(struct call *c, call_step *then)
{
    static const struct refusal nobody = {401, "Unauthorized", "send the header Authorization: Bearer TOKEN", 0};
    struct hub *h = c->hub;
    struct slice token = auth_bearer(c);
    char hex[TLS_SHA256_HEX];
    if (slice_empty(token)) {
        call_refuse(c, &nobody, "the request carries no bearer token");
        return;
    }
    if (caller_cloud(token).ptr && !check_proof(c, token))
        return;
    tls_sha256_hex(token, hex);
    c->token = arena_dup(&c->arena, slice_of(hex));
    c->next_step = then;
    struct review *r = remembered(h, &h->auth.users, c->token), *before = map_get(&h->auth.users, c->token);
    if (before && before->yes && !auth_pays(&before->full_ms, h->now)) {
        call_refuse(c, &refuse_later, "more than %d calls a second with this token", 1000 / HUB_RATE_MS);
        return;
    }
    if (r) {
        known(c, r);
        return;
    }
    if (c->proven.ptr) {
        struct kube_request proof;
        caller_request(h, token, &proof);
        ask(c, h->auth.sts, &proof, is_known(before, h->now), on_caller);
        return;
    }
    buf_clear(&h->body);
    kube_token_review(&h->body, token, audience_of(token, &c->arena));
    ask_review(c, SLICE(KUBE_TOKEN_REVIEWS), is_known(before, h->now), on_token);
}

/* ---- whether ---- */

static void allowed(struct call *c, const struct review *r)
{
    static const struct refusal no = {403, "Forbidden", "have this verb given to the user by a Role in this namespace", 0};
    if (r->yes)
        c->next_step(c);
    else if (c->hide)
        c->hide(c);
    else
        call_refuse(c, &no, "%.*s may not %s %.*s.mobula.dev%s%.*s in project %.*s%s%.*s", SLICE_ARG(c->user), c->verb,
                    SLICE_ARG(c->resource), slice_empty(c->name) ? "" : " ", SLICE_ARG(c->name), SLICE_ARG(c->project),
                    slice_empty(r->reason) ? "" : ": ", SLICE_ARG(r->reason));
}

static struct slice right_key(struct call *c, struct arena *a)
{
    return arena_printf(a, "%.*s %s %.*s/%.*s/%.*s", SLICE_ARG(c->token), c->verb, SLICE_ARG(c->project), SLICE_ARG(c->resource),
                        SLICE_ARG(c->name));
}

static void on_right(struct call *c)
{
    struct jval status = review_status(c, "SubjectAccessReview");
    struct arena *a = &c->arena;
    struct kube_review r;
    if (!json_there(status))
        return;
    kube_access_reviewed(status, a, &r);
    const struct slice texts[] = {SLICE_NONE, SLICE_NONE, r.reason};
    allowed(c, remember(c->hub, &c->hub->auth.verdicts, right_key(c, a), r.yes, texts));
}

void auth_may(struct call *c, call_step *then)
{
    struct hub *h = c->hub;
    struct jout w;
    static const struct review operators_only = {.reason = SLICE("an identity of AWS is that of an operator")};
    c->next_step = then;
    const struct review *r = c->proven.ptr ? &operators_only : remembered(h, &h->auth.verdicts, right_key(c, &c->arena));
    if (r) {
        allowed(c, r);
        return;
    }
    buf_clear(&h->body);
    jout_init(&w, &h->body);
    jout_form(&w, "{namespace:'%.*s',verb:'%s',group:'%.*s',version:'%.*s',resource:'%.*s',name:'%.*s'}", SLICE_ARG(c->project), c->verb,
              SLICE_ARG(hub_clouds.group), SLICE_ARG(hub_clouds.version), SLICE_ARG(c->resource), SLICE_ARG(c->name));
    struct slice attributes = arena_dup(&c->arena, buf_slice(&h->body));
    buf_clear(&h->body);
    kube_access_review(&h->body, c->subject, attributes);
    ask_review(c, SLICE(KUBE_ACCESS_REVIEWS), true, on_right);
}
