/* The parts of a pod that a workload may set. */
#include "policy.h"

#define END                                                                                                                                \
    {                                                                                                                                      \
        NULL, 0, ANY, 0, NULL                                                                                                              \
    }

/* ---- volumes and what is in them ---- */

static const struct member_rule named_secret[] = {{"name", 6, LISTED, WORK_SECRETS, NULL},
                                                  {"secretName", 6, LISTED, WORK_SECRETS, NULL},
                                                  {"key", 6, ANY, 0, NULL},
                                                  {"items", 6, ANY, 0, NULL},
                                                  {"optional", 6, ANY, 0, NULL},
                                                  {"defaultMode", 6, ANY, 0, NULL},
                                                  END};

static void look_map_name(struct checker *c, const struct place *at)
{
    if (slice_empty(c->folder) || !json_str_eq(at->value, c->folder))
        policy_listed(c, 6, at, WORK_CONFIGMAPS);
}

static const struct member_rule named_map[] = {{"name", 6, LOOK, 0, look_map_name}, {"key", 6, ANY, 0, NULL},
                                               {"items", 6, ANY, 0, NULL},          {"optional", 6, ANY, 0, NULL},
                                               {"defaultMode", 6, ANY, 0, NULL},    END};

static void look_secret(struct checker *c, const struct place *at)
{
    const struct place *name = place_key(at, "name"), *other = place_key(at, "secretName");
    policy_members(c, at, named_secret, 6);
    if (!place_given(name) && !place_given(other))
        policy_refuse(c, 6, at, "names no Secret");
}

static void look_map(struct checker *c, const struct place *at)
{
    const struct place *name = place_key(at, "name");
    policy_members(c, at, named_map, 6);
    if (!place_given(name))
        policy_refuse(c, 6, at, "names no ConfigMap");
}

static void look_sources(struct checker *c, const struct place *at)
{
    static const struct member_rule source[] = {
        {"secret", 6, LOOK, 0, look_secret}, {"configMap", 6, LOOK, 0, look_map}, {"downwardAPI", 6, ANY, 0, NULL}, END};
    policy_items(c, at, source, 6);
}

static void look_projected(struct checker *c, const struct place *at)
{
    static const struct member_rule projected[] = {{"sources", 6, LOOK, 0, look_sources}, {"defaultMode", 6, ANY, 0, NULL}, END};
    policy_members(c, at, projected, 6);
}

static void look_claim(struct checker *c, const struct place *at)
{
    static const struct member_rule claim[] = {{"claimName", 4, LISTED, WORK_CLAIMS, NULL}, {"readOnly", 4, ANY, 0, NULL}, END};
    policy_members(c, at, claim, 4);
}

static void look_volumes(struct checker *c, const struct place *at)
{
    static const struct member_rule volume[] = {{"name", 4, ANY, 0, NULL},
                                                {"emptyDir", 4, ANY, 0, NULL},
                                                {"downwardAPI", 4, ANY, 0, NULL},
                                                {"configMap", 6, LOOK, 0, look_map},
                                                {"secret", 6, LOOK, 0, look_secret},
                                                {"projected", 6, LOOK, 0, look_projected},
                                                {"persistentVolumeClaim", 4, LOOK, 0, look_claim},
                                                END};
    policy_items(c, at, volume, 4);
}

/* ---- a container ---- */

static void look_value_from(struct checker *c, const struct place *at)
{
    static const struct member_rule from[] = {{"secretKeyRef", 6, LOOK, 0, look_secret},
                                              {"configMapKeyRef", 6, LOOK, 0, look_map},
                                              {"fieldRef", 6, ANY, 0, NULL},
                                              {"resourceFieldRef", 6, ANY, 0, NULL},
                                              END};
    policy_members(c, at, from, 6);
}

static void look_env(struct checker *c, const struct place *at)
{
    static const struct member_rule variable[] = {
        {"name", 6, ANY, 0, NULL}, {"value", 6, ANY, 0, NULL}, {"valueFrom", 6, LOOK, 0, look_value_from}, END};
    policy_items(c, at, variable, 6);
}

static void look_env_from(struct checker *c, const struct place *at)
{
    static const struct member_rule from[] = {
        {"prefix", 6, ANY, 0, NULL}, {"secretRef", 6, LOOK, 0, look_secret}, {"configMapRef", 6, LOOK, 0, look_map}, END};
    policy_items(c, at, from, 6);
}

