/* Whether an object may be written: the engine, and objects around pods. */
#include "policy.h"

#include <mobula/ray.h>
#include <mobula/work.h>
#include <mobula/yaml.h>

void policy_refuse(struct checker *c, uint32_t rule, const struct place *at, const char *what)
{
    if (!c->rule)
        c->rule = rule;
    place_bad(&c->r, at, "rule %s: %s", work_rules[rule].name, what);
}

/* "*" stands for any text, any number of times. */
static bool matches(struct slice pattern, struct slice text)
{
    struct slice rest = pattern, part = slice_cut(&rest, '*');
    if (!rest.ptr)
        return slice_eq(part, text);
    if (!slice_starts(text, part))
        return false;
    text = slice_skip(text, part.len);
    for (;;) {
        part = slice_cut(&rest, '*');
        if (!rest.ptr)
            return slice_ends(text, part);
        while (!slice_starts(text, part)) {
            if (slice_empty(text))
                return false;
            text = slice_skip(text, 1);
        }
        text = slice_skip(text, part.len);
    }
}

bool policy_matches(const struct work_policy *p, enum work_list list, struct slice text)
{
    for (uint32_t i = 0; i < p->allowed[list].count; i++)
        if (matches(p->allowed[list].list[i], text))
            return true;
    return false;
}

void policy_listed(struct checker *c, uint32_t rule, const struct place *at, enum work_list list)
{
    if (json_type(at->value) != JSON_STRING || !policy_matches(c->policy, list, json_str(at->value, c->r.arena)))
        policy_refuse(c, rule, at, "is not in the policy's list: the administrator of the cluster can add it there");
}

void policy_members(struct checker *c, const struct place *object, const struct member_rule *known, uint32_t other)
{
    struct jval k, v;
    if (!place_given(object))
        return;
    if (json_type(object->value) != JSON_OBJECT) {
        policy_refuse(c, other, object, "is no object");
        return;
    }
    for (struct jiter it = json_iter(object->value); json_next(&it, &k, &v);) {
        const struct place *at = place_member(object, json_str(k, c->r.arena), v);
        const struct member_rule *m = known;
        while (m->key && !slice_is(at->key, m->key))
            m++;
        if (!value_given(v))
            continue;
        if (!m->key)
            policy_refuse(c, other, at, "is not among the fields that a workload may set: remove it");
        else if (m->test == NEVER || (m->test == OFF && json_type(v) != JSON_BOOL) || (m->test == OFF && json_bool(v, true)))
            policy_refuse(c, m->rule, at, "is not allowed to a workload: remove it");
        else if (m->test == LISTED)
            policy_listed(c, m->rule, at, (enum work_list)m->list);
        else if (m->test == LOOK)
            m->look(c, at);
    }
}

void policy_items(struct checker *c, const struct place *list, const struct member_rule *known, uint32_t other)
{
    struct jval k, v;
    size_t i = 0;
    if (!place_given(list))
        return;
    if (json_type(list->value) != JSON_ARRAY)
        policy_refuse(c, other, list, "is no list");
    else
        for (struct jiter it = json_iter(list->value); json_next(&it, &k, &v); i++) {
            const struct place *one = place_element(list, i, v);
            policy_members(c, one, known, other);
            if (!place_given(one))
                policy_refuse(c, other, one, "is nothing");
        }
}

/* ---- metadata ---- */

static bool own_label(const struct work_policy *p, struct slice key, struct jval value)
{
    static const char *const ours[] = {
        WORK_LABEL_UID, WORK_LABEL_PROJECT, WORK_ANNOTATION_GENERATION, WORK_ANNOTATION_WORKLOAD, SHAPE_INSTANCE_TYPE,    SHAPE_ACCELERATOR,
        SHAPE_MARKET,   SHAPE_ZONE,         SHAPE_ZONE_TIMEOUT,         SHAPE_CROSS_ZONE,         SHAPE_STARTING_TIMEOUT, SHAPE_NODE_TYPE};
    for (size_t i = 0; i < COUNT_OF(ours); i++)
        if (slice_is(key, ours[i]))
            return true;
    if (slice_is(key, WORK_LABEL_MANAGED_BY))
        return json_is(value, WORK_MANAGED_BY);
    return slice_starts(key, SLICE(WORK_LABEL_TAG)) || policy_matches(p, WORK_LABELS, key);
}

