#include <mobula/base.h>

#include <stdio.h>

/* The text behind `at`; it ends in "…" where it has no room. */
static void PRINTF_LIKE(3, 0) put(struct err *e, size_t at, const char *fmt, va_list ap)
{
    static const char mark[] = "\xe2\x80\xa6";
    int n = vsnprintf(e->text + at, sizeof e->text - at, fmt, ap);
    if (n < 0 || at + (size_t)n < sizeof e->text)
        return;
    size_t end = sizeof e->text - sizeof mark;
    while (end && ((unsigned char)e->text[end] & 0xc0) == 0x80) /* not into a character */
        end--;
    memcpy(e->text + end, mark, sizeof mark);
}

void err_put(struct err *e, enum err_code code, const char *fmt, ...)
{
    if (!e || e->code != ERR_NONE)
        return;
    e->code = code;
    va_list ap;
    va_start(ap, fmt);
    put(e, 0, fmt, ap);
    va_end(ap);
}

static void PRINTF_LIKE(3, 4) put_more(struct err *e, size_t at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    put(e, at, fmt, ap);
    va_end(ap);
}

bool err_wrap(struct err *e, const char *fmt, ...)
{
    if (!e || e->code == ERR_NONE)
        return false;
    char inner[ERR_TEXT_MAX];
    memcpy(inner, e->text, sizeof inner);
    va_list ap;
    va_start(ap, fmt);
    put(e, 0, fmt, ap);
    va_end(ap);
    put_more(e, strlen(e->text), ": %s", inner);
    return false;
}

const char *err_code_name(enum err_code code)
{
    static const char *const names[] = {
        [ERR_NONE] = "none",       [ERR_SYNTAX] = "syntax",     [ERR_TYPE] = "type",           [ERR_RANGE] = "range",
        [ERR_LIMIT] = "limit",     [ERR_MISSING] = "missing",   [ERR_CONFIG] = "config",       [ERR_IO] = "io",
        [ERR_DENIED] = "denied",   [ERR_DNS] = "dns",           [ERR_CONNECT] = "connect",     [ERR_PROXY] = "proxy",
        [ERR_TLS] = "tls",         [ERR_TLS_NAME] = "tls-name", [ERR_TLS_TRUST] = "tls-trust", [ERR_CLOSED] = "closed",
        [ERR_TIMEOUT] = "timeout", [ERR_HTTP] = "http",         [ERR_STATUS] = "status",
    };
    return (size_t)code < COUNT_OF(names) ? names[code] : "unknown";
}
