/* window.c against a simulated server: service time, cores, distance, faults. Virtual time. */
#include "../test.h"

#include "src/kube/window.h"

/* ---- a server, and a client that always has something to send ---- */

struct server {
    int64_t service_ms, distance_ms;
    int cores;             /* 0: as many as there are calls */
    int64_t others_ms;     /* interval of other users' requests on the same cores; 0: none */
    int64_t buffer_ms;     /* a proxy hands answers on at multiples of this */
    int refuses;           /* one call in so many gets a 429; 0: none */
    int64_t jump_ms;       /* between jump_ms … */
    int64_t jump_until_ms; /* … and this time … */
    int64_t jump_distance; /* … distance_ms is this */
    int64_t cold;          /* the first calls, so many, take 500 ms more */
    int64_t step_ms;       /* when the monotonic clock jumps by an hour (suspended machine) */
};

enum { FLIGHTS = KUBE_WINDOW_MAX, CORES = 64 };

struct flight_row {
    int64_t sent_ms, due_ms;
    uint64_t serial;
    bool refused, used;
};

struct loop {
    struct window w;
    int64_t now_ms, skipped_ms;
    uint64_t sent, answered;
    int64_t core_free_ms[CORES];
    struct flight_row flights[FLIGHTS];
    uint32_t in_flight;
    uint32_t least, most; /* window sizes since `from_ms` */
    int64_t from_ms, longest_ms;
};

static int64_t serve(struct loop *l, const struct server *s)
{
    int64_t at = l->now_ms, service = s->service_ms;
    bool jumped = s->jump_ms && at >= s->jump_ms && at < s->jump_until_ms;
    if (s->cores) {
        int best = 0;
        for (int i = 1; i < s->cores; i++)
            if (l->core_free_ms[i] < l->core_free_ms[best])
                best = i;
        int64_t begin = l->core_free_ms[best] > at ? l->core_free_ms[best] : at;
        int64_t others = s->others_ms ? service * service / s->others_ms : 0;
        l->core_free_ms[best] = begin + service + others;
        at = begin + others;
    }
    at += service + (jumped ? s->jump_distance : s->distance_ms) + (l->sent <= (uint64_t)s->cold ? 500 : 0);
    return s->buffer_ms ? (at / s->buffer_ms + 1) * s->buffer_ms : at;
}

static void send_all(struct loop *l, const struct server *s)
{
    for (int i = 0; i < FLIGHTS && l->in_flight < l->w.size; i++) {
        if (l->flights[i].used)
            continue;
        l->sent++;
        l->flights[i] = (struct flight_row){l->now_ms + l->skipped_ms, 0, l->sent, s->refuses && l->sent % (uint64_t)s->refuses == 0, true};
        l->flights[i].due_ms = l->flights[i].refused ? l->now_ms + 1 : serve(l, s);
        l->in_flight++;
    }
}

static struct flight_row *next_due(struct loop *l)
{
    struct flight_row *next = NULL;
    for (int i = 0; i < FLIGHTS; i++)
        if (l->flights[i].used && (!next || l->flights[i].due_ms < next->due_ms))
            next = &l->flights[i];
    return next;
}

static void run(struct loop *l, const struct server *s, int64_t until_ms)
{
    l->least = UINT32_MAX;
    l->most = 0;
    for (struct flight_row *f; l->now_ms < until_ms;) {
        send_all(l, s);
        f = next_due(l);
        l->now_ms = f->due_ms;
        if (s->step_ms && l->now_ms >= s->step_ms && !l->skipped_ms)
            l->skipped_ms = 3600 * 1000;
        int64_t now_ms = l->now_ms + l->skipped_ms, took = now_ms - f->sent_ms;
        window_answered(&l->w,
                        &(struct window_answer){.class = 1 + f->serial % 2,
                                                .took_ms = took,
                                                .serial = f->serial,
                                                .sent = l->sent,
                                                .in_flight = l->in_flight,
                                                .throttled = f->refused,
                                                .timed = !f->refused},
                        now_ms);
        f->used = false;
        l->in_flight--;
        l->answered += !f->refused;
        if (l->now_ms < l->from_ms || l->w.before)
            continue;
        l->least = l->w.size < l->least ? l->w.size : l->least;
        l->most = l->w.size > l->most ? l->w.size : l->most;
    }
}

/* ---- sizes at which the window settles ---- */

static const struct {
    const char *name;
    struct server server;
    int64_t from_ms, until_ms;
    uint32_t least, most; /* of the window, from from_ms on, outside of probes */
    uint64_t answered;    /* at least, in all */
} rows[] = {
    {"a large API server near by: the window opens", {.service_ms = 3}, 3000, 60000, 64, 64, 900000},
    {"two cores: it stays small", {.service_ms = 10, .cores = 2}, 5000, 120000, 5, 20, 23000},
    {"two cores, of which others use half", {.service_ms = 10, .cores = 2, .others_ms = 10}, 5000, 120000, 5, 20, 11500},
    {"one slow core: it stays smaller", {.service_ms = 40, .cores = 1}, 5000, 120000, 4, 16, 2900},
    {"200 ms away: distance is not load", {.service_ms = 3, .distance_ms = 200}, 10000, 60000, 64, 64, 15000},
    {"each call takes 3 s: a smaller window would not be faster", {.service_ms = 3000}, 60000, 300000, 16, 64, 1500},
    {"each call waits 3 s for one core", {.service_ms = 3000, .cores = 1}, 100000, 2000000, 4, 20, 600},
    {"every second call is refused", {.service_ms = 10, .refuses = 2}, 1000, 60000, 1, 3, 5000},
    {"one in a hundred is refused", {.service_ms = 10, .refuses = 100}, 5000, 60000, 4, 20, 30000},
    {"a proxy that buffers for 100 ms", {.service_ms = 3, .buffer_ms = 100}, 5000, 60000, 8, 64, 4500},
    {"the first answers are cold", {.service_ms = 5, .cores = 0, .cold = 30}, 5000, 60000, 64, 64, 500000},
    {"the clock jumps by an hour", {.service_ms = 5, .step_ms = 20000}, 25000, 60000, 40, 64, 500000},
    {"it moves away for good: the window opens again",
     {.service_ms = 3, .jump_ms = 10000, .jump_until_ms = INT64_MAX, .jump_distance = 200},
     60000,
     120000,
     64,
     64,
     200000},
    {"2 to 400 ms and back: before and behind it is open",
     {.service_ms = 2, .jump_ms = 10000, .jump_until_ms = 15000, .jump_distance = 400},
     20000,
     60000,
     64,
     64,
     900000},
};

static void check_rows(void)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct loop l = {.from_ms = rows[i].from_ms};
        test_case("%s", rows[i].name);
        window_init(&l.w);
        run(&l, &rows[i].server, rows[i].until_ms);
        if (!CHECK(l.least >= rows[i].least && l.most <= rows[i].most) || !CHECK(l.answered >= rows[i].answered))
            printf("  window %u to %u, %llu answers, pressure %u\n", l.least, l.most, (unsigned long long)l.answered, l.w.pressure);
        CHECK(l.w.size >= KUBE_WINDOW_MIN && l.w.size <= KUBE_WINDOW_MAX);
    }
}

int main(void)
{
    check_rows();
    return test_done();
}
