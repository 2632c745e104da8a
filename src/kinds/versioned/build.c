/* Builds the objects of a VersionedService: the RayServices of its versions, and the routes to them. */
#include "decide.h"

#include <mobula/pairs.h>

struct slice versioned_child_name(struct slice service, struct slice version, struct arena *a)
{
    return arena_printf(a, "%.*s-%.*s", SLICE_ARG(service), SLICE_ARG(version));
}

struct owner versioned_owner(const struct versioned *s)
{
    return (struct owner){SLICE(VERSIONED_API), SLICE(VERSIONED_KIND), s->ns, s->name, s->uid};
}

/* ---- RayServices ---- */

/* The serve Service with the port of gRPC beside that of HTTP, unless the ports are given. */
static void write_serve_service(struct jout *w, const struct versioned *s, struct jval spec, struct arena *a)
{
    static const char *const of_service[] = {"spec", NULL}, *const of_spec[] = {"ports", NULL};
    struct jval given = json_get(spec, "serveService"), inner = json_get(given, "spec");
    struct rayservice_facts facts;
    rayservice_facts_read(place_root(spec, a), a, &facts, arena_new(a, struct spec_errors));
    jout_kobject(w, "serveService");
    splice_members(w, given, of_service, a);
    jout_kobject(w, "spec");
    splice_members(w, inner, of_spec, a);
    jout_form(w, "ports:[{name:'serve',port:%d},{name:'grpc',port:%d,appProtocol:'kubernetes.io/h2c'}]}}", (int)facts.port,
              (int)s->grpc_port);
}

static struct slice spec_of(const struct versioned *s, struct jval spec, struct slice config, int32_t capacity, struct buf *text,
                            struct arena *a)
{
    bool ports = s->grpc_port > 0 && json_len(json_get(spec, "serveService.spec.ports")) == 0;
    const char *const skipped[] = {"serveConfigV2", ports ? "serveService" : NULL, NULL};
    struct jout w;
    jout_init(&w, text);
    jout_object(&w);
    splice_members(&w, spec, skipped, a);
    if (config.len)
        jout_kstr(&w, "serveConfigV2", rayservice_with_capacity(config, capacity < 100 ? capacity : -1, a));
    else
        jout_kval(&w, "serveConfigV2", json_get(spec, "serveConfigV2"));
    if (ports)
        write_serve_service(&w, s, spec, a);
    jout_end(&w);
    return buf_slice(text);
}

struct slice versioned_build_child(const struct versioned *s, struct slice version, struct jval spec, struct slice config, int32_t capacity,
                                   struct slice *hash, struct arena *a)
{
    struct pairs labels = pairs_new(a), annotations = pairs_new(a);
    struct owner owner = versioned_owner(s);
    __attribute__((cleanup(buf_free))) struct buf text = {.max = LIMIT_JSON_ITEM}, out = {.max = LIMIT_JSON_ITEM};
    struct jout w;
    char *digits = arena_alloc(a, RAY_HASH_TEXT);
    struct slice body = spec_of(s, spec, config, capacity, &text, a);
    ray_hash_format(hash64(body, (uint64_t)capacity), digits);
    *hash = (struct slice){digits, RAY_HASH_TEXT};
    pairs_set(&labels, SLICE(VERSIONED_LABEL), s->name);
    pairs_set(&labels, SLICE(VERSIONED_VERSION), version);
    pairs_set(&annotations, SLICE(VERSIONED_HASH), *hash);
    pairs_set(&annotations, SLICE(VERSIONED_CAPACITY), arena_printf(a, "%d", (int)capacity));
    jout_init(&w, &out);
    jout_form(&w, "{apiVersion:'ray.io/v1',kind:'RayService'");
    write_metadata(&w, &owner, versioned_child_name(s->name, version, a), NO_VALUE, &labels, &annotations, a);
    jout_kraw(&w, "spec", body);
    jout_end(&w);
    return text.full || out.full ? SLICE("") : arena_dup(a, buf_slice(&out));
}

/* ---- routes ---- */

static struct slice service_of_version(const struct versioned *s, const struct version *v, struct arena *a)
{
    struct jval spec = v->want ? v->want->spec : v->child->spec;
    return rayservice_serve_name(versioned_child_name(s->name, v->name, a), json_get(spec, "serveService"), a);
}

struct route_build {
    const struct versioned *s;
    const struct versioned_shares *in;
    int which;
    struct arena *a;
    struct pairs *annotations;
};

/* The Service that routes lead to for the version: the edge, if requests need a token. */
static struct slice backend_of(const struct route_build *b, const struct version *v)
{
    return b->in->edge ? SLICE(EDGE_SERVICE) : service_of_version(b->s, v, b->a);
}

