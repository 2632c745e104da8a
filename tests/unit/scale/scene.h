/* A cluster, what its head says and what pods there are, from the lines of a case: what the tests of scaling share. */
#ifndef MOBULA_TEST_SCALE_SCENE_H
#define MOBULA_TEST_SCALE_SCENE_H

#include <mobula/scale.h>

#include "tests/kinds/cases.h"

enum { SCALE_NOW_MS = 1000000, SCALE_GROUPS = 8, SCALE_PODS = 64, SCALE_DEMANDS = 32 };
static const int64_t scale_now_us = 1800000000000000;

struct scale_world {
    struct arena a;
    struct ray_cluster cluster;
    struct ray_group groups[SCALE_GROUPS];
    struct ray_offer offers[SCALE_GROUPS + 1];
    struct group_failures failures[SCALE_GROUPS + 1];
    struct scale_memory memory[SCALE_GROUPS];
    struct scale_seen seen[SCALE_PODS + 1]; /* by pods */
    struct pod pods[SCALE_PODS + 1];
    const struct pod *list[SCALE_PODS + 1];
    uint32_t pod_count;
    struct ray_node nodes[2 * SCALE_PODS];
    struct ray_demand demands[SCALE_DEMANDS], asked[SCALE_DEMANDS];
    struct ray_demands constraint;
    struct ray_gang gangs[SCALE_DEMANDS];
    struct ray_state state;
    struct scale_view view;
};

static inline struct slice scale_value(struct slice word, const char *name)
{
    struct slice key = slice_of(name);
    return slice_starts(word, key) && word.len > key.len && word.ptr[key.len] == '=' ? slice_skip(word, key.len + 1) : SLICE_NONE;
}

static inline int64_t scale_number(struct slice text)
{
    int64_t n = -1;
    CHECK(slice_int(text, &n));
    return n;
}

static inline int scale_by_name(const void *a, const void *b)
{
    return slice_cmp(((const struct ray_amount *)a)->name, ((const struct ray_amount *)b)->name);
}

/* "CPU:2,GPU:0.5"; a value may be negative or far too large. */
static inline struct ray_bundle scale_bundle(struct scale_world *w, struct slice text)
{
    struct ray_amount *list = arena_array(&w->a, text.len + 1, sizeof *list);
    struct ray_bundle b = {.list = list};
    while (!slice_empty(text)) {
        struct slice number = slice_cut(&text, ','), name = slice_cut(&number, ':');
        list[b.count++] = (struct ray_amount){arena_dup(&w->a, name), (int64_t)(strtod(arena_dup(&w->a, number).ptr, NULL) * RAY_QUANTUM)};
    }
    qsort(list, b.count, sizeof *list, scale_by_name);
    return b;
}

static inline const struct ray_label *scale_label(struct scale_world *w, struct slice key, struct slice value)
{
    struct ray_label *label = arena_new(&w->a, struct ray_label);
    *label = (struct ray_label){arena_dup(&w->a, key), arena_dup(&w->a, value)};
    return label;
}

/* zone=a, zone!=a, zone=a|b (the one first, else the other) */
static inline void scale_select(struct scale_world *w, struct slice text, struct ray_request *r)
{
    bool not_in = text.ptr[4] == '!';
    struct slice values = slice_skip(text, not_in ? 6 : 5);
    struct ray_selector *list = arena_array(&w->a, 2, sizeof *list);
    while (!slice_empty(values)) {
        struct slice *value = arena_new(&w->a, struct slice);
        struct ray_condition *c = arena_new(&w->a, struct ray_condition);
        *value = arena_dup(&w->a, slice_cut(&values, '|'));
        *c = (struct ray_condition){SLICE("zone"), value, 1, not_in};
        list[r->selector_count++] = (struct ray_selector){c, 1};
    }
    r->selectors = list;
}

static inline void scale_read_group(struct scale_world *w, struct slice line)
{
    uint32_t at = w->cluster.group_count++;
    struct ray_group *g = &w->groups[at];
    struct group_failures *f = &w->failures[at + 1];
    *g = (struct ray_group){.max = INT32_MAX, .hosts = 1, .idle_timeout_s = -1, .hash = 1, .name = arena_dup(&w->a, slice_cut(&line, ' '))};
    w->offers[at + 1].bundle = scale_bundle(w, slice_cut(&line, ' '));
    w->memory[at].target = -1;
    while (!slice_empty(line)) {
        struct slice word = slice_cut(&line, ' '), v;
        if ((v = scale_value(word, "min")).ptr)
            g->min = (int32_t)scale_number(v);
        else if ((v = scale_value(word, "max")).ptr)
            g->max = (int32_t)scale_number(v);
        else if ((v = scale_value(word, "hosts")).ptr)
            g->hosts = (int32_t)scale_number(v);
        else if ((v = scale_value(word, "idle")).ptr)
            g->idle_timeout_s = scale_number(v);
        else if ((v = scale_value(word, "priority")).ptr)
            g->priority = (int32_t)scale_number(v);
        else if ((v = scale_value(word, "replicas")).ptr)
            g->replicas = (int32_t)scale_number(v);
        else if ((v = scale_value(word, "target")).ptr)
            w->memory[at].target = (int32_t)scale_number(v);
        else if ((v = scale_value(word, "surplus")).ptr)
            w->memory[at].surplus_ms = SCALE_NOW_MS - 1000 * scale_number(v);
        else if ((v = scale_value(word, "failures")).ptr)
            *f = (struct group_failures){.count = (uint32_t)scale_number(v), .reason = "403 Forbidden", .last_us = scale_now_us};
        else if ((v = scale_value(word, "prefer")).ptr)
            g->on_demand = g, f->spot_from_ms = SCALE_NOW_MS + scale_number(v);
        else if ((v = scale_value(word, "wait")).ptr)
            f->not_before_ms = SCALE_NOW_MS + scale_number(v);
        else if ((v = scale_value(word, "zone")).ptr)
            w->offers[at + 1].labels = scale_label(w, SLICE("zone"), v), w->offers[at + 1].label_count = 1;
        else
            g->suspended = slice_eq(word, SLICE("suspended"));
    }
}

