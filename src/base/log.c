#include <mobula/base.h>

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

struct log log_global = {.level = LOG_INFO, .fd = 1};

enum {
    LINE_MAX = 4 * KIB,        /* with its newline: a write of this size to a pipe is not mixed with others' */
    LINE_BODY = LINE_MAX - 32, /* the rest is kept for what closes a line that was cut */
};

/* A line while it is written. Text goes in as whole units (a character, an escape) until one does not fit; from then on `cut` keeps
 * everything out but what line_close puts into the tail. */
struct line {
    char text[LINE_MAX];
    size_t len;
    bool cut;
};

static void put(struct line *l, struct slice unit)
{
    if (l->cut || l->len + unit.len > LINE_BODY) {
        l->cut = true;
        return;
    }
    memcpy(l->text + l->len, unit.ptr, unit.len);
    l->len += unit.len;
}

static void put_tail(struct line *l, struct slice s)
{
    if (s.len)
        memcpy(l->text + l->len, s.ptr, s.len);
    l->len += s.len;
}

/* One unit of foreign text, escaped as JSON does it; a byte that is not UTF-8 becomes \xNN, which JSON has not: there it is U+FFFD. */
static void put_escaped(struct line *l, struct slice unit, bool valid, bool quoted, bool json)
{
    char escape[8];
    unsigned char last = (unsigned char)unit.ptr[unit.len - 1];
    if (!valid && json)
        put(l, SLICE("\xef\xbf\xbd"));
    else if (!valid)
        put(l, (struct slice){escape, (size_t)snprintf(escape, sizeof escape, "\\x%02x", last)});
    else if (quoted && (last == '"' || last == '\\'))
        put(l, (struct slice){(char[]){'\\', (char)last}, 2});
    else if (last == '\n')
        put(l, SLICE("\\n"));
    else if (last == '\t')
        put(l, SLICE("\\t"));
    else if (utf8_control(unit))
        put(l, (struct slice){escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", last)});
    else
        put(l, unit);
}

static void put_text(struct line *l, struct slice s, bool quoted, bool json)
{
    while (!slice_empty(s) && !l->cut) {
        size_t step = utf8_step(s);
        put_escaped(l, slice_head(s, step ? step : 1), step != 0, quoted, json);
        s = slice_skip(s, step ? step : 1);
    }
}

static bool needs_quotes(struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] <= ' ' || (unsigned char)s.ptr[i] >= 0x7f || strchr("=\"\\", s.ptr[i]))
            return true;
    return slice_empty(s);
}

static void put_key(struct line *l, const char *key)
{
    if (log_global.json) {
        put(l, l->len == 0 ? SLICE("{\"") : SLICE(",\""));
        put(l, slice_of(key));
        put(l, SLICE("\":"));
    } else {
        put(l, l->len == 0 ? SLICE("") : SLICE(" "));
        put(l, slice_of(key));
        put(l, SLICE("="));
    }
}

/* text: it is quoted when it needs to be. */
static void put_field(struct line *l, const char *key, struct slice value, bool text)
{
    /* No line ends in a key, in a quote that was just opened, or in half a number. */
    if (l->len + strlen(key) + sizeof ",\"\":\"" + (text ? 0 : value.len) > LINE_BODY)
        l->cut = true;
    if (l->cut)
        return;
    bool quoted = text && (log_global.json || needs_quotes(value));
    put_key(l, key);
    put(l, quoted ? SLICE("\"") : SLICE(""));
    put_text(l, value, quoted, log_global.json);
    if (quoted)
        put_tail(l, SLICE("\""));
}

static void emit(struct line *l)
{
    if (log_global.sink)
        log_global.sink(log_global.owner, (struct slice){l->text, l->len});
    if (log_global.fd < 0)
        return;
    put_tail(l, SLICE("\n"));
    ssize_t n;
    do
        n = write(log_global.fd, l->text, l->len);
    while (n < 0 && errno == EINTR); /* any other failure has nobody left to be told */
}

void log_line(enum log_level level, const char *room, const char *msg, ...)
{
    static const char *const levels[] = {"debug", "info", "warn", "error"};
    char when[TIME_TEXT_MAX], number[24];
    if (level < log_global.level)
        return;
    int64_t wall_us = log_global.wall_us ? log_global.wall_us() : clock_now().wall_us;
    struct line l;
    l.len = 0;
    l.cut = false;
    put_field(&l, "ts", time_format_micro(wall_us, when), true);
    put_field(&l, "level", slice_of(levels[level]), true);
    put_field(&l, "room", slice_of(room), true);
    put_field(&l, "msg", slice_of(msg), true);
    va_list ap;
    va_start(ap, msg);
    for (int field; (field = va_arg(ap, int)) != LOG_FIELD_NONE;) {
        const char *key = va_arg(ap, const char *);
        if (field == LOG_FIELD_TEXT)
            put_field(&l, key, va_arg(ap, struct slice), true);
        else if (field == LOG_FIELD_CSTR)
            put_field(&l, key, slice_of(va_arg(ap, const char *)), true);
        else if (field == LOG_FIELD_BOOL)
            put_field(&l, key, va_arg(ap, int) ? SLICE("true") : SLICE("false"), false);
        else {
            int n = snprintf(number, sizeof number, "%lld", (long long)va_arg(ap, int64_t));
            put_field(&l, key, (struct slice){number, (size_t)n}, false);
        }
    }
    va_end(ap);
    if (l.cut)
        put_tail(&l, log_global.json ? SLICE(",\"cut\":true") : SLICE(" cut=true"));
    if (log_global.json)
        put_tail(&l, SLICE("}"));
    emit(&l);
}

void log_raw(struct slice line)
{
    struct line l;
    l.len = 0;
    l.cut = false;
    while (line.ptr) { /* tabs stay: those who read these lines split at them */
        put_text(&l, slice_cut(&line, '\t'), false, false);
        if (line.ptr)
            put(&l, SLICE("\t"));
    }
    emit(&l);
}

enum { EVERY_MS = 60 * 1000 };

bool log_limit_pass(struct log_limit *l, struct now now)
{
    if (now.mono_ms < l->next_ms) {
        l->held += l->held < UINT32_MAX;
        return false;
    }
    l->next_ms = now.mono_ms + EVERY_MS;
    l->held = 0;
    return true;
}

bool log_memory_pass(struct log_memory *m, uint64_t what, struct now now)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < LIMIT_LOG_SAID; i++) {
        if (m->said[i].what == what && now.mono_ms < m->said[i].next_ms)
            return false;
        at = m->said[i].next_ms < m->said[at].next_ms ? i : at;
    }
    if (now.mono_ms < m->said[at].next_ms) {
        m->held += m->held < UINT32_MAX;
        return false;
    }
    m->held = 0;
    m->said[at].what = what;
    m->said[at].next_ms = now.mono_ms + EVERY_MS;
    return true;
}
