#include "private.h"

#include <mobula/hub.h>
#include <mobula/kinds.h>
#include <mobula/schema.h>

/* ---- templates: text with @NAMES@ in it ---- */

struct variable {
    const char *name;
    struct slice value;
};

enum { VARIABLES_MAX = 64 };
struct variables {
    struct variable list[VARIABLES_MAX];
    size_t count;
};

static void set(struct variables *v, const char *name, struct slice value)
{
    if (v->count == VARIABLES_MAX)
        fatal("install: more than %d variables", VARIABLES_MAX);
    v->list[v->count++] = (struct variable){name, value};
}

static const struct variable *find_variable(struct slice name, const struct variable *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (slice_eq(name, slice_of(list[i].name)))
            return &list[i];
    return NULL;
}

/* A variable that stands alone on its line is a line (or more, or none) itself: its value brings its own newline. */
static void put_line(struct slice line, const struct variable *list, size_t count, struct buf *out)
{
    struct slice all = line;
    while (line.ptr) {
        struct slice before = slice_cut(&line, '@');
        buf_put(out, before);
        if (!line.ptr)
            break;
        struct slice name = slice_cut(&line, '@');
        const struct variable *v = find_variable(name, list, count);
        if (!v)
            fatal("install: no variable @%.*s@", SLICE_ARG(name));
        buf_put(out, v->value);
        if (name.len + 2 == all.len)
            return;
    }
    buf_putc(out, '\n');
}

static void put_document(struct slice text, const struct variable *list, size_t count, struct buf *out)
{
    buf_put(out, SLICE("---\n"));
    if (count == 0) { /* an @ in a text without variables is one */
        buf_put(out, text);
        return;
    }
    while (!slice_empty(text))
        put_line(slice_cut(&text, '\n'), list, count, out);
}

/* ---- manifests ---- */

static void put_namespaces(struct slice files, const struct install_options *o, const struct cli_namespaces *w, struct buf *out)
{
    bool own = false;
    for (uint32_t i = 0; i < (o->all_namespaces ? 0 : w->count); i++) {
        put_document(embed_file(files, "airgap/install/namespace.yaml"), (struct variable[]){{"NAMESPACE", w->list[i]}}, 1, out);
        own |= slice_eq(w->list[i], o->ns);
    }
    if (!own)
        put_document(embed_file(files, "airgap/install/namespace.yaml"), (struct variable[]){{"NAMESPACE", o->ns}}, 1, out);
}

static struct slice part(const struct buf *b, struct arena *a)
{
    return b->len ? arena_dup(a, buf_slice(b)) : SLICE_NONE;
}

/* The rights that each kind needs beyond those that all need: airgap/install/role-PLURAL.yaml. */
/* role-remote-PLURAL: for a control plane that asks for objects of the kind. */
static struct slice kind_rules(struct slice files, const struct install_options *o, const struct install_wanted *want, struct arena *a)
{
    static const char *const names[] = {"role", "role-remote"};
    __attribute__((cleanup(buf_free))) struct buf out = {.max = MIB};
    size_t count = slice_empty(o->hub.url) ? 1 : COUNT_OF(names);
    for (size_t i = 0; kinds[i]; i++)
        for (size_t n = 0; want->brings[i] && n < count; n++)
            buf_put(&out, embed_optional(files, arena_printf(a, "airgap/install/%s-%s.yaml", names[n], kinds[i]->plural).ptr));
    return part(&out, a);
}

static void put_port(uint16_t port, struct buf *out)
{
    if (port)
        buf_printf(out, "    - {port: %u, protocol: TCP}\n", port);
}

