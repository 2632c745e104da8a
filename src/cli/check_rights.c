/* The rights that the operator's Role gives, held against what the API server says that we may do. Whoever makes a Role must have every
 * right in it, so before an installation this says whether this user can make it, and in the operator's pod whether it was made. */
#include "check.h"
#include "install.h"

#include <mobula/yaml.h>

enum { MISSING_MAX = 600 }; /* bytes of rights that are named; of more only that there are more */

static bool holds(struct jval list, struct slice word)
{
    struct jval key, one;
    for (struct jiter it = json_iter(list); json_next(&it, &key, &one);)
        if (json_str_eq(one, word) || json_str_eq(one, SLICE("*")))
            return true;
    return false;
}

/* "pods/log" is allowed by itself and by a star before the slash, as Kubernetes reads it. */
static bool holds_resource(struct jval list, struct slice resource, struct arena *a)
{
    ptrdiff_t slash = slice_find(resource, '/');
    return holds(list, resource) || (slash >= 0 && holds(list, arena_printf(a, "*%.*s", SLICE_ARG(slice_skip(resource, (size_t)slash)))));
}

/* Of one name only, where the wanted rule has names. */
static bool allowed(struct jval have, struct slice verb, struct slice group, struct slice resource, struct slice name, struct arena *a)
{
    struct jval key, rule;
    for (struct jiter it = json_iter(have); json_next(&it, &key, &rule);) {
        struct jval names = json_key(rule, SLICE("resourceNames"));
        if (holds(json_key(rule, SLICE("verbs")), verb) && holds(json_key(rule, SLICE("apiGroups")), group) &&
            holds_resource(json_key(rule, SLICE("resources")), resource, a) && (json_len(names) == 0 || holds(names, name)))
            return true;
    }
    return false;
}

/* One rule's verbs for one resource. */
static void missing_verbs(struct jval have, struct jval rule, struct slice group, struct slice resource, struct arena *a, struct buf *out)
{
    struct jval key, verb;
    struct slice name = json_str(json_at(json_key(rule, SLICE("resourceNames")), 0), a);
    for (struct jiter it = json_iter(json_key(rule, SLICE("verbs"))); json_next(&it, &key, &verb);)
        if (!allowed(have, json_str(verb, a), group, resource, name, a))
            buf_printf(out, "%s%.*s %.*s%s%.*s", out->len ? ", " : "", SLICE_ARG(json_str(verb, a)), SLICE_ARG(resource),
                       slice_empty(group) ? "" : ".", SLICE_ARG(group));
}

struct slice check_missing(struct jval have, struct jval want, struct arena *a)
{
    struct jval key, rule, group, resource;
    __attribute__((cleanup(buf_free))) struct buf out;
    buf_init(&out, MISSING_MAX);
    for (struct jiter it = json_iter(want); json_next(&it, &key, &rule);)
        for (struct jiter g = json_iter(json_key(rule, SLICE("apiGroups"))); json_next(&g, &key, &group);)
            for (struct jiter r = json_iter(json_key(rule, SLICE("resources"))); json_next(&r, &key, &resource);)
                missing_verbs(have, rule, json_str(group, a), json_str(resource, a), a, &out);
    return arena_printf(a, "%.*s%s", SLICE_ARG(buf_slice(&out)), out.full ? ", and more" : "");
}

/* The options of the installation that is there, as far as rights follow from the operator's arguments; else the usual ones. */
static void read_options(const struct check *c, struct install_options *o)
{
    const struct {
        const char *flag;
        struct slice *value;
    } texts[] = {{"--kinds", &o->kinds},
                 {"--tools", &o->tools},
                 {"--autoscaler", &o->autoscaler},
                 {"--ray-access", &o->ray_access},
                 {"--control-plane-url", &o->plane_url},
                 {"--cloud-deployment-id", &o->cloud}};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (check_argument(c, texts[i].flag).ptr)
            *texts[i].value = check_argument(c, texts[i].flag);
    o->leader_elect = check_argument(c, "--leader-elect").ptr;
    o->shapes = !slice_empty(check_argument(c, "--instance-types-configmap"));
    o->all_namespaces = check_argument(c, "--all-namespaces").ptr;
    o->raycronjobs = json_there(c->args) && !slice_eq(check_argument(c, "--raycronjobs"), SLICE("false"));
    o->ns = c->o->operator_ns;
    o->watch = o->all_namespaces ? SLICE_NONE : c->ns;
    o->no_crds = true;
}

/* What is missing of the Roles that `mobula install` would make for this namespace, and of a ClusterRole. */
static bool missing_of(struct check *c, struct jval have, struct slice *out, struct err *e)
{
    struct install_options o = install_defaults;
    struct yaml_docs docs;
    __attribute__((cleanup(buf_free))) struct buf text;
    buf_init(&text, MIB);
    *out = SLICE("");
    read_options(c, &o);
    if (!install_write(&o, &text, e) || !yaml_parse(buf_slice(&text), c->a, &docs, e))
        return false;
    for (uint32_t i = 0; i < docs.count; i++) {
        struct json *doc = arena_new(c->a, struct json);
        if (!json_parse(doc, docs.docs[i].json, c->a, e))
            return false;
        struct jval root = json_root(doc), kind = json_get(root, "kind");
        if (!json_str_eq(kind, SLICE("ClusterRole")) &&
            !(json_str_eq(kind, SLICE("Role")) && json_str_eq(json_get(root, "metadata.namespace"), c->ns)))
            continue;
        struct slice more = check_missing(have, json_get(root, "rules"), c->a);
        *out = arena_printf(c->a, "%.*s%s%.*s", SLICE_ARG(*out), out->len && more.len ? ", " : "", SLICE_ARG(more));
    }
    return true;
}

void check_rights(struct check *c)
{
    static const struct slice path = SLICE("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews");
    struct slice body = arena_printf(
        c->a, "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectRulesReview\",\"spec\":{\"namespace\":\"%.*s\"}}",
        SLICE_ARG(c->ns));
    struct ask_answer answer = {0};
    struct json doc;
    struct err e = {0};
    if (!ask_post(&c->ask, path, body, c->a, &answer, NULL, &e) || answer.code >= 300 || !json_parse(&doc, answer.body, c->a, &e)) {
        check_say(c, CHECK_SKIP, NULL, "SelfSubjectRulesReview: %d %.*s%s", answer.code, SLICE_ARG(answer.message), e.text);
        return;
    }
    struct jval status = json_get(json_root(&doc), "status");
    struct slice missing;
    if (!missing_of(c, json_key(status, SLICE("resourceRules")), &missing, &e)) {
        check_say(c, CHECK_SKIP, NULL, "the operator's arguments are none that mobula install writes: %s", e.text);
        return;
    }
    bool incomplete = json_get_bool(status, "incomplete", false);
    if (slice_empty(missing))
        check_say(c, CHECK_PASS, NULL, "all rights of the operator's Roles are held in namespace %.*s", SLICE_ARG(c->ns));
    else
        check_say(c, incomplete ? CHECK_WARN : CHECK_FAIL,
                  c->ask.config->in_cluster
                      ? "mobula install --print --no-crds | kubectl apply -f - makes the Roles; the flags must be the operator's"
                      : "whoever makes the Role must have these rights: let an admin of the namespace apply it",
                  "not held in namespace %.*s: %.*s%s", SLICE_ARG(c->ns), SLICE_ARG(missing),
                  incomplete ? " (the server says that its answer is incomplete)" : "");
}
