#include <mobula/base.h>

#include <stdio.h>

bool err_set_in(struct err *e, const char *room, enum err_code code, const char *fmt, ...)
{
    if (!e || e->code != ERR_NONE)
        return false;
    e->code = code;
    e->room = room;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    return false;
}

bool err_wrap(struct err *e, const char *fmt, ...)
{
    if (!e || e->code == ERR_NONE)
        return false;
    char inner[ERR_TEXT_MAX];
    memcpy(inner, e->text, sizeof inner);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    size_t used = strlen(e->text);
    snprintf(e->text + used, sizeof e->text - used, ": %s", inner);
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