/* For the NetworkPolicy: what else may be contacted, by its ports. */
static struct slice egress_ports(const struct install_options *o, const struct install_wanted *want, struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf out = {.max = MIB};
    struct flag_texts entries = install_egress(o);
    struct cli_items it = {.of = &entries};
    struct slice item, host;
    uint16_t port;
    while (cli_items_next(&it, &item))
        if (net_place(item, &host, &port) && port != NET_ALLOW_PORT)
            put_port(port, &out);
    put_port(want->proxy_port, &out);
    for (struct slice table = o->proxy.proxies; !slice_empty(table);) {
        install_next_proxy(&table, a, &port, NULL);
        put_port(port, &out);
    }
    put_port(want->plane_port == NET_ALLOW_PORT ? 0 : want->plane_port, &out);
    put_port(want->bucket_port, &out);
    put_port(want->sts_port, &out);
    return part(&out, a);
}

static struct slice pull_secrets(const struct install_options *o, struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf out;
    struct slice rest = o->pull_secrets;
    buf_init(&out, MIB);
    if (!slice_empty(rest))
        buf_put(&out, SLICE("      imagePullSecrets:\n"));
    while (!slice_empty(rest)) {
        struct slice name = slice_trim(slice_cut(&rest, ','));
        buf_printf(&out, "      - name: \"%.*s\"\n", SLICE_ARG(name)); /* a name may look like a number */
    }
    return part(&out, a);
}

static struct slice proxy_environment(const struct install_options *o, struct arena *a)
{
    const struct variable all[] = {{"HTTPS_PROXY", o->proxy.url}, {"NO_PROXY", o->proxy.no_proxy}, {"MOBULA_PROXIES", o->proxy.proxies}};
    __attribute__((cleanup(buf_free))) struct buf out;
    buf_init(&out, MIB);
    if (o->plane)
        buf_put(&out, SLICE("        env:\n        - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}\n"));
    struct slice key = o->proxy.secret, name = slice_cut(&key, '/');
    if (!slice_empty(name)) /* before those that name it: Kubernetes fills it in in this order */
        buf_printf(&out, "%s        - {name: PROXY_CREDENTIALS, valueFrom: {secretKeyRef: {name: \"%.*s\", key: \"%.*s\"}}}\n",
                   out.len ? "" : "        env:\n", SLICE_ARG(name), SLICE_ARG(key.ptr ? key : SLICE("credentials")));
    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (!slice_empty(all[i].value))
            buf_printf(&out, "%s        - {name: %s, value: \"%.*s\"}\n", out.len ? "" : "        env:\n", all[i].name,
                       SLICE_ARG(all[i].value));
    struct jval list, none, one;
    bool more = !slice_empty(o->place.raw[RAW_ENV]) && json_read(&list, o->place.raw[RAW_ENV], a, NULL);
    for (struct jiter it = json_iter(more ? list : NO_VALUE); json_next(&it, &none, &one);)
        buf_printf(&out, "%s        - %.*s\n", out.len ? "" : "        env:\n", SLICE_ARG(json_raw(one)));
    return part(&out, a);
}

/* ---- placement ---- */

static struct slice line_of(const char *before, struct slice json, struct arena *a)
{
    return slice_empty(json) ? SLICE_NONE : arena_printf(a, "%s%.*s\n", before, SLICE_ARG(json));
}

static void put_tolerations(struct slice rest, struct jout *w)
{
    jout_array(w);
    while (!slice_empty(rest)) {
        struct slice effect = slice_trim(slice_cut(&rest, ',')), value = slice_cut(&effect, ':'), key = slice_cut(&value, '=');
        jout_form(w, "{key:'%.*s',operator:'%s',value?:'%.*s',effect?:'%.*s'}", SLICE_ARG(key), value.ptr ? "Equal" : "Exists",
                  SLICE_ARG(value), SLICE_ARG(effect));
    }
    jout_end(w);
}

/* Writes nodeSelector. A program in a ConfigMap needs nodes of its architecture. */
static void put_selector(const struct install_options *o, struct jout *w)
{
    jout_object(w);
    if (!slice_empty(o->program.bytes))
        jout_kstr(w, "kubernetes.io/arch", o->program.arch);
    for (struct slice rest = o->place.node_selector; !slice_empty(rest);) {
        struct slice value = slice_trim(slice_cut(&rest, ',')), key = slice_cut(&value, '=');
        jout_key(w, key);
        jout_str(w, value);
    }
    jout_end(w);
}

