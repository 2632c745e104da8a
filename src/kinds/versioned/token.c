/* The bearer token of a service with `auth: token`. The Secret <service>-token is read by name, at once when a rotation is requested, at
 * the time of its next step, and every TOKEN_LOOK_MS, so that the operator needs no watch of Secrets. A Secret that another client made is
 * only read. SHA-256 sums of the valid tokens, with the versions and their weights, go into a ConfigMap that the edge reads.
 *
 * A rotation has no gap: the next token is valid at the edge before it becomes the service's token, because edges read the ConfigMap late,
 * and the former one stays valid for the time of --service-auth. */
#include "record.h"

#include <mobula/kind_route.h>
#include <mobula/tls.h>

enum { SECRET_MAX = 16 * KIB, TOKEN_BYTES = 33 /* a multiple of 3: no padding */ };
#define MANAGED "app.kubernetes.io/managed-by"

const struct own_type versioned_own = {sizeof(struct versioned_token)};

static struct versioned_token *token_of(const struct record *c)
{
    return record_own_as(c, &versioned_own);
}

/* ---- steps ---- */

enum token_step versioned_token_step(const struct token_state *t, int64_t grace_ms, int64_t now_us, int64_t *due_us)
{
    int64_t lead_ms = grace_ms / 2 < TOKEN_LEAD_MS ? grace_ms / 2 : TOKEN_LEAD_MS;
    *due_us = 0;
    if (!t->there || (t->ours && !t->valid))
        return TOKEN_MAKE;
    if (!t->ours)
        return TOKEN_KEEP;
    if (t->next || t->former)
        *due_us = t->since_us + (t->next ? lead_ms : grace_ms) * 1000;
    if (*due_us && *due_us <= now_us)
        return t->next ? TOKEN_TAKE : TOKEN_END;
    return t->asked && !t->next ? TOKEN_STAGE : TOKEN_KEEP;
}

static const struct {
    const char *reason, *note;
} steps[] = {[TOKEN_MAKE] = {"CreatedToken", "created a token"},
             [TOKEN_STAGE] = {"RotatingToken", "created the next token; edges learn of it before it is in use"},
             [TOKEN_TAKE] = {"RotatedToken", "the next token is in use, and the former one still valid"},
             [TOKEN_END] = {"EndedFormerToken", "the former token is not valid any more"}};

/* ---- the Secret ---- */

static void name_of(const struct record *c, char out[POD_NAME_MAX + 1])
{
    snprintf(out, POD_NAME_MAX + 1, "%s" TOKEN_SUFFIX, c->name);
}

static void refused(struct op *op, struct record *c, enum token_part i, const char *words)
{
    struct token_part_state *p = &token_of(c)->part[i];
    char name[POD_NAME_MAX + 1], text[ANSWER_WORDS + 2 * POD_NAME_MAX];
    name_of(c, name);
    snprintf(text, sizeof text, "%s: %s", i == TOKEN_EDGE ? "ConfigMap " VERSIONED_EDGE_MAP : name, words);
    p->again_ms = op->now.mono_ms + backoff_ms(&op->rng, p->failures++, PLAN_BACKOFF_MS, RAY_TOKEN_AGAIN_MAX_MS);
    if (!keep_interned(op, &p->trouble, intern_get(&op->strings, slice_of(text))))
        return;
    log_warn("the token of a service cannot be used or told to the edge", LF("namespace", istr_slice(c->ns)),
             LF_CSTR(c->kind->word, c->name), LF_CSTR("error", text));
    say_event(op, c, true, "TokenNotUsable", slice_of(text));
}

static void accepted(struct op *op, struct token_part_state *p, int64_t again_ms)
{
    p->failures = 0;
    p->again_ms = op->now.mono_ms + again_ms;
    keep_interned(op, &p->trouble, NULL);
}

static void failed(struct op *op, struct record *c, enum token_part i, const struct kube_answer *a)
{
    char words[ANSWER_WORDS], text[ANSWER_WORDS + 80];
    bool forbidden = a->outcome == KUBE_REFUSED && a->status.code == 403;
    snprintf(text, sizeof text, "%s%s", forbidden ? "(mobula install --service-auth prints the rights) " : "", answer_words(a, words));
    refused(op, c, i, text);
}

