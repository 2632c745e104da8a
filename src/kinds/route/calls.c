/* Routes are created, changed and deleted: how the calls are made, and what their answers mean. */
#include "record.h"

/* ---- the view ---- */

static struct slice group_of(const struct kind *k, struct arena *a)
{
    return arena_printf(a, "/%s", k->word);
}

bool route_group(struct slice group)
{
    return slice_starts(group, SLICE("/")); /* none of a spec begins so: it would be no label's value */
}

static bool belongs(const struct route_record *r, const struct record *c)
{
    return r && slice_eq(slice_of(r->owner), slice_of(c->uid));
}

bool route_seen(const struct op *op, const struct record *c, const struct kind *k, struct slice name)
{
    return belongs(route_named(op, c, k, name), c);
}

struct route_view route_look(struct op *op, struct record *c, const struct kind *k, struct slice name)
{
    int32_t index = route_kind_of(k);
    struct route_view v = {.remove = route_kinds[index].remove, .index = index, .name = name};
    v.known = source_demand(op, c, k, &v.why_not);
    struct route_record *r = route_named(op, c, k, name);
    v.have = belongs(r, c) ? &r->route : NULL;
    v.refused = failures_of(op, c, group_of(k, &op->arenas.plan), false, false);
    return v;
}

const struct route *route_elsewhere(const struct op *op, const struct record *c, const struct kind *k, uint32_t *at, struct slice *ns)
{
    const struct route_record *r;
    while ((r = map_next(&routes_of(op, k)->by_uid, at)) != NULL)
        if (r->ns != c->ns) {
            *ns = istr_slice(r->ns);
            return &r->route;
        }
    return NULL;
}

void routes_respecified(struct op *op, struct record *c)
{
    for (const struct route_kind *k = route_kinds; k->kind; k++)
        failures_forget(op, c, group_of(k->kind, &op->arenas.event), false);
}

/* ---- calls ---- */

static const struct route_kind *kind_of_flight(const struct flight *f)
{
    return &route_kinds[f->index];
}

static void set_path(struct op *op, const struct record *c, const struct flight *f)
{
    buf_clear(&op->out.path);
    kube_path(&op->out.path, kind_of_flight(f)->kind->resource, istr_slice(c->ns), slice_of(f->name), SLICE_NONE);
}

bool route_make(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    const struct kind *k = route_kinds[act->index].kind;
    const struct route_record *r = route_named(op, c, k, act->name);
    bool ours = belongs(r, c);
    slice_copy(act->name, f->name, sizeof f->name);
    f->index = act->index;
    f->fresh = !ours;
    if (r && !ours)
        return err_set(e, ERR_CONFIG, "%s %.*s exists and belongs to somebody else, and is left as it is: delete it or rename this %s",
                       k->name, SLICE_ARG(act->name), c->kind->name);
    *t = (struct call_text){SLICE("PATCH"), SLICE(KUBE_TYPE_APPLY), true};
    set_path(op, c, f);
    buf_put(&op->out.path, SLICE("?fieldManager=" RAY_FIELD_MANAGER));
    if (ours)
        buf_put(&op->out.path, SLICE("&force=true")); /* set right. Else the name may be taken: no fields are taken over */
    return buf_put(&op->out.body, act->text);
}

bool route_seal(struct op *op, struct record *c, const struct action *act, struct flight *f, struct err *e)
{
    (void)c;
    (void)act;
    (void)e;
    f->hash = hash64(buf_slice(&op->out.body), 0);
    return true;
}

bool route_make_delete(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    (void)e;
    f->index = act->index;
    return object_make_delete(op, c, act, f, t, kind_of_flight(f)->kind->resource, SLICE("Background"));
}

/* ---- answers ---- */

static void count(struct op *op, struct record *c, const struct verb *verb, const struct kind *k, const char *name, const char *text)
{
    char note[2 * LIMIT_KUBE_EVENT_NOTE]; /* cut where it is sent */
    struct group_failures *g = failures_of(op, c, group_of(k, &op->arenas.body), false, true);
    record_touch(op, c);
    if (!failure_count(op, c, g, slice_of(text)))
        return;
    if (say_once(op, SAID_CLUSTER, said_of(c, slice_of(text), verb_number(op, verb))))
        log_warn("the API server refused a route of an object", LF("namespace", istr_slice(c->ns)), LF_CSTR(c->kind->word, c->name),
                 LF_CSTR(k->word, name), LF_CSTR("action", verb->name), LF_CSTR("reason", text), LF_INT("failures", g->count),
                 LF_INT("retry_in_ms", g->not_before_ms - op->now.mono_ms));
    snprintf(note, sizeof note, "%s %s: %s", k->name, name, text);
    say_event(op, c, true, verb_refusal(verb, 0), slice_of(note));
}

