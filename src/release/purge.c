/* `mobula uninstall --purge`: deletes the work of an operator or control plane within the timeout, and removes its finalizers where needed.
 */
#include <mobula/hub.h>
#include <mobula/kinds.h>
#include <mobula/release.h>

#include <stdio.h>

enum { STRIP_TRIES = 5 };

bool purge_strips(struct slice finalizer)
{
    return slice_is(finalizer, HUB_FINALIZER) || ray_removes_finalizer(finalizer);
}

/* Writes a patch that removes our finalizers and keeps the others. *gone: one of ours; empty: the object has none of them. */
static void put_others(struct jval there, struct arena *a, struct buf *out, struct slice *gone)
{
    struct jval key, one;
    const char *comma = "";
    struct slice version = json_get_str(there, "metadata.resourceVersion", a);
    *gone = SLICE_NONE;
    buf_printf(out, "{\"metadata\":{\"resourceVersion\":\"%.*s\",\"finalizers\":[", SLICE_ARG(version));
    for (struct jiter it = json_iter(json_get(there, "metadata.finalizers")); json_next(&it, &key, &one);) {
        struct slice name = json_str(one, a);
        if (purge_strips(name)) {
            *gone = name;
            continue;
        }
        buf_printf(out, "%s%.*s", comma, SLICE_ARG(json_raw(one)));
        comma = ",";
    }
    buf_put(out, SLICE("]}}"));
}

/* Removes our finalizers from an object once. *again: 409, another client has written the object in the meantime. */
static bool strip_once(struct apply *p, const struct apply_object *o, bool *again, struct err *e)
{
    struct ask_answer answer = {0};
    struct jval there;
    struct slice gone;
    bool absent;
    char words[ASK_WORDS];
    __attribute__((cleanup(buf_free))) struct buf body;
    buf_init(&body, LIMIT_JSON_ITEM);
    *again = false;
    if (!apply_live(p, o, &there, &absent, e))
        return false;
    if (absent)
        return true;
    put_others(there, p->a, &body, &gone);
    if (slice_empty(gone))
        return true;
    if (!ask_merge(p->ask, o->path, buf_slice(&body), p->a, &answer, e))
        return false;
    *again = answer.code == 409;
    if (answer.code >= 300 && answer.code != 404 && !*again)
        return err_set(e, ERR_STATUS, "%.*s %.*s: finalizer %.*s: %s", SLICE_ARG(o->kind), SLICE_ARG(o->name), SLICE_ARG(gone),
                       ask_words(&answer, words));
    if (!*again && p->say)
        p->say(arena_printf(p->a, "%.*s/%.*s in %.*s finalizer %.*s taken off: nothing else does so", SLICE_ARG(o->kind),
                            SLICE_ARG(o->name), SLICE_ARG(o->ns), SLICE_ARG(gone)));
    return true;
}

/* Removes our finalizers from an object, in up to STRIP_TRIES attempts. */
static bool strip(struct apply *p, const struct apply_object *o, struct err *e)
{
    bool again = true;
    for (int try = 0; again && try < STRIP_TRIES; try++)
        if (!strip_once(p, o, &again, e))
            return false;
    return !again || err_set(e, ERR_STATUS, "%.*s %.*s: its finalizers change again and again", SLICE_ARG(o->kind), SLICE_ARG(o->name));
}

static bool delete_batch(struct apply *p, bool runs, int64_t until_ms, struct err *e)
{
    int64_t now = clock_now().mono_ms, soon = runs ? now + PURGE_FINALIZERS_MS : now;
    struct err late = {0};
    if (runs && soon > now + (until_ms - now) / 2)
        soon = now + (until_ms - now) / 2;
    if (apply_purge(p, soon, &late))
        return true;
    if (late.code != ERR_TIMEOUT || p->ask->signal)
        return err_set(e, late.code, "%s", late.text);
    for (uint32_t i = 0; i < p->count; i++)
        if (!strip(p, &p->list[i], e))
            return false;
    return apply_purge(p, until_ms, e);
}

/* In batches of APPLY_OBJECTS_MAX objects. */
static bool purge_kind(struct apply *p, struct slice api_version, const char *kind, struct slice ns, bool runs, int64_t until_ms,
                       struct err *e)
{
    do {
        p->count = 0;
        if (!apply_find(p, api_version, kind, ns, NULL, NULL, e) || !delete_batch(p, runs, until_ms, e))
            return false;
    } while (p->count == APPLY_OBJECTS_MAX);
    return true;
}

/* Page by page: p->next is set. */
static bool release_kind(struct apply *p, struct slice api_version, const char *kind, struct slice ns, struct err *e)
{
    do {
        p->count = 0;
        if (!apply_find(p, api_version, kind, ns, NULL, NULL, e))
            return false;
        for (uint32_t i = 0; i < p->count; i++)
            if (!strip(p, &p->list[i], e))
                return false;
    } while (!slice_empty(*p->next));
    return true;
}

bool purge_release(struct apply *p, bool plane, struct slice ns, struct err *e)
{
    struct slice next = SLICE_NONE;
    struct apply found = {.ask = p->ask, .say = p->say, .a = p->a};
    if (!apply_read(&found, SLICE_NONE, e))
        return false;
    found.next = &next;
    if (plane)
        return release_kind(&found, SLICE("mobula.dev/v1"), "Workload", ns, e);
    for (uint32_t i = 0; kinds[i]; i++)
        if (kinds[i]->check && kinds[i]->finalizer && !release_kind(&found, kinds[i]->api_version, kinds[i]->name, ns, e))
            return false;
    return true;
}

bool purge_namespace(struct apply *p, const struct inventory *now, bool plane, bool runs, struct slice ns, int64_t until_ms, struct err *e)
{
    static const char *const of_plane[] = {"Workload", "Cloud", "ComputeConfig"};
    struct slice next = SLICE_NONE;
    struct apply found = {.ask = p->ask, .say = p->say, .a = p->a};
    if (!apply_read(&found, SLICE_NONE, e))
        return false;
    found.next = &next;
    for (size_t i = 0; plane && i < COUNT_OF(of_plane); i++)
        if (!purge_kind(&found, SLICE("mobula.dev/v1"), of_plane[i], ns, runs, until_ms, e))
            return err_wrap(e, "--purge");
    uint32_t count = 0;
    while (!plane && kinds[count])
        count++;
    for (uint32_t i = count; i-- > 0;) { /* owners first: they would create their children again */
        found.may_lack_right = !inventory_reconciles(now, kinds[i], p->a);
        if (kinds[i]->check && !purge_kind(&found, kinds[i]->api_version, kinds[i]->name, ns, runs, until_ms, e))
            return err_wrap(e, "--purge");
    }
    return true;
}
