/* Reads VersionedServices. */
#include "versioned.h"

const struct kube_resource versioned_resource = {SLICE("mobula.dev"), SLICE("v1"), SLICE("versionedservices")};

static void read_service_metadata(struct reader *r, const struct spec_object *from, struct versioned *s)
{
    struct metadata m;
    if (!read_metadata(r, from, VERSIONED_NAME_MAX - 2, "the names of its RayServices fit", &m))
        return;
    s->ns = m.ns;
    s->name = m.name;
    s->uid = m.uid;
    s->generation = m.generation;
    s->deleting = m.deleting;
    s->rotate = json_str(json_child(m.annotations, VERSIONED_ROTATE), r->arena);
    if (!slice_int(json_str(json_child(m.annotations, VERSIONED_BACK), r->arena), &s->back))
        s->back = -1;
    const struct place *tls = place_key(place_member(from->metadata, SLICE("annotations"), m.annotations), VERSIONED_TLS);
    s->tls_named = read_text(r, tls, OPTIONAL, &s->tls) && !slice_empty(s->tls);
    if (s->tls_named && !name_dns1123_subdomain(s->tls))
        place_bad(r, tls, "is \"%.*s\": must be the name of a Secret", SLICE_ARG(slice_head(s->tls, 80)));
}

/* ---- versions ---- */

static void read_name(struct reader *r, const struct place *at, struct versioned *s, struct versioned_version *v)
{
    if (!read_text(r, at, REQUIRED, &v->name))
        return;
    if (!name_dns1123_label(v->name) || s->name.len + 1 + v->name.len > VERSIONED_NAME_MAX)
        place_bad(r, at,
                  "is \"%.*s\": must be lower case letters, digits and dashes, and at most %d bytes with the service's name and a dash",
                  SLICE_ARG(slice_head(v->name, 60)), (int)VERSIONED_NAME_MAX);
    for (const struct versioned_version *o = s->versions; o < v; o++)
        if (slice_eq(o->name, v->name))
            place_bad(r, at, "is \"%.*s\", as another version's: each needs its own", SLICE_ARG(slice_head(v->name, 60)));
}

static void read_version(struct reader *r, const struct place *at, bool only, struct versioned *s, struct versioned_version *v)
{
    const struct place *weight = place_key(at, "weight"), *spec = place_key(at, "rayServiceConfig");
    int64_t n = only ? 100 : 0;
    read_name(r, place_key(at, "name"), s, v);
    if (!only && !place_given(weight))
        place_bad(r, weight, "is missing: the percent of the requests that this version gets");
    read_int(r, weight, 0, 100, &n);
    v->weight = (int32_t)n;
    v->spec = spec->value;
    if (rayservice_facts_read(spec, r->arena, &v->facts, r->errors) && v->facts.in_steps)
        place_bad(r, place_key(place_key(spec, "upgradeStrategy"), "type"),
                  "asks for a Gateway of its own: versions share a route. Leave it out and see spec.rollout");
}

static void read_versions(struct reader *r, const struct place *spec, struct versioned *s)
{
    const struct place *list = place_key(spec, "versions");
    size_t count = json_len(list->value);
    int32_t sum = 0;
    if (!read_array(r, list, REQUIRED))
        return;
    if (count == 0 || count > VERSIONED_MAX) {
        place_bad(r, list, "has %zu versions: must be 1 to %d (VERSIONED_MAX)", count, (int)VERSIONED_MAX);
        return;
    }
    s->versions = arena_array(r->arena, count, sizeof *s->versions);
    for (; s->count < count; s->count++) {
        struct versioned_version *v = &s->versions[s->count];
        const struct place *at = place_element(list, s->count, json_at(list->value, s->count));
        *v = (struct versioned_version){.spec = NO_VALUE};
        if (read_object(r, at, REQUIRED))
            read_version(r, at, count == 1, s, v);
        sum += v->weight;
    }
    if (sum != 100)
        place_bad(r, list, "has weights of %d in all: must be 100", (int)sum);
}

/* ---- routes ---- */

