/* Runs files of conformance cases: autoscaler-cases FILE.json... Each case that fails or is skipped is a line with its id; the last line is
 * "N passed, N failed". The cases of Ray's v1 go to the functions that they were written for; those of v2 whose answer does not depend on
 * v2's own rules are put to the whole decision. */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>

static struct ray_pack pack_of(struct kase *k, struct jval *lists, size_t count)
{
    struct ray_pack p;
    struct jval key, v;
    ray_pack_init(&p, k->a);
    for (struct jiter it = json_iter(k->types); json_next(&it, &key, &v);) {
        struct ray_bundle b = kase_bundle(k, json_key(v, SLICE("resources")));
        ray_pack_learn(&p, &b);
    }
    for (size_t i = 0; i < count; i++)
        kase_learn(k, &p, lists[i]);
    return p;
}

static struct ray_room room_of(struct kase *k, const struct ray_pack *p, struct jval shape)
{
    struct ray_bundle b = kase_bundle(k, shape);
    return ray_pack_room(p, &b, NULL, 0);
}

static void run_score(struct kase *k)
{
    static const char *const words[] = {"node_resources", "demands", NULL};
    kase_known(k, k->input, "the input", words);
    struct jval demands = json_key(k->input, SLICE("demands")), node = json_key(k->input, SLICE("node_resources"));
    struct ray_pack p = pack_of(k, &demands, 1);
    struct ray_bundle b = kase_bundle(k, node);
    ray_pack_learn(&p, &b);
    struct scale_wants wants = kase_wants(k, &p, demands);
    struct ray_room full = room_of(k, &p, node);
    struct ray_score score;
    bool fits = ray_pack_score(&p, &full, wants.list, wants.count, &score);
    check_score(k, fits, &score);
}

static void run_residual(struct kase *k)
{
    static const char *const words[] = {"nodes", "demands", "strict_spread", NULL};
    kase_known(k, k->input, "the input", words);
    struct jval demands = json_key(k->input, SLICE("demands")), nodes = json_key(k->input, SLICE("nodes")), key, v;
    struct ray_pack p = pack_of(k, &demands, 1);
    struct scale_wants wants = kase_wants(k, &p, demands);
    struct ray_rooms rooms = {0};
    int64_t all = 0;
    for (struct jiter it = json_iter(nodes); json_next(&it, &key, &v);) {
        struct ray_room room = room_of(k, &p, v);
        ray_pack_add(&p, &rooms, &room, 1);
    }
    wants.count = ray_pack_sort(wants.list, wants.count);
    for (uint32_t i = 0; i < wants.count; i++)
        all += wants.list[i].count;
    if (json_bool(json_key(k->input, SLICE("strict_spread")), false)) {
        const struct ray_label nobody = {0};
        ray_pack_spread(&rooms, wants.list, wants.count, &nobody, arena_array(k->a, (size_t)all, sizeof(struct ray_put)));
    } else {
        ray_pack_fit(&rooms, wants.list, wants.count);
    }
    kase_check_left(k, wants.list, wants.count, "residual");
    struct jval after = json_key(k->expected, SLICE("nodes_after"));
    for (uint32_t i = 0; i < rooms.count && json_there(after); i++) {
        struct ray_room want = room_of(k, &p, json_at(after, i));
        uint32_t n = 0; /* a resource that is used up may be absent */
        for (uint32_t part = 0; part < rooms.list[i].count; part++) {
            const struct ray_part *got = &rooms.list[i].parts[part];
            bool there = n < want.count && want.parts[n].name == got->name;
            if (got->amount != (there ? want.parts[n].amount : 0))
                kase_wrong(k, "node %u has another amount left", i);
            n += there;
        }
    }
}

static bool is_head(struct kase *k, struct jval type)
{
    return json_str_eq(json_key(k->input, SLICE("head_node_type")), json_str(json_key(type, SLICE("name")), k->a));
}

