#include "token.h"

static void put_escape(struct buf *to, unsigned char c)
{
    static const char *const names[0x20] = {['\b'] = "\\b", ['\f'] = "\\f", ['\n'] = "\\n", ['\r'] = "\\r", ['\t'] = "\\t"};
    if (c == '"' || c == '\\')
        buf_put(to, (struct slice){(char[]){'\\', (char)c}, 2});
    else if (names[c])
        buf_put(to, slice_of(names[c]));
    else
        buf_printf(to, "\\u%04x", c);
}

static void put_quoted_bytes(struct buf *to, struct slice s)
{
    if (slice_empty(s))
        return; /* NULL + 0 is not C */
    const char *end = s.ptr + s.len;
    for (const char *p = s.ptr; p < end;) {
        const char *special = json_plain_end(p, end);
        buf_put(to, (struct slice){p, (size_t)(special - p)});
        if (special < end)
            put_escape(to, (unsigned char)*special++);
        p = special;
    }
}

static bool is_plain(struct slice s)
{
    return slice_empty(s) || (json_plain_end(s.ptr, s.ptr + s.len) == s.ptr + s.len && utf8_valid(s));
}

/* Text that needs no escape, as nearly all keys and values, is written in one piece. */
static bool quote_plain(struct slice s, struct buf *to)
{
    char *room = buf_room(to, s.len + 2);
    if (!room)
        return false;
    room[0] = room[s.len + 1] = '"';
    if (s.len)
        memcpy(room + 1, s.ptr, s.len);
    to->len += s.len + 2;
    return true;
}

bool json_quote(struct slice s, struct buf *to)
{
    if (is_plain(s))
        return quote_plain(s, to);
    buf_putc(to, '"');
    while (!utf8_valid(s)) {
        struct slice good = s;
        size_t len = 0;
        for (size_t step; (step = utf8_step(slice_skip(good, len))) != 0;)
            len += step;
        put_quoted_bytes(to, slice_head(s, len));
        buf_put(to, SLICE("\xef\xbf\xbd"));
        s = slice_skip(s, len + 1);
    }
    put_quoted_bytes(to, s);
    return buf_putc(to, '"');
}

void jout_init(struct jout *w, struct buf *to)
{
    *w = (struct jout){.to = to};
}

static uint64_t level(const struct jout *w)
{
    return (uint64_t)1 << (w->depth - 1);
}

/* The text before a value: a comma, or nothing where a key, the document or the container begins. */
static void before_value(struct jout *w)
{
    if (w->depth == 0)
        return;
    bool object = w->object & level(w);
    if (object != w->keyed)
        fatal(object ? "jout: a value without a key" : "jout: a key outside of an object");
    w->keyed = false;
    if (!object && (w->comma & level(w)))
        buf_putc(w->to, ',');
    w->comma |= level(w);
}

static void open_container(struct jout *w, bool object)
{
    before_value(w);
    if (w->depth == LIMIT_JSON_DEPTH)
        fatal("jout: nested deeper than %d (LIMIT_JSON_DEPTH)", LIMIT_JSON_DEPTH);
    w->depth++;
    w->comma &= ~level(w);
    w->object = object ? w->object | level(w) : w->object & ~level(w);
    buf_putc(w->to, object ? '{' : '[');
}

void jout_object(struct jout *w)
{
    open_container(w, true);
}

void jout_array(struct jout *w)
{
    open_container(w, false);
}

void jout_end(struct jout *w)
{
    if (w->depth == 0 || w->keyed)
        fatal(w->depth == 0 ? "jout: nothing to end" : "jout: a key without a value");
    buf_putc(w->to, w->object & level(w) ? '}' : ']');
    w->depth--;
}

void jout_key(struct jout *w, struct slice key)
{
    if (w->depth == 0 || !(w->object & level(w)) || w->keyed)
        fatal("jout: key \"%.*s\" where none may be", SLICE_ARG(key));
    if (w->comma & level(w))
        buf_putc(w->to, ',');
    json_quote(key, w->to);
    buf_putc(w->to, ':');
    w->keyed = true;
}

void jout_str(struct jout *w, struct slice s)
{
    before_value(w);
    json_quote(s, w->to);
}

void jout_int(struct jout *w, int64_t n)
{
    before_value(w);
    buf_printf(w->to, "%lld", (long long)n);
}

void jout_raw(struct jout *w, struct slice json)
{
    if (slice_empty(json))
        fatal("jout_raw: no bytes");
    before_value(w);
    buf_put(w->to, json);
}

void jout_val(struct jout *w, struct jval v)
{
    jout_raw(w, json_raw(v));
}

void jout_bool(struct jout *w, bool b)
{
    jout_raw(w, b ? SLICE("true") : SLICE("false"));
}

void jout_null(struct jout *w)
{
    jout_raw(w, SLICE("null"));
}

void jout_kstr(struct jout *w, const char *key, struct slice s)
{
    jout_key(w, slice_of(key));
    jout_str(w, s);
}

void jout_kint(struct jout *w, const char *key, int64_t n)
{
    jout_key(w, slice_of(key));
    jout_int(w, n);
}

void jout_kbool(struct jout *w, const char *key, bool b)
{
    jout_key(w, slice_of(key));
    jout_bool(w, b);
}

void jout_kraw(struct jout *w, const char *key, struct slice json)
{
    if (!json.ptr)
        return;
    jout_key(w, slice_of(key));
    jout_raw(w, json);
}

void jout_kval(struct jout *w, const char *key, struct jval v)
{
    jout_kraw(w, key, json_raw(v));
}

void jout_kobject(struct jout *w, const char *key)
{
    jout_key(w, slice_of(key));
    jout_object(w);
}

void jout_karray(struct jout *w, const char *key)
{
    jout_key(w, slice_of(key));
    jout_array(w);
}