/* Merges into what exists. A key that is null is removed; a new Secret must not have one. */
static void write_secret(const struct record *c, enum token_step step, struct jval was, struct slice now, struct buf *out)
{
    const struct versioned_token *t = token_of(c);
    const struct owner owner = {c->kind->api_version, slice_of(c->kind->name), istr_slice(c->ns), slice_of(c->name), slice_of(c->uid)};
    const char *none = t->has.there ? "null" : NULL;
    bool makes = step == TOKEN_MAKE || step == TOKEN_STAGE;
    char name[POD_NAME_MAX + 1], asked[RAY_HASH_TEXT], bytes[TOKEN_BYTES];
    struct slice version = json_raw(json_get(was, "metadata.resourceVersion"));
    struct jout w;
    name_of(c, name);
    ray_hash_format(t->asked, asked);
    buf_room(out, SECRET_MAX); /* at once: growing would leave copies behind */
    jout_init(&w, out);
    jout_form(&w, "{apiVersion:'v1',kind:'Secret',metadata:{name:'%s',resourceVersion:%.*s,labels:{%s:'" RAY_FIELD_MANAGER "'}", name,
              SLICE_ARG(version), MANAGED);
    write_owner(&w, &owner);
    jout_form(&w, "annotations:{%s?:'%.*s',%s?:'%.*s'}},data:{", VERSIONED_ROTATE, makes ? RAY_HASH_TEXT : 0, asked, TOKEN_SINCE,
              step == TOKEN_END ? 0 : (int)now.len, now.ptr);
    if (step == TOKEN_TAKE)
        jout_form(&w, "token:%.*s,former:%.*s,", SLICE_ARG(json_raw(json_get(was, "data.next"))),
                  SLICE_ARG(json_raw(json_get(was, "data.token"))));
    else
        jout_form(&w, "former:%s", none);
    if (!makes || step == TOKEN_MAKE)
        jout_form(&w, "next:%s", none);
    jout_form(&w, "}");
    if (makes) {
        struct buf text;
        buf_init(&text, SECRET_MAX);
        buf_room(&text, 2 * TOKEN_BYTES);
        random_bytes(bytes, sizeof bytes);
        base64_encode((struct slice){bytes, sizeof bytes}, &text);
        jout_form(&w, "stringData:{%s:'%.*s'}", step == TOKEN_MAKE ? "token" : "next", SLICE_ARG(buf_slice(&text)));
        mem_wipe(bytes, sizeof bytes);
        buf_wipe(&text);
    }
    jout_form(&w, "}");
}

static kube_done on_answer;

/* Reads the Secret (TOKEN_KEEP), or writes a step of it. was: the Secret as it was read. */
static void call_secret(struct op *op, struct record *c, enum token_step step, struct jval was)
{
    struct versioned_token *t = token_of(c);
    struct err e = {0};
    struct buf path, body;
    char name[POD_NAME_MAX + 1], stamp[TIME_TEXT_MAX];
    bool fresh = step && !t->has.there;
    struct flight *f = slab_alloc(&op->slabs.flight);
    *f = (struct flight){.op = op, .c = c, .index = (int32_t)step};
    buf_init(&path, LIMIT_HTTP_URL);
    buf_init(&body, SECRET_MAX);
    name_of(c, name);
    if (step)
        write_secret(c, step, was, time_format(op->now.wall_us, stamp), &body);
    kube_path(&path, &kube_secrets, istr_slice(c->ns), fresh ? SLICE_NONE : slice_of(name), SLICE_NONE);
    const struct kube_request r = {.lane = KUBE_LANE_MAIN,
                                   .method = !step   ? SLICE("GET")
                                             : fresh ? SLICE("POST")
                                                     : SLICE("PATCH"),
                                   .path = buf_slice(&path),
                                   .content_type = !step   ? SLICE_NONE
                                                   : fresh ? SLICE(KUBE_TYPE_JSON)
                                                           : SLICE(KUBE_TYPE_MERGE_PATCH),
                                   .body = buf_slice(&body),
                                   .again = !step,
                                   .secret = true,
                                   .done = on_answer,
                                   .owner = op,
                                   .about = c,
                                   .tag = (uint64_t)(uintptr_t)f};
    t->asking = kube_call(op->client, &r, op->now, &e);
    c->in_flight += t->asking;
    op->flights += t->asking;
    if (!t->asking) { /* too many wait already */
        t->part[TOKEN_SECRET].again_ms = op->now.mono_ms + PLAN_BACKOFF_MS;
        slab_free(&op->slabs.flight, f);
    }
    buf_free(&path);
    buf_wipe(&body);
}

