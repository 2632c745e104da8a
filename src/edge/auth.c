/* Guards decide whether a request may pass a route. Tokens are known by hashes; the tokens themselves are not kept.
 *
 * A user's token is reviewed by the API server, and so is the user's right on the cluster. Both answers are kept for a few seconds. Calls
 * that come meanwhile wait for the same review. */
#include "private.h"

struct review {
    struct edge *edge;
    struct map *map; /* tokens or rights: by key */
    struct slice key;
    bool pending, yes;
    bool held;            /* calls that have waited for it go on at this moment: it is not dropped */
    bool unknown;         /* it is charged to the budget of unknown tokens */
    const char *audience; /* of a token */
    int64_t until_ms;
    struct arena texts;
    struct slice user, subject, reason;
    struct call *waiting, *settling; /* by next_waiting; settling: those that go on at this moment */
    char key_text[];
};

/* ---- tokens in files ---- */

static bool is_token(struct slice token)
{
    for (size_t i = 0; i < token.len; i++)
        if (token.ptr[i] <= ' ' || token.ptr[i] > '~')
            return false;
    return token.len > 0 && token.len <= LIMIT_EDGE_TOKEN;
}

/* The lines of a file, each a token. 0 with *e. */
static uint32_t read_lines(struct edge *g, struct slice path, struct arena *a, struct slice out[LIMIT_EDGE_TOKENS], struct err *e)
{
    struct slice rest;
    uint32_t count = 0;
    if (!g->o.read(path, a, &rest, e))
        return 0;
    while (rest.ptr) {
        struct slice line = slice_trim(slice_cut(&rest, '\n'));
        if (slice_empty(line))
            continue;
        if (!is_token(line) || count == LIMIT_EDGE_TOKENS) {
            err_set(e, ERR_CONFIG, "%.*s: want 1 to %d tokens (LIMIT_EDGE_TOKENS), one a line, each of at most %d printable characters",
                    SLICE_ARG(path), LIMIT_EDGE_TOKENS, LIMIT_EDGE_TOKEN);
            return 0;
        }
        out[count++] = line;
    }
    if (count == 0)
        err_set(e, ERR_CONFIG, "%.*s: there is no token in it", SLICE_ARG(path));
    return count;
}

bool edge_auth_read_tokens(struct edge *g, struct token_file *f, struct err *e)
{
    struct arena a = {0};
    struct slice lines[LIMIT_EDGE_TOKENS];
    if (!f->path.ptr)
        return true;
    uint32_t count = read_lines(g, f->path, &a, lines, e);
    for (uint32_t i = 0; i < count; i++)
        tls_sha256_hex(lines[i], f->sum[i]);
    if (count || e->code == ERR_MISSING)
        f->count = count;
    arena_wipe(&a);
    return count > 0;
}

bool edge_auth_read_upstream(struct edge *g, struct upstream_token *t, struct err *e)
{
    struct arena a = {0};
    struct slice lines[LIMIT_EDGE_TOKENS];
    uint32_t count = read_lines(g, t->path, &a, lines, e);
    if (count) {
        struct slice text = arena_printf(&a, "Bearer %.*s", SLICE_ARG(lines[0]));
        memcpy(t->text, text.ptr, text.len);
        t->len = text.len;
    }
    arena_wipe(&a);
    return count > 0;
}

/* ---- guards without users ---- */

void guard_none(struct call *c)
{
    edge_call_forward(c);
}

/* Compares in constant time. */
static bool is_same(const char *a, const char *b)
{
    unsigned char differs = 0;
    for (size_t i = 0; i < TLS_SHA256_HEX; i++)
        differs |= (unsigned char)(a[i] ^ b[i]);
    return differs == 0;
}

void guard_token(struct call *c)
{
    const struct token_file *f = &c->route->tokens;
    struct slice token = http_bearer(&c->request);
    char sum[TLS_SHA256_HEX];
    bool same = false;
    tls_sha256_hex(token, sum);
    for (uint32_t i = 0; i < f->count; i++)
        same |= is_same(sum, f->sum[i]);
    c->own_token = same && !slice_empty(token);
    if (c->own_token)
        edge_call_forward(c);
    else
        edge_call_refuse(c, 401, "send the service's token: Authorization: Bearer TOKEN");
}

