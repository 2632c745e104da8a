/* Checks of what stands in the cluster: definitions, other operators, the namespace and what it allows, classes, nodes. */
#include <mobula/check.h>
#include <mobula/kinds.h>
#include <mobula/schema.h>
#include <mobula/spec.h>
#include <mobula/yaml.h>

#include <stdio.h>

/* ---- definitions ---- */

/* Whether a definition lists a version; served: and serves it. */
static bool lists_version(struct jval definition, struct slice version, bool served)
{
    struct jval key, one;
    for (struct jiter it = json_iter(json_get(definition, "spec.versions")); json_next(&it, &key, &one);)
        if (json_str_eq(json_key(one, SLICE("name")), version) && (!served || json_get_bool(one, "served", false)))
            return true;
    return false;
}

/* Appends the path of the first value of `want` that `have` lacks to `at`. False: `have` has all of them. */
static bool lacks(struct jval have, struct jval want, struct arena *a, struct buf *at)
{
    struct jval key, one;
    size_t from = at->len;
    if (json_type(want) != JSON_OBJECT)
        return !json_covers(have, want);
    for (struct jiter it = json_iter(want); json_next(&it, &key, &one);) {
        struct slice name = json_str(key, a);
        struct jval there = json_key(have, name);
        buf_printf(at, "%s%.*s", at->len ? "." : "", SLICE_ARG(name));
        if (!json_there(there) || lacks(there, one, a, at))
            return true;
        at->len = from;
    }
    return false;
}

/* Compares the schema of a version with ours. The API server silently drops fields that its schema lacks. */
static void check_schema(struct check *c, struct jval have, struct jval version)
{
    struct jval key, one, labels = json_get(have, "metadata.labels");
    bool ours = json_str_eq(json_key(labels, SLICE("app.kubernetes.io/name")), SLICE("mobula"));
    __attribute__((cleanup(buf_free))) struct buf at;
    buf_init(&at, KIB);
    for (struct jiter it = json_iter(json_get(have, "spec.versions")); json_next(&it, &key, &one);)
        if (json_equal(json_key(one, SLICE("name")), json_key(version, SLICE("name"))) &&
            lacks(json_get(one, "schema.openAPIV3Schema.properties"), json_get(version, "schema.openAPIV3Schema.properties"), c->a, &at))
            check_say(c, CHECK_WARN,
                      arena_printf(c->a, "mobula install --apply --crds-only --namespace=%.*s brings ours", SLICE_ARG(c->operator_ns)).ptr,
                      "%.*s: version %.*s is %s one: it differs at %.*s, and fields that it lacks are dropped silently",
                      SLICE_ARG(json_get_str(have, "metadata.name", c->a)), SLICE_ARG(json_get_str(version, "name", c->a)),
                      ours ? "an older or newer" : "KubeRay's or another", SLICE_ARG(buf_slice(&at)));
}

void check_definition(struct check *c, struct jval have, struct jval ours)
{
    struct slice name = json_get_str(have, "metadata.name", c->a);
    struct jval key, version;
    uint32_t before = c->results[CHECK_FAIL] + c->results[CHECK_WARN];
    for (struct jiter it = json_iter(json_get(have, "status.storedVersions")); json_next(&it, &key, &version);)
        if (!lists_version(ours, json_str(version, c->a), false))
            check_say(c, CHECK_FAIL, "mobula crds migrate rewrites them, once our definition is applied",
                      "%.*s: objects are stored as %.*s, which our definition does not have", SLICE_ARG(name),
                      SLICE_ARG(json_str(version, c->a)));
    for (struct jiter it = json_iter(json_get(ours, "spec.versions")); json_next(&it, &key, &version);)
        if (json_get_bool(version, "served", false) && !lists_version(have, json_get_str(version, "name", c->a), true))
            check_say(c, CHECK_FAIL, "mobula install --print --crds-only | kubectl apply --server-side -f -",
                      "%.*s: version %.*s is not served", SLICE_ARG(name), SLICE_ARG(json_get_str(version, "name", c->a)));
        else if (json_get_bool(version, "served", false))
            check_schema(c, have, version);
    if (json_str_eq(json_get(have, "spec.conversion.strategy"), SLICE("Webhook")))
        check_say(c, CHECK_WARN, "when that service is gone, no object can be read: apply our definition over it",
                  "%.*s: objects are converted by a webhook of another operator", SLICE_ARG(name));
    if (json_there(json_get(have, "metadata.deletionTimestamp")))
        check_say(c, CHECK_FAIL, "wait until it is gone, then install", "%.*s is being deleted", SLICE_ARG(name));
    if (c->results[CHECK_FAIL] + c->results[CHECK_WARN] == before)
        check_say(c, CHECK_PASS, NULL, "%.*s is installed and serves what is needed", SLICE_ARG(name));
}