/* A list of hosts, or of NAME and NAMESPACE/NAME. */
static void read_names(struct reader *r, const struct place *at, bool hosts, struct jval *out)
{
    struct jval k, v;
    if (!place_given(at) || !read_text_list(r, at))
        return;
    if (json_len(at->value) > VERSIONED_HOSTS)
        place_bad(r, at, "has %zu names: at most %d (VERSIONED_HOSTS)", json_len(at->value), (int)VERSIONED_HOSTS);
    for (struct jiter it = json_iter(at->value); json_next(&it, &k, &v);) {
        struct slice whole = json_str(v, r->arena), name = whole;
        if (hosts ? slice_starts(name, SLICE("*.")) : slice_find(name, '/') > 0 && name_dns1123_subdomain(slice_cut(&name, '/')))
            name = hosts ? slice_skip(name, 2) : name;
        if (!name_dns1123_subdomain(name))
            place_bad(r, at, "has \"%.*s\", which is no %s", SLICE_ARG(slice_head(whole, 80)),
                      hosts ? "host: write a name such as rag.example.org, or *.example.org" : "Gateway: write NAME or NAMESPACE/NAME");
    }
    *out = at->value;
}

static void read_label(struct reader *r, const struct place *at, enum presence presence, struct slice *out)
{
    if (read_text(r, at, presence, out) && !name_dns1123_subdomain(*out))
        place_bad(r, at, "is \"%.*s\": must be the name of an object", SLICE_ARG(slice_head(*out, 80)));
}

static void read_istio(struct reader *r, const struct place *at, struct versioned *s)
{
    const struct place *list = place_key(at, VERSIONED_ISTIO_LIST);
    if (!read_object(r, at, OPTIONAL) || !read_array(r, list, REQUIRED))
        return;
    read_names(r, list, false, &s->istio);
    if (json_len(list->value) == 0)
        place_bad(r, list, "is empty: want at least one");
}

/* A Gateway refuses a GRPCRoute with a host that an HTTPRoute has on the same listener. */
static void read_grpc(struct reader *r, const struct place *at, struct versioned *s)
{
    int64_t port = 9000;
    if (!read_object(r, at, OPTIONAL))
        return;
    read_int(r, place_key(at, "port"), 1, UINT16_MAX, &port);
    read_names(r, place_key(at, "hostnames"), true, &s->grpc_hosts);
    read_label(r, place_key(at, "sectionName"), OPTIONAL, &s->grpc_section);
    if (slice_empty(s->gateway))
        place_bad(r, at, "needs spec.gateway: all else is for HTTP alone");
    else if (json_len(s->grpc_hosts) == 0 && (slice_empty(s->grpc_section) || slice_eq(s->grpc_section, s->section)))
        place_bad(r, at, "needs hostnames or a sectionName of its own: a Gateway accepts a host for HTTP or for gRPC on one listener");
    s->grpc_port = (int32_t)port;
}

/* Weights and header matches of Ingresses are annotations of ingress-nginx. Traefik and HAProxy's controllers have none for an Ingress. The
 * controller's name is in the IngressClass, which takes a right on the whole cluster to read: the spec says it, or the class's name. */
static bool is_whole(struct reader *r, const struct place *at, struct slice class)
{
    static const char *const words[] = {"ingress-nginx", "other", NULL};
    struct slice word = class;
    read_word(r, at, words, &word);
    return class.len && slice_find_text(word, "nginx") < 0 && slice_find_text(word, "webapprouting") < 0;
}

/* host: where the spec names none; empty: all */
static void read_route(struct reader *r, const struct place *spec, struct slice host, struct versioned *s)
{
    const struct place *gateway = place_key(spec, "gateway"), *class = place_key(spec, "ingressClassName"),
                       *istio = place_key(spec, "istio");
    read_names(r, place_key(spec, "hostnames"), true, &s->hosts);
    if (json_len(s->hosts) == 0 && host.len)
        json_read(&s->hosts, arena_printf(r->arena, "[\"%.*s\"]", SLICE_ARG(host)), r->arena, NULL);
    if (place_given(gateway) + place_given(class) + place_given(istio) != 1) {
        place_bad(r, gateway,
                  "or spec.ingressClassName or spec.istio must be given, and one of them only: requests come through a Gateway of yours, "
                  "Ingresses of this class, or gateways of Istio");
        return;
    }
    read_label(r, class, OPTIONAL, &s->class);
    s->whole = is_whole(r, place_key(spec, "ingressController"), s->class);
    read_istio(r, istio, s);
    if (read_object(r, gateway, OPTIONAL)) {
        s->gateway_ns = s->ns;
        read_label(r, place_key(gateway, "name"), REQUIRED, &s->gateway);
        read_label(r, place_key(gateway, "namespace"), OPTIONAL, &s->gateway_ns);
        read_label(r, place_key(gateway, "sectionName"), OPTIONAL, &s->section);
    }
    read_grpc(r, place_key(spec, "grpc"), s);
}

