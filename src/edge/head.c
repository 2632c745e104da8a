/* Heads as they are passed on: without what belongs to one connection, and without what is the edge's own. */
#include "private.h"

enum { HEADERS_MAX = LIMIT_HTTP_HEADERS + 8 };

/* Some servers take an underscore for a hyphen, so a header is known in both spellings. */
static bool is_name(struct slice name, const char *words)
{
    for (size_t i = 0; i < name.len; i++, words++) {
        char c = name.ptr[i] == '_' ? '-' : name.ptr[i];
        c = c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
        if (c != *words)
            return false;
    }
    return *words == '\0';
}

static bool is_among(struct slice name, const char *const *words)
{
    while (*words && !is_name(name, *words))
        words++;
    return *words != NULL;
}

bool head_lists(struct slice value, struct slice word)
{
    while (value.ptr)
        if (slice_eq_nocase(slice_trim(slice_cut(&value, ',')), word))
            return true;
    return false;
}

bool head_is_hop(const struct http_reader *r, struct slice name)
{
    static const char *const hops[] = {
        "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization", "te", "trailer", "transfer-encoding",
        "upgrade",    NULL};
    if (is_among(name, hops))
        return true;
    for (uint32_t i = 0; i < r->header_count; i++)
        if (slice_eq_nocase(r->headers[i].name, SLICE("connection")) && head_lists(r->headers[i].value, name))
            return true;
    return false;
}

struct list {
    struct http_header at[HEADERS_MAX];
    size_t count;
};

static void add(struct list *l, const char *name, struct slice value)
{
    if (l->count < HEADERS_MAX)
        l->at[l->count++] = (struct http_header){slice_of(name), value};
}

/* Some proxies append a line of their own to those of their client: only the last one is the proxy's. */
struct slice head_forwarded_for(const struct call *c)
{
    const struct http_reader *r = &c->request;
    for (uint32_t i = c->front->edge->o.behind_proxy ? r->header_count : 0; i-- > 0;)
        if (is_name(r->headers[i].name, "x-forwarded-for"))
            return r->headers[i].value;
    return SLICE_NONE;
}

/* With --behind-proxy the client is a proxy, and its headers are continued; else they are replaced. */
static void add_forwarded(struct call *c, struct list *l)
{
    static const char for_[] = "X-Forwarded-For", proto[] = "X-Forwarded-Proto", host[] = "X-Forwarded-Host";
    const struct http_reader *r = &c->request;
    struct slice peer = slice_of(c->front->link->peer), was = head_forwarded_for(c);
    bool believed = c->front->edge->o.behind_proxy;
    add(l, for_, slice_empty(was) ? peer : arena_printf(&c->arena, "%.*s, %.*s", SLICE_ARG(was), SLICE_ARG(peer)));
    was = believed ? http_header_get(r, slice_of(proto)) : SLICE_NONE;
    add(l, proto, !slice_empty(was) ? was : c->front->edge->o.tls ? SLICE("https") : SLICE("http"));
    was = believed ? http_header_get(r, slice_of(host)) : SLICE_NONE;
    was = slice_empty(was) ? http_header_get(r, SLICE("host")) : was;
    if (!slice_empty(was))
        add(l, host, was);
    if (!slice_empty(c->user))
        add(l, "X-Forwarded-User", c->user);
}

/* Headers that the edge writes itself, or that would say where a request comes from. */
static bool is_ours(const struct call *c, struct slice name)
{
    static const char *const always[] = {
        "host", "content-length", "expect", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-user", NULL};
    static const char *const strangers[] = {"forwarded", "x-real-ip", "x-forwarded-port", "x-forwarded-prefix", NULL};
    return is_among(name, always) || (!c->front->edge->o.behind_proxy && is_among(name, strangers)) ||
           ((c->own_token || c->route->upstream) && is_name(name, "authorization"));
}

static void add_passed(struct call *c, struct list *l)
{
    const struct http_reader *r = &c->request;
    for (uint32_t i = 0; i < r->header_count; i++) {
        struct http_header h = r->headers[i];
        if (is_ours(c, h.name) || head_is_hop(r, h.name))
            continue;
        if (is_name(h.name, "cookie"))
            h.value = login_strip(h.value, &c->arena);
        if (h.value.ptr)
            l->at[l->count++] = h; /* at most LIMIT_HTTP_HEADERS */
    }
}

bool head_request(struct call *c, struct slice target, struct err *e)
{
    const struct http_reader *r = &c->request;
    struct slice host = http_header_get(r, SLICE("host"));
    bool chunked = http_header_get(r, SLICE("transfer-encoding")).ptr != NULL;
    struct list l = {.count = 0};
    add_passed(c, &l);
    add_forwarded(c, &l);
    if (c->route->upstream && c->route->upstream->len)
        add(&l, "Authorization", (struct slice){c->route->upstream->text, c->route->upstream->len});
    if (c->upgrade) {
        add(&l, "Connection", SLICE("Upgrade"));
        add(&l, "Upgrade", SLICE("websocket"));
    }
    c->up.chunked = chunked;
    return http_write_request_head(&c->sent, r->method, target, slice_empty(host) ? c->version->authority : host, l.at, l.count,
                                   chunked ? HTTP_CHUNKED : r->length) ||
           err_set(e, ERR_LIMIT, "the head is longer than %d bytes with what is added to it (LIMIT_EDGE_HEAD)", LIMIT_EDGE_HEAD);
}

/* How the client learns where the body ends. */
static int64_t answer_length(struct call *c)
{
    const struct http_reader *r = &c->answer;
    bool bodiless = c->head || r->status == 204 || r->status == 304 || r->status == 101;
    if (bodiless || r->length >= 0)
        return r->status == 204 ? HTTP_NO_BODY : r->length;
    if (c->request.minor == 0) {
        c->last = true;
        return HTTP_NO_BODY;
    }
    c->down.chunked = true;
    return HTTP_CHUNKED;
}

bool head_answer(struct call *c, struct err *e)
{
    const struct http_reader *r = &c->answer;
    int64_t length = answer_length(c);
    struct list l = {.count = 0};
    for (uint32_t i = 0; i < r->header_count; i++) {
        struct http_header h = r->headers[i];
        if (!is_name(h.name, "content-length") && !is_name(h.name, "host") && !head_is_hop(r, h.name))
            l.at[l.count++] = h;
    }
    if (r->status == 101) {
        add(&l, "Connection", SLICE("Upgrade"));
        add(&l, "Upgrade", SLICE("websocket"));
    } else if (c->last) {
        add(&l, "Connection", SLICE("close"));
    }
    return http_write_response_head(&c->reply, r->status, l.at, l.count, length) ||
           err_set(e, ERR_LIMIT, "the head of the answer is longer than %d bytes (LIMIT_EDGE_HEAD)", LIMIT_EDGE_HEAD);
}
