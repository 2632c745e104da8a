/* Roles and their bindings: what they must say. Whether whoever makes one has the rights in it is not asked: here everybody has all. */
#include "rules.h"

static const char *const rbac_group = "rbac.authorization.k8s.io";

/* A list that says nothing is not printed. */
static void drop_empty_lists(struct node *object)
{
    for (struct node *c = object->child, *next; c; c = next) {
        next = c->next;
        if (c->type == JSON_ARRAY && !c->child)
            dom_unlink(object, c);
    }
}

/* The rules are printed even when there are none. */
static void decode_role(struct status *st, struct node *role, struct arena *a)
{
    (void)st;
    const struct node *rules = dom_get(role, "rules");
    if (!dom_len(rules))
        dom_put(role, SLICE("rules"), dom_new(a, JSON_NULL));
    for (struct node *r = dom_is(rules, JSON_ARRAY) ? rules->child : NULL; r; r = r->next)
        drop_empty_lists(r);
}

static void need(struct status *st, const struct node *rule, unsigned i, const char *key, const char *why)
{
    if (!dom_len(dom_get(rule, key)))
        status_cause(st, "FieldValueRequired", arena_printf(st->a, "rules[%u].%s", i, key), "Required value: %s", why);
}

static void check_role(struct status *st, const struct api *api, const struct node *role, const struct node *old)
{
    (void)old;
    unsigned i = 0;
    const struct node *rules = dom_get(role, "rules");
    for (const struct node *r = dom_is(rules, JSON_ARRAY) ? rules->child : NULL; r; r = r->next, i++) {
        const struct node *urls = dom_get(r, "nonResourceURLs");
        need(st, r, i, "verbs", "verbs must contain at least one value");
        if (!dom_len(urls)) {
            need(st, r, i, "apiGroups", "resource rules must supply at least one api group");
            need(st, r, i, "resources", "resource rules must supply at least one resource");
            continue;
        }
        struct slice field = arena_printf(st->a, "rules[%u].nonResourceURLs", i), text = dom_text(urls, st->a);
        if (api->of->namespaced)
            status_cause(st, "FieldValueInvalid", field, "Invalid value: %.*s: namespaced rules cannot apply to non-resource URLs",
                         SLICE_ARG(text));
        if (dom_len(dom_get(r, "apiGroups")) || dom_len(dom_get(r, "resources")) || dom_len(dom_get(r, "resourceNames")))
            status_cause(st, "FieldValueInvalid", field,
                         "Invalid value: %.*s: rules cannot apply to both regular resources and non-resource URLs", SLICE_ARG(text));
    }
}

const struct rules rules_role = {.blank = "{\"rules\":null}", .name = NAME_PATH, .decode = decode_role, .check = check_role};

/* ---- bindings ---- */

static bool is_person(const struct node *subject)
{
    struct slice kind = dom_str(subject, "kind");
    return slice_eq(kind, SLICE("User")) || slice_eq(kind, SLICE("Group"));
}

static void drop_empty_text(struct node *object, const char *key)
{
    if (!dom_str(object, key).len)
        dom_drop(object, key);
}

/* Some fields are printed even when nothing was said, others only when something was. */
static void decode_binding(struct status *st, struct node *binding, struct arena *a)
{
    (void)st;
    struct node *ref = dom_want(a, binding, "roleRef", JSON_OBJECT);
    static const char *const printed[] = {"apiGroup", "kind", "name"};
    for (size_t i = 0; i < COUNT_OF(printed); i++)
        dom_default_str(a, ref, printed[i], "");
    if (dom_get(binding, "subjects") && !dom_len(dom_get(binding, "subjects")))
        dom_drop(binding, "subjects");
    const struct node *subjects = dom_get(binding, "subjects");
    for (struct node *s = subjects ? subjects->child : NULL; s; s = s->next) {
        dom_default_str(a, s, "kind", "");
        dom_default_str(a, s, "name", "");
        drop_empty_text(s, "apiGroup");
        drop_empty_text(s, "namespace");
    }
}

