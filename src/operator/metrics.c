/* Prometheus text. Few series, none per object: their number does not grow with the cluster. */
#include "op.h"

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

static void write_objects(const struct op *op, struct buf *b)
{
    int64_t clusters = 0, jobs = 0, ready = 0, failing = 0;
    const struct cluster *c;
    for (uint32_t i = 0; (c = map_next(&op->clusters, &i)) != NULL;) {
        bool fails = false, job = c->kind == &kind_rayjob;
        clusters += c->present && !job;
        jobs += c->present && job;
        for (const struct failing *f = c->failing; f; f = f->next)
            fails |= f->f.count > 0;
        failing += fails && !job;
    }
    const struct pod_record *p;
    for (uint32_t i = 0; (p = map_next(&op->pods, &i)) != NULL;)
        ready += p->pod.ready;
    gauge(b, "mobula_clusters", "RayClusters known.", clusters);
    gauge(b, "mobula_clusters_failing", "RayClusters with a group that waits after failures.", failing);
    gauge(b, "mobula_jobs", "RayJobs known.", jobs);
    gauge(b, "mobula_pods", "Pods of RayClusters known.", op->pods.count);
    gauge(b, "mobula_pods_ready", "Pods of RayClusters that are ready.", ready);
}

static void write_actions(const struct op *op, struct buf *b)
{
    buf_put(b, SLICE("# HELP mobula_actions_total Actions begun, by kind.\n# TYPE mobula_actions_total counter\n"));
    for (uint32_t i = 0; verbs[i]; i++)
        buf_printf(b, "mobula_actions_total{kind=\"%s\"} %llu\n", verbs[i]->name, (unsigned long long)op->stats.actions[i]);
    buf_put(b, SLICE("# HELP mobula_actions_refused_total Actions that the API server refused, by kind.\n"
                     "# TYPE mobula_actions_refused_total counter\n"));
    for (uint32_t i = 0; verbs[i]; i++)
        buf_printf(b, "mobula_actions_refused_total{kind=\"%s\"} %llu\n", verbs[i]->name, (unsigned long long)op->stats.refused[i]);
}

static void write_api(const struct op *op, struct buf *b)
{
    const struct kube_client_stats *s = kube_client_stats(op->client);
    counter(b, "mobula_api_requests_total", "Requests sent to the API server.", s->requests);
    counter(b, "mobula_api_errors_total", "Requests that were refused or lost.", s->errors);
    counter(b, "mobula_api_retries_total", "Requests sent again.", s->retries);
    counter(b, "mobula_api_throttled_total", "Answers 429 of the API server's flow control.", s->throttled);
    counter(b, "mobula_api_unknown_total", "Writes whose outcome had to be looked up.", op->stats.unknown);
    counter(b, "mobula_watch_events_total", "Watch events received.", s->watch_events);
    counter(b, "mobula_watch_restarts_total", "Lists begun.", s->watch_restarts);
    counter(b, "mobula_watch_skipped_total", "Items passed over as malformed or too large.", s->watch_skipped);
    counter(b, "mobula_api_received_bytes_total", "Bytes received.", s->bytes_in);
    counter(b, "mobula_api_sent_bytes_total", "Bytes sent.", s->bytes_out);
    gauge(b, "mobula_api_in_flight", "Requests waiting for their answer.", s->in_flight);
    gauge(b, "mobula_api_window", "Requests that may be in flight.", s->window);
    gauge(b, "mobula_api_connections", "Connections open to the API server.", s->links);
    if (s->server_cert_expires_us) /* else left out: whoever waits for a date to come near would be told of the year 1970 */
        gauge(b, "mobula_api_certificate_expiry_timestamp_seconds", "When the API server's certificate ends, in seconds since 1970.",
              s->server_cert_expires_us / 1000000);
    counter(b, "mobula_events_dropped_total", "Kubernetes events not sent.", kube_events_dropped(op->events));
}

static bool space_complete(const struct space *s)
{
    for (uint32_t i = 0; kinds[i]; i++)
        if (!space_synced(s, kinds[i]))
            return false;
    return true;
}

void metrics_write(const struct op *op, struct buf *b)
{
    buf_printf(b, "# HELP mobula_build_info The version.\n# TYPE mobula_build_info gauge\nmobula_build_info{version=\"%.*s\"} 1\n",
               SLICE_ARG(op->o.ray.version));
    int64_t synced = 0;
    for (uint32_t i = 0; i < op->o.namespace_count; i++)
        synced += space_complete(&op->spaces[i]);
    gauge(b, "mobula_leader", "Whether this process decides.", op->leading);
    gauge(b, "mobula_namespaces", "Namespaces watched; 1 when it is all of them.", op->o.namespace_count);
    gauge(b, "mobula_namespaces_synced", "Of those, how many have complete caches.", synced);
    counter(b, "mobula_decisions_total", "Decisions made.", op->stats.decisions);
    counter(b, "mobula_plans_total", "Decisions that led to actions.", op->stats.plans);
    counter(b, "mobula_autoscaler_decisions_total",
            "Answers of heads that were decided on: one that says the same again may be passed over.", op->stats.scalings);
    write_objects(op, b);
    write_actions(op, b);
    counter(b, "mobula_dashboard_calls_total", "Questions to dashboards of heads.", op->stats.dash_calls);
    counter(b, "mobula_dashboard_failures_total", "Those that had no answer, or an error.", op->stats.dash_failures);
    write_api(op, b);
}
