#include "server.h"

struct slice api_version(const struct api *api, struct arena *a)
{
    return api->group.len ? arena_printf(a, "%.*s/%.*s", SLICE_ARG(api->group), SLICE_ARG(api->version)) : api->version;
}

/* ---- versions ---- */

/* Copies text to *at and moves it on. */
static struct slice pack(char **at, struct slice text)
{
    if (text.len)
        memcpy(*at, text.ptr, text.len);
    struct slice copy = {*at, text.len};
    *at += text.len;
    return copy;
}

static size_t text_of_labels(const struct node *labels)
{
    size_t size = 0;
    for (const struct node *l = labels ? labels->child : NULL; l; l = l->next)
        size += l->key.len + l->text.len;
    return size;
}

/* One allocation holds the header, the arrays and all bytes. */
static struct version *version_new(const struct object *o, const struct node *tree, uint64_t rv, struct slice json)
{
    const struct node *labels = dom_get(tree, "metadata.labels"), *owners = dom_get(tree, "metadata.ownerReferences");
    size_t label_count = dom_len(labels), owner_count = dom_len(owners);
    size_t size = sizeof(struct version) + label_count * sizeof(struct label) + owner_count * sizeof(struct slice);
    size_t bytes = json.len + o->ns.len + o->name.len + o->uid.len + text_of_labels(labels);
    for (const struct node *r = owners ? owners->child : NULL; r; r = r->next)
        bytes += dom_str(r, "uid").len;
    struct version *v = mem_alloc(size + bytes);
    *v = (struct version){.refs = 1, .label_count = (uint32_t)label_count, .owner_count = (uint32_t)owner_count, .rv = rv};
    v->labels = (struct label *)(v + 1);
    v->owners = (struct slice *)(v->labels + label_count);
    char *at = (char *)v + size;
    v->ns = pack(&at, o->ns);
    v->name = pack(&at, o->name);
    v->uid = pack(&at, o->uid);
    struct label *label = v->labels;
    for (const struct node *l = labels ? labels->child : NULL; l; l = l->next) {
        label->key = pack(&at, l->key);
        label++->value = pack(&at, l->text);
    }
    struct slice *owner = v->owners;
    for (const struct node *r = owners ? owners->child : NULL; r; r = r->next)
        *owner++ = pack(&at, dom_str(r, "uid"));
    v->json = pack(&at, json);
    v->deleting = dom_get(tree, "metadata.deletionTimestamp") != NULL;
    return v;
}

struct version *version_keep(struct version *v)
{
    if (v)
        v->refs++;
    return v;
}

void version_drop(struct version *v)
{
    if (v && --v->refs == 0)
        mem_free(v);
}

struct node *version_tree(const struct version *v, struct arena *a)
{
    return dom_reread(v->json, a);
}

struct slice version_label(const struct version *v, struct slice key)
{
    for (uint32_t i = 0; i < v->label_count; i++)
        if (slice_eq(v->labels[i].key, key))
            return v->labels[i].value;
    return SLICE_NONE;
}

/* ---- objects ---- */

static int order(struct slice ns_a, struct slice name_a, struct slice ns_b, struct slice name_b)
{
    int d = slice_cmp(ns_a, ns_b);
    return d ? d : slice_cmp(name_a, name_b);
}