static struct scale_kind *kinds_of(struct kase *k, const struct ray_pack *p, uint32_t *count)
{
    static const char *const words[] = {"name", "resources", "min_workers", "max_workers", "min", "max", NULL};
    struct scale_kind *kinds = arena_array(k->a, json_len(k->types), sizeof *kinds);
    struct jval key, v;
    *count = 0;
    for (struct jiter it = json_iter(k->types); json_next(&it, &key, &v); (*count)++) {
        struct scale_kind *kind = &kinds[*count];
        bool head = is_head(k, v);
        kase_known(k, v, "a node type", words);
        kind->supply.name = json_str(json_key(v, SLICE("name")), k->a);
        kind->supply.full = room_of(k, p, json_key(v, SLICE("resources")));
        kind->supply.hosts = 1;
        kind->max = kase_int(v, "max_workers", "max", 0) + head;
        kind->min = kase_int(v, "min_workers", "min", 0) + head;
    }
    return kinds;
}

static struct scale_kind *kind_named(struct scale_kind *kinds, uint32_t count, struct slice name)
{
    for (uint32_t i = 0; i < count; i++)
        if (slice_eq(kinds[i].supply.name, name))
            return &kinds[i];
    return NULL;
}

/* {type: count} */
static void add_counts(struct kase *k, struct scale_kind *kinds, uint32_t count, const char *key, int64_t *(*field)(struct scale_kind *))
{
    struct jval name, v;
    for (struct jiter it = json_iter(json_key(k->input, slice_of(key))); json_next(&it, &name, &v);) {
        struct scale_kind *kind = kind_named(kinds, count, json_str(name, k->a));
        int64_t n = 0;
        if (kind && json_int(v, &n))
            *field(kind) += n;
        else
            kase_skip(k, "%s counts something that is no node type", key);
    }
}

static int64_t *count_field(struct scale_kind *kind)
{
    return &kind->count;
}

static int64_t *wanted_field(struct scale_kind *kind)
{
    return &kind->wanted;
}

static int64_t *sure_field(struct scale_kind *kind)
{
    return &kind->sure;
}

static int64_t *bypass_field(struct scale_kind *kind)
{
    return &kind->bypass;
}

static void check_kinds(struct kase *k, struct scale_kind *kinds, uint32_t count, int64_t *(*field)(struct scale_kind *), const char *key)
{
    struct kase_count *got = arena_array(k->a, count, sizeof *got);
    for (uint32_t i = 0; i < count; i++)
        got[i] = (struct kase_count){kinds[i].supply.name, *field(&kinds[i])};
    kase_check_counts(k, got, count, key);
}

/* The first choice goes by the demands in the order in which they are given, later ones by the sorted rest. */
static void run_nodes_for(struct kase *k)
{
    static const char *const words[] = {"node_types", "head_node_type", "max_to_add", "demands", "strict_spread", "node_type_counts", NULL};
    kase_known(k, k->input, "the input", words);
    struct jval demands = json_key(k->input, SLICE("demands"));
    struct ray_pack p = pack_of(k, &demands, 1);
    uint32_t count;
    struct scale_kind *kinds = kinds_of(k, &p, &count);
    add_counts(k, kinds, count, "node_type_counts", count_field);
    struct ray_supply *supplies = arena_array(k->a, count, sizeof *supplies);
    struct scale_wants wants = kase_wants(k, &p, demands), first = kase_wants(k, &p, demands);
    int64_t room = kase_int(k->input, "max_to_add", NULL, 0);
    for (uint32_t i = 0; i < count; i++) {
        supplies[i] = kinds[i].supply;
        supplies[i].left = kinds[i].max - kinds[i].count;
    }
    if (json_bool(json_key(k->input, SLICE("strict_spread")), false)) {
        ray_pack_choose_spread(&p, supplies, count, wants.list, wants.count, room);
    } else {
        ray_pack_choose(&p, supplies, count, first.list, first.count, room < 1 ? room : 1);
        wants.count = ray_pack_sort(wants.list, wants.count);
        struct ray_rooms rooms = {0};
        for (uint32_t i = 0; i < count; i++)
            ray_pack_add(&p, &rooms, &supplies[i].full, supplies[i].added);
        ray_pack_fit(&rooms, wants.list, wants.count);
        if (rooms.count)
            ray_pack_choose(&p, supplies, count, wants.list, wants.count, room - rooms.count);
    }
    for (uint32_t i = 0; i < count; i++)
        kinds[i].wanted = supplies[i].added;
    check_kinds(k, kinds, count, wanted_field, "to_add");
    kase_check_left(k, wants.list, wants.count, "unfulfilled");
}

