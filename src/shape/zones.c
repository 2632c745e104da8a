/* The zones of a cluster: the template of its head names them. Pods are made for one of them at a time, or for all at once. */
#include <mobula/pod.h>
#include <mobula/shape.h>
#include <mobula/spec.h>

/* Takes the first one off "a, b". A comma too many makes no zone. */
static struct slice take_zone(struct slice *rest)
{
    struct slice zone = SLICE("");
    while (slice_empty(zone) && !slice_empty(*rest))
        zone = slice_trim(slice_cut(rest, ','));
    return zone;
}

struct slice shape_zone_after(struct slice zones, struct slice zone)
{
    struct slice rest = zones;
    while (!slice_empty(rest)) {
        struct slice next, behind;
        if (!slice_eq(take_zone(&rest), zone))
            continue;
        behind = rest;
        next = take_zone(&behind);
        if (!slice_empty(next))
            return next;
    }
    return take_zone(&zones);
}

uint32_t shape_zone_count(struct slice zones)
{
    uint32_t count = 0;
    while (!slice_empty(zones))
        count += !slice_empty(take_zone(&zones));
    return count;
}

/* The only one of a list; of several, the list. */
static struct slice one_of(struct slice zones)
{
    struct slice rest = zones, first = take_zone(&rest);
    return slice_empty(take_zone(&rest)) ? first : zones;
}

static struct slice zone_of_hash(struct slice zones, uint32_t hash)
{
    struct slice rest = zones;
    while (!slice_empty(rest)) {
        struct slice one = take_zone(&rest);
        if (pod_zone_hash(one) == hash)
            return one;
    }
    return take_zone(&zones);
}

/* Alternatives of a node affinity are joined by or: the zones join each of them. */
static void put_several(struct slice zones, const struct ray_cluster *c, bool spread, struct jout *w)
{
    jout_form(w, "[{op:'add',path:'/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/*/"
                 "matchExpressions/-',value:{key:'" SHAPE_ZONE_LABEL "',operator:'In',values:[");
    while (!slice_empty(zones)) {
        struct slice zone = take_zone(&zones);
        if (!slice_empty(zone))
            jout_str(w, zone);
    }
    jout_form(w, "]}}");
    if (spread)
        jout_form(w,
                  "{op:'add',path:'/spec/topologySpreadConstraints/-',value:{maxSkew:1,topologyKey:'" SHAPE_ZONE_LABEL
                  "',whenUnsatisfiable:'ScheduleAnyway',labelSelector:{matchLabels:{" RAY_LABEL_CLUSTER ":'%.*s'}}}}",
                  SLICE_ARG(c->name));
    jout_form(w, "]");
}

static bool run_all(struct slice ops, struct arena *a, struct slice *text, struct err *e)
{
    struct json *doc = arena_new(a, struct json), *list = arena_new(a, struct json);
    struct jval k, v;
    struct json_op op;
    if (!json_parse(doc, *text, a, e) || !json_parse(list, ops, a, e))
        return false;
    struct json_edit *edit = json_edit_new(doc, a, e);
    for (struct jiter it = json_iter(json_root(list)); edit && json_next(&it, &k, &v);)
        if (!json_op_read(v, true, a, &op, e) || !json_edit_run(edit, &op))
            return false;
    return edit && json_edit_text(edit, text);
}

/* One zone is a label and a selector; several are an affinity, and no pod is said to be in one. */
static bool place_group(const struct ray_cluster *c, struct ray_group *g, struct slice zones, struct arena *a, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf b = {.max = LIMIT_JSON_ITEM};
    struct json *doc = arena_new(a, struct json);
    struct jout w;
    struct slice text;
    bool one = slice_find(zones, ',') < 0;
    jout_init(&w, &b);
    if (one)
        jout_form(&w,
                  "{metadata:{annotations:{" SHAPE_ZONE ":'%.*s'},labels:{" SHAPE_ZONE ":'%.*s'}},spec:{nodeSelector:{" SHAPE_ZONE_LABEL
                  ":'%.*s'}}}",
                  SLICE_ARG(zones), SLICE_ARG(zones), SLICE_ARG(zones));
    else
        jout_form(&w, "{metadata:{annotations:{" SHAPE_ZONE ":null},labels:{" SHAPE_ZONE ":null}}}");
    bool ok = json_merge_into(g->template, arena_dup(a, buf_slice(&b)), a, &text, e);
    if (ok && !one) {
        buf_clear(&b);
        jout_init(&w, &b);
        put_several(zones, c, !g->zoned, &w);
        ok = run_all(arena_dup(a, buf_slice(&b)), a, &text, e);
    }
    if (!ok || !json_parse(doc, text, a, e))
        return false;
    g->template = json_root(doc);
    return true;
}

void shape_zones(struct ray_cluster *c, uint32_t hash, struct arena *a)
{
    struct slice zones = shape_given(c->head.template, SHAPE_ZONE, a), ms = shape_given(c->head.template, SHAPE_ZONE_TIMEOUT, a);
    c->zone.allowed = zones = one_of(zones);
    if (!slice_empty(ms) && !duration_parse(ms, &c->zone.ms, NULL))
        c->zone.ms = 0;
    if (!slice_eq(shape_given(c->head.template, SHAPE_CROSS_ZONE, a), SLICE("true")))
        zones = c->zone.made_for = zone_of_hash(zones, hash);
    for (int64_t i = -1; i < (int64_t)c->group_count; i++) {
        struct ray_group *g = i < 0 ? &c->head : &c->groups[i];
        struct slice own = i < 0 ? SLICE("") : one_of(shape_given(g->template, SHAPE_ZONE, a));
        struct err e = {0};
        g->zoned = !slice_empty(own);
        if (!slice_empty(g->zoned ? own : zones) && !place_group(c, g, g->zoned ? own : zones, a, &e)) {
            g->blocked = "ZoneNotApplied";
            g->blocked_text = arena_printf(a, "has zones, and %s", e.text);
            c->typed = true;
        }
    }
}
