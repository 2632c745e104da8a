/* The driver's whole log, as the text it is: {"logs": "…"} is decoded byte by byte, so that its length costs no memory. */
#include <mobula/heads.h>

enum { IN_OPENING, AT_VALUE, IN_NULL, IN_TEXT, IN_ESCAPE, IN_HEX, AFTER_VALUE, AT_END, IN_GARBAGE };

/* The longest output of one byte: a surrogate without its other half is U+FFFD (three bytes), and the byte may be a character itself. */
enum { STEP_BYTES = 7 };

struct sink {
    char *out;
    size_t n;
};

static void put(struct ray_log_text *t, struct sink *to, uint32_t point)
{
    size_t n = utf8_encode(point, to->out + to->n);
    to->n += n;
    t->total += n;
}

/* The half of a pair whose other half did not come. */
static void put_lonely(struct ray_log_text *t, struct sink *to)
{
    if (t->high)
        put(t, to, 0xfffd);
    t->high = 0;
}

static int put_unit(struct ray_log_text *t, struct sink *to)
{
    uint32_t unit = t->point;
    bool low = unit >= 0xdc00 && unit < 0xe000;
    if (low && t->high) {
        put(t, to, 0x10000 + ((t->high - 0xd800) << 10) + (unit - 0xdc00));
        t->high = 0;
        return IN_TEXT;
    }
    put_lonely(t, to);
    if (unit >= 0xd800 && unit < 0xdc00)
        t->high = unit;
    else
        put(t, to, low ? 0xfffd : unit);
    return IN_TEXT;
}

/* ---- by state: what the next one is ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int in_opening(struct ray_log_text *t, char c)
{
    static const char opening[] = "{\"logs\":";
    bool between = t->at < 2 || opening[t->at] == ':';
    if (between && is_space(c))
        return IN_OPENING;
    if (c != opening[t->at++])
        return IN_GARBAGE;
    return opening[t->at] ? IN_OPENING : AT_VALUE;
}

static int in_null(struct ray_log_text *t, char c)
{
    static const char rest[] = "ull";
    if (c != rest[t->at++])
        return IN_GARBAGE;
    return rest[t->at] ? IN_NULL : AFTER_VALUE;
}

static int at_value(struct ray_log_text *t, char c)
{
    t->at = 0;
    if (is_space(c))
        return AT_VALUE;
    return c == '"' ? IN_TEXT : c == 'n' ? IN_NULL : IN_GARBAGE;
}

static int in_text(struct ray_log_text *t, char c, struct sink *to)
{
    if (c == '\\')
        return IN_ESCAPE;
    put_lonely(t, to);
    if (c == '"')
        return AFTER_VALUE;
    if ((unsigned char)c < ' ')
        return IN_GARBAGE;
    to->out[to->n++] = c;
    t->total++;
    return IN_TEXT;
}

static int in_escape(struct ray_log_text *t, char c, struct sink *to)
{
    static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    t->at = 0;
    t->point = 0;
    if (c == 'u')
        return IN_HEX;
    const char *name = c ? strchr(names, c) : NULL;
    if (!name)
        return IN_GARBAGE;
    put_lonely(t, to);
    put(t, to, (unsigned char)bytes[name - names]);
    return IN_TEXT;
}

static int in_hex(struct ray_log_text *t, char c, struct sink *to)
{
    char lower = (char)(c | 0x20);
    bool digit = c >= '0' && c <= '9';
    if (!digit && !(lower >= 'a' && lower <= 'f'))
        return IN_GARBAGE;
    t->point = t->point * 16 + (uint32_t)(digit ? c - '0' : lower - 'a' + 10);
    return ++t->at < 4 ? IN_HEX : put_unit(t, to);
}

static int next_state(struct ray_log_text *t, char c, struct sink *to)
{
    switch (t->state) {
    case IN_OPENING:
        return in_opening(t, c);
    case AT_VALUE:
        return at_value(t, c);
    case IN_NULL:
        return in_null(t, c);
    case IN_TEXT:
        return in_text(t, c, to);
    case IN_ESCAPE:
        return in_escape(t, c, to);
    case IN_HEX:
        return in_hex(t, c, to);
    case AFTER_VALUE:
        return is_space(c) ? AFTER_VALUE : c == '}' ? AT_END : IN_GARBAGE;
    case AT_END:
        return is_space(c) ? AT_END : IN_GARBAGE;
    default:
        return IN_GARBAGE;
    }
}

bool ray_log_text_read(struct ray_log_text *t, struct slice *in, char out[RAY_LOG_TEXT], size_t *n)
{
    struct sink to = {0};
    to.out = out;
    while (!slice_empty(*in) && t->state != IN_GARBAGE && RAY_LOG_TEXT - to.n >= STEP_BYTES) {
        t->state = next_state(t, in->ptr[0], &to);
        *in = slice_skip(*in, 1);
    }
    *n = to.n;
    return t->state != IN_GARBAGE;
}

bool ray_log_text_whole(const struct ray_log_text *t)
{
    return t->state == AT_END;
}
