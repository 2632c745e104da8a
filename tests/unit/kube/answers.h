/* Collects what calls were answered with. */
#ifndef MOBULA_TEST_ANSWERS_H
#define MOBULA_TEST_ANSWERS_H

#include "fakenet.h"

struct answers {
    uint32_t count, ok, refused, unsent, unknown;
    struct kube_answer last; /* without its body */
    char body[256];
    uint64_t tag;
};

static void on_answer(void *owner, uint64_t tag, const struct kube_answer *answer, struct now now)
{
    struct answers *a = owner;
    (void)now;
    a->count++;
    a->ok += answer->outcome == KUBE_OK;
    a->refused += answer->outcome == KUBE_REFUSED;
    a->unsent += answer->outcome == KUBE_UNSENT;
    a->unknown += answer->outcome == KUBE_UNKNOWN;
    a->last = *answer;
    a->tag = tag;
    snprintf(a->body, sizeof a->body, "%.*s", SLICE_ARG(answer->body));
}

static bool call_before(struct fake *f, struct answers *a, enum kube_lane lane, const char *method, const char *body, bool again,
                        int64_t begin_ms)
{
    struct err e = {0};
    struct kube_request r = {
        .lane = lane,
        .begin_ms = begin_ms,
        .method = slice_of(method),
        .path = SLICE("/api/v1/namespaces/a/pods"),
        .content_type = body ? SLICE(KUBE_TYPE_JSON) : SLICE_NONE,
        .body = slice_of(body),
        .again = again,
        .done = on_answer,
        .owner = a,
        .tag = 77,
    };
    return kube_call(f->client, &r, f->now, &e);
}

static bool call_on(struct fake *f, struct answers *a, enum kube_lane lane, const char *method, const char *body, bool again)
{
    return call_before(f, a, lane, method, body, again, 0);
}

__attribute__((unused)) static bool get(struct fake *f, struct answers *a)
{
    return call_on(f, a, KUBE_LANE_MAIN, "GET", NULL, true);
}

__attribute__((unused)) static bool post(struct fake *f, struct answers *a)
{
    return call_on(f, a, KUBE_LANE_MAIN, "POST", "{}", false);
}

/* Log lines, for what must be said once. */
struct lines {
    uint32_t count;
    char last[1024];
    const char *about; /* only lines that hold this */
};

__attribute__((unused)) static void on_line(void *owner, struct slice line)
{
    struct lines *l = owner;
    if (l->about && !memmem(line.ptr, line.len, l->about, strlen(l->about)))
        return;
    l->count++;
    snprintf(l->last, sizeof l->last, "%.*s", SLICE_ARG(line));
}

__attribute__((unused)) static void log_into(struct lines *l, const char *about)
{
    *l = (struct lines){.about = about};
    log_global = (struct log){.level = LOG_DEBUG, .fd = -1, .sink = on_line, .owner = l};
}

__attribute__((unused)) static void log_quiet(void)
{
    log_global = (struct log){.level = LOG_ERROR, .fd = -1};
}

#endif
