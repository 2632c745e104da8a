#include "sim.h"

#include <stdlib.h>

/* How often each kind comes, against the others. */
static const struct {
    const char *name;
    uint32_t weight;
} kinds[SIM_KINDS] = {
    [MOVE_CREATE] = {"create", 12},
    [MOVE_DELETE] = {"delete", 3},
    [MOVE_RECREATE] = {"delete and create again", 4},
    [MOVE_SCALE] = {"scale", 12},
    [MOVE_TEMPLATE] = {"template", 5},
    [MOVE_SUSPEND] = {"suspend", 3},
    [MOVE_SPOIL] = {"spoil or mend the spec", 3},
    [MOVE_GROUPS] = {"add or drop a group", 3},
    [MOVE_NOTE] = {"annotate", 2},
    [MOVE_POD_DELETED] = {"pod deleted", 6},
    [MOVE_POD_FAILS] = {"pod fails", 6},
    [MOVE_POD_RESTARTS] = {"container restarts", 5},
    [MOVE_POD_UNREADY] = {"pod unready for a while", 4},
    [MOVE_SERVICE_DELETED] = {"service deleted", 2},
    [MOVE_SERVICE_EDITED] = {"service edited", 2},
    [MOVE_RAYLET_DIES] = {"raylet dies", 0},
    [MOVE_LIMIT] = {"maximum changed", 0},
    [MOVE_JOB_CREATE] = {"job created", 0}, /* job_entries has these */
    [MOVE_JOB_DELETE] = {"job deleted", 0},
    [MOVE_JOB_SUSPEND] = {"job suspended or resumed", 0},
    [MOVE_JOB_NAMED] = {"job submitted by hand", 0},
    [MOVE_JOB_CLUSTER] = {"job's cluster deleted", 0},
    [MOVE_JOB_NOTE] = {"job annotated", 0},
    [MOVE_CRON_CREATE] = {"cron job created", 0}, /* cron_entries has these */
    [MOVE_CRON_DELETE] = {"cron job deleted", 0},
    [MOVE_CRON_SUSPEND] = {"cron job suspended or resumed", 0},
    [MOVE_CRON_RULES] = {"cron job's policy changed", 0},
    [MOVE_CRON_RUN_DELETED] = {"cron job's run deleted", 0},
    [MOVE_TIME] = {"time passes", 0},
    [MOVE_TOKEN] = {"token changed", 0},        /* token_entries has this */
    [MOVE_SPOT] = {"spot nodes go or come", 0}, /* market_entries has this */
    [MOVE_NODE_LOST] = {"node lost", 4},
    [MOVE_NAMESPACE_DELETED] = {"namespace deleted", 1},
    [MOVE_SECOND_HEAD] = {"second head", 0},
    [FAULT_LATENCY] = {"latency", 6},
    [FAULT_PIECES] = {"short reads and writes", 4},
    [FAULT_BREAK] = {"connections break", 6},
    [FAULT_SILENCE] = {"connections fall silent", 2},
    [FAULT_DOWN] = {"server restarts", 3},
    [FAULT_NO_CONNECT] = {"connecting takes for ever or is not begun", 2},
    [FAULT_LOST] = {"request lost", 4},
    [FAULT_ANSWER_LOST] = {"answer lost", 6},
    [FAULT_ANSWER_CUT] = {"answer cut", 4},
    [FAULT_SLOW] = {"slow answers", 3},
    [FAULT_REFUSED] = {"refused", 4},
    [FAULT_THROTTLED] = {"throttled", 3},
    [FAULT_FAILED] = {"server error", 5},
    [FAULT_HANG] = {"no answer", 3},
    [FAULT_KILL] = {"kill", 4},
    [FAULT_KILL_INSIDE] = {"kill between writes", 4},
    [FAULT_KILL_AT_WRITE] = {"kill at a write", 6},
    [FAULT_STOP] = {"stop in order", 2},
    [FAULT_FREEZE] = {"freeze", 3},
    [FAULT_CLOCK] = {"wall clock jumps", 2},
    [FAULT_COMPACT] = {"history compacted", 4},
    [FAULT_WATCH_END] = {"watch ends", 4},
    [FAULT_WATCH_EXPIRE] = {"watch expires", 3},
    [FAULT_OLD_CACHE] = {"old cache", 6},
    [FAULT_WATCH_DELAY] = {"events late", 5},
    [FAULT_WATCH_DOUBLE] = {"events twice", 3},
    [FAULT_WATCH_LOSE] = {"events lost", 4},
    [FAULT_NO_BOOKMARKS] = {"no bookmarks", 1},
    [FAULT_NO_STREAM] = {"no streaming lists", 2},
    [FAULT_SHORT_PAGES] = {"short pages", 3},
    [FAULT_LEASE_TAKEN] = {"lease taken", 2},
    [FAULT_LEASE_DELETED] = {"lease deleted", 2},
    [FAULT_HEADS_BREAK] = {"heads reset", 0}, /* scaled_entries has these */
    [FAULT_HEAD_RESTART] = {"head begins again", 0},
    [FAULT_HEADS_HANG] = {"heads hang", 0},
    [FAULT_HEADS_NONSENSE] = {"heads answer nonsense", 0},
    [FAULT_HEADS_LATE] = {"heads answer late", 0},
    [FAULT_HEADS_STALE] = {"heads say the same", 0},
    [FAULT_HEADS_CUT] = {"answers of heads are cut", 0},
    [FAULT_HEADS_REFUSE] = {"drains are refused", 0},
    [FAULT_DASH_LOSES] = {"dashboards lose answers", 0},
    [FAULT_DASH_TROUBLE] = {"dashboards answer errors", 0},
};

