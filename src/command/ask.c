#include <mobula/command.h>

#include <stdio.h>

static const char *text_or_null(struct slice s)
{
    return slice_empty(s) ? NULL : s.ptr;
}

static void begin(struct ask *k)
{
    *k = (struct ask){.allow = net_allow_new(), .timeout_ms = k->timeout_ms > 0 ? k->timeout_ms : ASK_MS};
    log_global.level = LOG_ERROR; /* failures are reported by the answer */
}

static bool open_config(struct ask *k, struct err *e)
{
    struct rng rng;
    if (!k->config || !kube_config_allow(k->config, k->allow, e))
        return false;
    k->loop = loop_new(k->allow, e);
    if (!k->loop)
        return false;
    rng_seed_system(&rng);
    k->client = kube_client_new(loop_net(k->loop), k->config, rng_next(&rng), "mobula/" MOBULA_VERSION);
    return true;
}

bool ask_open(struct ask *k, struct slice kubeconfig, struct slice context, struct err *e)
{
    const struct kube_config_options o = {text_or_null(kubeconfig), text_or_null(context), true};
    begin(k);
    k->config = kube_config_load(&o, e);
    return open_config(k, e);
}

bool ask_open_url(struct ask *k, const struct kube_config_url *o, struct err *e)
{
    begin(k);
    k->config = kube_config_url(o, e);
    return open_config(k, e);
}

void ask_close(struct ask *k)
{
    kube_client_free(k->client);
    if (k->loop)
        loop_free(k->loop);
    kube_config_free(k->config);
    net_allow_free(k->allow);
}

struct waiting {
    struct arena *a;
    struct ask_answer *out;
    struct err *e;
    kube_piece *piece;
    void *owner;
    struct slice *warnings;
    bool over, well;
};

static void on_piece(void *owner, uint64_t tag, struct slice piece)
{
    struct waiting *w = owner;
    w->piece(w->owner, tag, piece);
}

static void on_answer(void *owner, uint64_t tag, const struct kube_answer *answer, struct now now)
{
    struct waiting *w = owner;
    (void)tag;
    (void)now;
    w->over = true;
    w->well = answer->outcome == KUBE_OK || answer->outcome == KUBE_REFUSED;
    if (!w->well) {
        *w->e = answer->err;
        return;
    }
    *w->out = (struct ask_answer){.code = answer->status.code,
                                  .reason = answer->status.reason,
                                  .object = answer->status.object,
                                  .manager_conflict = answer->status.manager_conflict,
                                  .namespace_terminating = answer->status.namespace_terminating,
                                  .body = arena_dup(w->a, answer->body),
                                  .message = arena_dup(w->a, slice_of(answer->status.message))};
    if (w->warnings)
        *w->warnings = arena_dup(w->a, answer->warnings);
}

/* Signals end it: what is asked is not waited for any more. */
static bool interrupted(struct ask *k)
{
    int signal = loop_signal(k->loop);
    if (signal)
        k->signal = signal;
    return signal != 0;
}

/* It is not waited for any more, and would tell us later. */
static void give_up(struct ask *k)
{
    kube_client_free(k->client);
    k->client = NULL;
}

/* Failures that another try will not mend: the server's certificate. */
static bool is_hopeless(const struct err *e)
{
    return e->code == ERR_TLS_TRUST || e->code == ERR_TLS_NAME;
}

/* Prints once why there is no answer yet: the error of the first failed attempt, or that the server has not answered. */
static void tell_trouble(struct ask *k, const struct err *trouble, bool silent)
{
    if (k->told || k->heard || (trouble->code == ERR_NONE && !silent))
        return;
    k->told = true;
    struct slice why = trouble->code == ERR_NONE ? SLICE("no answer so far") : slice_of(trouble->text);
    char place[LIMIT_HTTP_URL];
    int len = snprintf(place, sizeof place, "%.*s:%d: ", SLICE_ARG(k->config->host), (int)k->config->port);
    cli_say_silent(strncmp(place, why.ptr, (size_t)len) == 0 ? SLICE("") : slice_of(place), why, k->timeout_ms);
}

/* *ms: the timeout of the next request. False: no request was answered within k->timeout_ms of the first one. */
static bool time_left(struct ask *k, struct now now, int64_t *ms, struct err *e)
{
    *ms = k->timeout_ms;
    if (k->heard)
        return true;
    if (k->until_ms == 0)
        k->until_ms = now.mono_ms + k->timeout_ms;
    *ms = k->until_ms - now.mono_ms;
    return *ms > 0 || err_set(e, ERR_TIMEOUT, "%.*s:%d: no answer in time (--timeout)", SLICE_ARG(k->config->host), (int)k->config->port);
}

