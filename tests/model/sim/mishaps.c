/* What happens to many objects at once: a node that is lost, and a namespace that is deleted with all that is in it. Both take their time,
 * as they do in a cluster. Like all moves they come to both runs of a seed at the same times. */
#include "crons.h"

enum {
    NODES = 3,
    EVICT_MS = 8000, /* at most: from silence to eviction, and from there to the end */
    MAKE_AGAIN_MS = 6000,
    RETRY_MS = 250,
    NAMESPACE_MS = 20 * 1000, /* until users put clusters into it again */
};

/* ---- a node ---- */

/* By place and not by name: the same places are lost in both runs. */
static bool is_on(const struct seen_pod *p, uint32_t node)
{
    return (uint32_t)(p->head ? 0 : p->index + p->host) % NODES == node;
}

static struct slice path_of(struct sim *s, const struct seen_pod *p, const char *sub)
{
    return arena_printf(&s->w.arena, "/api/v1/namespaces/%s/pods/%s%s", p->ns, p->name, sub);
}

/* Any one that waits for its next misfortune; what happens to it changes the list. */
static struct seen_pod *find(struct sim *s, enum pod_node on)
{
    struct seen_pod *p = s->pods;
    while (p && p->on != on)
        p = p->next;
    return p;
}

static void merge(struct sim *s, struct slice path, const char *patch)
{
    world_call(&s->w, "PATCH", path.ptr, "application/merge-patch+json", slice_of(patch));
}

/* The first one from `dice` on that pods run on; NODES when none does. */
static uint32_t used_node(const struct sim *s, uint32_t dice)
{
    for (uint32_t i = 0; i < NODES; i++)
        for (const struct seen_pod *p = s->pods; p; p = p->next)
            if (p->ready && is_on(p, (dice + i) % NODES))
                return (dice + i) % NODES;
    return NODES;
}

static void node_lost(struct sim *s, const uint32_t dice[3])
{
    uint32_t node = used_node(s, dice[0] % NODES);
    if (s->node.evict_ms != TIME_NEVER || s->node.gone_ms != TIME_NEVER || node == NODES)
        return; /* one at a time */
    for (struct seen_pod *p = s->pods; p; p = p->next)
        if (p->ready && is_on(p, node))
            p->on = NODE_LOST;
    for (struct seen_pod *p; (p = find(s, NODE_LOST)) != NULL;) {
        p->on = NODE_SILENT;
        sim_say(s, "pod %s/%s was on it", p->ns, p->name);
        merge(s, path_of(s, p, "/status"),
              "{\"status\":{\"reason\":\"NodeLost\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\",\"reason\":"
              "\"NodeStatusUnknown\"}]}}");
    }
    s->node.stays = dice[1] & 1;
    s->node.evict_ms = sim_now(s) + dice[1] % EVICT_MS;
    s->node.gone_ms = s->node.evict_ms + dice[2] % EVICT_MS;
}

/* The pods of a node that is silent stay, said to go, because no kubelet says that they have gone; those of one that was deleted are just
 * taken out of the store. */
static void evict(struct sim *s)
{
    sim_say(s, "move: pods of the lost node are %s", s->node.stays ? "evicted, and stay" : "taken away");
    for (struct seen_pod *p; (p = find(s, NODE_SILENT)) != NULL;) {
        p->on = s->node.stays ? NODE_EVICTED : NODE_WELL;
        if (!p->live)
            continue;
        struct slice path = path_of(s, p, "");
        if (s->node.stays)
            merge(s, path, "{\"metadata\":{\"finalizers\":[\"sim.example/no-kubelet\"]}}");
        world_call(&s->w, "DELETE", path.ptr, "application/json", s->node.stays ? SLICE("{}") : SLICE("{\"gracePeriodSeconds\":0}"));
    }
    s->node.evict_ms = TIME_NEVER;
}

static void take_away(struct sim *s)
{
    for (struct seen_pod *p; (p = find(s, NODE_EVICTED)) != NULL;) {
        p->on = NODE_WELL;
        merge(s, path_of(s, p, ""), "{\"metadata\":{\"finalizers\":null}}");
    }
    s->node.gone_ms = TIME_NEVER;
}

/* ---- a namespace ---- */

#define HOLDER "/api/v1/namespaces/" SIM_FRAGILE "/configmaps/holder"

/* Something in it that takes its time to go: until then it is there, and nothing new may be made in it. */
static void hold(struct sim *s)
{
    world_call(&s->w, "POST", "/api/v1/namespaces/" SIM_FRAGILE "/configmaps", "application/json",
               SLICE("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"holder\",\"finalizers\":"
                     "[\"sim.example/slow\"]}}"));
}

static void namespace_deleted(struct sim *s, const uint32_t dice[3])
{
    if (!mishaps_usable(s, SIM_FRAGILE))
        return;
    for (uint32_t i = 0; i < SIM_CLUSTERS; i++)
        s->want[i].there &= strcmp(s->want[i].ns, SIM_FRAGILE) != 0;
    parts_namespace_deleted(s, SIM_FRAGILE);
    if (dice[0] & 1)
        hold(s);
    world_call(&s->w, "DELETE", "/api/v1/namespaces/" SIM_FRAGILE, "application/json", SLICE("{}"));
    s->namespace_ms = sim_now(s) + dice[1] % MAKE_AGAIN_MS;
    s->usable_ms = sim_now(s) + NAMESPACE_MS;
}

static void make_again(struct sim *s)
{
    merge(s, SLICE(HOLDER), "{\"metadata\":{\"finalizers\":null}}");
    int status = world_call(&s->w, "POST", "/api/v1/namespaces", "application/json",
                            SLICE("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"" SIM_FRAGILE "\"}}"));
    s->namespace_ms = status == 201 ? TIME_NEVER : sim_now(s) + RETRY_MS; /* 409 while the old one goes */
    if (status == 201)
        sim_say(s, "move: namespace " SIM_FRAGILE " is there again");
}

bool mishaps_usable(const struct sim *s, const char *ns)
{
    return strcmp(ns, SIM_FRAGILE) != 0 || sim_now(s) >= s->usable_ms;
}

/* ---- */

void mishaps_begin(struct sim *s)
{
    s->node.evict_ms = s->node.gone_ms = s->namespace_ms = TIME_NEVER;
}

void mishaps_apply(struct sim *s, const struct sim_entry *e)
{
    if (e->kind == MOVE_NODE_LOST)
        node_lost(s, e->dice);
    else
        namespace_deleted(s, e->dice);
}

void mishaps_tick(struct sim *s)
{
    if (sim_now(s) >= s->node.evict_ms)
        evict(s);
    else if (sim_now(s) >= s->node.gone_ms)
        take_away(s);
    if (sim_now(s) >= s->namespace_ms)
        make_again(s);
}

int64_t mishaps_next(const struct sim *s)
{
    int64_t next = s->node.evict_ms < s->node.gone_ms ? s->node.evict_ms : s->node.gone_ms;
    return s->namespace_ms < next ? s->namespace_ms : next;
}
