#include "cli.h"

#include "embed.h"
#include "install.h"

#include <mobula/kinds.h>

#include <stdio.h>

const struct install_options install_defaults = {
    .ns = SLICE("mobula"),
    .image = SLICE("localhost/mobula:" MOBULA_VERSION),
    .kinds = SLICE("ray.io"),
    .tools = SLICE("configmap"),
    .autoscaler = SLICE("operator"),
    .submitter = SLICE("operator"),
    .ray_access = SLICE("direct"),
    .replicas = 1,
    .timeout_ms = 2 * 60 * 1000,
};

/* ---- templates: text with @NAMES@ in it ---- */

struct variable {
    const char *name;
    struct slice value;
};

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

/* ---- options ---- */

static bool check_image(struct slice image, const char *flag, struct err *e)
{
    bool well = !slice_empty(image);
    for (size_t i = 0; well && i < image.len; i++) {
        char c = image.ptr[i];
        well = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("./:@_-", c);
    }
    return well || err_set(e, ERR_CONFIG, "%s: \"%.*s\" is not an image reference", flag, SLICE_ARG(image));
}

/* What the flags ask for. */
struct wanted {
    enum operator_kinds kinds;
    struct ray_options tools;
    bool pods;
    struct cli_namespaces watch;
};

static struct flag_texts egress_entries(const struct install_options *o)
{
    return (struct flag_texts){.list = {o->egress}, .count = !slice_empty(o->egress)};
}

static bool check_egress(const struct install_options *o, struct err *e)
{
    struct net_allow *allow = net_allow_new();
    struct flag_texts entries = egress_entries(o);
    bool ok = cli_egress_entries(&entries, o->egress_strict, allow, e);
    net_allow_free(allow);
    return ok;
}

static bool check(const struct install_options *o, struct wanted *want, struct err *e)
{
    enum cli_scaler scaler;
    enum operator_access access;
    if (o->crds_only && o->no_crds)
        return err_set(e, ERR_CONFIG, "--crds-only and --no-crds leave nothing to print");
    if (o->replicas < 1 || o->replicas > INSTALL_REPLICAS_MAX)
        return err_set(e, ERR_CONFIG, "--replicas: want 1 to %d", INSTALL_REPLICAS_MAX);
    struct slice watch = slice_empty(o->watch) ? o->ns : o->watch;
    return cli_namespace(o->ns, "--namespace", e) && cli_namespaces(watch, "--watch-namespace", &want->watch, e) &&
           cli_kinds(o->kinds, &want->kinds, e) && check_image(o->image, "--image", e) && cli_tools(o->tools, &want->tools, e) &&
           cli_tools_resources(o->tools_resources, &want->tools, e) && cli_scaler(o->autoscaler, &scaler, e) &&
           (want->tools.tools != RAY_TOOLS_IMAGE || check_image(want->tools.tools_image, "--tools", e)) &&
           cli_submitter(o->submitter, &want->tools, &want->pods, e) && cli_access(o->ray_access, &access, e) && check_egress(o, e);
}

/* ---- manifests ---- */

static void put_namespaces(struct slice files, const struct install_options *o, const struct cli_namespaces *w, struct buf *out)
{
    bool own = false;
    for (uint32_t i = 0; i < w->count; i++) {
        put_document(embed_file(files, "airgap/install/namespace.yaml"), (struct variable[]){{"NAMESPACE", w->list[i]}}, 1, out);
        own |= slice_eq(w->list[i], o->ns);
    }
    if (!own)
        put_document(embed_file(files, "airgap/install/namespace.yaml"), (struct variable[]){{"NAMESPACE", o->ns}}, 1, out);
}

/* Only what is not the default is written out. */
static struct slice autoscaler_flag(const struct install_options *o)
{
    return slice_eq(o->autoscaler, SLICE("off")) ? SLICE("        - --autoscaler=off\n") : SLICE("        - --autoscaler=sidecar\n");
}

static struct slice access_flag(const struct install_options *o)
{
    if (slice_eq(o->ray_access, SLICE("direct")))
        return SLICE_NONE;
    return slice_eq(o->ray_access, SLICE("proxy")) ? SLICE("        - --ray-access=proxy\n") : SLICE("        - --ray-access=service\n");
}

static void put_egress_flags(const struct install_options *o, struct buf *out)
{
    struct flag_texts entries = egress_entries(o);
    struct cli_items it = {.of = &entries};
    struct slice item;
    while (cli_items_next(&it, &item))
        buf_printf(out, "        - --egress-allow=%.*s\n", SLICE_ARG(item));
    if (o->egress_strict)
        buf_put(out, SLICE("        - --egress-strict\n"));
}

