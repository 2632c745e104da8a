/* What may come out of the Secret of revisions, which whoever may write Secrets of that namespace has in his hands. */
#include "install.h"

static struct apply_object object_of(const char *json, struct arena *a)
{
    struct json doc;
    struct err e = {0};
    CHECK(json_parse(&doc, slice_of(json), a, &e) || !printf("  %s\n", e.text));
    return (struct apply_object){.json = slice_of(json),
                                 .kind = json_get_str(json_root(&doc), "kind", a),
                                 .name = json_get_str(json_root(&doc), "metadata.name", a),
                                 .ns = json_get_str(json_root(&doc), "metadata.namespace", a)};
}

#define NAMED(kind, name, ns) "{\"kind\":\"" kind "\",\"metadata\":{\"name\":\"" name "\",\"namespace\":\"" ns "\"}"
#define SUBJECT(kind, name, ns) "{\"kind\":\"" kind "\",\"name\":\"" name "\",\"namespace\":\"" ns "\"}"
#define BINDING(role, subjects) NAMED("RoleBinding", "mobula", "team") ",\"roleRef\":{\"name\":\"" role "\"},\"subjects\":[" subjects "]}"
#define OWN SUBJECT("ServiceAccount", "mobula", "ray")

static void allowed(struct arena *a)
{
    static const struct {
        const char *object;
        bool allowed;
    } cases[] = {
        {NAMED("Deployment", "mobula", "ray") "}", true},
        {NAMED("Deployment", "mobula", "kube-system") "}", false},
        {NAMED("Deployment", "other", "ray") "}", false},
        {NAMED("Service", "mobula-agent", "team") "}", false},
        {NAMED("Pod", "mobula", "ray") "}", false},
        {NAMED("Role", "mobula", "team") ",\"rules\":[{\"verbs\":[\"get\"]}]}", true},
        {"{\"kind\":\"ClusterRole\",\"metadata\":{\"name\":\"mobula-ray\"},\"rules\":[{\"nonResourceURLs\":[\"*\"],\"verbs\":[\"get\"]}]}",
         false},
        {"{\"kind\":\"ClusterRole\",\"metadata\":{\"name\":\"mobula-ray\"},\"rules\":[],\"aggregationRule\":{}}", false},
        {BINDING("mobula", OWN), true},
        {BINDING("system:auth-delegator", OWN), true},
        {BINDING("cluster-admin", OWN), false},
        {BINDING("mobula", OWN "," OWN), false},
        {BINDING("mobula", ""), false},
        {BINDING("mobula", SUBJECT("ServiceAccount", "mobula", "team")), false},
        {BINDING("mobula", SUBJECT("ServiceAccount", "default", "ray")), false},
        {BINDING("mobula", SUBJECT("User", "mobula", "ray")), false},
    };
    const struct revision r = {.ns = SLICE("ray"), .name = SLICE("mobula")};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct apply_object o = object_of(cases[i].object, a);
        test_case("a revision may hold %zu", i);
        CHECK_INT(revision_allows(&r, &o, a), cases[i].allowed);
    }
}

#define RULES(verbs) "\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"secrets\"],\"verbs\":[" verbs "]}]"

static void given(struct arena *a)
{
    static const struct {
        const char *object, *live, *gives;
    } cases[] = {
        {NAMED("Role", "mobula", "team") "," RULES("\"get\"") "}", "{" RULES("\"get\",\"list\"") "}", ""},
        {NAMED("Role", "mobula", "team") "," RULES("\"get\",\"list\"") "}", "{" RULES("\"get\"") "}", "list secrets"},
        {NAMED("Role", "mobula", "team") "," RULES("\"*\"") "}", "{" RULES("\"get\"") "}", "* secrets"},
        {NAMED("ClusterRole", "mobula-ray", "") "," RULES("\"get\"") "}", NULL, "get secrets"},
        {BINDING("mobula", OWN), "{}", ""},
        {BINDING("mobula", OWN), NULL, "what mobula holds"},
        {NAMED("Deployment", "mobula", "ray") "}", NULL, ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct apply_object o = object_of(cases[i].object, a);
        struct json live;
        struct err e = {0};
        test_case("a rollback gives %zu", i);
        CHECK(!cases[i].live || json_parse(&live, slice_of(cases[i].live), a, &e));
        CHECK_STR(revision_gives(&o, cases[i].live ? json_root(&live) : NO_VALUE, a), cases[i].gives);
    }
}

/* All that an installation has of these kinds belongs to a revision, for else a rollback would refuse what install has written. */
static void installed(struct arena *a)
{
    static const char *const others[] = {"Namespace", "CustomResourceDefinition", "ConfigMap", "ValidatingAdmissionPolicy",
                                         "ValidatingAdmissionPolicyBinding"};
    for (int plane = 0; plane < 2; plane++) {
        struct install_options o = install_defaults;
        struct revision r = {.ns = SLICE("ray"), .name = install_name(plane)};
        struct apply p = {.a = a};
        struct err e = {0};
        o.ns = r.ns;
        o.watch = SLICE("a,b");
        o.plane = plane;
        o.replicas = 2;
        if (!plane) {
            o.with.shapes = o.with.agent = o.with.report_nodes = o.with.ray_auth = o.leader_elect = true;
            o.args.autoscaler = SLICE("sidecar");
            o.hub.url = SLICE("https://hub.example");
            o.hub.cloud = SLICE("cldrsrc_abcdefghijklmnopqrstuvwx");
        }
        test_case("a revision holds all that install makes%s", plane ? ", of a control plane" : "");
        if (!CHECK(apply_read(&p, written(&o, a, &e), &e)))
            printf("  %s\n", e.text);
        uint32_t count = 0;
        for (uint32_t i = 0; i < p.count; i++) {
            bool other = false;
            for (size_t k = 0; k < COUNT_OF(others); k++)
                other |= apply_is(&p.list[i], others[k]);
            count += !other;
            CHECK(revision_allows(&r, &p.list[i], a) == !other || !printf("  %.*s\n", SLICE_ARG(p.list[i].kind)));
        }
        CHECK(count > 8);
    }
}

int main(void)
{
    struct arena a = {0};
    allowed(&a);
    given(&a);
    installed(&a);
    arena_free(&a);
    return test_done();
}