/* The placement fields of the pod spec, one a line. */
static struct slice placement(const struct install_options *o, struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf out;
    struct jout w;
    buf_init(&out, LIMIT_JSON_ITEM);
    for (size_t i = RAW_TOLERATIONS; i <= RAW_SPREAD; i++)
        buf_put(&out, line_of(arena_printf(a, "      %s: ", install_raw[i].key).ptr, o->place.raw[i], a));
    if (!slice_empty(o->place.priority_class))
        buf_printf(&out, "      priorityClassName: \"%.*s\"\n", SLICE_ARG(o->place.priority_class));
    jout_init(&w, &out);
    if (!slice_empty(o->place.tolerations) && slice_empty(o->place.raw[RAW_TOLERATIONS])) {
        buf_put(&out, SLICE("      tolerations: "));
        put_tolerations(o->place.tolerations, &w);
        buf_putc(&out, '\n');
    }
    jout_init(&w, &out);
    if (!slice_empty(o->place.node_selector) || !slice_empty(o->program.bytes)) {
        buf_put(&out, SLICE("      nodeSelector: "));
        put_selector(o, &w);
        buf_putc(&out, '\n');
    }
    return part(&out, a);
}

static struct slice pod_labels(const struct install_options *o, struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf out;
    struct jval all, key, value;
    buf_init(&out, LIMIT_JSON_ITEM);
    if (slice_empty(o->place.raw[RAW_POD_LABELS]) || !json_read(&all, o->place.raw[RAW_POD_LABELS], a, NULL))
        return SLICE_NONE;
    for (struct jiter it = json_iter(all); json_next(&it, &key, &value);)
        buf_printf(&out, "        %.*s: %.*s\n", SLICE_ARG(json_raw(key)), SLICE_ARG(json_raw(value)));
    return part(&out, a);
}

/* ---- the program in a ConfigMap, run in an image that has it not ---- */

struct slice install_name(bool plane)
{
    return plane ? SLICE("mobula-control-plane") : SLICE("mobula");
}

struct slice install_program_name(bool plane, struct slice program, struct arena *a)
{
    return arena_printf(a, "%.*s-program-%08x", SLICE_ARG(install_name(plane)), (unsigned)hash64(program, 0));
}

static void fill_program(struct variables *v, struct slice files, const struct install_options *o, struct arena *a)
{
    if (slice_empty(o->program.bytes)) {
        static const char *const names[] = {"COMMAND", "PROGRAM_MOUNT", "PROGRAM_VOLUME"};
        for (size_t i = 0; i < COUNT_OF(names); i++)
            set(v, names[i], SLICE_NONE);
        return;
    }
    struct slice name = install_program_name(o->plane, o->program.bytes, a);
    set(v, "PROGRAM", name);
    set(v, "COMMAND", SLICE("        command: [/program/mobula]\n"));
    set(v, "PROGRAM_MOUNT", embed_file(files, "airgap/install/program-mount.yaml"));
    set(v, "PROGRAM_VOLUME",
        arena_printf(a, "      - name: program\n        configMap:\n          name: %.*s\n          defaultMode: 0555\n", SLICE_ARG(name)));
}

/* ---- values for the templates ---- */

#define FLAG_LINE "        - --"
#define PLANE_FOLDER "/control-plane"
#define BUCKET_FOLDER "/bucket"

static struct slice part_file(struct slice files, const char *name, struct arena *a)
{
    return embed_file(files, arena_printf(a, "airgap/install/%s.yaml", name).ptr);
}

