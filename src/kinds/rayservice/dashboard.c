/* Sends a RayService's requests to the heads of its clusters. A cluster has at most one request in flight, so that a dashboard that hangs
 * holds one connection. A copy of the last answer is kept as long as the head pod is the same. */
#include "record.h"

/* ---- state of each cluster ---- */

struct serve_asked *asked_of(struct op *op, struct record *c, const struct record *cluster, struct slice head_uid)
{
    struct rayservice_own *own = c->own;
    struct serve_asked *q = own->asked;
    while (q && strcmp(q->cluster, cluster->uid) != 0)
        q = q->next;
    if (!q) {
        q = mem_alloc(sizeof *q);
        *q = (struct serve_asked){.next = own->asked, .op = op, .service = c};
        slice_copy(slice_of(cluster->uid), q->cluster, sizeof q->cluster);
        slice_copy(slice_of(cluster->name), q->name, sizeof q->name);
        own->asked = q;
    }
    if (!slice_empty(head_uid) && !slice_eq(slice_of(q->head), head_uid)) {
        heads_forget(op, q);
        arena_reset(&q->texts, 16 * KIB);
        q->said = (struct serve_said){0};
        q->putting = 0;
        q->wants = false;
        buf_free(&q->reported);
        slice_copy(head_uid, q->head, sizeof q->head);
    }
    return q;
}

static void asked_free(struct op *op, struct serve_asked *q)
{
    heads_forget(op, q);
    arena_free(&q->texts);
    buf_free(&q->reported);
    mem_free(q);
}

void asked_drop(struct op *op, struct record *c)
{
    struct rayservice_own *own = c->own;
    for (struct serve_asked *q = own ? own->asked : NULL, *next; q; q = next) {
        next = q->next;
        asked_free(op, q);
    }
    if (own)
        own->asked = NULL;
}

void asked_drop_gone(struct op *op, struct record *c)
{
    struct rayservice_own *own = c->own;
    for (struct serve_asked **at = &own->asked; *at;) {
        struct serve_asked *q = *at;
        const struct record *cluster = record_get(op, slice_of(q->cluster), istr_slice(c->ns));
        if (cluster && cluster->present && cluster->family.owner == c) {
            at = &q->next;
            continue;
        }
        *at = q->next;
        asked_free(op, q);
    }
}

/* ---- answers ---- */

/* Counts what the answer lists. False with *e: more than is kept, so nothing of it is. */
static bool count_listed(const struct ray_dash_answer *answer, size_t *count, struct err *e)
{
    size_t names = 0;
    *count = 0;
    for (uint32_t i = 0; i < answer->app_count; i++) {
        const struct ray_serve_app *app = &answer->apps[i];
        *count += 1 + app->deployment_count;
        names += app->name.len + app->status.len;
        for (uint32_t j = 0; j < app->deployment_count; j++)
            names += app->deployments[j].name.len + app->deployments[j].status.len;
    }
    if (*count > LIMIT_APPS_LISTED)
        return err_set(e, ERR_LIMIT, "it lists %zu applications and deployments: at most %d are followed (LIMIT_APPS_LISTED)", *count,
                       (int)LIMIT_APPS_LISTED);
    return names <= LIMIT_APPS_NAMES || err_set(e, ERR_LIMIT,
                                                "names and states of its applications have %zu bytes: at most %d "
                                                "(LIMIT_APPS_NAMES)",
                                                names, (int)LIMIT_APPS_NAMES);
}

/* One line of at most `most` bytes. */
static struct slice keep_words(struct slice text, size_t most, struct arena *a)
{
    return arena_clean(a, text, most);
}

static const struct serve_deployment *keep_deployments(const struct ray_serve_app *app, size_t most, struct arena *a)
{
    struct serve_deployment *list = arena_array(a, app->deployment_count + 1, sizeof *list);
    for (uint32_t i = 0; i < app->deployment_count; i++)
        list[i] = (struct serve_deployment){.name = keep_words(app->deployments[i].name, SERVE_WORDS_MAX, a),
                                            .status = keep_words(app->deployments[i].status, SERVE_WORDS_MAX, a),
                                            .message = keep_words(app->deployments[i].message, most, a)};
    return list;
}