static void binding_defaults(struct node *binding, struct arena *a)
{
    struct node *ref = dom_get(binding, "roleRef");
    const struct node *subjects = dom_get(binding, "subjects");
    if (ref && !dom_str(ref, "apiGroup").len)
        dom_put_str(a, ref, "apiGroup", slice_of(rbac_group));
    for (struct node *s = subjects ? subjects->child : NULL; s; s = s->next)
        if (is_person(s) && !dom_str(s, "apiGroup").len)
            dom_put_str(a, s, "apiGroup", slice_of(rbac_group));
}

static void unsupported(struct status *st, struct slice field, struct slice is, const char *supported)
{
    status_cause(st, "FieldValueNotSupported", field, "Unsupported value: \"%.*s\": supported values: %s", SLICE_ARG(is), supported);
}

static void check_role_ref(struct status *st, const struct api *api, const struct node *ref)
{
    struct slice group = dom_str(ref, "apiGroup"), kind = dom_str(ref, "kind"), name = dom_str(ref, "name");
    if (!slice_eq(group, slice_of(rbac_group)))
        unsupported(st, SLICE("roleRef.apiGroup"), group, "\"rbac.authorization.k8s.io\"");
    bool wide = slice_eq(kind, SLICE("ClusterRole")), narrow = api->of->namespaced && slice_eq(kind, SLICE("Role"));
    if (!wide && !narrow)
        unsupported(st, SLICE("roleRef.kind"), kind, api->of->namespaced ? "\"Role\", \"ClusterRole\"" : "\"ClusterRole\"");
    if (name.len)
        names_check(st, SLICE("roleRef.name"), name, NAME_PATH);
    else
        status_cause(st, "FieldValueRequired", SLICE("roleRef.name"), "Required value");
}

static void check_subject(struct status *st, const struct api *api, const struct node *subject, unsigned i)
{
    struct slice group = dom_str(subject, "apiGroup"), kind = dom_str(subject, "kind"), name = dom_str(subject, "name");
    struct slice name_field = arena_printf(st->a, "subjects[%u].name", i), group_field = arena_printf(st->a, "subjects[%u].apiGroup", i);
    bool account = slice_eq(kind, SLICE("ServiceAccount"));
    if (!name.len)
        status_cause(st, "FieldValueRequired", name_field, "Required value");
    else if (account)
        names_check(st, name_field, name, NAME_SUBDOMAIN);
    if (account && group.len)
        unsupported(st, group_field, group, "\"\"");
    if (account && !api->of->namespaced && !dom_str(subject, "namespace").len)
        status_cause(st, "FieldValueRequired", arena_printf(st->a, "subjects[%u].namespace", i), "Required value");
    if (is_person(subject) && !slice_eq(group, slice_of(rbac_group)))
        unsupported(st, group_field, group, "\"rbac.authorization.k8s.io\"");
    if (!account && !is_person(subject))
        unsupported(st, arena_printf(st->a, "subjects[%u].kind", i), kind, "\"ServiceAccount\", \"User\", \"Group\"");
}

static void check_binding(struct status *st, const struct api *api, const struct node *binding, const struct node *old)
{
    const struct node *ref = dom_get(binding, "roleRef"), *subjects = dom_get(binding, "subjects");
    unsigned i = 0;
    check_role_ref(st, api, ref);
    for (const struct node *s = subjects ? subjects->child : NULL; s; s = s->next)
        check_subject(st, api, s, i++);
    if (!old || dom_equal(ref, dom_get(old, "roleRef")))
        return;
    struct slice group = dom_str(ref, "apiGroup"), kind = dom_str(ref, "kind"), name = dom_str(ref, "name");
    status_cause(st, "FieldValueInvalid", SLICE("roleRef"),
                 "Invalid value: {\"APIGroup\":\"%.*s\",\"Kind\":\"%.*s\",\"Name\":\"%.*s\"}: cannot change roleRef", SLICE_ARG(group),
                 SLICE_ARG(kind), SLICE_ARG(name));
}

const struct rules rules_binding = {.blank = "{\"roleRef\":{\"apiGroup\":\"\",\"kind\":\"\",\"name\":\"\"}}",
                                    .name = NAME_PATH,
                                    .decode = decode_binding,
                                    .defaults = binding_defaults,
                                    .check = check_binding};
