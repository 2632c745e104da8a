/* The text of instance types: a mapping from names to shapes, in the forms of the documents. */
#include "types.h"
#include <mobula/text.h>

/* A shape smaller than this is a slip of the pen: 8 for 8Gi. */
enum { MEMORY_LEAST = MIB };

#define ACCELERATOR_PREFIX "accelerator_type:"

static bool is_word(struct slice key, const char *word)
{
    return slice_eq_nocase(key, slice_of(word));
}

/* Kubernetes' name of a resource; empty: it has none, and *domain says whether it was meant to. */
static struct slice kubernetes_name(struct slice key)
{
    static const struct {
        const char *ours, *kubernetes;
    } names[] = {{"CPU", "cpu"}, {"memory", "memory"}, {"GPU", "nvidia.com/gpu"}, {"TPU", "google.com/tpu"}};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (is_word(key, names[i].ours))
            return slice_of(names[i].kubernetes);
    bool own = slice_is(key, "ephemeral-storage") || slice_starts(key, SLICE("hugepages-"));
    return own || (slice_find(key, '/') > 0 && name_qualified(key)) ? key : SLICE_NONE;
}

/* CPU is read in thousandths, memory and ephemeral storage in bytes. A resource with a domain, such as nvidia.com/gpu, is whole. */
static bool read_amount(struct reader *r, const struct place *at, struct slice name, int64_t *out)
{
    bool cpu = slice_is(name, "cpu"), whole = slice_find(name, '/') >= 0;
    struct err e = {0};
    struct slice text = json_type(at->value) == JSON_STRING ? json_str(at->value, r->arena) : json_raw(at->value);
    if (json_type(at->value) != JSON_STRING && json_type(at->value) != JSON_NUMBER)
        place_bad(r, at, "is %s: must be an amount, such as 2, 500m or 8Gi", value_type_name(json_type(at->value)));
    else if (!quantity_parse(text, cpu || whole ? 3 : 0, out, &e))
        place_bad(r, at, "is no amount: %s", e.text);
    else if (whole && *out % 1000)
        place_bad(r, at, "is %.*s: %.*s is given out in whole pieces", SLICE_ARG(text), SLICE_ARG(name));
    else if ((*out /= whole ? 1000 : 1) > LIMIT_RAY_AMOUNT)
        place_bad(r, at, "is more than one node can have: at most %lld", (long long)LIMIT_RAY_AMOUNT);
    else
        return true;
    return false;
}

static void add_amount(struct type_reader *t, const struct place *at, struct slice name)
{
    struct shape_type *type = t->type;
    int64_t n;
    if (!read_amount(&t->r, at, name, &n))
        return;
    for (uint32_t i = 0; i < type->amount_count; i++)
        if (slice_eq(t->amounts[i].name, name)) {
            place_bad(&t->r, at, "stands for %.*s, which is given already: remove one", SLICE_ARG(name));
            return;
        }
    bool must = slice_is(name, "cpu") || slice_is(name, "memory");
    if (must && n == 0)
        place_bad(&t->r, at, "is 0: a pod without it is not bounded");
    else if (slice_is(name, "memory") && n < MEMORY_LEAST)
        place_bad(&t->r, at, "is %lld bytes: write the unit, such as 8Gi", (long long)n);
    else if (type->amount_count == LIMIT_SHAPE_RESOURCES)
        place_bad(&t->r, at, "is one resource too many: at most %d (LIMIT_SHAPE_RESOURCES)", LIMIT_SHAPE_RESOURCES);
    else if (n > 0)
        t->amounts[type->amount_count++] = (struct shape_amount){name, n};
}

void type_accelerator(struct type_reader *t, const struct place *at, struct slice name)
{
    if (slice_empty(name) || !name_label_value(name))
        place_bad(&t->r, at, "is no accelerator: write its name in Ray, such as T4 or A100-80G");
    else if (!slice_empty(t->type->accelerator) && !slice_eq(t->type->accelerator, name))
        place_bad(&t->r, at, "is a second accelerator beside %.*s: a pod has one kind", SLICE_ARG(t->type->accelerator));
    else
        t->type->accelerator = name;
}

