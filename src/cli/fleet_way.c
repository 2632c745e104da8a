/* The two ways to the objects of a control plane: its API, and its cluster's API server. */
#include "cli.h"
#include "fleet.h"

#include <mobula/submit.h>

#include <stdio.h>

/* ---- its cluster ---- */

static struct slice cluster_path(struct desk *d, struct slice name)
{
    __attribute__((cleanup(buf_free))) struct buf b;
    buf_init(&b, 2 * KIB);
    kube_path(&b, d->noun->resource, d->o.ns, name, SLICE_NONE);
    return arena_dup(&d->a, buf_slice(&b));
}

static void cluster_refused(struct desk *d, const struct ask_answer *a, struct err *e)
{
    char words[ASK_WORDS];
    (void)d;
    err_set(e, ERR_STATUS, "%s", ask_words(a, words));
}

static void cluster_silent(struct desk *d, struct err *e)
{
    (void)d;
    (void)e;
}

/* Where the operator of the job's cloud runs in this cluster too, its RayJob is here. */
enum { CLUSTER_WORDS = 16 /* of a call of mobula logs */ };

static bool cluster_logs(struct desk *d, struct err *e)
{
    struct ask_answer a;
    struct json doc;
    if (!fleet_get(d, d->o.name, &a, e) || !json_parse(&doc, a.body, &d->a, e))
        return false;
    struct jval job = json_at(json_get(json_root(&doc), "status.objects"), 0);
    struct slice name = json_get_str(job, "name", &d->a), ns = json_get_str(job, "namespace", &d->a);
    if (!json_str_eq(json_get(job, "kind"), SLICE("RayJob")))
        return err_set(e, ERR_STATUS, "job %.*s has no RayJob yet, so it has printed nothing", SLICE_ARG(d->o.name));
    const struct logs_bucket_options from = bucket_of_job(d, json_root(&doc));
    const char *words[CLUSTER_WORDS] = {"logs", "rayjob", name.ptr, "-n", ns.ptr, d->o.follow ? "-f" : "-f=false"};
    const struct {
        const char *flag;
        struct slice value;
    } texts[] = {{"bucket", from.url},
                 {"endpoint", from.storage.endpoint},
                 {"region", from.storage.region},
                 {"storage-ca", from.storage.ca_file},
                 {"credentials-dir", from.storage.dir}};
    int n = 6;
    for (size_t i = 0; i < COUNT_OF(texts) && !slice_empty(from.url); i++)
        if (!slice_empty(texts[i].value))
            words[n++] = arena_printf(&d->a, "--%s=%.*s", texts[i].flag, SLICE_ARG(texts[i].value)).ptr;
    if (from.storage.virtual_host)
        words[n++] = "--virtual-host";
    if (!slice_empty(d->o.kubeconfig))
        words[n++] = arena_printf(&d->a, "--kubeconfig=%.*s", SLICE_ARG(d->o.kubeconfig)).ptr;
    if (!slice_empty(d->o.context))
        words[n++] = arena_printf(&d->a, "--context=%.*s", SLICE_ARG(d->o.context)).ptr;
    d->status = cli_logs(n, (char **)(uintptr_t)words);
    return d->status == STATUS_OK;
}

/* Not this machine's clock, which may be any: it would call all operators silent, or none. */
static int64_t cluster_now_us(struct desk *d)
{
    struct ask_answer a = {0};
    struct json doc;
    struct err ignored = {0};
    int64_t us = 0;
    return ask_time(&d->ask, &d->a, &us, &doc, &a, &ignored) ? us : 0;
}

static int64_t hub_now_us(struct desk *d)
{
    (void)d;
    return 0;
}

static bool cluster_upload(struct desk *d, const struct work_folder *f, struct ask_answer *a, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf path = {.max = 2 * KIB}, body = {.max = LIMIT_JSON_ITEM};
    kube_path(&path, &kube_configmaps, d->o.ns, SLICE_NONE, SLICE_NONE);
    work_folder_write(f, &d->a, &body);
    return ask_post(&d->ask, buf_slice(&path), buf_slice(&body), &d->a, a, NULL, e);
}

static const struct fleet_way cluster = {cluster_path, cluster_refused, cluster_silent, cluster_logs, cluster_now_us, cluster_upload};