static void read_auth(struct reader *r, const struct place *at, struct versioned *s)
{
    static const char *const words[] = {"none", "token", NULL};
    struct slice word = SLICE("");
    read_word(r, at, words, &word);
    s->token = slice_is(word, "token");
    if (s->token && (json_len(s->hosts) == 0 || s->grpc_port))
        place_bad(r, at, "needs spec.hostnames, or an operator with --domain, and no spec.grpc");
}

/* ---- the rollout ---- */

static void read_rollout(struct reader *r, const struct place *spec, struct versioned *s)
{
    const struct place *at = place_key(spec, "rollout");
    int64_t surge = 0, step = 10, interval_s = 30, timeout_min = 120;
    bool rollback = true;
    if (read_object(r, at, OPTIONAL)) {
        read_int(r, place_key(at, "maxSurgePercent"), 1, 100, &surge);
        read_int(r, place_key(at, "stepPercent"), 1, 100, &step);
        read_int(r, place_key(at, "intervalSeconds"), VERSIONED_INTERVAL_S, INT32_MAX, &interval_s);
        read_int(r, place_key(at, "timeoutMinutes"), 1, INT32_MAX, &timeout_min);
        read_flag(r, place_key(at, "automaticRollback"), &rollback);
    }
    if (surge && s->whole && !s->token)
        place_bad(r, place_key(at, "maxSurgePercent"), "cannot be used: %s", VERSIONED_WHOLE);
    s->surge = (int32_t)surge;
    s->step = (int32_t)step;
    s->interval_ms = interval_s * 1000;
    s->timeout_ms = timeout_min * 60000;
    s->no_rollback = !rollback;
}

bool versioned_read(const struct spec_object *from, struct slice domain, struct arena *a, struct versioned *out, struct spec_errors *errors)
{
    struct reader r = {.arena = a, .errors = errors};
    uint32_t before = spec_errors_count(errors);
    *out = (struct versioned){.tls = SLICE(""), .istio = NO_VALUE, .hosts = NO_VALUE, .grpc_hosts = NO_VALUE, .back = -1};
    if (!from->kept && json_type(from->root->value) != JSON_OBJECT) {
        place_bad(&r, from->root, "the resource is not an object");
        return false;
    }
    read_type_meta(&r, from->root, VERSIONED_API, VERSIONED_KIND);
    read_service_metadata(&r, from, out);
    if (read_object(&r, from->spec, REQUIRED)) {
        read_versions(&r, from->spec, out);
        read_route(&r, from->spec, route_host(domain, "s", out->ns, out->name, a), out);
        read_auth(&r, place_key(from->spec, "auth"), out);
        read_rollout(&r, from->spec, out);
    }
    return spec_errors_count(errors) == before;
}

void versioned_check(struct jval object, struct arena *a, struct spec_errors *errors, struct spec_errors *notes)
{
    static const char *const known[] = {"versions", "gateway", "ingressClassName", "ingressController",
                                        "istio",    "grpc",    "hostnames",        "auth",
                                        "rollout",  NULL},
                             *const version[] = {"name", "weight", "rayServiceConfig", NULL}, *const rollout[] = {"maxSurgePercent",
                                                                                                                  "stepPercent",
                                                                                                                  "intervalSeconds",
                                                                                                                  "timeoutMinutes",
                                                                                                                  "automaticRollback",
                                                                                                                  NULL};
    struct reader r = {.arena = a, .errors = notes};
    const struct spec_object from = spec_object_of(object, a);
    const struct place *list = place_key(from.spec, "versions");
    struct versioned *s = arena_new(a, struct versioned);
    versioned_read(&from, SLICE(VERSIONED_ANY_DOMAIN), a, s, errors);
    if (s->token && !place_given(place_key(from.spec, "hostnames")))
        place_bad(&r, place_key(from.spec, "auth"), "needs an operator with --domain, because spec.hostnames is missing");
    note_unknown(&r, from.spec, known);
    note_unknown(&r, place_key(from.spec, "rollout"), rollout);
    for (uint32_t i = 0; i < s->count; i++) {
        const struct place *at = place_element(list, i, json_at(list->value, i)), *spec = place_key(at, "rayServiceConfig");
        note_unknown(&r, at, version);
        if (place_given(spec))
            rayservice_spec_notes(spec, NO_VALUE, a, notes);
    }
}