const char *sim_kind_name(enum sim_kind k)
{
    return kinds[k].name;
}

/* A lease has to be there to be taken. */
static bool may_come(const struct sim_setup *u, enum sim_kind k)
{
    return u->elect || (k != FAULT_LEASE_TAKEN && k != FAULT_LEASE_DELETED);
}

static enum sim_kind pick(struct rng *r, const struct sim_setup *u, bool fault)
{
    enum sim_kind first = fault ? SIM_FIRST_FAULT : 0, end = fault ? SIM_KINDS : SIM_FIRST_FAULT;
    uint32_t all = 0;
    for (enum sim_kind k = first; k < end; k++)
        all += may_come(u, k) ? kinds[k].weight : 0;
    uint32_t at = (uint32_t)rng_below(r, all);
    enum sim_kind k = first;
    for (; !may_come(u, k) || at >= kinds[k].weight; k++)
        at -= may_come(u, k) ? kinds[k].weight : 0;
    return k;
}

static void add(struct sim_plan *p, struct rng *r, int64_t at_ms, enum sim_kind kind)
{
    struct sim_entry *e = &p->entries[p->count++];
    *e = (struct sim_entry){.at_ms = at_ms, .kind = kind};
    for (size_t i = 0; i < COUNT_OF(e->dice); i++)
        e->dice[i] = (uint32_t)rng_next(r);
}

static int compare(const void *a, const void *b)
{
    const struct sim_entry *x = a, *y = b;
    if (x->at_ms != y->at_ms)
        return x->at_ms < y->at_ms ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return memcmp(x->dice, y->dice, sizeof x->dice);
}

/* Drawn after all else, so that the other seeds are what they were. */
static void scaled_entries(struct sim_plan *p, struct rng *r)
{
    enum { MOVES = 14, FAULTS = 12 };
    static const enum sim_kind moves[] = {MOVE_RAYLET_DIES, MOVE_SCALE, MOVE_SCALE, MOVE_LIMIT};
    p->setup.scaled = rng_below(r, 3) == 0;
    uint32_t kinds_of = FAULT_HEADS_REFUSE - FAULT_HEADS_BREAK + 1;
    for (uint32_t i = 0; i < MOVES && p->setup.scaled; i++)
        add(p, r, (int64_t)rng_below(r, SIM_MS), moves[i % COUNT_OF(moves)]);
    for (uint32_t i = 0; i < FAULTS && p->setup.scaled; i++)
        add(p, r, (int64_t)rng_below(r, SIM_MS), FAULT_HEADS_BREAK + (enum sim_kind)rng_below(r, kinds_of));
}