static void fill_role(struct variables *v, struct slice files, const struct install_options *o, const struct install_wanted *want,
                      struct arena *a)
{
    static const struct slice groups[] = {[OPERATOR_ALL_KINDS] = SLICE("ray.io, cluster.ray.io"),
                                          [OPERATOR_RAY_IO] = SLICE("ray.io"),
                                          [OPERATOR_LEGACY] = SLICE("cluster.ray.io")};
    /* Names of namespaces have no dot, so NAME.NAMESPACE.SUFFIX of one installation cannot be the name of another one's object. */
    struct slice unique = arena_printf(a, "%.*s.%.*s", SLICE_ARG(want->name), SLICE_ARG(o->ns));
    set(v, "IN_WATCHED", SLICE_NONE); /* IN_WATCHED and ROLE must come first: put_file sets them for each namespace */
    set(v, "ROLE", unique);
    set(v, "NAMESPACE", o->ns);
    set(v, "NAME", want->name);
    set(v, "UNIQUE", unique);
    set(v, "SCOPE", o->all_namespaces ? SLICE("Cluster") : SLICE_NONE);
    set(v, "GROUPS", groups[want->kinds]);
    set(v, "KIND_RULES", kind_rules(files, o, want, a));
    set(v, "TLS_SECRET", o->tls.made);
    set(v, "ROUTE_CA", o->args.route_ca);
    for (const struct install_inset *i = install_insets; i->variable; i++)
        set(v, i->variable, install_has(i->when, o, want) ? part_file(files, i->file, a) : SLICE_NONE);
}

/* The operator runs every kind unless flags exclude it. */
static void put_left_out(const struct install_wanted *want, struct buf *out)
{
    for (size_t i = 0; kinds[i]; i++)
        if (wanted_kind(kinds[i], want->kinds) && !want->brings[i])
            buf_printf(out, FLAG_LINE "%s=false\n", kinds[i]->optional.flag);
}

#define AT(field) offsetof(struct install_options, field)
/* Flags of the operator, in the order in which they are written. */
static const struct operator_row {
    const char *flag;  /* NULL: here: kinds that it does without */
    const char *fixed; /* the value; NULL: that of the field */
    uint16_t at;       /* a field: the flag is written if it is not empty. 0: none */
    uint8_t when;      /* of enum install_when; AS_ASKED: and if the field is not the default */
} operator_rows[] = {
    {"kinds", NULL, AT(args.kinds), ALWAYS},
    {"tools", NULL, AT(args.tools), ALWAYS},
    {"tools-resources", NULL, AT(args.tools_resources), ALWAYS},
    {"agent-resources", NULL, AT(args.agent_resources), ALWAYS},
    {NULL, NULL, 0, ALWAYS},
    {"submitter", NULL, AT(args.submitter), AS_ASKED},
    {"leader-elect", "", 0, IF_ELECTED},
    {"autoscaler", NULL, AT(args.autoscaler), AS_ASKED},
    {"ray-access", NULL, AT(args.ray_access), AS_ASKED},
    {"instance-types-configmap", "instance-types", 0, IF_SHAPES},
    {"patches-configmap", "patches", 0, IF_SHAPES},
    {"control-plane-url", NULL, AT(hub.url), ALWAYS},
    {"cloud-deployment-id", NULL, AT(hub.cloud), ALWAYS},
    {"control-plane-token-file", PLANE_FOLDER "/token", 0, IF_PLANE_TOKEN},
    {"sts-url", NULL, AT(hub.sts), ALWAYS},
    {"control-plane-ca-file", PLANE_FOLDER "/ca.crt", 0, IF_PLANE_URL},
    {"status-addr", "127.0.0.1:2113", 0, IF_PLANE_URL}, /* for kubectl port-forward */
    {"egress-ca-file", PLANE_FOLDER "/egress-ca.crt", AT(args.egress_ca), ALWAYS},
    {"policy-configmap", "mobula-policy", 0, IF_PLANE_URL},
    {"default-image", NULL, AT(hub.default_image), ALWAYS},
    {"route-ca", NULL, AT(args.route_ca), ALWAYS},
    {"route-hosts", NULL, AT(args.route_hosts), ALWAYS},
    {"domain", NULL, AT(args.domain), ALWAYS},
    {"service-auth", NULL, AT(args.service_auth), ALWAYS},
    {"gateway-name", NULL, AT(args.gateway), ALWAYS},
    {"gateway-namespace", NULL, AT(args.gateway_ns), ALWAYS},
    {"ingress-class", NULL, AT(args.ingress_class), ALWAYS},
    {"agent", "operator", 0, IF_AGENT_HERE},
    {"agent", "direct", 0, IF_AGENT_DIRECT},
    {"bucket", NULL, AT(bucket.url), ALWAYS},
    {"bucket-endpoint", NULL, AT(bucket.endpoint), ALWAYS},
    {"bucket-region", NULL, AT(bucket.region), ALWAYS},
    {"bucket-virtual-host", "", 0, IF_VIRTUAL_HOST},
    {"bucket-retention", NULL, AT(bucket.keep), ALWAYS},
    {"bucket-retention-bytes", NULL, AT(bucket.keep_bytes), ALWAYS},
    {"bucket-secret", NULL, AT(bucket.secret), ALWAYS},
    {"bucket-credentials-dir", BUCKET_FOLDER, AT(bucket.secret), ALWAYS},
    {"bucket-ca-file", BUCKET_FOLDER "/ca.crt", AT(bucket.ca), ALWAYS},
};
#define FIELD(options, at) (*(const struct slice *)(const void *)((const char *)(options) + (at)))

