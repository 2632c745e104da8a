/* Requests to a dashboard, and the reading of its answers. Errors of it are never JSON: one line of text, or a traceback whose last line is
 * the reason. */
#include <mobula/heads.h>
#include <mobula/json.h>

enum { WORDS_MAX = ERR_TEXT_MAX - 64 }; /* so much of the head's own words */

/* ---- asking ---- */

static const struct {
    const char *method, *path, *end; /* the id stands between path and end */
} calls[] = {
    [RAY_DASH_VERSION] = {"GET", "/api/version", NULL},
    [RAY_DASH_SUBMIT] = {"POST", "/api/jobs/", NULL},
    [RAY_DASH_JOB] = {"GET", "/api/jobs/", ""},
    [RAY_DASH_JOBS] = {"GET", "/api/jobs/", NULL},
    [RAY_DASH_STOP] = {"POST", "/api/jobs/", "/stop"},
    [RAY_DASH_DELETE] = {"DELETE", "/api/jobs/", ""},
    [RAY_DASH_LOG] = {"GET", "/api/jobs/", "/logs"},
    [RAY_DASH_TASKS] = {"GET", "/api/v0/tasks/summarize?timeout=5", NULL},
    [RAY_DASH_SERVE] = {"GET", "/api/serve/applications/", NULL},
    [RAY_DASH_SERVE_PUT] = {"PUT", "/api/serve/applications/", NULL},
    [RAY_DASH_SERVE_DELETE] = {"DELETE", "/api/serve/applications/", NULL},
    [RAY_DASH_REPLICAS] = {"GET", "/api/serve/applications/", NULL},
    [RAY_DASH_FILE] = {"GET", "/api/v0/logs/file?format=text&filename=", ""}, /* format: older Ray marks each piece without it */
};

const char *ray_dash_method(enum ray_dash_call call)
{
    return calls[call].method;
}

struct slice ray_dash_path(const struct ray_dash_request *r, struct slice ns, struct slice service, uint16_t port, struct arena *a)
{
    struct buf b;
    buf_init(&b, LIMIT_HTTP_URL);
    if (!slice_empty(service))
        buf_printf(&b, "/api/v1/namespaces/%.*s/services/%.*s:%u/proxy", SLICE_ARG(ns), SLICE_ARG(service), port);
    buf_put(&b, slice_of(calls[r->call].path));
    if (calls[r->call].end && http_percent_encode(r->id, &b))
        buf_put(&b, slice_of(calls[r->call].end));
    if (r->call == RAY_DASH_FILE && buf_printf(&b, "&lines=%lld&node_id=", (long long)r->lines))
        http_percent_encode(r->node, &b);
    struct slice path = b.full ? SLICE_NONE : arena_dup(a, buf_slice(&b));
    buf_free(&b);
    return path;
}

struct http_header ray_dash_token(struct slice token, bool proxied, struct arena *a)
{
    return (struct http_header){proxied ? SLICE("X-Ray-Authorization") : SLICE("Authorization"),
                                arena_printf(a, "Bearer %.*s", SLICE_ARG(token))};
}

/* ---- failures ---- */

/* This line says nothing of use: it is blank, or where pydantic sends people who have a way out of here. */
static bool is_idle(struct slice s)
{
    if (slice_starts(slice_trim(s), SLICE("For further information visit ")))
        return true;
    for (; !slice_empty(s); s = slice_skip(s, 1))
        if ((unsigned char)s.ptr[0] > ' ' && s.ptr[0] != '.') /* a lone full stop ends Ray's tracebacks */
            return false;
    return true;
}

static struct slice reason_in(struct slice body)
{
    struct slice last = SLICE("");
    while (body.ptr) {
        struct slice line = slice_cut(&body, '\n');
        last = is_idle(line) ? last : line;
    }
    return last;
}

static void refuse(struct slice body, struct ray_dash_answer *out)
{
    char words[WORDS_MAX];
    int status = out->http_status;
    utf8_clean(reason_in(slice_head(body, LIMIT_RAY_DASH)), words, sizeof words);
    if (out->call == RAY_DASH_SUBMIT && slice_has(slice_of(words), "Please use a different submission_id"))
        out->outcome = RAY_DASH_EXISTS;
    else if (status == 401 || status == 403)
        out->outcome = RAY_DASH_DENIED;
    else if (status == 404)
        out->outcome = RAY_DASH_ABSENT;
    else
        out->outcome = status >= 400 && status < 500 && status != 408 && status != 429 ? RAY_DASH_REFUSED : RAY_DASH_FAILED;
    err_set(&out->err, ERR_STATUS, "the dashboard answers with HTTP status %d%s%s", status, words[0] ? ": " : "", words);
}

/* ---- jobs ---- */

static int64_t time_of(struct jval job, const char *key)
{
    int64_t ms = json_get_int(job, key, 0);
    return ms > 0 ? ms : 0;
}

