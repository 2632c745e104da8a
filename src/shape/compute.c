/* Reading a compute config. Fields are tables of names and functions, so that an error about a wrong name lists the right ones. */
#include "types.h"

#include <mobula/compute.h>
#include <mobula/ray.h>

enum { MAX_NODES = 10, NODES_MOST = LIMIT_RAY_PODS, HEAD_MILLI_CPU = 2000 };
#define HEAD_MEMORY (INT64_C(8) * KIB * MIB)

struct config_reader {
    struct reader r;
    struct reader notes;
    const struct shape_types *types; /* NULL: not known */
    struct compute_config *out;
    struct type_reader *t;
    struct compute_node *node;         /* that is being read … */
    bool given, type_given, own_given; /* … and what of it there was */
};

struct field {
    const char *key;
    void (*read)(struct config_reader *c, const struct place *at);
};

/* The list ends with NULL. */
static void read_fields(struct config_reader *c, const struct place *object, const struct field *known, const char *what)
{
    struct jval k, v;
    for (struct jiter it = json_iter(object->value); json_next(&it, &k, &v);) {
        const struct place *at = place_member(object, json_str(k, c->r.arena), v);
        const struct field *f = known;
        while (f->key && !slice_is(at->key, f->key))
            f++;
        if (f->key) {
            if (value_given(v))
                f->read(c, at);
            continue;
        }
        struct slice all = SLICE("");
        for (f = known; f->key; f++)
            all = arena_printf(c->r.arena, "%.*s%s%s", SLICE_ARG(all), f == known ? "" : ", ", f->key);
        place_bad(&c->r, at, "is no field of %s, which has %.*s", what, SLICE_ARG(all));
    }
}

static void no_effect(struct config_reader *c, const struct place *at)
{
    place_bad(&c->notes, at, "has no effect here");
}

static void refuse_limit(struct config_reader *c, const struct place *at)
{
    place_bad(&c->r, at, "cannot be kept here: limit the groups with max_nodes");
}

/* ---- flags ---- */

static void read_idle(struct config_reader *c, const struct place *at)
{
    read_int(&c->r, at, 0, INT32_MAX, c->node ? &c->node->idle_s : &c->out->idle_s);
}

static struct slice read_time(struct config_reader *c, const struct place *at, int64_t *s)
{
    struct slice text = SLICE("");
    struct err e = {0};
    int64_t ms = 0;
    if (!read_text(&c->r, at, REQUIRED, &text))
        return text;
    if (!duration_parse(text, &ms, &e))
        place_bad(&c->r, at, "%s", e.text);
    else if (ms < 1000 || ms / 1000 > INT32_MAX)
        place_bad(&c->r, at, "is %.*s: must be 1s or more", SLICE_ARG(text));
    else
        *s = ms / 1000;
    return text;
}

static void read_starting(struct config_reader *c, const struct place *at)
{
    read_time(c, at, &c->out->starting_s);
}

static void read_zone_starting(struct config_reader *c, const struct place *at)
{
    int64_t s;
    c->out->zone_starting = read_time(c, at, &s);
}

static void read_cross_zone(struct config_reader *c, const struct place *at)
{
    bool on = false;
    c->out->cross_zone |= read_flag(&c->r, at, &on) && on;
}

static const struct field group_flags[] = {{"idle_termination_seconds", read_idle},
                                           {"replacement_threshold", no_effect},
                                           {"pricing_weight", no_effect},
                                           {"disable_nfs_mount", no_effect},
                                           {NULL, NULL}};
static const struct field cluster_flags[] = {{"idle_termination_seconds", read_idle},
                                             {"workload_starting_timeout", read_starting},
                                             {"workload_recovering_timeout", no_effect},
                                             {"zone_starting_timeout", read_zone_starting},
                                             {"replacement_threshold", no_effect},
                                             {"instance_selection_strategy", no_effect},
                                             {"instance_ranking_strategy", no_effect},
                                             {"disable_nfs_mount", no_effect},
                                             {"allow-cross-zone-autoscaling", read_cross_zone},
                                             {"cloud_resource_strategy", no_effect},
                                             {"cloud_resource_starting_timeout", no_effect},
                                             {NULL, NULL}};