static void look_labels(struct checker *c, const struct place *at)
{
    struct jval k, v;
    if (json_type(at->value) != JSON_OBJECT) {
        policy_refuse(c, 12, at, "is no object");
        return;
    }
    for (struct jiter it = json_iter(at->value); json_next(&it, &k, &v);) {
        const struct place *one = place_member(at, json_str(k, c->r.arena), v);
        if (json_type(v) != JSON_STRING || !own_label(c->policy, one->key, v))
            policy_refuse(c, 12, one, "is not mobula's own, and not in the policy's list of labels: remove it, or write it as a tag");
    }
}

static void look_name(struct checker *c, const struct place *at)
{
    struct slice name = json_str(at->value, c->r.arena), rest = name;
    if (slice_starts(name, c->policy->prefix))
        rest = slice_skip(name, c->policy->prefix.len);
    if (json_type(at->value) != JSON_STRING || !slice_starts(name, c->policy->prefix) || slice_empty(rest) || !name_dns1123_label(name))
        policy_refuse(c, 2, at, "must be the policy's namePrefix, then lower case letters, digits and dashes, at most 63 in all");
}

static const struct member_rule metadata[] = {{"name", 2, LOOK, 0, look_name},
                                              {"namespace", 1, LISTED, WORK_NAMESPACES, NULL},
                                              {"labels", 12, LOOK, 0, look_labels},
                                              {"annotations", 12, LOOK, 0, look_labels},
                                              {NULL, 0, ANY, 0, NULL}};

void policy_metadata(struct checker *c, const struct place *at)
{
    policy_members(c, at, metadata, 2);
}

/* ---- clusters and jobs ---- */

static void look_template_metadata(struct checker *c, const struct place *at)
{
    policy_members(c, at, metadata + 2, 12);
}

static void look_template(struct checker *c, const struct place *at)
{
    static const struct member_rule template[] = {
        {"metadata", 12, LOOK, 0, look_template_metadata}, {"spec", 11, LOOK, 0, policy_pod}, {NULL, 0, ANY, 0, NULL}};
    policy_members(c, at, template, 11);
}

static void look_empty(struct checker *c, const struct place *at)
{
    if (json_type(at->value) != JSON_OBJECT || json_len(at->value))
        policy_refuse(c, 11, at, "are words of a shell command: must be empty");
}

static const struct member_rule group[] = {{"groupName", 11, ANY, 0, NULL},
                                           {"replicas", 10, ANY, 0, NULL},
                                           {"minReplicas", 10, ANY, 0, NULL},
                                           {"maxReplicas", 10, ANY, 0, NULL},
                                           {"numOfHosts", 10, ANY, 0, NULL},
                                           {"idleTimeoutSeconds", 11, ANY, 0, NULL},
                                           {"resources", 11, ANY, 0, NULL},
                                           {"labels", 11, ANY, 0, NULL},
                                           {"rayStartParams", 11, LOOK, 0, look_empty},
                                           {"serviceType", 13, NEVER, 0, NULL},
                                           {"headService", 13, NEVER, 0, NULL},
                                           {"enableIngress", 14, NEVER, 0, NULL},
                                           {"ingressOptions", 14, NEVER, 0, NULL},
                                           {"template", 11, LOOK, 0, look_template},
                                           {NULL, 0, ANY, 0, NULL}};

static void look_group(struct checker *c, const struct place *at)
{
    policy_members(c, at, group, 11);
}

static void look_groups(struct checker *c, const struct place *at)
{
    struct jval k, v;
    int64_t pods = 1;
    policy_items(c, at, group, 11);
    if (json_type(at->value) == JSON_ARRAY)
        for (struct jiter it = json_iter(at->value); json_next(&it, &k, &v);)
            pods += work_group_pods(v);
    if (c->policy->pod.pods && pods > c->policy->pod.pods)
        policy_refuse(c, 10, at, "may become more pods than the policy's maxPods: lower maxReplicas (max_nodes)");
}

