/* Host names by --domain: templates, and what a RayCluster in a simulated world gets of them. */
#include "route_world.h"

static void test_templates(void)
{
    static const struct {
        const char *domain, *kind, *ns, *name, *host;
    } cases[] = {
        {"", "i", "n", "c", ""},
        {"ray.example.org", "i", "team-a", "rag", "rag.team-a.i.ray.example.org"},
        {"ray.example.org", "s", "team-a", "rag", "rag.team-a.s.ray.example.org"},
        {"{name}-{namespace}.{kind}.example.org", "s", "team-a", "rag", "rag-team-a.s.example.org"},
        {"{name}.example.org", "s", "team-a", "rag", "rag.example.org"},
        {"example.org", "i", "team-a", "0123456789012345678901234567890123456789012345678901234567",
         "0123456789012345678901234567890123456789012345678901234567.team-a.i.example.org"},
        {"{name}-{namespace}.{kind}.a", "i", "team-a", "0123456789012345678901234567890123456789012345678901234567",
         "88db3b6d6be4f184-3be82f8dcfefb055.i.a"},
        {"{name}-{namespace}.{kind}.a", "i", "012345678901234567890123456789012345678901234567890123456789012", "c",
         "7a66fd05e51dc29a-189ae5826564e2d5.i.a"},
        {"example.org", "i", "n", "rag.v2", "8f5b0fda3c41ab51.n.i.example.org"},
        {"example.org", "i", "n", "{name}", ""},
        {"example.org", "i", "{kind}", "c", ""},
    };
    struct arena a = {0};
    test_case("templates");
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        CHECK_STR(route_host(slice_of(cases[i].domain), cases[i].kind, slice_of(cases[i].ns), slice_of(cases[i].name), &a), cases[i].host);
    arena_free(&a);
}

static void test_domains(void)
{
    static const char *const right[] = {"example.org", "{name}.example.org", "{name}.{namespace}.example.org",
                                        "{name}--{namespace}-{kind}.a.b"};
    static const char *const wrong[] = {"",           "*.example.org",         ".example.org", "example.org.", "{namespace}.example.org",
                                        "{name}:443", "{name}.{zone}.example", "EXAMPLE.ORG",  "a_b.example"};
    char text[LIMIT_ROUTE_DOMAIN + 2];
    struct err e = {0};
    test_case("domains");
    for (size_t i = 0; i < COUNT_OF(right); i++)
        CHECK(route_domain_check(slice_of(right[i]), &e));
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        CHECK(!route_domain_check(slice_of(wrong[i]), &e));
    test_case("the longest domain, and one byte more");
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = i % 60 == 59 ? '.' : 'a';
    CHECK(route_domain_check((struct slice){text, LIMIT_ROUTE_DOMAIN}, &e));
    CHECK(!route_domain_check((struct slice){text, LIMIT_ROUTE_DOMAIN + 1}, &e));
}

static void create(struct world *w, const char *annotations, const char *head)
{
    struct slice body = cluster_body(w, "c", 1, "");
    const char *at = strstr(body.ptr, "\"rayStartParams\""), *name = strstr(body.ptr, "\"name\":\"c\"");
    CHECK_INT(world_call(w, "POST", v1, "application/json",
                         arena_printf(&w->arena, "%.*s\"annotations\":{%s},%.*s%s%s", (int)(name - body.ptr), body.ptr, annotations,
                                      (int)(at - name), name, head, at)),
              201);
    world_run(w, 5000);
}

static struct jval object(struct world *w, const char *plural, const char *name)
{
    return json_document(apiserver_get(w->server, slice_of(plural), SLICE("n"), slice_of(name), &w->arena), &w->arena, NULL);
}

/* "host port, host port" */
static struct slice rules(struct world *w)
{
    struct slice text = SLICE("");
    struct jval k, rule;
    for (struct jiter it = json_iter(json_get(object(w, "ingresses.networking.k8s.io", "c-head-ingress"), "spec.rules"));
         json_next(&it, &k, &rule);) {
        struct jval backend = json_get(json_at(json_get(rule, "http.paths"), 0), "backend.service");
        CHECK(json_is(json_get(backend, "name"), "c-head-svc"));
        text = arena_printf(&w->arena, "%.*s%s%.*s %lld", SLICE_ARG(text), text.len ? ", " : "",
                            SLICE_ARG(json_get_str(rule, "host", &w->arena)), (long long)json_get_int(backend, "port.number", 0));
    }
    return text;
}