/* ---- reviews ---- */

static void review_free(struct review *r)
{
    map_del(r->map, r->key);
    arena_wipe(&r->texts);
    mem_free(r);
}

void edge_auth_free(struct edge *g)
{
    struct map *const maps[] = {&g->tokens, &g->rights};
    struct review *r;
    for (size_t m = 0; m < COUNT_OF(maps); m++) {
        for (uint32_t i = 0; (r = map_next(maps[m], &i)) != NULL;)
            review_free(r);
        map_free(maps[m]);
    }
}

void edge_auth_forget(struct call *c)
{
    if (!c->review)
        return;
    struct call **const lists[] = {&c->review->waiting, &c->review->settling};
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        for (struct call **at = lists[i]; *at; at = &(*at)->next_waiting)
            if (*at == c) {
                *at = c->next_waiting;
                c->review = NULL;
                return;
            }
}

static bool is_known(const struct review *r, struct now now)
{
    return r->yes && r->until_ms + EDGE_KNOWN_MS > now.mono_ms;
}

/* Drops answers until there is room for one more: 1. expired ones of unknown tokens; 2. refusals; 3. expired acceptances; 4. all. */
static bool make_room(struct edge *g, struct map *m)
{
    struct review *r;
    for (int step = 0; step < 4 && m->count >= LIMIT_EDGE_REVIEWS; step++)
        for (uint32_t i = 0; (r = map_next(m, &i)) != NULL;) {
            bool over = r->until_ms <= g->now.mono_ms;
            if (!r->pending && !r->held &&
                (step == 3 || (step == 0 && over && !is_known(r, g->now)) || (step == 1 && !r->yes) || (step == 2 && over)))
                review_free(r);
        }
    return m->count < LIMIT_EDGE_REVIEWS;
}

/* NULL: there is no room, and the call was refused. */
static struct review *review_at(struct call *c, struct map *m, struct slice key)
{
    struct edge *g = c->front->edge;
    struct review *r = map_get(m, key);
    if (r)
        return r;
    if (!make_room(g, m)) {
        edge_call_refuse(c, 503, "too many tokens are being reviewed at this moment");
        return NULL;
    }
    r = mem_alloc(sizeof *r + key.len);
    memcpy(r->key_text, key.ptr, key.len);
    r->edge = g;
    r->map = m;
    r->key = (struct slice){r->key_text, key.len};
    map_put(m, r->key, r);
    return r;
}

/* Charges a review to the budget of unknown tokens, in all and by address. It keeps a flood of them from the API server, and from taking up
 * the reviews of known callers. */
static bool unknown_pays(struct call *c)
{
    struct edge *g = c->front->edge;
    struct slice from = head_forwarded_for(c), last = SLICE_NONE;
    while (from.ptr) /* behind a proxy all connections have its address; the last one of the list is its client's */
        last = slice_trim(slice_cut(&from, ','));
    if (slice_empty(last))
        last = slice_of(c->front->link->peer);
    int64_t *address = &g->address_ms[hash64(last, g->o.seed) % EDGE_ADDRESSES];
    return g->asked_unknown < LIMIT_EDGE_ASKED_UNKNOWN && rate_pays(address, EDGE_ADDRESS_MS, EDGE_ADDRESS_BURST, g->now) &&
           rate_pays(&g->unknown_ms, EDGE_UNKNOWN_MS, EDGE_UNKNOWN_BURST, g->now);
}

static void wait_for(struct call *c, struct review *r)
{
    c->review = r;
    c->next_waiting = r->waiting;
    r->waiting = c;
}

/* The review came back, or failed: all calls that wait for it go on. The next request of a client may then wait for the next review of the
 * same. */
