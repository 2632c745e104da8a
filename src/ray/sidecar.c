/* KubeRay's autoscaler: a container of Ray's own beside the head. It reads the RayCluster and its pods, and patches replicas and
 * workersToDelete of the worker groups; for that it has an account with rights of its own. Shape and names are KubeRay v1.7's, as programs
 * and people know them; but the role names the one cluster that it is about, where KubeRay's holds for all of the namespace. */
#include "build.h"

#define CONTAINER "autoscaler"
#define LOGS_PATH "/tmp/ray"
#define START "ray kuberay-autoscaler --cluster-name $(RAY_CLUSTER_NAME) --cluster-namespace $(RAY_CLUSTER_NAMESPACE)"
#define RBAC "rbac.authorization.k8s.io"

bool ray_has_sidecar(const struct ray_cluster *c, const struct ray_options *o)
{
    return c->kind == RAY_V1 && c->scale.on &&
           (c->scale.scaler == RAY_SCALER_SIDECAR || (c->scale.scaler == RAY_SCALER_UNSAID && o->sidecar));
}

bool has_sidecar(const struct pod_build *b)
{
    return b->group->head && ray_has_sidecar(b->cluster, b->options);
}

/* ---- requests of the cluster ---- */

void read_scaler(struct reader *r, const struct place *annotations, struct ray_cluster *c)
{
    static const char *const words[] = {"operator", "sidecar", NULL};
    const struct place *at = place_key(annotations, RAY_ANNOTATION_AUTOSCALER);
    struct slice text;
    if (!place_given(at) || !read_word(r, at, words, &text))
        return;
    c->scale.scaler = slice_is(text, "sidecar") ? RAY_SCALER_SIDECAR : RAY_SCALER_OPERATOR;
    if (c->kind == RAY_LEGACY && c->scale.scaler == RAY_SCALER_SIDECAR)
        place_bad(r, at, "is sidecar, which only knows ray.io/v1: remove it, and the operator scales the cluster");
}

/* ---- the container ---- */

static void write_variable(struct jout *w, const char *name, const char *field, const char *value)
{
    jout_form(w, field ? "{name:'%s',valueFrom:{fieldRef:{fieldPath:'%s'}}}" : "{name:'%s',value:'%s'}", name, field ? field : value);
}

static void write_sidecar_env(struct jout *w, struct jval options, const struct ray_cluster *c)
{
    struct slice secret = c->auth.secret;
    struct jval k, v;
    jout_karray(w, "env");
    write_variable(w, "RAY_CLUSTER_NAME", "metadata.labels['" RAY_LABEL_CLUSTER "']", NULL);
    write_variable(w, "RAY_CLUSTER_NAMESPACE", "metadata.namespace", NULL);
    write_variable(w, "RAY_HEAD_POD_NAME", "metadata.name", NULL);
    write_variable(w, "KUBERAY_CRD_VER", NULL, "v1");
    write_variable(w, "KUBERAY_GEN_AUTOSCALER_START_CMD", NULL, START);
    for (struct jiter it = json_iter(json_get(options, "env")); json_next(&it, &k, &v);)
        if (slice_empty(secret) || !is_auth_variable(json_get(v, "name")))
            jout_val(w, v);
    write_auth_env(w, secret);
    write_tls_env(w, c);
    jout_end(w);
}

static void write_mount(struct jout *w)
{
    jout_form(w, "{mountPath:'" LOGS_PATH "',name:'" RAY_LOGS_VOLUME "'}");
}

static bool mounts_logs(struct jval mounts)
{
    return list_has(mounts, "mountPath", SLICE(LOGS_PATH));
}

static void write_sidecar_mounts(struct jout *w, struct jval given, const struct ray_cluster *c)
{
    jout_karray(w, "volumeMounts");
    splice_elements(w, given);
    if (!mounts_logs(given))
        write_mount(w);
    write_tls_mount(w, c);
    jout_end(w);
}

static void write_words(struct jout *w, const char *key, struct jval given, const char *const *words)
{
    jout_karray(w, key);
    if (json_len(given))
        splice_elements(w, given);
    for (; !json_len(given) && *words; words++)
        jout_str(w, slice_of(*words));
    jout_end(w);
}

static void write_given(struct jout *w, const char *key, struct jval v)
{
    if (value_given(v))
        jout_kval(w, key, v);
}

void write_sidecar(struct jout *w, const struct pod_build *b)
{
    static const char *const command[] = {"/bin/bash", "-c", "--", NULL}, *const args[] = {START, NULL};
    struct jval options = json_get(b->cluster->spec, "autoscalerOptions");
    struct jval image = json_get(options, "image"), policy = json_get(options, "imagePullPolicy");
    struct jval resources = json_get(options, "resources");
    if (!has_sidecar(b) || list_has(json_get(b->spec, "containers"), "name", SLICE(CONTAINER)))
        return;
    jout_object(w);
    jout_kstr(w, "name", SLICE(CONTAINER));
    write_given(w, "image", value_given(image) ? image : json_get(b->container, "image"));
    jout_kraw(w, "imagePullPolicy", value_given(policy) ? json_raw(policy) : SLICE("\"IfNotPresent\""));
    write_words(w, "command", json_get(options, "command"), command);
    write_words(w, "args", json_get(options, "args"), args);
    write_sidecar_env(w, options, b->cluster);
    write_given(w, "envFrom", json_get(options, "envFrom"));
    write_given(w, "resources", resources);
    if (!value_given(resources))
        jout_form(w, "resources:{limits:{cpu:'500m',memory:'512Mi'},requests:{cpu:'500m',memory:'512Mi'}}");
    write_sidecar_mounts(w, json_get(options, "volumeMounts"), b->cluster);
    write_given(w, "securityContext", json_get(options, "securityContext"));
    jout_end(w);
}