static bool is_token(struct slice text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] <= ' ' || text.ptr[i] > '~')
            return false;
    return text.len >= TOKEN_LEAST && text.len <= LIMIT_EDGE_TOKEN;
}

/* Takes the Secret as the server has it, except its tokens: only their sums are kept. */
static void take(struct op *op, struct versioned_token *t, struct jval object, const struct record *c)
{
    static const char *const keys[] = {"token", "next", "former"};
    struct arena *a = &op->arenas.event;
    struct jval notes = json_get(object, "metadata.annotations");
    struct slice uid = json_get_str(json_at(json_get(object, "metadata.ownerReferences"), 0), "uid", a); /* none: a restored backup */
    bool found[3], label = json_is(json_child(json_get(object, "metadata.labels"), MANAGED), RAY_FIELD_MANAGER);
    uint64_t done = 0;
    t->sum_count = 0;
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        struct buf text;
        buf_init(&text, SECRET_MAX);
        struct slice word = SLICE("");
        if (kube_secret_data(object, keys[i], true, &text, a, NULL))
            word = slice_trim(buf_slice(&text));
        found[i] = is_token(word);
        if (found[i] && found[0] && t->sum_count < VERSIONED_TOKENS)
            tls_sha256_hex(word, t->sums[t->sum_count++]);
        buf_wipe(&text);
    }
    t->has = (struct token_state){.there = json_type(object) == JSON_OBJECT, .valid = found[0], .next = found[1], .former = found[2]};
    t->has.ours = label && (slice_empty(uid) || slice_is(uid, c->uid));
    t->has.left = label && !t->has.ours;
    ray_hash_parse(json_str(json_child(notes, VERSIONED_ROTATE), a), &done);
    t->has.asked = t->asked && t->asked != done;
    time_parse(json_str(json_child(notes, TOKEN_SINCE), a), &t->has.since_us, NULL);
}

static void judge(struct op *op, struct record *c, struct jval object, bool wrote)
{
    struct versioned_token *t = token_of(c);
    take(op, t, object, c);
    enum token_step step = versioned_token_step(&t->has, op->o.service_auth_ms, op->now.wall_us, &t->due_us);
    t->known = true;
    if (t->has.left) {
        t->sum_count = 0;
        refused(op, c, TOKEN_SECRET, "it belongs to another object, which is being deleted: it is created again when it is gone");
    } else if (t->has.there && !t->has.ours && !t->has.valid) {
        refused(op, c, TOKEN_SECRET, "its key token is missing, shorter than 16 bytes (TOKEN_LEAST), or has spaces: replace or delete it");
    } else if (step && wrote) {
        refused(op, c, TOKEN_SECRET, "the API server keeps another content than the operator has written");
    } else if (step && op->phase.leading) {
        call_secret(op, c, step, object);
    } else {
        int64_t left_ms = t->due_us ? (t->due_us - op->now.wall_us) / 1000 + 1 : TOKEN_LOOK_MS;
        accepted(op, &t->part[TOKEN_SECRET], left_ms < TOKEN_LOOK_MS ? left_ms : TOKEN_LOOK_MS);
    }
}

static void say_step(struct op *op, struct record *c, int32_t step)
{
    log_info("token of a service written", LF("namespace", istr_slice(c->ns)), LF_CSTR(c->kind->word, c->name),
             LF_CSTR("done", steps[step].note));
    say_event(op, c, false, steps[step].reason, slice_of(steps[step].note));
}

static void on_answer(void *owner, uint64_t tag, const struct kube_answer *a, struct now now)
{
    struct op *op = owner;
    struct flight *f = (struct flight *)(uintptr_t)tag;
    struct record *c = f->c;
    struct versioned_token *t = token_of(c);
    struct jval object = NO_VALUE;
    op->now = now;
    if (t && t->asking) {
        bool absent = !f->index && a->outcome == KUBE_REFUSED && a->status.code == 404;
        t->asking = false;
        arena_reset(&op->arenas.event, 64 * KIB);
        if (absent || (a->outcome == KUBE_OK && json_read(&object, a->body, &op->arenas.event, NULL))) {
            if (f->index)
                say_step(op, c, f->index);
            judge(op, c, object, f->index);
        } else {
            t->known = true;
            failed(op, c, TOKEN_SECRET, a);
        }
        record_touch(op, c);
    }
    c->in_flight--;
    op->flights--;
    slab_free(&op->slabs.flight, f);
    work_settle(op, c);
}

/* ---- the view ---- */

