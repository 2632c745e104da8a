/* The kind Cloud: records as its watch shows them, found by deployment id too, and the marks that each object needs. */
#include "private.h"

/* The cloud is not found by its deployment id any more; another one that has the same id is. */
static void free_id(struct hub *h, const struct cloud *c)
{
    struct cloud *other;
    if (!c->present || map_get(&h->ids, slice_of(c->id)) != c)
        return;
    map_del(&h->ids, slice_of(c->id));
    for (uint32_t i = 0; (other = map_next(&h->clouds, &i)) != NULL;)
        if (other != c && other->present && strcmp(other->id, c->id) == 0) {
            map_put(&h->ids, slice_of(other->id), other);
            return;
        }
}

static void cloud_vanish(struct hub *h, struct cloud *c)
{
    free_id(h, c);
    c->present = false;
    c->version = 0;
    c->session = (struct session){0};
    mem_free((char *)(uintptr_t)c->identity.ptr);
    c->identity = SLICE_NONE;
    c->health = 0;
    c->types[0] = c->nodes[0] = '\0';
    c->calls++; /* its operator's call may be the last that holds it */
    if (c->held)
        call_refuse(c->held, &refuse_cloud, "cloud %s was deleted", c->key);
    c->calls--;
    cloud_release(h, c);
}

/* The id in the status is the one that counts: it never changes, and came along from another cluster's backup perhaps. */
static void read_id(struct hub *h, struct cloud *c, struct jval object)
{
    char made[HUB_DEPLOYMENT_ID];
    struct slice id = json_get_str(object, "status.deploymentId", &h->event);
    c->told_id = id.len == HUB_DEPLOYMENT_ID;
    hub_deployment_id(json_get_str(object, "metadata.uid", &h->event), made);
    struct slice kept = identity_of_cloud(object, &h->event);
    const struct cloud *holder = kept.len == HUB_DEPLOYMENT_ID ? map_get(&h->ids, kept) : NULL;
    c->marked = kept.len == HUB_DEPLOYMENT_ID && (!c->told_id || slice_eq(id, kept));
    if (!c->told_id)
        id = c->marked && (!holder || holder == c) ? kept : (struct slice){made, sizeof made};
    if (c->present && slice_is(id, c->id))
        return;
    free_id(h, c);
    slice_copy(id, c->id, sizeof c->id);
    struct cloud *other = map_get(&h->ids, slice_of(c->id));
    if (other)
        log_warn("two clouds have one deployment id: the older record keeps it", LF_CSTR("id", c->id), LF_CSTR("cloud", c->key),
                 LF_CSTR("other", other->key));
    else
        map_put(&h->ids, slice_of(c->id), c);
}

static void cloud_care(struct hub *h, const struct cloud *c)
{
    if (!c->told_id)
        deployment_id_write(h, c);
    if (!c->marked)
        identity_mark_cloud(h, c);
}

static void keep_cloud(struct hub *h, struct source *src, struct jval object)
{
    struct arena *a = &h->event;
    uint64_t version = 0;
    struct slice hash, ns = json_get_str(object, "metadata.namespace", a), name = json_get_str(object, "metadata.name", a);
    bool before;
    struct jval status = json_get(object, "status");
    if (slice_empty(name) || !kube_version_parse(json_get_str(object, "metadata.resourceVersion", a), &version))
        return;
    struct cloud *c = cloud_at(h, ns, name);
    if (src)
        c->round = src->keeper.round;
    if (kube_watch_is_old(src ? src->keeper.watch : NULL, version, c->version))
        return;
    read_id(h, c, object);
    before = c->present;
    c->present = true;
    c->version = version;
    session_read(h, c, status, a);
    cloud_touch(c); /* another instance may have taken the cloud from the one whose call this is */
    mem_free((char *)(uintptr_t)c->identity.ptr);
    struct slice identity = json_get_str(object, "spec.operatorIdentity", a);
    c->identity = slice_empty(identity) ? SLICE_NONE : (struct slice){hub_copy(identity), identity.len};
    conditions_read(c, status, a);
    c->health = json_is(json_get(status, "health"), "UNKNOWN") ? 0 : hub_hash(json_get(status, "components"));
    hash = json_get_str(status, "instanceTypes.hash", a);
    slice_copy(hash.len > LIMIT_HUB_HASH ? SLICE_NONE : hash, c->types, sizeof c->types);
    hash = json_get_str(status, "nodes.hash", a);
    slice_copy(hash.len > LIMIT_HUB_HASH ? SLICE_NONE : hash, c->nodes, sizeof c->nodes);
    if (!before && src && hub_space_known(src->space))
        cloud_care(h, c);
    for (struct workload *w = c->first; w && !before; w = w->next)
        workload_care(h, w);
}

static void drop_cloud(struct hub *h, struct source *src, struct jval object, uint64_t version)
{
    struct arena *a = &h->event;
    struct cloud *c =
        map_get(&h->clouds, hub_key(h, json_get_str(object, "metadata.namespace", a), json_get_str(object, "metadata.name", a)));
    (void)src;
    (void)version;
    if (c && c->present)
        cloud_vanish(h, c);
}

static void sweep_clouds(struct hub *h, struct source *src, uint64_t version)
{
    struct cloud *c;
    for (uint32_t i = 0; (c = map_next(&h->clouds, &i)) != NULL;)
        if (c->present && c->round != src->keeper.round && c->version <= version && hub_space_has(src->space, c->ns))
            cloud_vanish(h, c);
}

static void care_clouds(struct hub *h)
{
    struct cloud *c;
    for (uint32_t i = 0; (c = map_next(&h->clouds, &i)) != NULL;)
        if (c->present)
            cloud_care(h, c);
}

static void free_clouds(struct hub *h)
{
    struct cloud *c;
    for (uint32_t i = 0; (c = map_next(&h->clouds, &i)) != NULL;)
        cloud_vanish(h, c);
    map_free(&h->clouds);
    map_free(&h->ids);
}

const struct hub_kind hub_kind_cloud = {
    .name = {"Cloud", 5},
    .resource = &hub_clouds,
    .keep = keep_cloud,
    .drop = drop_cloud,
    .sweep = sweep_clouds,
    .care = care_clouds,
    .free = free_clouds,
};
