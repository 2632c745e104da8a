/* Shows each part of a log once, although each reading starts at its beginning. */
#include <mobula/logs.h>

void logs_view_begin(struct logs_view *v, bool json)
{
    v->json = json;
    v->seen = 0;
    v->malformed = false;
    v->text = (struct ray_log_text){0};
}

static void keep_last(struct logs_view *v, struct slice text)
{
    size_t room = text.len < LOGS_LAST ? LOGS_LAST - text.len : 0, kept = v->last_len < room ? v->last_len : room;
    size_t added = text.len < LOGS_LAST ? text.len : LOGS_LAST;
    memmove(v->last, v->last + v->last_len - kept, kept);
    if (added)
        memcpy(v->last + kept, text.ptr + text.len - added, added);
    v->last_len = kept + added;
}

static void show(struct logs_view *v, struct slice text)
{
    uint64_t known = v->shown > v->seen ? v->shown - v->seen : 0;
    v->seen += text.len;
    if (v->deaf || known >= text.len)
        return;
    text = slice_skip(text, (size_t)known);
    v->deaf = !v->sink->text(v->sink->owner, text);
    if (v->deaf)
        return;
    v->shown = v->seen;
    keep_last(v, text);
}

void logs_view_add(struct logs_view *v, struct slice piece)
{
    char out[RAY_LOG_TEXT];
    size_t n;
    if (!v->json) {
        show(v, piece);
        return;
    }
    while (!v->malformed && !slice_empty(piece)) {
        v->malformed = !ray_log_text_read(&v->text, &piece, out, &n);
        show(v, (struct slice){out, n});
    }
}

bool logs_view_end(struct logs_view *v)
{
    if (v->seen < v->shown)
        v->shown = v->seen; /* it has become shorter: what is new is shown from here on */
    return !v->json || (!v->malformed && ray_log_text_whole(&v->text));
}

bool logs_view_rest(struct logs_view *v, struct slice kept)
{
    struct slice last = {v->last, v->last_len}, rest = SLICE_NONE;
    if (v->deaf)
        return true;
    while (slice_ends(last, SLICE("\n")))
        last.len--; /* the kept text has none at its end */
    size_t lines = v->last_len - last.len;
    for (size_t at = 0; !slice_empty(last) && at + last.len <= kept.len; at++)
        if (memcmp(kept.ptr + at, last.ptr, last.len) == 0)
            rest = slice_skip(kept, at + last.len);
    if (!rest.ptr)
        return false;
    for (; lines > 0 && slice_starts(rest, SLICE("\n")); lines--)
        rest = slice_skip(rest, 1);
    if (!slice_empty(rest))
        v->deaf |= !v->sink->text(v->sink->owner, rest) || !v->sink->text(v->sink->owner, SLICE("\n"));
    return true;
}
