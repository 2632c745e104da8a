/* A CustomResourceDefinition makes its resources appear, and takes them away. */
#include "request.h"

static struct slice keep(struct apiserver *s, struct slice text)
{
    return arena_dup(&s->forever, text);
}

static void copy_names(struct apiserver *s, const struct node *list, struct slice out[RESOURCE_NAMES])
{
    size_t n = 0;
    memset(out, 0, RESOURCE_NAMES * sizeof *out);
    for (const struct node *c = list ? list->child : NULL; c && n < RESOURCE_NAMES; c = c->next)
        out[n++] = keep(s, c->text);
}

static bool has_status(const struct node *spec)
{
    const struct node *versions = dom_get(spec, "versions");
    for (const struct node *v = versions ? versions->child : NULL; v; v = v->next)
        if (dom_get(v, "subresources.status"))
            return true;
    return false;
}

static struct resource *describe(struct apiserver *s, const struct node *spec)
{
    struct slice group = dom_str(spec, "group"), plural = dom_str(spec, "names.plural"), kind = dom_str(spec, "names.kind");
    struct slice singular = dom_str(spec, "names.singular"), list_kind = dom_str(spec, "names.listKind");
    struct resource *r = registry_resource(s, group, plural);
    if (!r)
        r = registry_add_resource(s, &(struct resource){.group = keep(s, group), .plural = keep(s, plural), .custom = true});
    r->kind = keep(s, kind);
    r->singular = singular.len ? keep(s, singular) : arena_printf(&s->forever, "%.*s", SLICE_ARG(plural));
    r->list_kind = list_kind.len ? keep(s, list_kind) : arena_printf(&s->forever, "%.*sList", SLICE_ARG(kind));
    r->namespaced = slice_eq(dom_str(spec, "scope"), SLICE("Namespaced"));
    r->has_status = has_status(spec);
    r->gone = false;
    copy_names(s, dom_get(spec, "names.shortNames"), r->short_names);
    copy_names(s, dom_get(spec, "names.categories"), r->categories);
    return r;
}

static void publish(struct apiserver *s, const struct node *spec)
{
    struct resource *r = describe(s, spec);
    registry_drop_apis(s, r);
    const struct node *versions = dom_get(spec, "versions");
    for (const struct node *v = versions ? versions->child : NULL; v; v = v->next) {
        if (!dom_true(v, "served"))
            continue;
        struct api api = {.group = r->group, .version = keep(s, dom_str(v, "name")), .of = r, .storage = dom_true(v, "storage")};
        struct err e = {0};
        const struct node *schema = dom_get(v, "schema.openAPIV3Schema"), *columns = dom_get(v, "additionalPrinterColumns");
        /* parsed again, so that no string of the copy lies in the scratch arena */
        api.schema = schema ? dom_parse(keep(s, dom_text(schema, &s->scratch)), &s->forever, &e) : NULL;
        api.columns = columns ? dom_parse(keep(s, dom_text(columns, &s->scratch)), &s->forever, &e) : NULL;
        registry_add_api(s, &api);
    }
}

static struct node *condition(struct apiserver *s, const char *type, const char *reason, const char *message)
{
    struct arena *a = &s->scratch;
    struct node *c = dom_new(a, JSON_OBJECT);
    dom_put_str(a, c, "type", slice_of(type));
    dom_put_str(a, c, "status", SLICE("True"));
    dom_put_str(a, c, "lastTransitionTime", world_time(s, 0, a));
    dom_put_str(a, c, "reason", slice_of(reason));
    dom_put_str(a, c, "message", slice_of(message));
    return c;
}

/* What the controller in the API server says once the names are taken. */
static void establish(struct apiserver *s, struct object *o, struct node *crd)
{
    struct arena *a = &s->scratch;
    struct node *status = dom_want(a, crd, "status", JSON_OBJECT);
    if (dom_get(status, "conditions"))
        return;
    struct node *list = dom_want(a, status, "conditions", JSON_ARRAY);
    dom_push(list, condition(s, "NamesAccepted", "NoConflicts", "no conflicts found"));
    dom_push(list, condition(s, "Established", "InitialNamesAccepted", "the initial names have been accepted"));
    dom_put(status, SLICE("acceptedNames"), dom_copy(dom_get(crd, "spec.names"), a));
    struct node *stored = dom_want(a, status, "storedVersions", JSON_ARRAY);
    const struct node *versions = dom_get(crd, "spec.versions");
    for (const struct node *v = versions ? versions->child : NULL; v; v = v->next)
        if (dom_true(v, "storage"))
            dom_push(stored, dom_new_str(a, dom_str(v, "name")));
    store_put(s, o->of, o, crd);
}

