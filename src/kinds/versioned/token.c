/* The bearer token of a service with `auth: token`, in the Secret <service>-token. It is read by name every TOKEN_LOOK_MS, so that the
 * operator needs no watch of Secrets; one that another client made is only read. SHA-256 sums of the valid tokens, with the versions and
 * their weights, go into a ConfigMap that the edge reads.
 *
 * A rotation has no gap: the next token is valid at the edge before it becomes the service's token, because edges read the ConfigMap late,
 * and the former one stays valid for the time of --service-auth. */
#include "record.h"

#include <mobula/tls.h>

_Static_assert((int)TOKEN_SUM == (int)TLS_SHA256_HEX, "sums as tls_sha256_hex writes them");

enum {
    SECRET_MAX = 16 * KIB,
    SWEEP_MAX = 16 /* texts removed behind one answer */,
    TOKEN_WORDS = 4 /* 256 random bits */,
    TOKEN_TEXT = TOKEN_WORDS * RAY_HASH_TEXT
};
#define MANAGED "app.kubernetes.io/managed-by"

static struct versioned_token *token_of(const struct record *c)
{
    return c->own;
}

/* ---- calls ---- */

static void make_token(char out[TOKEN_TEXT])
{
    uint64_t words[TOKEN_WORDS];
    random_bytes(words, sizeof words);
    for (size_t i = 0; i < TOKEN_WORDS; i++)
        ray_hash_format(words[i], out + i * RAY_HASH_TEXT);
    mem_wipe(words, sizeof words);
}

/* A new Secret, or a JSON patch, so the tokens that it has are not needed here. TOKEN_TAKE and TOKEN_END fail where another operator has
 * taken the step. */
static void write_secret(struct op *op, struct record *c, const struct action *act)
{
    char token[TOKEN_TEXT];
    struct jout w;
    make_token(token);
    model_load(op, c);
    const struct owner owner = versioned_owner(op->models.loaded->model);
    buf_room(&op->out.body, SECRET_MAX); /* at once: growing would leave copies behind */
    jout_init(&w, &op->out.body);
    if (act->index == TOKEN_MAKE) {
        jout_form(&w, "{apiVersion:'v1',kind:'Secret',metadata:{name:'%.*s',labels:{%s:'" RAY_FIELD_MANAGER "'},annotations:{%s:'%.*s'}",
                  SLICE_ARG(act->name), MANAGED, TOKEN_NOTE, SLICE_ARG(act->text));
        write_owner(&w, &owner);
        jout_form(&w, "},stringData:{token:'%.*s'}}", TOKEN_TEXT, token);
    } else {
        jout_form(&w, "[{op:'add',path:'/metadata/annotations/mobula.dev~1token-step',value:'%.*s'}", SLICE_ARG(act->text));
        if (act->index == TOKEN_STAGE)
            jout_form(&w, "{op:'add',path:'/stringData',value:{next:'%.*s'}}]", TOKEN_TEXT, token);
        else if (act->index == TOKEN_TAKE)
            jout_form(&w, "{op:'move',from:'/data/token',path:'/data/former'},{op:'move',from:'/data/next',path:'/data/token'}]");
        else
            jout_form(&w, "{op:'remove',path:'/data/former'}]");
    }
    mem_wipe(token, sizeof token);
}

#define EDGE_FILE ".json"

/* Each service has a key of its own, is a field manager of its own, and one of the owners: the ConfigMap ends with the last of them.
 * Without a text the key is removed. */
static void write_map(struct op *op, const struct istr *ns, struct slice name, const char *uid, struct slice text)
{
    struct jout w;
    buf_clear(&op->out.path);
    buf_clear(&op->out.body);
    kube_path(&op->out.path, &kube_configmaps, istr_slice(ns), SLICE(VERSIONED_EDGE_MAP), SLICE_NONE);
    buf_printf(&op->out.path, "?fieldManager=" RAY_FIELD_MANAGER ".%.*s&force=true", SLICE_ARG(name));
    jout_init(&w, &op->out.body);
    jout_form(&w, "{apiVersion:'v1',kind:'ConfigMap',metadata:{name:'" VERSIONED_EDGE_MAP "'");
    if (text.len)
        jout_form(&w,
                  "ownerReferences:[{apiVersion:'" VERSIONED_API "',kind:'" VERSIONED_KIND "',name:'%.*s',uid:'%s'}]},data:{%s:'%.*s'}}",
                  SLICE_ARG(name), uid, arena_printf(&op->arenas.body, "%.*s" EDGE_FILE, SLICE_ARG(name)).ptr, SLICE_ARG(text));
    else
        jout_form(&w, "}}");
}