/* What each kind needs beyond what all need: airgap/install/role-PLURAL.yaml. */
static void put_kind_rules(struct slice files, enum operator_kinds which, struct buf *out)
{
    char path[128];
    for (size_t i = 0; kinds[i]; i++) {
        snprintf(path, sizeof path, "airgap/install/role-%s.yaml", kinds[i]->plural);
        if (wanted_kind(kinds[i], which))
            buf_put(out, embed_optional(files, path));
    }
}

static void put_operator(struct slice files, const struct install_options *o, const struct wanted *want, struct buf *out)
{
    static const struct slice groups[] = {[OPERATOR_ALL_KINDS] = SLICE("ray.io, cluster.ray.io"),
                                          [OPERATOR_RAY_IO] = SLICE("ray.io"),
                                          [OPERATOR_LEGACY] = SLICE("cluster.ray.io")};
    char replicas[20];
    __attribute__((cleanup(buf_free))) struct buf egress, resources, rules;
    buf_init(&egress, MIB);
    buf_init(&rules, MIB);
    put_kind_rules(files, want->kinds, &rules);
    buf_init(&resources, KIB);
    put_egress_flags(o, &egress);
    if (!slice_empty(o->tools_resources))
        buf_printf(&resources, "        - --tools-resources=%.*s\n", SLICE_ARG(o->tools_resources));
    snprintf(replicas, sizeof replicas, "%d", (int)o->replicas);
    bool elect = o->leader_elect || o->replicas > 1;
    struct variable v[] = {
        {"WATCHED", SLICE_NONE}, /* each in turn, below */
        {"NAMESPACE", o->ns},
        {"WATCH", slice_empty(o->watch) ? o->ns : o->watch},
        {"IMAGE", o->image},
        {"TOOLS", o->tools},
        {"TOOLS_RESOURCES", buf_slice(&resources)},
        {"GROUPS", groups[want->kinds]},
        {"KINDS", o->kinds},
        {"KIND_RULES", buf_slice(&rules)},
        {"TOOLS_RULE", want->tools.tools == RAY_TOOLS_CONFIGMAP ? embed_file(files, "airgap/install/role-tools.yaml") : SLICE_NONE},
        {"SIDECAR_RULES", slice_eq(o->autoscaler, SLICE("sidecar")) ? embed_file(files, "airgap/install/role-sidecar.yaml") : SLICE_NONE},
        {"PROXY_RULE", slice_eq(o->ray_access, SLICE("proxy")) ? embed_file(files, "airgap/install/role-proxy.yaml") : SLICE_NONE},
        {"AUTH_RULE", o->ray_auth ? embed_file(files, "airgap/install/role-auth.yaml") : SLICE_NONE},
        {"RAY_ACCESS", access_flag(o)},
        {"EGRESS", buf_slice(&egress)},
        {"AUTOSCALER", slice_eq(o->autoscaler, install_defaults.autoscaler) ? SLICE_NONE : autoscaler_flag(o)},
        {"VERSION", SLICE(MOBULA_VERSION)},
        {"REPLICAS", slice_of(replicas)},
        /* Without an election there must never be two at a time. */
        {"STRATEGY", elect ? SLICE("RollingUpdate") : SLICE("Recreate")},
        {"SUBMITTER", want->pods ? SLICE("        - --submitter=pod\n") : SLICE_NONE},
        {"SHAPES", o->shapes ? SLICE("        - --instance-types-configmap=instance-types\n") : SLICE_NONE},
        {"LEADER_ELECT", elect ? SLICE("        - --leader-elect\n") : SLICE_NONE},
    };
    put_document(embed_file(files, "airgap/install/account.yaml"), v, COUNT_OF(v), out);
    for (uint32_t i = 0; i < want->watch.count; i++) {
        v[0].value = want->watch.list[i];
        put_document(embed_file(files, "airgap/install/role.yaml"), v, COUNT_OF(v), out);
    }
    if (elect)
        put_document(embed_file(files, "airgap/install/role-leader.yaml"), v, COUNT_OF(v), out);
    if (o->shapes)
        put_document(embed_file(files, "airgap/install/role-shapes.yaml"), v, COUNT_OF(v), out);
    put_document(embed_file(files, "airgap/install/deployment.yaml"), v, COUNT_OF(v), out);
}

bool install_write(const struct install_options *o, struct buf *out, struct err *e)
{
    struct wanted want = {0};
    if (!check(o, &want, e))
        return false;
    __attribute__((cleanup(arena_free))) struct arena mem = {0};
    struct slice files = embed_all(&mem);
    if (!o->no_crds) {
        for (size_t i = 0; kinds[i]; i++)
            if (kinds[i]->check && wanted_kind(kinds[i], want.kinds))
                put_document(embed_definition(files, kinds[i]->plural), NULL, 0, out);
    }
    if (o->crds_only)
        return true;
    if (o->create_namespace)
        put_namespaces(files, o, &want.watch, out);
    put_operator(files, o, &want, out);
    return true;
}
