/* ConfigMap mobula-tools: how this very binary gets into the pods of a namespace without a registry. It is asked for first, and applied
 * only when it is gone, or holds another binary or what other patches made of it. It is looked at while workers are made, not by a clock:
 * nobody else needs it. It belongs to its namespace and outlives every record there, so it is no action of a record's plan. */
#include "record.h"

#define TOOLS_HASH "mobula.dev/executable-hash"

enum { CHECK_AGAIN_MS = 15 * 1000, PACKED_MS = 200, RETRY_MS = 2000, RETRY_MAX_MS = 60 * 1000, CALL_MS = 30 * 1000 };

/* In one namespace. */
struct tools {
    const struct istr *ns;
    enum { TOOLS_UNKNOWN, TOOLS_ASKING, TOOLS_PACKING, TOOLS_APPLYING, TOOLS_THERE } state; /* packing: before it is applied */
    int64_t again_ms;
    uint32_t failures;
    bool seen; /* it has been there once: workers need not wait for it */
};

static kube_done tools_done;

static struct map *tools_of(const struct op *op)
{
    return &rayclusters_of(op)->tools;
}

uint32_t tools_known(const struct op *op)
{
    return tools_of(op)->count;
}

static void ask_later(const struct op *op, struct tools *t)
{
    t->state = TOOLS_UNKNOWN;
    t->again_ms = op->now.mono_ms + RETRY_MS;
}

static void tools_call(struct op *op, struct tools *t, struct slice method, struct slice query, struct slice content_type,
                       struct slice body)
{
    struct err e = {0};
    buf_clear(&op->out.path);
    kube_path(&op->out.path, &kube_configmaps, istr_slice(t->ns), SLICE(RAY_TOOLS_CONFIGMAP_NAME), SLICE_NONE);
    buf_put(&op->out.path, query);
    struct kube_request r = {.lane = KUBE_LANE_MAIN,
                             .method = method,
                             .path = buf_slice(&op->out.path),
                             .content_type = content_type,
                             .body = body,
                             .again = true,
                             .timeout_ms = CALL_MS,
                             .done = tools_done,
                             .owner = op,
                             .tag = (uint64_t)(uintptr_t)t};
    if (!kube_call(op->client, &r, op->now, &e))
        ask_later(op, t);
}

static void hash_text(const struct op *op, char out[17])
{
    snprintf(out, 17, "%016llx", (unsigned long long)(rayclusters_of(op)->executable_hash ^ patches_revision(op)));
}

static void tools_failed(struct op *op, struct tools *t, const struct kube_answer *a)
{
    char words[ANSWER_WORDS];
    t->state = TOOLS_UNKNOWN;
    t->again_ms = op->now.mono_ms + backoff_ms(&op->rng, t->failures++, RETRY_MS, RETRY_MAX_MS);
    if (!say_failed(op, answer_failed(a), hash64(SLICE(RAY_TOOLS_CONFIGMAP_NAME), 0), hash64(istr_slice(t->ns), 0)))
        return;
    log_warn(
        "ConfigMap " RAY_TOOLS_CONFIGMAP_NAME " cannot be applied: workers cannot wait for their head; allow get, create and patch on it, "
        "or run with --tools=image:REF or --tools=none",
        LF("namespace", istr_slice(t->ns)), LF_CSTR("error", answer_words(a, words)), LF_INT("retry_in_ms", t->again_ms - op->now.mono_ms));
}

/* Into a buffer of its own: that of other bodies would stay this large. */
static bool tools_build(struct op *op, const struct tools *t, struct buf *body, struct err *e)
{
    char hash[17];
    hash_text(op, hash);
    struct buf data;
    buf_init(&data, LIMIT_JSON_ITEM);
    bool whole = base64_encode(op->o.executable.bytes, &data);
    buf_printf(body,
               "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" RAY_TOOLS_CONFIGMAP_NAME "\",\"namespace\":\"%s\","
               "\"labels\":{\"app.kubernetes.io/name\":\"mobula\"},\"annotations\":{\"" TOOLS_HASH
               "\":\"%s\"}},\"binaryData\":{\"mobula\":\"",
               t->ns->text, hash);
    buf_put(body, buf_slice(&data));
    buf_put(body, SLICE("\"}}"));
    buf_free(&data);
    bool made = whole && !body->full && patches_amend(op, false, body, e);
    arena_reset(&op->arenas.body, 0);
    return (made && !body->full) ||
           err_set(e, ERR_LIMIT, "this program has %zu bytes: more than a ConfigMap holds", op->o.executable.bytes.len);
}

static void tools_apply(struct op *op, struct tools *t)
{
    struct kube_answer unsent = {.outcome = KUBE_UNSENT};
    struct buf body;
    buf_init(&body, LIMIT_JSON_ITEM);
    t->state = TOOLS_APPLYING;
    if (tools_build(op, t, &body, &unsent.err))
        tools_call(op, t, SLICE("PATCH"), SLICE("?fieldManager=" RAY_FIELD_MANAGER "&force=true"), SLICE(KUBE_TYPE_APPLY),
                   buf_slice(&body));
    else
        tools_failed(op, t, &unsent);
    buf_free(&body);
}

