/* Cases of Ray's v2, put to the whole decision. Run are those whose answer is the same by v1's rules; the others are skipped and say which
 * rule of v2 they rest on. */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>

enum { NOW_MS = 1000000 };
static const int64_t now_us = 1800000000000000;

struct scene {
    struct kase *k;
    struct ray_cluster cluster;
    struct ray_offer *offers;
    struct pod *pods;
    const struct pod **list;
    struct ray_node *nodes;
    struct ray_state state;
    uint32_t pod_count;
    struct slice head_type; /* of an instance that is the head */
    bool headless;          /* no instance is one */
};

static void read_labels(struct kase *k, struct jval labels, struct ray_offer *out)
{
    struct ray_label *list = arena_array(k->a, json_len(labels), sizeof *list);
    struct jval key, v;
    for (struct jiter it = json_iter(labels); json_next(&it, &key, &v);)
        list[out->label_count++] = (struct ray_label){json_str(key, k->a), json_str(v, k->a)};
    out->labels = list;
}

static void read_types(struct scene *s)
{
    static const char *const words[] = {"name", "resources", "min", "max", "hash", "labels", NULL};
    struct kase *k = s->k;
    size_t count = json_len(k->types);
    struct jval key, v;
    s->cluster.groups = arena_array(k->a, count, sizeof *s->cluster.groups);
    s->offers = arena_array(k->a, count + 1, sizeof *s->offers);
    for (struct jiter it = json_iter(k->types); json_next(&it, &key, &v);) {
        struct ray_group *g = &s->cluster.groups[s->cluster.group_count++];
        kase_known(k, v, "a node type", words);
        g->name = json_str(json_key(v, SLICE("name")), k->a);
        g->hosts = 1;
        g->idle_timeout_s = -1;
        g->max = (int32_t)kase_int(v, "max", NULL, 0) - slice_eq(g->name, s->head_type);
        g->min = (int32_t)kase_int(v, "min", NULL, 0);
        s->offers[s->cluster.group_count].bundle = kase_bundle(k, json_key(v, SLICE("resources")));
        read_labels(k, json_key(v, SLICE("labels")), &s->offers[s->cluster.group_count]);
        if (g->min > g->max && !slice_eq(g->name, s->head_type))
            kase_skip(k, "a type whose min is above its max");
    }
}

static struct slice type_hash(const struct scene *s, struct slice type)
{
    struct jval key, v;
    for (struct jiter it = json_iter(s->k->types); json_next(&it, &key, &v);)
        if (json_str_eq(json_key(v, SLICE("name")), type))
            return json_str(json_key(v, SLICE("hash")), s->k->a);
    return SLICE_NONE;
}

static struct ray_node *add_node(struct scene *s, const struct pod *pod)
{
    struct ray_node *n = &s->nodes[s->state.node_count++];
    char *id = arena_alloc(s->k->a, RAY_NODE_ID);
    memcpy(id, pod->name, strlen(pod->name) < RAY_NODE_ID ? strlen(pod->name) : RAY_NODE_ID);
    *n = (struct ray_node){.id = {id, RAY_NODE_ID}, .instance_id = slice_of(pod->name), .status = RAY_NODE_RUNNING};
    return n;
}

static struct pod *add_pod(struct scene *s, const char *name, struct slice group)
{
    struct pod *pod = &s->pods[s->pod_count];
    snprintf(pod->name, sizeof pod->name, "%s", name);
    pod->group = group;
    pod->index = (int32_t)s->pod_count;
    s->list[s->pod_count++] = pod;
    return pod;
}

static bool one_of(struct slice text, const char *const *words)
{
    while (*words && !slice_eq(text, slice_of(*words)))
        words++;
    return *words != NULL;
}