static inline struct ray_node *scale_add_node(struct scale_world *w, const struct pod *pod, struct ray_bundle all)
{
    struct ray_node *n = &w->nodes[w->state.node_count++];
    *n = (struct ray_node){.id = arena_printf(&w->a, "%-*s%02u", RAY_NODE_ID - 2, pod->name, w->state.node_count % 100),
                           .instance_id = slice_of(pod->name),
                           .status = RAY_NODE_RUNNING,
                           .total = all,
                           .available = all};
    return n;
}

static inline void scale_read_node(struct scale_world *w, const struct pod *pod, struct slice words, struct ray_bundle all)
{
    struct ray_node *n = NULL;
    while (!slice_empty(words)) {
        struct slice word = slice_cut(&words, ' '), v;
        bool node = true, idle = (v = scale_value(word, "idle")).ptr != NULL;
        node = idle || slice_eq(word, SLICE("busy")) || slice_eq(word, SLICE("dead")) || slice_eq(word, SLICE("draining")) ||
               slice_eq(word, SLICE("unknown"));
        if (node)
            n = scale_add_node(w, pod, all);
        if (idle) {
            n->status = RAY_NODE_IDLE;
            n->idle_ms = scale_number(v) * 1000;
        } else if (slice_eq(word, SLICE("dead"))) {
            n->status = RAY_NODE_DEAD;
        } else if (slice_eq(word, SLICE("draining"))) {
            n->status = RAY_NODE_DRAINING;
        } else if (slice_eq(word, SLICE("unknown"))) {
            n->status = RAY_NODE_UNKNOWN;
        } else if ((v = scale_value(word, "left")).ptr) {
            n->available = scale_bundle(w, v);
        } else if ((v = scale_value(word, "all")).ptr) {
            n->total = n->available = scale_bundle(w, v);
        } else if ((v = scale_value(word, "label")).ptr) {
            n->labels = scale_label(w, v, SLICE(""));
            n->label_count = 1;
        } else if (slice_eq(word, SLICE("short-id"))) {
            n->id.len--;
        } else if (slice_eq(word, SLICE("earlier"))) {
            n->ip = SLICE("10.0.1.1");
        } else if (slice_eq(word, SLICE("by-ip"))) {
            n->instance_id = SLICE("");
            n->ip = slice_of(pod->ip);
        }
    }
}

static inline struct pod *scale_add_pod(struct scale_world *w, struct slice group)
{
    struct pod *p = &w->pods[w->pod_count];
    snprintf(p->name, sizeof p->name, "p%u", w->pod_count);
    snprintf(p->ip, sizeof p->ip, "10.0.0.%u", w->pod_count);
    p->group = group;
    p->index = (int32_t)w->pod_count;
    p->created_us = scale_now_us - 60 * INT64_C(1000000);
    p->phase = POD_RUNNING;
    w->list[w->pod_count++] = p;
    return p;
}

static inline void scale_read_pod(struct scale_world *w, struct slice line)
{
    struct slice group = slice_cut(&line, ' ');
    struct pod *p = scale_add_pod(w, arena_dup(&w->a, group));
    struct ray_bundle all = {0};
    for (uint32_t i = 0; i < w->cluster.group_count; i++)
        if (slice_eq(w->groups[i].name, group))
            all = w->offers[i + 1].bundle;
    struct slice rest = line;
    while (!slice_empty(rest)) {
        struct slice word = slice_cut(&rest, ' ');
        if (slice_eq(word, SLICE("pending")))
            p->phase = POD_PENDING;
        else if (slice_eq(word, SLICE("failed")))
            p->phase = POD_FAILED;
        else if (slice_eq(word, SLICE("deleting")))
            p->deleting = true;
        else if (slice_eq(word, SLICE("on-demand")))
            p->on_demand = true;
        else if (slice_eq(word, SLICE("overtaken")))
            p->ours.overtaken = true;
        else if (slice_eq(word, SLICE("old")))
            p->hash = 2;
        else if (scale_value(word, "since").ptr)
            w->seen[p - w->pods].drain_ms = SCALE_NOW_MS - 1000 * scale_number(scale_value(word, "since"));
        else if (scale_value(word, "index").ptr)
            p->index = (int32_t)scale_number(scale_value(word, "index"));
        else if (scale_value(word, "host").ptr)
            p->host = (int32_t)scale_number(scale_value(word, "host"));
    }
    scale_read_node(w, p, line, all);
}

