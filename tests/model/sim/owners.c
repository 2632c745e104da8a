/* What operators make belongs to somebody: each object to the cluster or job that it was made for, and it goes with it. The garbage
 * collector of the model takes it; what it does not find its way to would be paid for until somebody looks. */
#include "sim.h"

#include "tests/model/apiserver/dom.h"

#include <mobula/inspect.h>

enum { COLLECTED_MS = 5000 }; /* the collector and the kubelet have had their time */

/* An object of a kind that operators decide on, which was ever there. */
struct sim_owner {
    struct sim_owner *next;
    char uid[SIM_UID], name[64];
    int64_t gone_ms; /* TIME_NEVER: it is there */
    bool headed;     /* a head pod was made for it, by whomever */
};

/* An object that an operator made. */
struct owned {
    struct owned *next;
    char uid[SIM_UID], what[120];
    struct sim_owner *of; /* NULL: of nobody, by design */
    int64_t since_ms;
    bool going; /* it was told to */
};

static bool is_event_or_lease(struct slice plural)
{
    return slice_eq(plural, SLICE("events")) || slice_eq(plural, SLICE("leases"));
}

/* The program for all pods of a namespace outlives each of its clusters. */
static bool is_shared(const struct apiserver_change *c)
{
    return slice_eq(c->plural, SLICE("configmaps")) && slice_eq(c->name, SLICE(RAY_TOOLS_CONFIGMAP_NAME));
}

/* ---- owners ---- */

static struct sim_owner *owner_find(const struct sim *s, struct slice uid)
{
    struct sim_owner *o = s->owners;
    while (o && !slice_eq(slice_of(o->uid), uid))
        o = o->next;
    return o;
}

bool owners_gone(const struct sim *s, struct slice uid)
{
    const struct sim_owner *o = owner_find(s, uid);
    return o && o->gone_ms != TIME_NEVER;
}

static void owner_changed(struct sim *s, const struct apiserver_change *c)
{
    struct sim_owner *o = owner_find(s, c->uid);
    if (!o) {
        o = mem_alloc(sizeof *o);
        o->next = s->owners;
        s->owners = o;
        slice_copy(c->uid, o->uid, sizeof o->uid);
        slice_copy(slice_head(c->name, sizeof o->name - 1), o->name, sizeof o->name);
    }
    o->gone_ms = c->what == APISERVER_DELETED ? sim_now(s) : TIME_NEVER;
}

/* ---- what they own ---- */

static void head_seen(struct sim *s, const struct apiserver_change *c)
{
    const struct node *pod = dom_reread(c->json, &s->arena);
    struct sim_owner *of = owner_find(s, dom_str(dom_at(dom_get(pod, "metadata.ownerReferences"), 0), "uid"));
    if (of && slice_eq(dom_string(dom_key(dom_get(pod, "metadata.labels"), SLICE(RAY_LABEL_NODE_TYPE))), SLICE("head")))
        of->headed = true;
}

/* Whom the operator that has just made it, or written to it, names as its owner. */
static struct sim_owner *named_owner(struct sim *s, const struct apiserver_change *c)
{
    const struct node *object = dom_reread(c->json, &s->arena), *list = dom_get(object, "metadata.ownerReferences");
    const struct node *controller = NULL;
    uint32_t count = 0;
    for (const struct node *ref = list ? list->child : NULL; ref; ref = ref->next)
        if (dom_true(ref, "controller")) {
            controller = ref;
            count++;
        }
    struct sim_owner *of = count == 1 ? owner_find(s, dom_str(controller, "uid")) : NULL;
    if (of && !slice_eq(slice_of(of->name), dom_str(controller, "name")))
        of = NULL;
    if (!of && !is_shared(c))
        sim_violation(s, "no object without owner", "%.*s %.*s/%.*s is made for nobody that there ever was", SLICE_ARG(c->plural),
                      SLICE_ARG(c->ns), SLICE_ARG(c->name));
    return of;
}

static struct owned *owned_new(struct sim *s, const struct apiserver_change *c)
{
    struct owned *o = mem_alloc(sizeof *o);
    *o = (struct owned){.next = s->owned, .since_ms = sim_now(s)};
    s->owned = o;
    slice_copy(c->uid, o->uid, sizeof o->uid);
    snprintf(o->what, sizeof o->what, "%.*s %.*s/%.*s", SLICE_ARG(c->plural), SLICE_ARG(c->ns), SLICE_ARG(c->name));
    return o;
}

