/* The resources of the control plane, ids and hashes of their objects, and the reasons why a workload is hidden from its operator. */
#include "private.h"

const struct kube_resource hub_clouds = {{"mobula.dev", 10}, {"v1", 2}, {"clouds", 6}};
const struct kube_resource hub_configs = {{"mobula.dev", 10}, {"v1", 2}, {"computeconfigs", 14}};
const struct kube_resource hub_workloads = {{"mobula.dev", 10}, {"v1", 2}, {"workloads", 9}};

void hub_deployment_id(struct slice uid, char out[HUB_DEPLOYMENT_ID])
{
    static const char digits[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    enum { PREFIX = 8 };
    memcpy(out, "cldrsrc_", PREFIX);
    uint64_t hash = 0;
    for (unsigned i = 0; i < HUB_DEPLOYMENT_ID - PREFIX; i++) {
        if (i % 12 == 0)
            hash = hash64(uid, i + 1);
        out[PREFIX + i] = digits[hash % 36];
        hash /= 36;
    }
}

uint64_t hub_hash(struct jval v)
{
    struct buf b;
    buf_init(&b, LIMIT_JSON_ITEM);
    json_canonical(v, &b);
    uint64_t hash = hash64(buf_slice(&b), 1);
    buf_free(&b);
    return hash;
}

const char HUB_UNRESOLVED[] = "ComputeConfigUnknown", HUB_UNFIT[] = "SpecTooLarge";

const char *hidden_word(struct jval reason)
{
    return json_is(reason, HUB_UNRESOLVED) ? HUB_UNRESOLVED : json_is(reason, HUB_UNFIT) ? HUB_UNFIT : NULL;
}