static void read_flags(struct config_reader *c, const struct place *at)
{
    if (read_object(&c->r, at, OPTIONAL))
        read_fields(c, at, c->node ? group_flags : cluster_flags, c->node ? "a group's flags" : "the flags");
}

/* ---- advanced_instance_config: a pod ---- */

/* Texts, or null, which takes away what is there. */
static void read_pod_texts(struct config_reader *c, const struct place *at)
{
    struct jval k, v;
    if (!read_object(&c->r, at, OPTIONAL))
        return;
    for (struct jiter it = json_iter(at->value); json_next(&it, &k, &v);) {
        const struct place *one = place_member(at, json_str(k, c->r.arena), v);
        struct slice text;
        read_text(&c->r, one, OPTIONAL, &text);
    }
}

static void read_pod_metadata(struct config_reader *c, const struct place *at)
{
    const struct place *labels = place_key(at, "labels"), *annotations = place_key(at, "annotations");
    if (!read_object(&c->r, at, OPTIONAL))
        return;
    read_pod_texts(c, labels);
    read_pod_texts(c, annotations);
}

static void read_pod_spec(struct config_reader *c, const struct place *at)
{
    static const char *const lists[] = {"containers", "initContainers"};
    struct jval k, v;
    if (!read_object(&c->r, at, OPTIONAL))
        return;
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        const struct place *list = place_key(at, lists[i]);
        size_t n = 0;
        if (!read_array(&c->r, list, OPTIONAL))
            continue;
        for (struct jiter it = json_iter(list->value); json_next(&it, &k, &v); n++) {
            const struct place *one = place_element(list, n, v), *name = place_key(one, "name");
            struct slice text;
            if (read_object(&c->r, one, REQUIRED) && read_text(&c->r, name, REQUIRED, &text) && !name_dns1123_label(text))
                place_bad(&c->r, name, "is no name of a container: the one that runs Ray is called " COMPUTE_CONTAINER);
        }
    }
}

static void read_advanced(struct config_reader *c, const struct place *at)
{
    static const struct field pod[] = {{"metadata", read_pod_metadata}, {"spec", read_pod_spec}, {NULL, NULL}};
    if (!read_object(&c->r, at, OPTIONAL))
        return;
    read_fields(c, at, pod, "a pod");
    *(c->node ? &c->node->advanced : &c->out->advanced) = at->value;
}

/* ---- a node ---- */

static void read_type_name(struct config_reader *c, const struct place *at)
{
    struct slice *name = &c->node->type;
    c->type_given = true;
    if (!read_text(&c->r, at, REQUIRED, name))
        return;
    if (slice_empty(*name) || !name_label_value(*name))
        place_bad(&c->r, at, "is no name of an instance type: 1 to 63 letters, digits, - _ and .");
    else if (c->types && !shape_type_find(c->types, *name))
        place_bad(&c->r, at, "is %.*s, which is not among the instance types: add it there, or name another", SLICE_ARG(*name));
    else if (c->types)
        c->node->hosts = shape_type_find(c->types, *name)->tpu_hosts;
}

static bool has_amount(const struct type_reader *t, const char *resource)
{
    for (uint32_t i = 0; i < t->type->amount_count; i++)
        if (slice_is(t->amounts[i].name, resource))
            return true;
    return false;
}

