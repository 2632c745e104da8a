#include "scalar.h"

#include <mobula/json.h>

enum {
    INDENT = 2,
    KEY_MAX = 1000, /* a longer key would need another syntax: readers look no further for its colon than 1024 characters */
};

struct writer {
    struct buf *out;
    struct arena mem;
    struct err *e;
};

static uint32_t decode(struct slice character)
{
    static const unsigned char lead[] = {[1] = 0x7f, [2] = 0x1f, [3] = 0x0f, [4] = 0x07};
    uint32_t point = (unsigned char)character.ptr[0] & lead[character.len];
    for (size_t i = 1; i < character.len; i++)
        point = point << 6 | ((unsigned char)character.ptr[i] & 0x3f);
    return point;
}

/* Characters that may stand as they are: YAML's printable ones without its line breaks and the byte order mark. */
static bool is_printable(uint32_t c)
{
    if (c < 0xa0)
        return c >= 0x20 && c < 0x7f;
    return c != 0x2028 && c != 0x2029 && c != 0xfeff && c != 0xfffe && c != 0xffff;
}

static bool all_printable(struct slice s, const char *also)
{
    for (size_t step; (step = utf8_step(s)) != 0; s = slice_skip(s, step))
        if (!is_printable(decode(slice_head(s, step))) && (!s.ptr[0] || !strchr(also, s.ptr[0])))
            return false;
    return true;
}

/* 2026-11-21…: other readers see a date. */
static bool is_date_like(struct slice s)
{
    if (s.len < 8)
        return false;
    for (size_t i = 0; i < 4; i++)
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
    return s.ptr[4] == '-';
}

/* 12:30, 1:30:45.5: other readers count in base 60. */
static bool is_base60(struct slice s)
{
    size_t colons = 0, points = 0;
    s = slice_skip(s, s.ptr[0] == '-' || s.ptr[0] == '+');
    for (size_t i = 0; i < s.len; i++) {
        colons += s.ptr[i] == ':';
        points += s.ptr[i] == '.';
        if (!strchr("0123456789_:.", s.ptr[i]) || (s.ptr[i] == ':' && (points > 0 || i == 0)))
            return false;
    }
    return colons > 0;
}

/* Whether a reader of YAML 1.1 may see something else than a string. */
static bool is_ambiguous(struct slice s)
{
    __attribute__((cleanup(arena_free))) struct arena mem = {0};
    return scalar_plain(s, &mem).type != SCALAR_STRING || is_date_like(s) || is_base60(s) || slice_is(s, "<<") || slice_is(s, "=");
}

/* Without quotes: nothing that a reader could take for syntax or for another type. */
static bool is_plain(struct slice s)
{
    if (is_ambiguous(s) || !all_printable(s, ""))
        return false;
    char first = s.ptr[0], last = s.ptr[s.len - 1];
    if (first == ' ' || last == ' ' || last == ':' || strchr(",[]{}#&*!|>'\"%@`", first))
        return false;
    if (strchr("-?:", first) && (s.len == 1 || s.ptr[1] == ' '))
        return false;
    if (slice_starts(s, SLICE("---")) || slice_starts(s, SLICE("...")))
        return false;
    for (size_t i = 1; i < s.len; i++)
        if ((s.ptr[i] == '#' && s.ptr[i - 1] == ' ') || (s.ptr[i] == ' ' && s.ptr[i - 1] == ':'))
            return false;
    return true;
}

static void put_quoted(struct writer *w, struct slice s)
{
    static const struct {
        char c;
        const char *escape;
    } names[] = {{'"', "\\\""}, {'\\', "\\\\"}, {'\n', "\\n"}, {'\t', "\\t"}, {'\r', "\\r"}};
    buf_putc(w->out, '"');
    for (size_t step; (step = utf8_step(s)) != 0; s = slice_skip(s, step)) {
        uint32_t c = decode(slice_head(s, step));
        const char *escape = NULL;
        for (size_t i = 0; i < COUNT_OF(names); i++)
            if (c == (unsigned char)names[i].c)
                escape = names[i].escape;
        if (escape)
            buf_put(w->out, slice_of(escape));
        else if (is_printable(c))
            buf_put(w->out, slice_head(s, step));
        else
            buf_printf(w->out, "\\u%04x", c);
    }
    buf_putc(w->out, '"');
}

