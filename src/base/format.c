#include "libc.h"

#include <limits.h>

struct output {
    char *to;
    size_t size, len; /* len counts bytes that did not fit, too */
    va_list args;
};

/* Appends n bytes of `from`; without `from` n times the byte `fill`. */
static void put(struct output *o, const char *from, char fill, size_t n)
{
    size_t room = o->len < o->size ? o->size - o->len : 0, fits = n < room ? n : room;
    if (fits && from)
        memcpy(o->to + o->len, from, fits);
    else if (fits)
        memset(o->to + o->len, fill, fits);
    o->len += n;
}

/* A width or a precision: digits, or a star for the next argument. */
static int read_number(struct output *o, const char **at)
{
    int n = 0;
    if (**at == '*') {
        ++*at;
        return va_arg(o->args, int);
    }
    for (; **at >= '0' && **at <= '9'; ++*at)
        n = n * 10 + (**at - '0');
    return n;
}

/* Writes the digits of the next argument up to `end` and returns the first one; none for 0. */
static const char *put_digits(struct output *o, char how, bool wide, char *end, bool *minus)
{
    uint64_t n;
    if (how == 'd') {
        int64_t value = wide ? va_arg(o->args, long long) : va_arg(o->args, int);
        *minus = value < 0;
        n = value < 0 ? -(uint64_t)value : (uint64_t)value;
    } else {
        n = wide ? va_arg(o->args, unsigned long long) : va_arg(o->args, unsigned);
    }
    unsigned base = how == 'o' ? 8 : how == 'd' || how == 'u' ? 10 : 16;
    for (; n; n /= base)
        *--end = (char)("0123456789ABCDEF"[n % base] | (how & 0x20)); /* this bit is set in digits and in all letters but X */
    return end;
}

/* Formats the conversion whose percent sign is before `at`. Returns its end. */
static const char *convert(struct output *o, const char *at)
{
    char number[22]; /* the octal digits of 64 bits */
    const char *text = number;
    size_t len = 1, zeros = 0;
    bool left = false, zero = false, wide = false, minus = false;
    for (; *at == '-' || *at == '0'; at++)
        *(*at == '0' ? &zero : &left) = true;
    int width = read_number(o, &at), precision = -1;
    left |= width < 0;
    size_t room = (size_t)(width < 0 ? -(int64_t)width : width);
    if (*at == '.') {
        at++;
        precision = read_number(o, &at);
    }
    for (; *at == 'l' || *at == 'z'; at++)
        wide = true;
    if (*at == 'c') {
        number[0] = (char)va_arg(o->args, int);
    } else if (*at == 's') {
        text = va_arg(o->args, const char *);
        text = text ? text : "(null)";
        len = strnlen(text, precision < 0 ? INT_MAX : (size_t)precision);
    } else if (*at && strchr("duxXo", *at)) {
        text = put_digits(o, *at, wide, number + sizeof number, &minus);
        len = (size_t)(number + sizeof number - text);
        size_t least = precision >= 0 ? (size_t)precision : zero && !left && room > 1 ? room - minus : 1;
        zeros = least > len ? least - len : 0;
    } else {
        fatal("format.c has no conversion %%%s", at);
    }
    size_t all = minus + zeros + len, pad = room > all ? room - all : 0;
    put(o, NULL, ' ', left ? 0 : pad);
    put(o, "-", 0, minus);
    put(o, NULL, '0', zeros);
    put(o, text, 0, len);
    put(o, NULL, ' ', left ? pad : 0);
    return at + 1;
}

int format_text(char *out, size_t size, const char *format, va_list args)
{
    struct output o = {.to = out, .size = size};
    va_copy(o.args, args);
    while (*format) {
        bool percent = *format == '%';
        if (percent && format[1] != '%') {
            format = convert(&o, format + 1);
            continue;
        }
        format += percent;
        size_t plain = 1 + strcspn(format + 1, "%");
        put(&o, format, 0, plain);
        format += plain;
    }
    va_end(o.args);
    if (size)
        out[o.len < size ? o.len : size - 1] = '\0';
    return o.len > INT_MAX ? -1 : (int)o.len;
}

int format_file(FILE *f, const char *format, va_list args)
{
    char shorter[1024];
    va_list again;
    va_copy(again, args);
    int len = format_text(shorter, sizeof shorter, format, args);
    char *text = shorter;
    if (len >= (int)sizeof shorter) {
        text = mem_alloc((size_t)len + 1);
        format_text(text, (size_t)len + 1, format, again);
    }
    va_end(again);
    if (len > 0 && fwrite(text, 1, (size_t)len, f) != (size_t)len)
        len = -1;
    if (text != shorter)
        mem_free(text);
    return len;
}
