#include <mobula/plan.h>
#include <mobula/pod.h>

const struct verb verb_status = {"status", VERB_PATCH, {NULL}};
const struct verb verb_adopt = {"adopt", VERB_PATCH, {"FailedToAdopt"}};
const struct verb verb_event = {"event", VERB_SAY, {NULL}};

struct action *plan_add(struct plan *p, const struct verb *verb)
{
    const struct action blank = {.verb = verb, .group = GROUP_NONE, .index = -1};
    if (p->count == PLAN_ACTIONS) {
        p->beyond = blank;
        return &p->beyond;
    }
    if (p->count == p->cap) {
        uint32_t cap = p->cap ? p->cap * 2 : 16;
        struct action *grown = arena_array(p->arena, cap, sizeof *grown);
        if (p->count)
            memcpy(grown, p->actions, p->count * sizeof *grown);
        p->actions = grown;
        p->cap = cap;
    }
    struct action *act = &p->actions[p->count++];
    *act = blank;
    return act;
}

void plan_event(struct plan *p, bool warning, const char *reason, struct slice note)
{
    struct action *act = plan_add(p, &verb_event);
    act->warning = warning;
    act->why = reason;
    act->text = note;
}

void plan_look_again(struct plan *p, int64_t ms)
{
    if (ms < p->next_ms)
        p->next_ms = ms;
}

int64_t plan_backoff_ms(uint32_t count, uint64_t seed)
{
    if (count == 0)
        return 0;
    int64_t cap = PLAN_BACKOFF_MAX_MS;
    if (count < 20 && ((int64_t)PLAN_BACKOFF_MS << (count - 1)) < cap)
        cap = (int64_t)PLAN_BACKOFF_MS << (count - 1);
    /* Between half of it and all of it, so that groups that failed together do not come back together. */
    uint64_t jitter = hash64((struct slice){(const char *)&count, sizeof count}, seed) % (uint64_t)(cap / 2 + 1);
    return cap / 2 + (int64_t)jitter;
}
