/* Compares the flags of the existing Deployment with those of the Deployment that replaces it. */
#include <mobula/release.h>

static struct slice flag_of(struct jval argument, struct arena *a)
{
    struct slice rest = json_str(argument, a);
    return slice_cut(&rest, '=');
}

static bool is_off(struct jval argument, struct arena *a)
{
    return slice_ends(json_str(argument, a), SLICE("=false"));
}

/* Kinds that are reconciled now, and would not be. */
static bool is_narrower(struct jval old, struct jval new, struct arena *a)
{
    static const struct slice all = SLICE("--kinds=all");
    struct slice was = json_str(old, a), is = json_str(new, a);
    return slice_starts(was, SLICE("--kinds=")) && !slice_eq(is, all) && !slice_eq(is, was);
}

/* Whether Roles grant rights on the resource that a flag for a kind is named after. Roles without rights on RayClusters leave it open: the
 * Role with the operator's rules was not read, as with another scope than that of the existing installation. */
static bool is_granted(struct slice roles, struct slice flag, struct arena *a)
{
    size_t dashes = slice_starts(flag, SLICE("--")) ? 2 : 0;
    struct slice name = {flag.ptr + dashes, flag.len - dashes};
    return !slice_has(roles, "\"rayclusters/status\"") || slice_has(roles, arena_printf(a, "\"%.*s\"", SLICE_ARG(name)).ptr);
}

struct slice apply_dropped(struct jval there, struct jval wanted, struct slice roles, struct arena *a)
{
    struct buf out;
    struct jval key, old, new;
    buf_init(&out, LIMIT_JSON_ITEM);
    for (struct jiter it = json_iter(inventory_arguments(there)); json_next(&it, &key, &old);) {
        struct slice flag = flag_of(old, a);
        bool found = !slice_starts(flag, SLICE("--")) || is_off(old, a); /* a function that was off may be on */
        for (struct jiter in = json_iter(inventory_arguments(wanted)); !found && json_next(&in, &key, &new);)
            found = slice_eq(flag, flag_of(new, a)) && !is_off(new, a) && !is_narrower(old, new, a);
        if (!found)
            buf_printf(&out, "%s%.*s", out.len ? ", " : "", SLICE_ARG(json_str(old, a)));
    }
    for (struct jiter in = json_iter(inventory_arguments(wanted)); json_next(&in, &key, &new);) {
        bool told = !is_off(new, a) || !is_granted(roles, flag_of(new, a), a);
        for (struct jiter it = json_iter(inventory_arguments(there)); !told && json_next(&it, &key, &old);)
            told = slice_eq(flag_of(old, a), flag_of(new, a));
        if (!told && json_there(inventory_arguments(there)))
            buf_printf(&out, "%s%.*s", out.len ? ", " : "", SLICE_ARG(flag_of(new, a)));
    }
    struct slice text = arena_dup(a, buf_slice(&out));
    buf_free(&out);
    return text;
}

/* ---- flags of install that do not become arguments of the operator ---- */

struct pod {
    struct jval spec, container;
};

static struct pod pod_of(struct jval deployment)
{
    struct jval spec = json_get(deployment, "spec.template.spec");
    return (struct pod){spec, json_at(json_key(spec, SLICE("containers")), 0)};
}

static void put_flag(struct buf *out, const char *flag, struct slice value)
{
    buf_printf(out, "%s%s%s%.*s", out->len ? ", " : "", flag, slice_empty(value) ? "" : "=", (int)value.len, value.ptr ? value.ptr : "");
}

static void put_pull_secrets(struct jval old, struct jval new, struct arena *a, struct buf *out)
{
    struct jval key, one, wanted = json_key(new, SLICE("imagePullSecrets"));
    for (struct jiter it = json_iter(json_key(old, SLICE("imagePullSecrets"))); json_next(&it, &key, &one);) {
        struct slice name = json_get_str(one, "name", a);
        if (!json_there(list_find(wanted, "name", name)))
            put_flag(out, "--pull-secret", name);
    }
}

/* Whether managedFields lists the field under an apply of our manifests: of the pod spec, or of the environment of this container. Fields
 * of other managers survive our apply. */
static bool is_applied(struct jval there, struct slice container, struct slice field, struct arena *a)
{
    struct jval key, entry;
    for (struct jiter it = json_iter(json_get(there, "metadata.managedFields")); json_next(&it, &key, &entry);) {
        struct jval in = json_get(json_key(entry, SLICE("fieldsV1")), "f:spec.f:template.f:spec");
        if (!slice_empty(container))
            in = json_get(json_key(json_get(in, "f:containers"), arena_printf(a, "k:{\"name\":\"%.*s\"}", SLICE_ARG(container))), "f:env");
        if (surplus_applies(entry) && json_there(json_key(in, field)))
            return true;
    }
    return false;
}

/* Names the flags without their values: a proxy's URL may hold a password. */
static void put_environment(struct jval there, struct jval old, struct jval new, struct arena *a, struct buf *out)
{
    static const struct {
        const char *name, *flag;
    } all[] = {
        {"HTTPS_PROXY", "--proxy"}, {"NO_PROXY", "--no-proxy"}, {"MOBULA_PROXIES", "--proxies"}, {"PROXY_CREDENTIALS", "--proxy-secret"}};
    struct jval key, one;
    for (struct jiter it = json_iter(json_key(old, SLICE("env"))); json_next(&it, &key, &one);) {
        struct slice name = json_get_str(one, "name", a);
        const char *flag = NULL;
        if (json_there(list_find(json_key(new, SLICE("env")), "name", name)))
            continue;
        for (size_t i = 0; i < COUNT_OF(all); i++)
            flag = slice_is(name, all[i].name) ? all[i].flag : flag;
        if (flag || is_applied(there, json_get_str(old, "name", a), arena_printf(a, "k:{\"name\":\"%.*s\"}", SLICE_ARG(name)), a))
            put_flag(out, flag ? flag : "--values: extraEnv", flag ? SLICE_NONE : name);
    }
}

