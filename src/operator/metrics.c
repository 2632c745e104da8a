/* Prometheus text. Few series, none per object: their number does not grow with the cluster. */
#include "op.h"

#include <mobula/ship.h>

static void one(struct buf *b, const char *name, const char *type, const char *help, int64_t value)
{
    buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n%s %lld\n", name, help, name, type, name, (long long)value);
}

static void counter(struct buf *b, const char *name, const char *help, uint64_t value)
{
    one(b, name, "counter", help, (int64_t)value);
}

static void gauge(struct buf *b, const char *name, const char *help, int64_t value)
{
    one(b, name, "gauge", help, value);
}

static void write_pods(const struct op *op, struct buf *b)
{
    int64_t known = 0, ready = 0, submitters = 0;
    const struct pod_record *p;
    for (uint32_t i = 0; (p = map_next(&op->all.pods, &i)) != NULL;) {
        bool ray = p->of->kind->controller->runs_ray;
        known += ray;
        ready += ray && p->pod.ready;
        submitters += !ray;
    }
    gauge(b, "mobula_pods", "Pods known that belong to RayClusters.", known);
    gauge(b, "mobula_pods_ready", "Pods of RayClusters that are ready.", ready);
    gauge(b, "mobula_submitter_pods", "Pods known that submit a RayJob, ended ones included.", submitters);
}

/* Kinds of one word are one series: mobula_WORDs. */
static void write_known(const struct op *op, const struct kind *k, struct buf *b)
{
    char name[64], help[64];
    int64_t known = 0;
    const struct record *c;
    for (uint32_t i = 0; (c = map_next(&op->all.records, &i)) != NULL;)
        known += c->present && strcmp(c->kind->word, k->word) == 0;
    snprintf(name, sizeof name, "mobula_%ss", k->word);
    snprintf(help, sizeof help, "%ss known.", k->name);
    gauge(b, name, help, known);
}

static void write_objects(const struct op *op, struct buf *b)
{
    int64_t failing = 0;
    const struct record *c;
    for (uint32_t i = 0; (c = map_next(&op->all.records, &i)) != NULL;) {
        bool fails = false;
        for (const struct failing *f = c->children.failing; f; f = f->next)
            fails |= f->f.count > 0;
        failing += fails && c->kind->controller->runs_ray;
    }
    const struct kind *const *all = op->parts->kinds;
    for (uint32_t i = 0; all[i]; i++)
        if (all[i]->controller && (i == 0 || strcmp(all[i]->word, all[i - 1]->word) != 0))
            write_known(op, all[i], b);
    gauge(b, "mobula_clusters_failing", "RayClusters with a group that is in backoff after failures.", failing);
    write_pods(op, b);
}

static void write_actions(const struct op *op, struct buf *b)
{
    const struct verb *v;
    buf_put(b, SLICE("# HELP mobula_actions_total Actions started, by action.\n# TYPE mobula_actions_total counter\n"));
    for (uint32_t i = 0; (v = verb_at(op, i)) != NULL; i++)
        buf_printf(b, "mobula_actions_total{kind=\"%s\"} %llu\n", v->name, (unsigned long long)op->stats.actions[i]);
    buf_put(b, SLICE("# HELP mobula_actions_refused_total Actions that the API server refused, by action.\n"
                     "# TYPE mobula_actions_refused_total counter\n"));
    for (uint32_t i = 0; (v = verb_at(op, i)) != NULL; i++)
        buf_printf(b, "mobula_actions_refused_total{kind=\"%s\"} %llu\n", v->name, (unsigned long long)op->stats.refused[i]);
}