/* Only what is not the default is written out. */
static struct slice operator_flags(const struct install_options *o, const struct install_wanted *want, struct arena *a)
{
    struct flag_texts entries = install_egress(o);
    struct cli_items it = {.of = &entries};
    struct slice item;
    __attribute__((cleanup(buf_free))) struct buf out = {.max = MIB};
    for (size_t i = 0; i < COUNT_OF(operator_rows); i++) {
        const struct operator_row *r = &operator_rows[i];
        struct slice field = r->at ? FIELD(o, r->at) : SLICE("-"), value = r->fixed ? slice_of(r->fixed) : field;
        if (!r->flag)
            put_left_out(want, &out);
        else if (!slice_empty(field) &&
                 (r->when == AS_ASKED ? !slice_eq(value, FIELD(&install_defaults, r->at)) : install_has(r->when, o, want)))
            buf_printf(&out, FLAG_LINE "%s%s%.*s\n", r->flag, slice_empty(value) ? "" : "=", SLICE_ARG(value));
    }
    buf_put(&out, defaults_arguments(&o->defaults, a));
    while (cli_items_next(&it, &item))
        buf_printf(&out, FLAG_LINE "egress-allow=%.*s\n", SLICE_ARG(item));
    if (o->args.egress_strict)
        buf_put(&out, SLICE(FLAG_LINE "egress-strict\n"));
    return part(&out, a);
}

/* Its certificate is that of a Secret that is mounted, or one that it makes and keeps itself. */
static struct slice plane_flags(const struct install_options *o, struct arena *a)
{
    static const struct slice usual = SLICE(FLAG_LINE "https-addr=:8443\n" FLAG_LINE "replica-addr=$(POD_IP)\n" FLAG_LINE "http-addr=\n");
    if (!slice_empty(o->tls.secret))
        return arena_printf(a, "%.*s" FLAG_LINE "tls-cert=" PLANE_FOLDER "/tls.crt\n" FLAG_LINE "tls-key=" PLANE_FOLDER "/tls.key\n",
                            SLICE_ARG(usual));
    struct slice name = install_name(true);
    return arena_printf(
        a, "%.*s" FLAG_LINE "tls-secret=%.*s\n" FLAG_LINE "tls-name=%.*s,%.*s.%.*s,%.*s.%.*s.svc,%.*s.%.*s.svc.cluster.local%s%.*s\n",
        SLICE_ARG(usual), SLICE_ARG(o->tls.made), SLICE_ARG(name), SLICE_ARG(name), SLICE_ARG(o->ns), SLICE_ARG(name), SLICE_ARG(o->ns),
        SLICE_ARG(name), SLICE_ARG(o->ns), slice_empty(o->tls.names) ? "" : ",", SLICE_ARG(o->tls.names));
}