static void look_scaler(struct checker *c, const struct place *at)
{
    static const struct member_rule options[] = {{"idleTimeoutSeconds", 11, ANY, 0, NULL}, {NULL, 0, ANY, 0, NULL}};
    policy_members(c, at, options, 11);
}

static void look_cluster(struct checker *c, const struct place *at)
{
    static const struct member_rule cluster[] = {{"rayVersion", 11, ANY, 0, NULL},
                                                 {"suspend", 11, ANY, 0, NULL},
                                                 {"enableInTreeAutoscaling", 11, ANY, 0, NULL},
                                                 {"autoscalerOptions", 11, LOOK, 0, look_scaler},
                                                 {"headServiceAnnotations", 13, NEVER, 0, NULL},
                                                 {"headGroupSpec", 11, LOOK, 0, look_group},
                                                 {"workerGroupSpecs", 11, LOOK, 0, look_groups},
                                                 {NULL, 0, ANY, 0, NULL}};
    policy_members(c, at, cluster, 11);
}

/* Ray would start the program in another image, on its own and with rights of its own. */
static void look_env(struct checker *c, const struct place *at, struct jval env)
{
    static const char *const images[] = {"image_uri", "container"};
    for (size_t i = 0; i < COUNT_OF(images); i++)
        if (json_there(json_child(env, images[i])))
            policy_refuse(c, 7, at, "names an image of its own (image_uri, container): name it as the workload's image");
    policy_sources(c, at, env);
}

static void look_runtime_env(struct checker *c, const struct place *at)
{
    struct yaml_docs docs;
    struct jval doc;
    if (json_type(at->value) != JSON_STRING || !yaml_parse_runtime_env(json_str(at->value, c->r.arena), c->r.arena, &docs, NULL) ||
        docs.count > 1 || (docs.count == 1 && !json_read(&doc, docs.docs[0].json, c->r.arena, NULL)))
        policy_refuse(c, 11, at, "cannot be read");
    else if (docs.count)
        look_env(c, at, doc);
}

static void look_job(struct checker *c, const struct place *at)
{
    static const struct member_rule job[] = {{"entrypoint", 11, ANY, 0, NULL},
                                             {"submissionMode", 11, ANY, 0, NULL},
                                             {"backoffLimit", 10, ANY, 0, NULL},
                                             {"activeDeadlineSeconds", 11, ANY, 0, NULL},
                                             {"preRunningDeadlineSeconds", 11, ANY, 0, NULL},
                                             {"shutdownAfterJobFinishes", 11, ANY, 0, NULL},
                                             {"ttlSecondsAfterFinished", 11, ANY, 0, NULL},
                                             {"entrypointNumCpus", 11, ANY, 0, NULL},
                                             {"entrypointNumGpus", 11, ANY, 0, NULL},
                                             {"suspend", 11, ANY, 0, NULL},
                                             {"clusterSelector", 16, NEVER, 0, NULL},
                                             {"runtimeEnvYAML", 7, LOOK, 0, look_runtime_env},
                                             {"rayClusterSpec", 11, LOOK, 0, look_cluster},
                                             {NULL, 0, ANY, 0, NULL}};
    policy_members(c, at, job, 11);
}

/* ---- versions of a service ---- */

/* Runtime environments of applications, of their deployments, and of what a later version of Ray Serve may give one. */
static void look_envs(struct checker *c, const struct place *at, struct jval value)
{
    struct jval k, v;
    bool object = json_type(value) == JSON_OBJECT;
    if (!object && json_type(value) != JSON_ARRAY)
        return;
    for (struct jiter it = json_iter(value); json_next(&it, &k, &v);) {
        bool env = object && json_is(k, "runtime_env") && value_given(v);
        if (env && json_type(v) != JSON_OBJECT)
            policy_refuse(c, 11, at, "has a runtime_env that is no object");
        else if (env)
            look_env(c, at, v);
        else
            look_envs(c, at, v);
    }
}

