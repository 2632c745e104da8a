#include "status.h"

#include <stdio.h>

static const struct reason_name {
    enum kube_reason reason;
    int code; /* the meaning of the bare code when no Status came with it; 0: no bare code means this */
    const char *text;
} reasons[] = {
    {KUBE_UNAUTHORIZED, 401, "Unauthorized"},
    {KUBE_FORBIDDEN, 403, "Forbidden"},
    {KUBE_NOT_FOUND, 404, "NotFound"},
    {KUBE_ALREADY_EXISTS, 0, "AlreadyExists"},
    {KUBE_CONFLICT, 409, "Conflict"},
    {KUBE_GONE, 410, "Gone"},
    {KUBE_INVALID, 422, "Invalid"},
    {KUBE_SERVER_TIMEOUT, 0, "ServerTimeout"},
    {KUBE_TIMEOUT, 504, "Timeout"},
    {KUBE_TOO_MANY_REQUESTS, 429, "TooManyRequests"},
    {KUBE_BAD_REQUEST, 400, "BadRequest"},
    {KUBE_METHOD_NOT_ALLOWED, 405, "MethodNotAllowed"},
    {KUBE_NOT_ACCEPTABLE, 406, "NotAcceptable"},
    {KUBE_TOO_LARGE, 413, "RequestEntityTooLarge"},
    {KUBE_UNSUPPORTED_MEDIA, 415, "UnsupportedMediaType"},
    {KUBE_INTERNAL, 500, "InternalError"},
    {KUBE_EXPIRED, 0, "Expired"},
    {KUBE_UNAVAILABLE, 503, "ServiceUnavailable"},
    {KUBE_STORAGE_READ, 0, "StorageReadError"},
};

const char *kube_reason_text(enum kube_reason r)
{
    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        if (reasons[i].reason == r)
            return reasons[i].text;
    return r == KUBE_REASON_NONE ? "" : "Unknown";
}

static enum kube_reason reason_of(struct slice text)
{
    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        if (slice_is(text, reasons[i].text))
            return reasons[i].reason;
    return KUBE_REASON_OTHER;
}

static enum kube_reason reason_of_code(int code)
{
    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        if (reasons[i].code == code)
            return reasons[i].reason;
    return code >= 400 ? KUBE_REASON_OTHER : KUBE_REASON_NONE;
}

static void read_causes(struct jval causes, struct kube_status *out)
{
    struct jval none, cause;
    for (struct jiter it = json_iter(causes); json_next(&it, &none, &cause);) {
        struct jval reason = json_get(cause, "reason");
        out->version_too_large |= json_is(reason, "ResourceVersionTooLarge");
        out->namespace_terminating |= json_is(reason, "NamespaceTerminating");
        out->manager_conflict |= json_is(reason, "FieldManagerConflict");
    }
}

void kube_status_from(int code, struct jval object, struct kube_status *out)
{
    enum { RETRY_SECONDS_MAX = 3600 };
    struct arena a = {0};
    int64_t said = json_get_int(object, "code", 0);
    if (code == 0 && said >= 100 && said <= 599) /* with an answer, its status line is what proxies acted on too: it wins */
        code = (int)said;
    *out = (struct kube_status){.code = code, .reason = reason_of_code(code), .retry_after_ms = -1, .object = json_there(object)};
    snprintf(out->message, sizeof out->message, "HTTP %d %s", code, http_status_text(code));
    struct slice reason = json_get_str(object, "reason", &a), message = json_get_str(object, "message", &a);
    if (!slice_empty(reason))
        out->reason = reason_of(reason);
    if (!slice_empty(message))
        utf8_copy(message, out->message, sizeof out->message);
    int64_t seconds = json_get_int(object, "details.retryAfterSeconds", 0);
    if (seconds > 0)
        out->retry_after_ms = (seconds < RETRY_SECONDS_MAX ? seconds : RETRY_SECONDS_MAX) * 1000;
    read_causes(json_get(object, "details.causes"), out);
    arena_free(&a);
}

void kube_status_read(int code, struct slice body, struct kube_status *out)
{
    struct arena a = {0};
    struct jval doc;
    struct jval status = {.at = -1};
    struct err ignored = {0}; /* a body that is no Status is a proxy's page or nothing: the bare code speaks */
    if (!slice_empty(body) && json_read(&doc, body, &a, &ignored) && json_is(json_get(doc, "kind"), "Status"))
        status = doc;
    kube_status_from(code, status, out);
    arena_free(&a);
}
