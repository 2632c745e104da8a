#include <mobula/heads.h>

#include <stdio.h>

/* A host's calls that wait; doubtful ones have a lane of their own. */
struct ray_turn_lane {
    struct ray_turn_host *host;
    struct ray_turn *first, *last;
    struct ray_turn_lane *prev, *next; /* in the round */
    bool listed;
};

struct ray_turn_host {
    struct ray_turn_lane lanes[2];
    uint32_t begun, calls;
    uint16_t len;
    char name[]; /* HOST:PORT */
};

enum { NAME_MAX_LEN = LIMIT_NET_HOST + 8 };

/* ---- the rounds ---- */

static void list_last(struct ray_turns *all, struct ray_turn_host *h, bool doubtful)
{
    struct ray_turn_lane *lane = &h->lanes[doubtful];
    struct ray_turn_round *r = &all->rounds[doubtful];
    if (lane->listed || !lane->first)
        return;
    lane->listed = true;
    lane->prev = r->last;
    lane->next = NULL;
    *(r->last ? &r->last->next : &r->first) = lane;
    r->last = lane;
}

static void unlist(struct ray_turns *all, struct ray_turn_host *h, bool doubtful)
{
    struct ray_turn_lane *lane = &h->lanes[doubtful];
    struct ray_turn_round *r = &all->rounds[doubtful];
    if (!lane->listed)
        return;
    lane->listed = false;
    *(lane->prev ? &lane->prev->next : &r->first) = lane->next;
    *(lane->next ? &lane->next->prev : &r->last) = lane->prev;
}

/* ---- hosts ---- */

static struct ray_turn_host *host_of(struct ray_turns *all, struct slice host, uint16_t port)
{
    char name[NAME_MAX_LEN];
    int len = snprintf(name, sizeof name, "%.*s:%u", SLICE_ARG(host), port);
    struct ray_turn_host *h = map_get(&all->hosts, (struct slice){name, (size_t)len});
    if (h)
        return h;
    h = mem_alloc(sizeof *h + (size_t)len);
    h->len = (uint16_t)len;
    memcpy(h->name, name, h->len);
    h->lanes[0].host = h->lanes[1].host = h;
    map_put(&all->hosts, (struct slice){h->name, h->len}, h);
    return h;
}

static void free_host(struct ray_turns *all, struct ray_turn_host *h)
{
    map_del(&all->hosts, (struct slice){h->name, h->len});
    mem_free(h);
    if (all->hosts.count == 0)
        map_free(&all->hosts);
}

/* ---- turns ---- */

bool ray_turn_enter(struct ray_turns *all, struct ray_turn *t, struct slice host, uint16_t port, bool doubtful, struct err *e)
{
    if (all->count == LIMIT_RAY_DASH_CALLS)
        return err_set(e, ERR_LIMIT, "%d calls to dashboards wait already (LIMIT_RAY_DASH_CALLS)", LIMIT_RAY_DASH_CALLS);
    struct ray_turn_host *h = host_of(all, host, port);
    struct ray_turn_lane *lane = &h->lanes[doubtful];
    t->host = h;
    t->doubtful = doubtful;
    t->number = all->entered++;
    t->prev = lane->last;
    t->next = NULL;
    *(lane->last ? &lane->last->next : &lane->first) = t;
    lane->last = t;
    h->calls++;
    all->count++;
    all->look = true;
    list_last(all, h, doubtful);
    return true;
}

/* NULL: nobody's. A host that is full leaves the round, and comes back when one of its calls is over. */
static struct ray_turn *turn_next(struct ray_turns *all)
{
    while (all->begun < all->most) {
        const struct ray_turn_lane *lane = all->rounds[0].first, *other = all->rounds[1].first;
        if (other && all->doubtful < all->most_doubtful && (!lane || other->first->number < lane->first->number))
            lane = other;
        if (!lane)
            return NULL;
        all->looked++;
        if (lane->host->begun < RAY_DASH_LINKS_HOST)
            return lane->first;
        unlist(all, lane->host, lane->first->doubtful);
    }
    return NULL;
}

static void leave_lane(struct ray_turns *all, struct ray_turn *t)
{
    struct ray_turn_lane *lane = &t->host->lanes[t->doubtful];
    *(t->prev ? &t->prev->next : &lane->first) = t->next;
    *(t->next ? &t->next->prev : &lane->last) = t->prev;
    if (!lane->first)
        unlist(all, t->host, t->doubtful);
}

static void turn_take(struct ray_turns *all, struct ray_turn *t)
{
    leave_lane(all, t);
    unlist(all, t->host, t->doubtful);
    list_last(all, t->host, t->doubtful);
    t->begun = true;
    t->host->begun++;
    all->begun++;
    all->doubtful += t->doubtful;
}

void ray_turn_leave(struct ray_turns *all, struct ray_turn *t)
{
    struct ray_turn_host *h = t->host;
    if (!h)
        return;
    if (!t->begun) {
        leave_lane(all, t);
    } else {
        h->begun--;
        all->begun--;
        all->doubtful -= t->doubtful;
        list_last(all, h, false);
        list_last(all, h, true);
    }
    t->begun = false;
    t->host = NULL;
    all->count--;
    all->look = true;
    if (--h->calls == 0)
        free_host(all, h);
}

/* There is nothing to wait for but answers: a call that waits gets its turn when another one is over. What is entered meanwhile waits for
 * the next tick, so that an owner who never gives up does not keep us here. */
int64_t ray_turns_tick(struct ray_turns *all, struct now now)
{
    struct ray_turn *t = NULL;
    for (uint32_t most = all->look ? all->count : 0; most > 0 && (t = turn_next(all)) != NULL; most--) {
        turn_take(all, t);
        all->begin(t->call, now);
    }
    all->look = t != NULL && turn_next(all) != NULL;
    return all->look ? now.mono_ms : TIME_NEVER;
}