static void read_required(struct config_reader *c, const struct place *at)
{
    struct type_reader *t = c->t;
    struct jval k, v;
    struct slice text;
    c->own_given = true;
    if (!read_object(&c->r, at, REQUIRED))
        return;
    uint32_t before = spec_errors_count(c->r.errors);
    for (struct jiter it = json_iter(at->value); json_next(&it, &k, &v);) {
        const struct place *one = place_member(at, json_str(k, c->r.arena), v);
        if (slice_is(one->key, "tpu_hosts"))
            read_int(&c->r, one, 1, LIMIT_RAY_HOSTS, &t->type->tpu_hosts);
        else if (slice_is(one->key, "cpu_architecture"))
            type_architecture(t, one);
        else if (!slice_is(one->key, "accelerator"))
            type_resource(t, one);
        else if (read_text(&c->r, one, REQUIRED, &text))
            type_accelerator(t, one, text);
    }
    bool cpu = has_amount(t, "cpu"), memory = has_amount(t, "memory");
    if ((!cpu || !memory) && spec_errors_count(c->r.errors) == before)
        place_bad(&c->r, at, "has no %s: a pod without it is not bounded", cpu ? "memory" : "CPU");
    c->node->hosts = t->type->tpu_hosts;
}

static void read_required_labels(struct config_reader *c, const struct place *at)
{
    struct jval k, v;
    if (!read_text_map(&c->r, at))
        return;
    for (struct jiter it = json_iter(at->value); json_next(&it, &k, &v);) {
        const struct place *one = place_member(at, json_str(k, c->r.arena), v);
        struct slice text = json_str(v, c->r.arena);
        bool topology = slice_is(one->key, "ray.io/tpu-topology");
        if (!topology && !slice_is(one->key, "ray.io/accelerator-type"))
            place_bad(&c->r, one, "cannot be asked for: only ray.io/accelerator-type and ray.io/tpu-topology");
        else if (slice_empty(text) || !name_label_value(text))
            place_bad(&c->r, one, "is no label value: 1 to 63 letters, digits, - _ and .");
        else
            *(topology ? &c->node->topology : &c->node->accelerator) = text;
    }
}

static void read_logical(struct config_reader *c, const struct place *at)
{
    struct jval k, v;
    if (!read_object(&c->r, at, OPTIONAL))
        return;
    if (json_len(at->value) > LIMIT_SHAPE_RESOURCES)
        place_bad(&c->r, at, "has %zu resources: at most %d (LIMIT_SHAPE_RESOURCES)", json_len(at->value), LIMIT_SHAPE_RESOURCES);
    for (struct jiter it = json_iter(at->value); json_next(&it, &k, &v);) {
        const struct place *one = place_member(at, json_str(k, c->r.arena), v);
        struct slice text = json_type(v) == JSON_STRING ? json_str(v, c->r.arena) : json_raw(v);
        struct err e = {0};
        int64_t n;
        if (slice_empty(one->key))
            place_bad(&c->r, one, "is a resource without a name");
        else if (json_type(v) != JSON_STRING && json_type(v) != JSON_NUMBER)
            place_bad(&c->r, one, "is %s: must be an amount, such as 2 or 8Gi", value_type_name(json_type(v)));
        else if (!quantity_parse(text, 3, &n, &e))
            place_bad(&c->r, one, "is no amount: %s", e.text);
        else if (n % 1000)
            place_bad(&c->r, one, "is %.*s: Ray takes whole numbers of a node's resource alone", SLICE_ARG(text));
    }
    c->node->resources = at->value;
}

static void read_node_labels(struct config_reader *c, const struct place *at)
{
    if (type_labels(&c->r, at))
        c->node->labels = at->value;
}

static void read_group_name(struct config_reader *c, const struct place *at)
{
    if (read_text(&c->r, at, REQUIRED, &c->node->name) && (slice_empty(c->node->name) || !name_label_value(c->node->name)))
        place_bad(&c->r, at, "is no name of a group: 1 to 63 letters, digits, - _ and .");
    else if (slice_is(c->node->name, RAY_HEAD_GROUP))
        place_bad(&c->r, at, "is " RAY_HEAD_GROUP ", which is the head's: choose another");
    for (const struct compute_node *n = c->out->workers; n < c->node; n++)
        if (!slice_empty(n->name) && slice_eq(n->name, c->node->name))
            place_bad(&c->r, at, "is the name of another group, too: names of groups must differ");
}

