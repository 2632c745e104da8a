/* Actions of plans on routes, and how a route is written. */
#include <mobula/pairs.h>
#include <mobula/patches.h>
#include <mobula/route.h>

/* Another client that sets it back each time is answered at this pace; and how soon it is looked again what a list does not say. */
enum { ROUTE_AGAIN_MS = 5 * 1000, ROUTE_LOOK_MS = 10 * 1000 };

static bool covers(const struct route *have, const struct route_want *want, struct arena *a)
{
    struct jval is, should;
    return json_read(&is, have->text, a, NULL) && json_read(&should, want->text, a, NULL) &&
           json_covers(json_get(is, "metadata.labels"), json_get(should, "metadata.labels")) &&
           json_covers(json_get(is, "metadata.annotations"), json_get(should, "metadata.annotations")) &&
           json_covers(json_get(is, "spec"), json_get(should, "spec"));
}

/* The second: that is what this server makes of it, with its webhooks. It would make the same again. */
static bool as_wanted(const struct route_view *v, struct arena *a)
{
    const struct route *have = v->have;
    if (!v->known || !have || have->deleting || slice_empty(v->want.text))
        return false;
    if (have->wanted)
        return have->wanted == v->want.hash && (have->became == have->hash || covers(have, &v->want, a));
    return covers(have, &v->want, a);
}

bool route_there(const struct route_view *v)
{
    struct arena scratch = {0};
    bool yes = as_wanted(v, &scratch);
    arena_free(&scratch);
    return yes;
}

static bool held_back(const struct route_view *v, struct now now, struct plan *p)
{
    const struct group_failures *g = v->refused;
    if (!g || !g->count || now.mono_ms >= g->not_before_ms)
        return false;
    plan_look_again(p, g->not_before_ms);
    return true;
}

static void add_apply(const struct route_view *v, struct plan *p)
{
    struct action *act = plan_add(p, v->apply);
    act->name = v->name;
    act->index = v->index;
    act->text = v->want.plain;
}

bool route_decide(const struct route_view *v, struct now now, struct plan *p)
{
    const struct route *have = v->have;
    if (!v->known)
        plan_look_again(p, now.mono_ms + ROUTE_LOOK_MS);
    if (!v->known || slice_empty(v->want.text) || (have && have->deleting))
        return false;
    if (as_wanted(v, p->arena))
        return true;
    if (have && have->wanted == v->want.hash && now.mono_ms < have->applied_ms + ROUTE_AGAIN_MS)
        plan_look_again(p, have->applied_ms + ROUTE_AGAIN_MS);
    else if (!held_back(v, now, p))
        add_apply(v, p);
    return false;
}

bool route_end(const struct route_view *v, const char *why, struct now now, struct plan *p)
{
    if (!v->known)
        plan_look_again(p, now.mono_ms + ROUTE_LOOK_MS);
    if (!v->known || !v->have)
        return v->known;
    if (v->have->deleting || held_back(v, now, p))
        return false;
    struct action *act = plan_add(p, v->remove);
    act->name = slice_of(v->have->name);
    act->uid = slice_of(v->have->uid);
    act->index = v->index;
    act->why = why;
    return false;
}

struct slice route_trouble(const struct route_view *v, struct arena *a)
{
    const struct group_failures *g = v->refused;
    if (!v->known)
        return slice_empty(v->why_not) ? arena_printf(a, "it is not known yet whether %.*s exists", SLICE_ARG(v->name)) : v->why_not;
    if (slice_empty(v->want.text))
        return v->want.trouble;
    if (g && g->count)
        return arena_printf(a, "%.*s: %s", SLICE_ARG(v->name), g->reason);
    if (!v->have)
        return arena_printf(a, "%.*s is not there yet", SLICE_ARG(v->name));
    if (v->have->deleting)
        return arena_printf(a, "%.*s is being deleted; it is made again when it is gone", SLICE_ARG(v->name));
    if (!as_wanted(v, a))
        return arena_printf(a, "another client has changed %.*s", SLICE_ARG(v->name));
    return v->have->trouble;
}

/* ---- certificates ---- */

void route_tls_decide(const struct route_tls_view *v, struct plan *p)
{
    for (int i = 0; v && i < (int)COUNT_OF(v->write); i++) {
        if (!v->write[i])
            continue;
        struct action *act = plan_add(p, &route_write_tls);
        act->name = v->secret;
        act->index = i;
    }
    if (v)
        plan_look_again(p, v->look_ms);
}

bool route_prior_condition(struct jval prior, const char *type, struct arena *a, struct condition *out)
{
    struct jval was = status_condition(prior, slice_of(type));
    *out = (struct condition){.type = type,
                              .yes = json_is(json_get(was, "status"), "True"),
                              .reason = json_get_str(was, "reason", a),
                              .message = json_get_str(was, "message", a),
                              .generation = json_get_int(was, "observedGeneration", 0)};
    return json_there(was);
}

bool route_tls_condition(const struct route_tls_view *v, struct jval prior, int64_t generation, struct arena *a, struct condition *out)
{
    char ends[TIME_TEXT_MAX];
    if (!v || !v->known)
        return v && route_prior_condition(prior, STATUS_ROUTE_TLS, a, out);
    *out = (struct condition){.type = STATUS_ROUTE_TLS, .yes = slice_empty(v->trouble) && v->ends_us > 0, .generation = generation};
    out->reason = out->yes ? SLICE("CertificateValid") : v->trouble.len ? SLICE("CertificateNotUsable") : SLICE("CertificateMissing");
    out->message = arena_cut(a, v->trouble, LIMIT_KUBE_EVENT_NOTE);
    if (slice_empty(v->trouble))
        out->message = arena_printf(a, "Secret %.*s %s%.*s", SLICE_ARG(v->secret), out->yes ? "is valid until " : "is being made",
                                    SLICE_ARG(out->yes ? time_format(v->ends_us, ends) : SLICE("")));
    return true;
}

/* ---- writing ---- */

struct route_want route_want_of(struct slice plain, const struct shape_patches *patches, struct arena *a)
{
    struct slice out = plain;
    struct err e = {0};
    if (patches && !shape_patches_apply(patches, plain, NULL, a, &out, &e))
        out = plain;
    return (struct route_want){.plain = plain, .text = out, .hash = hash64(out, 0)};
}

static void write_object(const struct route_object *o, struct arena *a, struct buf *out)
{
    struct jout w;
    jout_init(&w, out);
    jout_form(&w, "{apiVersion:'%s',kind:'%s'", o->api_version, o->kind);
    write_metadata(&w, &o->owner, o->name, NO_VALUE, o->labels, o->annotations, a);
    jout_kraw(&w, "spec", o->spec);
    jout_end(&w);
}

bool route_write(const struct route_object *o, struct arena *a, struct buf *out, struct err *e)
{
    size_t before = out->len;
    char *hash = arena_alloc(a, RAY_HASH_TEXT);
    write_object(o, a, out);
    ray_hash_format(hash64(slice_skip(buf_slice(out), before), o->seed), hash);
    pairs_set(o->annotations, SLICE(RAY_ANNOTATION_HASH), (struct slice){hash, RAY_HASH_TEXT});
    out->len = before;
    write_object(o, a, out);
    return !out->full || err_set(e, ERR_LIMIT, "%s %.*s is larger than %zu bytes (LIMIT_JSON_ITEM)", o->kind, SLICE_ARG(o->name), out->max);
}