/* Reports placement fields of the pod spec that would be dropped, by the flag or value that sets each. */
static void put_placement(struct jval there, struct pod old, struct pod new, struct arena *a, struct buf *out)
{
    static const struct {
        const char *field, *flag;
    } all[] = {{"tolerations", "--toleration"},
               {"nodeSelector", "--node-selector"},
               {"priorityClassName", "--priority-class-name"},
               {"affinity", "--values: affinity"},
               {"topologySpreadConstraints", "--values: topologySpreadConstraints"}};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        struct slice field = slice_of(all[i].field), managed = arena_printf(a, "f:%s", all[i].field);
        if (json_there(json_key(old.spec, field)) && !json_there(json_key(new.spec, field)) && is_applied(there, SLICE_NONE, managed, a))
            put_flag(out, all[i].flag, SLICE_NONE);
    }
}

static void put_resources(struct jval old, struct jval new, const char *flag, struct arena *a, struct buf *out)
{
    struct slice cpu = json_get_str(old, "cpu", a), memory = json_get_str(old, "memory", a);
    if (!slice_empty(cpu) && !slice_empty(memory) &&
        (!slice_eq(cpu, json_get_str(new, "cpu", a)) || !slice_eq(memory, json_get_str(new, "memory", a))))
        put_flag(out, flag, arena_printf(a, "cpu=%.*s,memory=%.*s", SLICE_ARG(cpu), SLICE_ARG(memory)));
}

/* The name of the Secret or ConfigMap in the projected volume that provides the file at this path. */
static struct slice source_name(struct jval pod, const char *kind, struct slice path, struct arena *a)
{
    struct jval key, source, volume = list_find(json_key(pod, SLICE("volumes")), "name", SLICE("control-plane"));
    for (struct jiter it = json_iter(json_get(volume, "projected.sources")); json_next(&it, &key, &source);) {
        struct jval of = json_key(source, slice_of(kind));
        struct slice file = json_get_str(json_at(json_key(of, SLICE("items")), 0), "path", a);
        if (json_there(of) && slice_eq(file, path))
            return json_get_str(of, "name", a);
    }
    return SLICE_NONE;
}

static void put_sources(struct jval old, struct jval new, struct arena *a, struct buf *out)
{
    static const struct {
        const char *kind, *flag;
        struct slice path, usual; /* usual: the default name, without the flag */
    } all[] = {{"secret", "--tls-secret", SLICE(""), SLICE("")},
               {"secret", "--control-plane-token", SLICE("token"), SLICE("")},
               {"configMap", "--control-plane-ca", SLICE("ca.crt"), SLICE("mobula-control-plane-ca")},
               {"configMap", "--egress-ca", SLICE("egress-ca.crt"), SLICE("")}};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        struct slice had = source_name(old, all[i].kind, all[i].path, a), has = source_name(new, all[i].kind, all[i].path, a);
        if (!slice_empty(had) && !slice_eq(had, has) && (slice_empty(has) || slice_eq(has, all[i].usual)))
            put_flag(out, all[i].flag, had);
    }
}

/* Reports an image that would change, unless it is the default image of another version or the command sets the image. */
static void put_places(const struct apply *p, struct pod old, struct pod new, struct arena *a, struct buf *out)
{
    struct slice had = json_get_str(old.container, "image", a), has = json_get_str(new.container, "image", a);
    if (p->image_given || slice_empty(had) || slice_eq(had, has) || slice_starts(had, SLICE("localhost/mobula:")))
        return;
    bool registryless = json_there(json_key(old.container, SLICE("command")));
    put_flag(out, registryless ? "--registryless" : "--image (or --registry)", registryless ? SLICE_NONE : had);
}

struct slice apply_dropped_elsewhere(const struct apply *p, struct jval there, struct jval wanted, struct arena *a)
{
    struct pod old = pod_of(there), new = pod_of(wanted);
    __attribute__((cleanup(buf_free))) struct buf out;
    buf_init(&out, LIMIT_JSON_ITEM);
    if (!json_there(old.container))
        return SLICE_NONE;
    put_pull_secrets(old.spec, new.spec, a, &out);
    put_environment(there, old.container, new.container, a, &out);
    put_placement(there, old, new, a, &out);
    struct jval had = json_get(old.container, "resources"), has = json_get(new.container, "resources");
    if (!p->resources_given)
        put_resources(json_get(had, "limits"), json_get(has, "limits"), "--resources", a, &out);
    if (!p->requests_given)
        put_resources(json_get(had, "requests"), json_get(has, "requests"), "--requests", a, &out);
    put_sources(old.spec, new.spec, a, &out);
    put_places(p, old, new, a, &out);
    if (!p->replicas_given && json_get_int(there, "spec.replicas", 1) > json_get_int(wanted, "spec.replicas", 1))
        put_flag(&out, "--replicas", arena_printf(a, "%lld", (long long)json_get_int(there, "spec.replicas", 1)));
    if (!json_there(json_get(old.spec, "securityContext.runAsUser")) && json_there(json_get(new.spec, "securityContext.runAsUser")) &&
        json_there(json_get(old.spec, "securityContext.runAsNonRoot")))
        put_flag(&out, "--openshift", SLICE_NONE);
    return out.len ? arena_dup(a, buf_slice(&out)) : SLICE_NONE;
}