/* Drawn last of all, for the same reason. */
static void job_entries(struct sim_plan *p, struct rng *r)
{
    enum { CREATES = 4, MOVES = 16, FAULTS = 14, BEGIN_MS = 25 * 1000 };
    static const enum sim_kind moves[] = {MOVE_JOB_CREATE, MOVE_JOB_CREATE,  MOVE_JOB_CREATE,  MOVE_JOB_DELETE,
                                          MOVE_JOB_DELETE, MOVE_JOB_SUSPEND, MOVE_JOB_SUSPEND, MOVE_JOB_NAMED,
                                          MOVE_JOB_NAMED,  MOVE_JOB_CLUSTER, MOVE_JOB_NOTE};
    static const enum sim_kind faults[] = {FAULT_HEADS_BREAK,  FAULT_HEAD_RESTART, FAULT_HEADS_HANG, FAULT_HEADS_NONSENSE,
                                           FAULT_HEADS_LATE,   FAULT_HEADS_CUT,    FAULT_DASH_LOSES, FAULT_DASH_LOSES,
                                           FAULT_DASH_TROUBLE, FAULT_KILL_AT_WRITE};
    p->setup.jobs = rng_below(r, 3) == 0;
    p->setup.submitters = rng_below(r, 2);
    for (uint32_t i = 0; i < CREATES && p->setup.jobs; i++)
        add(p, r, (int64_t)rng_below(r, BEGIN_MS), MOVE_JOB_CREATE);
    for (uint32_t i = 0; i < MOVES && p->setup.jobs; i++)
        add(p, r, (int64_t)rng_below(r, SIM_MS), moves[rng_below(r, COUNT_OF(moves))]);
    for (uint32_t i = 0; i < FAULTS && p->setup.jobs; i++)
        add(p, r, (int64_t)rng_below(r, SIM_MS), faults[rng_below(r, COUNT_OF(faults))]);
}

/* And this after all. */
static void mutators(struct sim_plan *p, struct rng *r)
{
    bool any = rng_below(r, 4) == 0;
    uint32_t which = (uint32_t)rng_below(r, MUTATE_ALL) + 1;
    p->setup.mutators = any ? which : 0;
}

/* And these after that. */
static void token_entries(struct sim_plan *p, struct rng *r)
{
    enum { MOVES = 4 };
    p->setup.job_tokens = p->setup.jobs && rng_below(r, 2);
    for (uint32_t i = 0; i < MOVES && (p->setup.tokens || p->setup.job_tokens); i++)
        add(p, r, (int64_t)rng_below(r, SIM_MS), MOVE_TOKEN);
}

/* And these last of all. Runs are due when time has passed, and that is when most of what goes wrong strikes. */
static void cron_entries(struct sim_plan *p, struct rng *r)
{
    enum { CREATES = 3, MOVES = 8, TIMES = 7, BEGIN_MS = 12 * 1000, NEAR_MS = 300 };
    static const enum sim_kind moves[] = {MOVE_CRON_CREATE,  MOVE_CRON_DELETE, MOVE_CRON_SUSPEND,
                                          MOVE_CRON_SUSPEND, MOVE_CRON_RULES,  MOVE_CRON_RUN_DELETED};
    static const enum sim_kind faults[] = {FAULT_KILL_AT_WRITE, FAULT_KILL_AT_WRITE, FAULT_ANSWER_LOST, FAULT_LOST,
                                           FAULT_KILL_INSIDE,   FAULT_REFUSED,       FAULT_FAILED,      FAULT_CLOCK};
    p->setup.crons = p->setup.jobs && rng_below(r, 2);
    for (uint32_t i = 0; i < CREATES && p->setup.crons; i++)
        add(p, r, (int64_t)rng_below(r, BEGIN_MS), MOVE_CRON_CREATE);
    for (uint32_t i = 0; i < MOVES && p->setup.crons; i++)
        add(p, r, (int64_t)rng_below(r, SIM_MS), moves[rng_below(r, COUNT_OF(moves))]);
    for (uint32_t i = 0; i < TIMES && p->setup.crons; i++) {
        int64_t at = (int64_t)rng_below(r, SIM_MS - NEAR_MS);
        add(p, r, at, MOVE_TIME);
        add(p, r, at + (int64_t)rng_below(r, NEAR_MS), faults[rng_below(r, COUNT_OF(faults))]);
    }
}