static int32_t port_of(const struct route_build *b, const struct version *v)
{
    return b->which == VERSIONED_GRPCROUTE ? b->s->grpc_port : b->in->edge ? EDGE_PORT : v->facts.port;
}

static bool has_service(const struct version *v)
{
    return v && v->child && v->child->service;
}

/* The annotations by which patches know the shares. */
static void set_share(struct pairs *out, const char *prefix, const struct versioned *s, const struct version *v)
{
    struct arena *a = out->arena;
    if (!has_service(v))
        return;
    pairs_set(out, arena_printf(a, "anyscale.com/%s-svc", prefix), service_of_version(s, v, a));
    pairs_set(out, arena_printf(a, "anyscale.com/%s-weight", prefix), arena_printf(a, "%d", (int)v->share));
}

/* ---- HTTPRoute, GRPCRoute, VirtualService ---- */

/* The Gateway API takes 16 rules and 16 backends. */
enum { ROUTE_RULES = 16, PIN_HEADERS = 2 };
#define ANY_PATH "{\"type\":\"PathPrefix\",\"value\":\"/\"}"

static bool is_name(const struct versioned_shares *in, const char *word)
{
    for (uint32_t i = 0; i < in->count; i++)
        if (slice_is(in->list[i].name, word))
            return true;
    return false;
}

/* The names that pin the version. */
static size_t names_of(const struct versioned_shares *in, const struct version *v, struct slice out[3])
{
    size_t count = 0;
    out[count++] = v->name;
    if (v == in->primary && !is_name(in, "primary"))
        out[count++] = SLICE("primary");
    if (v == in->canary && !is_name(in, "canary"))
        out[count++] = SLICE("canary");
    return count;
}

static void write_backend(struct jout *w, const struct route_build *b, const struct version *v, int32_t weight)
{
    struct slice name = backend_of(b, v);
    jout_form(w,
              b->which == VERSIONED_VIRTUALSERVICE ? "{destination:{host:'%.*s',port:{number:%d}},weight:%d}"
                                                   : "{name:'%.*s',port:%d,weight:%d}",
              SLICE_ARG(name), (int)port_of(b, v), (int)weight);
}

/* Requests that name the version. Istio wants header names in lower case. */
static void write_pin(struct jout *w, const struct route_build *b, const struct version *v)
{
    static const char *const headers[PIN_HEADERS] = {VERSION_HEADER, VERSION_HEADER_OTHER};
    struct slice names[3];
    bool istio = b->which == VERSIONED_VIRTUALSERVICE;
    size_t count = names_of(b->in, v, names) * PIN_HEADERS;
    jout_form(w, istio ? "{match:[" : "{matches:[");
    for (size_t i = 0; i < count; i++) {
        struct slice header = slice_of(headers[i % PIN_HEADERS]), name = names[i / PIN_HEADERS];
        if (istio)
            jout_form(w, "{headers:{%.*s:{exact:'%.*s'}}}", SLICE_ARG(slice_lower(header, b->a)), SLICE_ARG(name));
        else
            jout_form(w, "{path:%s,headers:[{name:'%.*s',value:'%.*s'}]}", b->which == VERSIONED_HTTPROUTE ? ANY_PATH : NULL,
                      SLICE_ARG(header), SLICE_ARG(name));
    }
    jout_form(w, istio ? "],route:[" : "],backendRefs:[");
    write_backend(w, b, v, 1);
    jout_form(w, "]}");
}

static void write_pins(struct jout *w, const struct route_build *b)
{
    int rules = 1;
    for (uint32_t i = 0; i < b->in->count && !b->in->edge; i++)
        if (has_service(&b->in->list[i]) && !b->in->list[i].leaves && rules++ < ROUTE_RULES)
            write_pin(w, b, &b->in->list[i]);
}

static void write_weights(struct jout *w, const struct route_build *b)
{
    int backends = 0;
    jout_form(w, "{matches:%s", b->which == VERSIONED_HTTPROUTE ? "[{\"path\":" ANY_PATH "}]" : NULL);
    jout_karray(w, b->which == VERSIONED_VIRTUALSERVICE ? "route" : "backendRefs");
    for (uint32_t i = 0; i < b->in->count; i++)
        if (has_service(&b->in->list[i]) && b->in->list[i].share > 0 && backends++ < (b->in->edge ? 1 : ROUTE_RULES))
            write_backend(w, b, &b->in->list[i], b->in->edge ? 1 : b->in->list[i].share);
    jout_form(w, "]}");
}

