/* What users do with RayCronJobs. Like all moves they go to the server past all faults. */
#include "crons.h"

enum { MINUTE_S = 60, STEP_MAX_S = 3 * MINUTE_S, RUN_MS = 15 * 1000, KEEP = 3, DEADLINE_S = 90 };

/* In the namespace that is deleted now and then RayJobs have clusters of their own (jobs.c says why). */
static const struct {
    const char *ns, *name, *selected;
} places[SIM_CRONS] = {{"n", "c", NULL}, {"n", "d", "a"}, {SIM_FRAGILE, "e", NULL}};

static struct slice path_of(struct sim *s, const struct want_cron *c, bool named)
{
    return arena_printf(&s->w.arena, "/apis/ray.io/v1/namespaces/%s/raycronjobs%s%s", c->run.ns, named ? "/" : "",
                        named ? c->run.name : "");
}

static void write_rules(struct buf *b, const struct want_cron *c)
{
    static const char *const rules[RULES] = {"Allow", "Forbid", "Replace"};
    buf_printf(b, "\"concurrencyPolicy\":\"%s\",\"failedJobsHistoryLimit\":%u,\"successfulJobsHistoryLimit\":%u", rules[c->rule],
               c->keep[0], c->keep[1]);
    if (c->deadline_s < 0)
        buf_put(b, SLICE(",\"startingDeadlineSeconds\":null"));
    else
        buf_printf(b, ",\"startingDeadlineSeconds\":%d", (int)c->deadline_s);
}

static struct slice body_of(struct sim *s, const struct want_cron *c)
{
    static const char *const patterns[PATTERNS] = {"* * * * *", "*/2 * * * *", "@every 90s"};
    struct buf b;
    buf_init(&b, 64 * KIB);
    buf_printf(&b,
               "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCronJob\",\"metadata\":{\"name\":\"%s\"},\"spec\":{\"schedule\":\"%s\","
               "\"suspend\":%s,",
               c->run.name, patterns[c->pattern], c->suspend ? "true" : "false");
    write_rules(&b, c);
    buf_put(&b, SLICE(",\"jobTemplate\":"));
    jobs_write_spec(s, &b, &c->run);
    buf_put(&b, SLICE("}}"));
    struct slice body = arena_dup(&s->w.arena, buf_slice(&b));
    buf_free(&b);
    return body;
}

/* ---- moves ---- */

static void choose_rules(struct want_cron *c, uint32_t dice)
{
    c->rule = (enum cron_rule)(dice % RULES);
    c->keep[0] = (dice >> 2) % KEEP;
    c->keep[1] = (dice >> 4) % KEEP;
    c->deadline_s = dice >> 6 & 1 ? -1 : 10 + (int32_t)((dice >> 8) % DEADLINE_S);
    c->rules |= 1u << c->rule;
    for (int i = 0; i < 2; i++)
        c->least[i] = c->keep[i] < c->least[i] ? c->keep[i] : c->least[i];
}

static void create(struct sim *s, struct want_cron *c, const uint32_t dice[3])
{
    static const enum job_script scripts[] = {SCRIPT_SUCCEEDS, SCRIPT_SUCCEEDS, SCRIPT_FAILS, SCRIPT_ENDLESS};
    static const enum job_after afters[] = {AFTER_NOTHING, AFTER_SHUTDOWN, AFTER_CLUSTER};
    struct want_job *run = &c->run;
    if (!mishaps_usable(s, run->ns))
        return;
    *c = (struct want_cron){.run = {.ns = run->ns, .name = run->name, .selected = run->selected}, .least = {KEEP, KEEP}};
    c->pattern = (enum cron_pattern)(dice[1] % PATTERNS);
    choose_rules(c, dice[2]);
    run->there = true;
    run->mode = dice[1] >> 4 & 1 ? MODE_K8S : MODE_HTTP;
    run->script = scripts[(dice[1] >> 5) % COUNT_OF(scripts)];
    run->after = run->selected ? AFTER_NOTHING : afters[(dice[1] >> 8) % COUNT_OF(afters)];
    run->run_ms = 200 + (dice[1] >> 12) % RUN_MS;
    run->workers = dice[1] >> 10 & 1;
    run->ttl_s = dice[2] >> 20 & 7;
    c->there = world_call(&s->w, "POST", path_of(s, c, false).ptr, "application/json", body_of(s, c)) == 201;
}

