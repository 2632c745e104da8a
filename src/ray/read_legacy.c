#include "build.h"

enum { DEFAULT_MAX_WORKERS = 2, DEFAULT_IDLE_MINUTES = 5 };

static void read_commands(struct reader *r, const struct place *object, const char *key, struct jval *out)
{
    const struct place *list = place_key(object, key);
    if (read_text_list(r, list))
        *out = list->value;
}

/* An empty list says nothing, as all through Kubernetes: a node that runs no command would end at once. */
static void read_start_commands(struct reader *r, const struct place *spec, struct ray_group *g)
{
    struct jval list = g->start_commands;
    read_commands(r, spec, g->head ? "headStartRayCommands" : "workerStartRayCommands", &list);
    if (json_len(list) > 0)
        g->start_commands = list;
}

static void read_pod_config(struct reader *r, const struct place *type, struct ray_group *g)
{
    const struct place *pod = place_key(type, "podConfig"), *meta = place_key(pod, "metadata"), *prefix = place_key(meta, "generateName");
    struct slice text;
    bool several;
    if (!read_object(r, pod, REQUIRED))
        return;
    g->template = pod->value;
    check_pod_template(r, pod, RAY_TOOLS_VOLUME);
    if (read_text(r, prefix, OPTIONAL, &text)) {
        struct slice name = arena_printf(r->arena, "%.*sx", SLICE_ARG(text)); /* the end comes later, so it may be a dash */
        if (!slice_empty(text) && !name_dns1123_subdomain(name))
            place_bad(r, prefix, "is \"%.*s\": must be lower case letters, digits, dashes and dots", SLICE_ARG(slice_head(text, 60)));
    }
    const struct place *spec = place_key(pod, "spec"), *containers = place_key(spec, "containers");
    const struct place *first = place_element(containers, 0, json_at(containers->value, 0)), *resources = place_key(first, "resources");
    legacy_gpu_key(first->value, &several, r->arena);
    if (several)
        place_bad(r, resources, "names more than one kind of GPU: Ray counts them as one, so use one per pod type");
}

static void read_ray_resources(struct reader *r, const struct place *type, struct ray_group *g)
{
    const struct place *all = place_key(type, "rayResources");
    if (!read_object(r, all, OPTIONAL))
        return;
    g->resources = all->value;
    struct jval k, v;
    for (struct jiter it = json_iter(all->value); json_next(&it, &k, &v);) {
        const struct place *at = place_member(all, json_str(k, r->arena), v);
        double n;
        if (slice_empty(at->key))
            place_bad(r, at, "is a resource without a name");
        if (!json_num(v, &n) || n < 0)
            place_bad(r, at, "must be a number, 0 or more, without quotes");
    }
}

static void check_type_name(struct reader *r, const struct place *at, struct slice name)
{
    if (slice_empty(name) || !name_label_value(name))
        place_bad(r, at, "is \"%.*s\": must be 1 to 63 letters, digits, - _ and ., as it becomes a label", SLICE_ARG(slice_head(name, 70)));
}

static void read_type(struct reader *r, const struct place *spec, const struct place *type, int64_t max_workers, struct ray_group *g)
{
    const struct place *name = place_key(type, "name"), *min = place_key(type, "minWorkers"), *max = place_key(type, "maxWorkers");
    int64_t least = 0, most = max_workers;
    if (read_text(r, name, REQUIRED, &g->name))
        check_type_name(r, name, g->name);
    bool ok = read_int(r, min, 0, INT32_MAX, &least);
    ok |= read_int(r, max, 0, INT32_MAX, &most);
    if (!g->head) { /* there is one head, whatever its numbers say */
        if (ok && least > most)
            place_bad(r, min, "is %lld, above maxWorkers %lld: lower it or raise maxWorkers%s", (long long)least, (long long)most,
                      place_given(max) ? "" : " of the cluster");
        g->min = g->replicas = (int32_t)least;
        g->max = (int32_t)most;
    }
    read_pod_config(r, type, g);
    read_ray_resources(r, type, g);
    read_commands(r, type, "setupCommands", &g->setup_commands);
    read_commands(r, type, "workerSetupCommands", &g->setup_commands);
    read_start_commands(r, spec, g);
}

static void check_unique(struct reader *r, const struct place *types, size_t i, struct jval type)
{
    const struct place *at = place_element(types, i, type), *name = place_key(at, "name");
    struct slice text = json_str(name->value, r->arena);
    for (size_t k = 0; k < i && text.ptr; k++)
        if (json_str_eq(json_get(json_at(types->value, k), "name"), text)) {
            place_bad(r, name, "is \"%.*s\", as that of podTypes[%zu]: names of pod types must differ", SLICE_ARG(slice_head(text, 60)), k);
            return;
        }
}

