/* Prometheus text. No series per object: their number does not grow with the fleet. */
#include "private.h"

void figures_write(const struct hub *h, struct buf *b)
{
    const struct kube_client_stats *k = kube_client_stats(h->client);
    const struct serve_stats *s = serve_stats(h->serve);
    uint32_t clouds = 0, held = 0;
    const struct cloud *c;
    for (uint32_t i = 0; (c = map_next(&h->clouds, &i)) != NULL;) {
        clouds += c->present;
        held += c->held != NULL;
    }
    const struct {
        const char *name, *type, *help;
        uint64_t value;
    } all[] = {
        {"clouds", "gauge", "Clouds known.", clouds},
        {"clouds_connected", "gauge", "Clouds whose operator waits for an answer of this replica.", held},
        {"workloads", "gauge", "Workloads known.", h->workloads.count},
        {"connections", "gauge", "Connections of operators and people.", s->connections},
        {"body_bytes", "gauge", "Bytes of requests that are being read or answered.", s->bytes},
        {"requests_total", "counter", "Requests that came.", s->requests},
        {"requests_bad_total", "counter", "Received bytes that were no request, or a request past a limit.", s->bad},
        {"requests_refused_total", "counter", "Requests answered with a status from 400 on.", h->stats.refused},
        {"syncs_total", "counter", "Calls of operators that were answered.", h->stats.syncs},
        {"syncs_full_total", "counter", "Of them those that were answered in full, page by page.", h->stats.resyncs},
        {"statuses_total", "counter", "Statuses of workloads that were written.", h->stats.statuses},
        {"statuses_dropped_total", "counter",
         "Statuses that were about no workload of the cloud, were older than the stored one, or were refused.", h->stats.dropped},
        {"session_conflicts_total", "counter", "Sessions that were written by somebody else meanwhile.", h->stats.conflicts},
        {"api_requests_total", "counter", "Requests sent to the API server.", k->requests},
        {"api_errors_total", "counter", "Requests that the API server refused, or that got no answer.", k->errors},
        {"watch_events_total", "counter", "Watch events received.", k->watch_events},
        {"watch_restarts_total", "counter", "Lists started to fill or refill a cache.", k->watch_restarts},
    };
    for (size_t i = 0; i < COUNT_OF(all); i++)
        buf_printf(b, "# HELP mobula_hub_%s %s\n# TYPE mobula_hub_%s %s\nmobula_hub_%s %llu\n", all[i].name, all[i].help, all[i].name,
                   all[i].type, all[i].name, (unsigned long long)all[i].value);
    buf_put(b, SLICE("# HELP mobula_hub_info Version of this process.\n# TYPE mobula_hub_info gauge\n"));
    buf_printf(b, "mobula_hub_info{version=\"%s\"} 1\n", MOBULA_VERSION);
}
