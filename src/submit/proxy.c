/* Questions to a dashboard through the API server's proxy. */
#include <mobula/submit.h>

static void on_piece(void *owner, uint64_t tag, struct slice piece)
{
    struct submit_proxy *p = owner;
    char out[RAY_LOG_TEXT];
    size_t n;
    while (p->done && tag == p->serial && !p->malformed && !slice_empty(piece)) {
        p->malformed = !ray_log_text_read(&p->log, &piece, out, &n);
        if (n)
            p->text(p->owner, 0, (struct slice){out, n});
    }
}

static void on_answer(void *owner, uint64_t tag, const struct kube_answer *answer, struct now now)
{
    struct submit_proxy *p = owner;
    struct ray_dash_answer said;
    struct arena a = {0};
    bool whole = !p->malformed && ray_log_text_whole(&p->log);
    ray_dash_done *done = p->done;
    if (!done || tag != p->serial)
        return;
    p->done = NULL;
    ray_dash_read_proxied(p->call, answer, whole ? SLICE("{\"logs\":null}") : SLICE(""), false, " (pods/proxy: get, and create to submit)",
                          &a, &said);
    done(p->owner, 0, &said, now);
    arena_free(&a);
}

bool submit_proxy_ask(struct submit_proxy *p, const struct ray_dash_to *to, const struct ray_dash_request *r, struct now now, struct err *e)
{
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    const char *method = ray_dash_method(r->call);
    bool get = strcmp(method, "GET") == 0;
    struct http_header header = {SLICE_NONE, SLICE_NONE};
    if (!slice_empty(r->token))
        header = ray_dash_token(r->token, true, &a);
    p->done = to->done;
    p->text = to->text;
    p->owner = to->owner;
    p->call = r->call;
    p->log = (struct ray_log_text){0};
    p->malformed = false;
    struct slice path = ray_dash_path(r, SLICE_NONE, SLICE_NONE, 0, &a);
    const struct kube_request q = {.lane = KUBE_LANE_PROXY,
                                   .method = slice_of(method),
                                   .path = arena_printf(&a, "%.*s%.*s", SLICE_ARG(p->path), SLICE_ARG(path)),
                                   .content_type = get ? SLICE_NONE : SLICE(KUBE_TYPE_JSON),
                                   .body = r->body,
                                   .header = header,
                                   .again = get,
                                   .timeout_ms = RAY_DASH_MS,
                                   .done = on_answer,
                                   .piece = to->text ? on_piece : NULL,
                                   .owner = p,
                                   .tag = ++p->serial};
    bool asked = path.ptr ? kube_call(p->client, &q, now, e) : err_set(e, ERR_LIMIT, "the question does not fit a URL");
    mem_wipe((char *)(uintptr_t)header.value.ptr, header.value.len);
    if (!asked)
        p->done = NULL;
    return asked;
}

void submit_proxy_forget(struct submit_proxy *p)
{
    p->done = NULL;
}
