/* mobula job logs: from the API of the control plane, from the cluster that the job runs in, or from the bucket of its cloud. */
#include "cli.h"
#include "fleet.h"
#include "logs_std.h"

#include <mobula/submit.h>

#include <stdio.h>

enum { LOOK_MS = 2000, CLUSTER_WORDS = 16 /* of a call of mobula logs */ };

/* ---- its bucket ---- */

/* The bucket that has the logs of a job: that of --bucket, else of the workload's Cloud; url empty: none. */
static struct logs_bucket_options bucket_of_job(struct desk *d, struct jval workload)
{
    struct fleet_options *o = &d->o;
    o->cloud = json_get_str(workload, "spec.cloud", &d->a);
    if (slice_empty(o->site.bucket) && !bucket_of_cloud(d, &(struct err){0}))
        o->site.bucket = SLICE("");
    return (struct logs_bucket_options){.url = o->site.bucket, .storage = o->store};
}

/* False: the log is not there, or cannot be read (stderr). */
static bool bucket_logs(struct desk *d)
{
    struct ask_answer a;
    struct json doc;
    struct err why = {0};
    if (!fleet_get(d, d->o.name, &a, &why) || !json_parse(&doc, a.body, &d->a, &why))
        return false;
    struct jval job = json_at(json_get(json_root(&doc), "status.objects"), 0);
    const struct logs_bucket_options from = bucket_of_job(d, json_root(&doc));
    bool well = !slice_empty(from.url) && json_str_eq(json_get(job, "kind"), SLICE("RayJob")) &&
                logs_bucket_driver(&from, &cli_logs_std, json_get_str(job, "namespace", &d->a), json_get_str(job, "name", &d->a), SLICE(""),
                                   0, &why);
    if (why.code != ERR_NONE)
        fprintf(stderr, "mobula: the job's log cannot be read from %.*s: %s\n", SLICE_ARG(from.url), why.text);
    return well;
}

/* ---- its cluster ---- */

/* Where the operator of the job's cloud runs in this cluster too, its RayJob is here. */
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

/* ---- the API ---- */

static bool show(struct slice window, struct buf *before)
{
    bool well = cli_print(fleet_job_log_behind(window, buf_slice(before)));
    buf_clear(before);
    return buf_put(before, window) && well;
}

/* The lines of the log that the job's status keeps. */
static bool show_last(struct slice message, const struct buf *before, int64_t most)
{
    struct slice rest;
    if (!fleet_job_log_kept(message, buf_slice(before), most, &rest))
        return false;
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
        well = over || fleet_job_is_over(d, &over, &message, e);
        answered |= well;
        well = well && fleet_job_log_tail(d, SLICE(""), &text, e) && show(text, &before);
        away &= !well;
        well = well || (!over && fleet_job_outlasts(d, answered, &away, e));
    } while (well && !over && (well = ask_pause(&d->ask, LOOK_MS)));
    struct err why = {0};
    if (!well && !d->o.follow && !fleet_job_is_over(d, &over, &message, &why)) {
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

bool cli_job_logs(struct desk *d, struct err *e)
{
    return (d->way->api ? hub_logs : cluster_logs)(d, e);
}
