#include "fleet.h"

#include "tests/model/sim/wire.h"

#include <stdio.h>

/* ---- one connection ---- */

static struct bridge_end *other_end(struct bridge_end *e)
{
    return &e->bridge->end[e == &e->bridge->end[0]];
}

static void post(struct bridge_end *to, bool end, struct slice bytes)
{
    struct fleet *f = to->bridge->fleet;
    struct parcel *p = mem_alloc(sizeof *p + bytes.len);
    int64_t due_ms = f->world->now.mono_ms + (f->delay_ms ? (int64_t)rng_below(&f->rng, (uint64_t)f->delay_ms + 1) : 0);
    *p = (struct parcel){.due_ms = to->last && to->last->due_ms > due_ms ? to->last->due_ms : due_ms, .end = end, .len = bytes.len};
    if (bytes.len)
        memcpy(p->bytes, bytes.ptr, bytes.len);
    if (to->last)
        to->last->next = p;
    else
        to->first = p;
    to->last = p;
}

static void drop_first(struct bridge_end *e)
{
    struct parcel *p = e->first;
    e->first = p->next;
    if (!e->first)
        e->last = NULL;
    mem_free(p);
}

static struct slice end_peek(struct link *l)
{
    return buf_slice(&((struct bridge_end *)l)->in);
}

static void end_used(struct link *l, size_t n)
{
    if (n)
        buf_drop(&((struct bridge_end *)l)->in, n);
}

static char *end_room(struct link *l, size_t *n)
{
    struct bridge_end *e = (struct bridge_end *)l;
    *n = l->state == LINK_OPEN ? sizeof e->room : 0;
    return e->room;
}

static void end_wrote(struct link *l, size_t n)
{
    struct bridge_end *e = (struct bridge_end *)l;
    post(other_end(e), false, (struct slice){e->room, n});
    net_wake(l);
}

static void end_close(struct link *l)
{
    struct bridge_end *e = (struct bridge_end *)l;
    net_forget(l);
    e->open = false;
    while (e->first)
        drop_first(e);
    post(other_end(e), true, SLICE(""));
}

static const struct link_ops end_ops = {end_peek, end_used, end_room, end_wrote, end_close};

static void end_init(struct bridge *b, uint32_t i, struct net *net)
{
    struct bridge_end *e = &b->end[i];
    e->link = (struct link){.ops = &end_ops, .net = net, .state = i ? LINK_OPEN : LINK_OPENING, .deadline_ms = TIME_NEVER};
    e->bridge = b;
    e->open = true;
}

static struct link *fleet_open(struct world_far *far, struct process *p, struct link_owner *owner, int64_t deadline_ms)
{
    struct fleet *f = (struct fleet *)far;
    struct bridge *b = mem_alloc(sizeof *b);
    b->fleet = f;
    b->next = f->bridges;
    f->bridges = b;
    for (uint32_t i = 0; i < 2; i++) {
        b->end[i].bridge = b;
        buf_init(&b->end[i].in, FLEET_BUFFER);
    }
    end_init(b, 0, &p->net);
    b->end[0].link.owner = owner;
    b->end[0].link.deadline_ms = deadline_ms;
    return &b->end[0].link;
}

static void bridge_free(struct bridge *b)
{
    for (uint32_t i = 0; i < 2; i++) {
        while (b->end[i].first)
            drop_first(&b->end[i]);
        mem_wipe(b->end[i].room, sizeof b->end[i].room);
        buf_free(&b->end[i].in);
    }
    mem_free(b);
}

/* ---- moving ---- */

