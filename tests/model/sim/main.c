/* sim SEED                         replays one seed with its whole history
 * sim --seeds N [--first M]        runs many; the last line says N passed, N failed
 * sim --hunt N [--first M]         the same, but ends with the first seed that fails
 * sim --soak SECONDS [--first M]   runs as many as there is time for, and shows which fault met the operator in which state
 * sim --minimise SEED              cuts the schedule of a failing seed down and replays what is left
 *
 * Many seeds run in one process per core; a seed that crashes is counted and the others go on. */
#include "sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS_MAX = 16, SECONDS_MAX = SIM_CONVERGED_MAX_S + 2 }; /* the limit itself is looked at a moment later */

/* Shared with the workers. */
struct worker {
    uint64_t seed; /* that runs */
    uint64_t passed, failed, requests, faults_met, writes, refused, cpu_ms;
    uint64_t converged[SIM_PACES][SECONDS_MAX]; /* seeds by the seconds that they took */
    uint64_t slowest[SIM_PACES];                /* one that took longest */
    uint32_t coverage[SIM_KINDS][SIM_STATES], job_coverage[SIM_KINDS][SIM_JOB_STATES];
    bool done;
};

struct ask {
    uint64_t first, count; /* count 0: until the time is over */
    bool hunt;             /* until one fails */
    int64_t end_ms;
    uint32_t workers;
    struct worker *worker;
};

static bool says_nothing(const struct sim_result *r)
{
    return r->which[0] == '\0';
}

/* In seconds; -1: there was no seed yet. */
static int64_t longest(const uint64_t counts[SECONDS_MAX])
{
    int64_t s = SECONDS_MAX - 1;
    while (s >= 0 && !counts[s])
        s--;
    return s;
}

static void note(struct worker *w, const struct sim_result *r, uint64_t seed)
{
    bool good = says_nothing(r);
    int64_t s = r->converged_ms / 1000;
    w->passed += good;
    w->failed += !good;
    w->requests += r->requests;
    w->faults_met += r->faults_met;
    w->writes += r->writes;
    w->refused += r->refused_writes;
    s = s < SECONDS_MAX ? s : SECONDS_MAX - 1;
    if (good && s >= longest(w->converged[r->pace]))
        w->slowest[r->pace] = seed;
    w->converged[r->pace][s] += good;
    for (int k = 0; k < SIM_KINDS; k++)
        for (int i = 0; i < SIM_STATES; i++)
            w->coverage[k][i] += r->coverage[k][i];
    for (int k = 0; k < SIM_KINDS; k++)
        for (int i = 0; i < SIM_JOB_STATES; i++)
            w->job_coverage[k][i] += r->job_coverage[k][i];
    if (!good)
        printf("seed %" PRIu64 ": %s: %s\n", seed, r->which, r->violation);
    fflush(stdout);
}

static bool found(const struct ask *a)
{
    uint64_t failed = 0;
    for (uint32_t i = 0; a->hunt && i < a->workers; i++)
        failed += a->worker[i].failed;
    return failed > 0;
}

static void work(const struct ask *a, uint32_t number, uint64_t from)
{
    struct worker *w = &a->worker[number];
    struct sim_result *r = mem_alloc(sizeof *r);
    for (uint64_t i = from; a->count ? i < a->count && !found(a) : clock_now().mono_ms < a->end_ms; i += a->workers) {
        w->seed = i;
        sim_seed(a->first + i, false, NULL, r);
        note(w, r, a->first + i);
    }
    w->done = true;
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    w->cpu_ms +=
        (uint64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000 + (uint64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1000;
    mem_free(r);
}

static pid_t begin(const struct ask *a, uint32_t number, uint64_t from)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0)
        fatal("sim: no process");
    if (pid == 0) {
        work(a, number, from);
        exit(0);
    }
    return pid;
}