static void look_applications(struct checker *c, const struct place *at)
{
    look_envs(c, at, at->value);
}

static void look_serve(struct checker *c, const struct place *at)
{
    static const struct member_rule serve[] = {{"applications", 11, LOOK, 0, look_applications}, {NULL, 0, ANY, 0, NULL}};
    struct jval doc;
    if (json_type(at->value) != JSON_STRING || !json_read(&doc, json_str(at->value, c->r.arena), c->r.arena, NULL))
        policy_refuse(c, 11, at, "is not the JSON of Serve's configuration");
    else
        policy_members(c, place_member(at->up, at->key, doc), serve, 11);
}

static void look_version(struct checker *c, const struct place *at)
{
    static const struct member_rule version[] = {
        {"serveConfigV2", 11, LOOK, 0, look_serve}, {"rayClusterConfig", 11, LOOK, 0, look_cluster}, {NULL, 0, ANY, 0, NULL}};
    policy_members(c, at, version, 11);
}

static void look_versions(struct checker *c, const struct place *at)
{
    static const struct member_rule version[] = {
        {"name", 11, ANY, 0, NULL}, {"weight", 11, ANY, 0, NULL}, {"rayServiceConfig", 11, LOOK, 0, look_version}, {NULL, 0, ANY, 0, NULL}};
    policy_items(c, at, version, 11);
}

/* gateway and ingressClassName are not checked: work_render takes them from the operator's settings. */
static void look_versioned(struct checker *c, const struct place *at)
{
    static const struct member_rule versioned[] = {{"gateway", WORK_RULE_HOSTS, ANY, 0, NULL},
                                                   {"ingressClassName", WORK_RULE_HOSTS, ANY, 0, NULL},
                                                   {"hostnames", WORK_RULE_HOSTS, ANY, 0, NULL},
                                                   {"auth", 11, ANY, 0, NULL},
                                                   {"rollout", 11, ANY, 0, NULL},
                                                   {"versions", 11, LOOK, 0, look_versions},
                                                   {NULL, 0, ANY, 0, NULL}};
    const struct place *hosts = place_key(at, "hostnames");
    struct jval k, v;
    size_t i = 0;
    policy_members(c, at, versioned, 11);
    if (json_type(hosts->value) != JSON_ARRAY || json_len(hosts->value) == 0) {
        policy_refuse(c, WORK_RULE_HOSTS, hosts, "names no host: a service without one would get the requests of all hosts");
        return;
    }
    for (struct jiter it = json_iter(hosts->value); json_next(&it, &k, &v); i++) {
        const struct place *host = place_element(hosts, i, v);
        policy_listed(c, WORK_RULE_HOSTS, host, WORK_HOSTS);
        if (slice_starts(json_str(v, c->r.arena), SLICE("*")))
            policy_refuse(c, WORK_RULE_HOSTS, host, "would get the requests of other services, too: name each host");
    }
}

/* ---- services ---- */

static void look_service_type(struct checker *c, const struct place *at)
{
    if (!json_is(at->value, "ClusterIP"))
        policy_refuse(c, 13, at, "must be ClusterIP");
}

static void look_service(struct checker *c, const struct place *at)
{
    static const struct member_rule port[] = {{"name", 13, ANY, 0, NULL},        {"port", 13, ANY, 0, NULL},
                                              {"targetPort", 13, ANY, 0, NULL},  {"protocol", 13, ANY, 0, NULL},
                                              {"appProtocol", 13, ANY, 0, NULL}, {NULL, 0, ANY, 0, NULL}};
    static const struct member_rule service[] = {{"type", 13, LOOK, 0, look_service_type},
                                                 {"clusterIP", 13, ANY, 0, NULL},
                                                 {"selector", 13, ANY, 0, NULL},
                                                 {"ports", 13, ANY, 0, NULL},
                                                 {"publishNotReadyAddresses", 13, ANY, 0, NULL},
                                                 {NULL, 0, ANY, 0, NULL}};
    const struct place *ports = place_key(at, "ports");
    policy_members(c, at, service, 13);
    policy_items(c, ports, port, 13);
}