static bool write_gateway_route(struct jout *w, const struct route_build *b, struct err *e)
{
    const struct versioned *s = b->s;
    bool grpc = b->which == VERSIONED_GRPCROUTE;
    struct slice section = grpc && s->grpc_section.len ? s->grpc_section : s->section;
    (void)e;
    jout_form(w, "{parentRefs:[{name:'%.*s',namespace:'%.*s',sectionName?:'%.*s'}]", SLICE_ARG(s->gateway), SLICE_ARG(s->gateway_ns),
              SLICE_ARG(section));
    jout_kval(w, "hostnames", grpc ? s->grpc_hosts : s->hosts);
    jout_karray(w, "rules");
    write_weights(w, b);
    write_pins(w, b);
    jout_form(w, "]}");
    return true;
}

/* The first rule that matches counts. */
static bool write_virtualservice(struct jout *w, const struct route_build *b, struct err *e)
{
    (void)e;
    jout_object(w);
    jout_kval(w, VERSIONED_ISTIO_LIST, b->s->istio);
    jout_kraw(w, "hosts", json_len(b->s->hosts) ? json_raw(b->s->hosts) : SLICE("[\"*\"]"));
    jout_karray(w, "http");
    write_pins(w, b);
    write_weights(w, b);
    jout_form(w, "]}");
    return true;
}

/* ---- Ingress ---- */

#define NGINX "nginx.ingress.kubernetes.io/"

/* ingress-nginx has one header by which a canary is chosen. */
static void set_canary(struct pairs *annotations, const struct versioned_shares *in)
{
    struct arena *a = annotations->arena;
    int32_t sum = in->primary->share + in->canary->share;
    pairs_set(annotations, SLICE(NGINX "canary"), SLICE("true"));
    pairs_set(annotations, SLICE(NGINX "canary-weight"), arena_printf(a, "%d", sum ? (int)(in->canary->share * 100 / sum) : 0));
    pairs_set(annotations, SLICE(NGINX "canary-by-header"), SLICE(VERSION_HEADER_OTHER));
    pairs_set(annotations, SLICE(NGINX "canary-by-header-pattern"), arena_printf(a, "^(canary|%.*s)$", SLICE_ARG(in->canary->name)));
}

static void write_ingress_rule(struct jout *w, const struct route_build *b, const struct version *v, struct slice host)
{
    struct slice name = backend_of(b, v);
    jout_form(w, "{host?:'%.*s',http:{paths:[{path:'/',pathType:'Prefix',backend:{service:{name:'%.*s',port:{number:%d}}}}]}}",
              SLICE_ARG(host), SLICE_ARG(name), (int)port_of(b, v));
}

static bool write_ingress(struct jout *w, const struct route_build *b, struct err *e)
{
    const struct versioned *s = b->s;
    bool canary = b->which == VERSIONED_CANARY;
    const struct version *to = canary ? b->in->canary : b->in->primary;
    struct jval k, host;
    for (uint32_t i = 0; i < b->in->count && s->whole; i++)
        if (has_service(&b->in->list[i]) && b->in->list[i].share > (to ? to->share : 0))
            to = &b->in->list[i];
    if (!has_service(to) || (canary && !b->in->primary))
        return err_set(e, ERR_MISSING, "the Service that it leads to is not there yet");
    if (canary)
        set_canary(b->annotations, b->in);
    jout_form(w, "{ingressClassName:'%.*s'", SLICE_ARG(s->class));
    if (s->tls.len && json_len(s->hosts)) {
        struct slice all = json_raw(s->hosts);
        jout_form(w, "tls:[{hosts:%.*s,secretName:'%.*s'}]", SLICE_ARG(all), SLICE_ARG(s->tls));
    }
    jout_form(w, "rules:[");
    if (!json_len(s->hosts))
        write_ingress_rule(w, b, to, SLICE(""));
    for (struct jiter it = json_iter(s->hosts); json_next(&it, &k, &host);)
        write_ingress_rule(w, b, to, json_str(host, b->a));
    jout_form(w, "]}");
    return true;
}

/* ---- the edge ---- */

