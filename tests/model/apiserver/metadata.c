/* What is refused in metadata, the same for every kind. */
#include "request.h"

static struct slice lower(struct slice text, struct arena *a)
{
    char *out = arena_alloc(a, text.len + 1);
    for (size_t i = 0; i < text.len; i++)
        out[i] = (char)(text.ptr[i] | (text.ptr[i] >= 'A' && text.ptr[i] <= 'Z' ? 0x20 : 0));
    return (struct slice){out, text.len};
}

static void check_labels(struct status *st, const struct node *labels)
{
    for (const struct node *l = labels ? labels->child : NULL; l; l = l->next) {
        names_check_qualified(st, SLICE("metadata.labels"), l->key);
        names_check_label_value(st, SLICE("metadata.labels"), l->text);
    }
}

static void check_annotations(struct status *st, const struct node *annotations)
{
    enum { ANNOTATIONS_MAX = 256 * KIB };
    size_t size = 0;
    for (const struct node *n = annotations ? annotations->child : NULL; n; n = n->next) {
        size += n->key.len + n->text.len;
        names_check_qualified(st, SLICE("metadata.annotations"), lower(n->key, st->a));
    }
    if (size > ANNOTATIONS_MAX)
        status_cause(st, "FieldValueTooLong", SLICE("metadata.annotations"), "Too long: may not be more than %d bytes", ANNOTATIONS_MAX);
}

static void check_controllers(struct status *st, const struct node *owners)
{
    const struct node *first = NULL;
    for (const struct node *r = owners ? owners->child : NULL; r; r = r->next) {
        if (!dom_true(r, "controller"))
            continue;
        struct slice kind = dom_str(first, "kind"), name = dom_str(first, "name"), other = dom_str(r, "kind"),
                     other_name = dom_str(r, "name");
        struct slice all = first ? dom_text(owners, st->a) : SLICE("");
        if (first)
            status_cause(
                st, "FieldValueInvalid", SLICE("metadata.ownerReferences"),
                "Invalid value: %.*s: Only one reference can have Controller set to true. Found \"true\" in references for %.*s/%.*s and "
                "%.*s/%.*s",
                SLICE_ARG(all), SLICE_ARG(kind), SLICE_ARG(name), SLICE_ARG(other), SLICE_ARG(other_name));
        first = first ? first : r;
    }
}

static void check_owners(struct status *st, const struct node *owners)
{
    static const char *const wanted[] = {"apiVersion", "kind", "name", "uid"};
    for (const struct node *r = owners ? owners->child : NULL; r; r = r->next) {
        struct slice all = dom_text(r, st->a);
        if (slice_eq(dom_str(r, "apiVersion"), SLICE("v1")) && slice_eq(dom_str(r, "kind"), SLICE("Event")))
            status_cause(st, "FieldValueInvalid", SLICE("metadata.ownerReferences"),
                         "Invalid value: %.*s: /v1, Kind=Event is disallowed from being an owner", SLICE_ARG(all));
        for (size_t i = 0; i < COUNT_OF(wanted); i++)
            if (!dom_str(r, wanted[i]).len)
                status_cause(st, "FieldValueInvalid", arena_printf(st->a, "metadata.ownerReferences.%s", wanted[i]),
                             "Invalid value: \"\": %smust not be empty", i ? "" : "version ");
    }
    check_controllers(st, owners);
}

/* Custom resources and newer kinds may have finalizers without a domain. */
static void check_finalizer_names(struct status *st, const struct node *finalizers, bool plain)
{
    unsigned i = 0;
    for (const struct node *f = finalizers ? finalizers->child : NULL; f; f = f->next, i++) {
        struct slice field = arena_printf(st->a, "metadata.finalizers[%u]", i);
        bool standard = slice_eq(f->text, SLICE("orphan")) || slice_eq(f->text, SLICE("foregroundDeletion"));
        names_check_qualified(st, field, f->text);
        if (!plain && !standard && slice_find(f->text, '/') < 0)
            status_cause(st, "FieldValueInvalid", field,
                         "Invalid value: \"%.*s\": name is neither a standard finalizer name nor is it fully qualified",
                         SLICE_ARG(f->text));
    }
}

/* A name that is made up later is checked as far as it is there: a dash at its end is where the rest goes. */
static void check_names(struct status *st, const struct api *api, const struct node *meta)
{
    const struct rules *rules = api->of->rules;
    enum name_rule rule = api->events_view || !rules ? NAME_SUBDOMAIN : rules->name;
    struct slice name = dom_str(meta, "name"), base = dom_str(meta, "generateName");
    if (base.len)
        names_check(st, SLICE("metadata.generateName"), slice_ends(base, SLICE("-")) ? arena_printf(st->a, "%.*sa", SLICE_ARG(base)) : base,
                    rule);
    if (name.len)
        names_check(st, SLICE("metadata.name"), name, rule);
    else
        status_cause(st, "FieldValueRequired", SLICE("metadata.name"), "Required value: name or generateName is required");
}

void metadata_check(struct status *st, const struct api *api, const struct node *meta, bool is_new)
{
    const struct rules *rules = api->of->rules;
    int64_t generation = dom_int(meta, "generation", 0);
    if (is_new)
        check_names(st, api, meta);
    if (generation < 0)
        status_cause(st, "FieldValueInvalid", SLICE("metadata.generation"), "Invalid value: %lld: must be greater than or equal to 0",
                     (long long)generation);
    check_labels(st, dom_get(meta, "labels"));
    check_annotations(st, dom_get(meta, "annotations"));
    check_owners(st, dom_get(meta, "ownerReferences"));
    bool plain = api->of->custom || rules == &rules_lease || (rules == &rules_event && !api->events_view);
    check_finalizer_names(st, dom_get(meta, "finalizers"), plain);
}