/* And these behind them. Spot nodes go, and while they are away there are to be more pods. */
static void market_entries(struct sim_plan *p, struct rng *r)
{
    enum { TIMES = 4, NEAR_MS = 500, AWAY_MS = 9000 };
    static const enum sim_kind moves[] = {MOVE_SCALE, MOVE_SCALE, MOVE_POD_DELETED, MOVE_CREATE};
    p->setup.markets = !p->setup.scaled && !p->setup.jobs && rng_below(r, 2);
    for (uint32_t i = 0; i < TIMES && p->setup.markets; i++) {
        int64_t at = (int64_t)rng_below(r, SIM_MS - AWAY_MS);
        add(p, r, at, MOVE_SPOT);
        for (size_t k = 0; k < COUNT_OF(moves); k++)
            add(p, r, at + (int64_t)rng_below(r, NEAR_MS), moves[k]);
        add(p, r, at + NEAR_MS + (int64_t)rng_below(r, AWAY_MS - NEAR_MS), MOVE_SPOT);
    }
}

void sim_plan_make(struct sim_plan *p, uint64_t seed)
{
    struct rng r;
    rng_seed(&r, seed);
    *p = (struct sim_plan){.seed = seed};
    struct sim_setup *s = &p->setup;
    s->elect = rng_below(&r, 3) != 0;
    s->operators = s->elect && rng_below(&r, 2) ? 2 : 1;
    s->all_namespaces = rng_below(&r, 3) == 0;
    s->legacy_late = rng_below(&r, 4) == 0;
    s->streaming = rng_below(&r, 4) != 0;
    s->start_ms = 100 + (int64_t)rng_below(&r, 2000);
    s->latency_ms = (int64_t)rng_below(&r, 12);
    /* Some seeds are busy and others quiet: what goes wrong in the quiet does so for other reasons. */
    uint32_t moves = 4 + (uint32_t)rng_below(&r, 40), faults = 1 + (uint32_t)rng_below(&r, 60);
    for (int i = 0; i < 2; i++)
        add(p, &r, (int64_t)rng_below(&r, 2000), MOVE_CREATE);
    for (uint32_t i = 0; i < moves; i++)
        add(p, &r, (int64_t)rng_below(&r, SIM_MS), pick(&r, s, false));
    /* Half of the faults strike where something has just been moved, or is about to be. */
    for (uint32_t i = 0; i < faults; i++) {
        const struct sim_entry *near = &p->entries[rng_below(&r, moves + 2)];
        int64_t at = rng_below(&r, 2) ? (int64_t)rng_below(&r, SIM_MS) : near->at_ms + (int64_t)rng_below(&r, 800) - 100;
        add(p, &r, at < 0 ? 0 : at, pick(&r, s, true));
    }
    scaled_entries(p, &r);
    job_entries(p, &r);
    s->bookmark_ms = rng_below(&r, 3) ? 1000 + (int64_t)rng_below(&r, 9000) : 0;
    s->tokens = s->scaled && rng_below(&r, 2) == 0;
    s->proxied = s->jobs && !s->scaled && rng_below(&r, 2); /* what heads want cannot be asked that way */
    token_entries(p, &r);
    mutators(p, &r);
    cron_entries(p, &r);
    market_entries(p, &r);
    qsort(p->entries, p->count, sizeof p->entries[0], compare);
}
