#include "build.h"

/* Flags become words of a shell command: their names too. */
static bool is_flag_name(struct slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!alnum && (i == 0 || (c != '-' && c != '_')))
            return false;
    }
    return s.len > 0;
}

static void read_start_params(struct reader *r, const struct place *group, struct ray_group *g)
{
    const struct place *params = place_key(group, "rayStartParams");
    if (!read_text_map(r, params))
        return;
    g->start_params = params->value;
    struct jval k, v;
    for (struct jiter it = json_iter(params->value); json_next(&it, &k, &v);) {
        const struct place *at = place_member(params, json_str(k, r->arena), v);
        if (!is_flag_name(at->key))
            place_bad(r, at, "is no flag of ray start: letters, digits, - and _, without the leading dashes");
    }
}

static void read_resources(struct reader *r, const struct place *group, struct ray_group *g)
{
    const struct place *all = place_key(group, "resources");
    if (!read_text_map(r, all))
        return;
    g->resources = all->value;
    struct jval k, v;
    for (struct jiter it = json_iter(all->value); json_next(&it, &k, &v);) {
        const struct place *at = place_member(all, json_str(k, r->arena), v);
        int64_t n;
        struct err e = {0};
        if (slice_empty(at->key))
            place_bad(r, at, "is a resource without a name");
        if (!value_quantity(v, 3, &n, &e, r->arena))
            place_bad(r, at, "is no amount: %s", e.text);
        else if (n % 1000 && !slice_eq_nocase(at->key, SLICE("cpu")) && !slice_eq_nocase(at->key, SLICE("memory")) &&
                 !is_gpu_key(slice_lower(at->key, r->arena)))
            place_bad(r, at, "is %.*s: Ray takes whole numbers of a node's resource alone", SLICE_ARG(json_str(v, r->arena)));
    }
}

static void read_labels(struct reader *r, const struct place *group, struct ray_group *g)
{
    const struct place *all = place_key(group, "labels");
    if (!read_text_map(r, all))
        return;
    g->labels = all->value;
    struct jval k, v;
    for (struct jiter it = json_iter(all->value); json_next(&it, &k, &v);) {
        const struct place *at = place_member(all, json_str(k, r->arena), v);
        if (!name_qualified(at->key))
            place_bad(r, at, "is no label key: must be [prefix/]name of letters, digits, - _ and .");
        if (!name_label_value(json_str(v, r->arena)))
            place_bad(r, at, "is no label value: at most 63 letters, digits, - _ and .");
    }
}

static void read_common(struct reader *r, const struct place *group, struct ray_group *g)
{
    const struct place *template = place_key(group, "template");
    if (read_object(r, template, REQUIRED)) {
        g->template = template->value;
        check_pod_template(r, template, RAY_TOOLS_VOLUME);
    }
    read_start_params(r, group, g);
    read_resources(r, group, g);
    read_labels(r, group, g);
}

static void read_head_service(struct reader *r, const struct place *head)
{
    static const char *const types[] = {"", "ClusterIP", "NodePort", "LoadBalancer", NULL};
    const struct place *type = place_key(head, "serviceType"), *service = place_key(head, "headService");
    struct slice text;
    read_word(r, type, types, &text);
    if (!read_object(r, service, OPTIONAL))
        return;
    const struct place *meta = place_key(service, "metadata"), *spec = place_key(service, "spec");
    if (read_object(r, meta, OPTIONAL)) {
        const struct place *name = place_key(meta, "name"), *labels = place_key(meta, "labels"), *notes = place_key(meta, "annotations");
        if (read_text(r, name, OPTIONAL, &text) && !slice_empty(text) && !name_dns1035_label(text))
            place_bad(r, name, "is no name of a service: at most 63 lower case letters, digits and dashes, a letter first");
        read_text_map(r, labels);
        read_text_map(r, notes);
    }
    if (!read_object(r, spec, OPTIONAL))
        return;
    const struct place *ports = place_key(spec, "ports"), *own_type = place_key(spec, "type");
    read_word(r, own_type, types, &text);
    if (!read_array(r, ports, OPTIONAL))
        return;
    for (size_t i = 0; i < json_len(ports->value); i++) {
        const struct place *at = place_element(ports, i, json_at(ports->value, i)), *name = place_key(at, "name"),
                           *port = place_key(at, "port");
        int64_t n;
        if (!read_object(r, at, REQUIRED))
            continue;
        read_text(r, name, REQUIRED, &text); /* ports without a name are for services with one port, and ours join these */
        if (!place_given(port))
            place_bad(r, port, "is missing: must be a number");
        read_int(r, port, 1, 65535, &n);
    }
}

