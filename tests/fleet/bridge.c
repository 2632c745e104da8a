#include "bridge.h"

#include "tests/model/sim/wire.h"

/* ---- one connection ---- */

static struct bridge_end *other_end(struct bridge_end *e)
{
    return &e->bridge->end[e == &e->bridge->end[0]];
}

static void post(struct bridge_end *to, bool end, struct slice bytes)
{
    struct bridges *all = to->bridge->all;
    struct parcel *p = mem_alloc(sizeof *p + bytes.len);
    int64_t due_ms = all->world->now.mono_ms + (all->delay_ms ? (int64_t)rng_below(&all->rng, (uint64_t)all->delay_ms + 1) : 0);
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

struct link *bridge_open(struct bridges *all, struct process *caller, struct link_owner *owner, int64_t deadline_ms)
{
    struct bridge *b = mem_alloc(sizeof *b);
    *b = (struct bridge){.next = all->first, .all = all, .caller = caller};
    all->first = b;
    for (uint32_t i = 0; i < 2; i++) {
        b->end[i].bridge = b;
        buf_init(&b->end[i].in, BRIDGE_BUFFER);
    }
    end_init(b, 0, &caller->net);
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
    struct bridges *all = b->all;
    struct process *p = NULL;
    struct hub *hub = all->called(all, b->caller, &p);
    b->begun = true;
    if (!hub) {
        all->refused++;
        wire_tell(&b->end[0].link, LINK_FAILED, ERR_CONNECT, "connect to the control plane: refused");
        return;
    }
    end_init(b, 1, &p->net);
    struct link_accept *a = hub_accept(hub);
    a->accept(a, &b->end[1].link, world_process_now(p));
    b->end[0].link.state = LINK_OPEN;
    net_wake(&b->end[0].link);
    all->opened++;
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

bool bridges_move(struct bridges *all)
{
    bool moved = false;
    for (struct bridge **at = &all->first; *at;) {
        struct bridge *b = *at;
        if (!b->begun) {
            begin(b);
            moved = true;
        }
        for (uint32_t i = 0; i < 2; i++)
            moved |= deliver(&b->end[i], all->world->now.mono_ms);
        if (b->end[0].open || b->end[1].open) {
            at = &b->next;
            continue;
        }
        *at = b->next;
        all->closed++;
        bridge_free(b);
    }
    return moved;
}

int64_t bridges_deadline(const struct bridges *all)
{
    int64_t next = TIME_NEVER;
    for (const struct bridge *b = all->first; b; b = b->next)
        for (uint32_t i = 0; i < 2; i++)
            if (b->end[i].first && b->end[i].first->due_ms < next)
                next = b->end[i].first->due_ms;
    return next;
}

void bridges_break(struct bridges *all, uint32_t share)
{
    for (struct bridge *b = all->first; b; b = b->next) {
        if (rng_below(&all->rng, 256) >= share)
            continue;
        all->broken++;
        for (uint32_t i = 0; i < 2; i++) {
            for (; b->end[i].first; drop_first(&b->end[i]))
                all->lost += b->end[i].first->len > 0;
            if (b->end[i].open)
                wire_tell(&b->end[i].link, LINK_FAILED, ERR_CLOSED, "the connection broke");
        }
        b->begun = true;
    }
}

void bridges_free(struct bridges *all)
{
    for (struct bridge *b = all->first, *next; b; b = next) {
        next = b->next;
        bridge_free(b);
    }
    all->first = NULL;
}
