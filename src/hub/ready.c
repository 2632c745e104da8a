/* Whether the control plane can answer: its API server answers, it has a certificate, and all lists are complete. */
#include "private.h"

bool hub_ready(const struct hub *h, struct buf *why)
{
    const struct err *trouble = &kube_client_stats(h->client)->trouble;
    bool ready = trouble->code == ERR_NONE;
    if (!ready)
        buf_printf(why, "API server: %s\n", trouble->text);
    ready &= hub_cert_ready(h, why);
    for (uint32_t i = 0; i < h->o.namespace_count; i++)
        for (unsigned k = 0; k < SOURCES; k++) {
            const struct source *src = &h->spaces[i].source[k];
            if (src->synced)
                continue;
            ready = false;
            buf_printf(why, "%s in %.*s: %s\n", (const char *[]){"clouds", "computeconfigs", "workloads"}[k],
                       SLICE_ARG(slice_empty(src->space->ns) ? SLICE("all namespaces") : src->space->ns),
                       src->trouble.code ? src->trouble.text : "the list is not complete yet");
        }
    return ready;
}