struct slice versioned_build_edge(const struct versioned *s, const struct versioned_shares *in, const struct versioned_token *t,
                                  struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf text = {.max = LIMIT_JSON_ITEM};
    struct jval k, host;
    struct jout w;
    int32_t sum = 0;
    jout_init(&w, &text);
    jout_form(&w, "{routes:[");
    for (struct jiter it = json_iter(s->hosts); json_next(&it, &k, &host);) {
        struct slice name = json_str(host, a);
        uint32_t left = LIMIT_EDGE_VERSIONS;
        jout_form(&w, "{host:'%.*s',auth:'token',tokenSha256:'%s%s%s',versions:[", SLICE_ARG(name), t->sums[0], t->sum_count > 1 ? " " : "",
                  t->sum_count > 1 ? t->sums[1] : "");
        for (int rank = 0; rank < 3; rank++) /* the edge calls the first version "primary" and the second one "canary" */
            for (const struct version *v = in->list; v < in->list + in->count; v++) {
                if ((v == in->primary ? 0 : v == in->canary ? 1 : 2) != rank || !has_service(v) || v->leaves || !left)
                    continue;
                struct slice to = service_of_version(s, v, a);
                sum += v->share;
                left--;
                jout_form(&w, "{name:'%.*s',weight:%d,upstream:'%.*s.%.*s.svc:%d'}", SLICE_ARG(v->name), (int)v->share, SLICE_ARG(to),
                          SLICE_ARG(s->ns), (int)v->facts.port);
            }
        jout_form(&w, "]}");
    }
    jout_form(&w, "]}");
    return sum && !text.full ? arena_dup(a, buf_slice(&text)) : SLICE("");
}

/* ---- routes ---- */

#define GATEWAY_API "gateway.networking.k8s.io/v1"
#define INGRESS_API "networking.k8s.io/v1"

const struct versioned_route versioned_routes[VERSIONED_ROUTES] = {
    [VERSIONED_HTTPROUTE] = {"httproute", "HTTPRoute", GATEWAY_API, "httproutes"},
    [VERSIONED_INGRESS] = {"ingress", "Ingress", INGRESS_API, "ingresses"},
    [VERSIONED_CANARY] = {"canary-ingress", "Ingress", INGRESS_API, "ingresses"},
    [VERSIONED_GRPCROUTE] = {"grpcroute", "GRPCRoute", GATEWAY_API, "grpcroutes"},
    [VERSIONED_VIRTUALSERVICE] = {"virtualservice", "VirtualService", "networking.istio.io/v1", "virtualservices"},
};

bool versioned_asks(const struct versioned *s, int which)
{
    const bool asks[VERSIONED_ROUTES] = {[VERSIONED_HTTPROUTE] = s->gateway.len > 0,
                                         [VERSIONED_INGRESS] = s->class.len > 0,
                                         [VERSIONED_CANARY] = s->class.len > 0,
                                         [VERSIONED_GRPCROUTE] = s->grpc_port > 0,
                                         [VERSIONED_VIRTUALSERVICE] = json_there(s->istio)};
    return asks[which];
}

bool versioned_build_route(const struct versioned *s, const struct versioned_shares *in, int which, struct arena *a, struct buf *out,
                           struct err *e)
{
    const struct versioned_route *kind = &versioned_routes[which];
    struct pairs labels = pairs_new(a), annotations = pairs_new(a);
    struct route_build b = {s, in, which, a, &annotations};
    __attribute__((cleanup(buf_free))) struct buf spec = {.max = LIMIT_JSON_ITEM};
    struct jout w;
    jout_init(&w, &spec);
    if (!(json_there(s->istio) ? write_virtualservice : s->class.len ? write_ingress : write_gateway_route)(&w, &b, e))
        return false;
    if (spec.full)
        return err_set(e, ERR_LIMIT, "%s is too large", kind->kind);
    pairs_set(&labels, SLICE(VERSIONED_LABEL), s->name);
    pairs_set(&annotations, SLICE("anyscale.com/ingress-type"),
              s->class.len           ? s->class
              : json_there(s->istio) ? SLICE("istio")
                                     : SLICE("gateway"));
    pairs_set(&annotations, SLICE("anyscale.com/canary-exists"), has_service(in->canary) ? SLICE("true") : SLICE("false"));
    set_share(&annotations, "primary", s, in->primary);
    set_share(&annotations, "canary", s, in->canary);
    if (in->edge) /* the Secret's name: annotations are no place for a token */
        pairs_set(&annotations, SLICE("anyscale.com/bearer-token"), arena_printf(a, "%.*s" TOKEN_SUFFIX, SLICE_ARG(s->name)));
    const struct route_object o = {.api_version = kind->api_version,
                                   .kind = kind->kind,
                                   .owner = versioned_owner(s),
                                   .name = arena_printf(a, "%.*s-%s", SLICE_ARG(s->name), kind->suffix),
                                   .labels = &labels,
                                   .annotations = &annotations,
                                   .spec = buf_slice(&spec),
                                   .seed = in->seed};
    return route_write(&o, a, out, e);
}
