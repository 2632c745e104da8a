/* The Ingress of a head's dashboard: headGroupSpec.enableIngress and ingressOptions, as KubeRay 1.7 has them. */
#include "build.h"
#include "reader.h"
#include "service.h"

#define CLASS "kubernetes.io/ingress.class"

/* ---- reading ---- */

/* A host of an Ingress may be a wildcard: *.example.com. */
static bool is_host(struct slice s)
{
    return name_dns1123_subdomain(slice_starts(s, SLICE("*.")) ? slice_skip(s, 2) : s);
}

static void read_tls(struct reader *r, const struct place *tls)
{
    size_t i = 0;
    struct jval k, v;
    if (!read_array(r, tls, OPTIONAL))
        return;
    for (struct jiter it = json_iter(tls->value); json_next(&it, &k, &v); i++) {
        const struct place *at = place_element(tls, i, v), *hosts = place_key(at, "hosts"), *secret = place_key(at, "secretName");
        struct slice text;
        if (!read_object(r, at, REQUIRED))
            continue;
        read_text_list(r, hosts);
        if (read_text(r, secret, OPTIONAL, &text) && !slice_empty(text) && !name_dns1123_subdomain(text))
            place_bad(r, secret, "is \"%.*s\", which is no name of a Secret", SLICE_ARG(slice_head(text, 60)));
    }
}

void read_ingress(struct reader *r, const struct place *head)
{
    static const char *const types[] = {"Prefix", "Exact", "ImplementationSpecific", NULL};
    const struct place *options = place_key(head, "ingressOptions"), *host = place_key(options, "host"), *path = place_key(options, "path");
    struct slice text, type = SLICE("Prefix");
    bool enabled;
    read_flag(r, place_key(head, "enableIngress"), &enabled);
    if (!read_object(r, options, OPTIONAL))
        return;
    if (read_text(r, host, OPTIONAL, &text) && !slice_empty(text) && !is_host(text))
        place_bad(r, host,
                  "is \"%.*s\", which is no host: must be a DNS name such as ray.example.com or *.example.com, without port or path",
                  SLICE_ARG(slice_head(text, 80)));
    read_word(r, place_key(options, "pathType"), types, &type);
    if (read_text(r, path, OPTIONAL, &text) && !slice_starts(text, SLICE("/")) && !slice_is(type, "ImplementationSpecific"))
        place_bad(r, path, "is \"%.*s\": with pathType %.*s it must begin with /", SLICE_ARG(slice_head(text, 80)), SLICE_ARG(type));
    read_tls(r, place_key(options, "tls"));
}

void note_ingress(struct reader *r, const struct place *annotations, const struct place *head)
{
    static const char *const known[] = {"host", "path", "pathType", "tls", NULL};
    const struct place *options = place_key(head, "ingressOptions"), *class = place_key(annotations, CLASS);
    bool enabled = json_get_bool(head->value, "enableIngress", false);
    note_unknown(r, options, known);
    if (place_given(options) && !enabled)
        place_bad(r, options, "has no effect: headGroupSpec.enableIngress is not true");
    if (enabled && !place_given(class))
        place_bad(r, class, "is missing: the Ingress goes to the default IngressClass, and to no controller where there is none");
}

/* ---- building ---- */

bool ray_wants_ingress(const struct ray_cluster *c)
{
    return c->kind == RAY_V1 && json_get_bool(c->spec, "headGroupSpec.enableIngress", false);
}

struct slice ray_ingress_name(const struct ray_cluster *c, struct arena *a)
{
    return clipped_name(arena_printf(a, "%.*s-head-ingress", SLICE_ARG(c->name)), a);
}

struct slice ray_ingress_class(const struct ray_cluster *c, struct arena *a)
{
    return json_str(json_child(c->annotations, CLASS), a);
}

/* Certificates of the spec are for hosts of its own: no other one is given to it. */
struct slice ray_ingress_host(const struct ray_cluster *c, struct arena *a)
{
    struct jval options = json_get(c->spec, "headGroupSpec.ingressOptions");
    struct slice host = json_get_str(options, "host", a);
    return host.len || json_len(json_get(options, "tls")) ? host : c->host;
}