static void read_job(struct jval v, struct arena *a, struct ray_dash_job *out)
{
    out->submission_id = json_get_str(v, "submission_id", a);
    out->job_id = json_get_str(v, "job_id", a);
    out->status = json_get_str(v, "status", a);
    out->entrypoint = json_get_str(v, "entrypoint", a);
    out->message = json_get_str(v, "message", a);
    out->error_type = json_get_str(v, "error_type", a);
    out->driver_node_id = json_get_str(v, "driver_node_id", a);
    out->driver = json_is(json_get(v, "type"), "DRIVER");
    out->start_ms = time_of(v, "start_time");
    out->end_ms = time_of(v, "end_time");
    out->exited = json_int(json_get(v, "driver_exit_code"), &out->exit_code);
}

bool ray_dash_job_ended(struct slice status)
{
    return slice_is(status, "SUCCEEDED") || slice_is(status, "FAILED") || slice_is(status, "STOPPED");
}

struct slice ray_dash_job_words(const struct ray_dash_job *job, char *out, size_t size)
{
    ptrdiff_t log = slice_find_text(job->message, ", last available logs");
    return utf8_clean(slice_head(job->message, log >= 0 ? (size_t)log : job->message.len), out, size);
}

/* One job, or all in an array. */
static bool read_jobs(struct jval root, struct arena *a, struct ray_dash_answer *out)
{
    bool one = out->call == RAY_DASH_JOB;
    size_t count = one ? 1 : json_len(root);
    if (json_type(root) != (one ? JSON_OBJECT : JSON_ARRAY))
        return false;
    struct ray_dash_job *jobs = arena_array(a, count, sizeof *jobs);
    struct jval none, v = root;
    struct jiter it = json_iter(root);
    while (out->job_count < count && (one || json_next(&it, &none, &v))) {
        struct ray_dash_job *job = &jobs[out->job_count++];
        read_job(v, a, job);
        if (slice_empty(job->status))
            return false;
    }
    out->jobs = jobs;
    return true;
}

/* ---- Serve ---- */

static void read_deployments(struct jval map, struct arena *a, struct ray_serve_app *out)
{
    struct ray_serve_deployment *list = arena_array(a, json_len(map), sizeof *list);
    struct jval key, v;
    for (struct jiter it = json_iter(map); json_next(&it, &key, &v); out->deployment_count++)
        list[out->deployment_count] = (struct ray_serve_deployment){
            .name = json_str(key, a),
            .status = json_get_str(v, "status", a),
            .message = json_get_str(v, "message", a),
            .replicas = json_get_int(v, "target_num_replicas", 0),
        };
    out->deployments = list;
}

static bool read_apps(struct jval root, struct arena *a, struct ray_dash_answer *out)
{
    struct jval map = json_get(root, "applications"), key, v;
    if (json_type(map) != JSON_OBJECT)
        return false;
    struct ray_serve_app *list = arena_array(a, json_len(map), sizeof *list);
    for (struct jiter it = json_iter(map); json_next(&it, &key, &v);) {
        struct ray_serve_app *app = &list[out->app_count++];
        struct jval deployments = json_get(v, "deployments");
        app->name = json_str(key, a);
        app->status = json_get_str(v, "status", a);
        app->message = json_get_str(v, "message", a);
        app->route_prefix = json_get_str(v, "route_prefix", a);
        if (json_type(json_get(v, "deployed_app_config")) == JSON_OBJECT)
            app->config = json_raw(json_get(v, "deployed_app_config"));
        if (json_type(deployments) == JSON_OBJECT)
            read_deployments(deployments, a, app);
        if (slice_empty(app->status))
            return false;
    }
    out->apps = list;
    return true;
}

static bool read_proxies(struct jval root, struct arena *a, struct ray_dash_answer *out)
{
    struct jval map = json_get(root, "proxies"), key, v;
    struct ray_serve_proxy *list = arena_array(a, json_len(map) + 1, sizeof *list);
    for (struct jiter it = json_iter(map); json_next(&it, &key, &v);)
        list[out->proxy_count++] =
            (struct ray_serve_proxy){.node_ip = json_get_str(v, "node_ip", a), .status = json_get_str(v, "status", a)};
    out->proxies = list;
    return true;
}

/* The replicas are at any depth of the document. */
static void find_replicas(struct jval in, struct ray_serve_replica *list, struct arena *a, struct ray_dash_answer *out)
{
    struct jval key, v;
    for (struct jiter it = json_iter(in); json_next(&it, &key, &v) && out->replica_count < RAY_REPLICAS_MAX;) {
        if (!json_there(json_get(v, "replica_id"))) {
            find_replicas(v, list, a, out);
            continue;
        }
        struct slice node = json_get_str(v, "node_id", a), file = json_get_str(v, "log_file_path", a);
        while (slice_starts(file, SLICE("/")))
            file = slice_skip(file, 1);
        if (!slice_empty(file) && file.len <= RAY_LOG_PATH && node.len <= RAY_LOG_PATH) /* empty: it has not started yet */
            list[out->replica_count++] = (struct ray_serve_replica){node, file};
    }
}

