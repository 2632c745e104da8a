/* Flags of install that are wrong by themselves or together: each is told, and nothing is printed. */
#include "install.h"

static void refused(struct arena *a)
{
    static const struct {
        const char *ns, *watch, *kinds, *image, *tools, *submitter;
        int64_t replicas;
        bool crds_only, no_crds, all_namespaces;
        const char *text, *registry, *pull_secrets, *resources, *requests, *selector, *priority;
    } cases[] = {
        {.watch = "a", .all_namespaces = true, .text = "--all-namespaces and --watch-namespace exclude each other"},
        {.image = "a", .registry = "b", .text = "--registry stands before the default image's name: with --image give the whole reference"},
        {.registry = "b c", .text = "--registry: \"b c/mobula:"},
        {.pull_secrets = "a,B", .text = "--pull-secret: \"B\" is not the name of a Secret"},
        {.resources = "disk=1", .text = "--resources: "},
        {.requests = "disk=1", .text = "--requests: "},
        {.selector = "a=b,c", .text = "--node-selector: \"c\" is not LABEL=VALUE"},
        {.priority = "A b", .text = "--priority-class-name: \"A b\" is not a name"},
        {.ns = "Upper", .text = "--namespace: \"Upper\" is not the name of a namespace"},
        {.ns = "", .text = "--namespace: \"\" is not the name of a namespace"},
        {.watch = "a,", .text = "--watch-namespace: \"\" is not the name of a namespace"},
        {.watch = "a,b c", .text = "--watch-namespace: \"b c\" is not the name of a namespace"},
        {.watch = "a,b,a", .text = "--watch-namespace: \"a\" is named twice"},
        {.kinds = "ray", .text = "--kinds is \"ray\": want all, ray.io or legacy"},
        {.image = "", .text = "--image: \"\" names no image"},
        {.image = "a\"b", .text = "--image: \"a\"b\" is no HOST/PATH:TAG"},
        {.tools = "image:a b", .text = "--tools: image \"a b\" has a blank"},
        {.registry = "http://h",
         .text = "--registry: \"http://h/mobula:" MOBULA_VERSION "\" is a URL: write it without the scheme in front"},
        {.tools = "image:https://h/x", .text = "--tools: image \"https://h/x\" is a URL"},
        {.tools = "image:", .text = "--tools is \"image:\": want configmap, image:REF or none"},
        {.tools = "image", .text = "--tools is \"image\": want configmap, image:REF or none"},
        {.submitter = "pods", .text = "--submitter is \"pods\": want operator or pod"},
        {.tools = "none", .submitter = "pod", .text = "--submitter=pod needs this binary in pods: --tools must be configmap or image:REF"},
        {.replicas = -1, .text = "--replicas: want 1 to 16"},
        {.replicas = INSTALL_REPLICAS_MAX + 1, .text = "--replicas: want 1 to 16"},
        {.crds_only = true, .no_crds = true, .text = "--crds-only and --no-crds leave nothing to print"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("refused %zu", i);
        struct install_options o = install_defaults;
        o.ns = cases[i].ns ? slice_of(cases[i].ns) : o.ns;
        o.watch = cases[i].watch ? slice_of(cases[i].watch) : o.watch;
        o.args.kinds = cases[i].kinds ? slice_of(cases[i].kinds) : o.args.kinds;
        o.image = cases[i].image ? slice_of(cases[i].image) : o.image;
        o.args.tools = cases[i].tools ? slice_of(cases[i].tools) : o.args.tools;
        o.args.submitter = cases[i].submitter ? slice_of(cases[i].submitter) : o.args.submitter;
        o.replicas = cases[i].replicas ? cases[i].replicas : o.replicas;
        o.crds_only = cases[i].crds_only;
        o.no_crds = cases[i].no_crds;
        o.all_namespaces = cases[i].all_namespaces;
        o.registry = slice_of(cases[i].registry);
        o.pull_secrets = slice_of(cases[i].pull_secrets);
        o.resources = slice_of(cases[i].resources);
        o.place.requests = slice_of(cases[i].requests);
        o.place.node_selector = slice_of(cases[i].selector);
        o.place.priority_class = slice_of(cases[i].priority);
        struct err e = {0};
        CHECK(!written(&o, a, &e).ptr);
        CHECK(slice_starts(slice_of(e.text), slice_of(cases[i].text)) || !printf("  %s\n", e.text));
    }
}

static void refused_proxies(struct arena *a)
{
    static const struct {
        const char *proxy, *no_proxy, *proxies, *egress_ca, *plane_url, *text;
    } cases[] = {
        {.no_proxy = "a", .text = "--no-proxy needs --proxy"},
        {.proxy = "http://a\"b", .text = "--proxy: --proxy holds a blank, a quote or another character that a URL does not have"},
        {.proxy = "https://a", .text = "--proxy: HTTPS_PROXY names a proxy of scheme https://: only http:// proxies are supported"},
        {.proxies = "a", .text = "--proxies: MOBULA_PROXIES: want ENTRY=URL or ENTRY=direct, joined by commas"},
        {.proxies = "a=direct,=http://b", .text = "--proxies: want ENTRY=URL or ENTRY=direct, joined by commas"},
        {.proxies = "a=direct,b=https://c", .text = "--proxies: a URL of MOBULA_PROXIES names a proxy of scheme https://: only"},
        {.proxies = "a=http://b:0", .text = "--proxies: a URL of MOBULA_PROXIES is not a proxy's address"},
        {.proxies = "a=http://b, c=direct", .text = "--proxies holds a blank, a quote"},
        {.egress_ca = "ca",
         .text =
             "--cloud-deployment-id, --control-plane-token, --control-plane-ca, --default-image and --egress-ca need --control-plane-url"},
        {.egress_ca = "Ca", .plane_url = "https://a", .text = "--egress-ca: \"Ca\" is not NAME or NAME/KEY"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("refused proxies %zu", i);
        struct install_options o = install_defaults;
        struct err e = {0};
        o.proxy.url = slice_of(cases[i].proxy);
        o.proxy.no_proxy = slice_of(cases[i].no_proxy);
        o.proxy.proxies = slice_of(cases[i].proxies);
        o.args.egress_ca = slice_of(cases[i].egress_ca);
        o.hub.url = slice_of(cases[i].plane_url);
        o.hub.cloud = o.hub.url.ptr ? SLICE("cldrsrc_abcdefghijklmnopqrstuvwx") : SLICE_NONE;
        CHECK(!written(&o, a, &e).ptr);
        CHECK(slice_starts(slice_of(e.text), slice_of(cases[i].text)) || !printf("  %s\n", e.text));
    }
}

static void refused_planes(struct arena *a)
{
    static const struct {
        const char *url, *cloud, *token, *tls, *kinds, *text;
        bool plane, nodes;
    } cases[] = {
        {.nodes = true, .text = "--report-nodes needs --control-plane-url"},
        {.cloud = "x",
         .text =
             "--cloud-deployment-id, --control-plane-token, --control-plane-ca, --default-image and --egress-ca need --control-plane-url"},
        {.tls = "x", .text = "--tls-secret and --tls-name need --control-plane"},
        {.url = "http://a", .text = "--control-plane-url: want https://HOST[:PORT]"},
        {.url = "https:///x", .text = "--control-plane-url: want https://HOST[:PORT]"},
        {.url = "https://a:0", .text = "--control-plane-url: want https://HOST[:PORT]"},
        {.url = "https://*.a.example", .text = "--control-plane-url: want https://HOST[:PORT]"},
        {.url = "https://user:word@a", .text = "--control-plane-url: want https://HOST[:PORT], without a user"},
        {.url = "https://a", .text = "--cloud-deployment-id must be cldrsrc_ and 24"},
        {.url = "https://a", .plane = true, .text = "--control-plane and --control-plane-url exclude each other"},
        {.url = "https://a",
         .cloud = "cldrsrc_abcdefghijklmnopqrstuvwx",
         .token = "a/",
         .text = "--control-plane-token: \"a/\" is not NAME"},
        {.url = "https://a",
         .cloud = "cldrsrc_abcdefghijklmnopqrstuvwx",
         .kinds = "legacy",
         .text = "--control-plane-url makes objects of"},
        {.url = "https://a", .cloud = "cldrsrc_abcdefghijklmnopqrstuvwx", .token = "A", .text = "--control-plane-token: \"A\" is not NAME"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct install_options o = install_defaults;
        struct err e = {0};
        test_case("refused plane %zu", i);
        o.hub.url = slice_of(cases[i].url);
        o.hub.cloud = slice_of(cases[i].cloud);
        o.hub.token = slice_of(cases[i].token);
        o.args.kinds = cases[i].kinds ? slice_of(cases[i].kinds) : o.args.kinds;
        o.tls.secret = slice_of(cases[i].tls);
        o.plane = cases[i].plane;
        o.with.report_nodes = cases[i].nodes;
        CHECK(!written(&o, a, &e).ptr);
        CHECK(slice_starts(slice_of(e.text), slice_of(cases[i].text)) || !printf("  %s\n", e.text));
    }
}

int main(void)
{
    struct arena a = {0};
    refused(&a);
    refused_proxies(&a);
    refused_planes(&a);
    arena_free(&a);
    return test_done();
}