static void add_nodes(struct kase *k, struct scale_launch *l, struct jval list)
{
    struct jval key, v;
    for (struct jiter it = json_iter(list); json_next(&it, &key, &v);) {
        struct ray_room room = room_of(k, l->pack, json_key(v, SLICE("shape")));
        ray_pack_add(l->pack, &l->free, &room, kase_int(v, "count", NULL, 1));
    }
}

static void run_min_workers(struct kase *k)
{
    static const char *const words[] = {"node_types", "head_node_type", "node_resources", "node_type_counts", NULL};
    kase_known(k, k->input, "the input", words);
    struct jval nodes = json_key(k->input, SLICE("node_resources")), after = json_key(k->expected, SLICE("node_resources"));
    struct ray_pack p = pack_of(k, &nodes, 1);
    struct scale_launch l = {.pack = &p}, want = {.pack = &p};
    l.kinds = kinds_of(k, &p, &l.kind_count);
    add_counts(k, l.kinds, l.kind_count, "node_type_counts", count_field);
    add_nodes(k, &l, nodes);
    add_nodes(k, &want, after);
    scale_launch_min(&l);
    check_kinds(k, l.kinds, l.kind_count, sure_field, "to_add");
    check_kinds(k, l.kinds, l.kind_count, count_field, "node_type_counts");
    bool same = l.free.count == want.free.count;
    for (uint32_t i = 0; same && i < want.free.count; i++) {
        same = l.free.list[i].count == want.free.list[i].count;
        for (uint32_t n = 0; same && n < want.free.list[i].count; n++)
            same = l.free.list[i].parts[n].name == want.free.list[i].parts[n].name &&
                   l.free.list[i].parts[n].amount == want.free.list[i].parts[n].amount;
    }
    if (!same)
        kase_wrong(k, "node_resources differ (%u nodes, want %u)", l.free.count, want.free.count);
}

/* Existing nodes, and launches under way. */
static void add_existing(struct kase *k, struct scale_launch *l)
{
    static const char *const words[] = {"type", "count", "connected", "available", "head", NULL};
    struct jval key, v;
    for (struct jiter it = json_iter(json_key(k->input, SLICE("existing_nodes"))); json_next(&it, &key, &v);) {
        struct scale_kind *kind = kind_named(l->kinds, l->kind_count, json_str(json_key(v, SLICE("type")), k->a));
        struct jval available = json_key(v, SLICE("available"));
        bool connected = json_bool(json_key(v, SLICE("connected")), json_there(available));
        int64_t n = kase_int(v, "count", NULL, 1);
        kase_known(k, v, "a node", words);
        if (!kind)
            continue; /* an unknown type is logged and left out */
        struct ray_room room = json_there(available) ? room_of(k, l->pack, available) : kind->supply.full;
        ray_pack_add(l->pack, &l->free, &room, n);
        ray_pack_add(l->pack, &l->whole, &kind->supply.full, n);
        kind->count += n;
        *(connected ? &kind->running : &kind->pending) += n;
    }
    struct jval launching = json_key(k->input, SLICE("launching"));
    for (struct jiter it = json_iter(launching); json_next(&it, &key, &v);) {
        struct scale_kind *kind = kind_named(l->kinds, l->kind_count, json_str(key, k->a));
        int64_t n = 0;
        if (!kind || !json_int(v, &n))
            continue;
        ray_pack_add(l->pack, &l->free, &kind->supply.full, n);
        ray_pack_add(l->pack, &l->whole, &kind->supply.full, n);
        kind->count += n;
        kind->pending += n;
    }
}

static double speed_of(struct kase *k)
{
    double speed = 1;
    json_num(json_key(k->input, SLICE("upscaling_speed")), &speed);
    return speed;
}