static void settle(struct review *r, const char *failure)
{
    struct edge *g = r->edge;
    struct call *c;
    r->pending = false;
    r->held = true;
    r->settling = r->waiting;
    r->waiting = NULL;
    g->asked--;
    g->asked_unknown -= r->unknown;
    g->stats.reviews_failed += failure != NULL;
    while ((c = r->settling) != NULL) {
        struct front *f = c->front;
        edge_auth_forget(c);
        if (failure)
            edge_call_refuse(c, 503, "the API server cannot be asked at this moment whether you may pass");
        else
            c->resume(c);
        front_run(f);
    }
    r->held = false;
    if (!r->pending && r->until_ms == 0)
        review_free(r);
    if (failure && log_memory_pass(&g->said, hash64(slice_of(failure), 0), g->now))
        log_warn("the API server gave no answer about a token or a right", LF_CSTR("error", failure));
}

static void on_review(void *owner, uint64_t tag, const struct kube_answer *a, struct now now)
{
    struct review *r = owner;
    struct arena memory = {0};
    struct kube_review said;
    struct jval doc;
    struct err e = {0};
    bool of_token = r->map == &r->edge->tokens;
    (void)tag;
    r->edge->now = now;
    const char *failure = a->outcome == KUBE_REFUSED ? a->status.message : a->err.text;
    if (a->outcome == KUBE_OK && json_read(&doc, a->body, &memory, &e)) {
        if (of_token)
            kube_token_reviewed(json_get(doc, "status"), r->audience, &memory, &said);
        else
            kube_access_reviewed(json_get(doc, "status"), &memory, &said);
        arena_wipe(&r->texts);
        r->user = arena_dup(&r->texts, said.user);
        r->subject = arena_dup(&r->texts, said.subject);
        r->reason = arena_dup(&r->texts, said.reason);
        r->yes = said.yes;
        r->until_ms = now.mono_ms + (said.yes ? EDGE_YES_MS : EDGE_NO_MS);
        failure = NULL;
    } else if (a->outcome == KUBE_OK) {
        failure = e.text;
    }
    settle(r, failure);
    arena_wipe(&memory);
}

/* Sends the review; the call waits for it, or was refused. paid: the budget that it is charged to has room. */
static void ask(struct call *c, struct review *r, struct slice path, struct buf *body, bool paid)
{
    struct edge *g = c->front->edge;
    struct kube_request q = {.method = SLICE("POST"),
                             .path = path,
                             .content_type = SLICE(KUBE_TYPE_JSON),
                             .body = buf_slice(body),
                             .secret = true,
                             .again = true,
                             .timeout_ms = EDGE_REVIEW_MS,
                             .done = on_review,
                             .owner = r};
    struct err e = {0};
    if (g->asked >= LIMIT_EDGE_ASKED || !paid) {
        edge_call_refuse(c, 429, "too many %s are being reviewed at this moment", r->unknown ? "unknown tokens" : "tokens and rights");
    } else if (body->full || !kube_call(g->client, &q, g->now, &e)) {
        edge_call_refuse(c, 503, "the API server cannot be asked at this moment whether you may pass");
    } else {
        g->stats.reviews++;
        g->asked++;
        g->asked_unknown += r->unknown;
        r->pending = true;
        wait_for(c, r);
    }
    if (!r->pending && !r->held && r->until_ms == 0)
        review_free(r);
    buf_wipe(body);
}

/* True: *r is an answer that holds. False: the call waits for it, or was refused. */
static bool is_settled(struct call *c, struct review *r)
{
    if (r->pending)
        wait_for(c, r);
    return !r->pending && r->until_ms > c->front->edge->now.mono_ms;
}

bool edge_auth_who(struct call *c, struct slice token, struct review **out)
{
    struct edge *g = c->front->edge;
    struct buf body = {.max = LIMIT_KUBE_TOKEN};
    char mac[TLS_MAC];
    if (!is_token(token)) {
        edge_call_refuse(c, 401, "the token is longer than %d bytes, or no token", LIMIT_EDGE_TOKEN);
        return false;
    }
    tls_mac((struct slice){g->key, sizeof g->key}, token, mac);
    struct review *r = *out = review_at(c, &g->tokens, (struct slice){mac, sizeof mac});
    if (!r || is_settled(c, r))
        return r != NULL;
    if (r->pending)
        return false;
    r->audience = kube_token_is_for(token, EDGE_AUDIENCE, &c->arena) ? EDGE_AUDIENCE : NULL;
    kube_token_review(&body, token, r->audience);
    r->unknown = !is_known(r, g->now);
    ask(c, r, SLICE(KUBE_TOKEN_REVIEWS), &body, !r->unknown || unknown_pays(c));
    return false;
}

