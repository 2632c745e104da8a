#include "window.h"

#include <mobula/limits.h>

enum {
    ONE = 1000,          /* ratios are in thousandths */
    RATIO_MAX = 8 * ONE, /* limit of one answer's ratio: a garbage collector's pause is no load */
    SMOOTH = 10,         /* divisor: weight of a new answer in the moving average `pressure` */
    SPREAD_3RDS = 2,     /* answers of a server without load take up to one and a half times the fastest: no pressure yet */
    GROW = 4,            /* divisor: the window grows by a quarter if no call waits, and shrinks by a quarter if twice too many do */
    PROBE_ROUND = 8,     /* answers that end a probe */
    NOT_OURS_5THS = 4,   /* a probe whose answers take 4/5 of the time or longer: our own calls are not the cause */
    AGE = 4,             /* divisor: otherwise the base moves a quarter of the way to the probe's fastest answer */
};

/* ---- classes of requests, and their fastest answers ---- */

static struct slice next_part(struct slice *path)
{
    struct slice rest = slice_skip(*path, slice_starts(*path, SLICE("/")));
    ptrdiff_t end = slice_find(rest, '/');
    struct slice part = end < 0 ? rest : slice_head(rest, (size_t)end);
    *path = slice_skip(rest, part.len);
    return part;
}

uint32_t window_class(struct slice method, struct slice path)
{
    ptrdiff_t query = slice_find(path, '?');
    if (query >= 0)
        path = slice_head(path, (size_t)query);
    struct slice api = next_part(&path);
    bool group = slice_eq(api, SLICE("apis"));
    if (!group && !slice_eq(api, SLICE("api")))
        return 0;
    if (group)
        next_part(&path);
    next_part(&path); /* the version */
    struct slice resource = next_part(&path), name = next_part(&path), sub = next_part(&path);
    if (slice_eq(resource, SLICE("namespaces")) && !slice_empty(sub)) {
        resource = sub;
        name = next_part(&path);
        sub = next_part(&path);
    }
    if (slice_empty(resource) || (slice_empty(name) && slice_eq(method, SLICE("GET"))))
        return 0;
    return (uint32_t)hash64(sub, hash64(resource, hash64(method, 0))) | 1;
}

/* The class of the answer; a new class replaces the least recently used one. */
static struct window_class *class_of(struct window *w, const struct window_answer *a, int64_t now_ms)
{
    struct window_class *c = &w->classes[0];
    for (size_t i = 0; i < COUNT_OF(w->classes); i++) {
        if (w->classes[i].class == a->class) {
            c = &w->classes[i];
            break;
        }
        if (w->classes[i].used_ms < c->used_ms)
            c = &w->classes[i];
    }
    if (c->class != a->class)
        *c = (struct window_class){.class = a->class, .fastest_ms = a->took_ms};
    c->used_ms = now_ms;
    if (a->took_ms < c->fastest_ms)
        c->fastest_ms = a->took_ms;
    return c;
}

/* Times below the floor are mostly clock ticks and our own event loop. */
static uint64_t at_least_floor(int64_t ms)
{
    return (uint64_t)(ms > KUBE_WINDOW_FLOOR_MS ? ms : KUBE_WINDOW_FLOOR_MS);
}

static void measure(struct window *w, const struct window_answer *a, int64_t now_ms)
{
    const struct window_class *c = class_of(w, a, now_ms);
    uint64_t ratio = at_least_floor(a->took_ms) * ONE / at_least_floor(c->fastest_ms);
    int64_t counted = (int64_t)(ratio < RATIO_MAX ? ratio : RATIO_MAX);
    w->pressure = (uint32_t)((int64_t)w->pressure + (counted - (int64_t)w->pressure) / SMOOTH);
    if (a->serial <= w->changed)
        return;
    w->timed++;
    w->ratios += ratio;
    w->least = ratio < w->least ? ratio : w->least;
}

/* ---- rounds: a window of answers, then a new size ---- */