static void begin(struct bridge *b)
{
    struct fleet *f = b->fleet;
    uint32_t first = (uint32_t)rng_below(&f->rng, FLEET_HUBS);
    b->begun = true;
    for (uint32_t i = 0; i < FLEET_HUBS; i++) {
        struct fleet_hub *h = &f->hub[(first + i) % FLEET_HUBS];
        if (!h->hub)
            continue;
        end_init(b, 1, &h->process.net);
        struct link_accept *a = hub_accept(h->hub);
        a->accept(a, &b->end[1].link, world_process_now(&h->process));
        b->end[0].link.state = LINK_OPEN;
        net_wake(&b->end[0].link);
        f->opened++;
        return;
    }
    wire_tell(&b->end[0].link, LINK_FAILED, ERR_CONNECT, "connect to the control plane: refused");
}

static bool deliver(struct bridge_end *e, int64_t now_ms)
{
    bool moved = false;
    while (e->first && e->first->due_ms <= now_ms) {
        const struct parcel *p = e->first;
        if (e->open && p->end)
            wire_tell(&e->link, LINK_ENDED, ERR_NONE, "");
        if (e->open && p->len) {
            buf_put(&e->in, (struct slice){p->bytes, p->len});
            net_wake(&e->link);
        }
        drop_first(e);
        moved = true;
    }
    return moved;
}

static bool move_bridges(struct fleet *f)
{
    bool moved = false;
    for (struct bridge **at = &f->bridges; *at;) {
        struct bridge *b = *at;
        if (!b->begun) {
            begin(b);
            moved = true;
        }
        for (uint32_t i = 0; i < 2; i++)
            moved |= deliver(&b->end[i], f->world->now.mono_ms);
        if (b->end[0].open || b->end[1].open) {
            at = &b->next;
            continue;
        }
        *at = b->next;
        bridge_free(b);
    }
    return moved;
}

static bool fleet_move(struct world_far *far)
{
    struct fleet *f = (struct fleet *)far;
    bool moved = move_bridges(f);
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
    int64_t next = TIME_NEVER;
    for (uint32_t i = 0; i < FLEET_HUBS; i++)
        if (f->hub[i].hub && f->hub[i].next_ms < next)
            next = f->hub[i].next_ms;
    for (const struct bridge *b = f->bridges; b; b = b->next)
        for (uint32_t i = 0; i < 2; i++)
            if (b->end[i].first && b->end[i].first->due_ms < next)
                next = b->end[i].first->due_ms;
    return next;
}

static struct operator_plane fleet_options(const struct world_far *far)
{
    const struct fleet *f = (const struct fleet *)far;
    return (struct operator_plane){.config = f->config, .cloud = slice_of(f->cloud), .instance = slice_of(f->instance)};
}

/* ---- life ---- */

void fleet_break(struct fleet *f, uint32_t share)
{
    for (struct bridge *b = f->bridges; b; b = b->next) {
        if (rng_below(&f->rng, 256) >= share)
            continue;
        f->broken++;
        for (uint32_t i = 0; i < 2; i++) {
            for (; b->end[i].first; drop_first(&b->end[i]))
                f->lost += b->end[i].first->len > 0;
            if (b->end[i].open)
                wire_tell(&b->end[i].link, LINK_FAILED, ERR_CLOSED, "the connection broke");
        }
        b->begun = true;
    }
}

void fleet_hub_start(struct fleet *f, uint32_t hub)
{
    static const struct slice namespaces[] = {{"n", 1}}, names[FLEET_HUBS] = {{"hub-0", 5}, {"hub-1", 5}};
    struct fleet_hub *h = &f->hub[hub];
    struct err e = {0};
    h->config = kube_config_load(&(struct kube_config_options){.kubeconfig = f->world->kubeconfig}, &e);
    h->hub = h->config ? hub_new(&h->process.net, h->config,
                                 &(struct hub_options){
                                     .namespaces = namespaces, .namespace_count = 1, .replica = names[hub], .seed = rng_next(&f->rng)},
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
    *f = (struct fleet){.far = {fleet_open, fleet_move, fleet_deadline, fleet_options}, .world = w};
    rng_seed(&f->rng, seed);
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
    for (struct bridge *b = f->bridges, *next; b; b = next) {
        next = b->next;
        bridge_free(b);
    }
    kube_config_free(f->config);
}
