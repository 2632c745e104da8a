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

static struct slice spec_of(struct jval spec, struct slice config, int32_t capacity, struct buf *text, struct arena *a)
{
    static const char *const skipped[] = {"serveConfigV2", NULL};
    struct jout w;
    jout_init(&w, text);
    jout_object(&w);
    splice_members(&w, spec, skipped, a);
    if (config.len)
        jout_kstr(&w, "serveConfigV2", rayservice_with_capacity(config, capacity < 100 ? capacity : -1, a));
    else
        jout_kval(&w, "serveConfigV2", json_get(spec, "serveConfigV2"));
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
    struct slice body = spec_of(spec, config, capacity, &text, a);
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

static bool write_route(const struct versioned *s, const struct versioned_shares *in, const struct route_object *like,
                        struct pairs *annotations, const struct buf *spec, struct buf *out, struct err *e)
{
    struct pairs labels = pairs_new(annotations->arena);
    struct route_object o = *like;
    bool gateway = s->gateway.len > 0;
    pairs_set(&labels, SLICE(VERSIONED_LABEL), s->name);
    pairs_set(annotations, SLICE("anyscale.com/ingress-type"), gateway ? SLICE("gateway") : s->class);
    pairs_set(annotations, SLICE("anyscale.com/canary-exists"), has_service(in->canary) ? SLICE("true") : SLICE("false"));
    set_share(annotations, "primary", s, in->primary);
    set_share(annotations, "canary", s, in->canary);
    o.owner = versioned_owner(s);
    o.labels = &labels;
    o.annotations = annotations;
    o.spec = buf_slice(spec);
    o.seed = in->seed;
    return !spec->full ? route_write(&o, annotations->arena, out, e) : err_set(e, ERR_LIMIT, "%s is too large", o.kind);
}

/* ---- HTTPRoute ---- */

static void write_backend(struct jout *w, const struct versioned *s, const struct version *v, int32_t weight, struct arena *a)
{
    struct slice name = service_of_version(s, v, a);
    jout_form(w, "{name:'%.*s',port:%d,weight:%d}", SLICE_ARG(name), (int)v->facts.port, (int)weight);
}

static void write_match(struct jout *w, struct slice value)
{
    static const char *const headers[] = {VERSION_HEADER, VERSION_HEADER_OTHER};
    for (size_t i = 0; i < COUNT_OF(headers); i++)
        jout_form(w, "{path:{type:'PathPrefix',value:'/'},headers:[{name:'%s',value:'%.*s'}]}", headers[i], SLICE_ARG(value));
}

static bool is_name(const struct versioned_shares *in, const char *word)
{
    for (uint32_t i = 0; i < in->count; i++)
        if (slice_is(in->list[i].name, word))
            return true;
    return false;
}

/* Requests that name the version. */
static void write_pin(struct jout *w, const struct versioned *s, const struct versioned_shares *in, const struct version *v,
                      struct arena *a)
{
    jout_form(w, "{matches:[");
    write_match(w, v->name);
    if (v == in->primary && !is_name(in, "primary"))
        write_match(w, SLICE("primary"));
    if (v == in->canary && !is_name(in, "canary"))
        write_match(w, SLICE("canary"));
    jout_form(w, "],backendRefs:[");
    write_backend(w, s, v, 1, a);
    jout_form(w, "]}");
}

/* The Gateway API takes 16 rules and 16 backends. */
enum { ROUTE_RULES = 16 };

static void write_rules(struct jout *w, const struct versioned *s, const struct versioned_shares *in, struct arena *a)
{
    int rules = 1, backends = 0;
    jout_form(w, "rules:[{matches:[{path:{type:'PathPrefix',value:'/'}}],backendRefs:[");
    for (uint32_t i = 0; i < in->count; i++)
        if (has_service(&in->list[i]) && in->list[i].share > 0 && backends++ < ROUTE_RULES)
            write_backend(w, s, &in->list[i], in->list[i].share, a);
    jout_form(w, "]}");
    for (uint32_t i = 0; i < in->count; i++)
        if (has_service(&in->list[i]) && rules++ < ROUTE_RULES)
            write_pin(w, s, in, &in->list[i], a);
    jout_form(w, "]");
}

bool versioned_build_route(const struct versioned *s, const struct versioned_shares *in, struct arena *a, struct buf *out, struct err *e)
{
    struct pairs annotations = pairs_new(a);
    __attribute__((cleanup(buf_free))) struct buf spec = {.max = LIMIT_JSON_ITEM};
    struct jout w;
    jout_init(&w, &spec);
    jout_form(&w, "{parentRefs:[{name:'%.*s',namespace:'%.*s',sectionName?:'%.*s'}],", SLICE_ARG(s->gateway), SLICE_ARG(s->gateway_ns),
              SLICE_ARG(s->section));
    jout_kval(&w, "hostnames", s->hosts);
    write_rules(&w, s, in, a);
    jout_form(&w, "}");
    const struct route_object o = {
        .api_version = "gateway.networking.k8s.io/v1", .kind = "HTTPRoute", .name = arena_printf(a, "%.*s-httproute", SLICE_ARG(s->name))};
    return write_route(s, in, &o, &annotations, &spec, out, e);
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

static void write_ingress_rule(struct jout *w, const struct versioned *s, const struct version *v, struct slice host, struct arena *a)
{
    struct slice name = service_of_version(s, v, a);
    jout_form(w, "{host?:'%.*s',http:{paths:[{path:'/',pathType:'Prefix',backend:{service:{name:'%.*s',port:{number:%d}}}}]}}",
              SLICE_ARG(host), SLICE_ARG(name), (int)v->facts.port);
}

bool versioned_build_ingress(const struct versioned *s, const struct versioned_shares *in, bool canary, struct arena *a, struct buf *out,
                             struct err *e)
{
    struct pairs annotations = pairs_new(a);
    const struct version *to = canary ? in->canary : in->primary;
    __attribute__((cleanup(buf_free))) struct buf spec = {.max = LIMIT_JSON_ITEM};
    struct jval k, host;
    struct jout w;
    if (!has_service(to) || (canary && !in->primary))
        return err_set(e, ERR_MISSING, "the Service that it leads to is not there yet");
    if (canary)
        set_canary(&annotations, in);
    jout_init(&w, &spec);
    jout_form(&w, "{ingressClassName:'%.*s'", SLICE_ARG(s->class));
    if (s->tls.len && json_len(s->hosts)) {
        struct slice all = json_raw(s->hosts);
        jout_form(&w, "tls:[{hosts:%.*s,secretName:'%.*s'}]", SLICE_ARG(all), SLICE_ARG(s->tls));
    }
    jout_form(&w, "rules:[");
    if (!json_len(s->hosts))
        write_ingress_rule(&w, s, to, SLICE(""), a);
    for (struct jiter it = json_iter(s->hosts); json_next(&it, &k, &host);)
        write_ingress_rule(&w, s, to, json_str(host, a), a);
    jout_form(&w, "]}");
    const struct route_object o = {.api_version = "networking.k8s.io/v1",
                                   .kind = "Ingress",
                                   .name = arena_printf(a, "%.*s-%singress", SLICE_ARG(s->name), canary ? "canary-" : "")};
    return write_route(s, in, &o, &annotations, &spec, out, e);
}
