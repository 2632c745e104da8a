/* A pod template with the requests and limits of its instance type. */
#include <mobula/ray.h>
#include <mobula/shape.h>
#include <mobula/spec.h>

struct applied {
    const struct shape_type *type;
    struct jval template, spec;
    struct arena *arena;
    struct err *e;
};

struct slice shape_given(struct jval template, const char *key, struct arena *a)
{
    struct jval note = json_child(json_get(template, "metadata.annotations"), key);
    struct jval label = json_child(json_get(template, "metadata.labels"), key);
    struct slice text = json_str(json_type(note) == JSON_STRING ? note : label, a);
    return text.ptr ? text : SLICE("");
}

struct slice shape_type_named(struct jval template, struct arena *a)
{
    return shape_given(template, SHAPE_INSTANCE_TYPE, a);
}

bool shape_market_known(struct slice market, struct err *e)
{
    return slice_empty(market) || ray_market_known(market) ||
           err_set(e, ERR_CONFIG, "names market type %.*s: write ON_DEMAND, SPOT or PREFER_SPOT", SLICE_ARG(slice_head(market, 64)));
}

static int decimals(struct slice resource)
{
    return slice_is(resource, "cpu") ? 3 : 0;
}

static const char *amount_text(struct slice resource, int64_t n, struct arena *a)
{
    char text[QUANTITY_TEXT_MAX];
    bool pieces = slice_is(resource, "cpu") || slice_find(resource, '/') >= 0;
    enum quantity_form form = pieces ? QUANTITY_DECIMAL : QUANTITY_BINARY;
    return arena_dup(a, quantity_format(n, decimals(resource), form, text)).ptr;
}

static const char *name_text(struct jval container, struct arena *a)
{
    return arena_dup(a, json_get_str(container, "name", a)).ptr;
}

/* The request of a container: its request, else its limit, as the scheduler counts it. Of memory the limit, which is no less: memory used
 * beyond the request is taken from other pods, where CPU is only shared. */
static bool asked(const struct applied *p, struct jval container, struct slice resource, int64_t *out)
{
    struct jval limit = json_key(json_get(container, "resources.limits"), resource);
    struct jval v = json_key(json_get(container, "resources.requests"), resource);
    if (!value_given(v) || (slice_is(resource, "memory") && value_given(limit)))
        v = limit;
    *out = 0;
    if (!value_given(v))
        return true;
    struct slice text = json_type(v) == JSON_STRING ? json_str(v, p->arena) : json_raw(v);
    if (!quantity_parse(text, decimals(resource), out, p->e))
        return err_wrap(p->e, "container %s", name_text(container, p->arena));
    return *out <= LIMIT_RAY_AMOUNT || err_set(p->e, ERR_RANGE, "container %s asks for more %.*s than one node can have",
                                               name_text(container, p->arena), SLICE_ARG(resource));
}

/* Init containers run one after another, each beside the sidecars that were started before it. */
static bool sum_init(const struct applied *p, const struct shape_amount *have, int64_t *sidecars)
{
    struct jval k, v;
    int64_t n;
    for (struct jiter it = json_iter(json_get(p->spec, "initContainers")); json_next(&it, &k, &v);) {
        if (!asked(p, v, have->name, &n))
            return false;
        if (json_is(json_get(v, "restartPolicy"), "Always"))
            *sidecars += n;
        else if (*sidecars + n > have->amount)
            return err_set(p->e, ERR_CONFIG,
                           "instance type %.*s has %s of %.*s: init container %s, with the sidecars before it, needs %s more",
                           SLICE_ARG(p->type->name), amount_text(have->name, have->amount, p->arena), SLICE_ARG(have->name),
                           name_text(v, p->arena), amount_text(have->name, *sidecars + n - have->amount, p->arena));
    }
    return true;
}

