#include "shape.h"

static const struct {
    const char *field;
    enum list_type type;
    const char *keys[SHAPE_KEYS];
    bool apply_only; /* a strategic merge patch replaces the list */
} lists[] = {
    {"conditions", LIST_MAP, {"type"}, false},
    {"containers", LIST_MAP, {"name"}, false},
    {"env", LIST_MAP, {"name"}, false},
    {"ephemeralContainers", LIST_MAP, {"name"}, false},
    {"finalizers", LIST_SET, {NULL}, false},
    {"hostAliases", LIST_MAP, {"ip"}, false},
    {"hostIPs", LIST_MAP, {"ip"}, true},
    {"imagePullSecrets", LIST_MAP, {"name"}, false},
    {"initContainers", LIST_MAP, {"name"}, false},
    {"ownerReferences", LIST_MAP, {"uid"}, false},
    {"podIPs", LIST_MAP, {"ip"}, false},
    {"ports", LIST_MAP, {"containerPort", "protocol"}, false},
    {"resourceClaims", LIST_MAP, {"name"}, false},
    {"secrets", LIST_MAP, {"name"}, false},
    {"topologySpreadConstraints", LIST_MAP, {"topologyKey", "whenUnsatisfiable"}, false},
    {"volumeDevices", LIST_MAP, {"devicePath"}, false},
    {"volumeMounts", LIST_MAP, {"mountPath"}, false},
    {"volumes", LIST_MAP, {"name"}, false},
};

/* Maps that change as a whole. */
static const char *const atomic_maps[] = {"configMapKeyRef",  "fieldRef",        "involvedObject", "labelSelector",
                                          "nodeSelector",     "ownerReferences", "regarding",      "related",
                                          "resourceFieldRef", "roleRef",         "secretKeyRef",   "selector"};

struct shape shape_root(const struct api *api)
{
    return (struct shape){.schema = api->schema, .builtin = !api->of->custom, .rules = api->of->rules};
}

struct shape shape_member(struct shape s, struct slice key)
{
    bool top = !s.field.ptr;
    s.field = key;
    if (s.builtin)
        return s;
    if (top && slice_eq(key, SLICE("metadata")))
        return (struct shape){.builtin = true, .field = key};
    const struct node *member = dom_key(dom_get(s.schema, "properties"), key), *others = dom_get(s.schema, "additionalProperties");
    s.schema = member ? member : dom_is(others, JSON_OBJECT) ? others : NULL;
    return s;
}

struct shape shape_item(struct shape s)
{
    s.schema = dom_get(s.schema, "items");
    return s;
}

static struct list_shape from_schema(const struct node *schema)
{
    struct list_shape l = {.type = LIST_ATOMIC};
    struct slice type = dom_str(schema, "x-kubernetes-list-type");
    if (slice_eq(type, SLICE("set")))
        l.type = LIST_SET;
    if (!slice_eq(type, SLICE("map")))
        return l;
    l.type = LIST_MAP;
    const struct node *keys = dom_get(schema, "x-kubernetes-list-map-keys");
    for (const struct node *k = keys ? keys->child : NULL; k && l.key_count < SHAPE_KEYS; k = k->next)
        l.keys[l.key_count++] = k->text;
    return l;
}

static struct list_shape from_table(struct shape s, bool for_patch)
{
    struct list_shape l = {.type = LIST_ATOMIC};
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        if (!slice_eq(s.field, slice_of(lists[i].field)) || (for_patch && lists[i].apply_only))
            continue;
        l.type = lists[i].type;
        for (size_t k = 0; k < SHAPE_KEYS && lists[i].keys[k]; k++)
            l.keys[l.key_count++] = slice_of(lists[i].keys[k]);
    }
    if (s.rules == &rules_service && slice_eq(s.field, SLICE("ports")))
        l.keys[0] = SLICE("port");
    if (s.rules == &rules_account && slice_eq(s.field, SLICE("imagePullSecrets")) && !for_patch)
        l.type = LIST_ATOMIC;
    return l;
}

struct list_shape shape_list(struct shape s)
{
    return s.builtin ? from_table(s, false) : from_schema(s.schema);
}

struct list_shape shape_patch_list(struct shape s)
{
    struct list_shape l = from_table(s, true);
    if (l.key_count > 1)
        l.key_count = 1;
    return l;
}

bool shape_atomic_map(struct shape s)
{
    if (!s.builtin)
        return slice_eq(dom_str(s.schema, "x-kubernetes-map-type"), SLICE("atomic"));
    for (size_t i = 0; i < COUNT_OF(atomic_maps); i++)
        if (slice_eq(s.field, slice_of(atomic_maps[i])))
            return true;
    return false;
}

bool shape_declares(struct shape s, struct slice key)
{
    bool top = !s.field.ptr && slice_eq(key, SLICE("metadata"));
    return s.builtin || top || dom_key(dom_get(s.schema, "properties"), key);
}

struct slice shape_key_value(const struct node *item, struct slice key)
{
    const struct node *n = dom_key(item, key);
    if (!n && slice_eq(key, SLICE("protocol")))
        return SLICE("TCP");
    return n ? n->text : SLICE_NONE;
}

struct node *shape_find(const struct list_shape *l, const struct node *list, const struct node *like)
{
    for (struct node *c = list ? list->child : NULL; c; c = c->next) {
        bool same = true;
        for (size_t k = 0; k < l->key_count; k++)
            same = same && slice_eq(shape_key_value(c, l->keys[k]), shape_key_value(like, l->keys[k]));
        if (same)
            return c;
    }
    return NULL;
}
