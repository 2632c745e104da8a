/* Groups that prefer spot (PREFER_SPOT), and spot nodes that go and come: a pod that has waited for one gives its place to an on-demand
 * one, and none is made on demand where spot nodes were always there. When they are there for good, pods are made for them again. */
#include "jobs.h"

#include "tests/model/apiserver/dom.h"

#include <mobula/inspect.h>
#include <mobula/ray.h>

void markets_begin(struct sim *s)
{
    static const char body[] = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"instance-types\"},\"data\":{"
                               "\"instance_types.yaml\":\"small: {resources: {CPU: 2, memory: 4Gi}}\"}}";
    if (s->plan->setup.markets && world_call(&s->w, "POST", "/api/v1/namespaces/n/configmaps", "application/json", slice_of(body)) != 201)
        sim_violation(s, "model", "the ConfigMap of instance types is not there");
}

void markets_options(const struct sim *s, struct operator_options *o)
{
    if (!s->plan->setup.markets)
        return;
    o->settings_ns = SLICE("n");
    o->settings[inspect_setting_place("instance-types")] =
        (struct operator_configmap){SLICE("instance-types"), SLICE("instance_types.yaml")};
    o->ray.spot_fallback_ms = SIM_FALLBACK_MS;
    o->ray.spot_retry_ms = SIM_RETRY_MS;
}

void markets_write(struct buf *b, const struct want *c)
{
    (void)c;
    buf_put(b, SLICE(",\"anyscale.com/instance-type\":\"small\",\"" RAY_LABEL_MARKET "\":\"PREFER_SPOT\""));
}

void markets_apply(struct sim *s)
{
    struct apiserver_faults *f = apiserver_faults(s->w.server);
    f->no_spot = !f->no_spot;
    s->moved = true;
}

/* ---- what the store says ---- */

static bool has_no_node(const struct node *pod)
{
    const struct node *list = dom_get(pod, "status.conditions");
    for (const struct node *c = list ? list->child : NULL; c; c = c->next)
        if (slice_eq(dom_str(c, "type"), SLICE("PodScheduled")))
            return slice_eq(dom_str(c, "status"), SLICE("False"));
    return false;
}

static struct want *want_of(struct sim *s, const struct seen_pod *p)
{
    for (uint32_t i = 0; i < SIM_CLUSTERS; i++)
        if (s->want[i].there && s->want[i].market && strcmp(s->want[i].uid, p->owner) == 0)
            return &s->want[i];
    return NULL;
}

void markets_changed(struct sim *s, struct seen_pod *p, const struct apiserver_change *c, bool new)
{
    struct want *want = s->plan->setup.markets && !p->head ? want_of(s, p) : NULL;
    int64_t group;
    if (!want || p->group[0] != 'g' || !slice_int(slice_of(p->group + 1), &group) || group < 0 || group >= SIM_GROUPS)
        return;
    const struct node *pod = dom_reread(c->json, &s->arena);
    struct slice market = dom_string(dom_key(dom_get(pod, "metadata.labels"), SLICE(RAY_LABEL_MARKET)));
    p->demand = slice_eq(market, SLICE("ON_DEMAND"));
    if (!p->demand && !slice_eq(market, SLICE("SPOT")))
        sim_violation(s, "spot or on demand", "%s/%s is made for market \"%.*s\"", p->ns, p->name, SLICE_ARG(market));
    bool waits = !p->demand && p->live && has_no_node(pod);
    p->spotless_ms = !waits ? 0 : p->spotless_ms ? p->spotless_ms : sim_now(s);
    if (waits)
        p->spotless = want->spotless[group] = true;
    if (!new || !p->demand)
        return;
    s->demands++;
    if (s->returned || !want->spotless[group])
        sim_violation(s, "spot where it is", "%s/%s is on-demand, and %s", p->ns, p->name,
                      s->returned ? "spot nodes are there again" : "no pod of its group was without a spot node");
}

/* As it was seen: one that has got its node since stays. Of several hosts all go when one of them has waited too long. */
bool markets_lost(const struct sim *s, const struct want *c, const struct seen_pod *p, const struct world_request *q)
{
    bool seen = memmem(q->body.ptr, q->body.len, "resourceVersion", strlen("resourceVersion")) != NULL;
    bool lost = p->spotless && seen;
    for (const struct seen_pod *mate = c->multi ? s->pods : NULL; mate; mate = mate->next)
        lost |= mate->spotless && mate->index == p->index && strcmp(mate->owner, p->owner) == 0 && strcmp(mate->group, p->group) == 0;
    return lost;
}

/* Where nothing goes wrong a pod waits no longer than it may. A cluster whose spec is bad keeps its pods as they are: that time does not
 * count. */
void markets_step(struct sim *s)
{
    enum { SLACK_MS = 2000 }; /* the time of its creation has no parts of seconds */
    for (struct seen_pod *p = s->plan->setup.markets && !s->o->faults ? s->pods : NULL; p; p = p->next) {
        const struct want *c = p->spotless_ms ? want_of(s, p) : NULL;
        if (c && c->bad)
            p->spotless_ms = sim_now(s);
        if (p->live && p->spotless_ms && sim_now(s) > p->spotless_ms + SIM_FALLBACK_MS + SLACK_MS)
            sim_violation(s, "falls back in time", "%s/%s waits for a spot node since %lld", p->ns, p->name, (long long)p->spotless_ms);
    }
}

/* ---- the end ---- */

void markets_return(struct sim *s)
{
    struct slice paths[256];
    uint32_t count = 0;
    for (const struct seen_pod *p = s->pods; p && count < COUNT_OF(paths); p = p->next)
        if (p->live && p->demand)
            paths[count++] = arena_printf(&s->w.arena, "/api/v1/namespaces/%s/pods/%s", p->ns, p->name);
    for (uint32_t i = 0; i < count; i++)
        world_call(&s->w, "DELETE", paths[i].ptr, "application/json", SLICE("{}"));
}