static bool read_replicas(struct jval root, struct arena *a, struct ray_dash_answer *out)
{
    struct ray_serve_replica *list = arena_array(a, RAY_REPLICAS_MAX, sizeof *list);
    struct jval apps = json_get(root, "applications");
    find_replicas(apps, list, a, out);
    out->replicas = list;
    return json_type(apps) == JSON_OBJECT;
}

/* ---- logs ---- */

void ray_log_init(struct ray_log *l)
{
    *l = (struct ray_log){0};
    buf_init(&l->end, 2 * LIMIT_RAY_LOG);
}

void ray_log_free(struct ray_log *l)
{
    buf_free(&l->end);
}

void ray_log_add(struct ray_log *l, struct slice piece)
{
    l->total += piece.len;
    while (!slice_empty(piece)) {
        if (l->end.len == l->end.max)
            buf_drop(&l->end, l->end.len - LIMIT_RAY_LOG);
        struct slice part = slice_head(piece, l->end.max - l->end.len);
        buf_put(&l->end, part);
        piece = slice_skip(piece, part.len);
    }
}

struct slice ray_log_end(struct ray_log *l, bool *cut)
{
    *cut = l->total > LIMIT_RAY_LOG;
    if (l->end.len > LIMIT_RAY_LOG)
        buf_drop(&l->end, l->end.len - LIMIT_RAY_LOG);
    return buf_slice(&l->end);
}

/* Behind the first escaped newline whose backslash is known to be no escaped one itself; 0 when there is none. A cut in the middle of an
 * escape or a character is behind us then. */
static size_t whole_line(struct slice text)
{
    size_t run = 0;     /* backslashes before i */
    bool known = false; /* how many they are: the text has begun with something else */
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\\') {
            run++;
            continue;
        }
        if (known && run % 2 == 1 && text.ptr[i] == 'n')
            return i + 1;
        known = true;
        run = 0;
    }
    return 0;
}

/* {"logs": "…"}, or the end of it, from which the document is made again. */
static bool read_log(struct slice body, bool cut, struct arena *a, struct ray_dash_answer *out, struct err *e)
{
    struct jval doc;
    if (cut) {
        size_t from = whole_line(body);
        body = from ? arena_printf(a, "{\"logs\":\"%.*s", SLICE_ARG(slice_skip(body, from))) : SLICE("{\"logs\":\"\"}");
    }
    if (!json_read(&doc, body, a, e))
        return false;
    struct jval logs = json_get(doc, "logs");
    out->log = json_str(logs, a);
    out->log_cut = cut;
    return json_type(logs) == JSON_STRING || json_type(logs) == JSON_NULL;
}

/* ---- any answer ---- */

static bool read_document(struct jval root, struct arena *a, struct ray_dash_answer *out)
{
    struct jval done;
    switch (out->call) {
    case RAY_DASH_VERSION:
        out->ray_version = json_get_str(root, "ray_version", a);
        out->session = json_get_str(root, "session_name", a);
        return !slice_empty(out->ray_version) && out->session.len <= LIMIT_RAY_SESSION;
    case RAY_DASH_SUBMIT:
        out->submission_id = json_get_str(root, "submission_id", a);
        return !slice_empty(out->submission_id);
    case RAY_DASH_JOB:
    case RAY_DASH_JOBS:
        return read_jobs(root, a, out);
    case RAY_DASH_STOP:
    case RAY_DASH_DELETE:
        done = json_get(root, out->call == RAY_DASH_STOP ? "stopped" : "deleted");
        out->done = json_bool(done, false);
        return json_type(done) == JSON_BOOL;
    case RAY_DASH_TASKS:
        done = json_get(root, "data.result.result.node_id_to_summary.cluster");
        out->log = json_raw(done);
        return json_type(done) == JSON_OBJECT;
    case RAY_DASH_SERVE:
        return read_apps(root, a, out) && read_proxies(root, a, out);
    case RAY_DASH_REPLICAS:
        return read_replicas(root, a, out);
    default:
        return true;
    }
}

static bool read_body(struct slice body, bool log_cut, struct arena *a, struct ray_dash_answer *out, struct err *e)
{
    struct jval doc;
    if (out->call == RAY_DASH_SERVE_PUT || out->call == RAY_DASH_SERVE_DELETE)
        return true; /* an empty body, or words */
    if (out->call == RAY_DASH_LOG)
        return read_log(body, log_cut, a, out, e);
    if (out->call == RAY_DASH_FILE) {
        out->log = body;
        return true;
    }
    return json_read(&doc, body, a, e) && read_document(doc, a, out);
}

void ray_dash_read(enum ray_dash_call call, int status, struct slice body, bool log_cut, struct arena *a, struct ray_dash_answer *out)
{
    struct err e = {0};
    *out = (struct ray_dash_answer){.call = call, .http_status = status};
    if (status < 200 || status > 299) {
        refuse(body, out);
        return;
    }
    if (read_body(body, log_cut, a, out, &e))
        return;
    *out = (struct ray_dash_answer){.call = call, .http_status = status, .outcome = RAY_DASH_FAILED};
    err_set(&out->err, ERR_SYNTAX, "the dashboard's answer cannot be read: %s", e.text[0] ? e.text : "it is not what was asked for");
}