static void read_accelerators(struct type_reader *t, const struct place *at)
{
    struct jval k, v;
    size_t i = 0;
    if (!read_text_list(&t->r, at))
        return;
    for (struct jiter it = json_iter(at->value); json_next(&it, &k, &v); i++) {
        const struct place *one = place_element(at, i, v);
        type_accelerator(t, one, json_str(v, t->r.arena));
    }
}

/* anyscale/tpu_hosts and anyscale/tpu_slices stand beside `resources` or in it; false: it is neither. */
static bool read_tpu(struct type_reader *t, const struct place *at)
{
    int64_t *to = slice_is(at->key, "anyscale/tpu_hosts")    ? &t->type->tpu_hosts
                  : slice_is(at->key, "anyscale/tpu_slices") ? &t->type->tpu_slices
                                                             : NULL;
    if (to && *to)
        place_bad(&t->r, at, "is given in resources and beside it: remove one");
    else if (to)
        read_int(&t->r, at, 1, LIMIT_RAY_HOSTS, to);
    return to != NULL;
}

void type_resource(struct type_reader *t, const struct place *at)
{
    struct slice name = kubernetes_name(at->key);
    if (slice_starts(at->key, SLICE(ACCELERATOR_PREFIX)))
        type_accelerator(t, at, slice_skip(at->key, strlen(ACCELERATOR_PREFIX)));
    else if (slice_is(at->key, "accelerators"))
        read_accelerators(t, at);
    else if (read_tpu(t, at))
        return;
    else if (name.ptr)
        add_amount(t, at, name);
    else
        place_bad(&t->r, at, "is no resource: write CPU, memory, GPU, TPU, accelerators, or one with its domain, such as amd.com/gpu");
}

static void read_resources(struct type_reader *t, const struct place *at)
{
    struct jval k, v;
    bool cpu = false, memory = false;
    if (!read_object(&t->r, at, REQUIRED))
        return;
    for (struct jiter it = json_iter(at->value); json_next(&it, &k, &v);) {
        const struct place *one = place_member(at, json_str(k, t->r.arena), v);
        cpu |= is_word(one->key, "CPU");
        memory |= is_word(one->key, "memory");
        type_resource(t, one);
    }
    if (!cpu || !memory)
        place_bad(&t->r, at, "has no %s: a pod without it is not bounded", cpu ? "memory" : "CPU");
}

void type_architecture(struct type_reader *t, const struct place *at)
{
    static const char *const words[] = {"amd64", "x86_64", "arm64", NULL};
    struct slice text;
    if (read_word(&t->r, at, words, &text))
        t->type->architecture = slice_is(text, "arm64") ? text : SLICE("amd64");
}

bool type_labels(struct reader *r, const struct place *at)
{
    struct jval k, v;
    if (!read_text_map(r, at))
        return false;
    for (struct jiter it = json_iter(at->value); json_next(&it, &k, &v);) {
        const struct place *one = place_member(at, json_str(k, r->arena), v);
        if (!name_qualified(one->key))
            place_bad(r, one, "is no label key: must be [prefix/]name of letters, digits, - _ and .");
        else if (!name_label_value(json_str(v, r->arena)))
            place_bad(r, one, "is no label value: at most 63 letters, digits, - _ and .");
    }
    return true;
}

static void read_tolerations(struct type_reader *t, const struct place *at)
{
    struct jval k, v;
    size_t i = 0;
    if (!read_array(&t->r, at, OPTIONAL))
        return;
    for (struct jiter it = json_iter(at->value); json_next(&it, &k, &v); i++) {
        const struct place *one = place_element(at, i, v);
        if (read_object(&t->r, one, REQUIRED))
            type_strings(&t->r, one, false);
    }
    t->type->tolerations = at->value;
}