/* The remainder of a resource for the Ray container. */
static bool rest_of(const struct applied *p, const struct shape_amount *have, int64_t *out)
{
    struct jval k, v;
    int64_t others = 0, n;
    bool ray = true, must = slice_is(have->name, "cpu") || slice_is(have->name, "memory");
    if (!sum_init(p, have, &others))
        return false;
    for (struct jiter it = json_iter(json_get(p->spec, "containers")); json_next(&it, &k, &v); ray = false) {
        if (ray)
            continue;
        if (!asked(p, v, have->name, &n))
            return false;
        others += n;
    }
    *out = have->amount - others;
    if (*out > 0 || (*out == 0 && !must))
        return true;
    return err_set(p->e, ERR_CONFIG,
                   "instance type %.*s has %s of %.*s, and the containers beside Ray's ask for %s: %s; lower what they ask for, or "
                   "name a larger type",
                   SLICE_ARG(p->type->name), amount_text(have->name, have->amount, p->arena), SLICE_ARG(have->name),
                   amount_text(have->name, others, p->arena),
                   *out == 0 ? "nothing is left for Ray"
                             : arena_printf(p->arena, "%s too much", amount_text(have->name, -*out, p->arena)).ptr);
}

static bool type_has(const struct shape_type *type, struct slice resource)
{
    for (uint32_t i = 0; i < type->amount_count; i++)
        if (slice_eq(type->amounts[i].name, resource))
            return true;
    return false;
}

/* Accelerators that the type does not have are none of the pod's. Other devices are its own affair. */
static bool check_container(const struct applied *p, struct jval container)
{
    static const char *const sides[] = {"resources.limits", "resources.requests"};
    struct jval k, v;
    int64_t n;
    for (size_t side = 0; side < COUNT_OF(sides); side++)
        for (struct jiter it = json_iter(json_get(container, sides[side])); json_next(&it, &k, &v);) {
            struct slice resource = json_str(k, p->arena);
            if (!ray_accelerates(resource) || type_has(p->type, resource))
                continue;
            if (!asked(p, container, resource, &n))
                return false;
            if (n > 0)
                return err_set(p->e, ERR_CONFIG, "instance type %.*s has no %.*s, and container %s asks for it: name a type that has it",
                               SLICE_ARG(p->type->name), SLICE_ARG(resource), name_text(container, p->arena));
        }
    return true;
}

static bool check_bounds(const struct applied *p)
{
    static const char *const lists[] = {"initContainers", "containers"};
    struct jval k, v;
    if (value_given(json_get(p->spec, "resources")))
        return err_set(p->e, ERR_CONFIG, "the pod template has resources of the whole pod beside instance type %.*s: remove spec.resources",
                       SLICE_ARG(p->type->name));
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        for (struct jiter it = json_iter(json_get(p->spec, lists[i])); json_next(&it, &k, &v);)
            if (!check_container(p, v))
                return false;
    return true;
}

static bool put_resources(const struct applied *p, struct jout *w)
{
    static const char *const sides[] = {"limits", "requests"};
    int64_t rest[LIMIT_SHAPE_RESOURCES];
    for (uint32_t i = 0; i < p->type->amount_count; i++)
        if (!rest_of(p, &p->type->amounts[i], &rest[i]))
            return false;
    jout_kobject(w, "resources");
    for (size_t side = 0; side < COUNT_OF(sides); side++) {
        jout_kobject(w, sides[side]);
        for (uint32_t i = 0; i < p->type->amount_count; i++) {
            const struct shape_amount *have = &p->type->amounts[i];
            jout_key(w, have->name);
            if (rest[i])
                jout_str(w, slice_of(amount_text(have->name, rest[i], p->arena)));
            else
                jout_null(w); /* the containers beside Ray's have all of it */
        }
        jout_end(w);
    }
    jout_end(w);
    return true;
}

/* The first container merged with the type's share; the others as they are. */
static bool put_containers(const struct applied *p, struct jout *w)
{
    struct jval list = json_get(p->spec, "containers"), k, v;
    struct buf share;
    struct jout inner;
    struct slice first;
    buf_init(&share, LIMIT_JSON_ITEM);
    jout_init(&inner, &share);
    jout_object(&inner);
    bool ok = put_resources(p, &inner);
    if (ok)
        jout_end(&inner);
    ok = ok && json_merge_into(json_at(list, 0), arena_dup(p->arena, buf_slice(&share)), p->arena, &first, p->e);
    buf_free(&share);
    if (!ok)
        return false;
    jout_karray(w, "containers");
    jout_raw(w, first);
    bool ray = true;
    for (struct jiter it = json_iter(list); json_next(&it, &k, &v); ray = false)
        if (!ray)
            jout_val(w, v);
    jout_end(w);
    return true;
}

