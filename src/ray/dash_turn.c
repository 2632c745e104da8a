#include "dash_turn.h"

#include <stdio.h>

struct turn_host {
    struct turn_lane lanes[2];
    uint32_t links, calls;
    uint16_t len;
    char name[]; /* HOST:PORT */
};

enum { NAME_MAX_LEN = LIMIT_NET_HOST + 8 };

/* ---- the rounds ---- */

static void list_last(struct turns *all, struct turn_host *h, bool doubtful)
{
    struct turn_lane *lane = &h->lanes[doubtful];
    struct turn_round *r = &all->rounds[doubtful];
    if (lane->listed || !lane->first)
        return;
    lane->listed = true;
    lane->prev = r->last;
    lane->next = NULL;
    *(r->last ? &r->last->next : &r->first) = lane;
    r->last = lane;
}

static void unlist(struct turns *all, struct turn_host *h, bool doubtful)
{
    struct turn_lane *lane = &h->lanes[doubtful];
    struct turn_round *r = &all->rounds[doubtful];
    if (!lane->listed)
        return;
    lane->listed = false;
    *(lane->prev ? &lane->prev->next : &r->first) = lane->next;
    *(lane->next ? &lane->next->prev : &r->last) = lane->prev;
}

/* ---- hosts ---- */

static struct turn_host *host_of(struct turns *all, struct slice host, uint16_t port)
{
    char name[NAME_MAX_LEN];
    int len = snprintf(name, sizeof name, "%.*s:%u", SLICE_ARG(host), port);
    struct turn_host *h = map_get(&all->hosts, (struct slice){name, (size_t)len});
    if (h)
        return h;
    h = mem_alloc(sizeof *h + (size_t)len);
    h->len = (uint16_t)len;
    memcpy(h->name, name, h->len);
    h->lanes[0].host = h->lanes[1].host = h;
    map_put(&all->hosts, (struct slice){h->name, h->len}, h);
    return h;
}

static void free_host(struct turns *all, struct turn_host *h)
{
    map_del(&all->hosts, (struct slice){h->name, h->len});
    mem_free(h);
    if (all->hosts.count == 0)
        map_free(&all->hosts);
}

/* ---- turns ---- */

void turn_enter(struct turns *all, struct turn *t, struct slice host, uint16_t port, bool doubtful)
{
    struct turn_host *h = host_of(all, host, port);
    struct turn_lane *lane = &h->lanes[doubtful];
    t->host = h;
    t->doubtful = doubtful;
    t->number = all->entered++;
    t->prev = lane->last;
    t->next = NULL;
    *(lane->last ? &lane->last->next : &lane->first) = t;
    lane->last = t;
    h->calls++;
    list_last(all, h, doubtful);
}

/* A host that is full leaves the round, and comes back when one of its links is over. */
struct turn *turn_next(struct turns *all)
{
    while (all->links < RAY_DASH_LINKS) {
        const struct turn_lane *lane = all->rounds[0].first, *other = all->rounds[1].first;
        if (other && all->doubtful < RAY_DASH_LINKS_DOUBTFUL && (!lane || other->first->number < lane->first->number))
            lane = other;
        if (!lane)
            return NULL;
        all->looked++;
        if (lane->host->links < RAY_DASH_LINKS_HOST)
            return lane->first;
        unlist(all, lane->host, lane->first->doubtful);
    }
    return NULL;
}

static void leave_lane(struct turns *all, struct turn *t)
{
    struct turn_lane *lane = &t->host->lanes[t->doubtful];
    *(t->prev ? &t->prev->next : &lane->first) = t->next;
    *(t->next ? &t->next->prev : &lane->last) = t->prev;
    if (!lane->first)
        unlist(all, t->host, t->doubtful);
}

void turn_take(struct turns *all, struct turn *t)
{
    leave_lane(all, t);
    unlist(all, t->host, t->doubtful);
    list_last(all, t->host, t->doubtful);
    t->linked = true;
    t->host->links++;
    all->links++;
    all->doubtful += t->doubtful;
}

void turn_leave(struct turns *all, struct turn *t)
{
    struct turn_host *h = t->host;
    if (!t->linked) {
        leave_lane(all, t);
    } else {
        h->links--;
        all->links--;
        all->doubtful -= t->doubtful;
        list_last(all, h, false);
        list_last(all, h, true);
    }
    t->linked = false;
    t->host = NULL;
    if (--h->calls == 0)
        free_host(all, h);
}