static void fill_flags(struct variables *v, const struct install_options *o, const struct install_wanted *want, struct arena *a)
{
    struct slice watch = slice_empty(o->watch) ? o->ns : o->watch;
    set(v, "WATCH",
        o->all_namespaces ? SLICE(FLAG_LINE "all-namespaces\n") : arena_printf(a, FLAG_LINE "namespace=%.*s\n", SLICE_ARG(watch)));
    struct slice sts = slice_empty(o->hub.sts) ? SLICE("") : arena_printf(a, FLAG_LINE "sts-url=%.*s\n", SLICE_ARG(o->hub.sts));
    set(v, "FLAGS", o->plane ? arena_printf(a, "%.*s%.*s", SLICE_ARG(plane_flags(o, a)), SLICE_ARG(sts)) : operator_flags(o, want, a));
}

static struct slice key_source(const char *kind, struct slice text, struct slice usual, const char *path, struct arena *a)
{
    struct slice key = text, name = slice_cut(&key, '/');
    return arena_printf(a,
                        "          - %s:\n              name: \"%.*s\"\n              items:\n              - {key: \"%.*s\", path: %s}\n",
                        kind, SLICE_ARG(name), SLICE_ARG(key.ptr ? key : usual), path);
}

/* Files of the control plane: the token and the CA of the operator that calls one, or the certificate and key of the hub. */
static void fill_plane(struct variables *v, const struct install_options *o, struct arena *a)
{
    /* of the operator's account; its audience makes it invalid for an API server */
    static const char own_token[] = "          - serviceAccountToken: {path: token, audience: " HUB_AUDIENCE ", expirationSeconds: 3607}\n";
    struct slice sources = SLICE_NONE;
    if (!slice_empty(o->tls.secret))
        sources = arena_printf(a, "          - secret:\n              name: \"%.*s\"\n", SLICE_ARG(o->tls.secret));
    else if (!slice_empty(o->hub.url))
        sources = arena_printf(a, "%.*s%.*s%.*s",
                               SLICE_ARG(!slice_empty(o->hub.sts)    ? SLICE_NONE
                                         : slice_empty(o->hub.token) ? slice_of(own_token)
                                                                     : key_source("secret", o->hub.token, SLICE("token"), "token", a)),
                               SLICE_ARG(key_source("configMap", slice_empty(o->hub.ca) ? SLICE("mobula-control-plane-ca") : o->hub.ca,
                                                    SLICE("ca.crt"), "ca.crt", a)),
                               SLICE_ARG(slice_empty(o->args.egress_ca)
                                             ? SLICE_NONE
                                             : key_source("configMap", o->args.egress_ca, SLICE("ca.crt"), "egress-ca.crt", a)));
    bool any = sources.ptr != NULL;
    set(v, "PLANE_MOUNT",
        any ? SLICE("        - name: control-plane\n          mountPath: " PLANE_FOLDER "\n          readOnly: true\n") : SLICE_NONE);
    set(v, "PLANE_VOLUME",
        any ? arena_printf(a, "      - name: control-plane\n        projected:\n          sources:\n%.*s", SLICE_ARG(sources))
            : SLICE_NONE);
}

/* Credentials and CA of the bucket. The Secret may come later, or not have been made here. */
static void fill_bucket(struct variables *v, const struct install_options *o, struct arena *a)
{
    struct slice secret = o->bucket.secret, ca = o->bucket.ca;
    bool any = !slice_empty(secret) || !slice_empty(ca);
    if (!slice_empty(secret))
        secret = arena_printf(a, "          - secret: {name: \"%.*s\", optional: true}\n", SLICE_ARG(secret));
    if (!slice_empty(ca))
        ca = key_source("configMap", ca, SLICE("ca.crt"), "ca.crt", a);
    set(v, "BUCKET_MOUNT",
        any ? SLICE("        - name: bucket\n          mountPath: " BUCKET_FOLDER "\n          readOnly: true\n") : SLICE_NONE);
    set(v, "BUCKET_VOLUME",
        any ? arena_printf(a, "      - name: bucket\n        projected:\n          sources:\n%.*s%.*s", SLICE_ARG(secret), SLICE_ARG(ca))
            : SLICE_NONE);
}

