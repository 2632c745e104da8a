#include "revision.h"
#include "cli.h"
#include "install.h"

#include <mobula/health.h>

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
    struct apply other = {.ask = p->ask, .a = p->a}, gone = {.ask = p->ask, .a = p->a, .spares = true, .installation = r->ns},
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

/* ---- mobula rollback ---- */

struct rollback_options {
    struct slice ns, kubeconfig, context;
    int64_t timeout_ms;
    bool plane, more_rights;
};

static const struct flag list[] = {
#define AT(field) offsetof(struct rollback_options, field)
    {"namespace", FLAG_TEXT, AT(ns), "NS", "where the operator runs (mobula)"},
    {"control-plane", FLAG_SWITCH, AT(plane), NULL, "the control plane there, not the operator"},
    {"more-rights", FLAG_SWITCH, AT(more_rights), NULL, "also when that gives rights back, which are named without this flag"},
    {"timeout", FLAG_DURATION, AT(timeout_ms), "TIME", "until the operator is available (2m)"},
    TLS_FLAG,
    {"kubeconfig", FLAG_TEXT, AT(kubeconfig), "FILE",
     "how to reach the API server (default: $KUBECONFIG, else in-cluster, else ~/.kube/config)"},
    {"context", FLAG_TEXT, AT(context), "NAME", "of the kubeconfig (default: its current-context)"},
#undef AT
};

static const struct flags flags = {
    .usage = "mobula rollback [FLAG...]",
    .about = "Goes back to what an installation was before the last `mobula upgrade` or `mobula install --apply` that changed it: version, "
             "flags\n"
             "and rights. Definitions stay as they are, and so do clusters and their pods. A second rollback undoes the first.",
    .list = list,
    .count = COUNT_OF(list),
};

static bool check_kinds(const struct apply *p, const struct revision *r, struct err *e)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (!revision_allows(r, &p->list[i], p->a))
            return err_set(e, ERR_STATUS, "the Secret of revisions holds %.*s %.*s, which no installation has: somebody has changed it",
                           SLICE_ARG(p->list[i].kind), SLICE_ARG(p->list[i].name));
    return true;
}

/* Rights that were taken away, or that somebody has written into the Secret, come back only when the admin says so. */
static bool check_rights_given(struct apply *p, struct err *e)
{
    for (uint32_t i = 0; i < p->count; i++) {
        const struct apply_object *o = &p->list[i];
        struct jval live;
        bool absent;
        if (!slice_ends(o->kind, SLICE("Role")) && !slice_ends(o->kind, SLICE("RoleBinding")))
            continue;
        if (!apply_live(p, o, &live, &absent, e))
            return err_wrap(e, "%.*s %.*s", SLICE_ARG(o->kind), SLICE_ARG(o->name));
        struct slice gives = revision_gives(o, live, p->a);
        if (!slice_empty(gives))
            apply_fail(p, arena_printf(p->a, "%.*s %.*s%s%.*s would give more than now: %.*s", SLICE_ARG(o->kind), SLICE_ARG(o->name),
                                       slice_empty(o->ns) ? "" : " in ", SLICE_ARG(o->ns), SLICE_ARG(gives)));
    }
    return p->failed == 0 || err_set(e, ERR_STATUS, "nothing was changed: when these rights are meant, --more-rights gives them");
}

static bool roll_back(struct apply *p, const struct rollback_options *o, struct err *e)
{
    int64_t until_ms = clock_now().mono_ms + o->timeout_ms;
    struct revision r = {.ns = o->ns, .name = install_name(o->plane)};
    if (!ask_open(p->ask, o->kubeconfig, o->context, e) || !revision_read(p, &r, e))
        return false;
    if (slice_empty(r.previous))
        return err_set(e, ERR_STATUS,
                       "namespace %.*s has no previous revision (Secret %.*s" REVISION_SUFFIX
                       " keeps one for each install --apply or upgrade that changes something)",
                       SLICE_ARG(o->ns), SLICE_ARG(r.name));
    if (!apply_read(p, r.previous, e) || !check_kinds(p, &r, e) || !(o->more_rights || check_rights_given(p, e)) || !apply_try(p, e) ||
        !apply_all(p, until_ms, e) || !apply_wait(p, until_ms, e))
        return false;
    revision_next(&r, r.previous); /* they change places */
    return revision_write(p, &r, e) && revision_prune(p, &r, until_ms, e);
}

int cli_rollback(int argc, char **argv)
{
    struct rollback_options o = {.ns = install_defaults.ns, .timeout_ms = install_defaults.timeout_ms};
    struct err e = {0};
    int status;
    if (!flags_parse(&flags, argc, argv, &o, &status))
        return status;
    if (!cli_namespace(o.ns, "--namespace", &e))
        return flags_wrong(&flags, "%s", e.text);
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    struct ask ask = {0};
    struct apply p = {.ask = &ask, .a = &a, .replaces = true};
    status = roll_back(&p, &o, &e) ? STATUS_OK : apply_failed(&p, &e);
    ask_close(&ask);
    return status;
}
