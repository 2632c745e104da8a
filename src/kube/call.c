#include "client.h"
#include "config.h"

#include <stdio.h>

enum {
    HEADERS_MAX = 9 + 2 * LIMIT_KUBE_IMPERSONATE,
    REQUEST_MAX = LIMIT_HTTP_BODY + LIMIT_KUBE_TOKEN + 64 * KIB,
    HEAD_GUESS = 1 * KIB, /* bytes of a head without its token: room taken at once, so that nothing is copied and no token left behind */
};

struct headers {
    struct http_header list[HEADERS_MAX];
    size_t count;
};

static void add_header(struct headers *h, struct slice name, struct slice value)
{
    if (!slice_empty(value))
        h->list[h->count++] = (struct http_header){name, value};
}

static void add_impersonation(struct headers *h, const struct kube_config *config)
{
    add_header(h, SLICE("Impersonate-User"), config->impersonate_user);
    add_header(h, SLICE("Impersonate-Uid"), config->impersonate_uid);
    for (uint32_t i = 0; i < config->impersonate_group_count; i++)
        add_header(h, SLICE("Impersonate-Group"), config->impersonate_groups[i]);
    for (uint32_t i = 0; i < config->impersonate_extra_count; i++)
        add_header(h, config->impersonate_extra[i].name, config->impersonate_extra[i].value);
}

/* "example.com", "example.com:6443", "[::1]:6443" */
static struct slice host_header(const struct kube_config *config, struct arena *a)
{
    bool v6 = slice_find(config->host, ':') >= 0;
    const char *open = v6 ? "[" : "", *close = v6 ? "]" : "";
    if (config->port == (config->tls ? 443 : 80))
        return arena_printf(a, "%s%.*s%s", open, SLICE_ARG(config->host), close);
    return arena_printf(a, "%s%.*s%s:%u", open, SLICE_ARG(config->host), close, config->port);
}

bool call_form(struct kube_client *c, struct buf *out, const struct kube_request *r, struct err *e)
{
    const struct kube_config *config = c->config;
    struct arena a = {0};
    struct headers h = {0};
    bool has_body = !slice_empty(r->content_type);
    struct slice authorization = kube_config_authorization(config);
    struct slice target = arena_printf(&a, "%.*s%.*s", SLICE_ARG(config->path_prefix), SLICE_ARG(r->path));
    add_header(&h, SLICE("User-Agent"), slice_of(c->user_agent));
    add_header(&h, SLICE("Accept"), SLICE(KUBE_TYPE_JSON));
    add_header(&h, SLICE("Accept-Encoding"), SLICE("identity")); /* C6: nothing here unpacks */
    add_header(&h, SLICE("Content-Type"), r->content_type);
    add_header(&h, SLICE("Authorization"), authorization);
    add_header(&h, r->header.name, r->header.value);
    add_impersonation(&h, config);
    buf_init(out, REQUEST_MAX);
    buf_room(out, HEAD_GUESS + target.len + authorization.len + r->header.value.len + r->body.len);
    bool ok = target.len <= LIMIT_HTTP_URL &&
              http_write_request(out, r->method, target, host_header(config, &a), h.list, h.count, has_body ? &r->body : NULL);
    arena_free(&a);
    if (ok)
        return true;
    bool large = target.len > LIMIT_HTTP_URL || r->body.len > LIMIT_HTTP_BODY;
    buf_wipe(out);
    return err_set(e, large ? ERR_LIMIT : ERR_CONFIG, "the request is %s: %.*s %.*s", large ? "too large" : "malformed",
                   SLICE_ARG(r->method), SLICE_ARG(slice_head(r->path, ERR_TEXT_MAX)));
}

/* Where path and body lie in the bytes that call_form made. */
static void call_locate(struct kube_client *c, struct call *call, const struct kube_request *r)
{
    call->path_at = r->method.len + 1 + c->config->path_prefix.len;
    call->path_len = r->path.len;
    call->body_len = r->body.len;
}