static void apply_packed(struct op *op, struct tools *t)
{
    struct operator_executable *x = &op->o.executable;
    if (x->bytes.len || (x->take && x->take(x->carrier, &x->bytes))) {
        tools_apply(op, t);
        return;
    }
    t->state = TOOLS_PACKING;
    t->again_ms = op->now.mono_ms + PACKED_MS;
}

static bool holds_ours(struct op *op, struct slice body)
{
    char hash[17];
    hash_text(op, hash);
    struct jval doc;
    struct err e = {0};
    arena_reset(&op->arenas.event, 64 * KIB);
    if (!json_read(&doc, body, &op->arenas.event, &e))
        return false;
    return json_is(json_child(json_get(doc, "metadata.annotations"), TOOLS_HASH), hash);
}

/* Workers of the first cluster in a namespace wait for the ConfigMap. */
static void wake_clusters(struct op *op, const struct tools *t)
{
    struct record *c;
    for (uint32_t i = 0; (c = map_next(&op->all.records, &i)) != NULL;)
        if (c->present && c->ns == t->ns)
            record_touch(op, c);
}

static void tools_done(void *owner, uint64_t tag, const struct kube_answer *a, struct now now)
{
    struct op *op = owner;
    struct tools *t = (struct tools *)(uintptr_t)tag;
    op->now = now;
    if (!op->phase.leading || op->phase.stopping) { /* nothing more is written; whoever leads next asks again */
        t->state = TOOLS_UNKNOWN;
        return;
    }
    bool absent = a->outcome == KUBE_REFUSED && a->status.code == 404 && t->state == TOOLS_ASKING;
    if (a->outcome != KUBE_OK && !absent) {
        tools_failed(op, t, a);
        return;
    }
    if (t->state == TOOLS_ASKING && (absent || !holds_ours(op, a->body))) {
        if (settings_awaited(op))
            ask_later(op, t);
        else
            apply_packed(op, t);
        return;
    }
    t->state = TOOLS_THERE;
    t->failures = 0;
    if (!t->seen)
        wake_clusters(op, t);
    t->seen = true;
    t->again_ms = now.mono_ms + CHECK_AGAIN_MS;
}

static void tools_ask(struct op *op, struct tools *t)
{
    t->state = TOOLS_ASKING;
    tools_call(op, t, SLICE("GET"), SLICE(""), SLICE(""), SLICE_NONE);
}

void tools_want(struct op *op, const struct istr *ns)
{
    if (op->o.ray.tools != RAY_TOOLS_CONFIGMAP || !(op->o.executable.bytes.len || op->o.executable.take))
        return;
    struct tools *t = map_get(tools_of(op), istr_slice(ns));
    if (!t) {
        t = mem_alloc(sizeof *t);
        t->ns = intern_keep(ns);
        map_put(tools_of(op), istr_slice(ns), t);
    }
    if ((t->state == TOOLS_UNKNOWN || t->state == TOOLS_THERE) && op->now.mono_ms >= t->again_ms)
        tools_ask(op, t);
}

int64_t tools_from_ms(const struct op *op, const struct istr *ns)
{
    const struct tools *t = map_get(tools_of(op), istr_slice(ns));
    bool coming = t && !t->seen && t->failures == 0;
    return coming ? op->now.mono_ms + RETRY_MS : 0;
}

static void tools_free_one(struct op *op, struct tools *t)
{
    map_del(tools_of(op), istr_slice(t->ns));
    intern_drop(&op->strings, t->ns);
    mem_free(t);
}

/* Whether an object of this namespace has pods that mount the ConfigMap. */
static bool is_used(const struct op *op, const struct tools *t)
{
    const struct record *c;
    for (uint32_t i = 0; (c = map_next(&op->all.records, &i)) != NULL;)
        if (c->present && c->ns == t->ns && c->kind->controller->mounts_tools)
            return true;
    return false;
}

void tools_drop_unused(struct op *op, const struct istr *ns)
{
    struct tools *t = map_get(tools_of(op), istr_slice(ns));
    if (t && (t->state == TOOLS_UNKNOWN || t->state == TOOLS_THERE) && !is_used(op, t))
        tools_free_one(op, t);
}

int64_t tools_tick(struct op *op)
{
    int64_t next = TIME_NEVER;
    struct tools *t;
    for (uint32_t i = 0; (t = map_next(tools_of(op), &i)) != NULL;) {
        if (t->state != TOOLS_UNKNOWN && t->state != TOOLS_PACKING)
            continue;
        if (op->now.mono_ms > t->again_ms + RETRY_MS) /* another process may have led meanwhile: it is asked for again */
            t->state = TOOLS_UNKNOWN;
        if (op->now.mono_ms >= t->again_ms && !is_used(op, t)) {
            tools_free_one(op, t);
            continue;
        }
        if (op->now.mono_ms >= t->again_ms)
            t->state == TOOLS_PACKING ? apply_packed(op, t) : tools_ask(op, t);
        if (t->again_ms > op->now.mono_ms && t->again_ms < next)
            next = t->again_ms;
    }
    return next;
}

void tools_free(struct op *op)
{
    struct tools *t;
    for (uint32_t i = 0; (t = map_next(tools_of(op), &i)) != NULL;) {
        intern_drop(&op->strings, t->ns);
        mem_free(t);
    }
    map_free(tools_of(op));
}
