/* What faults come to. One that strikes at once is counted where it does; one that lasts, or waits for something to happen, is counted when
 * something goes another way because of it, once in each state that it then meets the operator in. */
#include "fakeray.h"
#include "sim.h"

static uint64_t of_head(const struct fakeray *h, enum sim_kind k)
{
    switch (k) {
    case FAULT_HEADS_HANG:
        return h->fake.hung;
    case FAULT_HEADS_NONSENSE:
        return h->fake.garbled;
    case FAULT_HEADS_LATE:
        return h->late;
    case FAULT_HEADS_STALE:
        return h->repeated;
    case FAULT_HEADS_CUT:
        return h->fake.shortened;
    case FAULT_HEADS_REFUSE:
        return h->refused_drains;
    case FAULT_DASH_LOSES:
        return h->fake.lost;
    case FAULT_DASH_TROUBLE:
        return h->troubles;
    default:
        return 0;
    }
}

static uint64_t of_heads(const struct sim *s, enum sim_kind k)
{
    uint64_t sum = 0;
    for (const struct fakeray *h = s->w.rays ? s->w.rays->first : NULL; h; h = h->next)
        sum += of_head(h, k);
    return sum;
}

static uint64_t hits_of(const struct sim *s, enum sim_kind k)
{
    const struct apiserver_hits *a = apiserver_hits(s->w.server);
    switch (k) {
    case FAULT_LATENCY:
        return s->w.hits.delayed;
    case FAULT_PIECES:
        return s->w.hits.pieces;
    case FAULT_DOWN:
        return s->w.hits.refused;
    case FAULT_NO_CONNECT:
        return s->held + s->w.hits.none;
    case FAULT_COMPACT:
        return a->expired;
    case FAULT_OLD_CACHE:
        return a->held;
    case FAULT_WATCH_DELAY:
        return a->late;
    case FAULT_WATCH_DOUBLE:
        return a->doubled;
    case FAULT_WATCH_LOSE:
        return a->dropped;
    case FAULT_NO_BOOKMARKS:
        return a->bookmarks;
    case FAULT_NO_STREAM:
        return a->streams + a->expired_as_http;
    case FAULT_SHORT_PAGES:
        return a->pages;
    default:
        return of_heads(s, k);
    }
}

void effects_follow(struct sim *s, enum sim_kind k)
{
    s->effect[k].follows = true;
    s->effect[k].hits = hits_of(s, k);
    s->effect[k].states = 0;
}

void effects_look(struct sim *s)
{
    for (enum sim_kind k = SIM_FIRST_FAULT; k < SIM_KINDS; k++) {
        if (!s->effect[k].follows)
            continue;
        uint64_t hits = hits_of(s, k);
        bool news = hits != s->effect[k].hits;
        uint32_t state = news ? 1u << state_now(s) : 0;
        if (news && !(s->effect[k].states & state))
            state_cover(s, k);
        s->effect[k].hits = hits;
        s->effect[k].states |= state;
        s->effect[k].follows = !faults_last(k) || faults_on(s, k);
    }
}