static void read_min(struct config_reader *c, const struct place *at)
{
    read_int(&c->r, at, 0, NODES_MOST, &c->node->min);
}

static void read_max(struct config_reader *c, const struct place *at)
{
    read_int(&c->r, at, 0, NODES_MOST, &c->node->max);
}

static void read_market(struct config_reader *c, const struct place *at)
{
    static const char *const words[] = {"ON_DEMAND", "SPOT", "PREFER_SPOT", NULL};
    read_word(&c->r, at, words, &c->node->market);
}

/* The head has all but the first four. */
static const struct field node_fields[] = {{"name", read_group_name},
                                           {"min_nodes", read_min},
                                           {"max_nodes", read_max},
                                           {"market_type", read_market},
                                           {"instance_type", read_type_name},
                                           {"required_resources", read_required},
                                           {"required_labels", read_required_labels},
                                           {"resources", read_logical},
                                           {"labels", read_node_labels},
                                           {"flags", read_flags},
                                           {"advanced_instance_config", read_advanced},
                                           {"cloud_deployment", no_effect},
                                           {NULL, NULL}};
enum { WORKER_FIELDS = 4 };

static void check_numbers(struct config_reader *c, const struct place *at)
{
    struct compute_node *n = c->node;
    const struct place *min = place_key(at, "min_nodes"), *max = place_key(at, "max_nodes");
    if (n->max < 0)
        n->max = n->min > MAX_NODES ? n->min : n->hosts > MAX_NODES ? n->hosts : MAX_NODES - MAX_NODES % n->hosts;
    if (n->min > n->max)
        place_bad(&c->r, min, "is %lld, above max_nodes %lld: lower it or raise max_nodes", (long long)n->min, (long long)n->max);
    if (n->min % n->hosts || n->max % n->hosts)
        place_bad(&c->r, n->min % n->hosts ? min : max, "is no multiple of %lld, the hosts of one TPU slice", (long long)n->hosts);
}

static void clear_node(struct compute_node *n)
{
    *n = (struct compute_node){.name = SLICE(""),
                               .type = SLICE(""),
                               .resources = NO_VALUE,
                               .labels = NO_VALUE,
                               .advanced = NO_VALUE,
                               .accelerator = SLICE(""),
                               .topology = SLICE(""),
                               .market = SLICE("ON_DEMAND"),
                               .max = -1,
                               .hosts = 1,
                               .idle_s = -1};
}

static void read_node(struct config_reader *c, const struct place *at, struct compute_node *n, bool worker)
{
    clear_node(n);
    if (!read_object(&c->r, at, REQUIRED))
        return;
    c->node = n;
    c->type_given = c->own_given = false;
    c->t->type = &n->own;
    type_begin(c->t, SLICE(""));
    read_fields(c, at, node_fields + (worker ? 0 : WORKER_FIELDS), worker ? "a group of workers" : "a head_node");
    if (c->type_given && c->own_given)
        place_bad(&c->r, at, "has an instance_type and required_resources: remove one");
    else if (!c->type_given && !c->own_given)
        place_bad(&c->r, at, "has neither an instance_type nor required_resources: write one");
    if (slice_empty(n->own.accelerator))
        n->own.accelerator = n->accelerator;
    if (n->hosts < 1)
        n->hosts = 1;
    type_keep(c->t);
    if (worker)
        check_numbers(c, at);
    else if (n->hosts > 1)
        place_bad(&c->r, at, "is a TPU slice of %lld hosts: a head is one pod", (long long)n->hosts);
    c->node = NULL;
}

/* ---- names of groups ---- */