/* ---- an object ---- */

static void look_metadata(struct checker *c, const struct place *at)
{
    const struct place *labels = place_key(at, "labels"), *uid = place_key(labels, WORK_LABEL_UID), *name = place_key(at, "name"),
                       *ns = place_key(at, "namespace");
    struct slice generation = json_str(json_child(json_get(at->value, "annotations"), WORK_ANNOTATION_GENERATION), c->r.arena);
    if (json_type(uid->value) == JSON_STRING && !slice_empty(generation))
        c->folder = work_folder_map(json_str(uid->value, c->r.arena), generation, c->r.arena);
    policy_metadata(c, at);
    if (!place_given(name))
        policy_refuse(c, 2, name, "is missing");
    if (!place_given(ns))
        policy_refuse(c, 1, ns, "is missing");
    if (json_type(uid->value) != JSON_STRING || slice_empty(json_str(uid->value, c->r.arena)))
        policy_refuse(c, 16, uid, "is missing: without it nobody knows whose the object is");
}

static void check_all(struct checker *c, const struct place *spec)
{
    struct work_size size;
    work_size(spec->value, c->policy->types, c->r.arena, &size);
    const char *limit = work_size_above(&size, &c->policy->all);
    if (limit)
        policy_refuse(c, WORK_RULE_RESOURCES, spec,
                      arena_printf(c->r.arena, "asks for more than the policy's %s, which is for all that runs", limit).ptr);
}

bool work_policy_check(const struct work_policy *policy, struct jval object, struct arena *a, struct spec_errors *refused, uint32_t *rule)
{
    enum { CLUSTERED = 3 /* the first kinds, whose pods count for the policy's totals */ };
    static const struct {
        const char *version, *kind;
        void (*look)(struct checker *c, const struct place *spec);
    } kinds[] = {{"ray.io/v1", "RayCluster", look_cluster},
                 {"ray.io/v1", "RayJob", look_job},
                 {"mobula.dev/v1", "VersionedService", look_versioned},
                 {"v1", "Pod", policy_pod},
                 {"v1", "Service", look_service}};
    static const struct member_rule whole[] = {
        {"apiVersion", 24, ANY, 0, NULL}, {"kind", 24, ANY, 0, NULL},    {"metadata", 2, ANY, 0, NULL}, {"spec", 24, ANY, 0, NULL},
        {"patches", 15, NEVER, 0, NULL},  {"patch", 15, NEVER, 0, NULL}, {NULL, 0, ANY, 0, NULL}};
    struct checker c = {.r = {.arena = a, .errors = refused}, .policy = policy};
    const struct place *root = place_root(object, a), *kind = place_key(root, "kind"), *version = place_key(root, "apiVersion"),
                       *meta = place_key(root, "metadata"), *spec = place_key(root, "spec");
    size_t k = 0;
    if (policy->frozen)
        policy_refuse(&c, 25, root, "the policy is frozen: nothing is written for a control plane until the administrator says so");
    while (k < COUNT_OF(kinds) && !(json_is(kind->value, kinds[k].kind) && json_is(version->value, kinds[k].version)))
        k++;
    policy_members(&c, root, whole, 24);
    if (k == COUNT_OF(kinds))
        policy_refuse(&c, json_is(kind->value, "Ingress") ? 14 : 24, kind,
                      "is none that a workload may be: only RayClusters, RayJobs and VersionedServices are");
    look_metadata(&c, meta);
    if (!place_given(spec))
        policy_refuse(&c, 24, spec, "is missing");
    else if (k < COUNT_OF(kinds))
        kinds[k].look(&c, spec);
    if (k < CLUSTERED)
        check_all(&c, spec);
    *rule = c.rule;
    return c.rule == 0;
}

bool work_owns(struct jval object, struct slice uid)
{
    struct jval labels = json_get(object, "metadata.labels");
    return !slice_empty(uid) && json_str_eq(json_child(labels, WORK_LABEL_UID), uid) &&
           json_is(json_child(labels, WORK_LABEL_MANAGED_BY), WORK_MANAGED_BY);
}
