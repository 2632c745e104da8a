/* Finds the installation that an object belongs to, and the name that earlier versions gave the object. */
#include <mobula/release.h>

/* ---- the owner ---- */

static struct slice subject_namespace(struct jval binding, struct arena *a)
{
    struct jval subject = json_at(json_key(binding, SLICE("subjects")), 0);
    return slice_starts(json_get_str(subject, "name", a), SLICE("mobula")) ? json_get_str(subject, "namespace", a) : SLICE_NONE;
}

/* The namespace of the account that an admission policy restricts, or of the ConfigMaps that it checks. */
static struct slice policy_namespace(struct jval policy, struct arena *a)
{
    static const struct slice account = SLICE("system:serviceaccount:");
    struct slice at = json_get_str(json_at(json_get(policy, "spec.matchConditions"), 0), "expression", a);
    ptrdiff_t n = slice_find(at, '"');
    at = n < 0 ? SLICE_NONE : slice_skip(at, (size_t)n + 1);
    if (slice_starts(at, account)) {
        at = slice_skip(at, account.len);
        return slice_cut(&at, ':');
    }
    struct jval labels = json_get(policy, "spec.matchConstraints.namespaceSelector.matchLabels");
    return json_str(json_key(labels, SLICE("kubernetes.io/metadata.name")), a);
}

struct slice owner_of(struct jval object, struct arena *a)
{
    struct jval label = json_key(json_get(object, "metadata.labels"), SLICE(OWNER_LABEL));
    struct slice kind = json_get_str(object, "kind", a);
    if (json_there(label))
        return json_str(label, a);
    return slice_ends(kind, SLICE("RoleBinding"))               ? subject_namespace(object, a)
           : slice_eq(kind, SLICE("ValidatingAdmissionPolicy")) ? policy_namespace(object, a)
                                                                : SLICE_NONE;
}

struct slice owner_of_text(struct slice json, struct arena *a)
{
    struct jval object;
    return !slice_empty(json) && json_read(&object, json, a, NULL) ? owner_of(object, a) : SLICE_NONE;
}

/* The object that tells the owner of this one: for a Role its RoleBinding, for the binding of a policy the policy. */
static bool teller(const struct apply_object *o, struct arena *a, struct apply_object *out)
{
    static const struct {
        const char *of, *tells;
    } pairs[] = {
        {"Role", "RoleBinding"}, {"ClusterRole", "ClusterRoleBinding"}, {"ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"}};
    for (size_t i = 0; i < COUNT_OF(pairs); i++)
        if (apply_is(o, pairs[i].of)) {
            *out = *o;
            out->kind = slice_of(pairs[i].tells);
            out->path = apply_path(out, a);
            return true;
        }
    return false;
}

/* The owner by the object itself, else by its teller. */
static bool find_owner(struct apply *p, const struct apply_object *o, struct jval there, struct slice *owner, struct err *e)
{
    struct apply_object tells;
    struct ask_answer answer = {0};
    *owner = owner_of(there, p->a);
    if (!slice_empty(*owner) || !teller(o, p->a, &tells))
        return true;
    if (!ask_get(p->ask, tells.path, NULL, p->a, &answer, e))
        return false;
    *owner = answer.code < 300 ? owner_of_text(answer.body, p->a) : SLICE_NONE;
    return true;
}

bool owner_other(struct apply *p, const struct apply_object *o, struct jval there, struct slice *other, struct err *e)
{
    *other = SLICE_NONE;
    if (slice_empty(p->installation) || slice_empty(json_raw(there)))
        return true;
    if (!find_owner(p, o, there, other, e))
        return false;
    *other = slice_eq(*other, p->installation) ? SLICE_NONE : *other;
    return true;
}

/* ---- former names ---- */

bool owner_former(const struct apply_object *o, struct slice name, struct slice ns, struct arena *a, struct apply_object *former)
{
    struct slice unique = arena_printf(a, "%.*s.%.*s", SLICE_ARG(name), SLICE_ARG(ns)), rest;
    if (!slice_starts(o->name, unique))
        return false;
    rest = slice_skip(o->name, unique.len);
    if (rest.len && rest.ptr[0] != '.')
        return false;
    bool plane = !slice_eq(name, install_name(false));
    if (plane && slice_empty(o->ns))
        return false;
    *former = *o;
    former->json = SLICE_NONE;
    former->name = !slice_empty(o->ns) ? name
                                       : arena_printf(a, "%.*s-%.*s%s%.*s", SLICE_ARG(name), SLICE_ARG(ns), rest.len ? "-" : "",
                                                      SLICE_ARG(rest.len ? slice_skip(rest, 1) : rest));
    former->path = apply_path(former, a);
    return true;
}

bool owner_find_former(struct apply *p, const struct apply *of, struct slice name, struct err *e)
{
    for (uint32_t i = 0; i < of->count && p->count < APPLY_OBJECTS_MAX; i++) {
        struct apply_object former;
        struct ask_answer answer = {0};
        struct jval there;
        struct slice owner;
        if (!owner_former(&of->list[i], name, p->installation, p->a, &former))
            continue;
        if (!ask_get(p->ask, former.path, NULL, p->a, &answer, e))
            return false;
        if (answer.code >= 300 || !json_read(&there, answer.body, p->a, NULL))
            continue; /* it does not exist, or this user may not read it */
        if (!find_owner(p, &former, there, &owner, e))
            return false;
        if (slice_eq(owner, p->installation))
            p->list[p->count++] = former;
    }
    return true;
}
