/* An Ingress, Gateway or another route becomes a record. */
#include "certificate.h"

struct routes *routes_of(const struct op *op, const struct kind *k)
{
    void **own = kind_own(op, k);
    if (!*own) {
        *own = mem_alloc(sizeof(struct routes));
        *(struct routes *)*own = (struct routes){.slab = {.size = sizeof(struct route_record)}};
    }
    return *own;
}

struct certificates *certificates_of(const struct op *op)
{
    struct routes *all = routes_of(op, &kind_ingress);
    if (!all->certificates) {
        all->certificates = mem_alloc(sizeof *all->certificates);
        *all->certificates = (struct certificates){.ca = {.known = false}};
    }
    return all->certificates;
}

int32_t route_kind_of(const struct kind *k)
{
    int32_t i = 0;
    while (route_kinds[i].kind != k)
        i++;
    return i;
}

struct route_record *route_by_uid(struct op *op, const struct kind *k, struct slice uid)
{
    return map_get(&routes_of(op, k)->by_uid, uid);
}

struct route_record *route_named(const struct op *op, const struct record *c, const struct kind *k, struct slice name)
{
    return name_find(op, k, c->ns, name);
}

/* ---- kept state ---- */

/* Without status, which its controller changes as it likes, and without what only the API server writes. */
static struct slice text_of(struct op *op, struct jval object)
{
    struct jout w;
    buf_clear(&op->out.body);
    jout_init(&w, &op->out.body);
    jout_form(&w, "{metadata:{");
    jout_kval(&w, "labels", json_get(object, "metadata.labels"));
    jout_kval(&w, "annotations", json_get(object, "metadata.annotations"));
    jout_end(&w);
    jout_kval(&w, "spec", json_get(object, "spec"));
    jout_end(&w);
    return buf_slice(&op->out.body);
}

static void keep_text(struct op *op, const struct istr **held, struct slice *view, struct slice text)
{
    keep_interned(op, held, slice_empty(text) ? NULL : intern_get(&op->strings, text));
    *view = istr_slice(*held);
}

static void keep_content(struct op *op, struct route_record *r, struct jval object)
{
    struct arena *a = &op->arenas.event;
    struct slice trouble = SLICE(""), address = SLICE("");
    if (route_kinds[route_kind_of(r->kind)].read)
        route_kinds[route_kind_of(r->kind)].read(object, a, &trouble, &address);
    struct slice given = json_str(json_child(json_get(object, "metadata.annotations"), ROUTE_ADDRESS), a);
    address = given.len ? given : address;
    keep_text(op, &r->trouble, &r->route.trouble, arena_clean(a, trouble, LIMIT_POD_WORDS));
    keep_text(op, &r->address, &r->route.address, arena_clean(a, address, LIMIT_KUBE_NAME));
    keep_text(op, &r->text, &r->route.text, text_of(op, object));
    r->route.hash = hash64(r->route.text, 0);
}

/* ---- records ---- */

static void touch_owner(struct op *op, const struct route_record *r, bool doubt)
{
    struct record *c = r->owner[0] ? record_get(op, slice_of(r->owner), istr_slice(r->ns)) : NULL;
    if (!c)
        return;
    if (doubt)
        record_doubt(c);
    record_touch(op, c);
}

static struct route_record *route_new(struct op *op, struct space *space, const struct kind *k, struct jval object, struct slice owner)
{
    struct arena *a = &op->arenas.event;
    struct slice uid = json_get_str(object, "metadata.uid", a), name = json_get_str(object, "metadata.name", a),
                 ns = json_get_str(object, "metadata.namespace", a);
    if (uid.len > UID_TEXT_MAX || !name_dns1123_label(uid) || slice_empty(name) || name.len > POD_NAME_MAX || slice_empty(ns))
        return NULL;
    struct routes *all = routes_of(op, k);
    struct route_record *r = slab_alloc(&all->slab);
    *r = (struct route_record){.kind = k, .space = space, .ns = intern_get(&op->strings, ns)};
    slice_copy(uid, r->route.uid, sizeof r->route.uid);
    slice_copy(name, r->route.name, sizeof r->route.name);
    slice_copy(owner, r->owner, sizeof r->owner);
    map_put(&all->by_uid, slice_of(r->route.uid), r);
    name_enter(op, k, r->ns, name, r);
    return r;
}