static void read_member(struct type_reader *t, const struct place *at)
{
    if (slice_is(at->key, "resources"))
        read_resources(t, at);
    else if (slice_is(at->key, "tolerations"))
        read_tolerations(t, at);
    else if (slice_is(at->key, "cpuArchitecture"))
        type_architecture(t, at);
    else if (slice_is(at->key, "nodeSelector"))
        t->type->node_selector = type_labels(&t->r, at) ? at->value : NO_VALUE;
    else if (!read_tpu(t, at))
        place_bad(&t->r, at, "is no field of an instance type: write resources, nodeSelector, tolerations or cpuArchitecture");
}

void type_begin(struct type_reader *t, struct slice name)
{
    *t->type = (struct shape_type){
        .name = name, .accelerator = SLICE(""), .architecture = SLICE(""), .node_selector = NO_VALUE, .tolerations = NO_VALUE};
}

void type_keep(struct type_reader *t)
{
    struct shape_amount *kept = arena_array(t->r.arena, t->type->amount_count + 1, sizeof *kept);
    memcpy(kept, t->amounts, t->type->amount_count * sizeof *kept);
    t->type->amounts = kept;
}

/* False: it is wrong, and there is no such type. */
static bool read_type(struct type_reader *t, const struct place *at)
{
    uint32_t before = spec_errors_count(t->r.errors);
    struct jval k, v;
    type_begin(t, at->key);
    if (slice_empty(at->key) || !name_label_value(at->key))
        place_bad(&t->r, at, "is no name of a type: 1 to 63 letters, digits, - _ and ., with a letter or digit at both ends");
    if (!read_object(&t->r, at, REQUIRED))
        return false;
    if (!json_there(json_get(at->value, "resources")))
        place_bad(&t->r, at, "has no resources: write at least CPU and memory");
    for (struct jiter it = json_iter(at->value); json_next(&it, &k, &v);) {
        const struct place *one = place_member(at, json_str(k, t->r.arena), v);
        read_member(t, one);
    }
    type_keep(t);
    return spec_errors_count(t->r.errors) == before;
}

static void read_types(struct reader *r, const struct place *root, const struct yaml_doc *doc, struct shape_types *out)
{
    struct type_reader t = {.r = *r};
    struct jval k, v;
    size_t count = json_len(root->value);
    if (count > LIMIT_SHAPE_TYPES) {
        place_bad(r, root, "has %zu types: at most %d (LIMIT_SHAPE_TYPES)", count, LIMIT_SHAPE_TYPES);
        return;
    }
    out->list = arena_array(r->arena, count + 1, sizeof *out->list);
    for (struct jiter it = json_iter(root->value); json_next(&it, &k, &v);) {
        const struct place *at = place_member(root, json_str(k, r->arena), v);
        if (slice_is(at->key, "version") && json_type(v) == JSON_STRING)
            continue; /* belongs beside the text, and is found in it */
        t.type = &out->list[out->count];
        bool right = read_type(&t, at);
        t.type->line = yaml_line(doc, json_offset(v));
        out->count += right;
    }
}

bool shape_types_read(struct slice text, struct arena *a, struct shape_types *out, struct spec_errors *errors)
{
    struct yaml_doc doc;
    struct reader r = {.arena = a, .errors = errors};
    struct jval whole;
    *out = (struct shape_types){0};
    if (!spec_text_open(text, "types", a, &doc, &whole, errors))
        return false;
    const struct place *root = place_root(whole, a);
    if (json_there(whole) && read_object(&r, root, REQUIRED))
        read_types(&r, root, &doc, out);
    return spec_text_lines(&doc, errors);
}

const struct shape_type *shape_type_find(const struct shape_types *types, struct slice name)
{
    for (uint32_t i = 0; i < types->count; i++)
        if (slice_eq(types->list[i].name, name))
            return &types->list[i];
    return NULL;
}