/* The ports of the head service: not always the head's own. */
static struct jval service_ports(const struct ray_cluster *c, struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf text = {.max = LIMIT_JSON_ITEM};
    struct err e = {0};
    struct jval doc;
    bool built = ray_build_service(c, RAY_SERVICE_HEAD, a, &text, &e) && json_read(&doc, arena_dup(a, buf_slice(&text)), a, &e);
    return built ? json_get(doc, "spec.ports") : NO_VALUE;
}

/* Further ports of the head behind its Ingress, and the one that next_port found last. */
struct further {
    struct slice rest;       /* of the annotation */
    struct slice dashboard;  /* the host of that */
    struct jval ports;       /* of the head service */
    struct slice name, host; /* "serve", and "serve-rag.i.example.org" beside the dashboard's rag.i.example.org … */
    int64_t number;          /* … and the port's number; 0: there is no such port, or no host for it */
};

static struct further further_ports(const struct ray_cluster *c, struct arena *a)
{
    struct slice names = json_str(json_child(c->annotations, RAY_ANNOTATION_PORTS), a);
    return (struct further){
        .rest = names, .dashboard = ray_ingress_host(c, a), .ports = slice_empty(names) ? NO_VALUE : service_ports(c, a)};
}

static bool next_name(struct further *f, struct arena *a)
{
    f->name = SLICE("");
    while (slice_empty(f->name) && !slice_empty(f->rest))
        f->name = slice_trim(slice_cut(&f->rest, ','));
    f->host = arena_printf(a, "%.*s-%.*s", SLICE_ARG(f->name), SLICE_ARG(f->dashboard));
    bool right = !slice_empty(f->dashboard) && name_dns_host(f->host);
    f->number = right ? json_get_int(list_find(f->ports, "name", f->name), "port", 0) : 0;
    return !slice_empty(f->name);
}

static bool next_port(struct further *f, struct arena *a)
{
    bool found;
    do
        found = next_name(f, a);
    while (found && f->number == 0);
    return found;
}

struct slice ray_ingress_missing(const struct ray_cluster *c, struct arena *a)
{
    struct slice text = SLICE("");
    struct further f = further_ports(c, a);
    while (next_name(&f, a))
        if (f.number == 0)
            text = arena_printf(a, "%.*s%s%.*s", SLICE_ARG(text), text.len ? ", " : "", SLICE_ARG(slice_head(f.name, 63)));
    return text;
}

/* Annotations that belong to the RayCluster alone are not copied. */
static bool is_own(struct slice key)
{
    return slice_is(key, CLASS) || slice_starts(key, SLICE("kubectl.kubernetes.io/")) || slice_starts(key, SLICE("mobula.dev/"));
}

static void set_metadata(const struct ray_cluster *c, struct pairs *labels, struct pairs *annotations)
{
    struct arena *a = labels->arena;
    struct jval k, v;
    for (struct jiter it = json_iter(c->annotations); json_next(&it, &k, &v);)
        if (!is_own(json_str(k, a)))
            pairs_set(annotations, json_str(k, a), json_str(v, a));
    pairs_set(labels, SLICE(RAY_LABEL_CLUSTER), c->name);
    pairs_set(labels, SLICE("ray.io/identifier"), arena_printf(a, "%.*s-head", SLICE_ARG(c->name)));
    pairs_set(labels, SLICE("app.kubernetes.io/name"), SLICE("kuberay"));
    pairs_set(labels, SLICE("app.kubernetes.io/created-by"), SLICE("kuberay-operator"));
}

static struct slice own_secret(const struct ray_cluster *c, struct arena *a)
{
    return clipped_name(arena_printf(a, "%.*s-head-tls", SLICE_ARG(c->name)), a);
}

