/* Tests that names of two installations never collide, and how the owner of an object is found. */
#include "../test.h"

#include <mobula/release.h>

/* ---- names ---- */

/* Every object that an installation with these namespaces may have, whatever its flags are. */
static struct apply all_of(struct slice ns, struct slice watch, bool plane, struct arena *a)
{
    struct apply p = {.a = a};
    struct err e = {0};
    struct buf text;
    struct install_options o = install_defaults;
    buf_init(&text, INSTALL_TEXT_MAX);
    o.ns = ns;
    o.watch = watch;
    o.plane = plane;
    CHECK(install_write_all(&o, &text, &e) && apply_read(&p, arena_dup(a, buf_slice(&text)), &e));
    CHECK_STR(slice_of(e.text), "");
    buf_free(&text);
    return p;
}

static bool shares(const struct apply *p, const struct apply *q)
{
    for (uint32_t i = 0; i < p->count; i++)
        for (uint32_t k = 0; k < q->count; k++)
            if (slice_eq(p->list[i].path, q->list[k].path))
                return true;
    return false;
}

/* A name made of the parts of our own names, so that a wrong separator soon gives a collision. */
static struct slice generated(uint64_t *seed, struct arena *a)
{
    static const char *const words[] = {"ray",   "mobula",        "services", "configmaps", "shapes", "nodes",
                                        "agent", "control-plane", "a",        "leader",     "1"};
    struct slice name = SLICE("");
    uint32_t parts = 1 + (uint32_t)(*seed = hash64(SLICE("parts"), *seed)) % 3;
    for (uint32_t i = 0; i < parts; i++) {
        *seed = hash64(SLICE("word"), *seed);
        name = arena_printf(a, "%.*s%s%s", SLICE_ARG(name), i ? "-" : "", words[*seed % COUNT_OF(words)]);
    }
    return name;
}

enum { PAIRS = 150 };

static void never_shared(struct arena *a)
{
    uint64_t seed = 31;
    test_case("two installations never have one object, whatever their namespaces are called");
    for (int i = 0; i < PAIRS; i++) {
        arena_reset(a, MIB);
        struct slice one = generated(&seed, a), two = generated(&seed, a);
        bool planes = i % 3 == 1;
        if (slice_eq(one, two))
            continue;
        struct slice watch = arena_printf(a, "%.*s,%.*s,team", SLICE_ARG(one), SLICE_ARG(two));
        struct apply p = all_of(one, watch, planes, a), q = all_of(two, watch, planes, a);
        if (!CHECK(!shares(&p, &q)))
            printf("  %.*s and %.*s\n", SLICE_ARG(one), SLICE_ARG(two));
        struct apply hub = all_of(two, watch, !planes, a);
        CHECK(!shares(&p, &hub));
    }
}

static void names_end_somewhere(struct arena *a)
{
    test_case("a namespace and a suffix, and a namespace that ends in that suffix");
    struct apply p = all_of(SLICE("ray"), SLICE("t"), false, a), q = all_of(SLICE("ray-services"), SLICE("t"), false, a);
    CHECK(!shares(&p, &q));
    test_case("the longest namespace");
    struct slice longest = slice_of("a23456789-123456789-123456789-123456789-123456789-123456789-123");
    CHECK_INT(longest.len, 63);
    struct apply r = all_of(longest, SLICE("t"), false, a);
    for (uint32_t i = 0; i < r.count; i++)
        CHECK(name_dns1123_subdomain(r.list[i].name));
}

/* ---- owners ---- */

#define SUBJECT(ns) "\"subjects\":[{\"kind\":\"ServiceAccount\",\"name\":\"mobula\",\"namespace\":\"" ns "\"}]"
#define POLICY(more) "{\"kind\":\"ValidatingAdmissionPolicy\",\"spec\":{" more "}}"

