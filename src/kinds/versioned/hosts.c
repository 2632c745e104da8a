/* Finds out whether a route has hosts for which another service would get requests, too. */
#include "versioned.h"

#include <limits.h>

static struct slice parent_of(struct slice host)
{
    ptrdiff_t dot = slice_find(host, '.');
    return dot < 0 ? SLICE("") : slice_skip(host, (size_t)dot + 1);
}

/* Whether the text has a quoted name that ends with `end`, a dot and a domain; one_label: with one label before it. */
static bool has_name_below(struct slice text, struct slice end, bool one_label)
{
    for (ptrdiff_t at; (at = slice_find_text(text, end.ptr)) >= 0; text = slice_skip(text, (size_t)at + end.len)) {
        ptrdiff_t first = at;
        while (first > 0 && text.ptr[first - 1] != '"' && !(one_label && text.ptr[first - 1] == '.'))
            first--;
        if (first > 0 && text.ptr[first - 1] == '"')
            return true;
    }
    return false;
}

bool versioned_hosts_meet(struct slice text, struct slice host, bool one_label, struct arena *a)
{
    bool any = slice_starts(host, SLICE("*."));
    struct slice domain = parent_of(host);
    ptrdiff_t spec = slice_find_text(text, "},\"spec\":"); /* a quote inside a string has a backslash, so that no annotation holds this */
    text = slice_skip(text, spec < 0 ? 0 : (size_t)spec);
    if (any && has_name_below(text, arena_printf(a, ".%.*s\"", SLICE_ARG(domain)), one_label))
        return true;
    if (!any && slice_find_text(text, arena_printf(a, "\"%.*s\"", SLICE_ARG(host)).ptr) >= 0)
        return true;
    int levels = !one_label ? INT_MAX : any ? 0 : 1;
    for (domain = any ? parent_of(domain) : domain; !slice_empty(domain) && levels; domain = parent_of(domain), levels--)
        if (slice_find_text(text, arena_printf(a, "\"*.%.*s\"", SLICE_ARG(domain)).ptr) >= 0)
            return true;
    return false;
}
