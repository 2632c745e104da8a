/* Requests about the objects of a control plane. */
#include <mobula/fleet.h>

static bool well(struct desk *d, bool asked, const struct ask_answer *a, struct err *e)
{
    if (asked && a->code < 300)
        return true;
    if (asked)
        d->way->refused(d, a, e);
    else
        d->way->silent(d, e);
    return err_wrap(e, "%s%s%.*s", d->noun->word, slice_empty(d->o.name) ? "" : " ", SLICE_ARG(d->o.name));
}

static bool list(struct desk *d, struct json *doc, struct jiter *objects, struct err *e)
{
    struct ask_answer a;
    if (!fleet_get(d, SLICE_NONE, &a, e) || !json_parse(doc, a.body, &d->a, e))
        return false;
    *objects = json_iter(json_get(json_root(doc), "items"));
    return true;
}

/* Which name was meant: of a compute config perhaps one of its versions. False: they cannot be listed. */
static bool names_nearest(struct desk *d, struct slice name, struct err *e)
{
    struct json doc;
    struct jiter it;
    struct jval key, one;
    struct nearest n = {.typed = name};
    if (!list(d, &doc, &it, &(struct err){0}))
        return false;
    while (json_next(&it, &key, &one)) {
        struct slice there = json_get_str(one, "metadata.name", &d->a);
        nearest_try(&n, there);
        if (slice_starts(there, name)) {
            n.best = there;
            n.distance = 0;
        }
    }
    err_set(e, ERR_STATUS, n.best.ptr ? "there is no %s %.*s in project %.*s; did you mean %.*s?" : "there is no %s %.*s in project %.*s",
            d->noun->word, SLICE_ARG(fleet_shown(d, name)), SLICE_ARG(d->o.ns), SLICE_ARG(fleet_shown(d, n.best)));
    return true;
}

bool fleet_get(struct desk *d, struct slice name, struct ask_answer *a, struct err *e)
{
    bool asked = ask_get(&d->ask, d->way->path(d, name), NULL, &d->a, a, e);
    if (asked && a->code == 404 && !slice_empty(name) && names_nearest(d, name, e))
        return false;
    return well(d, asked, a, e);
}

bool fleet_find(struct desk *d, struct slice name, struct ask_answer *a, bool *absent, struct err *e)
{
    bool asked = ask_get(&d->ask, d->way->path(d, name), NULL, &d->a, a, e);
    *absent = asked && a->code == 404;
    return *absent || well(d, asked, a, e);
}

bool fleet_create(struct desk *d, struct slice name, struct slice spec, struct ask_answer *a, struct err *e)
{
    struct slice body =
        arena_printf(&d->a, "{\"apiVersion\":\"mobula.dev/v1\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%.*s\"},\"spec\":%.*s}",
                     d->noun->kind, SLICE_ARG(name), SLICE_ARG(spec));
    return well(d, ask_post(&d->ask, d->way->path(d, SLICE_NONE), body, &d->a, a, NULL, e), a, e);
}

bool fleet_replace(struct desk *d, struct slice object, struct slice patch, struct ask_answer *a, bool *conflict, struct err *e)
{
    struct slice whole, over = arena_printf(&d->a, "{\"spec\":%.*s}", SLICE_ARG(patch));
    if (!json_merge(object, over, &d->a, &whole, e))
        return false;
    bool asked = ask_put(&d->ask, d->way->path(d, d->o.name), whole, &d->a, a, e);
    *conflict = asked && a->code == 409;
    return well(d, asked, a, e);
}

/* A concurrent write by another client is not overruled: the object is read again then. */
bool fleet_update(struct desk *d, struct slice patch, struct ask_answer *a, struct err *e)
{
    bool conflict = true, well = false;
    for (int try = 0; conflict && try < FLEET_TRIES; try++) {
        *e = (struct err){0};
        conflict = false;
        well = fleet_get(d, d->o.name, a, e) && fleet_replace(d, a->body, patch, a, &conflict, e);
    }
    return well;
}

bool fleet_file(struct desk *d, struct slice *text, struct slice *json, struct err *e)
{
    struct yaml_docs docs;
    if (!cli_read_file(d->o.file, &d->a, text, e) || !yaml_parse(*text, &d->a, &docs, e))
        return false;
    if (docs.count != 1)
        return err_set(e, ERR_CONFIG, "%s: holds %u documents, and one is wanted", d->o.file.ptr, docs.count);
    *json = docs.docs[0].json;
    return true;
}

bool fleet_delete(struct desk *d, struct ask_answer *a, struct err *e)
{
    return well(d, ask_delete(&d->ask, d->way->path(d, d->o.name), SLICE("{}"), &d->a, a, e), a, e);
}

bool fleet_upload(struct desk *d, const struct work_folder *f, struct ask_answer *a, struct err *e)
{
    return well(d, d->way->upload(d, f, a, e), a, e);
}

static const struct noun clouds = {.kind = "Cloud", .word = "cloud", .resource = &hub_clouds};

static bool read_cloud(struct desk *d, struct slice name, struct ask_answer *a, struct err *e)
{
    const struct noun *own = d->noun;
    d->noun = &clouds;
    bool well = fleet_get(d, name, a, e);
    d->noun = own;
    return well;
}

bool fleet_has_cloud(struct desk *d, struct slice name, struct err *e)
{
    struct ask_answer a = {0};
    struct err why = {0};
    bool well = read_cloud(d, name, &a, &why) || (a.code != 0 && a.code != 404); /* 0: no answer */
    if (!well)
        *e = why;
    return well;
}

bool fleet_cloud(struct desk *d, struct slice name, struct slice *body, struct err *e)
{
    struct ask_answer a = {0};
    bool well = read_cloud(d, name, &a, e);
    *body = a.body;
    return well;
}
