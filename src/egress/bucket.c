/* The servers of a bucket on the list of `mobula egress`: its store, and those that issue credentials to identities of pods. */
#include "list.h"

#include <mobula/storage.h>

/* Those of other partitions and clouds of their own are named by --egress-allow. */
static const struct {
    const struct cloud_protocol *of;
    const char *host; /* NULL: STS of the region */
    uint16_t port;
    const char *setting;
} issuers[] = {{&cloud_s3, NULL, 443, "--bucket: STS, for IRSA"},
               {&cloud_s3, "169.254.170.23", 80, "--bucket: EKS Pod Identity"},
               {&cloud_s3, "fd00:ec2::23", 80, "--bucket: EKS Pod Identity"},
               {&cloud_azure, "login.microsoftonline.com", 443, "--bucket: Entra ID, for workload identity"},
               {&cloud_azure, "169.254.169.254", 80, "--bucket: managed identity"},
               {&cloud_gcs, "metadata.google.internal", 80, "--bucket: workload identity"},
               {&cloud_gcs, "169.254.169.254", 80, "--bucket: workload identity"},
               {&cloud_gcs, "169.254.169.252", 988, "--bucket: workload identity without Dataplane V2"},
               {&cloud_gcs, "sts.googleapis.com", 443, "--bucket: workload identity federation"},
               {&cloud_gcs, "iamcredentials.googleapis.com", 443, "--bucket: signed URLs"}};

bool egress_add_sts(struct slice url, struct net_allow *allow, struct arena *a, struct err *e)
{
    struct cloud_host sts;
    return slice_empty(url) || (cloud_host(url, "--sts-url", a, &sts, e) &&
                                net_allow_add(allow, sts.at.host, sts.at.port, "--sts-url: the operator's identity", e) &&
                                net_allow_add(allow, SLICE("169.254.170.23"), 80, "--sts-url: EKS Pod Identity", e) &&
                                net_allow_add(allow, SLICE("fd00:ec2::23"), 80, "--sts-url: EKS Pod Identity", e));
}

bool egress_add_bucket(const struct egress_bucket *o, struct net_allow *allow, struct arena *a, struct err *e)
{
    struct cloud_place at;
    struct cloud_host store;
    struct slice region = slice_empty(o->region) ? SLICE("us-east-1") : o->region;
    if (slice_empty(o->url))
        return true;
    if (!cloud_place(o->url, &at, e))
        return err_wrap(e, "--bucket");
    struct slice url = storage_endpoint(&at, o->endpoint, region, a);
    if (slice_empty(url))
        return err_set(e, ERR_CONFIG, "--bucket-endpoint is needed: https://ACCOUNT.blob.core.windows.net");
    if (!cloud_host(url, "--bucket-endpoint", a, &store, e))
        return false;
    if (o->virtual_host && !slice_empty(o->endpoint) && at.protocol == &cloud_s3)
        store.at.host = arena_printf(a, "%.*s.%.*s", SLICE_ARG(at.bucket), SLICE_ARG(store.at.host));
    if (!net_allow_add(allow, store.at.host, store.at.port, "--bucket", e))
        return false;
    bool identity = slice_empty(o->secret) && (at.protocol != &cloud_s3 || slice_empty(o->endpoint));
    for (size_t i = 0; i < COUNT_OF(issuers) && identity; i++) {
        struct slice host = issuers[i].host ? slice_of(issuers[i].host) : cloud_aws_host("sts", region, a);
        if (issuers[i].of == at.protocol && !net_allow_add(allow, host, issuers[i].port, issuers[i].setting, e))
            return false;
    }
    return true;
}
