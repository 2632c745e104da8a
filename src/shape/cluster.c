/* The instance types of a whole cluster: each group that names one gets the template that its type makes. */
#include <mobula/ray.h>
#include <mobula/shape.h>
#include <mobula/spec.h>

#include <stdio.h>

/* The first version of Ray that has the node labels ray.io/… and takes them from `ray start --labels`. */
enum { NODE_LABELS_SINCE = 2049 };

static void block(struct ray_group *g, const char *reason, struct slice text)
{
    g->blocked = reason;
    g->blocked_text = text;
}

static struct slice missing_text(const struct shape_types *types, struct slice name, struct arena *a)
{
    struct nearest n = {.typed = name};
    for (uint32_t i = 0; i < types->count; i++)
        nearest_try(&n, types->list[i].name);
    struct slice hint = SLICE("");
    if (n.best.ptr)
        hint = arena_printf(a, ": did you mean %.*s (line %u)?", SLICE_ARG(n.best), shape_type_find(types, n.best)->line);
    return arena_printf(a, "names instance type %.*s, which the ConfigMap does not have%.*s", SLICE_ARG(slice_head(name, 64)),
                        SLICE_ARG(hint));
}

bool shape_pod(const struct shape_types *types, struct slice node_type, struct jval *template, struct arena *a, struct err *e)
{
    struct slice name = shape_type_named(*template, a), text;
    const struct shape_type *type = shape_type_find(types, name);
    if (slice_empty(name))
        return true;
    if (!type)
        return err_set(e, ERR_MISSING, "%s", missing_text(types, name, a).ptr);
    return shape_type_apply(type, *template, node_type, a, &text, e) && json_read(template, text, a, e);
}

static void put_label(struct jout *w, const char *key, struct slice value)
{
    if (!slice_empty(value))
        jout_kstr(w, key, value);
}

/* Ray's word for a market; empty: which one it will be is not known. */
static struct slice ray_market(struct slice market)
{
    return slice_is(market, "SPOT") ? SLICE("spot") : slice_is(market, "ON_DEMAND") ? SLICE("on-demand") : SLICE("");
}

/* The labels that Ray schedules by. The group's own labels win. */
static bool label_nodes(struct slice accelerator, const struct ray_cluster *c, struct ray_group *g, struct arena *a, struct err *e)
{
    struct buf b;
    struct jout w;
    struct slice text;
    struct jval doc;
    if (ray_version_number(c->ray_version) < NODE_LABELS_SINCE)
        return true;
    buf_init(&b, KIB);
    jout_init(&w, &b);
    jout_object(&w);
    put_label(&w, "ray.io/accelerator-type", accelerator);
    put_label(&w, "ray.io/market-type", ray_market(shape_given(g->template, SHAPE_MARKET, a)));
    put_label(&w, "ray.io/availability-zone", shape_given(g->template, SHAPE_ZONE, a));
    jout_end(&w);
    text = arena_dup(a, buf_slice(&b));
    bool ok = !b.full || err_set(e, ERR_LIMIT, "zone and accelerator have more than %zu bytes", b.max);
    ok = ok && (!value_given(g->labels) || json_merge(text, json_raw(g->labels), a, &text, e)) && json_read(&doc, text, a, e);
    if (ok && json_len(doc))
        g->labels = doc;
    buf_free(&b);
    return ok;
}

/* The group as its type makes it, if it has one, for this market; NULL: for the one that its template names. */
static bool make_group(const struct shape_type *type, const struct ray_cluster *c, struct ray_group *g, const char *market, struct arena *a,
                       struct err *e)
{
    struct jval doc, made;
    struct slice text;
    if (market) {
        text = arena_printf(a, "{\"metadata\":{\"annotations\":{\"" SHAPE_MARKET "\":\"%s\"},\"labels\":{\"" SHAPE_MARKET "\":\"%s\"}}}",
                            market, market);
        if (!json_merge_into(g->template, text, a, &text, e) || !json_read(&doc, text, a, e))
            return false;
        g->template = doc;
    }
    if (!type)
        return label_nodes(shape_given(g->template, SHAPE_ACCELERATOR, a), c, g, a, e);
    if (!shape_type_apply(type, g->template, g->head ? SLICE("head") : SLICE("worker"), a, &text, e) || !json_read(&made, text, a, e))
        return false;
    g->template = made;
    return label_nodes(type->accelerator, c, g, a, e);
}

