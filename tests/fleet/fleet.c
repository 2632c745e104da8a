#include "fleet.h"

#include <stdio.h>

/* ---- connections ---- */

static struct link *fleet_open(struct world_far *far, struct process *p, struct link_owner *owner, int64_t deadline_ms)
{
    return bridge_open(&((struct fleet *)far)->bridges, p, owner, deadline_ms);
}

/* One of the control planes that live, as the Service before them would choose. */
static struct hub *called(struct bridges *all, const struct process *caller, struct process **p)
{
    struct fleet *f = all->owner;
    uint32_t first = (uint32_t)rng_below(&all->rng, FLEET_HUBS);
    (void)caller;
    for (uint32_t i = 0; i < FLEET_HUBS; i++) {
        struct fleet_hub *h = &f->hub[(first + i) % FLEET_HUBS];
        if (h->hub) {
            *p = &h->process;
            return h->hub;
        }
    }
    return NULL;
}

static bool fleet_move(struct world_far *far)
{
    struct fleet *f = (struct fleet *)far;
    bool moved = bridges_move(&f->bridges);
    for (uint32_t i = 0; i < FLEET_HUBS; i++) {
        struct fleet_hub *h = &f->hub[i];
        if (!h->hub)
            continue;
        struct now now = world_process_now(&h->process);
        moved |= net_dispatch(&h->process.net, now);
        h->next_ms = hub_step(h->hub, now);
        moved |= h->process.net.ready_first != NULL;
    }
    return moved;
}

static int64_t fleet_deadline(const struct world_far *far)
{
    const struct fleet *f = (const struct fleet *)far;
    int64_t next = bridges_deadline(&f->bridges);
    for (uint32_t i = 0; i < FLEET_HUBS; i++)
        if (f->hub[i].hub && f->hub[i].next_ms < next)
            next = f->hub[i].next_ms;
    return next;
}

static struct operator_plane fleet_options(const struct world_far *far)
{
    const struct fleet *f = (const struct fleet *)far;
    return (struct operator_plane){.config = f->config, .cloud = slice_of(f->cloud), .instance = slice_of(f->instance)};
}

/* ---- life ---- */

void fleet_hub_start(struct fleet *f, uint32_t hub)
{
    static const struct slice namespaces[] = {{"n", 1}}, names[FLEET_HUBS] = {{"hub-0", 5}, {"hub-1", 5}};
    struct fleet_hub *h = &f->hub[hub];
    struct err e = {0};
    h->config = kube_config_load(&(struct kube_config_options){.kubeconfig = f->world->kubeconfig}, &e);
    h->hub = h->config
                 ? hub_new(&h->process.net, h->config,
                           &(struct hub_options){
                               .namespaces = namespaces, .namespace_count = 1, .replica = names[hub], .seed = rng_next(&f->bridges.rng)},
                           &e)
                 : NULL;
    if (!h->hub)
        fatal("fleet: %s", e.text);
}

void fleet_hub_kill(struct fleet *f, uint32_t hub)
{
    hub_free(f->hub[hub].hub);
    kube_config_free(f->hub[hub].config);
    f->hub[hub].hub = NULL;
    f->hub[hub].config = NULL;
}

void fleet_begin(struct fleet *f, struct world *w, uint64_t seed)
{
    struct err e = {0};
    *f = (struct fleet){
        .far = {fleet_open, fleet_move, fleet_deadline, fleet_options}, .world = w, .bridges = {.owner = f, .world = w, .called = called}};
    rng_seed(&f->bridges.rng, seed);
    f->config = kube_config_url(
        &(struct kube_config_url){
            .url = "http://" WORLD_FAR ":8080", .setting = "--control-plane-url", .name = "control plane", .token = SLICE("operator")},
        &e);
    if (!f->config)
        fatal("fleet: %s", e.text);
    for (uint32_t i = 0; i < FLEET_HUBS; i++) {
        f->hub[i].process = (struct process){.net = w->process[0].net, .world = w, .number = i};
        f->hub[i].process.net.ready_first = f->hub[i].process.net.ready_last = f->hub[i].process.net.turn_first = NULL;
    }
    w->far = &f->far;
}

/* Behind world_free, which ends the operator. */
void fleet_free(struct fleet *f)
{
    bridges_free(&f->bridges);
    kube_config_free(f->config);
}
