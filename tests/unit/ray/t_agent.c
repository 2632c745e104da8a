/* Which heads get the container mobula-agent. */
#include "golden.h"

static bool wanted(const struct ray_options *o, const char *kind, const char *spec)
{
    struct arena a = {0};
    struct ray_cluster c;
    struct spec_errors errors;
    struct jval doc;
    struct slice text = arena_printf(
        &a, "{\"apiVersion\":\"%s\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"c\",\"namespace\":\"n\"},\"spec\":%s}", kind, spec);
    CHECK(json_read(&doc, text, &a, NULL) && ray_read(doc, &a, &c, &errors));
    bool is = ray_wants_agent(&c, o, &a);
    arena_free(&a);
    return is;
}

int main(void)
{
    static const struct slice agent[] = {SLICE("--x"), {0}};
    struct ray_options o = {.tools = RAY_TOOLS_CONFIGMAP, .agent = agent};
    static const char v1[] = "ray.io/v1",
                      pod[] = "{\"headGroupSpec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"r\"%s}%s]}}}}";
    char plain[512], named[512], tls[512];
    snprintf(plain, sizeof plain, pod, "", "");
    snprintf(named, sizeof named, pod, "", ",{\"name\":\"mobula-agent\",\"image\":\"own\"}");
    snprintf(tls, sizeof tls, pod, ",\"env\":[{\"name\":\"RAY_USE_TLS\",\"value\":\"1\"}]", "");
    test_case("a head of ray.io/v1");
    CHECK(wanted(&o, v1, plain));
    test_case("not beside a container of that name, nor where the GCS speaks TLS");
    CHECK(!wanted(&o, v1, named));
    CHECK(!wanted(&o, v1, tls));
    test_case("not when the program cannot be had, or nobody asks for it");
    o.tools = RAY_TOOLS_NONE;
    CHECK(!wanted(&o, v1, plain));
    o.tools = RAY_TOOLS_IMAGE;
    CHECK(wanted(&o, v1, plain));
    o.agent = NULL;
    CHECK(!wanted(&o, v1, plain));
    return test_done();
}