static void withdraw(struct apiserver *s, const struct node *spec)
{
    struct resource *r = registry_resource(s, dom_str(spec, "group"), dom_str(spec, "names.plural"));
    if (!r)
        return;
    while (r->count)
        store_remove(s, r->objects[r->count - 1]);
    watch_pump(s); /* the watches see their objects go */
    watch_end_all(s, r, false);
    registry_drop_apis(s, r);
    r->gone = true;
}

void crd_saw(struct apiserver *s, struct object *o, enum change change)
{
    struct node *crd = version_tree(o->now, &s->scratch);
    if (change == CHANGE_DELETED) {
        withdraw(s, dom_get(crd, "spec"));
        return;
    }
    publish(s, dom_get(crd, "spec"));
    establish(s, o, crd);
}

/* ---- the object itself ---- */

static void defaults(struct node *crd, struct arena *a)
{
    struct node *names = dom_want(a, dom_want(a, crd, "spec", JSON_OBJECT), "names", JSON_OBJECT);
    struct slice kind = dom_str(names, "kind");
    if (!dom_get(names, "listKind") && kind.len)
        dom_put_str(a, names, "listKind", arena_printf(a, "%.*sList", SLICE_ARG(kind)));
    if (!dom_get(names, "singular") && kind.len) {
        char *lower = arena_alloc(a, kind.len + 1);
        for (size_t i = 0; i < kind.len; i++)
            lower[i] = (char)(kind.ptr[i] | (kind.ptr[i] >= 'A' && kind.ptr[i] <= 'Z' ? 0x20 : 0));
        dom_put_str(a, names, "singular", (struct slice){lower, kind.len});
    }
    struct node *conversion = dom_want(a, dom_get(crd, "spec"), "conversion", JSON_OBJECT);
    dom_default_str(a, conversion, "strategy", "None");
}

static void check(struct status *st, const struct api *api, const struct node *crd, const struct node *old)
{
    (void)api;
    struct slice group = dom_str(crd, "spec.group"), plural = dom_str(crd, "spec.names.plural"), name = dom_str(crd, "metadata.name");
    struct slice scope = dom_str(crd, "spec.scope");
    static const char *const wanted[] = {"spec.group", "spec.scope", "spec.names.plural", "spec.names.kind", "spec.versions"};
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        if (!dom_str(crd, wanted[i]).len && !dom_len(dom_get(crd, wanted[i])))
            status_cause(st, "FieldValueRequired", slice_of(wanted[i]), "Required value");
    struct slice full = arena_printf(st->a, "%.*s.%.*s", SLICE_ARG(plural), SLICE_ARG(group));
    if (!slice_eq(full, name))
        status_cause(st, "FieldValueInvalid", SLICE("metadata.name"), "Invalid value: \"%.*s\": must be spec.names.plural+\".\"+spec.group",
                     SLICE_ARG(name));
    if (scope.len && !slice_eq(scope, SLICE("Namespaced")) && !slice_eq(scope, SLICE("Cluster")))
        status_cause(st, "FieldValueNotSupported", SLICE("spec.scope"),
                     "Unsupported value: \"%.*s\": supported values: \"Cluster\", \"Namespaced\"", SLICE_ARG(scope));
    if (old && !slice_eq(scope, dom_str(old, "spec.scope")))
        status_cause(st, "FieldValueInvalid", SLICE("spec.scope"), "Invalid value: \"%.*s\": field is immutable", SLICE_ARG(scope));
    int storage = 0;
    const struct node *versions = dom_get(crd, "spec.versions");
    for (const struct node *v = versions ? versions->child : NULL; v; v = v->next) {
        storage += dom_true(v, "storage");
        if (!dom_get(v, "schema.openAPIV3Schema"))
            status_cause(st, "FieldValueRequired", SLICE("spec.versions.schema.openAPIV3Schema"), "Required value: schemas are required");
    }
    if (versions && storage != 1)
        status_cause(st, "FieldValueInvalid", SLICE("spec.versions"),
                     "Invalid value: must have exactly one version marked as storage version");
}

const struct rules rules_crd = {.blank = "{\"spec\":{\"names\":{}},\"status\":{}}", .defaults = defaults, .check = check};