/* Types are those that the input counts: it names no others. */
static void run_limit(struct kase *k)
{
    static const char *const words[] = {"to_launch",       "existing_nodes", "launching", "adjusted_min_workers", "placement_group_nodes",
                                        "upscaling_speed", "node_types",     NULL};
    static const char *const maps[] = {"to_launch", "launching", "adjusted_min_workers", "placement_group_nodes"};
    struct ray_pack p = pack_of(k, NULL, 0);
    struct scale_launch l = {.pack = &p, .speed = speed_of(k)};
    struct jval key, v;
    size_t most = json_len(json_key(k->input, SLICE("existing_nodes")));
    kase_known(k, k->input, "the input", words);
    for (size_t i = 0; i < COUNT_OF(maps); i++)
        most += json_len(json_key(k->input, slice_of(maps[i])));
    l.kinds = arena_array(k->a, most, sizeof *l.kinds);
    for (size_t i = 0; i < COUNT_OF(maps); i++)
        for (struct jiter it = json_iter(json_key(k->input, slice_of(maps[i]))); json_next(&it, &key, &v);)
            if (!kind_named(l.kinds, l.kind_count, json_str(key, k->a)))
                l.kinds[l.kind_count++].supply = (struct ray_supply){.name = json_str(key, k->a), .hosts = 1};
    add_existing(k, &l);
    add_counts(k, l.kinds, l.kind_count, "to_launch", wanted_field);
    add_counts(k, l.kinds, l.kind_count, "adjusted_min_workers", sure_field);
    add_counts(k, l.kinds, l.kind_count, "placement_group_nodes", bypass_field);
    scale_launch_limit(&l);
    for (uint32_t i = 0; i < l.kind_count; i++)
        l.kinds[i].wanted = l.kinds[i].launch;
    check_kinds(k, l.kinds, l.kind_count, wanted_field, "to_launch");
}

static void sum_up(struct kase *k, struct ray_pack *p, struct jval bundles, struct scale_wants *out)
{
    struct scale_wants all = kase_wants(k, p, bundles);
    int64_t *sums = arena_array(k->a, p->name_count, sizeof *sums);
    struct ray_amount *list = arena_array(k->a, p->name_count, sizeof *list);
    struct ray_request *r = arena_new(k->a, struct ray_request);
    for (uint32_t i = 0; i < all.count; i++)
        for (uint32_t n = 0; n < all.list[i].shape.count; n++)
            sums[all.list[i].shape.parts[n].name] += all.list[i].shape.parts[n].amount * all.list[i].count;
    for (uint32_t n = 0; n < p->name_count; n++)
        if (sums[n])
            list[r->bundle.count++] = (struct ray_amount){p->names[n], sums[n]};
    r->bundle.list = list;
    ray_pack_shape(p, r, &out->list[out->count].shape, NULL);
    out->list[out->count++].count = 1;
}

static void add_groups(struct kase *k, struct scale_launch *l, struct jval groups)
{
    size_t most = 0;
    struct jval key, v;
    for (struct jiter it = json_iter(groups); json_next(&it, &key, &v);)
        most += json_len(json_key(v, SLICE("bundles"))) + 1;
    l->groups.list = arena_array(k->a, most, sizeof *l->groups.list);
    l->spreads = arena_array(k->a, json_len(groups), sizeof *l->spreads);
    for (struct jiter it = json_iter(groups); json_next(&it, &key, &v);) {
        struct jval bundles = json_key(v, SLICE("bundles")), strategy = json_key(v, SLICE("strategy"));
        struct scale_wants wants = kase_wants(k, l->pack, bundles);
        if (json_str_eq(strategy, SLICE("STRICT_PACK"))) {
            sum_up(k, l->pack, bundles, &l->groups);
        } else if (json_str_eq(strategy, SLICE("STRICT_SPREAD"))) {
            struct ray_gang *gang = arena_new(k->a, struct ray_gang);
            for (uint32_t i = 0; i < wants.count; i++)
                gang->count += (uint32_t)wants.list[i].count;
            wants.count = ray_pack_sort(wants.list, wants.count);
            l->spreads[l->spread_count++] = (struct scale_gang){.gang = gang, .wants = wants.list, .count = wants.count};
        } else {
            for (uint32_t i = 0; i < wants.count; i++)
                l->groups.list[l->groups.count++] = wants.list[i];
        }
    }
    l->groups.count = ray_pack_sort(l->groups.list, l->groups.count);
}

