#include "rules.h"

enum {
    NAMESPACED = 1,
    STATUS = 2,
    GENERATION = 4,
    NEEDS_RV = 8, /* no unconditional PUT */
    PUT_CREATES = 16,
    ANSWERS_OBJECT = 32, /* DELETE answers with the object even when it is gone at once */
};

static const struct builtin {
    const char *group, *version, *plural, *singular, *kind, *short_name;
    unsigned flags;
    const struct rules *rules;
} builtins[] = {
    {"", "v1", "namespaces", "namespace", "Namespace", "ns", STATUS, &rules_namespace},
    {"", "v1", "nodes", "node", "Node", "no", STATUS, NULL},
    {"", "v1", "pods", "pod", "Pod", "po", NAMESPACED | STATUS | GENERATION | ANSWERS_OBJECT, &rules_pod},
    {"", "v1", "services", "service", "Service", "svc", NAMESPACED | STATUS | ANSWERS_OBJECT | PUT_CREATES, &rules_service},
    {"", "v1", "configmaps", "configmap", "ConfigMap", "cm", NAMESPACED, &rules_configmap},
    {"", "v1", "secrets", "secret", "Secret", "", NAMESPACED, &rules_secret},
    {"", "v1", "serviceaccounts", "serviceaccount", "ServiceAccount", "sa", NAMESPACED | ANSWERS_OBJECT, &rules_account},
    {"", "v1", "persistentvolumeclaims", "persistentvolumeclaim", "PersistentVolumeClaim", "pvc", NAMESPACED | STATUS | ANSWERS_OBJECT,
     NULL},
    {"", "v1", "events", "event", "Event", "ev", NAMESPACED | PUT_CREATES, &rules_event},
    {"apps", "v1", "deployments", "deployment", "Deployment", "deploy", NAMESPACED | STATUS | GENERATION, NULL},
    {"coordination.k8s.io", "v1", "leases", "lease", "Lease", "", NAMESPACED | PUT_CREATES | NEEDS_RV, &rules_lease},
    {"networking.k8s.io", "v1", "ingresses", "ingress", "Ingress", "ing", NAMESPACED | STATUS | GENERATION, NULL},
    {"rbac.authorization.k8s.io", "v1", "roles", "role", "Role", "", NAMESPACED | PUT_CREATES, &rules_role},
    {"rbac.authorization.k8s.io", "v1", "rolebindings", "rolebinding", "RoleBinding", "", NAMESPACED | PUT_CREATES, &rules_binding},
    {"rbac.authorization.k8s.io", "v1", "clusterroles", "clusterrole", "ClusterRole", "", PUT_CREATES, &rules_role},
    {"rbac.authorization.k8s.io", "v1", "clusterrolebindings", "clusterrolebinding", "ClusterRoleBinding", "", PUT_CREATES, &rules_binding},
    {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "customresourcedefinition", "CustomResourceDefinition", "crd",
     STATUS | GENERATION, &rules_crd},
};

struct resource *registry_add_resource(struct apiserver *s, const struct resource *like)
{
    struct resource *r = mem_alloc(sizeof *r);
    *r = *like;
    r->floor_rv = s->rv; /* there is no history of what was not there */
    s->resources = mem_resize(s->resources, (s->resource_count + 1) * sizeof(struct resource *));
    s->resources[s->resource_count++] = r;
    return r;
}

struct api *registry_add_api(struct apiserver *s, const struct api *like)
{
    struct api *api = arena_new(&s->forever, struct api);
    *api = *like;
    s->apis = mem_resize(s->apis, (s->api_count + 1) * sizeof(struct api *));
    s->apis[s->api_count++] = api;
    return api;
}

void registry_drop_apis(struct apiserver *s, const struct resource *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->api_count; i++)
        if (s->apis[i]->of != r)
            s->apis[kept++] = s->apis[i];
    s->api_count = kept;
}

void registry_builtins(struct apiserver *s)
{
    for (size_t i = 0; i < COUNT_OF(builtins); i++) {
        const struct builtin *b = &builtins[i];
        struct resource like = {.group = slice_of(b->group),
                                .plural = slice_of(b->plural),
                                .singular = slice_of(b->singular),
                                .kind = slice_of(b->kind),
                                .list_kind = arena_printf(&s->forever, "%sList", b->kind),
                                .namespaced = b->flags & NAMESPACED,
                                .has_status = b->flags & STATUS,
                                .counts_generation = b->flags & GENERATION,
                                .needs_rv = b->flags & NEEDS_RV,
                                .put_creates = b->flags & PUT_CREATES,
                                .delete_answers_object = b->flags & ANSWERS_OBJECT,
                                .rules = b->rules};
        if (*b->short_name)
            like.short_names[0] = slice_of(b->short_name);
        if (strcmp(b->plural, "pods") == 0 || strcmp(b->plural, "services") == 0 || strcmp(b->plural, "deployments") == 0)
            like.categories[0] = SLICE("all");
        struct resource *r = registry_add_resource(s, &like);
        registry_add_api(s, &(struct api){.group = r->group, .version = slice_of(b->version), .of = r, .storage = true});
        if (strcmp(b->plural, "events") == 0)
            registry_add_api(s, &(struct api){.group = SLICE("events.k8s.io"), .version = SLICE("v1"), .of = r, .events_view = true});
    }
}

const struct api *registry_api(const struct apiserver *s, struct slice group, struct slice version, struct slice plural)
{
    for (size_t i = 0; i < s->api_count; i++) {
        const struct api *api = s->apis[i];
        if (slice_eq(api->group, group) && slice_eq(api->version, version) && slice_eq(api->of->plural, plural))
            return api;
    }
    return NULL;
}

const struct api *registry_storage(const struct apiserver *s, const struct resource *r)
{
    for (size_t i = 0; i < s->api_count; i++)
        if (s->apis[i]->of == r && s->apis[i]->storage)
            return s->apis[i];
    return NULL;
}

struct resource *registry_resource(const struct apiserver *s, struct slice group, struct slice plural)
{
    for (size_t i = 0; i < s->resource_count; i++)
        if (slice_eq(s->resources[i]->group, group) && slice_eq(s->resources[i]->plural, plural))
            return s->resources[i];
    return NULL;
}

struct resource *registry_named(const struct apiserver *s, struct slice full)
{
    struct slice group = full, plural = slice_cut(&group, '.');
    return registry_resource(s, group.ptr ? group : SLICE(""), plural);
}
