#include "service.h"

static const struct ray_group *head_that_runs(const struct ray_cluster *c)
{
    return c->running ? &c->running->head : &c->head;
}

/* The head container's ports; a port without a name is called "<n>-port". If it has no port, or only the metrics port, which every head
 * gets, the usual ones. */
struct service_ports v1_ports(const struct ray_cluster *c, struct arena *a)
{
    const struct ray_group *head = head_that_runs(c);
    struct { /* none of the user's: what the flags of ray start open */
        const char *name;
        int32_t port;
    } usual[] = {{"client", start_port(head, "ray-client-server-port", RAY_CLIENT_PORT, a)},
                 {"gcs-server", c->ports.gcs},
                 {"dashboard", c->ports.dashboard},
                 {"serve", c->ports.serve}};
    struct jval list = json_get(json_at(json_get(head->template, "spec.containers"), 0), "ports"), k, v;
    struct service_ports ports = ports_new(a, json_len(list) + COUNT_OF(usual) + 1);
    for (struct jiter it = json_iter(list); json_next(&it, &k, &v);) {
        int32_t number = (int32_t)json_get_int(v, "containerPort", 0);
        struct slice name = json_get_str(v, "name", a), protocol = json_get_str(v, "protocol", a);
        if (slice_empty(name))
            name = arena_printf(a, "%d-port", (int)number);
        ports_add(&ports,
                  (struct service_port){
                      .name = name, .port = number, .target = NO_VALUE, .protocol = slice_is(protocol, "TCP") ? SLICE_NONE : protocol});
    }
    bool none = ports.count == 0 || (ports.count == 1 && slice_is(ports.list[0].name, "metrics"));
    for (size_t i = 0; i < COUNT_OF(usual); i++)
        if (none)
            ports_add(&ports, (struct service_port){.name = slice_of(usual[i].name), .port = usual[i].port, .target = NO_VALUE});
    int32_t metrics = start_port(head, "metrics-export-port", RAY_METRICS_PORT, a);
    ports_add(&ports, (struct service_port){.name = SLICE("metrics"), .port = metrics, .target = NO_VALUE});
    ports_sort(&ports);
    return ports;
}

/* The labels that tell the head from all other pods, as the head really carries them: a template may change some. */
static void head_selector(const struct ray_cluster *c, struct pairs *out)
{
    static const char *const keys[] = {RAY_LABEL_CLUSTER, RAY_LABEL_NODE_TYPE, "ray.io/identifier", "app.kubernetes.io/name",
                                       "app.kubernetes.io/created-by"};
    struct pairs all = pairs_new(out->arena);
    if (c->running)
        pairs_set_all(&all, json_get(c->running->head.template, "metadata.labels"));
    else
        pod_labels(c, &c->head, 0, &all);
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const struct slice *value = pairs_get(&all, slice_of(keys[i]));
        if (value)
            pairs_set(out, slice_of(keys[i]), *value);
    }
}

static void write_selector(struct jout *w, const struct pairs *selector)
{
    jout_key(w, SLICE("selector"));
    pairs_write(selector, w);
}

/* None of the user's: no address of its own, so that names lead to the head pod directly and every port of it is open. */
static void write_plain(struct jout *w, const struct ray_cluster *c, const struct pairs *selector, struct slice type, struct arena *a)
{
    struct service_ports ports = v1_ports(c, a);
    if (!slice_empty(type))
        jout_kstr(w, "type", type);
    if (slice_empty(type) || slice_is(type, "ClusterIP")) /* workers ask the GCS before the head is ready */
        jout_form(w, "clusterIP:'None',publishNotReadyAddresses:true");
    write_selector(w, selector);
    ports_write(&ports, "tcp", w);
}

/* The user's own service: their fields, our selector, their ports and those of ours that leave theirs alone. */
static void write_custom(struct jout *w, const struct ray_cluster *c, struct jval given, const struct pairs *selector, struct slice type,
                         struct arena *a)
{
    static const char *const ours[] = {"selector", "ports", NULL};
    struct jval spec = json_get(given, "spec"), list = json_get(spec, "ports"), k, v;
    splice_members(w, spec, ours, a);
    if (!slice_empty(type) && !json_there(json_get(spec, "type")))
        jout_kstr(w, "type", type);
    write_selector(w, selector);
    struct service_ports own = v1_ports(c, a), all = ports_new(a, json_len(list) + own.count);
    for (struct jiter it = json_iter(list); json_next(&it, &k, &v);)
        ports_add(&all, (struct service_port){.name = json_get_str(v, "name", a),
                                              .port = (int32_t)json_get_int(v, "port", 0),
                                              .target = NO_VALUE,
                                              .protocol = json_get_str(v, "protocol", a),
                                              .raw = json_raw(v)});
    for (uint32_t i = 0; i < own.count; i++)
        ports_add(&all, own.list[i]);
    ports_write(&all, "tcp", w);
}

static bool balances_load(const struct ray_cluster *c, struct slice type, struct arena *a)
{
    struct slice own = json_get_str(c->spec, "headGroupSpec.headService.spec.type", a);
    return slice_is(own.len ? own : type, "LoadBalancer");
}

void v1_head_service(struct jout *w, const struct ray_cluster *c, struct pairs *labels, struct pairs *annotations)
{
    struct arena *a = labels->arena;
    struct jval given = json_get(c->spec, "headGroupSpec.headService");
    struct slice type = json_get_str(c->spec, "headGroupSpec.serviceType", a);
    struct pairs selector = pairs_new(a);
    head_selector(c, &selector);
    if (balances_load(c, type, a) && !ray_wants_ingress(c) && c->host.len)
        pairs_set(annotations, SLICE("external-dns.alpha.kubernetes.io/hostname"), c->host);
    pairs_set_all(annotations, json_get(c->spec, "headServiceAnnotations"));
    pairs_set_all(annotations, json_get(given, "metadata.annotations"));
    pairs_set_all(labels, json_get(given, "metadata.labels"));
    for (uint32_t i = 0; i < selector.count; i++)
        pairs_set(labels, selector.list[i].key, selector.list[i].value);
    if (value_given(given))
        write_custom(w, c, given, &selector, type, a);
    else
        write_plain(w, c, &selector, type, a);
}