static void run_launch(struct kase *k)
{
    static const char *const words[] = {"node_types", "max_workers", "head_node_type",    "upscaling_speed",  "existing_nodes",
                                        "launching",  "demands",     "request_resources", "placement_groups", NULL};
    kase_known(k, k->input, "the input", words);
    struct jval demands = json_key(k->input, SLICE("demands")), asked = json_key(k->input, SLICE("request_resources"));
    struct jval groups = json_key(k->input, SLICE("placement_groups")), key, v, lists[] = {demands, asked};
    struct ray_pack p = pack_of(k, lists, COUNT_OF(lists));
    for (struct jiter it = json_iter(groups); json_next(&it, &key, &v);)
        kase_learn(k, &p, json_key(v, SLICE("bundles")));
    struct scale_launch l = {.pack = &p, .speed = speed_of(k), .most = kase_int(k->input, "max_workers", NULL, 0) + 1};
    l.kinds = kinds_of(k, &p, &l.kind_count);
    add_existing(k, &l);
    add_groups(k, &l, groups);
    struct scale_wants wants = kase_wants(k, &p, demands), constraint = kase_wants(k, &p, asked);
    constraint.count = ray_pack_sort(constraint.list, constraint.count);
    l.constraints = &constraint;
    l.constraint_count = constraint.count > 0;
    l.demands.list = arena_array(k->a, wants.count + l.groups.count, sizeof *l.demands.list);
    for (uint32_t i = 0; i < l.groups.count; i++)
        l.demands.list[l.demands.count++] = l.groups.list[i];
    for (uint32_t i = 0; i < wants.count; i++)
        l.demands.list[l.demands.count++] = wants.list[i];
    l.demands.count = ray_pack_sort(l.demands.list, l.demands.count);
    scale_launch(&l);
    for (uint32_t i = 0; i < l.kind_count; i++)
        l.kinds[i].wanted = l.kinds[i].launch;
    check_kinds(k, l.kinds, l.kind_count, wanted_field, "to_launch");
    kase_check_left(k, l.demands.list, l.demands.count, "unfulfilled");
}

static const struct {
    const char *kind;
    void (*run)(struct kase *);
} kinds[] = {
    {"utilization_score", run_score},     {"bin_pack_residual", run_residual},    {"get_nodes_for", run_nodes_for},
    {"add_min_workers", run_min_workers}, {"concurrent_launch_limit", run_limit}, {"get_nodes_to_launch", run_launch},
    {"v2_schedule", run_v2_schedule},     {"v2_node_score", run_v2_node_score},
};

static void put_demands(struct jout *w, struct jval list, int64_t times)
{
    struct jval key, v;
    for (int64_t n = 0; n < times; n++)
        for (struct jiter it = json_iter(list); json_next(&it, &key, &v);)
            jout_raw(w, json_raw(v));
}