/* A worker that ended before its work was done has met a seed that crashes. */
static void run_all(const struct ask *a)
{
    pid_t pids[WORKERS_MAX];
    for (uint32_t i = 0; i < a->workers; i++)
        pids[i] = begin(a, i, i);
    int status;
    for (pid_t pid; (pid = wait(&status)) > 0;) {
        uint32_t i = 0;
        while (i < a->workers && pids[i] != pid)
            i++;
        if (i == a->workers || (a->worker[i].done && status == 0))
            continue;
        struct worker *w = &a->worker[i];
        printf("seed %" PRIu64 ": crashed (%s %d)\n", a->first + w->seed, WIFSIGNALED(status) ? "signal" : "status",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        w->failed++;
        if (!w->done && !found(a))
            pids[i] = begin(a, i, w->seed + a->workers);
    }
}

/* ---- what is said at the end ---- */

static uint64_t percentile(const uint64_t counts[SECONDS_MAX], uint64_t all, uint32_t percent)
{
    uint64_t seen = 0;
    for (uint32_t s = 0; s < SECONDS_MAX; s++)
        if ((seen += counts[s]) * 100 >= all * percent && seen)
            return s;
    return 0;
}

static void say_converged(const struct worker *sum)
{
    static const char *const names[SIM_PACES] = {"plain", "with jobs", "scaled"};
    for (int p = 0; p < SIM_PACES; p++) {
        const uint64_t *counts = sum->converged[p];
        uint64_t all = 0;
        for (uint32_t s = 0; s < SECONDS_MAX; s++)
            all += counts[s];
        if (all)
            printf("%" PRIu64 " %s converged after %" PRIu64 " s (p50), %" PRIu64 " s (p99), %" PRIu64 " s (max, seed %" PRIu64 ")\n", all,
                   names[p], percentile(counts, all, 50), percentile(counts, all, 99), percentile(counts, all, 100), sum->slowest[p]);
    }
}

typedef const char *state_name(int state);

static const char *operator_state(int state)
{
    return sim_state_name((enum sim_state)state);
}

static const char *job_state(int state)
{
    return sim_job_state_name((enum sim_job_state)state);
}

/* counts: a row for each kind, of `states` cells. */
static void say_coverage(const char *what, const uint32_t *counts, int states, state_name *name)
{
    printf("%-26s", what);
    for (int i = 0; i < states; i++)
        printf(" %10s", name(i));
    printf("\n");
    uint32_t cells = 0, hit = 0, never = 0;
    for (int k = 0; k < SIM_KINDS; k++) {
        if (k == MOVE_SECOND_HEAD)
            continue;
        printf("%-26s", sim_kind_name((enum sim_kind)k));
        uint32_t times = 0;
        for (int i = 0; i < states; i++) {
            uint32_t count = counts[k * states + i];
            printf(" %10u", count);
            times += count;
            cells++;
            hit += count > 0;
        }
        printf("%s\n", times ? "" : "  NEVER");
        never += times == 0;
    }
    printf("%u of %u cells were hit, %u kinds never\n", hit, cells, never);
}

static void say_coverages(const struct worker *sum)
{
    say_coverage("move or fault \\ operator", &sum->coverage[0][0], SIM_STATES, operator_state);
    say_coverage("move or fault \\ a RayJob", &sum->job_coverage[0][0], SIM_JOB_STATES, job_state);
}

static void add_converged(struct worker *sum, const struct worker *w)
{
    for (int p = 0; p < SIM_PACES; p++) {
        if (longest(w->converged[p]) > longest(sum->converged[p]))
            sum->slowest[p] = w->slowest[p];
        for (int s = 0; s < SECONDS_MAX; s++)
            sum->converged[p][s] += w->converged[p][s];
    }
}

static int say_sum(const struct ask *a, bool coverage, int64_t began_ms)
{
    struct worker *sum = mem_alloc(sizeof *sum);
    for (uint32_t i = 0; i < a->workers; i++) {
        const struct worker *w = &a->worker[i];
        sum->passed += w->passed;
        sum->failed += w->failed;
        sum->requests += w->requests;
        sum->faults_met += w->faults_met;
        sum->writes += w->writes;
        sum->refused += w->refused;
        sum->cpu_ms += w->cpu_ms;
        add_converged(sum, w);
        for (int k = 0; k < SIM_KINDS; k++)
            for (int s = 0; s < SIM_STATES; s++)
                sum->coverage[k][s] += w->coverage[k][s];
        for (int k = 0; k < SIM_KINDS; k++)
            for (int s = 0; s < SIM_JOB_STATES; s++)
                sum->job_coverage[k][s] += w->job_coverage[k][s];
    }
    if (coverage)
        say_coverages(sum);
    uint64_t ms = (uint64_t)(clock_now().mono_ms - began_ms), seeds = sum->passed + sum->failed;
    printf("%" PRIu64 " seeds in %" PRIu64 ".%03" PRIu64 " s, %" PRIu64 " a minute of one core; %" PRIu64 " requests, %" PRIu64
           " of them met a fault; %" PRIu64 " writes, %" PRIu64 " of them in vain\n",
           seeds, ms / 1000, ms % 1000, seeds * 60000 / (sum->cpu_ms + 1), sum->requests, sum->faults_met, sum->writes, sum->refused);
    say_converged(sum);
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", sum->passed, sum->failed);
    bool bad = sum->failed > 0;
    mem_free(sum);
    return bad;
}

static int many(struct ask *a, bool coverage)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    a->workers = cores < 1 ? 1 : cores > WORKERS_MAX ? WORKERS_MAX : (uint32_t)cores;
    if (a->count && a->workers > a->count)
        a->workers = (uint32_t)a->count;
    size_t size = a->workers * sizeof *a->worker;
    a->worker = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (a->worker == MAP_FAILED)
        fatal("sim: no shared memory");
    int64_t began = clock_now().mono_ms;
    run_all(a);
    int bad = say_sum(a, coverage, began);
    munmap(a->worker, size);
    return bad;
}

