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
            if (src->keeper.known)
                continue;
            ready = false;
            kube_keeper_explain(&src->keeper, src->kind->resource->plural, src->space->ns, why);
        }
    return ready;
}