static bool name_taken(const struct compute_config *config, const struct compute_node *but, struct slice name)
{
    for (uint32_t i = 0; i < config->worker_count; i++)
        if (&config->workers[i] != but && slice_eq(config->workers[i].name, name))
            return true;
    return slice_is(name, RAY_HEAD_GROUP);
}

/* "4CPU-16Gi-1xT4": what required_resources say, as administrators name their types. */
static struct slice name_amounts(const struct shape_type *type, struct arena *a)
{
    struct slice out = SLICE("");
    for (uint32_t i = 0; i < type->amount_count; i++) {
        const struct shape_amount *one = &type->amounts[i];
        char text[QUANTITY_TEXT_MAX];
        bool cpu = slice_is(one->name, "cpu"), memory = slice_is(one->name, "memory");
        struct slice n = quantity_format(one->amount, cpu ? 3 : 0, memory ? QUANTITY_BINARY : QUANTITY_DECIMAL, text);
        if (cpu)
            out = arena_printf(a, "%.*sCPU%s%.*s", SLICE_ARG(n), out.len ? "-" : "", SLICE_ARG(out));
        else
            out = arena_printf(a, "%.*s%s%.*s%s", SLICE_ARG(out), out.len ? "-" : "", SLICE_ARG(n), memory ? "" : "x");
    }
    if (!slice_empty(type->accelerator))
        out = arena_printf(a, "%.*s%s%.*s", SLICE_ARG(out), slice_ends(out, SLICE("x")) ? "" : "-", SLICE_ARG(type->accelerator));
    return out;
}

static void name_nodes(struct compute_config *config, struct arena *a)
{
    enum { NAME_ROOM = 58 }; /* a number has room behind it */
    config->head.own.name = name_amounts(&config->head.own, a);
    for (uint32_t i = 0; i < config->worker_count; i++) {
        struct compute_node *n = &config->workers[i];
        struct slice base = slice_empty(n->type) ? name_amounts(&n->own, a) : n->type;
        n->own.name = base;
        base = slice_head(base, NAME_ROOM);
        while (base.len && !name_label_value(base)) /* it was cut behind a dash */
            base.len--;
        if (slice_empty(n->name))
            n->name = base;
        for (int number = 2; name_taken(config, n, n->name) && number <= LIMIT_RAY_GROUPS + 1; number++)
            n->name = arena_printf(a, "%.*s-%d", SLICE_ARG(base), number);
    }
}

/* ---- the config ---- */

static void read_cloud(struct config_reader *c, const struct place *at)
{
    if (read_text(&c->r, at, OPTIONAL, &c->out->cloud) && !name_dns1123_subdomain(c->out->cloud))
        place_bad(&c->r, at, "is no name of a cloud: must be lower case letters, digits, dashes and dots");
}

static void read_zones(struct config_reader *c, const struct place *at)
{
    struct slice all = SLICE("");
    struct jval k, v;
    size_t i = 0;
    if (!read_text_list(&c->r, at))
        return;
    if (json_len(at->value) > LIMIT_COMPUTE_ZONES) {
        place_bad(&c->r, at, "has %zu zones: at most %d (LIMIT_COMPUTE_ZONES)", json_len(at->value), LIMIT_COMPUTE_ZONES);
        return;
    }
    for (struct jiter it = json_iter(at->value); json_next(&it, &k, &v);) {
        const struct place *one = place_element(at, i++, v);
        struct slice zone = json_str(v, c->r.arena);
        if (slice_empty(zone) || !name_label_value(zone))
            place_bad(&c->r, one, "is no name of a zone: 1 to 63 letters, digits, - _ and .");
        all = arena_printf(c->r.arena, "%.*s%s%.*s", SLICE_ARG(all), all.len ? "," : "", SLICE_ARG(zone));
    }
    c->out->zones = all;
}

static void read_head(struct config_reader *c, const struct place *at)
{
    c->given = true;
    read_node(c, at, &c->out->head, false);
}

