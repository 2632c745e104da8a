/* What a case file expects of a plan: its actions in order, one a line, and lines about its status among them. */
#ifndef MOBULA_TEST_PLAN_WORDS_H
#define MOBULA_TEST_PLAN_WORDS_H

#include <mobula/plan.h>

#include "words.h"

/* The status that the plan writes, for the object of this uid; not there: it writes none. */
static inline struct jval plan_status(const struct plan *p, struct slice uid, struct json *doc, struct arena *a)
{
    struct err e = {0};
    for (uint32_t i = 0; i < p->count; i++)
        if (p->actions[i].verb == &verb_status && CHECK(json_parse(doc, p->actions[i].text, a, &e))) {
            CHECK(json_str_eq(json_get(json_root(doc), "metadata.uid"), uid));
            return json_get(json_root(doc), "status");
        }
    return (struct jval){.at = -1};
}

/* has JSON: the status patch covers it; null PATH: it deletes that; absent PATH; condition JSON; note TEXT: an event begins so; again MS.
 * taken: the line is one of these. */
static inline bool plan_line(struct slice line, const struct plan *p, struct jval status, struct arena *a, bool *taken)
{
    struct slice rest = line, word = slice_cut(&rest, ' ');
    struct json want;
    struct err e = {0};
    struct jval k, c;
    int64_t ms = 0;
    *taken = true;
    if (slice_eq(word, SLICE("has")))
        return json_parse(&want, rest, a, &e) && json_there(status) && json_covers(status, json_root(&want));
    if (slice_eq(word, SLICE("null")))
        return json_type(json_get(status, arena_dup(a, rest).ptr)) == JSON_NULL;
    if (slice_eq(word, SLICE("absent")))
        return json_there(status) && !json_there(json_get(status, arena_dup(a, rest).ptr));
    if (slice_eq(word, SLICE("again")))
        return slice_int(rest, &ms) && p->next_ms == NOW_MS + ms;
    if (slice_eq(word, SLICE("note")))
        for (uint32_t i = 0; i < p->count; i++)
            if (p->actions[i].verb == &verb_event && slice_starts(p->actions[i].text, rest))
                return true;
    if (slice_eq(word, SLICE("condition")) && json_parse(&want, rest, a, &e))
        for (struct jiter it = json_iter(json_get(status, "conditions")); json_next(&it, &k, &c);)
            if (json_covers(c, json_root(&want)))
                return true;
    *taken = slice_eq(word, SLICE("note")) || slice_eq(word, SLICE("condition"));
    return false;
}

/* text: all lines; put writes an action as its line. */
static inline void plan_compare(struct slice text, const struct plan *p, struct slice uid,
                                void (*put)(struct buf *b, const struct action *act), struct arena *a)
{
    struct json doc;
    struct buf got, want;
    struct jval status = plan_status(p, uid, &doc, a);
    buf_init(&got, MIB);
    buf_init(&want, MIB);
    for (uint32_t i = 0; i < p->count; i++)
        put(&got, &p->actions[i]);
    for (text = slice_trim(text); text.ptr;) {
        struct slice line = slice_cut(&text, '\n');
        bool taken;
        bool ok = plan_line(line, p, status, a, &taken);
        if (!taken)
            buf_printf(&want, "%.*s\n", SLICE_ARG(line));
        else if (!CHECK(ok))
            printf("  line: %.*s\n  again: %lld\n  status: %.*s\n", SLICE_ARG(line), (long long)(p->next_ms - NOW_MS),
                   SLICE_ARG(json_there(status) ? json_raw(status) : SLICE("none")));
    }
    CHECK_SLICE(slice_trim(buf_slice(&got)), slice_trim(buf_slice(&want)));
    buf_free(&got);
    buf_free(&want);
}

#endif