static inline void scale_read_demand(struct scale_world *w, struct slice line, struct ray_demand *list, uint32_t *count)
{
    struct ray_demand *d = &list[(*count)++];
    *d = (struct ray_demand){.count = scale_number(slice_cut(&line, ' '))};
    d->request.bundle = scale_bundle(w, slice_cut(&line, ' '));
    if (slice_starts(line, SLICE("zone")))
        scale_select(w, line, &d->request);
}

static inline void scale_read_gang(struct scale_world *w, struct slice line)
{
    static const char *const names[] = {"PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"};
    struct ray_gang *g = &w->gangs[w->state.gang_count++];
    struct slice strategy = slice_cut(&line, ' ');
    while (!slice_eq(slice_of(names[g->strategy]), strategy))
        g->strategy++;
    g->count = (uint32_t)scale_number(slice_cut(&line, ' '));
    struct ray_request *list = arena_array(&w->a, g->count, sizeof *list);
    struct ray_bundle one = scale_bundle(w, slice_cut(&line, ' '));
    for (uint32_t i = 0; i < g->count; i++) {
        list[i].bundle = one;
        if (g->strategy == RAY_STRICT_SPREAD)
            list[i].anti_affinity = slice_empty(line) ? arena_printf(&w->a, "_PG_%u", w->state.gang_count) : arena_dup(&w->a, line);
    }
    g->requests = list;
    g->details = arena_printf(&w->a, "%u:%s|PENDING", w->state.gang_count, names[g->strategy]);
}

static inline void scale_read_cluster(struct scale_world *w, struct slice line)
{
    while (!slice_empty(line)) {
        struct slice word = slice_cut(&line, ' '), v;
        if (slice_eq(word, SLICE("no-state")))
            w->view.state = NULL;
        else if (slice_eq(word, SLICE("no-head")))
            w->nodes[0].status = RAY_NODE_DEAD;
        else if (slice_eq(word, SLICE("suspend")))
            w->cluster.suspend = true;
        else if ((v = scale_value(word, "age")).ptr)
            w->view.state_ms = SCALE_NOW_MS - scale_number(v) * 1000;
        else if ((v = scale_value(word, "speed")).ptr)
            w->cluster.scale.upscaling_speed = strtod(arena_dup(&w->a, v).ptr, NULL);
        else if ((v = scale_value(word, "workers")).ptr)
            w->cluster.scale.max_workers = (int32_t)scale_number(v);
        else if ((v = scale_value(word, "head")).ptr)
            w->nodes[0].total = w->nodes[0].available = scale_bundle(w, v);
    }
}

static inline void scale_begin(struct scale_world *w)
{
    *w = (struct scale_world){
        .cluster = {.name = SLICE("c"), .scale.upscaling_speed = 1000, .scale.idle_timeout_s = 60, .scale.max_workers = INT32_MAX}};
    struct pod *head = scale_add_pod(w, SLICE("headgroup"));
    head->head = true;
    scale_add_node(w, head, (struct ray_bundle){0});
    w->cluster.groups = w->groups;
    w->constraint.list = w->asked;
    w->state = (struct ray_state){.nodes = w->nodes, .node_count = 1, .demands = {.list = w->demands}, .gangs = w->gangs, .version = 7};
    w->state.constraints = &w->constraint;
    w->view = (struct scale_view){.cluster = &w->cluster,
                                  .offers = w->offers,
                                  .pods = w->list,
                                  .failures = w->failures,
                                  .state = &w->state,
                                  .state_ms = SCALE_NOW_MS,
                                  .memory = w->memory,
                                  .now = {SCALE_NOW_MS, scale_now_us}};
}

/* Lines up to "---". */
static inline void scale_read(struct scale_world *w, struct slice *text)
{
    scale_begin(w);
    while (text->ptr) {
        struct slice line = slice_cut(text, '\n'), word = slice_cut(&line, ' ');
        if (slice_eq(word, SLICE("---")))
            break;
        if (slice_eq(word, SLICE("group")))
            scale_read_group(w, line);
        else if (slice_eq(word, SLICE("pod")))
            scale_read_pod(w, line);
        else if (slice_eq(word, SLICE("demand")))
            scale_read_demand(w, line, w->demands, &w->state.demands.count);
        else if (slice_eq(word, SLICE("ask")))
            scale_read_demand(w, line, w->asked, &w->constraint.count);
        else if (slice_eq(word, SLICE("gang")))
            scale_read_gang(w, line);
        else if (slice_eq(word, SLICE("cluster")))
            scale_read_cluster(w, line);
        else if (!slice_empty(word))
            test_check(false, __FILE__, __LINE__, "an unknown line");
    }
    w->state.constraint_count = w->constraint.count > 0;
    w->view.pod_count = w->pod_count;
}

#endif
