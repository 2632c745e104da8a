/* The rules of a Role, compared with a SelfSubjectRulesReview. */
#include <mobula/health.h>

enum { MISSING_MAX = 1600 }; /* most bytes of missing rights in a message; the rest is ", and more" */

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

bool rights_allowed(struct jval have, struct slice verb, struct slice group, struct slice resource, struct slice name, struct arena *a)
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

/* A rule without names is for all objects, which no rule with names holds. */
static bool all_allowed(struct jval have, struct slice verb, struct slice group, struct slice resource, struct jval names, struct arena *a)
{
    struct jval key, name;
    bool well = json_len(names) || rights_allowed(have, verb, group, resource, SLICE(""), a);
    for (struct jiter it = json_iter(names); well && json_next(&it, &key, &name);)
        well = rights_allowed(have, verb, group, resource, json_str(name, a), a);
    return well;
}

/* One rule's verbs for one resource. */
static void missing_verbs(struct jval have, struct jval rule, struct slice group, struct slice resource, struct arena *a, struct buf *out)
{
    struct jval key, verb, names = json_key(rule, SLICE("resourceNames"));
    for (struct jiter it = json_iter(json_key(rule, SLICE("verbs"))); json_next(&it, &key, &verb);)
        if (!all_allowed(have, json_str(verb, a), group, resource, names, a))
            buf_printf(out, "%s%.*s %.*s%s%.*s", out->len ? ", " : "", SLICE_ARG(json_str(verb, a)), SLICE_ARG(resource),
                       slice_empty(group) ? "" : ".", SLICE_ARG(group));
}

struct slice rights_missing(struct jval have, struct jval want, struct arena *a)
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

struct slice rights_review(struct slice ns, struct arena *a)
{
    return arena_printf(
        a, "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectRulesReview\",\"spec\":{\"namespace\":\"%.*s\"}}",
        SLICE_ARG(ns));
}