static void round_begin(struct window *w, uint32_t size, uint64_t sent)
{
    w->size = size < KUBE_WINDOW_MIN ? KUBE_WINDOW_MIN : size < KUBE_WINDOW_MAX ? size : KUBE_WINDOW_MAX;
    w->changed = sent;
    w->credit = w->timed = 0;
    w->ratios = 0;
    w->least = UINT64_MAX;
    w->busy = false;
}

uint32_t window_waiting(const struct window *w)
{
    uint32_t pressure = w->pressure * SPREAD_3RDS / 3;
    return pressure > ONE ? w->size * (pressure - ONE) / pressure : 0;
}

/* All classes are scaled by one factor, because a class without answers in the probe is on the same server. */
static void probe_end(struct window *w, uint64_t mean, uint64_t sent, int64_t now_ms)
{
    bool ours = mean * 5 < w->mean * NOT_OURS_5THS;
    uint64_t factor = ours ? ONE + (w->least - ONE) / AGE : w->least;
    for (size_t i = 0; i < COUNT_OF(w->classes); i++)
        w->classes[i].fastest_ms = (int64_t)(at_least_floor(w->classes[i].fastest_ms) * factor / ONE);
    uint64_t pressure = w->pressure * ONE / factor;
    w->pressure = pressure > ONE ? (uint32_t)pressure : ONE;
    uint32_t size = w->before;
    w->before = 0;
    w->calm_ms = now_ms;
    round_begin(w, size, sent);
}

/* Returns whether it shrank by more than one. */
static bool adjust(struct window *w, uint64_t sent)
{
    uint32_t waiting = window_waiting(w), size = w->size;
    bool far = waiting > 2 * KUBE_WINDOW_MANY;
    if (waiting > KUBE_WINDOW_MANY)
        size -= far ? size / GROW : 1;
    else if (w->busy && waiting < KUBE_WINDOW_FEW)
        size += waiting == 0 && !w->gentle ? size / GROW + 1 : 1;
    round_begin(w, size, sent);
    return far;
}

static bool round_end(struct window *w, uint64_t sent, int64_t now_ms)
{
    uint64_t mean = w->timed ? w->ratios / w->timed : ONE; /* a round of lists alone says nothing */
    if (w->before && w->timed) {
        probe_end(w, mean, sent, now_ms);
        return false;
    }
    w->mean = mean;
    if (window_waiting(w) < KUBE_WINDOW_FEW)
        w->calm_ms = now_ms;
    if (w->size <= KUBE_WINDOW_PROBE || now_ms - w->calm_ms < KUBE_WINDOW_PROBE_MS)
        return adjust(w, sent);
    w->before = w->size;
    round_begin(w, KUBE_WINDOW_PROBE, sent);
    return false;
}

static bool halve(struct window *w, const struct window_answer *a)
{
    if (a->serial <= w->halved)
        return false;
    w->halved = a->sent;
    w->gentle = true;
    uint32_t size = w->before ? w->before : w->size;
    w->before = 0;
    round_begin(w, size / 2, a->sent);
    return true;
}

/* ---- functions of window.h ---- */

void window_init(struct window *w)
{
    *w = (struct window){.pressure = ONE};
    round_begin(w, KUBE_WINDOW_START, 0);
}

bool window_answered(struct window *w, const struct window_answer *a, int64_t now_ms)
{
    w->heard_ms = now_ms;
    if (a->throttled)
        return halve(w, a);
    if (a->class && a->timed && a->took_ms >= 0)
        measure(w, a, now_ms);
    if (a->serial <= w->changed)
        return false;
    w->busy |= a->in_flight * 2 >= w->size;
    return ++w->credit >= (w->before ? PROBE_ROUND : w->size) && round_end(w, a->sent, now_ms);
}

void window_rest(struct window *w, int64_t now_ms)
{
    if (now_ms - w->heard_ms < KUBE_WINDOW_IDLE_MS)
        return;
    w->heard_ms = now_ms;
    w->calm_ms = now_ms;
    w->pressure = ONE;
    w->gentle = false;
    w->before = 0;
    round_begin(w, KUBE_WINDOW_START, w->changed);
}