size_t store_seek(const struct resource *r, struct slice ns, struct slice name)
{
    size_t low = 0, high = r->count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (order(r->objects[mid]->ns, r->objects[mid]->name, ns, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct object *store_find(const struct resource *r, struct slice ns, struct slice name)
{
    size_t i = store_seek(r, ns, name);
    bool found = i < r->count && slice_eq(r->objects[i]->ns, ns) && slice_eq(r->objects[i]->name, name);
    return found ? r->objects[i] : NULL;
}

struct object *store_by_uid(const struct apiserver *s, struct slice uid)
{
    return map_get(&s->by_uid, uid);
}

static struct object *object_new(struct resource *r, struct slice ns, struct slice name, struct slice uid)
{
    struct object *o = mem_alloc(sizeof *o + ns.len + name.len + uid.len);
    char *at = (char *)(o + 1);
    o->of = r;
    o->ns = pack(&at, ns);
    o->name = pack(&at, name);
    o->uid = pack(&at, uid);
    return o;
}

static void insert(struct apiserver *s, struct resource *r, struct object *o)
{
    if (r->count == r->cap) {
        r->cap = r->cap ? 2 * r->cap : 16;
        r->objects = mem_resize(r->objects, r->cap * sizeof *r->objects);
    }
    size_t i = store_seek(r, o->ns, o->name);
    memmove(r->objects + i + 1, r->objects + i, (r->count - i) * sizeof *r->objects);
    r->objects[i] = o;
    r->count++;
    map_put(&s->by_uid, o->uid, o);
}

/* ---- history ---- */

struct event *store_event(const struct resource *r, uint64_t seq)
{
    return &r->ring[seq % r->ring_cap];
}

static void forget_first(struct resource *r)
{
    struct event *e = store_event(r, r->first++);
    r->floor_rv = e->rv;
    version_drop(e->now);
    version_drop(e->before);
}

static void tell(const struct apiserver *s, const struct resource *r, enum change change, const struct version *now,
                 const struct version *before)
{
    struct apiserver_change c = {
        .group = r->group, .plural = r->plural, .ns = now->ns, .name = now->name, .uid = now->uid, .json = now->json, .rv = now->rv};
    c.what = change == CHANGE_ADDED ? APISERVER_ADDED : change == CHANGE_MODIFIED ? APISERVER_MODIFIED : APISERVER_DELETED;
    c.before = before ? before->json : SLICE_NONE;
    s->observer->changed(s->observer, &c);
}

/* Takes over one reference to each version. */
static void record(struct apiserver *s, struct resource *r, enum change change, struct version *now, struct version *before)
{
    if (!r->ring) {
        r->ring_cap = s->config.history;
        r->ring = mem_alloc(r->ring_cap * sizeof *r->ring);
    }
    if (r->next - r->first == r->ring_cap)
        forget_first(r);
    *store_event(r, r->next++) = (struct event){change, now, before, now->rv, s->now.mono_ms};
    if (s->observer)
        tell(s, r, change, now, before);
}

uint64_t store_after(const struct resource *r, uint64_t rv)
{
    uint64_t low = r->first, high = r->next;
    while (low < high) {
        uint64_t mid = (low + high) / 2;
        if (store_event(r, mid)->rv <= rv)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void store_forget(struct resource *r, uint64_t rv)
{
    while (r->first < r->next)
        forget_first(r);
    r->floor_rv = rv;
    r->held_until_ms = 0;
}

uint64_t store_cached(const struct apiserver *s, const struct resource *r)
{
    bool held = s->now.mono_ms < r->held_until_ms && r->held_rv >= r->floor_rv && r->held_rv >= r->list_floor;
    return held && r->held_rv < s->rv ? r->held_rv : s->rv;
}

/* ---- changes ---- */

static struct slice render(struct apiserver *s, struct node *tree, uint64_t rv)
{
    struct node *meta = dom_want(&s->scratch, tree, "metadata", JSON_OBJECT);
    dom_put(meta, SLICE("resourceVersion"), dom_new_str(&s->scratch, arena_printf(&s->scratch, "%llu", (unsigned long long)rv)));
    dom_drop(tree, "kind");
    dom_drop(tree, "apiVersion");
    return dom_text(tree, &s->scratch);
}

struct object *store_put(struct apiserver *s, struct resource *r, struct object *o, struct node *tree)
{
    uint64_t rv = ++s->rv;
    struct slice json = render(s, tree, rv);
    bool created = o == NULL;
    if (created) {
        o = object_new(r, dom_str(tree, "metadata.namespace"), dom_str(tree, "metadata.name"), dom_str(tree, "metadata.uid"));
        insert(s, r, o);
    }
    struct version *before = o->now;
    o->now = version_new(o, tree, rv, json);
    record(s, r, created ? CHANGE_ADDED : CHANGE_MODIFIED, version_keep(o->now), before);
    world_changed(s, o, created ? CHANGE_ADDED : CHANGE_MODIFIED);
    return o;
}

void store_remove(struct apiserver *s, struct object *o)
{
    struct resource *r = o->of;
    uint64_t rv = ++s->rv;
    struct node *tree = version_tree(o->now, &s->scratch);
    struct slice json = render(s, tree, rv);
    record(s, r, CHANGE_DELETED, version_new(o, tree, rv, json), version_keep(o->now));
    size_t i = store_seek(r, o->ns, o->name);
    memmove(r->objects + i, r->objects + i + 1, (--r->count - i) * sizeof *r->objects);
    map_del(&s->by_uid, o->uid);
    world_changed(s, o, CHANGE_DELETED);
    version_drop(o->now);
    mem_free(o);
}

/* ---- the past ---- */

static size_t seek_version(struct version **list, size_t count, const struct version *v)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (order(list[mid]->ns, list[mid]->name, v->ns, v->name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Undoes one event in a sorted list. */
static size_t undo(struct version **list, size_t count, const struct event *e)
{
    size_t i = seek_version(list, count, e->now);
    if (e->change == CHANGE_MODIFIED) {
        list[i] = e->before;
        return count;
    }
    if (e->change == CHANGE_ADDED) {
        memmove(list + i, list + i + 1, (count - i - 1) * sizeof *list);
        return count - 1;
    }
    memmove(list + i + 1, list + i, (count - i) * sizeof *list);
    list[i] = e->before;
    return count + 1;
}

bool store_snapshot(const struct resource *r, uint64_t rv, struct arena *a, struct version ***out, size_t *count)
{
    if (rv < r->floor_rv || rv < r->list_floor)
        return false;
    uint64_t from = store_after(r, rv);
    struct version **list = arena_array(a, r->count + (size_t)(r->next - from) + 1, sizeof *list);
    size_t n = 0;
    for (size_t i = 0; i < r->count; i++)
        list[n++] = r->objects[i]->now;
    for (uint64_t seq = r->next; seq > from; seq--)
        n = undo(list, n, store_event(r, seq - 1));
    *out = list;
    *count = n;
    return true;
}

static void objects_free(struct resource *r)
{
    for (size_t i = 0; i < r->count; i++) {
        version_drop(r->objects[i]->now);
        mem_free(r->objects[i]);
    }
    r->count = 0;
}

bool store_restore(struct apiserver *s, struct resource *r, uint64_t rv)
{
    struct version **then;
    size_t count;
    if (!store_snapshot(r, rv, &s->scratch, &then, &count))
        return false;
    for (size_t i = 0; i < count; i++)
        version_keep(then[i]);
    for (size_t i = 0; i < r->count; i++)
        map_del(&s->by_uid, r->objects[i]->uid);
    objects_free(r);
    for (size_t i = 0; i < count; i++) {
        struct object *o = object_new(r, then[i]->ns, then[i]->name, then[i]->uid);
        o->now = then[i];
        insert(s, r, o);
    }
    store_forget(r, rv);
    r->list_floor = rv;
    return true;
}

void store_free(struct resource *r)
{
    store_forget(r, 0);
    objects_free(r);
    mem_free(r->objects);
    mem_free(r->ring);
    mem_free(r);
}