const struct versioned_token_view *versioned_token_look(struct op *op, struct record *c, const struct versioned *s, struct jval status)
{
    struct versioned_token *t = token_of(c);
    uint64_t asked = slice_empty(s->rotate) ? 0 : hash64(s->rotate, 0);
    if (!s->token && slice_empty(json_get_str(status, "tokenSecret", &op->arenas.plan)))
        return NULL;
    struct versioned_token_view *v = arena_new(&op->arenas.plan, struct versioned_token_view);
    *v = (struct versioned_token_view){.state = t, .wanted = s->token, .on = op->o.service_auth_ms > 0};
    struct token_part_state *secret = &t->part[TOKEN_SECRET], *edge = &t->part[TOKEN_EDGE];
    if (t->asked != asked)
        secret->again_ms = 0;
    t->asked = asked;
    if (s->token && v->on && !t->asking && op->now.mono_ms >= secret->again_ms)
        call_secret(op, c, TOKEN_KEEP, NO_VALUE);
    v->secret = arena_printf(&op->arenas.plan, "%s" TOKEN_SUFFIX, c->name);
    v->trouble = istr_slice(secret->trouble ? secret->trouble : edge->trouble);
    v->look_ms = t->asking || !s->token ? TIME_NEVER : secret->again_ms;
    v->due = op->now.mono_ms >= edge->again_ms;
    v->held = !v->on || (edge->failures && !v->due);
    if (edge->again_ms < v->look_ms)
        v->look_ms = edge->again_ms;
    return v;
}

/* ---- the edge ---- */

/* Each service has a key of its own, and is a field manager of its own: without data the key is removed. */
static void write_map(const struct record *c, struct slice text, struct buf *path, struct buf *body)
{
    struct jout w;
    kube_path(path, &kube_configmaps, istr_slice(c->ns), SLICE(VERSIONED_EDGE_MAP), SLICE_NONE);
    buf_printf(path, "?fieldManager=" RAY_FIELD_MANAGER ".%s&force=true", c->name);
    jout_init(&w, body);
    jout_form(&w, "{apiVersion:'v1',kind:'ConfigMap',metadata:{name:'" VERSIONED_EDGE_MAP "'}");
    if (text.len) {
        char key[POD_NAME_MAX + 8];
        snprintf(key, sizeof key, "%s.json", c->name);
        jout_form(&w, "data:{%s:'%.*s'}", key, SLICE_ARG(text));
    }
    jout_form(&w, "}");
}

bool versioned_make_edge(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    (void)e;
    f->hash = hash64(act->text, 0);
    *t = (struct call_text){SLICE("PATCH"), SLICE(KUBE_TYPE_APPLY), true};
    write_map(c, act->text, &op->out.path, &op->out.body);
    return true;
}

bool versioned_answer_edge(struct op *op, struct flight *f, const struct kube_answer *a)
{
    struct versioned_token *t = token_of(f->c);
    if (t && a->outcome == KUBE_OK) {
        t->told = f->hash;
        accepted(op, &t->part[TOKEN_EDGE], TOKEN_TELL_MS);
    } else if (t) {
        failed(op, f->c, TOKEN_EDGE, a);
    }
    record_touch(op, f->c);
    return false;
}

static void on_forgotten(void *owner, uint64_t tag, const struct kube_answer *a, struct now now)
{
    struct op *op = owner;
    (void)tag;
    (void)a;
    (void)now;
    op->flights--;
}

void versioned_token_forget(struct op *op, struct record *c)
{
    struct versioned_token *t = token_of(c);
    struct err e = {0};
    if (!t)
        return;
    keep_interned(op, &t->part[TOKEN_SECRET].trouble, NULL);
    keep_interned(op, &t->part[TOKEN_EDGE].trouble, NULL);
    if (!t->told || c->present || !op->phase.leading)
        return;
    struct buf path, body;
    buf_init(&path, LIMIT_HTTP_URL);
    buf_init(&body, SECRET_MAX);
    write_map(c, SLICE(""), &path, &body);
    const struct kube_request r = {.lane = KUBE_LANE_MAIN,
                                   .method = SLICE("PATCH"),
                                   .path = buf_slice(&path),
                                   .content_type = SLICE(KUBE_TYPE_APPLY),
                                   .body = buf_slice(&body),
                                   .again = true,
                                   .done = on_forgotten,
                                   .owner = op};
    op->flights += kube_call(op->client, &r, op->now, &e);
    buf_free(&path);
    buf_free(&body);
}
