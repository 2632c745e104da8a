/* A service becomes a record. */
#include "record.h"

static struct service_record *service_make(struct op *op, struct record *c, struct slice uid, struct slice name)
{
    struct service_record *r = slab_alloc(&op->slabs.service);
    slice_copy(uid, r->service.uid, sizeof r->service.uid);
    slice_copy(name, r->service.name, sizeof r->service.name);
    r->of = c;
    r->made_ms = op->now.mono_ms;
    r->next = c->children.services;
    r->link = &c->children.services;
    if (r->next)
        r->next->link = &r->next;
    c->children.services = r;
    map_put(&op->all.services, slice_of(r->service.uid), r);
    name_enter(op, &kind_kservice, c->ns, name, r);
    return r;
}

static void keep_endpoints(struct op *op, struct service_record *r, struct jval object)
{
    buf_clear(&op->out.body);
    ray_service_endpoints(object, &op->arenas.event, &op->out.body);
    keep_interned(op, &r->endpoints, intern_get(&op->strings, buf_slice(&op->out.body)));
    r->service.endpoints = istr_slice(r->endpoints);
}

void extract_service(struct op *op, struct space *space, struct jval object, uint64_t version, uint32_t round)
{
    struct arena *a = &op->arenas.event;
    struct slice uid = json_get_str(object, "metadata.uid", a), name = json_get_str(object, "metadata.name", a);
    struct service_record *r = map_get(&op->all.services, uid);
    if (r && source_is_old(source_of(space, &kind_kservice), version, r->service.version, round)) {
        r->round = round ? round : r->round;
        return;
    }
    struct record *c = extract_parent(op, space, object, &kind_kservice);
    bool orphan = !c && (c = orphan_claim(op, space, object, &kind_kservice)) != NULL;
    if (r && r->of != c) { /* it changed hands */
        service_remove(op, r);
        r = NULL;
    }
    if (!c)
        return;
    if (!r)
        r = service_make(op, c, uid, name);
    r->round = round ? round : r->round;
    r->service.version = version;
    slice_copy(json_get_str(object, "spec.clusterIP", a), r->service.ip, sizeof r->service.ip);
    r->service.hash = orphan ? 0 : ray_service_hash(object); /* 0: the next apply adopts it */
    keep_endpoints(op, r, object);
    r->service.dashboard = (uint16_t)json_get_int(list_find(json_get(object, "spec.ports"), "name", SLICE("dashboard")), "port", 0);
    r->service.ours = json_there(json_child(json_get(object, "metadata.annotations"), RAY_ANNOTATION_HASH));
    bool deleting = json_there(json_get(object, "metadata.deletionTimestamp"));
    if (deleting)
        r->doubt.ms = 0;
    if (deleting && !r->going_ms)
        r->going_ms = op->now.mono_ms;
    doubt_restart_backoff(op, c, &r->doubt);
    r->service.deleting |= deleting; /* our own DELETE may have been answered already */
    record_touch(op, c);
}

void service_remove(struct op *op, struct service_record *r)
{
    struct record *c = r->of;
    if (c->kind->controller->service_gone)
        c->kind->controller->service_gone(op, c, r);
    name_leave(op, &kind_kservice, c->ns, slice_of(r->service.name), r);
    if (!r->by_us)
        record_doubt(c);
    *r->link = r->next;
    if (r->next)
        r->next->link = r->link;
    map_del(&op->all.services, slice_of(r->service.uid));
    intern_drop(&op->strings, r->endpoints);
    slab_free(&op->slabs.service, r);
    record_touch(op, c);
}

void kservice_by_us(struct op *op, struct slice uid, bool by_us)
{
    struct service_record *r = map_get(&op->all.services, uid);
    if (r)
        r->by_us = by_us;
}

struct service_record *service_of(const struct record *c, struct slice name)
{
    for (struct service_record *r = c->children.services; r; r = r->next)
        if (slice_eq(slice_of(r->service.name), name))
            return r;
    return NULL;
}