static void read_head(struct reader *r, const struct place *spec, struct ray_cluster *c)
{
    const struct place *head = place_key(spec, "headGroupSpec");
    if (!read_object(r, head, REQUIRED))
        return;
    read_common(r, head, &c->head);
    read_head_service(r, head);
    read_ingress(r, head);
    c->ports.gcs = start_port(&c->head, "port", RAY_GCS_PORT, r->arena);
    c->ports.dashboard = start_port(&c->head, "dashboard-port", RAY_DASHBOARD_PORT, r->arena);
    c->ports.dashboard_agent = start_port(&c->head, "dashboard-agent-listen-port", RAY_AGENT_PORT, r->arena);
    check_v1_group(r, spec, head, c, &c->head);
}

static void read_workers_to_delete(struct reader *r, const struct place *group, struct ray_group *g)
{
    const struct place *strategy = place_key(group, "scaleStrategy");
    if (!read_object(r, strategy, OPTIONAL))
        return;
    const struct place *names = place_key(strategy, "workersToDelete");
    if (!read_text_list(r, names))
        return;
    size_t count = json_len(names->value);
    g->workers_to_delete = arena_array(r->arena, count, sizeof *g->workers_to_delete);
    g->workers_to_delete_count = (uint32_t)count;
    struct jval k, v;
    size_t i = 0;
    for (struct jiter it = json_iter(names->value); json_next(&it, &k, &v);)
        g->workers_to_delete[i++] = json_str(v, r->arena);
}

static void read_numbers(struct reader *r, const struct place *group, struct ray_group *g)
{
    const struct place *replicas = place_key(group, "replicas"), *min = place_key(group, "minReplicas"),
                       *max = place_key(group, "maxReplicas");
    const struct place *hosts = place_key(group, "numOfHosts"), *idle = place_key(group, "idleTimeoutSeconds");
    int64_t n = 0, least = 0, most = INT32_MAX, pods = 1;
    read_int(r, replicas, 0, INT32_MAX, &n);
    bool ok = read_int(r, min, 0, INT32_MAX, &least);
    ok |= read_int(r, max, 0, INT32_MAX, &most);
    if (ok && least > most)
        place_bad(r, min, "is %lld, above maxReplicas %lld: lower it or raise maxReplicas", (long long)least, (long long)most);
    read_int(r, hosts, 1, LIMIT_RAY_HOSTS, &pods);
    read_int(r, idle, 0, INT32_MAX, &g->idle_timeout_s);
    g->replicas = (int32_t)n;
    g->min = (int32_t)least;
    g->max = (int32_t)most;
    g->hosts = (int32_t)pods;
}

struct slice ray_clamp_text(const struct ray_cluster *c, const struct ray_group *g, struct arena *a)
{
    bool above = g->replicas > g->max, below = g->replicas < g->min;
    if (c->kind != RAY_V1 || c->scale.on || g->head || g->suspended || !(above || below))
        return SLICE_NONE;
    int32_t made = above ? g->max : g->min;
    return arena_printf(a, "group %.*s: replicas %d is %s %d, so %d %s made", SLICE_ARG(g->name), (int)g->replicas,
                        above ? "above maxReplicas" : "below minReplicas", (int)made, (int)made, made == 1 ? "is" : "are");
}

static void check_group_name(struct reader *r, const struct place *at, const struct ray_cluster *c, const struct ray_group *g)
{
    enum { LABEL_MAX = 63, REPLICA_NAME_MAX = LABEL_MAX - 1 - NAME_SUFFIX };
    if (slice_empty(g->name) || !name_label_value(g->name))
        place_bad(r, at, "is \"%.*s\": must be 1 to 63 letters, digits, - _ and ., as it becomes a label",
                  SLICE_ARG(slice_head(g->name, 70)));
    else if (slice_is(g->name, RAY_HEAD_GROUP))
        place_bad(r, at, "is " RAY_HEAD_GROUP ", which is the head's: choose another");
    else if (g->hosts > 1 && g->name.len > REPLICA_NAME_MAX)
        place_bad(r, at, "has %zu bytes: at most %d in a group with numOfHosts above 1", g->name.len, (int)REPLICA_NAME_MAX);
    for (uint32_t i = 0; i < c->group_count && &c->groups[i] < g; i++)
        if (slice_eq(c->groups[i].name, g->name))
            place_bad(r, at, "is \"%.*s\", as that of workerGroupSpecs[%u]: names of groups must differ", SLICE_ARG(g->name), i);
}

