/* The old kind's head service keeps its own address, as it always had one: headServicePorts may lead from one number to another, which
 * a headless service cannot. Workers once were told the head's pod IP; now they come through this service, so it has the GCS's port too,
 * and names a head that is not ready yet. */
#include "service.h"

struct service_ports legacy_ports(const struct ray_cluster *c, struct arena *a)
{
    const struct {
        const char *name;
        int32_t port;
    } usual[] = {{"client", RAY_CLIENT_PORT}, {"dashboard", c->ports.dashboard}, {"ray-serve", RAY_SERVE_PORT}};
    struct jval given = json_get(c->spec, "headServicePorts"), k, v;
    struct service_ports ports = ports_new(a, json_len(given) + COUNT_OF(usual) + 1);
    for (struct jiter it = json_iter(given); json_next(&it, &k, &v);)
        ports_add(&ports, (struct service_port){.name = json_get_str(v, "name", a),
                                                .port = (int32_t)json_get_int(v, "port", 0),
                                                .target = json_get(v, "targetPort")});
    for (size_t i = 0; i < COUNT_OF(usual); i++)
        ports_add(&ports, (struct service_port){.name = slice_of(usual[i].name), .port = usual[i].port, .target = NO_VALUE});
    ports_add(&ports, (struct service_port){.name = SLICE("gcs-server"), .port = c->ports.gcs, .target = NO_VALUE});
    ports_sort(&ports);
    return ports;
}

void legacy_head_service(struct jout *w, const struct ray_cluster *c, struct arena *a)
{
    struct service_ports ports = legacy_ports(c, a);
    struct slice name = ray_head_service_name(c, a);
    jout_form(w, "publishNotReadyAddresses:true,selector:{cluster.ray.io/component:'%.*s'}", SLICE_ARG(name));
    ports_write(&ports, NULL, w);
}
