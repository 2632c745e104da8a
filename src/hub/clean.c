/* Cleans text of operators, heads and pods before it is stored: control characters become spaces, and lengths are bounded. The text is
 * shown in terminals and web pages later. */
#include "private.h"

/* In a message, the end of a job's log follows this line; its line breaks are kept. */
static const char log_mark[] = "log:\n";

/* Copies a log with its line breaks and tabs. Other control characters become spaces, and bytes that are not UTF-8 become "?". */
static struct slice clean_log(struct slice text, struct arena *a)
{
    char *out = arena_alloc(a, text.len + 1);
    size_t n = 0;
    while (!slice_empty(text)) {
        size_t step = utf8_step(text), take = step ? step : 1;
        bool line = text.ptr[0] == '\n' || text.ptr[0] == '\t';
        if (line || (step && !utf8_control(slice_head(text, step)))) {
            memcpy(out + n, text.ptr, take);
            n += take;
        } else {
            out[n++] = step ? ' ' : '?';
        }
        text = slice_skip(text, take);
    }
    return (struct slice){out, n};
}

struct slice clean_message(struct slice text, struct arena *a)
{
    ptrdiff_t at = slice_find_text(text, "\nlog:\n"), log = slice_starts(text, slice_of(log_mark)) ? 0 : at < 0 ? -1 : at + 1;
    struct slice words = arena_clean(a, log < 0 ? text : slice_head(text, (size_t)log), LIMIT_HUB_MESSAGE);
    if (log < 0)
        return words;
    struct slice kept = clean_log(slice_skip(text, (size_t)log + sizeof log_mark - 1), a);
    return arena_printf(a, "%.*s%s%s%.*s", SLICE_ARG(words), slice_empty(words) ? "" : "\n", log_mark, SLICE_ARG(kept));
}

static void put_value(struct jout *w, struct jval v, struct arena *a)
{
    struct jval k, one;
    bool object = json_type(v) == JSON_OBJECT;
    if (json_type(v) == JSON_STRING) {
        struct slice text = json_str(v, a);
        jout_str(w, arena_clean(a, text, text.len));
        return;
    }
    if (!object && json_type(v) != JSON_ARRAY) {
        jout_val(w, v);
        return;
    }
    if (object)
        jout_object(w);
    else
        jout_array(w);
    for (struct jiter it = json_iter(v); json_next(&it, &k, &one);) {
        struct slice key = object ? json_str(k, a) : SLICE("");
        if (object)
            jout_key(w, arena_clean(a, key, key.len));
        put_value(w, one, a);
    }
    jout_end(w);
}

/* False: there may be a control character in it. C0 needs a backslash in JSON; DEL and C1 (0xc2 in UTF-8) do not. */
static bool is_clean(struct slice json)
{
    return slice_find(json, '\\') < 0 && slice_find(json, 0x7f) < 0 && slice_find(json, (char)0xc2) < 0;
}

struct slice clean_json(struct jval v, struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf b = {.max = LIMIT_HUB_BODY};
    struct jout w;
    struct slice raw = json_raw(v);
    if (is_clean(raw))
        return raw;
    jout_init(&w, &b);
    put_value(&w, v, a);
    return b.full ? SLICE("[]") : arena_dup(a, buf_slice(&b));
}

bool clean_url(struct slice url)
{
    bool web = slice_starts(url, SLICE("http://")) || slice_starts(url, SLICE("https://"));
    for (size_t i = 0; i < url.len; i++)
        web &= url.ptr[i] > ' ' && url.ptr[i] < 0x7f;
    return web && url.len <= LIMIT_HTTP_URL;
}

void put_time(struct jout *w, const char *key, struct jval v, struct arena *a)
{
    int64_t us;
    struct slice text = json_str(v, a);
    if (text.ptr && time_parse(text, &us, NULL))
        jout_kstr(w, key, text);
}
