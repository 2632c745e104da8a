#include "flow.h"

/* The first bytes of a kept buffer lead to the next one. */
static struct {
    char *first;
    uint32_t count, most;
} kept = {.most = FLOW_KEPT};

size_t flow_size = NET_BUFFER;

static char *take_kept(void)
{
    char *buffer = kept.first;
    memcpy(&kept.first, buffer, sizeof kept.first);
    mem_wipe(buffer, sizeof kept.first);
    kept.count--;
    return buffer;
}

char *flow_take(void)
{
    return kept.count ? take_kept() : mem_alloc(flow_size);
}

void flow_give(char *buffer, size_t top, size_t size)
{
    mem_wipe(buffer, top);
    if (kept.count >= kept.most || size != flow_size) {
        mem_free(buffer);
        return;
    }
    memcpy(buffer, &kept.first, sizeof kept.first);
    kept.first = buffer;
    kept.count++;
}

void flow_keep(uint32_t most)
{
    kept.most = most ? most : FLOW_KEPT;
    while (kept.count > most)
        mem_free(take_kept());
}