void route_failed(struct op *op, struct record *c, const struct action *act, const char *text)
{
    char name[POD_NAME_MAX + 1];
    slice_copy(slice_head(act->name, POD_NAME_MAX), name, sizeof name);
    count(op, c, act->verb, route_kinds[act->index].kind, name, text);
}

/* A webhook or quota may refuse one kind of object for long. Only what says something of the whole server holds back the rest. */
static void not_done(struct op *op, struct flight *f, const struct kube_answer *a)
{
    char words[ANSWER_WORDS];
    const char *text = answer_words(a, words);
    bool no = a->outcome == KUBE_REFUSED;
    op->stats.refused[verb_number(op, f->verb)] += no;
    op->stats.unknown += a->outcome == KUBE_UNKNOWN;
    if (!no || a->status.code == 401 || a->status.code == 429)
        record_trouble(op, f->c, f, text);
    else
        count(op, f->c, f->verb, kind_of_flight(f)->kind, f->name, text);
}

static void say_written(struct op *op, const struct flight *f, bool fresh)
{
    const struct kind *k = kind_of_flight(f)->kind;
    char reason[32], note[LIMIT_KUBE_EVENT_NOTE];
    snprintf(reason, sizeof reason, "%s%s", fresh ? "Created" : "Updated", k->name);
    snprintf(note, sizeof note, "%s %s %s", fresh ? "created" : "updated", k->name, f->name);
    log_info(fresh ? "route created" : "route updated", LF("namespace", istr_slice(f->c->ns)), LF_CSTR(f->c->kind->word, f->c->name),
             LF_CSTR(k->word, f->name));
    say_event(op, f->c, false, reason, slice_of(note));
}

static void written(struct op *op, struct flight *f, struct jval object, uint64_t version)
{
    const struct kind *k = kind_of_flight(f)->kind;
    struct source *src = source_of(f->c->space, k);
    struct route_record *r = route_named(op, f->c, k, slice_of(f->name));
    bool passed = !r && source_passed(src, version);
    failures_forget(op, f->c, group_of(k, &op->arenas.body), false);
    record_touch(op, f->c);
    if (!json_there(object) || passed)
        source_missed(src);
    r = json_there(object) && !passed ? extract_route(op, f->c->space, k, object, version, 0) : NULL;
    if (r) {
        r->route.wanted = f->hash;
        r->route.became = r->route.version == version ? r->route.hash : 0;
        r->route.applied_ms = op->now.mono_ms;
        say_written(op, f, f->fresh);
    }
}

bool route_answer(struct op *op, struct flight *f, const struct kube_answer *a)
{
    uint64_t version = 0;
    if (a->outcome == KUBE_OK) {
        struct jval object = answer_object(op, a, &version);
        written(op, f, object, version);
    } else {
        not_done(op, f, a);
    }
    return false;
}

bool route_answer_delete(struct op *op, struct flight *f, const struct kube_answer *a)
{
    const struct kind *k = kind_of_flight(f)->kind;
    struct route_record *r = route_by_uid(op, k, slice_of(f->uid));
    bool gone = a->outcome == KUBE_REFUSED && a->status.code == 404;
    if (a->outcome != KUBE_OK && !gone) {
        route_by_us(op, slice_of(f->uid), false);
        not_done(op, f, a);
        return false;
    }
    if (r) {
        r->route.deleting = true;
        r->doubted = gone ? source_of(f->c->space, k)->keeper.round : 0;
    }
    if (r && gone)
        source_missed(source_of(f->c->space, k));
    if (!gone)
        log_info("route deleted", LF("namespace", istr_slice(f->c->ns)), LF_CSTR(f->c->kind->word, f->c->name), LF_CSTR(k->word, f->name),
                 LF_CSTR("why", f->why));
    failures_forget(op, f->c, group_of(k, &op->arenas.body), false);
    record_touch(op, f->c);
    return false;
}