/* ---- its API ---- */

static struct slice hub_path(struct desk *d, struct slice name)
{
    return arena_printf(&d->a, "/v1/projects/%.*s/%.*s%s%.*s", SLICE_ARG(d->o.ns), SLICE_ARG(d->noun->resource->plural),
                        slice_empty(name) ? "" : "/", SLICE_ARG(name));
}

static void hub_refused(struct desk *d, const struct ask_answer *a, struct err *e)
{
    struct json doc;
    bool read = json_parse(&doc, a->body, &d->a, NULL);
    struct slice message = read ? json_get_str(json_root(&doc), "error.message", &d->a) : a->message;
    struct slice remedy = read ? json_get_str(json_root(&doc), "error.remedy", &d->a) : SLICE("is this a control plane?");
    if (a->code == 401)
        remedy = SLICE("it has expired or was revoked: get another one, and mobula login again");
    err_set(e, a->code >= 500 ? ERR_CLOSED : ERR_STATUS, "%d: %.*s (%.*s)", a->code, SLICE_ARG(message), SLICE_ARG(remedy));
}

static bool add_remedy(struct err *e, const char *remedy)
{
    struct err bare = *e;
    *e = (struct err){0};
    return err_set(e, bare.code, "%s: %s", bare.text, remedy);
}

static void hub_silent(struct desk *d, struct err *e)
{
    static const struct {
        enum err_code code;
        const char *remedy;
    } remedies[] = {
        {ERR_TLS_TRUST, "name the CA of its certificate: mobula login --ca-file FILE"},
        {ERR_TLS_NAME, "name the server as its certificate does"},
        {ERR_NONE, "does it run, and does this machine reach it (HTTPS_PROXY, NO_PROXY)?"},
    };
    size_t i = 0;
    while (remedies[i].code != ERR_NONE && remedies[i].code != e->code)
        i++;
    add_remedy(e, remedies[i].remedy);
    (void)d;
}

enum { LOOK_MS = 2000 };

/* The end of the log, as it stands now. */
static bool read_tail(struct desk *d, struct slice *text, struct err *e)
{
    struct ask_answer a;
    struct slice path = arena_printf(&d->a, "%.*s/logs?lines=%lld", SLICE_ARG(hub_path(d, d->o.name)), (long long)d->o.lines);
    bool asked = ask_get(&d->ask, path, NULL, &d->a, &a, e);
    *text = a.body;
    if (!asked)
        hub_silent(d, e);
    else if (a.code != 200)
        hub_refused(d, &a, e);
    return asked && a.code == 200;
}

/* The part of the window that the one before did not show: they overlap, unless more than a window was printed meanwhile. */
static struct slice behind(struct slice window, struct slice known)
{
    while (!slice_starts(window, known))
        slice_cut(&known, '\n');
    return slice_skip(window, known.len);
}

static bool show(struct slice window, struct buf *before)
{
    bool well = cli_print(behind(window, buf_slice(before)));
    buf_clear(before);
    return buf_put(before, window) && well;
}

/* The log goes with the job's cluster, but for the lines that its status keeps. False: there are none, or they do not follow what was
 * shown before. */
static bool show_last(struct slice message, struct buf *before, int64_t most)
{
    struct slice known = buf_slice(before);
    ptrdiff_t log = slice_find_text(message, "log:\n");
    struct slice kept = slice_skip(message, log < 0 ? message.len : (size_t)log + 5), rest = behind(kept, known);
    if (log < 0 || (before->len && rest.len == kept.len))
        return false;
    for (size_t at = rest.len, lines = 0; at-- > 0;)
        if (rest.ptr[at] == '\n' && ++lines == (size_t)most) {
            rest = slice_skip(rest, at + 1);
            break;
        }
    return slice_empty(rest) || (cli_print(rest) && cli_print(SLICE("\n")));
}

/* Most of it was shown before it went: that is said, and is no failure. */
static bool told(const struct buf *before, const struct err *e)
{
    if (!before->len || e->code != ERR_STATUS)
        return false;
    fprintf(stderr, "mobula: the log may have gone on: %s\n", e->text);
    return true;
}