/* One that prefers spot has a second form, for on-demand nodes. A head that does is on-demand: all workers go with it. */
static bool make_markets(const struct shape_type *type, const struct ray_cluster *c, struct ray_group *g, struct arena *a, struct err *e)
{
    struct slice market = shape_given(g->template, SHAPE_MARKET, a);
    struct ray_group first = *g, *other = NULL;
    const char *word = type ? NULL : arena_dup(a, market).ptr;
    if (slice_is(market, "PREFER_SPOT")) {
        word = g->head ? "ON_DEMAND" : "SPOT";
        other = g->head ? NULL : arena_new(a, struct ray_group);
    }
    if (other)
        *other = *g;
    if (!make_group(type, c, &first, word, a, e) || (other && !make_group(type, c, other, "ON_DEMAND", a, e)))
        return false;
    if (type && slice_is(shape_given(first.template, SHAPE_FOLLOW, a), "true"))
        first.hash = ray_group_hash(c, &first, a);
    if (other)
        other->hash = first.hash;
    first.on_demand = other;
    *g = first;
    return true;
}

/* Markets are there without instance types, too: those of required_resources have none. A word that is none is left to patches. */
static void market_group(struct ray_cluster *c, struct ray_group *g, struct arena *a)
{
    struct slice market = shape_given(g->template, SHAPE_MARKET, a);
    struct err e = {0};
    if (slice_empty(market) || !shape_market_known(market, NULL))
        return;
    c->marketed = true;
    if (make_markets(NULL, c, g, a, &e))
        return;
    block(g, "MarketNotApplied", arena_printf(a, "has a market, and %s", e.text));
    c->typed = true;
}

void shape_markets(struct ray_cluster *c, struct arena *a)
{
    market_group(c, &c->head, a);
    for (uint32_t i = 0; i < c->group_count; i++)
        market_group(c, &c->groups[i], a);
}

static void shape_group(const struct shape_types *types, struct ray_cluster *c, struct ray_group *g, struct arena *a)
{
    struct slice name = shape_type_named(g->template, a);
    struct err e = {0};
    if (slice_empty(name)) {
        market_group(c, g, a);
        return;
    }
    c->typed = c->marketed = true;
    const struct shape_type *type = shape_type_find(types, name);
    if (!type) {
        block(g, SHAPE_TYPE_MISSING, missing_text(types, name, a));
        return;
    }
    if (!shape_market_known(shape_given(g->template, SHAPE_MARKET, a), &e)) {
        block(g, SHAPE_MARKET_UNKNOWN, arena_printf(a, "%s", e.text));
        return;
    }
    if (type->tpu_hosts && type->tpu_hosts != g->hosts && !g->head) {
        block(g, SHAPE_HOSTS_DIFFER,
              arena_printf(
                  a, "has numOfHosts %d, and the slices of instance type %.*s (line %u of the ConfigMap) have %lld: make them the same",
                  (int)g->hosts, SLICE_ARG(name), type->line, (long long)type->tpu_hosts));
        return;
    }
    if (!make_markets(type, c, g, a, &e))
        block(g, SHAPE_TYPE_UNFIT, arena_printf(a, "%s (line %u of the ConfigMap)", e.text, type->line));
}

void shape_cluster(const struct shape_types *types, struct ray_cluster *c, struct arena *a)
{
    shape_group(types, c, &c->head, a);
    for (uint32_t i = 0; i < c->group_count; i++)
        shape_group(types, c, &c->groups[i], a);
}