/* ---- one seed ---- */

static int say_one(const struct sim_plan *p)
{
    struct sim_result *r = mem_alloc(sizeof *r);
    sim_both(p, true, stdout, r);
    printf("history %016" PRIx64 "\n", r->history);
    bool good = says_nothing(r);
    if (!good)
        printf("seed %" PRIu64 ": %s: %s\n", p->seed, r->which, r->violation);
    mem_free(r);
    printf("%d passed, %d failed\n", good, !good);
    return !good;
}

static int replay(uint64_t seed, bool minimise)
{
    struct sim_plan *p = mem_alloc(sizeof *p);
    sim_plan_make(p, seed);
    if (minimise) {
        struct sim_result *r = mem_alloc(sizeof *r);
        sim_both(p, false, NULL, r);
        if (!says_nothing(r))
            sim_minimise(p, r->which, stderr);
        mem_free(r);
    }
    int bad = say_one(p);
    mem_free(p);
    return bad;
}

static int usage(void)
{
    fprintf(
        stderr,
        "usage: sim SEED | sim --seeds N [--first M] | sim --hunt N [--first M] | sim --soak SECONDS [--first M] | sim --minimise SEED\n");
    return 2;
}

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

int main(int argc, char **argv)
{
    int64_t n = 0, first = 1;
    log_global.fd = -1;
    if (argc == 2 && slice_int(slice_of(argv[1]), &n) && n >= 0)
        return replay((uint64_t)n, false);
    if (argc < 3 || !slice_int(slice_of(argv[2]), &n) || n < 0)
        return usage();
    if (argc == 5 && (!is(argv[3], "--first") || !slice_int(slice_of(argv[4]), &first) || first < 0))
        return usage();
    struct ask a = {.first = (uint64_t)first};
    if (is(argv[1], "--minimise"))
        return replay((uint64_t)n, true);
    a.hunt = is(argv[1], "--hunt");
    if (a.hunt || is(argv[1], "--seeds")) {
        a.count = (uint64_t)n;
        return many(&a, false);
    }
    if (!is(argv[1], "--soak"))
        return usage();
    a.end_ms = clock_now().mono_ms + n * 1000;
    return many(&a, true);
}