/* Sends the request and waits for its answer. */
static bool ask_wait(struct ask *k, struct kube_request *r, struct waiting *w)
{
    struct now now = clock_now();
    int64_t hint_ms = now.mono_ms + CLI_HINT_MS;
    r->done = on_answer;
    r->owner = w;
    if (!k->client)
        return err_set(w->e, ERR_CLOSED, "ended by a signal");
    if (!time_left(k, now, &r->timeout_ms, w->e) || !kube_call(k->client, r, now, w->e))
        return false;
    while (!w->over) {
        int64_t next = kube_client_tick(k->client, now);
        now = loop_wait(k->loop, !k->told && !k->heard && hint_ms < next ? hint_ms : next);
        net_dispatch(loop_net(k->loop), now);
        k->heard |= w->over && w->well;
        const struct err *trouble = &kube_client_stats(k->client)->trouble;
        if (!w->over && is_hopeless(trouble)) {
            *w->e = *trouble;
            give_up(k);
            return false;
        }
        if (!w->over)
            tell_trouble(k, trouble, now.mono_ms >= hint_ms);
        if (interrupted(k) && !w->over) {
            give_up(k);
            return err_set(w->e, ERR_CLOSED, "ended by a signal");
        }
    }
    return w->well;
}

bool ask_text(struct ask *k, struct slice path, const struct http_header *header, kube_piece *piece, void *owner, struct arena *a,
              struct ask_answer *out, struct err *e)
{
    struct waiting w = {.a = a, .out = out, .e = e, .piece = piece, .owner = owner};
    struct kube_request r = {.lane = piece ? KUBE_LANE_PROXY : KUBE_LANE_MAIN,
                             .method = SLICE("GET"),
                             .path = path,
                             .header = header ? *header : (struct http_header){SLICE_NONE, SLICE_NONE},
                             .again = true,
                             .piece = piece ? on_piece : NULL};
    return ask_wait(k, &r, &w);
}

/* Requests that may be sent again when its answer was lost. */
static bool ask_again(struct ask *k, const char *method, const char *type, struct slice path, struct slice body, struct arena *a,
                      struct ask_answer *out, struct err *e)
{
    struct waiting w = {.a = a, .out = out, .e = e};
    struct kube_request r = {
        .lane = KUBE_LANE_MAIN, .method = slice_of(method), .path = path, .content_type = slice_of(type), .body = body, .again = true};
    return ask_wait(k, &r, &w);
}

bool ask_apply(struct ask *k, struct slice path, struct slice body, struct arena *a, struct ask_answer *out, struct err *e)
{
    return ask_again(k, "PATCH", KUBE_TYPE_APPLY, path, body, a, out, e);
}

bool ask_merge(struct ask *k, struct slice path, struct slice body, struct arena *a, struct ask_answer *out, struct err *e)
{
    return ask_again(k, "PATCH", KUBE_TYPE_MERGE_PATCH, path, body, a, out, e);
}

bool ask_put(struct ask *k, struct slice path, struct slice body, struct arena *a, struct ask_answer *out, struct err *e)
{
    return ask_again(k, "PUT", KUBE_TYPE_JSON, path, body, a, out, e);
}

bool ask_delete(struct ask *k, struct slice path, struct slice body, struct arena *a, struct ask_answer *out, struct err *e)
{
    return ask_again(k, "DELETE", KUBE_TYPE_JSON, path, body, a, out, e);
}

bool ask_post(struct ask *k, struct slice path, struct slice body, struct arena *a, struct ask_answer *out, struct slice *warnings,
              struct err *e)
{
    struct waiting w = {.a = a, .out = out, .e = e, .warnings = warnings};
    struct kube_request r = {.lane = KUBE_LANE_MAIN,
                             .method = SLICE("POST"),
                             .path = path,
                             .content_type = SLICE(KUBE_TYPE_JSON),
                             .body = body,
                             .at_once = true,
                             .warnings = true};
    return ask_wait(k, &r, &w);
}

bool ask_time(struct ask *k, struct arena *a, int64_t *wall_us, struct json *review, struct ask_answer *out, struct err *e)
{
    static const struct slice path = SLICE("/apis/authentication.k8s.io/v1/selfsubjectreviews");
    static const struct slice body = SLICE("{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"SelfSubjectReview\"}");
    return ask_post(k, path, body, a, out, NULL, e) && out->code < 300 && json_parse(review, out->body, a, e) &&
           time_parse(json_get_str(json_root(review), "metadata.creationTimestamp", a), wall_us, e);
}

const char *ask_words(const struct ask_answer *answer, char out[ASK_WORDS])
{
    if (answer->object)
        snprintf(out, ASK_WORDS, "%d %s: %.*s", answer->code, kube_reason_text(answer->reason), SLICE_ARG(answer->message));
    else
        snprintf(out, ASK_WORDS, "%.*s", SLICE_ARG(answer->message));
    return out;
}

bool ask_get(struct ask *k, struct slice path, const struct http_header *header, struct arena *a, struct ask_answer *out, struct err *e)
{
    return ask_text(k, path, header, NULL, NULL, a, out, e);
}

bool ask_pause(struct ask *k, int64_t ms)
{
    struct now now = clock_now();
    int64_t until_ms = now.mono_ms + ms;
    while (k->client && now.mono_ms < until_ms) {
        int64_t next = kube_client_tick(k->client, now);
        now = loop_wait(k->loop, next < until_ms ? next : until_ms);
        net_dispatch(loop_net(k->loop), now);
        if (interrupted(k))
            return false;
    }
    return k->client != NULL;
}