static void route_remove(struct op *op, struct route_record *r)
{
    struct routes *all = routes_of(op, r->kind);
    name_leave(op, r->kind, r->ns, slice_of(r->route.name), r);
    touch_owner(op, r, !r->by_us);
    map_del(&all->by_uid, slice_of(r->route.uid));
    const struct istr *const held[] = {r->ns, r->text, r->trouble, r->address};
    for (size_t i = 0; i < COUNT_OF(held); i++)
        intern_drop(&op->strings, held[i]);
    slab_free(&all->slab, r);
}

static struct slice owner_of(struct op *op, const struct kind *k, struct jval object)
{
    struct slice uid = SLICE("");
    const struct kind *owner = controller_of(op, object, k, &op->arenas.event, &uid);
    return owner && uid.len <= UID_TEXT_MAX ? uid : SLICE("");
}

/* A list shows it after our DELETE was answered that it is not there: it counts as it is shown. */
static void shown_again(struct op *op, struct route_record *r, uint32_t round)
{
    if (!r->doubted || round <= r->doubted)
        return;
    r->doubted = 0;
    r->route.deleting = r->by_us = false;
    touch_owner(op, r, false);
}

struct route_record *extract_route(struct op *op, struct space *space, const struct kind *k, struct jval object, uint64_t version,
                                   uint32_t round)
{
    struct arena *a = &op->arenas.event;
    struct route_record *r = route_by_uid(op, k, json_get_str(object, "metadata.uid", a));
    struct slice owner = owner_of(op, k, object);
    if (r && source_is_old(source_of(space, k), version, r->route.version, round)) {
        r->round = round ? round : r->round;
        shown_again(op, r, round);
        return r;
    }
    if (r && !slice_eq(owner, slice_of(r->owner))) { /* it changed hands */
        route_remove(op, r);
        r = NULL;
    }
    if (slice_empty(owner) && !slice_ends(json_get_str(object, "metadata.name", a), route_kinds[route_kind_of(k)].suffix))
        return NULL;
    r = r ? r : route_new(op, space, k, object, owner);
    if (!r)
        return NULL;
    r->round = round ? round : r->round;
    r->route.version = version;
    if (!slice_empty(owner))
        keep_content(op, r, object);
    bool deleting = json_there(json_get(object, "metadata.deletionTimestamp"));
    r->doubted = deleting ? 0 : r->doubted;
    r->route.deleting |= deleting;
    touch_owner(op, r, false);
    return r;
}

void route_by_us(struct op *op, struct slice uid, bool by_us)
{
    for (const struct route_kind *k = route_kinds; k->kind; k++) {
        struct route_record *r = route_by_uid(op, k->kind, uid);
        if (r)
            r->by_us = by_us;
    }
}

/* ---- struct kind ---- */

void keep_route(struct op *op, struct source *from, struct jval object, uint64_t version, uint32_t round)
{
    extract_route(op, from->space, from->kind, object, version, round);
}

void drop_route(struct op *op, struct source *from, struct jval object)
{
    struct route_record *r = route_by_uid(op, from->kind, json_get_str(object, "metadata.uid", &op->arenas.event));
    if (r)
        route_remove(op, r);
}

void sweep_routes(struct op *op, struct source *from, uint64_t version)
{
    struct route_record *r;
    for (uint32_t i = 0; (r = map_next(&routes_of(op, from->kind)->by_uid, &i)) != NULL;)
        if (r->space == from->space && r->round != from->keeper.round && r->route.version <= version)
            route_remove(op, r);
}

static void free_routes(struct op *op, const struct kind *k)
{
    struct route_record *r;
    struct routes *all = routes_of(op, k);
    for (uint32_t i = 0; (r = map_next(&all->by_uid, &i)) != NULL;) {
        const struct istr *const held[] = {r->ns, r->text, r->trouble, r->address};
        for (size_t n = 0; n < COUNT_OF(held); n++)
            intern_drop(&op->strings, held[n]);
    }
    certificates_free(op, all->certificates);
    map_free(&all->by_uid);
    slab_destroy(&all->slab);
    mem_free(all);
    *kind_own(op, k) = NULL;
}

#define FREE(NAME, KIND)                                                                                                                   \
    void NAME(struct op *op)                                                                                                               \
    {                                                                                                                                      \
        free_routes(op, &(KIND));                                                                                                          \
    }
FREE(free_ingresses, kind_ingress)
FREE(free_gateways, kind_gateway)
FREE(free_httproutes, kind_httproute)
FREE(free_grpcroutes, kind_grpcroute)
FREE(free_virtualservices, kind_virtualservice)