/* Removes the text of a service. If that fails, it stays there until another service of the namespace is published. */
static void unpublish(struct op *op, const struct istr *ns, struct slice name)
{
    write_map(op, ns, name, NULL, SLICE(""));
    const struct kube_request r = {.lane = KUBE_LANE_MAIN,
                                   .method = SLICE("PATCH"),
                                   .path = buf_slice(&op->out.path),
                                   .content_type = SLICE(KUBE_TYPE_APPLY),
                                   .body = buf_slice(&op->out.body),
                                   .again = true};
    kube_call(op->client, &r, op->now, NULL);
}

bool versioned_make_token(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    enum token_step step = (enum token_step)act->index;
    (void)e;
    f->hash = act->text.len ? hash64(act->text, 0) : 0;
    if (step == TOKEN_READ)
        ray_hash_parse(slice_head(act->text, RAY_HASH_TEXT), &f->hash); /* of the rotation that is asked for */
    slice_copy(act->name, f->name, sizeof f->name);
    if (step == TOKEN_PUBLISH) {
        *t = (struct call_text){SLICE("PATCH"), SLICE(KUBE_TYPE_APPLY), true};
        write_map(op, c->ns, slice_of(c->name), c->uid, act->text);
        return true;
    }
    *t = (struct call_text){SLICE("PATCH"), SLICE(KUBE_TYPE_JSON_PATCH), false};
    if (step == TOKEN_MAKE)
        *t = (struct call_text){SLICE("POST"), SLICE(KUBE_TYPE_JSON), false};
    else if (step == TOKEN_READ)
        *t = (struct call_text){SLICE("GET"), SLICE_NONE, true};
    kube_path(&op->out.path, &kube_secrets, istr_slice(c->ns), step == TOKEN_MAKE ? SLICE_NONE : act->name, SLICE_NONE);
    if (step)
        write_secret(op, c, act);
    return true;
}

bool versioned_token_secret(int32_t index)
{
    return index != TOKEN_PUBLISH;
}

/* ---- answers ---- */

/* Removes the texts of services that were deleted while no operator ran. map: the ConfigMap as it is now. */
static void sweep(struct op *op, const struct istr *ns, struct jval map)
{
    struct jval key, text;
    int left = SWEEP_MAX;
    for (struct jiter it = json_iter(json_get(map, "data")); json_next(&it, &key, &text) && left;) {
        struct slice name = json_str(key, &op->arenas.event), file = SLICE(EDGE_FILE);
        if (!slice_ends(name, file) || name.len > VERSIONED_NAME_MAX + file.len)
            continue;
        name.len -= file.len;
        if (!name_find(op, &kind_versioned, ns, name) && left--)
            unpublish(op, ns, name);
    }
}

static void accepted(struct op *op, struct token_part *p, int64_t again_ms)
{
    p->failures = 0;
    p->again_ms = op->now.mono_ms + again_ms;
    keep_interned(op, &p->trouble, NULL);
}

static void refused(struct op *op, const struct flight *f, const char *words)
{
    struct versioned_token *t = token_of(f->c);
    struct token_part *p = &t->part[f->index == TOKEN_PUBLISH];
    char text[ANSWER_WORDS + 2 * POD_NAME_MAX];
    snprintf(text, sizeof text, "%s: %s", f->name, words);
    t->known = true;
    t->fresh &= f->index == TOKEN_PUBLISH;
    p->again_ms = op->now.mono_ms + backoff_ms(&op->rng, p->failures++, PLAN_BACKOFF_MS, RAY_TOKEN_AGAIN_MAX_MS);
    if (keep_interned(op, &p->trouble, intern_get(&op->strings, slice_of(text))))
        say_event(op, f->c, true, verb_refusal(f->verb, 0), slice_of(text));
}