void owners_changed(struct sim *s, const struct apiserver_change *c)
{
    static const struct slice going = SLICE("\"deletionTimestamp\":");
    if (is_event_or_lease(c->plural))
        return;
    if (parts_decided(c->plural))
        owner_changed(s, c);
    if (slice_eq(c->plural, SLICE("pods")) && c->what == APISERVER_ADDED)
        head_seen(s, c);
    struct owned **at = &s->owned;
    while (*at && !slice_eq(slice_of((*at)->uid), c->uid))
        at = &(*at)->next;
    struct owned *o = *at;
    if (o && c->what == APISERVER_DELETED) {
        *at = o->next;
        mem_free(o);
        return;
    }
    if (!o && c->what == APISERVER_ADDED && s->serving)
        o = owned_new(s, c);
    if (!o)
        return;
    o->going = memmem(c->json.ptr, c->json.len, going.ptr, going.len) != NULL;
    bool another = o->of && !memmem(c->json.ptr, c->json.len, o->of->uid, strlen(o->of->uid)); /* by what came on a broken connection */
    if (s->serving || another)
        o->of = named_owner(s, c);
}

/* ---- requests ---- */

/* A worker that comes first may take the node, or the share of a quota, that its head needs, and keep it for good. */
static void check_head_first(struct sim *s, const struct world_request *q, struct jval object, struct slice uid)
{
    struct jval labels = json_get(object, "metadata.labels");
    const struct sim_owner *of = owner_find(s, uid);
    if (json_str_eq(json_key(labels, SLICE(RAY_LABEL_NODE_TYPE)), SLICE("worker")) && !(of && of->headed))
        sim_violation(s, "no worker before its head", "op-%u: %.*s for %.*s", q->from->number, SLICE_ARG(q->target), SLICE_ARG(uid));
}

/* Nothing is written for an owner whose end its writer has seen, as its own records have it: what waits, or is to be sent again, was meant
 * for one that was there. What was written before is carried all the same, and of an end that was not told nobody knows. */
void owners_check_request(struct sim *s, const struct world_request *q)
{
    static const struct slice before = SLICE("/namespaces/");
    struct json doc;
    struct err e = {0};
    struct jval k, ref;
    const char *at = memmem(q->target.ptr, q->target.len, before.ptr, before.len);
    struct slice rest = at ? slice_skip(q->target, (size_t)(at - q->target.ptr) + before.len) : SLICE_NONE, ns = slice_cut(&rest, '/');
    if (!q->from->op || !world_is_write(q) || !memmem(q->body.ptr, q->body.len, "\"ownerReferences\"", 17) ||
        !json_parse(&doc, q->body, &s->arena, &e))
        return;
    for (struct jiter it = json_iter(json_get(json_root(&doc), "metadata.ownerReferences")); json_next(&it, &k, &ref);) {
        struct slice uid = json_get_str(ref, "uid", &s->arena);
        struct inspect_record owner;
        check_head_first(s, q, json_root(&doc), uid);
        if (!inspect_record(q->from->op, uid, ns, &owner) || !owner.present)
            sim_violation(s, "no write for who is gone", "op-%u: %.*s %.*s names %.*s", q->from->number, SLICE_ARG(q->method),
                          SLICE_ARG(q->target), SLICE_ARG(uid));
    }
}

/* ---- each step ---- */

/* What was told to go may be held by others: by the node that it was on. */
void owners_step(struct sim *s)
{
    for (const struct owned *o = s->owned; o; o = o->next) {
        int64_t from = o->of ? o->of->gone_ms : TIME_NEVER;
        from = from < o->since_ms ? o->since_ms : from;
        if (from != TIME_NEVER && !o->going && sim_now(s) > from + COLLECTED_MS)
            sim_violation(s, "no object without owner", "%s is there, and %s, which it belongs to, is not", o->what, o->of->name);
    }
}

/* All clusters and jobs are gone. */
void owners_residue(struct sim *s)
{
    for (const struct owned *o = s->owned; o; o = o->next)
        if (o->of)
            sim_violation(s, "no object without owner", "%s is there without %s", o->what, o->of->name);
}

void owners_end(struct sim *s)
{
    for (struct sim_owner *o = s->owners, *next; o; o = next) {
        next = o->next;
        mem_free(o);
    }
    for (struct owned *o = s->owned, *next; o; o = next) {
        next = o->next;
        mem_free(o);
    }
    s->owners = NULL;
    s->owned = NULL;
}
