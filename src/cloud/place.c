/* Names of buckets and objects, and what AWS calls its hosts and resources in a region. */
#include <mobula/cloud.h>

bool cloud_key(struct slice key, struct err *e)
{
    if (key.len > LIMIT_CLOUD_KEY)
        return err_set(e, ERR_LIMIT, "the name of an object has more than %d bytes (LIMIT_CLOUD_KEY)", LIMIT_CLOUD_KEY);
    for (size_t i = 0, step; i < key.len; i += step) {
        struct slice rest = slice_skip(key, i);
        step = utf8_step(rest);
        if (!step || utf8_control((struct slice){rest.ptr, step}))
            return err_set(e, ERR_CONFIG, "the name of an object is not UTF-8, or has a control character in it");
    }
    for (struct slice rest = key; rest.ptr;) {
        struct slice part = slice_cut(&rest, '/');
        if (slice_is(part, ".") || slice_is(part, ".."))
            return err_set(e, ERR_CONFIG, "the name of an object has a part \"%.*s\", which programs on the way would resolve",
                           SLICE_ARG(part));
    }
    return !slice_empty(key) || err_set(e, ERR_CONFIG, "the name of an object is missing: SCHEME://BUCKET/NAME");
}

static bool is_bucket(struct slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool inner = i > 0 && i + 1 < name.len && (c == '-' || c == '.' || c == '_');
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && !inner)
            return false;
    }
    return name.len >= 3 && name.len <= 63;
}

/* Cuts "CONTAINER@ACCOUNT.dfs.DOMAIN" into its parts. */
static bool cut_account(struct cloud_place *out)
{
    struct slice host = out->bucket, rest;
    out->bucket = slice_cut(&host, '@');
    rest = host;
    out->account = slice_cut(&rest, '.');
    out->domain = slice_starts(rest, SLICE("dfs.")) ? slice_skip(rest, 4) : SLICE("");
    return net_is_host(host) && !slice_empty(out->account) && !slice_empty(out->domain);
}

bool cloud_place(struct slice url, struct cloud_place *out, struct err *e)
{
    static const struct {
        const char *scheme;
        const struct cloud_protocol *protocol;
        bool account;
    } schemes[] = {{"s3", &cloud_s3, false}, {"gs", &cloud_gcs, false}, {"azure", &cloud_azure, false}, {"abfss", &cloud_azure, true}};
    ptrdiff_t at = slice_find_text(url, "://");
    struct slice scheme = slice_head(url, at < 0 ? 0 : (size_t)at), rest = slice_skip(url, at < 0 ? 0 : (size_t)at + 3);
    *out = (struct cloud_place){.bucket = slice_cut(&rest, '/'), .account = SLICE(""), .domain = SLICE("")};
    out->key = rest.ptr ? rest : SLICE("");
    bool well = false;
    for (size_t i = 0; i < COUNT_OF(schemes); i++)
        if (slice_is(scheme, schemes[i].scheme)) {
            out->protocol = schemes[i].protocol;
            well = !schemes[i].account || cut_account(out);
        }
    if (!well || !is_bucket(out->bucket))
        return err_set(e, ERR_CONFIG,
                       "\"%.*s\" is not the URL of a bucket: want s3://BUCKET[/NAME], gs://BUCKET[/NAME], azure://CONTAINER[/NAME] or "
                       "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net[/NAME], with a bucket of 3 to 63 letters, digits, dots and hyphens",
                       SLICE_ARG(slice_head(url, 128)));
    return slice_empty(out->key) || cloud_key(out->key, e);
}

/* ---- partitions of AWS ---- */

/* https://docs.aws.amazon.com/general/latest/gr/rande.html; the last row is the one of all other regions. */
static const struct {
    const char *region, *partition, *domain;
} partitions[] = {{"cn-", "aws-cn", "amazonaws.com.cn"}, {"us-gov-", "aws-us-gov", "amazonaws.com"}, {"", "aws", "amazonaws.com"}};

static size_t partition_of(struct slice region)
{
    size_t i = 0;
    while (!slice_starts(region, slice_of(partitions[i].region)))
        i++;
    return i;
}

const char *cloud_partition(struct slice region)
{
    return partitions[partition_of(region)].partition;
}

struct slice cloud_aws_host(const char *service, struct slice region, struct arena *a)
{
    return arena_printf(a, "%s.%.*s.%s", service, SLICE_ARG(region), partitions[partition_of(region)].domain);
}