void call_reform(struct kube_client *c, struct call *call)
{
    struct slice old = buf_slice(&call->request);
    struct kube_request r = {
        .method = slice_of(call->method),
        .path = slice_head(slice_skip(old, call->path_at), call->path_len),
        .content_type = slice_of(call->content_type),
        .header = {call->header_name, buf_slice(&call->header)},
        .body = slice_skip(old, old.len - call->body_len),
    };
    struct buf fresh;
    struct err e = {0};
    if (!call_form(c, &fresh, &r, &e))
        return; /* only a token that grew beyond all limits: the old request goes out once more and gets its 401 */
    buf_wipe(&call->request);
    call->request = fresh;
    call_locate(c, call, &r);
}

bool kube_call(struct kube_client *c, const struct kube_request *r, struct now now, struct err *e)
{
    struct lane *lane = &c->lanes[r->lane];
    if (lane->queued >= LIMIT_KUBE_CALLS)
        return err_set(e, ERR_LIMIT, "%d calls are waiting already (LIMIT_KUBE_CALLS)", LIMIT_KUBE_CALLS);
    struct call *call = mem_alloc(sizeof *call);
    if (r->method.len >= sizeof call->method || r->content_type.len >= sizeof call->content_type || !slice_starts(r->path, SLICE("/"))) {
        mem_free(call);
        return err_set(e, ERR_CONFIG, "the request is malformed: %.*s %.*s", SLICE_ARG(r->method), SLICE_ARG(r->path));
    }
    if (!call_form(c, &call->request, r, e)) {
        mem_free(call);
        return false;
    }
    call_locate(c, call, r);
    buf_init(&call->header, LIMIT_HTTP_HEAD);
    buf_put(&call->header, r->header.value);
    call->header_name = r->header.name;
    snprintf(call->method, sizeof call->method, "%.*s", SLICE_ARG(r->method));
    snprintf(call->content_type, sizeof call->content_type, "%.*s", SLICE_ARG(r->content_type));
    call->lane = r->lane;
    call->class = window_class(r->method, r->path);
    call->again = r->again;
    call->at_once = r->at_once;
    call->secret = r->secret;
    call->warnings = r->warnings && r->lane != KUBE_LANE_PROXY; /* a head's answer there is not the server's */
    call->made_ms = now.mono_ms;
    call->timeout_ms = r->timeout_ms > 0 ? r->timeout_ms : KUBE_CALL_MS;
    call->deadline_ms = now.mono_ms + call->timeout_ms;
    call->begin_ms = r->begin_ms != 0 && r->begin_ms < call->deadline_ms ? r->begin_ms : call->deadline_ms;
    call->done = r->done;
    call->piece = r->piece;
    call->owner = r->owner;
    call->about = r->about;
    call->tag = r->tag;
    lane_add(c, call);
    lane_run(c, r->lane, now);
    return true;
}

void call_free(struct call *call)
{
    buf_wipe(&call->request);
    buf_wipe(&call->header);
    mem_free(call);
}

void call_finish(struct kube_client *c, struct call *call, struct kube_answer *answer, struct now now)
{
    answer->told = call->told;
    answer->took_ms = now.mono_ms - call->made_ms;
    c->news = true;
    c->stats.errors += answer->outcome != KUBE_OK;
    if (call->done)
        call->done(call->owner, call->tag, answer, now);
    call_free(call);
}

static void orphan_list(struct call *call, const void *owner)
{
    for (; call; call = call->next)
        if (call->owner == owner)
            call->done = NULL;
}

void calls_orphan(struct kube_client *c, const void *owner)
{
    for (size_t i = 0; i < KUBE_LANES; i++) {
        orphan_list(c->lanes[i].first, owner);
        orphan_list(c->lanes[i].later, owner);
        for (struct conn *conn = c->lanes[i].busy.first; conn; conn = conn->next)
            orphan_list(conn->call, owner);
    }
}