static void read_types(struct reader *r, const struct place *spec, struct slice head_type, int64_t max_workers, struct ray_cluster *c)
{
    const struct place *types = place_key(spec, "podTypes"), *head = place_key(spec, "headPodType");
    bool found = false;
    if (!read_array(r, types, REQUIRED))
        return;
    size_t count = json_len(types->value), i = 0;
    if (count > LIMIT_RAY_GROUPS + 1) {
        place_bad(r, types, "has %zu pod types: at most %d and the head's (LIMIT_RAY_GROUPS)", count, (int)LIMIT_RAY_GROUPS);
        count = LIMIT_RAY_GROUPS + 1;
    }
    struct ray_group empty = c->head;
    empty.head = false;
    empty.replicas = empty.min = empty.max = empty.desired = 0;
    c->groups = arena_array(r->arena, count, sizeof *c->groups);
    struct jval k, v;
    for (struct jiter it = json_iter(types->value); i < count && json_next(&it, &k, &v); i++) {
        const struct place *at = place_element(types, i, v);
        if (!read_object(r, at, REQUIRED))
            continue;
        bool is_head = !found && head_type.ptr && json_str_eq(json_get(v, "name"), head_type);
        if (!is_head)
            c->groups[c->group_count] = empty;
        read_type(r, spec, at, max_workers, is_head ? &c->head : &c->groups[c->group_count++]);
        check_unique(r, types, i, v);
        found |= is_head;
    }
    if (head_type.ptr && !found)
        place_bad(r, head, "is \"%.*s\": must be the name of one of podTypes", SLICE_ARG(slice_head(head_type, 60)));
}

static void read_service_ports(struct reader *r, const struct place *spec, const struct ray_cluster *c)
{
    const struct place *list = place_key(spec, "headServicePorts");
    if (!read_array(r, list, OPTIONAL))
        return;
    size_t i = 0;
    struct jval k, v;
    for (struct jiter it = json_iter(list->value); json_next(&it, &k, &v); i++) {
        const struct place *at = place_element(list, i, v);
        if (!read_object(r, at, REQUIRED))
            continue;
        const struct place *name = place_key(at, "name"), *port = place_key(at, "port"), *target = place_key(at, "targetPort");
        struct slice text;
        int64_t number = 0, to = 0;
        if (read_text(r, name, REQUIRED, &text) && !name_dns1123_label(text))
            place_bad(r, name, "is no name of a port: lower case letters, digits and dashes");
        if (!place_given(port))
            place_bad(r, port, "is missing: must be a number");
        read_int(r, port, 1, 65535, &number);
        if (place_type(target) != JSON_STRING) {
            if (!place_given(target))
                place_bad(r, target, "is missing: must be a number or the name of a port");
            read_int(r, target, 1, 65535, &to);
        }
        bool gcs = number == c->ports.gcs;
        if ((gcs && place_type(target) == JSON_NUMBER && to != number) || (!gcs && json_is(name->value, "gcs-server")))
            place_bad(r, at, "must lead from %d to %d, as workers reach the head by it", (int)c->ports.gcs, (int)c->ports.gcs);
    }
}

/* No more workers than the cluster may have; the old autoscaler refused to start too. */
static void check_sum(struct reader *r, const struct place *spec, int64_t max_workers, const struct ray_cluster *c)
{
    const struct place *max = place_key(spec, "maxWorkers");
    int64_t sum = 0;
    for (uint32_t i = 0; i < c->group_count; i++)
        sum += c->groups[i].min;
    if (sum > max_workers)
        place_bad(r, max, "is %lld%s, below the sum of minWorkers, %lld: raise it", (long long)max_workers,
                  place_given(max) ? "" : " when not set", (long long)sum);
}

static void read_head_commands(struct reader *r, const struct place *spec, struct ray_cluster *c)
{
    const struct place *list = place_key(spec, "headStartRayCommands");
    size_t i = 0;
    struct jval k, v;
    for (struct jiter it = json_iter(list->value); json_next(&it, &k, &v); i++) {
        struct slice text = json_str(v, r->arena);
        const struct place *at = place_element(list, i, v);
        if (slice_has(text, "redis-password"))
            place_bad(r, at, "sets redis-password, which this kind never supported: remove it");
    }
    if (!legacy_gcs_port(list->value, r->arena, &c->ports.gcs))
        place_bad(r, list, "has a --port that is no number from 1 to 65535: workers must know it");
}

void read_legacy(struct reader *r, const struct place *spec, struct ray_cluster *c)
{
    const struct place *max = place_key(spec, "maxWorkers"), *idle = place_key(spec, "idleTimeoutMinutes"),
                       *speed = place_key(spec, "upscalingSpeed");
    const struct place *head_type = place_key(spec, "headPodType");
    static const char *const setups[] = {"SetupCommands", "headSetupCommands", "workerSetupCommands"};
    struct slice head_name = SLICE_NONE;
    struct jval ignored;
    int64_t max_workers = DEFAULT_MAX_WORKERS, minutes = DEFAULT_IDLE_MINUTES;
    double multiple = 1;
    c->recreate = true;
    c->scale.on = true; /* this kind knows no other way */
    bool max_known = read_int(r, max, 0, LIMIT_RAY_PODS, &max_workers) || !place_given(max);
    read_int(r, idle, 0, INT32_MAX, &minutes);
    if (place_given(speed) && (!json_num(speed->value, &multiple) || multiple < 0))
        place_bad(r, speed, "must be a number, 0 or more");
    for (size_t i = 0; i < COUNT_OF(setups); i++)
        read_commands(r, spec, setups[i], &ignored);
    c->head.idle_timeout_s = c->scale.idle_timeout_s = minutes * 60;
    c->scale.upscaling_speed = multiple > 0 ? multiple : 1; /* as the old autoscaler took 0 */
    c->scale.max_workers = (int32_t)max_workers;
    read_head_commands(r, spec, c);
    read_text(r, head_type, REQUIRED, &head_name);
    read_types(r, spec, head_name, max_workers, c);
    read_service_ports(r, spec, c);
    if (max_known)
        check_sum(r, spec, max_workers, c);
    read_desired(r, spec, c);
}