static bool head_proxy_healthy(const struct serve_asked *q, const struct ray_dash_answer *answer)
{
    const struct record *cluster = record_get(q->op, slice_of(q->cluster), istr_slice(q->service->ns));
    const struct pod_record *r = cluster ? cluster->children.pods : NULL;
    while (r && strcmp(r->pod.uid, q->head) != 0)
        r = r->next;
    for (uint32_t i = 0; r && i < answer->proxy_count; i++)
        if (slice_eq(answer->proxies[i].node_ip, slice_of(r->pod.ip)))
            return slice_is(answer->proxies[i].status, "HEALTHY");
    return false;
}

/* count: of applications and deployments. */
static void hear_apps(struct serve_asked *q, const struct ray_dash_answer *answer, size_t count)
{
    size_t part = LIMIT_APPS_WORDS / (count + 1), most = part < SERVE_WORDS_MAX ? part : SERVE_WORDS_MAX;
    arena_reset(&q->texts, 16 * KIB);
    struct serve_app *list = arena_array(&q->texts, answer->app_count + 1, sizeof *list);
    for (uint32_t i = 0; i < answer->app_count; i++) {
        const struct ray_serve_app *app = &answer->apps[i];
        list[i] = (struct serve_app){.name = keep_words(app->name, SERVE_WORDS_MAX, &q->texts),
                                     .status = keep_words(app->status, SERVE_WORDS_MAX, &q->texts),
                                     .message = keep_words(app->message, most, &q->texts),
                                     .deployments = keep_deployments(app, most, &q->texts),
                                     .deployment_count = app->deployment_count};
    }
    q->said.known = true;
    q->said.apps = list;
    q->said.app_count = answer->app_count;
    q->said.head_serves = head_proxy_healthy(q, answer);
}

/* The reasons are KubeRay's: [scales][refused]. */
static const char *const put_reasons[2][2] = {{"UpdatedServeApplications", "FailedToUpdateServeApplications"},
                                              {"UpdatedServeTargetCapacity", "FailedToUpdateTargetCapacity"}};

static void say_put(struct serve_asked *q, bool ok, const char *why)
{
    char note[LIMIT_KUBE_EVENT_NOTE + ERR_TEXT_MAX], what[64]; /* note: cut where it is sent */
    struct record *c = q->service;
    if (q->scales)
        snprintf(what, sizeof what, "target_capacity %d %%", (int)q->sends);
    else
        snprintf(what, sizeof what, "the Serve configuration");
    snprintf(note, sizeof note, "%s%s %sRayCluster %s%s%s", ok ? "sent " : "", what, ok ? "to " : "was refused by ", q->name,
             ok ? "" : ": ", ok ? "" : why);
    if (ok)
        log_info(q->scales ? "serve capacity sent" : "serve configuration sent", LF("namespace", istr_slice(c->ns)),
                 LF_CSTR("service", c->name), LF_CSTR("cluster", q->name), LF_INT("target_capacity", q->sends));
    else
        log_warn("serve configuration refused: it is sent again in a minute, or when it changes", LF("namespace", istr_slice(c->ns)),
                 LF_CSTR("service", c->name), LF_CSTR("cluster", q->name), LF_CSTR("reason", why));
    say_event(q->op, c, !ok, put_reasons[q->scales][!ok], slice_of(note));
}

static void refused(struct serve_asked *q, uint64_t hash, const char *why)
{
    bool again = q->said.refused_hash == hash;
    utf8_copy(slice_of(why), q->refused, sizeof q->refused);
    q->said.refused_hash = hash;
    q->said.refused_ms = q->op->now.mono_ms;
    q->said.refused_why = slice_of(q->refused);
    if (!again)
        say_put(q, false, q->refused);
}

static void hear_put(struct serve_asked *q, const struct ray_dash_answer *answer)
{
    if (answer->outcome == RAY_DASH_REFUSED) {
        refused(q, q->putting, answer->err.text);
        return;
    }
    if (!q->scales)
        q->said.put_hash = q->putting;
    q->said.scaled = q->sends >= 0;
    q->said.capacity = q->sends;
    q->said.put_ms = q->op->now.mono_ms;
    q->said.refused_hash = 0;
    say_put(q, true, "");
}

/* The configuration that the head reports its applications were deployed from. Other members of it are left out: HTTP and gRPC options of a
 * Serve that runs cannot be changed. */
