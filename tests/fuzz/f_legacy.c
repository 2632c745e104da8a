/* The spec of a cluster.ray.io/v1 RayCluster, and its commands: the last `ray start` of what comes out stays with the container. */
#include "ray_objects.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool has(struct slice text, const char *words)
{
    return text.len && memmem(text.ptr, text.len, words, strlen(words));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct ray_options options = {.cluster_domain = SLICE("cluster.local")};
    struct arena a = {0};
    struct json doc;
    struct ray_cluster c;
    struct spec_errors errors = {0};
    struct slice text = arena_printf(&a, "{\"apiVersion\":\"cluster.ray.io/v1\",\"metadata\":{\"name\":\"d\",\"uid\":\"u\"},\"spec\":%.*s}",
                                     (int)size, (const char *)data);
    if (json_parse(&doc, text, &a, NULL)) {
        read_and_build(json_root(&doc), &a);
        if (ray_read(json_root(&doc), &a, &c, &errors)) {
            struct slice command;
            if (!ray_start_command(&c, &c.head, &options, &a, &command, NULL) || (has(command, "ray start") && !has(command, "--block")))
                abort();
        }
    }
    arena_free(&a);
    return 0;
}