static void fill_pod(struct variables *v, const struct install_options *o, const struct install_wanted *want, struct arena *a)
{
    set(v, "VERSION", SLICE(MOBULA_VERSION));
    set(v, "IMAGE", want->image);
    set(v, "REPLICAS", arena_printf(a, "%d", (int)want->replicas));
    /* kubectl apply cannot change the strategy's type, so it is RollingUpdate always. An old operator's pod is deleted before a new one is
     * created. */
    set(v, "SURGE", o->plane ? SLICE("maxSurge: 1, maxUnavailable: 0") : SLICE("maxSurge: 0, maxUnavailable: 1"));
    set(v, "PULL_SECRETS", pull_secrets(o, a));
    set(v, "USER", o->with.openshift ? SLICE_NONE : SLICE("        runAsUser: 65532\n        runAsGroup: 65532\n"));
    set(v, "ENV", proxy_environment(o, a));
    set(v, "COMPONENT", want->component);
    set(v, "PORT", o->plane ? SLICE("https") : SLICE("health"));
    set(v, "PORT_NUMBER", o->plane ? SLICE("8443") : SLICE("8081"));
    set(v, "SCHEME", o->plane ? SLICE("            scheme: HTTPS\n") : SLICE_NONE);
    set(v, "PLACEMENT", placement(o, a));
    set(v, "POD_LABELS", pod_labels(o, a));
    set(v, "POD_ANNOTATIONS", line_of("      annotations: ", o->place.raw[RAW_POD_ANNOTATIONS], a));
    set(v, "SERVICE_ANNOTATIONS", line_of("  annotations: ", o->place.raw[RAW_SERVICE_ANNOTATIONS], a));
    set(v, "REQUEST_CPU", want->requests.cpu);
    set(v, "REQUEST_MEMORY", want->requests.memory);
    set(v, "CPU", want->limits.cpu);
    set(v, "MEMORY", want->limits.memory);
    set(v, "EGRESS_PORTS", egress_ports(o, want, a));
}

/* ---- documents ---- */

/* To heads; {} selects all namespaces. */
static struct slice heads(const struct install_options *o, const struct install_wanted *want, struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf out;
    buf_init(&out, MIB);
    if (o->plane)
        return SLICE_NONE;
    buf_put(&out, SLICE("  - to:\n    - podSelector:\n        matchLabels:\n          ray.io/node-type: head\n      namespaceSelector: {"));
    for (uint32_t i = 0; i < (o->all_namespaces ? 0 : want->watch.count); i++)
        buf_printf(&out, "%s\"%.*s\"", i ? ", " : "matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [",
                   SLICE_ARG(want->watch.list[i]));
    buf_put(&out, o->all_namespaces ? SLICE("}\n") : SLICE("]}]}\n"));
    return part(&out, a);
}

static struct slice program_bytes(const struct install_options *o, struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf bytes;
    buf_init(&bytes, INSTALL_TEXT_MAX);
    base64_encode(o->program.bytes, &bytes);
    return part(&bytes, a);
}

static void fill(struct variables *v, struct slice files, const struct install_options *o, const struct install_wanted *want,
                 struct arena *a)
{
    v->count = 0;
    fill_role(v, files, o, want, a);
    fill_flags(v, o, want, a);
    fill_pod(v, o, want, a);
    fill_program(v, files, o, a);
    fill_plane(v, o, a);
    fill_bucket(v, o, a);
    set(v, "HEADS", heads(o, want, a));
}

