/* window: how many calls of the main lane may be in flight, as a function of answers and times. Pure: no I/O, no clock.
 *
 * It is TCP Vegas, as Netflix's concurrency-limits uses it for servers. Of each class of requests (verb and resource) the fastest answer is
 * kept. The pressure is the mean ratio of an answer's time to the fastest of its class, so `size * (1 - 1 / pressure)` of the calls in
 * flight only wait for each other. After a window of answers to requests that were sent since its last change, the window grows while few
 * wait, and shrinks while many do. A 429 halves it.
 *
 * A server that has moved away is not loaded. Therefore, while there is pressure, the window is reduced to KUBE_WINDOW_PROBE for a moment
 * every KUBE_WINDOW_PROBE_MS: if answers come no sooner then, the time is not spent waiting behind our own calls, and becomes the new base.
 * If they come sooner, the base only ages: it moves a quarter of the way. */
#ifndef MOBULA_KUBE_WINDOW_H
#define MOBULA_KUBE_WINDOW_H

#include <mobula/base.h>

struct window_class {
    uint32_t class;
    int64_t fastest_ms, used_ms;
};

struct window {
    uint32_t size;
    uint32_t pressure;         /* thousandths, at least 1000 */
    uint32_t credit, timed;    /* answers in the present round: all; those whose time counts */
    uint64_t ratios, least;    /* sum and minimum of the ratios to the fastest answer, thousandths */
    uint64_t changed, halved;  /* requests sent when the size changed, and when a 429 halved it: answers to older ones do not count */
    uint64_t mean;             /* mean of the last round's ratios */
    uint32_t before;           /* size outside the probe that is under way; 0: none is */
    int64_t heard_ms, calm_ms; /* last answer; last round with few waiting calls, or last probe */
    bool busy;                 /* in the present round at least half of the window was in use */
    bool gentle;               /* after a 429 the window grows only by one at a time */
    struct window_class classes[KUBE_WINDOW_CLASSES];
};

struct window_answer {
    uint32_t class; /* window_class(); 0: its time is not used */
    int64_t took_ms;
    uint64_t serial;       /* number of its request, in the order of sending */
    uint64_t sent;         /* number of the last request sent */
    uint32_t in_flight;    /* calls in flight before this answer */
    bool throttled, timed; /* a 429 of the server's flow control; took_ms is that of a 2xx */
};

/* Hash of a request's verb and resource. 0: a list (its time depends on the number of objects), or a path outside of the Kubernetes API. */
uint32_t window_class(struct slice method, struct slice path);
void window_init(struct window *w);
/* Returns whether the window was halved, or shrank by a quarter, because of this answer. */
bool window_answered(struct window *w, const struct window_answer *a, int64_t now_ms);
/* Call it when nothing is in flight. After KUBE_WINDOW_IDLE_MS without an answer the measured load is outdated and dropped. */
void window_rest(struct window *w, int64_t now_ms);
uint32_t window_waiting(const struct window *w); /* calls that only wait for each other */

#endif