static void owners(struct arena *a)
{
    static const struct {
        const char *object, *owner;
    } cases[] = {
        {"{\"kind\":\"Role\",\"metadata\":{\"labels\":{\"mobula.dev/installation\":\"opa\"}}}", "opa"},
        {"{\"kind\":\"Role\",\"metadata\":{\"labels\":{\"app.kubernetes.io/name\":\"mobula\"}}}", ""},
        {"{\"kind\":\"RoleBinding\"," SUBJECT("opb") "}", "opb"},
        {"{\"kind\":\"ClusterRoleBinding\",\"metadata\":{\"labels\":{\"mobula.dev/installation\":\"opa\"}}," SUBJECT("opb") "}", "opa"},
        {"{\"kind\":\"RoleBinding\",\"subjects\":[{\"name\":\"somebody\",\"namespace\":\"x\"}]}", ""},
        {"{\"kind\":\"RoleBinding\"}", ""},
        {POLICY("\"matchConditions\":[{\"expression\":\"request.userInfo.username == \\\"system:serviceaccount:ray:mobula\\\"\"}]"), "ray"},
        {POLICY("\"matchConditions\":[{\"expression\":\"object.metadata.name in [\\\"patches\\\"]\"}],\"matchConstraints\":"
                "{\"namespaceSelector\":{\"matchLabels\":{\"kubernetes.io/metadata.name\":\"ray\"}}}"),
         "ray"},
        {"{\"kind\":\"Deployment\"}", ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("owner %zu", i);
        CHECK_STR(owner_of_text(slice_of(cases[i].object), a), cases[i].owner);
    }
}

static void judged(struct arena *a)
{
#define OURS "\"metadata\":{\"name\":\"mobula\",\"labels\":{\"app.kubernetes.io/name\":\"mobula\""
    static const struct {
        const char *wanted, *there, *says;
    } cases[] = {
        {"opb", "{\"kind\":\"RoleBinding\"," OURS "}}," SUBJECT("opa") "}", "belongs to the installation in namespace opa: mobula upgrade"},
        {"opa", "{\"kind\":\"RoleBinding\"," OURS "}}," SUBJECT("opa") "}", NULL},
        {"opb", "{\"kind\":\"RoleBinding\"," OURS ",\"mobula.dev/installation\":\"opa\"}}," SUBJECT("opb") "}", "namespace opa"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err e = {0};
        struct jval there;
        test_case("what another installation has is refused by its name %zu", i);
        struct apply_object o = {.kind = SLICE("RoleBinding"), .name = SLICE("mobula"), .ns = SLICE("team")};
        o.json = arena_printf(a, "{\"kind\":\"RoleBinding\"," OURS ",\"mobula.dev/installation\":\"%s\"}}}", cases[i].wanted);
        CHECK(json_read(&there, slice_of(cases[i].there), a, &e));
        CHECK_INT(apply_judge(&o, there, false, a, &e), !cases[i].says);
        CHECK(!cases[i].says || strstr(e.text, cases[i].says));
    }
}

static void former(struct arena *a)
{
    static const struct {
        const char *kind, *ns, *name, *was;
        bool plane;
    } cases[] = {
        {"Role", "team", "mobula.ray", "mobula", false},
        {"Role", "ray", "mobula", NULL, false},
        {"RoleBinding", "team", "mobula-control-plane.ray", "mobula-control-plane", true},
        {"ClusterRole", "", "mobula.ray", "mobula-ray", false},
        {"ClusterRole", "", "mobula.ray.nodes", "mobula-ray-nodes", false},
        {"ValidatingAdmissionPolicy", "", "mobula.ray.services", "mobula-ray-services", false},
        {"ClusterRoleBinding", "", "mobula-control-plane.ray", NULL, true}, /* the name has not changed */
        {"ClusterRole", "", "mobula.ray2", NULL, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct apply_object o = {.api_version = SLICE("rbac.authorization.k8s.io/v1")}, was;
        test_case("former name %zu", i);
        o.kind = slice_of(cases[i].kind);
        o.ns = slice_of(cases[i].ns);
        o.name = slice_of(cases[i].name);
        CHECK_INT(owner_former(&o, install_name(cases[i].plane), SLICE("ray"), a, &was), cases[i].was != NULL);
        if (cases[i].was)
            CHECK_STR(was.name, cases[i].was);
    }
}

int main(void)
{
    struct arena a = {0};
    owners(&a);
    judged(&a);
    former(&a);
    names_end_somewhere(&a);
    never_shared(&a);
    arena_free(&a);
    return test_done();
}