void check_definitions(struct check *c)
{
    struct slice files = embed_all(c->a);
    for (size_t i = 0; kinds[i]; i++) {
        if (!kinds[i]->check || !wanted_kind(kinds[i], OPERATOR_RAY_IO))
            continue;
        struct yaml_docs docs;
        struct json doc;
        struct jval have;
        struct err e = {0};
        bool absent;
        if (!yaml_parse(embed_definition(files, kinds[i]->plural), c->a, &docs, &e) || !json_parse(&doc, docs.docs[0].json, c->a, &e))
            fatal("check: %s: %s", kinds[i]->plural, e.text);
        struct slice path = arena_printf(c->a, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/%s", kinds[i]->plural);
        if (check_get(c, path, &have, &absent))
            check_definition(c, have, json_root(&doc));
        else if (absent && kinds[i]->optional.flag)
            check_say(
                c, CHECK_SKIP,
                arena_printf(c->a, "mobula install --%s brings it, where %ss are wanted", kinds[i]->optional.flag, kinds[i]->name).ptr,
                "%s is not installed", kinds[i]->plural);
        else if (absent)
            check_say(c, CHECK_WARN, "mobula install --print --crds-only | kubectl apply --server-side -f -", "%s is not installed",
                      kinds[i]->plural);
    }
}

/* ---- the namespace ---- */

void check_namespace(struct check *c)
{
    struct jval ns;
    bool absent;
    struct slice path = arena_printf(c->a, "/api/v1/namespaces/%.*s", SLICE_ARG(c->ns));
    if (!check_get(c, path, &ns, &absent)) {
        bool installed = json_there(c->deployment);
        if (absent)
            check_say(c, installed ? CHECK_FAIL : CHECK_WARN,
                      arena_printf(c->a,
                                   installed ? "kubectl create namespace %.*s"
                                             : "mobula install --apply --namespace %.*s --create-namespace makes it",
                                   SLICE_ARG(c->ns))
                          .ptr,
                      "there is no namespace %.*s", SLICE_ARG(c->ns));
        return;
    }
    bool going = json_str_eq(json_get(ns, "status.phase"), SLICE("Terminating"));
    struct slice level = json_str(json_key(json_get(ns, "metadata.labels"), SLICE("pod-security.kubernetes.io/enforce")), c->a);
    check_say(c, going ? CHECK_FAIL : CHECK_PASS,
              going ? "wait until it is gone and create it again; its conditions say what keeps it" : NULL,
              "namespace %.*s %s; Pod Security: %.*s", SLICE_ARG(c->ns), going ? "is being deleted" : "is there",
              SLICE_ARG(slice_empty(level) ? SLICE("none set on it") : level));
}

/* A pod as the operator makes it for a head or worker that says nothing of security, or that says what `restricted` asks for. */
static struct slice dry_pod(struct check *c, const char *type, bool restricted)
{
    return arena_printf(
        c->a,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"generateName\":\"mobula-check-%s-\",\"labels\":{\"ray.io/"
        "node-type\":\"%s\"}},"
        "\"spec\":{%s\"containers\":[{\"name\":\"ray\",\"image\":\"%.*s\",%s"
        "\"resources\":{\"requests\":{\"cpu\":\"500m\",\"memory\":\"1Gi\"},\"limits\":{\"cpu\":\"1\",\"memory\":\"2Gi\"}}}]}}",
        type, type,
        restricted ? "\"securityContext\":{\"runAsNonRoot\":true,\"runAsUser\":1000,\"seccompProfile\":{\"type\":\"RuntimeDefault\"}},"
                   : "",
        SLICE_ARG(c->o->image),
        restricted ? "\"securityContext\":{\"allowPrivilegeEscalation\":false,\"capabilities\":{\"drop\":[\"ALL\"]}}," : "");
}

/* The server's objection to one pod; nothing if it accepts the pod. */
static bool dry_run(struct check *c, const char *type, bool restricted, struct slice *said, struct slice *warned)
{
    struct ask_answer answer = {0};
    struct err e = {0};
    struct slice path = arena_printf(c->a, "/api/v1/namespaces/%.*s/pods?dryRun=All", SLICE_ARG(c->ns));
    struct slice words = SLICE_NONE;
    bool well = ask_post(&c->ask, path, dry_pod(c, type, restricted), c->a, &answer, &words, &e) && answer.code < 300;
    *warned = words;
    *said = well ? SLICE_NONE : e.code ? arena_dup(c->a, slice_of(e.text)) : answer.message;
    return well;
}

static void check_pod(struct check *c, const char *type)
{
    struct slice said, warned, second;
    if (dry_run(c, type, false, &said, &warned)) {
        bool warns = slice_has(warned, "PodSecurity");
        check_say(c, warns ? CHECK_WARN : CHECK_PASS,
                  warns ? "give clusters a securityContext: airgap/examples/raycluster-restricted.yaml" : NULL,
                  "a %s pod would be taken%s%.*s", type, warns ? ", with the warning: " : "", SLICE_ARG(warns ? warned : SLICE("")));
        return;
    }
    if (slice_has(said, "PodSecurity") && dry_run(c, type, true, &second, &warned))
        check_say(c, CHECK_WARN, "give clusters a securityContext: airgap/examples/raycluster-restricted.yaml",
                  "a %s pod is taken only with the securityContext that Pod Security asks for", type);
    else if (slice_has(said, "cannot create resource"))
        check_say(c, CHECK_SKIP, "run it as a user who may create pods there", "a %s pod cannot be tried: %.*s", type, SLICE_ARG(said));
    else if (slice_starts(said, SLICE("namespaces ")))
        check_say(c, CHECK_SKIP, NULL, "a %s pod can be tried when its namespace is there", type);
    else
        check_say(c, CHECK_FAIL, "a quota, limit range, admission policy or webhook says no: change it, or what clusters ask for",
                  "a %s pod would be refused: %.*s", type, SLICE_ARG(said));
}

/* Tries the operator's pod (of its Deployment, else as `mobula install` makes it) in a dry run: its namespace may have other limits and
 * quotas than that of the clusters. */
static void check_operator_pod(struct check *c)
{
    struct ask_answer answer = {0};
    struct err e = {0};
    struct slice spec = json_raw(json_get(json_there(c->deployment) ? c->deployment : check_usual(c), "spec.template.spec"));
    struct slice ns = slice_empty(c->o->operator_ns) && !json_there(c->deployment) ? c->ns : c->operator_ns;
    struct slice path = arena_printf(c->a, "/api/v1/namespaces/%.*s/pods?dryRun=All", SLICE_ARG(ns));
    if (slice_empty(spec))
        return;
    if (!json_there(c->deployment)) /* its account does not exist yet */
        spec = json_without(spec, "serviceAccountName", c->a);
    struct slice body = arena_printf(
        c->a, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"generateName\":\"mobula-check-\"},\"spec\":%.*s}", SLICE_ARG(spec));
    if (!ask_post(&c->ask, path, body, c->a, &answer, NULL, &e) || answer.code < 300 || answer.code == 404 ||
        slice_has(answer.message, "cannot create resource") || slice_has(answer.message, "serviceaccount"))
        return; /* accepted, or the dry run is not possible */
    check_say(c, CHECK_FAIL, "mobula install --requests and --resources fit it to a LimitRange or quota",
              "the operator's pod would be refused in namespace %.*s: %.*s", SLICE_ARG(ns), SLICE_ARG(answer.message));
}

void check_pods(struct check *c)
{
    check_pod(c, "head");
    check_pod(c, "worker");
    check_operator_pod(c);
}

/* ---- quota and limit ranges ---- */

void check_quota_item(struct check *c, void *state, struct jval quota)
{
    struct slice name = json_get_str(quota, "metadata.name", c->a);
    struct jval hard = json_get(quota, "status.hard"), used = json_get(quota, "status.used"), key, value;
    uint32_t full = 0;
    (void)state;
    for (struct jiter it = json_iter(hard); json_next(&it, &key, &value);) {
        struct slice resource = json_str(key, c->a), limit = json_str(value, c->a), now = json_str(json_key(used, resource), c->a);
        int64_t most, have = 0;
        struct err e = {0};
        if (!quantity_parse(limit, 3, &most, &e) || (!slice_empty(now) && !quantity_parse(now, 3, &have, &e)) || have < most)
            continue;
        full++;
        check_say(c, CHECK_WARN, "raise it or free some: pods beyond it are refused", "ResourceQuota %.*s: %.*s is used up: %.*s of %.*s",
                  SLICE_ARG(name), SLICE_ARG(resource), SLICE_ARG(now), SLICE_ARG(limit));
    }
    if (full == 0)
        check_say(c, CHECK_PASS, NULL, "ResourceQuota %.*s has room left", SLICE_ARG(name));
}

void check_quota(struct check *c)
{
    check_list(c, arena_printf(c->a, "/api/v1/namespaces/%.*s/resourcequotas", SLICE_ARG(c->ns)), check_quota_item, NULL);
}

static void on_limits(struct check *c, void *state, struct jval range)
{
    struct jval key, one;
    (void)state;
    for (struct jiter it = json_iter(json_get(range, "spec.limits")); json_next(&it, &key, &one);)
        check_say(c, CHECK_PASS, NULL, "LimitRange %.*s: a %.*s has at most %.*s", SLICE_ARG(json_get_str(range, "metadata.name", c->a)),
                  SLICE_ARG(json_get_str(one, "type", c->a)),
                  SLICE_ARG(json_there(json_get(one, "max")) ? json_raw(json_get(one, "max")) : SLICE("what it asks for")));
}

void check_limits(struct check *c)
{
    check_list(c, arena_printf(c->a, "/api/v1/namespaces/%.*s/limitranges", SLICE_ARG(c->ns)), on_limits, NULL);
}

/* ---- classes ---- */

struct classes {
    const char *annotation;
    uint32_t count;
    bool has_default;
};

static void on_class(struct check *c, void *state, struct jval class)
{
    struct classes *s = state;
    struct jval mark = json_key(json_get(class, "metadata.annotations"), slice_of(s->annotation));
    (void)c;
    s->count++;
    s->has_default |= json_str_eq(mark, SLICE("true"));
}

void check_classes(struct check *c)
{
    struct classes storage = {.annotation = "storageclass.kubernetes.io/is-default-class"};
    struct classes ingress = {.annotation = "ingressclass.kubernetes.io/is-default-class"};
    if (check_list(c, SLICE("/apis/storage.k8s.io/v1/storageclasses"), on_class, &storage))
        check_say(c, CHECK_PASS, NULL, "storage classes: %u, %s default: volume claims without a class %s", storage.count,
                  storage.has_default ? "with a" : "without a", storage.has_default ? "work" : "stay pending");
    if (check_list(c, SLICE("/apis/networking.k8s.io/v1/ingressclasses"), on_class, &ingress))
        check_say(c, CHECK_PASS, NULL, "ingress classes: %u, %s default: enableIngress %s", ingress.count,
                  ingress.has_default ? "with a" : "without a", ingress.count ? "has a controller to work with" : "has no effect");
}

/* ---- nodes ---- */

/* Whether a pod of this type fits a node that is empty. */
static bool type_fits(const struct shape_type *t, struct jval node, struct arena *a)
{
    struct jval key, value, labels = json_get(node, "metadata.labels");
    if (!slice_empty(t->architecture) && !json_str_eq(json_get(node, "status.nodeInfo.architecture"), t->architecture))
        return false;
    for (struct jiter it = json_iter(t->node_selector); json_next(&it, &key, &value);)
        if (!json_str_eq(json_key(labels, json_str(key, a)), json_str(value, a)))
            return false;
    for (uint32_t i = 0; i < t->amount_count; i++) {
        const struct shape_amount *one = &t->amounts[i];
        if (node_amount(json_get(node, "status.allocatable"), one->name, slice_eq(one->name, SLICE("cpu")) ? 3 : 0, a) < one->amount)
            return false;
    }
    return true;
}

/* Before Linux 4.14, which the sandbox needs. A version that cannot be read does not count as old. */
static bool old_kernel(struct slice version)
{
    int64_t major, minor;
    struct slice rest = version, first = slice_cut(&rest, '.'), second = slice_cut(&rest, '.');
    return slice_int(first, &major) && slice_int(second, &minor) && (major < 4 || (major == 4 && minor < 14));
}

/* The first taint that keeps pods without tolerations from the node, in the form of --toleration; empty: none. */
static struct slice taint_of(struct jval node, struct arena *a)
{
    struct jval key, one;
    for (struct jiter it = json_iter(json_get(node, "spec.taints")); json_next(&it, &key, &one);) {
        struct slice effect = json_get_str(one, "effect", a), value = json_get_str(one, "value", a);
        if (!slice_is(effect, "PreferNoSchedule"))
            return arena_printf(a, "%.*s%s%.*s:%.*s", SLICE_ARG(json_get_str(one, "key", a)), value.len ? "=" : "", SLICE_ARG(value),
                                SLICE_ARG(effect));
    }
    return SLICE_NONE;
}

void check_node_item(struct check *c, void *state, struct jval node)
{
    struct check_capacity *s = state;
    struct jval have = json_get(node, "status.allocatable");
    int64_t on_this = node_gpus(have, c->a);
    s->nodes++;
    if (!condition_is(json_get(node, "status"), "Ready", "True") || json_get_bool(node, "spec.unschedulable", false))
        return;
    s->ready++;
    s->taint = taint_of(node, c->a);
    s->free += slice_empty(s->taint);
    s->cpu_milli += node_amount(have, SLICE("cpu"), 3, c->a);
    s->memory += node_amount(have, SLICE("memory"), 0, c->a);
    for (uint32_t i = 0; s->types && i < s->types->count; i++)
        s->fits[i] |= type_fits(&s->types->list[i], node, c->a);
    s->old_kernels += old_kernel(json_get_str(node, "status.nodeInfo.kernelVersion", c->a));
    s->gpus += on_this;
    s->gpus_on += on_this > 0;
}

/* Of the ConfigMap that the operator reads, or would. False: there are none, or there is a row that says what is wrong with them. */
static bool read_types(struct check *c, struct shape_types *out)
{
    struct slice name = check_argument(c, "--instance-types-configmap"), key = check_argument(c, "--instance-types-key");
    struct spec_errors *errors = arena_new(c->a, struct spec_errors);
    struct jval map;
    struct err e = {0};
    bool absent;
    if (json_there(c->args) && slice_empty(name))
        return false; /* its operator uses none */
    name = slice_empty(name) ? SLICE("instance-types") : name;
    key = slice_empty(key) ? SLICE("instance_types.yaml") : key;
    struct slice path = arena_printf(c->a, "/api/v1/namespaces/%.*s/configmaps/%.*s", SLICE_ARG(c->operator_ns), SLICE_ARG(name));
    if (!check_get(c, path, &map, &absent))
        return false;
    bool well = shape_types_read(json_str(json_key(json_key(map, SLICE("data")), key), c->a), c->a, out, errors);
    if (!well && !spec_errors_tell(errors, &e))
        check_say(c, CHECK_FAIL, "mobula validate tells all that is wrong in it; until then the operator keeps what it had",
                  "ConfigMap %.*s: %s", SLICE_ARG(name), e.text);
    return out->count > 0;
}

static void say_types(struct check *c, const struct check_capacity *s)
{
    __attribute__((cleanup(buf_free))) struct buf none;
    buf_init(&none, ERR_TEXT_MAX / 2);
    for (uint32_t i = 0; i < s->types->count; i++)
        if (!s->fits[i])
            buf_printf(&none, "%s%.*s", none.len ? ", " : "", SLICE_ARG(s->types->list[i].name));
    check_say(c, none.len ? CHECK_WARN : CHECK_PASS,
              none.len ? "right where an autoscaler adds such nodes; else mobula instance-types suggest prints types that fit the nodes"
                       : NULL,
              "of %u instance types %s%.*s%s", s->types->count, none.len ? "these fit no node that is there: " : "each fits some node",
              SLICE_ARG(buf_slice(&none)), none.full ? ", and more" : "");
}

void check_nodes(struct check *c)
{
    struct check_capacity s = {0};
    struct shape_types types = {0};
    if (read_types(c, &types)) {
        s.types = &types;
        s.fits = arena_array(c->a, types.count, sizeof *s.fits);
    }
    if (!check_list(c, SLICE("/api/v1/nodes"), check_node_item, &s))
        return;
    check_say(c,
              s.ready == 0        ? CHECK_FAIL
              : s.ready < s.nodes ? CHECK_WARN
                                  : CHECK_PASS,
              s.ready < s.nodes ? "kubectl get nodes says which, kubectl describe node why" : NULL,
              "%u of %u nodes take pods: %lld CPUs, %lld GiB of memory, %lld GPUs on %u of them", s.ready, s.nodes,
              (long long)(s.cpu_milli / 1000), (long long)(s.memory >> 30), (long long)s.gpus, s.gpus_on);
    if (s.ready && !s.free && !json_there(json_get(c->deployment, "spec.template.spec.tolerations")))
        check_say(c, CHECK_WARN,
                  arena_printf(c->a, "mobula install --toleration='%.*s'; clusters name theirs in their templates", SLICE_ARG(s.taint)).ptr,
                  "every node has a taint, such as %.*s: a pod without tolerations, like the operator's, is not placed",
                  SLICE_ARG(s.taint));
    if (s.old_kernels)
        check_say(c, CHECK_WARN, "the operator runs there without its sandbox: keep it off these nodes",
                  "%u nodes have a Linux before 4.14", s.old_kernels);
    if (s.types)
        say_types(c, &s);
}

/* ---- pull secrets ---- */

static void check_pull_secret(struct check *c, struct slice name)
{
    struct jval secret;
    bool absent;
    struct slice path = arena_printf(c->a, "/api/v1/namespaces/%.*s/secrets/%.*s", SLICE_ARG(c->ns), SLICE_ARG(name));
    if (check_get(c, path, &secret, &absent)) {
        bool well = json_str_eq(json_get(secret, "type"), SLICE("kubernetes.io/dockerconfigjson"));
        check_say(c, well ? CHECK_PASS : CHECK_FAIL, well ? NULL : "kubectl create secret docker-registry makes one of the right type",
                  "pull Secret %.*s is of type %.*s", SLICE_ARG(name), SLICE_ARG(json_get_str(secret, "type", c->a)));
    } else if (absent)
        check_say(c, CHECK_FAIL, "kubectl create secret docker-registry makes it",
                  "pull Secret %.*s of service account default is not there", SLICE_ARG(name));
}

void check_pull_secrets(struct check *c)
{
    struct jval account, key, one;
    bool absent;
    if (!check_get(c, arena_printf(c->a, "/api/v1/namespaces/%.*s/serviceaccounts/default", SLICE_ARG(c->ns)), &account, &absent))
        return;
    struct jval secrets = json_get(account, "imagePullSecrets");
    if (json_len(secrets) == 0)
        check_say(c, CHECK_PASS, NULL, "service account default names no pull secrets: images come from where nodes may pull anyway");
    for (struct jiter it = json_iter(secrets); json_next(&it, &key, &one);)
        check_pull_secret(c, json_get_str(one, "name", c->a));
}