/* Reads the Secret as the server has it; of its tokens only their sums are kept. */
static void read_secret(struct op *op, struct versioned_token *t, struct jval object, const char *uid)
{
    static const char *const keys[] = {"token", "next", "former"};
    struct arena *a = &op->arenas.event;
    struct slice owner = json_get_str(json_at(json_get(object, "metadata.ownerReferences"), 0), "uid", a),
                 note = json_str(json_child(json_get(object, "metadata.annotations"), TOKEN_NOTE), a);
    bool found[COUNT_OF(keys)], ours = json_is(json_child(json_get(object, "metadata.labels"), MANAGED), RAY_FIELD_MANAGER) &&
                                       (slice_empty(owner) || slice_is(owner, uid)); /* without an owner: it comes from a backup */
    t->sum_count = 0;
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        struct buf text;
        buf_init(&text, SECRET_MAX);
        kube_secret_data(object, keys[i], true, &text, a, NULL);
        struct slice word = slice_trim(buf_slice(&text));
        found[i] = word.len >= TOKEN_LEAST && word.len <= LIMIT_EDGE_TOKEN;
        if (found[i] && found[0] && t->sum_count < VERSIONED_TOKENS)
            tls_sha256_hex(word, t->sums[t->sum_count++]);
        buf_wipe(&text);
    }
    t->has = (struct token_state){json_type(object) == JSON_OBJECT, ours && found[0], found[0], found[1], found[2], .done = 0};
    ray_hash_parse(slice_cut(&note, ' '), &t->has.done);
    time_parse(note, &t->has.since_us, NULL);
}

static void take_secret(struct op *op, const struct flight *f, struct jval object)
{
    struct versioned_token *t = token_of(f->c);
    int64_t grace_ms = op->o.service_auth_ms, look_ms = grace_ms / 2 < TOKEN_LOOK_MS ? grace_ms / 2 : TOKEN_LOOK_MS;
    read_secret(op, t, object, f->c->uid);
    t->known = t->fresh = true;
    int32_t next = (int32_t)versioned_token_step(&t->has, f->index ? t->has.done : f->hash, grace_ms, op->now.wall_us);
    if ((t->has.there && !t->has.valid) || (f->index && next == f->index))
        refused(op, f, "this Secret has no key token of 16 bytes or more: replace or delete it");
    else if (f->index || !next)
        accepted(op, &t->part[TOKEN_SECRET], look_ms);
    else
        t->part[TOKEN_SECRET].again_ms = op->now.mono_ms + look_ms; /* a step is due: its own answer ends the back-off */
}

enum { REASON_MAX = 24 };
static const char reasons[][REASON_MAX] = {[TOKEN_MAKE] = "TokenCreated",
                                           [TOKEN_STAGE] = "TokenRotationStarted",
                                           [TOKEN_TAKE] = "TokenRotated",
                                           [TOKEN_END] = "FormerTokenEnded",
                                           [TOKEN_PUBLISH] = ""};

bool versioned_answer_token(struct op *op, struct flight *f, const struct kube_answer *a)
{
    struct versioned_token *t = token_of(f->c);
    struct jval object = NO_VALUE;
    char words[ANSWER_WORDS];
    bool absent = a->outcome == KUBE_REFUSED && a->status.code == 404 && f->index == TOKEN_READ;
    bool publishes = f->index == TOKEN_PUBLISH, well = a->outcome == KUBE_OK;
    const char *reason = reasons[f->index];
    arena_reset(&op->arenas.event, 64 * KIB);
    record_touch(op, f->c);
    if (well && reason[0])
        say_event(op, f->c, false, reason, arena_printf(&op->arenas.event, "Secret %s", f->name));
    if (well && publishes) {
        if (json_read(&object, a->body, &op->arenas.event, NULL))
            sweep(op, f->c->ns, object);
        if (t->published != f->hash)
            t->published_ms = op->now.mono_ms;
        t->published = f->hash;
        t->gone = !f->hash;
        if (!t->since_ms || t->gone)
            t->since_ms = t->gone ? 0 : op->now.mono_ms;
        accepted(op, &t->part[TOKEN_EDGE], TOKEN_PUBLISH_MS);
    } else if (absent || (well && json_read(&object, a->body, &op->arenas.event, NULL))) {
        take_secret(op, f, object);
    } else {
        refused(op, f, answer_words(a, words));
    }
    return false;
}

/* ---- the view ---- */

const struct versioned_token_view *versioned_token_look(struct op *op, struct record *c)
{
    struct versioned_token_view *v = arena_new(&op->arenas.plan, struct versioned_token_view);
    *v = (struct versioned_token_view){token_of(c), op->o.service_auth_ms, arena_printf(&op->arenas.plan, "%s" TOKEN_SUFFIX, c->name)};
    return v;
}

void versioned_token_forget(struct op *op, struct record *c)
{
    struct versioned_token *t = token_of(c);
    if (!t)
        return;
    for (int i = 0; i < TOKEN_PARTS; i++)
        keep_interned(op, &t->part[i].trouble, NULL);
    if (!c->present && t->published && op->phase.leading)
        unpublish(op, c->ns, slice_of(c->name));
}