static void look_image(struct checker *c, const struct place *at)
{
    const char *bad = json_type(at->value) == JSON_STRING ? image_reference_bad(json_str(at->value, c->r.arena)) : NULL;
    policy_listed(c, 7, at, WORK_IMAGES);
    if (bad)
        policy_refuse(c, 7, at, bad);
    if (c->policy->digests && !slice_has(json_str(at->value, c->r.arena), "@sha256:"))
        policy_refuse(c, 7, at, "has no digest, which the policy requires: write NAME@sha256:DIGEST");
}

static void look_ports(struct checker *c, const struct place *at)
{
    static const struct member_rule port[] = {
        {"name", 3, ANY, 0, NULL}, {"containerPort", 3, ANY, 0, NULL}, {"protocol", 3, ANY, 0, NULL}, END};
    policy_items(c, at, port, 3);
}

static void look_mounts(struct checker *c, const struct place *at)
{
    static const struct member_rule mount[] = {
        {"name", 4, ANY, 0, NULL}, {"mountPath", 4, ANY, 0, NULL}, {"readOnly", 4, ANY, 0, NULL}, {"subPath", 4, ANY, 0, NULL}, END};
    policy_items(c, at, mount, 4);
}

static void look_capabilities(struct checker *c, const struct place *at)
{
    static const struct member_rule capabilities[] = {{"drop", 3, ANY, 0, NULL}, END};
    policy_members(c, at, capabilities, 3);
}

static void look_seccomp(struct checker *c, const struct place *at)
{
    struct jval type = json_get(at->value, "type");
    if (json_len(at->value) != 1 || !json_is(type, "RuntimeDefault"))
        policy_refuse(c, 3, at, "must be of type RuntimeDefault");
}

static void look_user(struct checker *c, const struct place *at)
{
    int64_t uid = 0;
    if (!json_int(at->value, &uid) || uid <= 0)
        policy_refuse(c, 3, at, "must be the number of a user, and not 0, which is root");
}

static const struct member_rule security[] = {{"runAsNonRoot", 3, ANY, 0, NULL},
                                              {"runAsUser", 3, LOOK, 0, look_user},
                                              {"runAsGroup", 3, ANY, 0, NULL},
                                              {"readOnlyRootFilesystem", 3, ANY, 0, NULL},
                                              {"allowPrivilegeEscalation", 3, OFF, 0, NULL},
                                              {"privileged", 3, OFF, 0, NULL},
                                              {"capabilities", 3, LOOK, 0, look_capabilities},
                                              {"seccompProfile", 3, LOOK, 0, look_seccomp},
                                              {"fsGroup", 3, ANY, 0, NULL},
                                              {"fsGroupChangePolicy", 3, ANY, 0, NULL},
                                              {"supplementalGroups", 3, ANY, 0, NULL},
                                              END};

static void look_security(struct checker *c, const struct place *at)
{
    policy_members(c, at, security, 3);
}

/* Hooks and probes run in the pod, or make the kubelet call another host. */
static void look_hook(struct checker *c, const struct place *at)
{
    if (!c->policy->sidecars)
        policy_refuse(c, 11, at, "is not allowed to a workload, unless the policy says sidecars: true");
}

static void look_resources(struct checker *c, const struct place *at)
{
    static const struct member_rule resources[] = {{"requests", 10, ANY, 0, NULL}, {"limits", 10, ANY, 0, NULL}, END};
    policy_members(c, at, resources, 10);
}

static const struct member_rule container[] = {{"name", 11, ANY, 0, NULL},
                                               {"image", 7, LOOK, 0, look_image},
                                               {"imagePullPolicy", 7, ANY, 0, NULL},
                                               {"command", 11, ANY, 0, NULL},
                                               {"args", 11, ANY, 0, NULL},
                                               {"workingDir", 11, ANY, 0, NULL},
                                               {"env", 6, LOOK, 0, look_env},
                                               {"envFrom", 6, LOOK, 0, look_env_from},
                                               {"ports", 3, LOOK, 0, look_ports},
                                               {"resources", 10, LOOK, 0, look_resources},
                                               {"volumeMounts", 4, LOOK, 0, look_mounts},
                                               {"volumeDevices", 4, NEVER, 0, NULL},
                                               {"securityContext", 3, LOOK, 0, look_security},
                                               {"lifecycle", 11, LOOK, 0, look_hook},
                                               {"livenessProbe", 11, LOOK, 0, look_hook},
                                               {"readinessProbe", 11, LOOK, 0, look_hook},
                                               {"startupProbe", 11, LOOK, 0, look_hook},
                                               {"restartPolicy", 11, LOOK, 0, look_hook},
                                               END};

