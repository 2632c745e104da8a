#include <mobula/http.h>

/* "…" with quoted pairs, off the front of *s. False: it is no such string, or its end is missing. */
static bool take_quoted(struct slice *s, struct buf *out)
{
    if (slice_empty(*s) || s->ptr[0] != '"')
        return false;
    for (*s = slice_skip(*s, 1); !slice_empty(*s); *s = slice_skip(*s, 1)) {
        if (s->ptr[0] == '"') {
            *s = slice_skip(*s, 1);
            return true;
        }
        if (s->ptr[0] == '\\' && s->len > 1)
            *s = slice_skip(*s, 1);
        buf_putc(out, s->ptr[0]);
    }
    return false;
}

static struct slice skip_blanks(struct slice s)
{
    while (!slice_empty(s) && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
        s = slice_skip(s, 1);
    return s;
}

/* 299 SP agent SP "text" [SP "date"], off the front of the rest of one header. */
static bool take_warning(struct slice *rest, bool *persistent, struct buf *text)
{
    struct buf date;
    struct slice code = slice_cut(rest, ' ');
    *persistent = slice_is(code, "299");
    slice_cut(rest, ' '); /* the warning agent: the API server writes - */
    *rest = rest->ptr ? skip_blanks(*rest) : SLICE("");
    buf_clear(text);
    if (!take_quoted(rest, text))
        return false;
    *rest = skip_blanks(*rest);
    buf_init(&date, LIMIT_HTTP_HEAD);
    if (take_quoted(rest, &date))
        *rest = skip_blanks(*rest);
    buf_free(&date);
    if (!slice_empty(*rest) && rest->ptr[0] != ',')
        return false;
    *rest = slice_empty(*rest) ? SLICE_NONE : skip_blanks(slice_skip(*rest, 1));
    return true;
}

bool http_warning_next(struct http_warnings *it, struct buf *text)
{
    for (;;) {
        bool persistent;
        while (slice_empty(it->rest)) {
            if (it->header == it->reader->header_count)
                return false;
            const struct http_header *h = &it->reader->headers[it->header++];
            it->rest = slice_eq_nocase(h->name, SLICE("warning")) ? h->value : SLICE_NONE;
        }
        if (!take_warning(&it->rest, &persistent, text))
            it->rest = SLICE_NONE; /* where the next one begins is not known */
        else if (persistent)
            return true;
    }
}