static void read_workers(struct config_reader *c, const struct place *at)
{
    struct jval k, v;
    size_t count = json_len(at->value);
    if (!read_array(&c->r, at, OPTIONAL))
        return;
    if (count > LIMIT_RAY_GROUPS) {
        place_bad(&c->r, at, "has %zu groups: at most %d (LIMIT_RAY_GROUPS)", count, LIMIT_RAY_GROUPS);
        return;
    }
    c->out->workers = arena_array(c->r.arena, count + 1, sizeof *c->out->workers);
    for (struct jiter it = json_iter(at->value); json_next(&it, &k, &v);) {
        const struct place *one = place_element(at, c->out->worker_count, v);
        read_node(c, one, &c->out->workers[c->out->worker_count], true);
        c->out->worker_count++;
    }
}

static void read_automatic(struct config_reader *c, const struct place *at)
{
    bool on = false;
    if (read_flag(&c->r, at, &on) && on)
        place_bad(&c->r, at, "is true, and no workers are chosen here: list them in worker_nodes");
}

static const struct field config_fields[] = {{"cloud", read_cloud},
                                             {"zones", read_zones},
                                             {"head_node", read_head},
                                             {"worker_nodes", read_workers},
                                             {"advanced_instance_config", read_advanced},
                                             {"flags", read_flags},
                                             {"min_resources", no_effect},
                                             {"max_resources", refuse_limit},
                                             {"enable_cross_zone_scaling", read_cross_zone},
                                             {"auto_select_worker_config", read_automatic},
                                             {"idle_termination_minutes", no_effect},
                                             {"maximum_uptime_minutes", no_effect},
                                             {"cloud_resource", no_effect},
                                             {NULL, NULL}};

static void default_head(struct compute_node *n, struct arena *a)
{
    struct shape_amount *amounts = arena_array(a, 2, sizeof *amounts);
    clear_node(n);
    amounts[0] = (struct shape_amount){SLICE("cpu"), HEAD_MILLI_CPU};
    amounts[1] = (struct shape_amount){SLICE("memory"), HEAD_MEMORY};
    n->own = (struct shape_type){.name = SLICE(""),
                                 .amounts = amounts,
                                 .amount_count = 2,
                                 .accelerator = SLICE(""),
                                 .architecture = SLICE(""),
                                 .node_selector = NO_VALUE,
                                 .tolerations = NO_VALUE};
}

void compute_default(struct compute_config *out, struct arena *a)
{
    *out = (struct compute_config){
        .cloud = SLICE(""), .zones = SLICE(""), .zone_starting = SLICE(""), .advanced = NO_VALUE, .idle_s = -1, .starting_s = -1};
    default_head(&out->head, a);
    name_nodes(out, a);
}

bool compute_read(struct reader *r, const struct place *at, const struct shape_types *types, struct compute_config *out,
                  struct spec_errors *notes)
{
    struct type_reader t = {.r = *r};
    struct spec_errors *unheard = notes ? notes : arena_new(r->arena, struct spec_errors);
    struct config_reader c = {.r = *r, .notes = {.arena = r->arena, .errors = unheard}, .types = types, .out = out, .t = &t};
    uint32_t before = spec_errors_count(r->errors);
    compute_default(out, r->arena);
    if (!read_object(r, at, REQUIRED))
        return false;
    if (json_raw(at->value).len > LIMIT_SHAPE_TEXT) {
        place_bad(r, at, "has %zu bytes: at most %d (LIMIT_SHAPE_TEXT)", json_raw(at->value).len, LIMIT_SHAPE_TEXT);
        return false;
    }
    read_fields(&c, at, config_fields, "a compute config");
    if (!c.given)
        place_bad(&c.notes, at, "has no head_node: the head gets 2 CPUs and 8Gi");
    name_nodes(out, r->arena);
    return spec_errors_count(r->errors) == before;
}