static void put_file(struct slice files, const struct install_file *f, const struct install_options *o, const struct install_wanted *want,
                     struct variables *v, struct arena *a, struct buf *out)
{
    bool each = f->how == INSTALL_EACH && !o->all_namespaces;
    for (uint32_t i = 0; i < (each ? want->watch.count : 1); i++) {
        if (each) {
            v->list[0].value = arena_printf(a, "  namespace: \"%.*s\"\n", SLICE_ARG(want->watch.list[i]));
            v->list[1].value = install_role_name(want->name, o->ns, want->watch.list[i], a);
        }
        put_document(part_file(files, f->name, a), v->list, v->count, out);
    }
}

static void put_files(struct slice files, bool admin, const struct install_options *o, const struct install_wanted *want,
                      struct variables *v, struct arena *a, struct buf *out)
{
    for (const struct install_file *f = install_files; f->name; f++)
        if ((f->how == INSTALL_ADMIN) == admin && f->of & (o->plane ? OF_PLANE : OF_OPERATOR) && install_has(f->when, o, want))
            put_file(files, f, o, want, v, a, out);
}

static void put_definitions(struct slice files, const struct install_options *o, const struct install_wanted *want, struct buf *out)
{
    for (size_t i = 0; o->plane && install_plane_kinds[i]; i++)
        put_document(embed_definition(files, install_plane_kinds[i]), NULL, 0, out);
    for (size_t i = 0; kinds[i]; i++)
        if (!o->plane && kinds[i]->check && want->brings[i])
            put_document(embed_definition(files, kinds[i]->plural), NULL, 0, out);
}

static bool fits(const struct buf *out, struct err *e)
{
    return !out->full || err_set(e, ERR_LIMIT, "more than %d bytes of manifests (INSTALL_TEXT_MAX)", (int)INSTALL_TEXT_MAX);
}

bool install_write(const struct install_options *o, struct buf *out, struct err *e)
{
    struct install_wanted want = {0};
    __attribute__((cleanup(arena_free))) struct arena mem = {0};
    if (!install_check(o, &want, &mem, e))
        return false;
    struct slice files = embed_all(&mem);
    struct variables v;
    fill(&v, files, o, &want, &mem);
    set(&v, "BYTES", program_bytes(o, &mem));
    if (!o->no_crds) {
        if (!o->no_definitions)
            put_definitions(files, o, &want, out);
        put_files(files, true, o, &want, &v, &mem, out);
    }
    if (o->crds_only)
        return true;
    if (o->create_namespace)
        put_namespaces(files, o, &want.watch, out);
    put_files(files, false, o, &want, &v, &mem, out);
    return fits(out, e);
}

bool install_write_edge(const struct install_options *o, struct buf *out, struct err *e)
{
    struct install_wanted want = {0};
    __attribute__((cleanup(arena_free))) struct arena mem = {0};
    struct variables v;
    if (!install_check(o, &want, &mem, e))
        return false;
    struct slice files = embed_all(&mem);
    fill(&v, files, o, &want, &mem);
    put_document(part_file(files, "edge", &mem), v.list, v.count, out);
    return fits(out, e);
}

bool install_write_all(const struct install_options *o, struct buf *out, struct err *e)
{
    struct install_wanted want = {0};
    __attribute__((cleanup(arena_free))) struct arena mem = {0};
    if (!install_check(o, &want, &mem, e))
        return false;
    struct slice files = embed_all(&mem);
    for (int cluster = 1; cluster >= 0; cluster--) {
        struct install_options as = *o;
        struct variables v;
        as.all_namespaces = cluster;
        fill(&v, files, &as, &want, &mem);
        set(&v, "BYTES", SLICE_NONE);
        for (const struct install_file *f = install_files; f->name; f++)
            if (f->of & (o->plane ? OF_PLANE : OF_OPERATOR) && (f->how == INSTALL_EACH || !cluster) &&
                !(o->no_crds && f->how == INSTALL_ADMIN) && (f->when != IF_PROGRAM || install_has(f->when, o, &want)))
                put_file(files, f, &as, &want, &v, &mem, out);
    }
    return fits(out, e);
}