static void read_group(struct reader *r, const struct place *spec, const struct place *group, struct ray_cluster *c, struct ray_group *g)
{
    const struct place *name = place_key(group, "groupName"), *suspend = place_key(group, "suspend");
    read_numbers(r, group, g);
    if (read_text(r, name, REQUIRED, &g->name))
        check_group_name(r, name, c, g);
    read_flag(r, suspend, &g->suspended);
    read_workers_to_delete(r, group, g);
    read_common(r, group, g);
    check_v1_group(r, spec, group, c, g);
}

static void read_groups(struct reader *r, const struct place *spec, struct ray_cluster *c)
{
    const struct place *list = place_key(spec, "workerGroupSpecs");
    if (!read_array(r, list, OPTIONAL))
        return;
    size_t count = json_len(list->value);
    if (count > LIMIT_RAY_GROUPS) {
        place_bad(r, list, "has %zu groups: at most %d (LIMIT_RAY_GROUPS)", count, (int)LIMIT_RAY_GROUPS);
        count = LIMIT_RAY_GROUPS;
    }
    c->groups = arena_array(r->arena, count, sizeof *c->groups);
    struct ray_group empty = c->head;
    empty.name = SLICE("");
    empty.head = false;
    empty.template = empty.start_params = empty.resources = empty.labels = NO_VALUE;
    size_t i = 0;
    struct jval k, v;
    for (struct jiter it = json_iter(list->value); i < count && json_next(&it, &k, &v); i++) {
        const struct place *at = place_element(list, i, v);
        c->groups[i] = empty;
        c->groups[i].replicas = c->groups[i].min = c->groups[i].desired = 0;
        c->group_count = (uint32_t)i + 1;
        if (read_object(r, at, REQUIRED))
            read_group(r, spec, at, c, &c->groups[i]);
    }
}

/* KubeRay's own name is the default, and this operator takes its place. */
bool ray_managed_elsewhere(struct slice managed_by)
{
    return !slice_empty(managed_by) && !slice_is(managed_by, "ray.io/kuberay-operator");
}

static void read_options(struct reader *r, const struct place *spec, struct ray_cluster *c)
{
    static const char *const strategies[] = {"Recreate", "None", NULL};
    const struct place *version = place_key(spec, "rayVersion"), *suspend = place_key(spec, "suspend"),
                       *managed = place_key(spec, "managedBy");
    const struct place *scaling = place_key(spec, "enableInTreeAutoscaling"), *upgrade = place_key(spec, "upgradeStrategy");
    const struct place *annotations = place_key(spec, "headServiceAnnotations");
    struct slice text;
    read_text(r, version, OPTIONAL, &c->ray_version);
    read_flag(r, suspend, &c->suspend);
    read_flag(r, scaling, &c->scale.on);
    if (read_text(r, managed, OPTIONAL, &text))
        c->managed_elsewhere = ray_managed_elsewhere(text);
    if (read_object(r, upgrade, OPTIONAL)) {
        const struct place *type = place_key(upgrade, "type");
        if (read_word(r, type, strategies, &text))
            c->recreate = slice_is(text, "Recreate");
    }
    read_text_map(r, annotations);
}

/* Two services of one name would be applied in turn for ever. */
static void check_service_names(struct reader *r, const struct place *spec, const struct ray_cluster *c)
{
    const struct place *service = place_key(place_key(spec, "headGroupSpec"), "headService"),
                       *name = place_key(place_key(service, "metadata"), "name");
    for (enum ray_service k = RAY_SERVICE_HEAD + 1; k < RAY_SERVICES; k++)
        if (ray_wants_service(c, k) && json_str_eq(name->value, ray_service_name(c, k, r->arena)))
            place_bad(r, name, "is the name of another service of this cluster: choose another");
}

void read_v1(struct reader *r, const struct place *spec, struct ray_cluster *c)
{
    read_options(r, spec, c);
    read_head(r, spec, c);
    read_groups(r, spec, c);
    read_desired(r, spec, c);
    check_v1(r, spec, c);
    check_v1_features(r, spec);
    check_auth(r, spec, c);
    check_tls_options(r, spec, c);
    check_service_names(r, spec, c);
}