static void patch(struct sim *s, const struct want_cron *c, struct slice body)
{
    int status = world_call(&s->w, "PATCH", path_of(s, c, true).ptr, "application/merge-patch+json", body);
    if (status != 200)
        sim_violation(s, "model", "a user's patch of cron job %s was answered %d", c->run.name, status);
}

static void suspend(struct sim *s, struct want_cron *c, bool yes)
{
    c->suspend = yes;
    patch(s, c, yes ? SLICE("{\"spec\":{\"suspend\":true}}") : SLICE("{\"spec\":{\"suspend\":false}}"));
}

static void change_rules(struct sim *s, struct want_cron *c, uint32_t dice)
{
    struct buf b;
    choose_rules(c, dice);
    buf_init(&b, 4 * KIB);
    buf_put(&b, SLICE("{\"spec\":{"));
    write_rules(&b, c);
    buf_put(&b, SLICE("}}"));
    patch(s, c, buf_slice(&b));
    buf_free(&b);
}

static void deleted(struct sim *s, struct want_cron *c)
{
    world_call(&s->w, "DELETE", path_of(s, c, true).ptr, "application/json", SLICE("{}"));
    c->there = false;
}

/* Of a run that status does not tell of nobody would know any more. */
static void delete_run(struct sim *s, const struct want_cron *c, uint32_t dice)
{
    const struct cron_run *run = s->crons->runs;
    for (dice %= 4; run; run = run->next)
        if (!run->gone && run->of->want == c && !run->of->gone && run->due_s <= run->of->told_s && dice-- == 0)
            break;
    if (!run)
        return;
    struct slice path = arena_printf(&s->w.arena, "/apis/ray.io/v1/namespaces/%s/rayjobs/%s", c->run.ns, run->name);
    world_call(&s->w, "DELETE", path.ptr, "application/json", SLICE("{}"));
}

static void change(struct sim *s, struct want_cron *c, const struct sim_entry *e)
{
    switch (e->kind) {
    case MOVE_CRON_CREATE:
        create(s, c, e->dice);
        break;
    case MOVE_CRON_DELETE:
        deleted(s, c);
        break;
    case MOVE_CRON_SUSPEND:
        suspend(s, c, !c->suspend);
        break;
    case MOVE_CRON_RULES:
        change_rules(s, c, e->dice[2]);
        break;
    default:
        delete_run(s, c, e->dice[1]);
        break;
    }
}

void crons_move(struct sim *s, const struct sim_entry *e)
{
    if (s->crons && e->kind == MOVE_TIME) {
        s->w.now.wall_us += (20 + (int64_t)(e->dice[1] % STEP_MAX_S)) * 1000000;
        s->moved = true;
        crons_step(s);
        return;
    }
    for (uint32_t i = 0; s->crons && i < SIM_CRONS; i++) {
        struct want_cron *c = &s->crons->want[(e->dice[0] + i) % SIM_CRONS];
        if (c->there == (e->kind == MOVE_CRON_CREATE))
            continue;
        sim_say(s, "of cron job %s/%s", c->run.ns, c->run.name);
        change(s, c, e);
        return;
    }
}

void crons_namespace_deleted(struct sim *s, const char *ns)
{
    for (uint32_t i = 0; s->crons && i < SIM_CRONS; i++)
        s->crons->want[i].there &= strcmp(s->crons->want[i].run.ns, ns) != 0;
}

void crons_calm(struct sim *s)
{
    for (uint32_t i = 0; s->crons && i < SIM_CRONS; i++)
        if (s->crons->want[i].there && !s->crons->want[i].suspend)
            suspend(s, &s->crons->want[i], true);
}

void crons_delete_all(struct sim *s)
{
    for (uint32_t i = 0; s->crons && i < SIM_CRONS; i++)
        if (s->crons->want[i].there)
            deleted(s, &s->crons->want[i]);
}

/* ---- the beginning and the end ---- */

void crons_begin(struct sim *s)
{
    if (!s->plan->setup.crons)
        return;
    s->crons = mem_alloc(sizeof *s->crons);
    for (uint32_t i = 0; i < SIM_CRONS; i++)
        s->crons->want[i].run = (struct want_job){.ns = places[i].ns, .name = places[i].name, .selected = places[i].selected};
}

void crons_end(struct sim *s)
{
    if (!s->crons)
        return;
    JOBS_FREE_ALL(s->crons->seen)
    JOBS_FREE_ALL(s->crons->runs)
    mem_free(s->crons);
    s->crons = NULL;
}