/* A Secret is made if an entry names none. Its hosts are those of all such entries. */
struct slice ray_ingress_secret(const struct ray_cluster *c, struct slice *hosts, struct slice *field, struct arena *a)
{
    struct jval options = json_get(c->spec, "headGroupSpec.ingressOptions"), tls = json_get(options, "tls"), k, v, key, host;
    struct slice own = SLICE(""), named = SLICE("");
    *hosts = *field = SLICE("");
    for (struct jiter it = json_iter(tls); json_next(&it, &k, &v);) {
        struct slice secret = json_get_str(v, "secretName", a), all = SLICE("");
        for (struct jiter h = json_iter(json_get(v, "hosts")); json_next(&h, &key, &host);)
            all = arena_printf(a, "%.*s%s%.*s", SLICE_ARG(all), all.len ? "," : "", SLICE_ARG(json_str(host, a)));
        if (secret.len && !own.len && !named.len) {
            named = secret;
            *hosts = all;
        } else if (!secret.len && all.len) {
            *hosts = own.len ? arena_printf(a, "%.*s,%.*s", SLICE_ARG(*hosts), SLICE_ARG(all)) : all;
            own = own_secret(c, a);
        }
    }
    if (!json_len(tls)) {
        struct further f = further_ports(c, a);
        *hosts = f.dashboard;
        while (next_port(&f, a))
            *hosts = arena_printf(a, "%.*s,%.*s", SLICE_ARG(*hosts), SLICE_ARG(f.host));
        own = hosts->len ? own_secret(c, a) : own;
    }
    if (!own.len && named.len)
        *field = SLICE("headGroupSpec.ingressOptions.tls[].secretName");
    return own.len ? own : named;
}

/* hosts: of the rules, "a,b" */
static void write_own_tls(struct slice hosts, struct slice secret, struct jout *w)
{
    jout_form(w, "tls:[{hosts:[");
    while (!slice_empty(hosts)) {
        struct slice host = slice_cut(&hosts, ',');
        jout_str(w, host);
    }
    jout_form(w, "],secretName:'%.*s'}]", SLICE_ARG(secret));
}

static void write_tls(const struct ray_cluster *c, struct jval tls, struct jout *w, struct arena *a)
{
    static const char *const skipped[] = {"secretName", NULL};
    struct slice own = own_secret(c, a), hosts, field;
    struct jval k, v;
    if (!json_len(tls) && c->auth.routes && ray_ingress_secret(c, &hosts, &field, a).len)
        write_own_tls(hosts, own, w);
    if (json_len(tls) && !c->auth.routes)
        jout_kval(w, "tls", tls);
    if (!json_len(tls) || !c->auth.routes)
        return;
    jout_karray(w, "tls");
    for (struct jiter it = json_iter(tls); json_next(&it, &k, &v);) {
        struct slice secret = json_get_str(v, "secretName", a);
        secret = secret.len || !json_len(json_get(v, "hosts")) ? secret : own;
        jout_form(w, "{");
        splice_members(w, v, skipped, a);
        jout_form(w, "secretName?:'%.*s'}", SLICE_ARG(secret));
    }
    jout_end(w);
}

static void write_rule(struct jout *w, struct slice host, struct slice path, struct slice type, struct slice service, int64_t port)
{
    jout_form(w, "{host?:'%.*s',http:{paths:[{path:'%.*s',pathType:'%.*s',backend:{service:{name:'%.*s',port:{number:%lld}}}}]}}",
              SLICE_ARG(host), SLICE_ARG(slice_empty(path) ? SLICE("/") : path), SLICE_ARG(slice_empty(type) ? SLICE("Prefix") : type),
              SLICE_ARG(service), (long long)port);
}

void ray_build_ingress(const struct ray_cluster *c, struct pairs *labels, struct pairs *annotations, struct buf *spec)
{
    struct arena *a = labels->arena;
    struct jval options = json_get(c->spec, "headGroupSpec.ingressOptions"), tls = json_get(options, "tls");
    struct jval ports = service_ports(c, a);
    struct slice path = json_get_str(options, "path", a), type = json_get_str(options, "pathType", a), class = ray_ingress_class(c, a),
                 service = ray_head_service_name(c, a);
    struct further f = further_ports(c, a);
    struct jout w;
    set_metadata(c, labels, annotations);
    jout_init(&w, spec);
    jout_form(&w, "{ingressClassName?:'%.*s'", SLICE_ARG(class));
    write_tls(c, tls, &w, a);
    jout_karray(&w, "rules");
    write_rule(&w, f.dashboard, path, type, service,
               json_get_int(list_find(ports, "name", SLICE("dashboard")), "port", c->ports.dashboard));
    while (next_port(&f, a))
        write_rule(&w, f.host, SLICE(""), SLICE(""), service, f.number);
    jout_end(&w);
    jout_end(&w);
}
