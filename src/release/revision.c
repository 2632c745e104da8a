#include <mobula/health.h>
#include <mobula/release.h>

#include <stdio.h>

enum { REVISION_MAX = MIB };

static struct apply_object secret_object(struct apply *p, const struct revision *r)
{
    struct apply_object o = {.api_version = SLICE("v1"), .kind = SLICE("Secret"), .ns = r->ns, .force = true};
    o.name = arena_printf(p->a, "%.*s" REVISION_SUFFIX, SLICE_ARG(r->name));
    o.path = arena_printf(p->a, "/api/v1/namespaces/%.*s/secrets/%.*s", SLICE_ARG(r->ns), SLICE_ARG(o.name));
    return o;
}

static bool read_key(struct jval secret, const char *key, struct arena *a, struct slice *out, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf text;
    buf_init(&text, REVISION_MAX);
    if (!base64_decode(json_str(json_key(json_get(secret, "data"), slice_of(key)), a), &text, e))
        return err_wrap(e, "key %s", key);
    *out = text.len ? arena_dup(a, buf_slice(&text)) : SLICE_NONE;
    return true;
}

bool revision_read(struct apply *p, struct revision *r, struct err *e)
{
    struct apply_object o = secret_object(p, r);
    struct ask_answer answer = {0};
    struct json doc;
    char words[ASK_WORDS];
    if (!ask_get(p->ask, o.path, NULL, p->a, &answer, e))
        return false;
    if (answer.code == 404)
        return true;
    if (answer.code >= 300)
        return err_set(e, ERR_STATUS, "Secret %.*s: %s", SLICE_ARG(o.name), ask_words(&answer, words));
    return (json_parse(&doc, answer.body, p->a, e) && read_key(json_root(&doc), "current", p->a, &r->current, e) &&
            read_key(json_root(&doc), "previous", p->a, &r->previous, e)) ||
           err_wrap(e, "Secret %.*s", SLICE_ARG(o.name));
}

static void put_text(struct jout *w, const char *key, struct slice text)
{
    __attribute__((cleanup(buf_free))) struct buf encoded;
    buf_init(&encoded, 2 * REVISION_MAX);
    base64_encode(text, &encoded);
    jout_kstr(w, key, buf_slice(&encoded));
}

bool revision_write(struct apply *p, const struct revision *r, struct err *e)
{
    struct apply_object o = secret_object(p, r);
    struct ask_answer answer = {0};
    struct jout w;
    char words[ASK_WORDS];
    __attribute__((cleanup(buf_free))) struct buf json;
    buf_init(&json, LIMIT_JSON_ITEM);
    jout_init(&w, &json);
    jout_form(&w, "{apiVersion:'v1',kind:'Secret',metadata:{name:'%.*s',labels:{" APPLY_LABEL ":'%.*s'}},data:{", SLICE_ARG(o.name),
              SLICE_ARG(r->name));
    put_text(&w, "current", r->current);
    put_text(&w, "previous", r->previous);
    jout_end(&w);
    jout_end(&w);
    o.json = buf_slice(&json);
    return apply_send(p, &o, &answer, e) &&
           (answer.code < 300 || err_set(e, ERR_STATUS, "Secret %.*s: %s", SLICE_ARG(o.name), ask_words(&answer, words)));
}

/* ---- the objects of a revision ---- */

/* Rules that are all there is to a Role: no other Roles are added up in it, and no URLs. */
static bool plain_rules(struct jval role)
{
    struct jval key, rule;
    for (struct jiter it = json_iter(json_key(role, SLICE("rules"))); json_next(&it, &key, &rule);)
        if (json_there(json_key(rule, SLICE("nonResourceURLs"))))
            return false;
    return !json_there(json_key(role, SLICE("aggregationRule")));
}

/* For the account of the installation alone, and by a Role of mobula's, or the one of Kubernetes that reviews need. */
static bool own_binding(const struct revision *r, struct jval binding, struct arena *a)
{
    struct slice role = json_get_str(binding, "roleRef.name", a);
    struct slice own =
        arena_printf(a, "[{\"kind\":\"ServiceAccount\",\"name\":\"%.*s\",\"namespace\":\"%.*s\"}]", SLICE_ARG(r->name), SLICE_ARG(r->ns));
    return slice_eq(json_raw(json_key(binding, SLICE("subjects"))), own) && /* as install writes it */
           (slice_starts(role, SLICE("mobula")) || slice_is(role, "system:auth-delegator"));
}

