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

static void begin(struct cloud_call *c)
{
    cloud_add_query(c, "uploads", SLICE(""));
}

static void part(struct cloud_call *c, struct slice upload, uint32_t number, struct arena *a)
{
    cloud_add_query(c, "partNumber", arena_printf(a, "%u", number));
    cloud_add_query(c, "uploadId", upload);
}

static void put_part(struct buf *out, struct slice id, uint32_t number, const char *etag, struct arena *a)
{
    (void)id;
    (void)a;
    buf_printf(out, "<Part><PartNumber>%u</PartNumber><ETag>%s</ETag></Part>", number, etag);
}

static void parts(struct cloud_call *c, struct slice upload)
{
    cloud_add_query(c, "uploadId", upload);
}

static uint32_t number(struct slice name, struct slice id)
{
    int64_t n;
    (void)id;
    return slice_int(name, &n) && n > 0 && n <= LIMIT_CLOUD_PARTS ? (uint32_t)n : 0;
}

static void complete(struct cloud_call *c, struct slice upload)
{
    c->method = "POST";
    parts(c, upload);
}

static const struct cloud_upload upload = {.root = "CompleteMultipartUpload",
                                           .begin = begin,
                                           .part = part,
                                           .put_part = put_part,
                                           .parts = parts,
                                           .number = number,
                                           .complete = complete};

const struct cloud_protocol cloud_s3 = {
    .scheme = "s3",
    .sha256 = "x-amz-meta-sha256",
    .crc32c = "x-amz-meta-crc32c",
    .size = "x-amz-meta-size",
    .absent = {SLICE("If-None-Match"), SLICE("*")},
    .rights = {[CLOUD_READ] = "s3:GetObject",
               [CLOUD_LIST] = "s3:ListBucket",
               [CLOUD_WRITE] = "s3:PutObject",
               [CLOUD_DELETE] = "s3:DeleteObject",
               [CLOUD_ABORT] = "s3:AbortMultipartUpload"},
    .settings = cloud_settings_read,
    .list = list,
    .list_read = cloud_list_read,
    .sign = cloud_sign,
    .sign_url = cloud_sign_query,
    .upload = &upload,
    .errand = cloud_errand_aws,
};

void cloud_add_header(struct cloud_call *c, const char *name, struct slice value)
{
    c->headers[c->header_count++] = (struct http_header){slice_of(name), value};
}

void cloud_add_query(struct cloud_call *c, const char *name, struct slice value)
{
    c->query[c->query_count++] = (struct http_header){slice_of(name), value};
}
