#include "private.h"

#include <mobula/kind_versioned.h>
#include <mobula/versioned.h>

struct words {
    struct jval object, status, rollout;
    struct arena *a;
    struct buf *out;
    int64_t now_us;
};

static struct slice text(const struct words *w, struct jval of, const char *path)
{
    return arena_clean(w->a, json_get_str(of, path, w->a), LIMIT_JOB_MESSAGE);
}

/* "5 min ago" behind a word, of a time in status.rollout. */
static void put_time(const struct words *w, const char *word, const char *key)
{
    int64_t us = 0;
    if (time_parse(json_get_str(w->rollout, key, w->a), &us, NULL))
        buf_printf(w->out, ", %s %s ago", word, explain_age(w->now_us, us, w->a));
}

static void put_version(const struct words *w, struct jval v)
{
    struct slice name = text(w, v, "name"), why = text(w, v, "message"), child = text(w, v, "rayService");
    long long weight = json_get_int(v, "weight", 0), goal = json_get_int(v, "targetWeight", 0), share = json_get_int(v, "share", 0),
              capacity = json_get_int(v, "capacity", 100);
    bool primary = slice_eq(name, text(w, w->status, "primaryVersion")), canary = slice_eq(name, text(w, w->status, "canaryVersion"));
    buf_printf(w->out, "  %.*s%s: %.*s, weight %lld", SLICE_ARG(name),
               primary  ? " (primary)"
               : canary ? " (canary)"
                        : "",
               SLICE_ARG(text(w, v, "state")), weight);
    if (goal != weight)
        buf_printf(w->out, ", is to get %lld", goal);
    if (share != weight)
        buf_printf(w->out, "; gets %lld of them now, because it does not serve and another version does", share);
    if (capacity < 100)
        buf_printf(w->out, ", capacity %lld %%", capacity);
    buf_printf(w->out, ", RayService %.*s%s%.*s\n", SLICE_ARG(child), why.len ? ": " : "", SLICE_ARG(why));
}

static void put_condition(const struct words *w, const char *type, const char *word, const char *before)
{
    struct jval c = status_condition(w->status, slice_of(type));
    struct slice message = text(w, c, "message");
    if (json_is(json_get(c, "status"), word) && message.len)
        buf_printf(w->out, "  %s%.*s\n", before, SLICE_ARG(message));
}

static void put_next(const struct words *w)
{
    struct slice phase = text(w, w->rollout, "phase");
    bool progressing = slice_is(phase, "Progressing");
    buf_put(w->out, SLICE("rollout:\n"));
    buf_printf(w->out, "  %.*s", SLICE_ARG(phase));
    put_time(w, "begun", "startTime");
    put_time(w, "last step", "stepTime");
    put_time(w, "ended", "endTime");
    buf_put(w->out, SLICE("\n"));
    put_condition(w, "Valid", "False", "the spec is not carried out, and all goes on as before: ");
    put_condition(w, "Progressing", "True", "it waits: ");
    put_condition(w, "Progressing", "False", "");
    put_condition(w, "RoutesReady", "False", "route: ");
    put_condition(w, "RoutesReady", "True", "route: ");
    if (progressing && json_len(json_get(w->rollout, "previous")))
        buf_put(w->out, SLICE("  `mobula service rollback` gives all requests back to the versions before\n"));
}

static void put_all(const struct words *w)
{
    struct jval k, v;
    struct slice state = text(w, w->status, "state");
    buf_printf(w->out, VERSIONED_KIND " %.*s/%.*s: %.*s\n", SLICE_ARG(text(w, w->object, "metadata.namespace")),
               SLICE_ARG(text(w, w->object, "metadata.name")), SLICE_ARG(state));
    const char *const lacks[] = {VERSIONED_KIND "s", kind_versioned.optional.flag};
    explain_put_operator(w->object, false, lacks, w->a, w->out);
    if (!json_there(w->rollout))
        return;
    buf_put(w->out, SLICE("versions (requests with header " VERSION_HEADER ": NAME get that one):\n"));
    for (struct jiter it = json_iter(json_get(w->status, "versions")); json_next(&it, &k, &v);)
        put_version(w, v);
    put_next(w);
}

void explain_versioned_words(struct jval object, int64_t now_us, struct arena *a, struct buf *out)
{
    struct jval status = json_get(object, "status");
    put_all(&(struct words){object, status, json_get(status, "rollout"), a, out, now_us});
}

bool explain_versioned_named(struct seek *s, struct slice name, struct buf *out, struct err *e)
{
    struct jval object;
    if (!explain_find_object(s, &kind_versioned, name, &object, e))
        return false;
    explain_versioned_words(object, clock_now().wall_us, s->a, out);
    return true;
}