static void read_instance(struct scene *s, struct jval v)
{
    static const char *const words[] = {"type", "instance_id", "ray_node_id", "ray", "status", "head", "launch_config_hash", "count", NULL};
    static const char *const ray_words[] = {"total", "available", "idle_duration_ms", NULL};
    static const char *const waits[] = {"QUEUED", "REQUESTED", "ALLOCATED", "RAY_INSTALLING", NULL};
    struct kase *k = s->k;
    struct slice type = json_str(json_key(v, SLICE("type")), k->a), id = json_str(json_key(v, SLICE("instance_id")), k->a);
    struct slice status = json_str(json_key(v, SLICE("status")), k->a), hash = json_str(json_key(v, SLICE("launch_config_hash")), k->a);
    struct jval ray = json_key(v, SLICE("ray"));
    bool head = json_bool(json_key(v, SLICE("head")), false);
    kase_known(k, v, "an instance", words);
    kase_known(k, ray, "a node", ray_words);
    if (hash.ptr && !head && !slice_eq(hash, type_hash(s, type)) &&
        !json_bool(json_key(k->input, SLICE("disable_launch_config_check")), false))
        kase_skip(k, "outdated nodes: the operator replaces pods of an older template before it scales");
    if (type_hash(s, type).ptr == NULL && hash.ptr)
        kase_skip(k, "outdated nodes of a type that is gone: the operator deletes pods of groups that are gone before it scales");
    if (!slice_empty(status) && !one_of(status, waits) && !slice_eq(status, SLICE("RAY_RUNNING"))) {
        kase_skip(k, "the instance state %.*s: there is none but the pod's and the node's", SLICE_ARG(status));
        return;
    }
    if (slice_empty(id) || json_there(json_key(v, SLICE("count"))))
        id = arena_printf(k->a, "%.*s-%u", SLICE_ARG(slice_empty(id) ? type : id), s->pod_count);
    struct pod *pod = add_pod(s, arena_dup(k->a, id).ptr, type);
    pod->head = head;
    pod->phase = json_there(ray) || head ? POD_RUNNING : POD_PENDING;
    if (!json_there(ray) && !head)
        return;
    struct ray_node *n = add_node(s, pod);
    n->total = kase_bundle(k, json_key(ray, SLICE("total")));
    n->available = kase_bundle(k, json_key(ray, SLICE("available")));
    n->idle_ms = kase_int(ray, "idle_duration_ms", NULL, 0);
    if (n->idle_ms > 0)
        n->status = RAY_NODE_IDLE;
}

static void read_instances(struct scene *s)
{
    struct jval list = json_key(s->k->input, SLICE("instances")), key, v;
    size_t most = 1;
    for (struct jiter it = json_iter(list); json_next(&it, &key, &v);)
        most += (size_t)kase_int(v, "count", NULL, 1);
    s->pods = arena_array(s->k->a, most, sizeof *s->pods);
    s->list = arena_array(s->k->a, most, sizeof(struct pod *));
    s->nodes = arena_array(s->k->a, most, sizeof *s->nodes);
    bool head = false;
    for (struct jiter it = json_iter(list); json_next(&it, &key, &v);) {
        for (int64_t n = kase_int(v, "count", NULL, 1); n > 0; n--)
            read_instance(s, v);
        if (!json_bool(json_key(v, SLICE("head")), false))
            continue;
        head = true;
        s->head_type = json_str(json_key(v, SLICE("type")), s->k->a);
    }
    int64_t nodes = kase_int(s->k->input, "max_num_nodes", NULL, INT32_MAX);
    s->cluster.scale.max_workers = (int32_t)(nodes == INT32_MAX ? nodes : nodes - head);
    s->headless = !head;
    if (!head) { /* v2's tests decide without one, here nothing is decided then: this one offers nothing, and no limit counts it */
        struct pod *pod = add_pod(s, "the-head", SLICE("headgroup"));
        pod->head = true;
        add_node(s, pod);
    }
}

static void constrain(struct kase *k, struct ray_request *r, struct jval list, bool gang)
{
    struct jval key, v;
    for (struct jiter it = json_iter(list); json_next(&it, &key, &v);) {
        struct slice label = json_str(json_at(v, 1), k->a), value = json_str(json_at(v, 2), k->a);
        if (!gang)
            kase_skip(k, "a constraint on a request that is of no placement group: v1 has none");
        else if (json_str_eq(json_at(v, 0), SLICE("AFFINITY")) && !r->affinity.ptr && !r->anti_affinity.ptr)
            r->affinity = label, r->affinity_value = value;
        else if (json_str_eq(json_at(v, 0), SLICE("ANTI_AFFINITY")) && !r->affinity.ptr && !r->anti_affinity.ptr)
            r->anti_affinity = label, r->anti_affinity_value = value;
        else
            kase_skip(k, "a request of several constraints: Ray sends none such");
    }
}

static void read_selector(struct kase *k, struct ray_request *r, struct jval labels)
{
    struct ray_condition *list = arena_array(k->a, json_len(labels), sizeof *list);
    struct ray_selector *all = arena_new(k->a, struct ray_selector);
    struct jval key, v;
    for (struct jiter it = json_iter(labels); json_next(&it, &key, &v);) {
        struct slice *value = arena_new(k->a, struct slice);
        *value = json_str(v, k->a);
        list[all->count++] = (struct ray_condition){.key = json_str(key, k->a), .values = value, .value_count = 1};
    }
    all->list = list;
    r->selectors = all;
    r->selector_count = all->count > 0;
}