/* ---- sizes ---- */

static bool has_caps(const struct work_size *most)
{
    return most->milli_cpu || most->memory || most->gpus;
}

/* types: NULL: of an operator that has none, or none are known to whoever asks (mobula policy check). */
static void check_type(struct checker *c, const struct place *template)
{
    const struct work_policy *p = c->policy;
    struct slice name = shape_type_named(template->value, c->r.arena);
    bool there = slice_empty(name) || !p->types || shape_type_find(p->types, name);
    if (!there && (has_caps(&p->pod) || has_caps(&p->all)))
        policy_refuse(c, WORK_RULE_RESOURCES, template, "names an instance type that is not there: how large its pods are is not known");
}

static void check_sizes(struct checker *c, const struct place *spec, const struct place *containers)
{
    struct work_size size;
    work_pod_size(spec->up->value, c->policy->types, c->r.arena, &size);
    const struct {
        int64_t is, may;
        const char *what;
    } caps[] = {{size.milli_cpu, c->policy->pod.milli_cpu, "ask for more CPU than the policy's maxPodCPU"},
                {size.memory, c->policy->pod.memory, "ask for more memory than the policy's maxPodMemory"},
                {size.gpus, c->policy->pod.gpus, "ask for more GPUs than the policy's maxPodGPU"}};
    for (size_t i = 0; i < COUNT_OF(caps); i++)
        if (caps[i].may && caps[i].is > caps[i].may)
            policy_refuse(c, WORK_RULE_RESOURCES, containers, caps[i].what);
}

/* ---- placement ---- */

static void look_node_selector(struct checker *c, const struct place *at)
{
    struct jval k, v;
    if (json_type(at->value) != JSON_OBJECT)
        policy_refuse(c, 9, at, "is no object");
    else
        for (struct jiter it = json_iter(at->value); json_next(&it, &k, &v);) {
            const struct place *one = place_member(at, json_str(k, c->r.arena), v);
            if (!policy_matches(c->policy, WORK_NODE_LABELS, one->key))
                policy_refuse(c, 9, one, "is no label of nodes in the policy's list: the administrator of the cluster can add it there");
        }
}

static void look_tolerations(struct checker *c, const struct place *at)
{
    static const struct member_rule toleration[] = {{"key", 9, LISTED, WORK_TOLERATIONS, NULL},
                                                    {"operator", 9, ANY, 0, NULL},
                                                    {"value", 9, ANY, 0, NULL},
                                                    {"effect", 9, ANY, 0, NULL},
                                                    {"tolerationSeconds", 9, ANY, 0, NULL},
                                                    END};
    struct jval k, v;
    size_t i = 0;
    policy_items(c, at, toleration, 9);
    for (struct jiter it = json_iter(at->value); json_next(&it, &k, &v); i++) {
        const struct place *one = place_element(at, i, v), *key = place_key(one, "key");
        if (!place_given(key))
            policy_refuse(c, 9, one, "tolerates every taint: name its key");
    }
}

static void look_expressions(struct checker *c, const struct place *at)
{
    static const struct member_rule expression[] = {
        {"key", 9, LISTED, WORK_NODE_LABELS, NULL}, {"operator", 9, ANY, 0, NULL}, {"values", 9, ANY, 0, NULL}, END};
    policy_items(c, at, expression, 9);
}

static void look_terms(struct checker *c, const struct place *at)
{
    static const struct member_rule term[] = {{"matchExpressions", 9, LOOK, 0, look_expressions}, END};
    policy_items(c, at, term, 9);
}

static void look_required(struct checker *c, const struct place *at)
{
    static const struct member_rule required[] = {{"nodeSelectorTerms", 9, LOOK, 0, look_terms}, END};
    policy_members(c, at, required, 9);
}