struct slice review_user(const struct review *r)
{
    return r->yes ? r->user : SLICE_NONE;
}

/* ---- users ---- */

static void judge(struct call *c, const struct review *who, const struct review *may, struct slice verb, struct slice name)
{
    if (may->yes) {
        c->user = arena_dup(&c->arena, who->user);
        edge_call_forward(c);
        return;
    }
    edge_call_refuse(
        c, 403,
        "%.*s may not %.*s %.*s/%.*s in namespace %.*s: get the verb granted by a Role, or sign in as another user at " EDGE_PATH
        "login%s%.*s",
        SLICE_ARG(who->user), SLICE_ARG(verb), SLICE_ARG(c->route->right.resource), SLICE_ARG(name), SLICE_ARG(c->route->right.ns),
        slice_empty(may->reason) ? "" : ": ", SLICE_ARG(may->reason));
}

/* Charges a review of a right to the budget of its user, who may ask for any name that a host with a star lets pass. */
static bool right_pays(struct edge *g, const struct review *who)
{
    return rate_pays(&g->user_ms[hash64(who->key, g->o.seed) % EDGE_ADDRESSES], EDGE_ADDRESS_MS, EDGE_ADDRESS_BURST, g->now);
}

static void check_right(struct call *c, struct review *who)
{
    struct edge *g = c->front->edge;
    struct slice name = slice_is(c->route->right.name, "*") ? c->label : c->route->right.name, ns = c->route->right.ns,
                 resource = c->route->right.resource, verb = c->reading ? SLICE("get") : c->route->right.write;
    struct slice words =
        arena_printf(&c->arena, "%.*s %.*s %.*s/%.*s", SLICE_ARG(verb), SLICE_ARG(resource), SLICE_ARG(ns), SLICE_ARG(name));
    char *key = arena_alloc(&c->arena, who->key.len + words.len);
    memcpy(key, who->key.ptr, who->key.len);
    memcpy(key + who->key.len, words.ptr, words.len);
    struct review *r = review_at(c, &g->rights, (struct slice){key, who->key.len + words.len});
    if (!r)
        return;
    if (is_settled(c, r)) {
        judge(c, who, r, verb, name);
        return;
    }
    if (r->pending)
        return;
    struct buf attributes = {.max = 4 * KIB}, body = {.max = LIMIT_KUBE_TOKEN};
    struct jout w;
    jout_init(&w, &attributes);
    jout_form(&w, "{namespace:'%.*s',verb:'%.*s',group:'ray.io',version:'v1',resource:'%.*s',name:'%.*s'}", SLICE_ARG(ns), SLICE_ARG(verb),
              SLICE_ARG(resource), SLICE_ARG(name));
    kube_access_review(&body, who->subject, buf_slice(&attributes));
    buf_free(&attributes);
    ask(c, r, SLICE(KUBE_ACCESS_REVIEWS), &body, is_known(r, g->now) || right_pays(g, who));
}

void guard_user(struct call *c)
{
    struct slice token = http_bearer(&c->request);
    struct review *who;
    bool cookie = slice_empty(token);
    if (cookie)
        token = login_cookie(&c->request);
    c->resume = guard_user;
    if (slice_empty(token)) {
        login_ask(c, SLICE_NONE);
    } else if (cookie && !login_same_origin(c)) {
        edge_call_refuse(c, 403, "no page of this host sent this request, as far as its Origin, Sec-Fetch-Site and Referer say");
    } else if (edge_auth_who(c, token, &who)) {
        c->own_token = who->yes;
        if (who->yes)
            check_right(c, who);
        else
            login_ask(c, slice_empty(who->reason) ? SLICE("the API server does not accept the token") : who->reason);
    }
}
