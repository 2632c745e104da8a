#include "flow.h"

/* The first bytes of a kept buffer lead to the next one. */
static struct {
    char *first;
    uint32_t count, most;
} kept = {.most = FLOW_KEPT};

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
    return kept.count ? take_kept() : mem_alloc(NET_BUFFER);
}

void flow_give(char *buffer, size_t top)
{
    mem_wipe(buffer, top);
    if (kept.count >= kept.most) {
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
