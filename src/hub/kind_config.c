/* The kind ComputeConfig: records as its watch shows them. Each that comes, changes or is deleted may show or hide workloads that name it.
 */
#include "private.h"

static void config_vanish(struct hub *h, struct config *c)
{
    map_del(&h->configs, slice_of(c->key));
    mem_free((char *)(uintptr_t)c->spec.ptr);
    mem_free(c->key);
    mem_free(c);
}

static void keep_config(struct hub *h, struct source *src, struct jval object)
{
    struct arena *a = &h->event;
    struct slice ns = json_get_str(object, "metadata.namespace", a), spec = json_raw(json_get(object, "spec"));
    struct slice key = hub_key(h, ns, json_get_str(object, "metadata.name", a));
    struct config *c = map_get(&h->configs, key);
    if (!c) {
        c = mem_alloc(sizeof *c);
        c->key = hub_copy(key);
        map_put(&h->configs, slice_of(c->key), c);
    }
    mem_free((char *)(uintptr_t)c->spec.ptr);
    c->spec = (struct slice){hub_copy(spec), spec.len};
    c->weight = weigh(c->spec);
    c->round = src->keeper.round;
    if (hub_space_known(src->space))
        workloads_look(h, ns);
}

static void drop_config(struct hub *h, struct source *src, struct jval object, uint64_t version)
{
    struct slice ns = json_get_str(object, "metadata.namespace", &h->event);
    struct config *c = map_get(&h->configs, hub_key(h, ns, json_get_str(object, "metadata.name", &h->event)));
    (void)src;
    (void)version;
    if (!c)
        return;
    config_vanish(h, c);
    workloads_look(h, ns);
}

/* Their versions are not kept: the hub never writes one. */
static void sweep_configs(struct hub *h, struct source *src, uint64_t version)
{
    struct config *c;
    (void)version;
    for (uint32_t i = 0; (c = map_next(&h->configs, &i)) != NULL;) {
        struct slice key = slice_of(c->key), ns = slice_cut(&key, '/');
        if (c->round != src->keeper.round && hub_space_has(src->space, ns))
            config_vanish(h, c);
    }
}

static void configs_listed(struct hub *h, struct source *src, bool first)
{
    if (!first && hub_space_known(src->space))
        workloads_look(h, src->space->ns);
}

static void free_configs(struct hub *h)
{
    struct config *c;
    for (uint32_t i = 0; (c = map_next(&h->configs, &i)) != NULL;)
        config_vanish(h, c);
    map_free(&h->configs);
}

const struct hub_kind hub_kind_config = {
    .name = {"ComputeConfig", 13},
    .resource = &hub_configs,
    .keep = keep_config,
    .drop = drop_config,
    .sweep = sweep_configs,
    .listed = configs_listed,
    .free = free_configs,
};