/* The input with other words for the same thing replaced: existing, demands_repeated. */
static struct jval plain_input(struct kase *k, struct jval input, bool v2)
{
    const char *demands = v2 ? "resource_requests" : "demands";
    struct jval more = json_key(input, SLICE("demands_repeated")), key, v;
    struct jout w;
    struct buf b;
    struct err e = {0};
    struct json *doc = arena_new(k->a, struct json);
    if (!json_there(more) && !json_there(json_key(input, SLICE("existing"))))
        return input;
    buf_init(&b, LIMIT_JSON_ITEM);
    jout_init(&w, &b);
    jout_object(&w);
    for (struct jiter it = json_iter(input); json_next(&it, &key, &v);) {
        if (json_str_eq(key, slice_of(demands)) || json_str_eq(key, SLICE("demands_repeated")))
            continue;
        bool existing = json_str_eq(key, SLICE("existing"));
        jout_key(&w, !existing ? json_str(key, k->a) : v2 ? SLICE("instances") : SLICE("existing_nodes"));
        jout_raw(&w, json_raw(v));
    }
    bool list = json_type(more) == JSON_ARRAY;
    static const char *const words[] = {"demands", "pattern", "times", NULL};
    if (json_type(more) == JSON_OBJECT)
        kase_known(k, more, "demands_repeated", words);
    if (json_there(more) || json_there(json_key(input, slice_of(demands)))) {
        jout_karray(&w, demands);
        put_demands(&w, json_key(input, slice_of(demands)), 1);
        struct jval pattern = json_key(more, SLICE("pattern"));
        put_demands(&w,
                    list                  ? more
                    : json_there(pattern) ? pattern
                                          : json_key(more, SLICE("demands")),
                    list ? 1 : kase_int(more, "times", NULL, 1));
        jout_end(&w);
    }
    jout_end(&w);
    if (!json_parse(doc, arena_dup(k->a, buf_slice(&b)), k->a, &e))
        kase_skip(k, "the input is too large");
    buf_free(&b);
    return json_root(doc);
}

static void run_case(struct jval root, struct jval one, struct kase *k)
{
    bool v2 = slice_starts(json_str(json_key(one, SLICE("kind")), k->a), SLICE("v2_"));
    k->input = plain_input(k, json_key(one, SLICE("input")), v2);
    k->expected = json_key(one, SLICE("expected"));
    k->types = json_key(k->input, SLICE("node_types"));
    struct jval ref = json_key(k->types, SLICE("$ref"));
    if (json_there(ref))
        k->types = json_key(json_key(root, SLICE("node_type_sets")), json_str(ref, k->a));
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (json_str_eq(json_key(one, SLICE("kind")), slice_of(kinds[i].kind))) {
            kinds[i].run(k);
            return;
        }
    kase_skip(k, "a kind that this program does not know");
}

static struct slice whole_file(const char *path, struct arena *a)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return SLICE_NONE;
    char *text = arena_alloc(a, LIMIT_JSON_ITEM);
    size_t n = fread(text, 1, LIMIT_JSON_ITEM, f);
    fclose(f);
    return (struct slice){text, n};
}

struct counts {
    int passed, failed, skipped;
};

static bool run_file(const char *path, struct counts *n)
{
    struct arena a = {0};
    struct json doc;
    struct err e = {0};
    struct slice text = whole_file(path, &a);
    if (!text.ptr || !json_parse(&doc, text, &a, &e)) {
        fprintf(stderr, "autoscaler-cases: %s cannot be read%s%s\n", path, e.code ? ": " : "", e.text);
        return false;
    }
    struct jval key, one;
    for (struct jiter it = json_iter(json_key(json_root(&doc), SLICE("cases"))); json_next(&it, &key, &one);) {
        struct arena scratch = {0};
        struct kase k = {.a = &scratch};
        struct slice id = json_str(json_key(one, SLICE("id")), &a);
        run_case(json_root(&doc), one, &k);
        if (!slice_empty(k.skip))
            printf("skipped %.*s: %.*s\n", SLICE_ARG(id), SLICE_ARG(k.skip));
        else if (!slice_empty(k.wrong))
            printf("not ok: %.*s: %.*s\n", SLICE_ARG(id), SLICE_ARG(k.wrong));
        n->skipped += !slice_empty(k.skip);
        n->failed += slice_empty(k.skip) && !slice_empty(k.wrong);
        n->passed += slice_empty(k.skip) && slice_empty(k.wrong);
        arena_free(&scratch);
    }
    arena_free(&a);
    return true;
}

int main(int argc, char **argv)
{
    struct counts n = {0};
    if (argc < 2) {
        fprintf(stderr, "usage: autoscaler-cases FILE.json...\n");
        return 2;
    }
    for (int i = 1; i < argc; i++)
        if (!run_file(argv[i], &n))
            return 2;
    printf("%d skipped\n%d passed, %d failed\n", n.skipped, n.passed, n.failed);
    return n.failed > 0 || n.passed == 0;
}
