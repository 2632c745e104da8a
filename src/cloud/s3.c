/* S3's protocol: what its calls have in their query and headers. */
#include "store.h"

static void list(struct cloud_call *c, struct slice prefix, bool deep, struct slice more)
{
    cloud_add_query(c, "list-type", SLICE("2"));
    cloud_add_query(c, "encoding-type", SLICE("url"));
    cloud_add_query(c, "prefix", prefix);
    cloud_add_query(c, "max-keys", SLICE(CLOUD_PAGE));
    if (!deep)
        cloud_add_query(c, "delimiter", SLICE("/"));
    if (!slice_empty(more))
        cloud_add_query(c, "continuation-token", more);
}

const struct cloud_protocol cloud_s3 = {
    .scheme = "s3",
    .sha256 = "x-amz-meta-sha256",
    .size = "x-amz-meta-size",
    .absent = {SLICE("If-None-Match"), SLICE("*")},
    .rights = {[CLOUD_READ] = "s3:GetObject",
               [CLOUD_LIST] = "s3:ListBucket",
               [CLOUD_WRITE] = "s3:PutObject",
               [CLOUD_DELETE] = "s3:DeleteObject",
               [CLOUD_ABORT] = "s3:AbortMultipartUpload"},
    .list = list,
    .list_read = cloud_list_read,
};

void cloud_add_header(struct cloud_call *c, const char *name, struct slice value)
{
    c->headers[c->header_count++] = (struct http_header){slice_of(name), value};
}

void cloud_add_query(struct cloud_call *c, const char *name, struct slice value)
{
    c->query[c->query_count++] = (struct http_header){slice_of(name), value};
}
