#include "shell.h"

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_safe(char c)
{
    return is_name_char(c) || (c && strchr("@%+=:,./-", c));
}

/* $NAME or ${NAME} off the front of *s. */
static bool take_variable(struct slice *s)
{
    struct slice rest = slice_skip(*s, 1);
    bool braces = !slice_empty(rest) && rest.ptr[0] == '{';
    if (braces)
        rest = slice_skip(rest, 1);
    size_t n = 0;
    while (n < rest.len && is_name_char(rest.ptr[n]))
        n++;
    if (n == 0 || (rest.ptr[0] >= '0' && rest.ptr[0] <= '9'))
        return false;
    rest = slice_skip(rest, n);
    if (braces) {
        if (slice_empty(rest) || rest.ptr[0] != '}')
            return false;
        rest = slice_skip(rest, 1);
    }
    *s = rest;
    return true;
}

/* The reading of one word: what it comes to is gathered in `text` (with one byte of room per byte of the word) when that is not NULL. */
struct word {
    struct slice rest;
    bool variables;
    char *text;
    size_t len;
};

static void gather(struct word *w, char c)
{
    if (w->text)
        w->text[w->len++] = c;
}

static bool take_single(struct word *w)
{
    for (w->rest = slice_skip(w->rest, 1); !slice_empty(w->rest); w->rest = slice_skip(w->rest, 1)) {
        if (w->rest.ptr[0] == '\'') {
            w->rest = slice_skip(w->rest, 1);
            return true;
        }
        gather(w, w->rest.ptr[0]);
    }
    return false;
}

static bool take_double(struct word *w)
{
    w->rest = slice_skip(w->rest, 1);
    while (!slice_empty(w->rest)) {
        char c = w->rest.ptr[0];
        if (c == '"') {
            w->rest = slice_skip(w->rest, 1);
            return true;
        }
        if (c == '`')
            return false;
        if (c == '$') {
            w->variables = true;
            if (!take_variable(&w->rest))
                return false;
            continue;
        }
        if (c == '\\') { /* escapes only $ ` " and itself; before anything else it stands for itself */
            if (w->rest.len < 2 || w->rest.ptr[1] == '\n')
                return false;
            if (strchr("$`\"\\", w->rest.ptr[1]) && w->rest.ptr[1]) {
                w->rest = slice_skip(w->rest, 1);
                c = w->rest.ptr[0];
            }
        }
        gather(w, c);
        w->rest = slice_skip(w->rest, 1);
    }
    return false;
}

static bool take_escaped(struct word *w)
{
    if (w->rest.len < 2 || w->rest.ptr[1] == '\n')
        return false;
    gather(w, w->rest.ptr[1]);
    w->rest = slice_skip(w->rest, 2);
    return true;
}

static bool take_word(struct word *w)
{
    while (!slice_empty(w->rest)) {
        char c = w->rest.ptr[0];
        bool ok;
        if (c == '\'') {
            ok = take_single(w);
        } else if (c == '"') {
            ok = take_double(w);
        } else if (c == '\\') {
            ok = take_escaped(w);
        } else if (c == '$') {
            w->variables = true;
            ok = take_variable(&w->rest);
        } else {
            ok = is_safe(c);
            gather(w, c);
            w->rest = slice_skip(w->rest, 1);
        }
        if (!ok)
            return false;
    }
    return true;
}

bool shell_is_word(struct slice text)
{
    struct word w = {.rest = text};
    return slice_find(text, '\0') < 0 && take_word(&w);
}

struct slice shell_word(struct slice text, struct arena *a)
{
    if (shell_is_word(text))
        return text;
    char *quoted = arena_alloc(a, 4 * text.len + 2), *p = quoted;
    *p++ = '\'';
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\'') {
            memcpy(p, "'\\''", 4);
            p += 4;
        } else {
            *p++ = text.ptr[i];
        }
    }
    *p++ = '\'';
    return (struct slice){quoted, (size_t)(p - quoted)};
}

bool shell_unquote(struct slice word, struct arena *a, struct slice *out)
{
    struct word w = {.rest = word, .text = arena_alloc(a, word.len + 1)};
    if (!take_word(&w) || w.variables)
        return false;
    *out = (struct slice){w.text, w.len};
    return true;
}

void shell_append(struct buf *b, struct slice command)
{
    struct slice before = buf_slice(b);
    bool newline = slice_ends(before, SLICE("\n"));
    if (slice_ends(before, SLICE("\\")) || slice_ends(before, SLICE("\\\n"))) /* which takes the newline behind it away */
        buf_putc(b, '\n');
    if (before.len > 0 && !newline)
        buf_putc(b, '\n');
    buf_put(b, command);
}

/* Whether a line is in a comment at its end. */
static bool in_comment(struct slice line)
{
    char quote = 0;
    for (size_t i = 0; i < line.len; i++) {
        char c = line.ptr[i];
        if (c == '\\' && quote != '\'')
            i++;
        else if (quote)
            quote = c == quote ? 0 : quote;
        else if (c == '\'' || c == '"')
            quote = c;
        else if (c == '#' && (i == 0 || strchr(" \t;&|(", line.ptr[i - 1])))
            return true;
    }
    return false;
}

ptrdiff_t shell_find_last(struct slice text, const char *words)
{
    ptrdiff_t at;
    while ((at = slice_find_text_last(text, words)) >= 0) {
        struct slice before = slice_head(text, (size_t)at);
        ptrdiff_t newline = slice_find_text_last(before, "\n");
        if (!in_comment(slice_skip(before, (size_t)(newline + 1))))
            return at;
        text = before;
    }
    return -1;
}