/* Several lines are shown as such, where that is exact without more syntax. */
static bool is_literal(struct slice s)
{
    return slice_find(s, '\n') >= 0 && !strchr(" \t\n", s.ptr[0]) && all_printable(s, "\n\t");
}

static void put_indent(struct writer *w, unsigned indent)
{
    buf_printf(w->out, "%*s", (int)indent, "");
}

static void put_literal(struct writer *w, struct slice s, unsigned indent)
{
    bool ends = slice_ends(s, SLICE("\n")), more = slice_ends(s, SLICE("\n\n"));
    buf_put(w->out, more ? SLICE("|+") : ends ? SLICE("|") : SLICE("|-"));
    if (ends)
        s.len--;
    while (s.ptr) {
        struct slice line = slice_cut(&s, '\n');
        buf_putc(w->out, '\n');
        if (!slice_empty(line))
            put_indent(w, indent);
        buf_put(w->out, line);
    }
}

static void put_scalar(struct writer *w, struct jval v, unsigned indent)
{
    struct slice s = json_str(v, &w->mem);
    if (json_type(v) == JSON_OBJECT)
        buf_put(w->out, SLICE("{}"));
    else if (json_type(v) == JSON_ARRAY)
        buf_put(w->out, SLICE("[]"));
    else if (json_type(v) != JSON_STRING)
        buf_put(w->out, json_raw(v));
    else if (is_literal(s))
        put_literal(w, s, indent);
    else if (is_plain(s))
        buf_put(w->out, s);
    else
        put_quoted(w, s);
    buf_putc(w->out, '\n');
}

static bool put_key(struct writer *w, struct jval key)
{
    struct slice s = json_str(key, &w->mem);
    size_t before = w->out->len;
    if (is_plain(s))
        buf_put(w->out, s);
    else
        put_quoted(w, s);
    if (w->out->len - before > KEY_MAX)
        return err_set(w->e, ERR_LIMIT, "YAML with a key longer than %d characters is not written (KEY_MAX)", KEY_MAX);
    buf_putc(w->out, ':'); /* a full buffer is seen at the end */
    return true;
}

static bool put_block(struct writer *w, struct jval v, unsigned indent);

/* The text behind "key:", with its line's end. A list stands under its key, not to the right of it. */
static bool put_member_value(struct writer *w, struct jval v, unsigned indent)
{
    if (json_len(v) == 0) {
        buf_putc(w->out, ' ');
        put_scalar(w, v, indent + INDENT);
        return true;
    }
    unsigned inner = json_type(v) == JSON_ARRAY ? indent : indent + INDENT;
    buf_putc(w->out, '\n');
    put_indent(w, inner);
    return put_block(w, v, inner);
}

/* The members or elements of v, which has some, each on lines of its own; the first begins where the line is already. */
static bool put_block(struct writer *w, struct jval v, unsigned indent)
{
    struct jval key, value;
    bool first = true;
    for (struct jiter it = json_iter(v); json_next(&it, &key, &value); first = false) {
        if (!first)
            put_indent(w, indent);
        if (json_there(key)) {
            if (!put_key(w, key) || !put_member_value(w, value, indent))
                return false;
            continue;
        }
        buf_put(w->out, SLICE("- "));
        if (json_len(value) == 0)
            put_scalar(w, value, indent + INDENT);
        else if (!put_block(w, value, indent + INDENT))
            return false;
    }
    return true;
}

bool yaml_write(struct slice json, struct buf *out, struct err *e)
{
    struct writer w = {.out = out, .e = e};
    struct jval doc;
    bool ok = json_read(&doc, json, &w.mem, e);
    struct jval root = doc;
    if (ok && json_len(root) > 0)
        ok = put_block(&w, root, 0);
    else if (ok)
        put_scalar(&w, root, INDENT);
    arena_free(&w.mem);
    return ok && (!out->full || err_set(e, ERR_LIMIT, "the YAML is longer than %zu bytes", out->max));
}
