#include "private.h"

#include <mobula/release.h>

/* ---- reading ---- */

bool explain_find(struct seek *s, struct slice path, struct jval *out, struct slice *silence, int *code)
{
    struct ask_answer answer;
    char words[ASK_WORDS];
    struct err e = {0};
    *out = NO_VALUE;
    bool heard = ask_get(&s->ask, path, NULL, s->a, &answer, &e);
    *code = heard ? answer.code : 0;
    if (heard && answer.code == 200 && json_read(out, answer.body, s->a, &e))
        return true;
    *silence = arena_dup(s->a, slice_of(heard && answer.code != 200 ? ask_words(&answer, words) : e.text));
    return false;
}

bool explain_find_object(struct seek *s, const struct kind *kind, struct slice name, struct jval *out, struct err *e)
{
    int code;
    struct slice why;
    if (explain_find(s, seek_path(s, kind->resource, name, SLICE_NONE), out, &why, &code))
        return true;
    if (code != 404)
        return err_set(e, ERR_STATUS, "%s %.*s cannot be read: %.*s", kind->name, SLICE_ARG(name), SLICE_ARG(why));
    return err_set(e, ERR_STATUS, "there is no %s %.*s in namespace %.*s (kubectl get %s -A lists them)", kind->name, SLICE_ARG(name),
                   SLICE_ARG(s->ns), kind->plural);
}

/* If the right to read bindings is missing, nothing is reported: an operator may exist. */
bool explain_unwatched(struct seek *s, struct jval object)
{
    bool legacy = slice_starts(json_get_str(object, "apiVersion", s->a), SLICE("cluster."));
    struct watcher w;
    struct err ignored = {0};
    bool asked = inventory_watcher(&s->ask, s->ns, SLICE_NONE, false, legacy ? SLICE("legacy") : SLICE("ray.io"), s->a, &w, &ignored);
    return asked && w.known && slice_empty(w.installation);
}

/* ---- lines ---- */

const char *explain_age(int64_t now_us, int64_t then_us, struct arena *a)
{
    char text[TIME_TEXT_MAX];
    int64_t s = (now_us - then_us) / 1000000;
    return arena_dup(a, time_format_age(s > 0 ? s : 0, text)).ptr;
}

void explain_put_operator(struct jval object, bool unwatched, const char *const lacks[2], struct arena *a, struct buf *out)
{
    int64_t seen = json_get_int(object, "status.observedGeneration", -1), now = json_get_int(object, "metadata.generation", 0);
    struct slice ns = json_get_str(object, "metadata.namespace", a), manager = json_get_str(object, "spec.managedBy", a);
    if (unwatched)
        buf_printf(out,
                   "  no operator watches namespace %.*s: no installation has it among its namespaces, so unless one runs outside of an "
                   "installation, what follows is as the last one left it (mobula install --apply --namespace %.*s, or mobula upgrade with "
                   "--watch-namespace)\n",
                   SLICE_ARG(ns), SLICE_ARG(ns));
    if (ray_managed_elsewhere(manager))
        buf_printf(out, "  spec.managedBy leaves it to another controller, %.*s: the operator does nothing about it\n", SLICE_ARG(manager));
    else if (seen < 0 && lacks)
        buf_printf(out,
                   "  no operator has looked at it: none runs, none watches this namespace, or it runs without %s (mobula install --%s)\n",
                   lacks[0], lacks[1]);
    else if (seen < 0)
        buf_put(out, SLICE("  no operator has looked at it: none runs, or none that watches this namespace (mobula install, mobula "
                           "operator --namespace)\n"));
    else if (seen < now)
        buf_printf(
            out,
            "  the operator has seen generation %lld of the spec, not yet %lld: what follows is of the older one. If it stays so, no "
            "operator runs\n",
            (long long)seen, (long long)now);
    if (json_there(json_get(object, "metadata.deletionTimestamp")))
        buf_put(out, SLICE("  it is being deleted\n"));
}