/* ---- other changes of the head's pod ---- */

bool sidecar_logs(const struct pod_build *b)
{
    return has_sidecar(b) && !mounts_logs(json_get(b->container, "volumeMounts"));
}

void write_logs_mount(struct jout *w)
{
    write_mount(w);
}

void write_logs_volume(struct jout *w, const struct pod_build *b)
{
    if (!has_sidecar(b) || list_has(json_get(b->spec, "volumes"), "name", SLICE(RAY_LOGS_VOLUME)))
        return;
    jout_form(w, "{name:'" RAY_LOGS_VOLUME "',emptyDir:{}}");
}

/* ---- its account ---- */

struct slice clipped_name(struct slice name, struct arena *a)
{
    enum { CLIPPED_MAX = 50 };
    name = name.len > CLIPPED_MAX ? slice_skip(name, name.len - CLIPPED_MAX) : name;
    bool letter = name.len && name.ptr[0] >= 'a' && name.ptr[0] <= 'z';
    return letter ? name : arena_printf(a, "r%.*s", SLICE_ARG(slice_skip(name, name.len ? 1 : 0)));
}

static struct slice users_account(const struct ray_cluster *c, struct arena *a)
{
    return json_get_str(c->head.template, "spec.serviceAccountName", a);
}

bool ray_wants_account(const struct ray_cluster *c, enum ray_account which, const struct ray_options *o, struct arena *a)
{
    if (which >= RAY_ACCOUNT_SECRET)
        return which == RAY_ACCOUNT_CA ? has_tls(c) : c->auth.ours;
    if (!ray_has_sidecar(c, o))
        return false;
    return which != RAY_ACCOUNT || slice_empty(users_account(c, a));
}

struct slice ray_account_name(const struct ray_cluster *c, enum ray_account which, struct arena *a)
{
    if (which >= RAY_ACCOUNT_SECRET)
        return which == RAY_ACCOUNT_CA ? c->auth.ca : c->auth.secret;
    struct slice given = which == RAY_ACCOUNT ? users_account(c, a) : SLICE_NONE;
    return slice_empty(given) ? clipped_name(c->name, a) : given;
}

const struct kube_resource ray_account_resources[RAY_ACCOUNT_OBJECTS] = {
    [RAY_ACCOUNT] = {SLICE(""), SLICE("v1"), SLICE("serviceaccounts")},
    [RAY_ACCOUNT_ROLE] = {SLICE(RBAC), SLICE("v1"), SLICE("roles")},
    [RAY_ACCOUNT_BINDING] = {SLICE(RBAC), SLICE("v1"), SLICE("rolebindings")},
    [RAY_ACCOUNT_SECRET] = {SLICE(""), SLICE("v1"), SLICE("secrets")},
    [RAY_ACCOUNT_CA] = {SLICE(""), SLICE("v1"), SLICE("secrets")},
};

static void write_role(struct jout *w, const struct ray_cluster *c)
{
    jout_form(w,
              "rules:[{apiGroups:[''],resources:['pods'],verbs:['get','list','watch','patch']},"
              "{apiGroups:[''],resources:['pods/resize'],verbs:['patch']},"
              "{apiGroups:['ray.io'],resources:['rayclusters'],resourceNames:['%.*s'],verbs:['get','patch']}]",
              SLICE_ARG(c->name));
}

static void write_binding(struct jout *w, const struct ray_cluster *c, struct arena *a)
{
    struct slice role = ray_account_name(c, RAY_ACCOUNT_ROLE, a), account = ray_account_name(c, RAY_ACCOUNT, a);
    jout_form(w,
              "roleRef:{apiGroup:'" RBAC "',kind:'Role',name:'%.*s'},"
              "subjects:[{kind:'ServiceAccount',name:'%.*s',namespace:'%.*s'}]",
              SLICE_ARG(role), SLICE_ARG(account), SLICE_ARG(c->ns));
}

bool ray_build_account(const struct ray_cluster *c, enum ray_account which, struct slice secret, struct arena *a, struct buf *out)
{
    if (which >= RAY_ACCOUNT_SECRET)
        return build_secret(c, which == RAY_ACCOUNT_CA, secret, a, out);
    static const char *const kinds[] = {"ServiceAccount", "Role", "RoleBinding"};
    struct pairs labels = pairs_new(a), none = pairs_new(a);
    const struct owner owner = owner_cluster(c);
    struct jout w;
    pairs_set(&labels, SLICE(RAY_LABEL_CLUSTER), c->name);
    pairs_set(&labels, SLICE("app.kubernetes.io/name"), SLICE("kuberay"));
    pairs_set(&labels, SLICE("app.kubernetes.io/created-by"), SLICE("kuberay-operator"));
    jout_init(&w, out);
    jout_form(&w, "{apiVersion:'%s',kind:'%s'", which == RAY_ACCOUNT ? "v1" : RBAC "/v1", kinds[which]);
    write_metadata(&w, &owner, ray_account_name(c, which, a), NO_VALUE, &labels, &none, a);
    if (which == RAY_ACCOUNT_ROLE)
        write_role(&w, c);
    else if (which == RAY_ACCOUNT_BINDING)
        write_binding(&w, c, a);
    jout_end(&w);
    return !out->full;
}