bool revision_allows(const struct revision *r, const struct apply_object *o, struct arena *a)
{
    static const struct slice allowed[] = {SLICE("ServiceAccount"), SLICE("NetworkPolicy"), SLICE("PodDisruptionBudget"),
                                           SLICE("Deployment"),     SLICE("Service"),       SLICE("Role"),
                                           SLICE("ClusterRole"),    SLICE("RoleBinding"),   SLICE("ClusterRoleBinding")};
    bool known = false;
    struct jval object;
    for (size_t i = 0; i < COUNT_OF(allowed); i++)
        known |= slice_eq(o->kind, allowed[i]);
    if (!known || !slice_starts(o->name, SLICE("mobula")) || !json_read(&object, o->json, a, NULL))
        return false;
    return slice_ends(o->kind, SLICE("Role"))          ? plain_rules(object)
           : slice_ends(o->kind, SLICE("RoleBinding")) ? own_binding(r, object, a)
                                                       : slice_eq(o->ns, r->ns);
}

struct slice revision_gives(const struct apply_object *o, struct jval live, struct arena *a)
{
    struct jval object;
    if (!json_read(&object, o->json, a, NULL))
        return SLICE_NONE;
    if (slice_ends(o->kind, SLICE("Role")))
        return rights_missing(json_key(live, SLICE("rules")), json_key(object, SLICE("rules")), a);
    if (slice_ends(o->kind, SLICE("RoleBinding")) && !json_there(live))
        return arena_printf(a, "what %.*s holds", SLICE_ARG(json_get_str(object, "roleRef.name", a)));
    return SLICE_NONE;
}

struct slice revision_text(const struct revision *r, const struct apply *p)
{
    __attribute__((cleanup(buf_free))) struct buf text;
    buf_init(&text, REVISION_MAX);
    for (uint32_t i = 0; i < p->count; i++)
        if (revision_allows(r, &p->list[i], p->a))
            buf_printf(&text, "---\n%.*s\n", SLICE_ARG(p->list[i].json));
    return arena_dup(p->a, buf_slice(&text));
}

static bool put_live(struct apply *p, const struct revision *r, const struct apply *of, struct buf *text, struct err *e)
{
    for (uint32_t i = 0; i < of->count; i++) {
        struct apply_object o = of->list[i];
        struct ask_answer answer = {0};
        if (!ask_get(p->ask, o.path, NULL, p->a, &answer, e))
            return false;
        if (answer.code >= 300)
            continue;
        o.json = apply_plain(answer.body, p->a);
        if (revision_allows(r, &o, p->a))
            buf_printf(text, "---\n%.*s\n", SLICE_ARG(o.json));
    }
    return true;
}

bool revision_live(struct apply *p, struct revision *r, const struct apply *gone, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf text;
    buf_init(&text, REVISION_MAX);
    if (!put_live(p, r, p, &text, e) || !put_live(p, r, gone, &text, e))
        return false;
    r->current = text.full ? SLICE_NONE : arena_dup(p->a, buf_slice(&text));
    return true;
}

void revision_next(struct revision *r, struct slice next)
{
    if (slice_eq(r->current, next))
        return;
    r->previous = r->current;
    r->current = next;
}

/* ---- objects that only an earlier revision has ---- */

static bool text_has(struct slice text, struct slice word, struct arena *a)
{
    return !slice_empty(text) && slice_has(text, arena_printf(a, "\"%.*s\"", SLICE_ARG(word)).ptr);
}

bool revision_prune(struct apply *p, const struct revision *r, int64_t until_ms, struct err *e)
{
    struct apply other = {.ask = p->ask, .a = p->a},
                 gone = {.ask = p->ask, .say = p->say, .a = p->a, .spares = true, .installation = r->ns},
                 programs = {.ask = p->ask, .a = p->a};
    const char *labels = arena_printf(p->a, INSTALL_PROGRAM_LABELS, SLICE_ARG(r->name)).ptr;
    if (!apply_read(&other, r->previous, e) || !apply_read(&gone, SLICE_NONE, e) || !apply_read(&programs, SLICE_NONE, e) ||
        !apply_find(&programs, SLICE("v1"), "ConfigMap", r->ns, labels, NULL, e))
        return false;
    for (uint32_t i = 0; i < other.count; i++)
        if (!apply_has(p, other.list[i].path) && revision_allows(r, &other.list[i], p->a))
            gone.list[gone.count++] = other.list[i];
    for (uint32_t i = 0; i < programs.count && gone.count < APPLY_OBJECTS_MAX; i++)
        if (!text_has(r->current, programs.list[i].name, p->a) && !text_has(r->previous, programs.list[i].name, p->a))
            gone.list[gone.count++] = programs.list[i];
    return apply_delete(&gone, until_ms, e);
}