/* The template's own values stay. */
static void put_node_selector(const struct applied *p, struct jout *w)
{
    static const char arch[] = "kubernetes.io/arch";
    struct jval given = json_get(p->spec, "nodeSelector"), k, v;
    jout_kobject(w, "nodeSelector");
    for (struct jiter it = json_iter(p->type->node_selector); json_next(&it, &k, &v);) {
        struct slice key = json_str(k, p->arena);
        if (value_given(json_key(given, key)))
            continue;
        jout_key(w, key);
        jout_val(w, v);
    }
    bool said = value_given(json_child(given, arch)) || json_there(json_child(p->type->node_selector, arch));
    if (!slice_empty(p->type->architecture) && !said)
        jout_kstr(w, arch, p->type->architecture);
    jout_end(w);
}

static void put_tolerations(const struct applied *p, struct jout *w)
{
    const struct jval both[] = {json_get(p->spec, "tolerations"), p->type->tolerations};
    struct jval k, v;
    if (!json_len(p->type->tolerations))
        return;
    jout_karray(w, "tolerations");
    for (size_t i = 0; i < COUNT_OF(both); i++)
        for (struct jiter it = json_iter(both[i]); json_next(&it, &k, &v);)
            jout_val(w, v);
    jout_end(w);
}

/* The same as annotations and as labels: selectors of both kinds of documents find the pods. */
static void put_names(const struct applied *p, struct slice node_type, struct jout *w)
{
    static const char *const sides[] = {"annotations", "labels"};
    struct slice accelerator = p->type->accelerator, zone = shape_given(p->template, SHAPE_ZONE, p->arena);
    if (slice_find(zone, ',') >= 0)
        zone = SLICE(""); /* a list of zones is the cluster's */
    /* Groups that prefer spot have said already which it is, if their cluster is made; a submitter has no second form. */
    struct slice market = shape_given(p->template, SHAPE_MARKET, p->arena);
    if (slice_empty(market) || (slice_is(node_type, "submitter") && slice_is(market, "PREFER_SPOT")))
        market = SLICE("ON_DEMAND");
    jout_kobject(w, "metadata");
    for (size_t i = 0; i < COUNT_OF(sides); i++)
        jout_form(w,
                  "%s:{" SHAPE_INSTANCE_TYPE ":'%.*s'," SHAPE_NODE_TYPE ":'%.*s'," SHAPE_MARKET ":'%.*s'," SHAPE_ACCELERATOR
                  "?:'%.*s'," SHAPE_ZONE "?:'%.*s'}",
                  sides[i], SLICE_ARG(p->type->name), SLICE_ARG(node_type), SLICE_ARG(market), SLICE_ARG(accelerator), SLICE_ARG(zone));
    jout_end(w);
}

bool shape_type_apply(const struct shape_type *type, struct jval template, struct slice node_type, struct arena *a, struct slice *out,
                      struct err *e)
{
    struct applied p = {.type = type, .template = template, .spec = json_get(template, "spec"), .arena = a, .e = e};
    struct buf patch;
    struct jout w;
    if (json_type(json_at(json_get(p.spec, "containers"), 0)) != JSON_OBJECT)
        return err_set(e, ERR_MISSING, "the pod template has no container");
    if (!shape_market_known(shape_given(template, SHAPE_MARKET, a), e))
        return false;
    if (!check_bounds(&p))
        return false;
    buf_init(&patch, LIMIT_JSON_ITEM);
    jout_init(&w, &patch);
    jout_object(&w);
    put_names(&p, node_type, &w);
    jout_kobject(&w, "spec");
    put_node_selector(&p, &w);
    put_tolerations(&p, &w);
    bool ok = put_containers(&p, &w);
    if (ok) {
        jout_end(&w);
        jout_end(&w);
        ok = !patch.full ||
             err_set(e, ERR_LIMIT, "the pod template is larger than %zu bytes (LIMIT_JSON_ITEM) with its instance type", patch.max);
    }
    ok = ok && json_merge_into(template, arena_dup(a, buf_slice(&patch)), a, out, e);
    buf_free(&patch);
    return ok;
}