static bool hub_logs(struct desk *d, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf before = {.max = LIMIT_HUB_BODY};
    struct arena kept = d->a;
    struct slice text, message = SLICE("");
    bool over = !d->o.follow, well, answered = false, away = false, last = false;
    d->a = (struct arena){0};
    do {
        arena_reset(&d->a, MIB);
        well = over || job_is_over(d, &over, &message, e);
        answered |= well;
        well = well && read_tail(d, &text, e) && show(text, &before);
        away &= !well;
        well = well || (!over && job_outlasts(d, answered, &away, e));
    } while (well && !over && (well = ask_pause(&d->ask, LOOK_MS)));
    struct err why = {0};
    if (!well && !d->o.follow && !job_is_over(d, &over, &message, &why)) {
        over = false;
        *e = why;
    }
    bool stored = !well && over && !before.len && bucket_logs(d);
    last = stored;
    if (!well && over && (stored || (last = show_last(message, &before, d->o.lines) || told(&before, e)))) {
        if (!before.len && !stored)
            fprintf(stderr, "mobula: job %.*s is over and its log is gone: these are the last lines, from its status\n",
                    SLICE_ARG(d->o.name));
        well = true;
        *e = (struct err){0};
    } else if (!well && over && e->code == ERR_STATUS) {
        err_wrap(e, "job %.*s is over, and its status has no lines of its log", SLICE_ARG(d->o.name));
    }
    arena_free(&d->a);
    d->a = kept;
    if (well && !before.len && !last)
        fprintf(stderr, "mobula: job %.*s has printed nothing so far: mobula job status says how it is\n", SLICE_ARG(d->o.name));
    if (d->ask.signal)
        d->status = STATUS_SIGNAL + d->ask.signal;
    return well;
}

static bool hub_upload(struct desk *d, const struct work_folder *f, struct ask_answer *a, struct err *e)
{
    struct slice path = arena_printf(&d->a, "%.*s/folder", SLICE_ARG(hub_path(d, d->o.name)));
    return ask_put(&d->ask, path, arena_printf(&d->a, "{\"data\":\"%.*s\"}", SLICE_ARG(f->base64)), &d->a, a, e);
}

static const struct fleet_way hub = {hub_path, hub_refused, hub_silent, hub_logs, hub_now_us, hub_upload};

/* ---- which of them ---- */

bool fleet_open_hub(struct desk *d, struct slice server, struct slice token, const char *ca_file, struct err *e)
{
    d->way = &hub;
    return ask_open_url(
        &d->ask,
        &(struct kube_config_url){.url = server.ptr, .setting = "--server", .name = "control plane", .token = token, .ca_file = ca_file},
        e);
}

static bool open_hub(struct desk *d, const struct login *l, struct err *e)
{
    struct fleet_options *o = &d->o;
    bool same = slice_empty(o->server) || slice_eq(o->server, l->server);
    struct slice token = same ? l->token : SLICE_NONE;
    const char *ca = !slice_empty(o->ca_file) ? o->ca_file.ptr : same && l->ca ? l->path.ptr : NULL;
    if (!slice_empty(o->token_file) && !cli_read_most(o->token_file, LIMIT_KUBE_TOKEN, "LIMIT_KUBE_TOKEN", &d->a, &token, e))
        return false;
    if (slice_empty(token))
        return err_set(e, ERR_CONFIG, "no token for %s: mobula login --server %s, or --token-file FILE", o->server.ptr, o->server.ptr);
    if (slice_empty(o->ns))
        o->ns = same && !slice_empty(l->project) ? l->project : SLICE("default");
    if (slice_empty(o->server))
        o->server = l->server;
    return fleet_open_hub(d, o->server, slice_trim(token), ca, e);
}

bool fleet_open(struct desk *d, struct err *e)
{
    struct fleet_options *o = &d->o;
    struct login l;
    if (!login_read(&l, &d->a, e))
        return false;
    if (!slice_empty(o->server) || (!slice_empty(l.server) && slice_empty(o->kubeconfig) && slice_empty(o->context)))
        return open_hub(d, &l, e);
    d->way = &cluster;
    if (!ask_open(&d->ask, o->kubeconfig, o->context, e))
        return slice_empty(o->kubeconfig) ? add_remedy(e, "nor is anybody logged in at a control plane (mobula login)") : false;
    if (slice_empty(o->ns))
        o->ns = d->ask.config->namespace_;
    return true;
}
