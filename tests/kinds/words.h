/* What the case files of decisions have in common: their time and their words. */
#ifndef MOBULA_TEST_WORDS_H
#define MOBULA_TEST_WORDS_H

#include <mobula/raycluster.h>

#include "cases.h"

enum { NOW_MS = 1000000 };
static const int64_t now_us = 1800000000000000;

static const char container[] = "{\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"ray:1\"}]}}";

static inline struct slice word_value(struct slice word, const char *name)
{
    struct slice key = slice_of(name);
    return slice_starts(word, key) && word.len > key.len && word.ptr[key.len] == '=' ? slice_skip(word, key.len + 1) : SLICE_NONE;
}

static inline void take_int(struct slice word, const char *name, int32_t *to)
{
    int64_t n;
    if (slice_int(word_value(word, name), &n))
        *to = (int32_t)n;
}

static inline void set_state(struct pod *p, struct slice word)
{
    if (slice_eq(word, SLICE("ready"))) {
        p->phase = POD_RUNNING;
        p->ready = true;
    } else if (slice_eq(word, SLICE("running")) || slice_eq(word, SLICE("ended"))) {
        p->phase = POD_RUNNING;
        p->ended = slice_eq(word, SLICE("ended"));
    } else if (slice_eq(word, SLICE("failed"))) {
        p->phase = POD_FAILED;
    } else if (slice_eq(word, SLICE("succeeded"))) {
        p->phase = POD_SUCCEEDED;
    } else if (slice_eq(word, SLICE("deleting"))) {
        p->phase = POD_RUNNING;
        p->deleting = true;
    }
}

#endif
