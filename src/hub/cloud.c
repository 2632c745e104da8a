/* Records of clouds: found by name or id, kept as long as an object, a workload or a call needs them, and the calls and questions that
 * belong to one. */
#include "private.h"

struct slice hub_key(struct hub *h, struct slice ns, struct slice name)
{
    return arena_printf(&h->event, "%.*s/%.*s", SLICE_ARG(ns), SLICE_ARG(name));
}

char *hub_copy(struct slice s)
{
    char *p = mem_alloc(s.len + 1);
    if (s.len)
        memcpy(p, s.ptr, s.len);
    return p;
}

struct cloud *cloud_at(struct hub *h, struct slice ns, struct slice name)
{
    struct slice key = hub_key(h, ns, name);
    struct cloud *c = map_get(&h->clouds, key);
    if (c)
        return c;
    c = mem_alloc(sizeof *c);
    c->key = hub_copy(key);
    c->ns = (struct slice){c->key, ns.len};
    c->name = (struct slice){c->key + ns.len + 1, name.len};
    map_put(&h->clouds, slice_of(c->key), c);
    return c;
}

struct cloud *hub_store_cloud_by_id(const struct hub *h, struct slice id)
{
    return map_get(&h->ids, id);
}

void cloud_release(struct hub *h, struct cloud *c)
{
    if (c->present || c->first || c->calls)
        return;
    for (uint32_t i = 0; i < h->o.namespace_count; i++)
        for (unsigned k = 0; k < LIMIT_HUB_GONE; k++)
            if (h->spaces[i].gone[k].of == c)
                h->spaces[i].gone[k].of = NULL;
    map_del(&h->clouds, slice_of(c->key));
    mem_free(c->key);
    mem_free(c);
}

void cloud_touch(struct cloud *c)
{
    if (c->held)
        c->held->touch(c->held);
}

void cloud_leave(struct call *c)
{
    struct cloud *cloud = c->cloud;
    if (!cloud)
        return;
    c->cloud = NULL;
    if (cloud->held == c)
        cloud->held = NULL;
    cloud->calls--;
    cloud_release(c->hub, cloud);
}

void question_drop(struct question *q)
{
    struct question **at = &q->of->questions;
    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
    q->call->question = NULL;
}
