#include <mobula/json.h>

#include <stdio.h>

struct form {
    const char *at;
    va_list *args;
    char number[24];
};

/* The argument of the conversion at f->at, as text. */
static struct slice conversion(struct form *f)
{
    bool sized = f->at[1] == '.';
    const char *how = f->at + (sized ? sizeof "%.*" - 1 : 1);
    f->at = how + strcspn(how, "sdu") + 1;
    if (*how == 's') {
        int len = sized ? va_arg(*f->args, int) : 0;
        const char *text = va_arg(*f->args, const char *);
        return sized ? (struct slice){text, (size_t)len} : slice_of(text);
    }
    if (*how == 'h')
        return va_arg(*f->args, int) ? SLICE("true") : SLICE("false");
    /* %lld and %zu are of one size wherever this runs. */
    long long n = *how == 'd' ? va_arg(*f->args, int) : *how == 'u' ? va_arg(*f->args, unsigned) : va_arg(*f->args, long long);
    return (struct slice){f->number, (size_t)snprintf(f->number, sizeof f->number, "%lld", n)};
}

/* The text up to one of the ends, or of the conversion that is next. */
static struct slice piece(struct form *f, const char *ends)
{
    if (*f->at == '%')
        return conversion(f);
    struct slice text = {f->at, strcspn(f->at, ends)};
    f->at += text.len;
    return text;
}

static void put_pieces(struct jout *w, struct form *f, struct slice first)
{
    __attribute__((cleanup(buf_free))) struct buf all = {.max = w->to->max};
    buf_put(&all, first);
    while (*f->at && *f->at != '\'')
        buf_put(&all, piece(f, "'%"));
    w->to->full |= all.full;
    jout_str(w, buf_slice(&all));
}

void jout_form(struct jout *w, const char *form, ...)
{
    va_list args;
    va_start(args, form);
    struct form f = {.at = form, .args = &args};
    struct slice key = SLICE_NONE;
    bool optional = false;
    while (*f.at) {
        char c = *f.at;
        bool open = c == '{' || c == '[', quoted = c == '\'', ends = c == '}' || c == ']';
        f.at += open || quoted || ends || c == ',';
        if (ends)
            jout_end(w);
        if (ends || c == ',')
            continue;
        struct slice first = open ? SLICE("") : piece(&f, quoted ? "'%" : "?:,{}[]%");
        bool whole = !quoted || *f.at == '\'', drop = !open && whole && (optional ? slice_empty(first) : !quoted && !first.ptr);
        if (!open && !quoted && (*f.at == ':' || *f.at == '?')) {
            key = first;
            optional = *f.at == '?';
            f.at += optional ? sizeof "?:" - 1 : 1;
            continue;
        }
        if (key.ptr && !drop)
            jout_key(w, key);
        key = SLICE_NONE;
        if (open && c == '{')
            jout_object(w);
        else if (open)
            jout_array(w);
        else if (!whole)
            put_pieces(w, &f, first);
        else if (!drop)
            (quoted ? jout_str : jout_raw)(w, first);
        if (quoted && *f.at++ != '\'')
            fatal("jout_form: no end of a string in %s", form);
    }
    if (key.ptr)
        jout_key(w, key);
    va_end(args);
}