static void write_api(const struct op *op, struct buf *b)
{
    const struct kube_client_stats *s = kube_client_stats(op->client);
    counter(b, "mobula_api_requests_total", "Requests sent to the API server.", s->requests);
    counter(b, "mobula_api_errors_total", "Requests that the API server refused, or that got no answer.", s->errors);
    counter(b, "mobula_api_retries_total", "Requests that were retried.", s->retries);
    counter(b, "mobula_api_throttled_total", "Answers with status 429 from the API server's flow control.", s->throttled);
    counter(b, "mobula_api_unknown_total", "Writes with an unknown outcome: the object was read to find out.", op->stats.unknown);
    counter(b, "mobula_watch_events_total", "Watch events received.", s->watch_events);
    counter(b, "mobula_watch_restarts_total", "Lists started to fill or refill a cache.", s->watch_restarts);
    counter(b, "mobula_watch_skipped_total", "Items of lists and watches skipped because they were malformed or too large.",
            s->watch_skipped);
    counter(b, "mobula_api_received_bytes_total", "Bytes received from the API server.", s->bytes_in);
    counter(b, "mobula_api_sent_bytes_total", "Bytes sent to the API server.", s->bytes_out);
    gauge(b, "mobula_api_in_flight", "Requests in flight to the API server.", s->in_flight);
    gauge(b, "mobula_kube_window", "Most requests that may be in flight at present.", s->window);
    buf_printf(b,
               "# HELP mobula_kube_pressure Time of an answer as a multiple of the fastest of its verb and resource.\n"
               "# TYPE mobula_kube_pressure gauge\nmobula_kube_pressure %u.%03u\n",
               s->pressure / 1000, s->pressure % 1000);
    gauge(b, "mobula_kube_waiting", "Requests in flight that only wait for each other, of mobula_kube_window.", s->waiting);
    gauge(b, "mobula_api_connections", "Open connections to the API server.", s->links);
    if (s->server_cert_expires_us) /* else left out: whoever waits for a date to come near would be told of the year 1970 */
        gauge(b, "mobula_api_certificate_expiry_timestamp_seconds", "When the API server's certificate expires, in seconds since 1970.",
              s->server_cert_expires_us / 1000000);
    counter(b, "mobula_events_dropped_total", "Kubernetes events that were not written: over budget, or refused.",
            kube_events_dropped(op->events));
}

static void write_settings(const struct op *op, struct buf *b)
{
    int64_t broken = policy_file_broken(op);
    for (uint32_t i = 0; op->parts->settings[i]; i++)
        broken += op->settings[i].broken || (op->settings[i].watch && !op->settings[i].known);
    gauge(b, "mobula_settings_broken",
          "ConfigMaps of the operator, and its policy file, whose present text is refused, or that cannot be read.", broken);
}

static bool space_complete(const struct op *op, const struct space *s)
{
    for (const struct kind *const *k = op->parts->kinds; *k; k++)
        if (!space_synced(s, *k))
            return false;
    return true;
}

void metrics_write(const struct op *op, struct buf *b)
{
    buf_printf(b, "# HELP mobula_build_info The version.\n# TYPE mobula_build_info gauge\nmobula_build_info{version=\"%.*s\"} 1\n",
               SLICE_ARG(op->o.ray.version));
    int64_t synced = 0;
    for (uint32_t i = 0; i < op->o.namespace_count; i++)
        synced += space_complete(op, &op->spaces[i]);
    gauge(b, "mobula_leader", "1 if this process is the leader, else 0.", op->phase.leading);
    gauge(b, "mobula_namespaces", "Watched namespaces; 1 when all are watched by one watch.", op->o.namespace_count);
    gauge(b, "mobula_namespaces_synced", "Watched namespaces whose caches are complete.", synced);
    counter(b, "mobula_decisions_total", "Reconciliations of a resource.", op->stats.decisions);
    counter(b, "mobula_plans_total", "Reconciliations that led to at least one action.", op->stats.plans);
    counter(b, "mobula_autoscaler_decisions_total",
            "Autoscaler decisions. An answer of a head that says the same as the last one may be skipped.", op->stats.scalings);
    write_settings(op, b);
    write_objects(op, b);
    write_actions(op, b);
    counter(b, "mobula_dashboard_calls_total", "Requests to the dashboards of heads.", op->stats.dash_calls);
    counter(b, "mobula_dashboard_failures_total", "Requests to dashboards that got no answer, or an error.", op->stats.dash_failures);
    if (op->o.bucket.expiry)
        counter(b, "mobula_logs_deleted_total", "Objects of logs that were deleted from the bucket: above its retention.",
                ship_expiry_done(op->o.bucket.expiry)->objects);
    workloads_figures(op, b);
    route_tls_figures(op, b);
    write_api(op, b);
}