static struct ray_demands read_requests(struct kase *k, struct jval list, bool gang)
{
    static const char *const words[] = {"shape", "count", "constraints", "label_selector", NULL};
    struct ray_demand *out = arena_array(k->a, json_len(list), sizeof *out);
    struct ray_demands all = {.list = out};
    struct jval key, v;
    for (struct jiter it = json_iter(list); json_next(&it, &key, &v);) {
        struct ray_demand *d = &out[all.count++];
        kase_known(k, v, "a request", words);
        d->request.bundle = kase_bundle(k, json_key(v, SLICE("shape")));
        d->count = kase_int(v, "count", NULL, 1);
        constrain(k, &d->request, json_key(v, SLICE("constraints")), gang);
        read_selector(k, &d->request, json_key(v, SLICE("label_selector")));
    }
    return all;
}

/* With a head it has a place at once. */
static void check_needs(struct scene *s)
{
    for (uint32_t i = 0; s->headless && i < s->state.demands.count; i++)
        if (s->state.demands.list[i].request.bundle.count == 0)
            kase_skip(s->k, "a request that needs nothing, and no head: there is always a head here, and it has the place");
}

static void read_gang(struct scene *s, struct jval list, struct ray_gang *g)
{
    struct ray_demands all = read_requests(s->k, list, true);
    int64_t n = 0, tied = 0, apart = 0;
    for (uint32_t i = 0; i < all.count; i++) {
        const struct ray_demand *d = &all.list[i];
        n += d->count;
        tied += d->request.affinity.ptr && slice_eq(d->request.affinity, all.list[0].request.affinity) ? d->count : 0;
        apart += d->request.anti_affinity.ptr && slice_eq(d->request.anti_affinity, all.list[0].request.anti_affinity) ? d->count : 0;
    }
    struct ray_request *requests = arena_array(s->k->a, (size_t)n, sizeof *requests);
    for (uint32_t i = 0; i < all.count; i++)
        for (int64_t k = 0; k < all.list[i].count; k++)
            requests[g->count++] = all.list[i].request;
    g->requests = requests;
    g->strategy = n > 0 && tied == n ? RAY_STRICT_PACK : RAY_STRICT_SPREAD;
    if (n > 0 && tied != n && apart != n)
        kase_skip(s->k, "PACK and SPREAD groups, all of it or nothing: v1 packs them like other demand");
}

static void read_gangs(struct scene *s)
{
    struct jval list = json_key(s->k->input, SLICE("gang_requests")), key, v;
    struct ray_gang *gangs = arena_array(s->k->a, json_len(list), sizeof *gangs);
    for (struct jiter it = json_iter(list); json_next(&it, &key, &v);)
        read_gang(s, v, &gangs[s->state.gang_count++]);
    s->state.gangs = gangs;
}

static void check_unmet(struct scene *s, const struct scale_plan *p)
{
    struct jval gangs = json_key(s->k->expected, SLICE("infeasible_gang"));
    struct ray_want *left = arena_array(s->k->a, p->unmet_count, sizeof *left);
    uint32_t count = 0, gang_count = 0;
    for (uint32_t i = 0; i < p->unmet_count; i++) {
        gang_count += p->unmet[i].gang != NULL;
        if (p->unmet[i].request && p->unmet[i].constraint < 0)
            left[count++] = (struct ray_want){.shape = {.request = p->unmet[i].request}, .count = p->unmet[i].count};
    }
    kase_check_left(s->k, left, count, "infeasible");
    if (json_there(gangs) && json_len(gangs) == 0 && (gang_count || count))
        kase_wrong(s->k, "%u groups do not fit", gang_count + count);
    if (json_len(gangs) > 0)
        kase_skip(s->k, "a group that must be reported whole: v1 reports what is left of it");
}

/* Who goes: by name, as v1 has another order of its reasons. */
static bool goes(const struct scale_plan *p, struct slice id)
{
    bool found = false;
    for (uint32_t i = 0; i < p->drain_count; i++)
        found |= slice_eq(slice_of(p->drains[i].pod->name), id);
    for (uint32_t i = 0; i < p->removal_count; i++)
        found |= slice_eq(slice_of(p->removals[i].pod->name), id);
    return found;
}

static void check_gone(struct scene *s, const struct scale_plan *p)
{
    struct kase *k = s->k;
    struct jval list = json_key(k->expected, SLICE("to_terminate")), one = json_key(k->expected, SLICE("to_terminate_one_of")), key, v;
    uint32_t gone = p->drain_count + p->removal_count, found = 0;
    for (struct jiter it = json_iter(json_there(one) ? one : list); json_next(&it, &key, &v);) {
        struct slice id = json_str(json_at(v, 0), k->a);
        bool there = goes(p, id);
        found += there;
        if (!there && !json_there(one))
            kase_wrong(k, "%.*s does not go", SLICE_ARG(id));
    }
    if (json_there(one) ? gone != 1 || found != 1 : json_there(list) && gone != json_len(list))
        kase_wrong(k, "%u nodes go, %u of them should", gone, found);
    kase_check_total(k, gone, "to_terminate");
}