static void test_ingress(void)
{
    struct world w;
    test_case("an Ingress without a host gets the operator's, with a certificate; further ports have hosts of their own");
    open_world(&w, ROUTE_CA_OWN, "example.org");
    create(&w, "\"" RAY_ANNOTATION_PORTS "\":\"serve, client,gone\"", "\"enableIngress\":true,");
    CHECK_STR(rules(&w), "c.n.i.example.org 8265, serve-c.n.i.example.org 8000, client-c.n.i.example.org 10001");
    struct jval tls = json_at(json_get(object(&w, "ingresses.networking.k8s.io", "c-head-ingress"), "spec.tls"), 0);
    CHECK_STR(json_raw(json_get(tls, "hosts")), "[\"c.n.i.example.org\",\"serve-c.n.i.example.org\",\"client-c.n.i.example.org\"]");
    CHECK(json_is(json_get(tls, "secretName"), "c-head-tls") && json_there(object(&w, "secrets", "c-head-tls")));
    struct slice status = SLICE("{\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"10.0.0.9\"}]}}}");
    CHECK_INT(world_call(&w, "PATCH", "/apis/networking.k8s.io/v1/namespaces/n/ingresses/c-head-ingress/status",
                         "application/merge-patch+json", status),
              200);
    world_run(&w, 60 * 1000);
    CHECK(says(&w, "rayclusters.ray.io", "c",
               "reached at 10.0.0.9 as c.n.i.example.org; annotation mobula.dev/ingress-ports: no host, or no port of the head service, "
               "for gone"));
    check_fixed_point(&w);
    world_free(&w);

    test_case("a port that the head service lacks is reported before there is an address, too; a given address is called that");
    open_world(&w, ROUTE_CA_OWN, "example.org");
    create(&w, "\"" RAY_ANNOTATION_PORTS "\":\"gone\",\"" ROUTE_ADDRESS "\":\"10.0.0.8\"", "\"enableIngress\":true,");
    CHECK(says(&w, "rayclusters.ray.io", "c",
               "reached at 10.0.0.8 as c.n.i.example.org, the given address: its status is not looked at; annotation"));
    check_fixed_point(&w);
    world_free(&w);
    open_world(&w, ROUTE_CA_OWN, "example.org");
    create(&w, "\"" RAY_ANNOTATION_PORTS "\":\"gone\"", "\"enableIngress\":true,");
    CHECK(says(&w, "rayclusters.ray.io", "c",
               "names none; annotation mobula.dev/ingress-ports: no host, or no port of the head service, for gone"));
    world_free(&w);

    test_case("the host of the spec counts; below a wildcard there are no further ports");
    open_world(&w, ROUTE_CA_OWN, "example.org");
    create(&w, "\"" RAY_ANNOTATION_PORTS "\":\"serve\"", "\"enableIngress\":true,\"ingressOptions\":{\"host\":\"*.own.example\"},");
    CHECK_STR(rules(&w), "*.own.example 8265");
    check_fixed_point(&w);
    world_free(&w);
}

static void test_own_certificate(void)
{
    struct world w;
    test_case("a spec with hosts of certificates keeps its rule for any host");
    open_world(&w, ROUTE_CA_OWN, "example.org");
    create(&w, "", "\"enableIngress\":true,\"ingressOptions\":{\"tls\":[{\"hosts\":[\"own.example\"],\"secretName\":\"own\"}]},");
    CHECK_STR(rules(&w), " 8265");
    check_fixed_point(&w);
    world_free(&w);

    test_case("a further port whose host would be too long for DNS has none");
    open_world(&w, ROUTE_CA_OWN, "");
    create(&w, "\"" RAY_ANNOTATION_PORTS "\":\"serve\"",
           "\"enableIngress\":true,\"ingressOptions\":{\"host\":\"0123456789012345678901234567890123456789012345678901234567.example\"},");
    CHECK_STR(rules(&w), "0123456789012345678901234567890123456789012345678901234567.example 8265");
    check_fixed_point(&w);
    world_free(&w);
}

static void check_hostname(const char *head, const char *host)
{
    struct world w;
    open_world(&w, ROUTE_CA_OWN, "example.org");
    create(&w, "", head);
    struct jval annotations = json_get(object(&w, "services", "c-head-svc"), "metadata.annotations");
    CHECK_STR(json_str(json_child(annotations, "external-dns.alpha.kubernetes.io/hostname"), &w.arena), host);
    check_fixed_point(&w);
    world_free(&w);
}

static void test_balanced(void)
{
    test_case("external-dns learns the host of a head's load balancer, unless its Ingress has it");
    check_hostname("\"serviceType\":\"LoadBalancer\",", "c.n.i.example.org");
    check_hostname("\"headService\":{\"spec\":{\"type\":\"LoadBalancer\"}},", "c.n.i.example.org");
    check_hostname("\"serviceType\":\"LoadBalancer\",\"enableIngress\":true,", "");
    check_hostname("\"serviceType\":\"NodePort\",", "");
}

int main(void)
{
    test_templates();
    test_domains();
    test_ingress();
    test_own_certificate();
    test_balanced();
    return test_done();
}