static void keep_reported(struct serve_asked *q, const struct ray_dash_answer *answer)
{
    struct jout w;
    uint32_t count = 0;
    q->wants = false;
    buf_free(&q->reported);
    buf_init(&q->reported, LIMIT_JSON_ITEM);
    jout_init(&w, &q->reported);
    jout_form(&w, "{applications:[");
    for (uint32_t i = 0; i < answer->app_count; i++)
        if (!slice_empty(answer->apps[i].config)) {
            jout_raw(&w, answer->apps[i].config);
            count++;
        }
    jout_form(&w, "]}");
    if (count && !q->reported.full)
        return;
    buf_free(&q->reported);
    refused(q, serve_scale_id(q->sends),
            count ? "its configuration is too large" : "it does not say from what its applications were deployed");
}

static void hear(struct serve_asked *q, const struct ray_dash_answer *answer)
{
    struct op *op = q->op;
    bool put = answer->call == RAY_DASH_SERVE_PUT, heard = answer->outcome == RAY_DASH_OK || (put && answer->outcome == RAY_DASH_REFUSED);
    struct err e = answer->err;
    size_t count = 0;
    if (heard && !put)
        heard = count_listed(answer, &count, &e);
    op->stats.dash_failures += answer->outcome >= RAY_DASH_DENIED;
    q->said.asking = false;
    if (!heard) {
        q->said.failures += q->said.failures < UINT32_MAX;
        q->said.failed_ms = op->now.mono_ms;
        utf8_copy(slice_of(e.text), q->trouble, sizeof q->trouble);
        q->said.trouble = slice_of(q->trouble);
    } else if (put) {
        q->said.failures = 0;
        hear_put(q, answer);
    } else {
        q->said.failures = 0;
        hear_apps(q, answer, count);
        if (q->wants)
            keep_reported(q, answer);
        q->said.answered_ms = op->now.mono_ms;
    }
    q->putting = 0;
    record_touch(op, q->service);
}

static void on_answer(void *owner, uint64_t tag, const struct ray_dash_answer *answer, struct now now)
{
    (void)tag;
    struct serve_asked *q = owner;
    q->op->now = now;
    arena_reset(&q->op->arenas.event, 64 * KIB);
    hear(q, answer);
}

/* ---- requests ---- */

/* A configuration that is no more the spec's is asked of the head first, and sent when that has answered. */
static void form_put(struct op *op, struct serve_asked *q, const struct action *act, struct ray_dash_request *r)
{
    model_load(op, q->service);
    const struct rayservice *s = rayservice_model(op);
    bool scales = act->verb == &rayservice_scale, own = !scales || act->version == s->config_hash;
    struct slice config = own ? s->config : buf_slice(&q->reported);
    q->sends = act->index;
    q->scales = scales;
    q->wants = slice_empty(config);
    if (q->wants)
        return;
    r->call = RAY_DASH_SERVE_PUT;
    r->body = act->index < 0 ? config : rayservice_with_capacity(config, act->index, &op->arenas.body);
    q->putting = scales ? serve_scale_id(act->index) : s->config_hash;
}

void rayservice_ask_head(struct op *op, struct record *c, const struct action *act)
{
    struct rayservice_own *own = c->own;
    struct record *cluster = record_get(op, act->uid, istr_slice(c->ns));
    struct serve_asked *q = own->asked;
    struct err e = {0};
    while (q && !slice_eq(slice_of(q->cluster), act->uid))
        q = q->next;
    if (!q || q->said.asking)
        return;
    struct ray_dash_request r = {.call = RAY_DASH_SERVE, .doubtful = q->said.failures > 0};
    if (act->verb != &rayservice_look)
        form_put(op, q, act, &r);
    op->stats.dash_calls++;
    q->said.asking = true;
    bool sent = cluster && cluster->present && head_ask(op, cluster, &r, on_answer, q, 0, &e);
    if (r.call == RAY_DASH_SERVE_PUT)
        buf_free(&q->reported);
    if (sent)
        return;
    err_set(&e, ERR_MISSING, "the RayCluster is gone");
    const struct ray_dash_answer none = {.call = r.call, .outcome = RAY_DASH_UNSENT, .err = e};
    hear(q, &none);
}
