#include "status.h"

#include <stdio.h>

PRINTF_LIKE(2, 0) static struct slice format(struct arena *a, const char *fmt, va_list ap)
{
    struct buf b;
    buf_init(&b, MIB);
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    struct slice text = SLICE("");
    char *room = n >= 0 ? buf_room(&b, (size_t)n + 1) : NULL;
    if (room) {
        vsnprintf(room, (size_t)n + 1, fmt, ap);
        text = arena_dup(a, (struct slice){room, (size_t)n});
    }
    buf_free(&b);
    return text;
}

bool status_set(struct status *st, int code, const char *reason, const char *fmt, ...)
{
    if (st->code)
        return false;
    st->code = code;
    st->reason = reason;
    va_list ap;
    va_start(ap, fmt);
    st->message = format(st->a, fmt, ap);
    va_end(ap);
    return false;
}

bool status_bad(struct status *st, const char *fmt, ...)
{
    if (st->code)
        return false;
    st->code = 400;
    st->reason = "BadRequest";
    va_list ap;
    va_start(ap, fmt);
    st->message = format(st->a, fmt, ap);
    va_end(ap);
    return false;
}

bool status_generic(struct status *st, int code, const char *reason, const char *text)
{
    if (!st->code)
        st->empty_details = true;
    return status_set(st, code, reason, "%s", text);
}

/* Is this the text of an earlier cause? Some checks are made twice; the message says them once. */
static bool said_before(const struct status *st, unsigned i)
{
    for (unsigned k = 0; k < i; k++)
        if (slice_eq(st->causes[k].field, st->causes[i].field) && slice_eq(st->causes[k].message, st->causes[i].message))
            return true;
    return false;
}

bool status_cause(struct status *st, const char *reason, struct slice field, const char *fmt, ...)
{
    if (st->code || st->cause_count == STATUS_CAUSES)
        return false;
    va_list ap;
    va_start(ap, fmt);
    st->causes[st->cause_count++] = (struct cause){reason, format(st->a, fmt, ap), arena_dup(st->a, field)};
    va_end(ap);
    return false;
}

bool status_invalid(struct status *st, struct slice group, struct slice kind, struct slice name)
{
    if (st->code)
        return false;
    struct buf b;
    buf_init(&b, MIB);
    unsigned said = 0;
    for (unsigned i = 0; i < st->cause_count; i++) {
        if (said_before(st, i))
            continue;
        buf_printf(&b, "%s%.*s: %.*s", said++ ? ", " : "", SLICE_ARG(st->causes[i].field), SLICE_ARG(st->causes[i].message));
    }
    bool many = said > 1;
    struct slice full = group.len ? arena_printf(st->a, "%.*s.%.*s", SLICE_ARG(kind), SLICE_ARG(group)) : kind;
    status_set(st, 422, "Invalid", "%.*s \"%.*s\" is invalid: %s%.*s%s", SLICE_ARG(full), SLICE_ARG(name), many ? "[" : "",
               SLICE_ARG(buf_slice(&b)), many ? "]" : "");
    buf_free(&b);
    st->name = name;
    st->group = group;
    st->kind = kind;
    return false;
}

struct slice status_resource(struct arena *a, struct slice group, struct slice plural)
{
    return group.len ? arena_printf(a, "%.*s.%.*s", SLICE_ARG(plural), SLICE_ARG(group)) : plural;
}

static bool about(struct status *st, struct slice group, struct slice plural, struct slice name)
{
    st->name = name;
    st->group = group;
    st->kind = plural;
    return false;
}

bool status_not_found(struct status *st, struct slice group, struct slice plural, struct slice name)
{
    if (st->code)
        return false;
    struct slice full = status_resource(st->a, group, plural);
    status_set(st, 404, "NotFound", "%.*s \"%.*s\" not found", SLICE_ARG(full), SLICE_ARG(name));
    return about(st, group, plural, name);
}

bool status_exists(struct status *st, struct slice group, struct slice plural, struct slice name)
{
    if (st->code)
        return false;
    struct slice full = status_resource(st->a, group, plural);
    status_set(st, 409, "AlreadyExists", "%s%.*s \"%.*s\" already exists", st->prefix ? st->prefix : "", SLICE_ARG(full), SLICE_ARG(name));
    return about(st, group, plural, name);
}

bool status_conflict(struct status *st, struct slice group, struct slice plural, struct slice name, const char *fmt, ...)
{
    if (st->code)
        return false;
    va_list ap;
    va_start(ap, fmt);
    struct slice why = format(st->a, fmt, ap);
    va_end(ap);
    struct slice full = status_resource(st->a, group, plural);
    status_set(st, 409, "Conflict", "Operation cannot be fulfilled on %.*s \"%.*s\": %.*s", SLICE_ARG(full), SLICE_ARG(name),
               SLICE_ARG(why));
    return about(st, group, plural, name);
}

static void write_details(const struct status *st, struct jout *w)
{
    if (!st->empty_details && !st->name.len && !st->kind.len && !st->cause_count && !st->retry_after_s)
        return;
    jout_kobject(w, "details");
    if (st->name.len)
        jout_kstr(w, "name", st->name);
    if (st->group.len)
        jout_kstr(w, "group", st->group);
    if (st->kind.len)
        jout_kstr(w, "kind", st->kind);
    if (st->uid.len)
        jout_kstr(w, "uid", st->uid);
    if (st->cause_count) {
        jout_karray(w, "causes");
        for (unsigned i = 0; i < st->cause_count; i++) {
            jout_object(w);
            jout_kstr(w, "reason", slice_of(st->causes[i].reason));
            jout_kstr(w, "message", st->causes[i].message);
            if (st->causes[i].field.len)
                jout_kstr(w, "field", st->causes[i].field);
            jout_end(w);
        }
        jout_end(w);
    }
    if (st->retry_after_s)
        jout_kint(w, "retryAfterSeconds", st->retry_after_s);
    jout_end(w);
}

void status_write(const struct status *st, struct jout *w)
{
    jout_object(w);
    jout_kstr(w, "kind", SLICE("Status"));
    jout_kstr(w, "apiVersion", SLICE("v1"));
    jout_kobject(w, "metadata");
    if (st->carry_on.len)
        jout_kstr(w, "continue", st->carry_on);
    jout_end(w);
    jout_kstr(w, "status", SLICE("Failure"));
    if (st->message.len)
        jout_kstr(w, "message", st->message);
    if (st->reason && *st->reason)
        jout_kstr(w, "reason", slice_of(st->reason));
    write_details(st, w);
    jout_kint(w, "code", st->code);
    jout_end(w);
}