void run_v2_schedule(struct kase *k)
{
    static const char *const words[] = {"node_types",
                                        "instances",
                                        "resource_requests",
                                        "cluster_constraint",
                                        "max_num_nodes",
                                        "gang_requests",
                                        "idle_timeout_s",
                                        "disable_launch_config_check",
                                        NULL};
    static const char *const answers[] = {"to_launch",          "to_launch_count",     "infeasible",
                                          "infeasible_count",   "infeasible_gang",     "to_terminate",
                                          "to_terminate_count", "to_terminate_one_of", NULL};
    struct scene *s = arena_new(k->a, struct scene);
    struct ray_demands *constraint = arena_new(k->a, struct ray_demands);
    kase_known(k, k->input, "the input", words);
    kase_known(k, k->expected, "the answer", answers);
    s->k = k;
    read_instances(s);
    read_types(s);
    read_gangs(s);
    s->state.nodes = s->nodes;
    s->state.demands = read_requests(k, json_key(k->input, SLICE("resource_requests")), false);
    check_needs(s);
    *constraint = read_requests(k, json_key(k->input, SLICE("cluster_constraint")), false);
    s->state.constraints = constraint;
    s->state.constraint_count = constraint->count > 0;
    s->cluster.scale.upscaling_speed = LIMIT_RAY_PODS; /* v2 limits launches elsewhere */
    s->cluster.scale.idle_timeout_s = kase_int(k->input, "idle_timeout_s", NULL, INT32_MAX);
    if (!slice_empty(k->skip))
        return;
    const struct scale_view view = {.cluster = &s->cluster,
                                    .offers = s->offers,
                                    .pods = s->list,
                                    .pod_count = s->pod_count,
                                    .failures = arena_array(k->a, s->cluster.group_count + 1, sizeof(struct group_failures)),
                                    .state = &s->state,
                                    .state_ms = NOW_MS,
                                    .now = {NOW_MS, now_us}};
    struct scale_plan plan;
    scale_cluster(&view, k->a, &plan);
    struct kase_count *got = arena_array(k->a, s->cluster.group_count, sizeof *got);
    for (uint32_t i = 0; i < s->cluster.group_count; i++)
        got[i] = (struct kase_count){s->cluster.groups[i].name, plan.groups[i].launch};
    if (plan.held)
        kase_wrong(k, "nothing is decided: %s", plan.held);
    if (kase_expects(k, "to_launch"))
        kase_check_counts(k, got, s->cluster.group_count, "to_launch");
    check_unmet(s, &plan);
    check_gone(s, &plan);
}

/* Requests go to one node in the order in which they are given; the score counts those that went. */
void run_v2_node_score(struct kase *k)
{
    static const char *const words[] = {"node_resources", "requests_in_order", NULL}, *const demand[] = {"shape", "count", NULL};
    struct jval requests = json_key(k->input, SLICE("requests_in_order")), key, v;
    struct ray_pack p;
    struct ray_bundle all = kase_bundle(k, json_key(k->input, SLICE("node_resources")));
    kase_known(k, k->input, "the input", words);
    for (struct jiter it = json_iter(requests); json_next(&it, &key, &v);)
        kase_known(k, v, "a request", demand);
    for (uint32_t i = 0; i < all.count; i++)
        if (all.list[i].amount < RAY_QUANTUM)
            kase_skip(k, "less than one of a resource counts in v2's score only");
    if (!slice_empty(k->skip))
        return;
    ray_pack_init(&p, k->a);
    ray_pack_learn(&p, &all);
    kase_learn(k, &p, requests);
    struct scale_wants wants = kase_wants(k, &p, requests), went = kase_wants(k, &p, requests);
    struct ray_room full = ray_pack_room(&p, &all, NULL, 0);
    struct ray_rooms rooms = {0};
    ray_pack_add(&p, &rooms, &full, 1);
    ray_pack_fit(&rooms, wants.list, wants.count);
    for (uint32_t i = 0; i < wants.count; i++)
        went.list[i].count -= wants.list[i].count;
    struct ray_score score;
    bool fits = ray_pack_score(&p, &full, went.list, went.count, &score);
    check_score(k, fits, &score);
    kase_check_left(k, wants.list, wants.count, "infeasible");
}