static void look_node_affinity(struct checker *c, const struct place *at)
{
    static const struct member_rule node[] = {{"requiredDuringSchedulingIgnoredDuringExecution", 9, LOOK, 0, look_required}, END};
    policy_members(c, at, node, 9);
}

static void look_affinity(struct checker *c, const struct place *at)
{
    static const struct member_rule affinity[] = {{"nodeAffinity", 9, LOOK, 0, look_node_affinity}, END};
    policy_members(c, at, affinity, 9);
}

/* ---- the pod ---- */

static void look_containers(struct checker *c, const struct place *at)
{
    policy_items(c, at, container, 11);
    if (json_len(at->value) > 1 && !c->policy->sidecars)
        policy_refuse(c, 11, at, "are more than Ray's own, which only a policy with sidecars: true allows");
}

static void look_init(struct checker *c, const struct place *at)
{
    policy_items(c, at, container, 11);
    look_hook(c, at);
}

static void look_pull_secrets(struct checker *c, const struct place *at)
{
    static const struct member_rule secret[] = {{"name", 8, LISTED, WORK_PULL_SECRETS, NULL}, END};
    policy_items(c, at, secret, 8);
}

static void look_grace(struct checker *c, const struct place *at)
{
    int64_t seconds = -1;
    if (!json_int(at->value, &seconds) || seconds < 0 || seconds > c->policy->grace_s)
        policy_refuse(
            c, 11, at,
            arena_printf(c->r.arena, "must be at most the policy's maxGracePeriodSeconds, %lld", (long long)c->policy->grace_s).ptr);
}

static const struct member_rule pod[] = {{"containers", 11, LOOK, 0, look_containers},
                                         {"initContainers", 11, LOOK, 0, look_init},
                                         {"volumes", 4, LOOK, 0, look_volumes},
                                         {"securityContext", 3, LOOK, 0, look_security},
                                         {"hostNetwork", 3, OFF, 0, NULL},
                                         {"hostPID", 3, OFF, 0, NULL},
                                         {"hostIPC", 3, OFF, 0, NULL},
                                         {"hostUsers", 3, OFF, 0, NULL},
                                         {"shareProcessNamespace", 3, OFF, 0, NULL},
                                         {"serviceAccountName", 5, LISTED, WORK_ACCOUNTS, NULL},
                                         {"serviceAccount", 5, LISTED, WORK_ACCOUNTS, NULL},
                                         {"automountServiceAccountToken", 5, OFF, 0, NULL},
                                         {"imagePullSecrets", 8, LOOK, 0, look_pull_secrets},
                                         {"nodeName", 9, NEVER, 0, NULL},
                                         {"nodeSelector", 9, LOOK, 0, look_node_selector},
                                         {"tolerations", 9, LOOK, 0, look_tolerations},
                                         {"affinity", 9, LOOK, 0, look_affinity},
                                         {"priorityClassName", 9, LISTED, WORK_PRIORITY_CLASSES, NULL},
                                         {"priority", 9, NEVER, 0, NULL},
                                         {"schedulerName", 9, LISTED, WORK_SCHEDULERS, NULL},
                                         {"runtimeClassName", 9, LISTED, WORK_RUNTIME_CLASSES, NULL},
                                         {"terminationGracePeriodSeconds", 11, LOOK, 0, look_grace},
                                         {"restartPolicy", 11, ANY, 0, NULL},
                                         {"enableServiceLinks", 11, ANY, 0, NULL},
                                         END};

/* Without a word of it Kubernetes mounts the token of the namespace's default account. */
static void check_token(struct checker *c, const struct place *spec)
{
    const struct place *name = place_key(spec, "serviceAccountName"), *old = place_key(spec, "serviceAccount"),
                       *mount = place_key(spec, "automountServiceAccountToken");
    if (!place_given(name) && !place_given(old) && !place_given(mount))
        policy_refuse(c, 5, mount, "is missing: must be false, or the token of the default account of the namespace is mounted");
}

void policy_pod(struct checker *c, const struct place *spec)
{
    const struct place *containers = place_key(spec, "containers");
    policy_members(c, spec, pod, 11);
    check_token(c, spec);
    check_type(c, spec->up);
    check_sizes(c, spec, containers);
}
