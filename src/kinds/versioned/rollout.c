/* The steps of a rollout: only weights and capacities of the list change here, at most one of these kinds in one decision. */
#include "decide.h"

int64_t versioned_time(const struct versioned_decision *d, const char *key)
{
    int64_t us = 0;
    return time_parse(json_get_str(d->rollout, key, d->a), &us, NULL) ? us : 0;
}

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int32_t most(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static void wait_for(struct versioned_decision *d, struct slice what)
{
    d->waits = slice_empty(d->waits) ? what : d->waits;
}

/* Milliseconds until so long after a time of status; below 1: it is over. The plan looks again then. */
static int64_t left_ms(struct versioned_decision *d, const char *key, int64_t after_ms)
{
    int64_t ms = (versioned_time(d, key) - d->in->now.wall_us + 999) / 1000 + after_ms;
    if (ms > 0)
        plan_look_again(d->p, d->in->now.mono_ms + (ms < after_ms ? ms : after_ms));
    return ms;
}

bool versioned_keeps(const struct versioned_decision *d, const struct version *v)
{
    if (d->phase == VERSIONED_BACK_AGAIN)
        return v->previous >= 0;
    return v->want || (d->phase == VERSIONED_PROGRESSING && v->previous >= 0);
}

bool versioned_leaves(const struct versioned_decision *d, const struct version *v)
{
    return v->weight == 0 && (d->phase == VERSIONED_BACK_AGAIN ? v->previous < 0 : !v->want);
}

/* Percent of capacity below which a version does not fall. One that stays without a weight can be pinned by a header, and Serve runs no
 * replica for 0 %. All such versions together leave at least 1 % of maxSurgePercent to a rollout. */
static int32_t least_capacity(const struct versioned_decision *d, const struct version *v)
{
    int32_t before = 0;
    for (const struct version *o = d->list; o < v; o++)
        before += o->weight == 0 && o->goal == 0 && !versioned_leaves(d, o);
    bool idle = v->weight == 0 && v->goal == 0 && !versioned_leaves(d, v);
    return idle && before + 1 < d->s->surge ? 1 : v->weight;
}

/* ---- begin ---- */

static bool is_first(const struct versioned_decision *d)
{
    for (uint32_t i = 0; i < d->count; i++)
        if (d->list[i].previous > 0)
            return false;
    return true;
}

/* A rollout that follows one that did not end goes back to where that one began. */
void versioned_begin(struct versioned_decision *d)
{
    d->began = json_get_int(d->rollout, "generation", -1) != d->s->generation;
    for (uint32_t i = 0; i < d->count && d->began && d->phase != VERSIONED_PROGRESSING; i++) {
        struct version *v = &d->list[i];
        v->previous = v->weight > 0 || (v->child && versioned_keeps(d, v)) ? v->weight : -1;
    }
    if (d->began) {
        d->phase = VERSIONED_PROGRESSING;
        d->returns = false;
        d->why = SLICE("");
    }
    for (uint32_t i = 0; i < d->count; i++) {
        struct version *v = &d->list[i];
        v->goal = d->phase == VERSIONED_BACK_AGAIN ? (v->previous > 0 ? v->previous : 0) : v->want ? v->want->weight : 0;
        if (!d->s->surge)
            v->capacity = 100;
        else if (v->capacity < 0)
            v->capacity = is_first(d) ? v->goal : 0;
    }
    for (uint32_t i = 0; i < d->count; i++)
        d->list[i].capacity = most(d->list[i].capacity, least_capacity(d, &d->list[i]));
}

/* ---- back ---- */

/* Weights that are as before have nothing to go back to: a version that is changed in place keeps its change. */
static bool can_go_back(const struct versioned_decision *d)
{
    bool differs = false;
    for (uint32_t i = 0; i < d->count; i++) {
        const struct version *v = &d->list[i];
        if (v->previous > 0 && !(v->child && !v->child->deleting))
            return false;
        differs |= v->goal != most(v->previous, 0);
    }
    return differs && !is_first(d);
}

/* Why the rollout is to be rolled back; empty: it is not. */
static struct slice trouble(struct versioned_decision *d)
{
    if (d->s->back == d->s->generation)
        return SLICE("it was requested");
    if (d->s->no_rollback || d->phase != VERSIONED_PROGRESSING)
        return SLICE("");
    for (uint32_t i = 0; i < d->count; i++)
        if (d->list[i].goal > d->list[i].previous && d->list[i].failed.len)
            return d->list[i].failed;
    if (!d->began && left_ms(d, "startTime", d->s->timeout_ms) <= 0)
        return arena_printf(d->a, "it was not complete within %lld min (timeoutMinutes)", (long long)(d->s->timeout_ms / 60000));
    return SLICE("");
}

/* Whether requests return to a version only when it has the capacity for them. They cannot wait if a version that has them now fails. */
static bool goes_by_steps(const struct versioned_decision *d)
{
    bool moves = false;
    for (uint32_t i = 0; i < d->count; i++) {
        const struct version *v = &d->list[i];
        if (v->weight > v->goal && v->failed.len)
            return false;
        moves |= v->weight > v->goal;
    }
    return moves && d->s->surge > 0;
}

/* Returns whether the weights changed, or their goals. */
static bool go_back(struct versioned_decision *d)
{
    bool back = d->phase == VERSIONED_BACK_AGAIN;
    struct slice why = back || !can_go_back(d) ? SLICE("") : trouble(d);
    if (slice_empty(why) && !d->returns)
        return false;
    for (uint32_t i = 0; i < d->count; i++)
        d->list[i].goal = most(d->list[i].previous, 0);
    d->phase = VERSIONED_BACK_AGAIN;
    d->why = back ? d->why : why;
    d->returns = goes_by_steps(d);
    if (d->returns)
        return !back;
    for (uint32_t i = 0; i < d->count; i++) {
        struct version *v = &d->list[i];
        v->weight = v->goal;
        v->capacity = most(v->capacity, v->weight);
    }
    d->stepped = d->ended = true;
    return true;
}

/* ---- onward ---- */

static bool gains(const struct version *v)
{
    return v->weight < v->goal;
}

/* Every version that is to get requests runs. */
static bool all_settled(struct versioned_decision *d, bool gaining)
{
    for (uint32_t i = 0; i < d->count; i++) {
        struct version *v = &d->list[i];
        if (v->settled || (gaining ? !gains(v) || v->capacity <= v->weight : v->goal == 0))
            continue;
        wait_for(d, v->why);
        return false;
    }
    return true;
}

static const struct slice edge_lags =
    SLICE("the edge has not read the last weights yet (ConfigMap " VERSIONED_EDGE_MAP ", condition " STATUS_TOKEN ")");

/* Versions that lose requests, or are to get no more, keep as much capacity as they need. Returns whether some have more; they lose it when
 * the edge has read that they get fewer requests. */
static bool trim(struct versioned_decision *d, bool lags)
{
    bool any = false;
    for (uint32_t i = 0; i < d->count; i++)
        if (gains(&d->list[i]) && d->list[i].weight < least(d->list[i].capacity, d->list[i].goal))
            return false;
    for (uint32_t i = 0; i < d->count && d->s->surge; i++) {
        struct version *v = &d->list[i];
        if (gains(v) || v->capacity <= least_capacity(d, v) || (d->phase == VERSIONED_BACK_AGAIN && versioned_leaves(d, v)))
            continue;
        any = true;
        if (!lags)
            v->capacity = least_capacity(d, v);
    }
    if (any && lags)
        wait_for(d, edge_lags);
    return any;
}

static void take(struct versioned_decision *d, int32_t percent)
{
    for (uint32_t i = 0; i < d->count && percent; i++) {
        struct version *v = &d->list[i];
        int32_t part = v->weight > v->goal ? least(percent, v->weight - v->goal) : 0;
        v->weight -= part;
        percent -= part;
    }
}

/* Returns whether a step of traffic is due; it is taken if nothing is to be waited for. */
static bool shift(struct versioned_decision *d)
{
    int32_t step = d->returns ? 100 : d->s->step, moved = 0;
    bool due = false;
    for (uint32_t i = 0; i < d->count; i++)
        due |= gains(&d->list[i]) && d->list[i].weight < d->list[i].capacity;
    if (!due || !all_settled(d, true))
        return due;
    if (!d->returns && left_ms(d, "stepTime", d->s->interval_ms) > 0) {
        wait_for(d, arena_printf(d->a, "the next %d %% of the requests move %lld s after the last (intervalSeconds)", (int)step,
                                 (long long)(d->s->interval_ms / 1000)));
        return true;
    }
    for (uint32_t i = 0; i < d->count && moved < step; i++) {
        struct version *v = &d->list[i];
        int32_t part = gains(v) ? least(step - moved, least(v->capacity, v->goal) - v->weight) : 0;
        v->weight += part;
        moved += part;
    }
    take(d, moved);
    d->stepped = true;
    return true;
}

/* Returns whether capacity is to be added; it is as soon as what was taken elsewhere is gone. */
static bool grow(struct versioned_decision *d)
{
    int32_t room = d->s->surge;
    bool due = false;
    for (uint32_t i = 0; i < d->count; i++)
        due |= gains(&d->list[i]);
    for (uint32_t i = 0; i < d->count && due; i++)
        if (d->list[i].child && !d->list[i].applied) {
            wait_for(d, d->list[i].why);
            return true;
        }
    for (uint32_t i = 0; i < d->count; i++)
        room -= gains(&d->list[i]) ? 0 : d->list[i].capacity - d->list[i].weight;
    for (uint32_t i = 0; i < d->count && room > 0; i++) {
        struct version *v = &d->list[i];
        int32_t part = gains(v) && v->goal > v->capacity ? least(room, v->goal - v->capacity) : 0;
        v->capacity += part;
        room -= part;
    }
    return due;
}

static void begin_to_serve(struct versioned_decision *d)
{
    if (!all_settled(d, false))
        return;
    for (uint32_t i = 0; i < d->count; i++)
        d->list[i].weight = d->list[i].goal;
    d->stepped = true;
}

static bool serves_none(const struct versioned_decision *d)
{
    int32_t sum = 0;
    for (uint32_t i = 0; i < d->count; i++)
        sum += d->list[i].weight;
    return sum == 0;
}

void versioned_advance(struct versioned_decision *d)
{
    if (go_back(d) || d->phase == VERSIONED_COMPLETE)
        return;
    if (serves_none(d)) {
        begin_to_serve(d);
        return;
    }
    wait_for(d, versioned_routes_trouble(d));
    bool lags = d->edge && !versioned_edge_knows(d);
    bool is_back = d->phase == VERSIONED_BACK_AGAIN && !d->returns; /* only surplus capacity remains to be removed */
    if (d->waits.len || trim(d, lags) || is_back || shift(d) || grow(d) || !all_settled(d, false))
        return;
    if (lags) {
        wait_for(d, edge_lags);
        return;
    }
    d->phase = VERSIONED_COMPLETE;
    d->ended = true;
}
