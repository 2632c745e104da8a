/* Azure Blob Storage: SharedKey signatures, service SAS for signed URLs, and a SAS token in the place of a key. Blobs are uploaded in
 * blocks. https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key, …/create-service-sas */
#include "store.h"

#include <stdlib.h>

#define VERSION "2018-11-09" /* of the protocol and of SAS */
enum { TEXT_MAX = 64 * KIB };

/* ---- signatures ---- */

static struct slice sign_text(struct slice key64, struct slice text, struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf key = {.max = LIMIT_CLOUD_SECRET}, out = {.max = LIMIT_CLOUD_SECRET};
    char mac[TLS_MAC];
    base64_decode(key64, &key, &(struct err){0}); /* checked when the settings were read */
    tls_mac(buf_slice(&key), text, mac);
    base64_encode((struct slice){mac, TLS_MAC}, &out);
    if (key.ptr)
        mem_wipe(key.ptr, key.cap);
    return arena_dup(a, buf_slice(&out));
}

static int by_name(const void *x, const void *y)
{
    const struct http_header *a = x, *b = y;
    return slice_cmp(a->name, b->name);
}

static struct slice header_of(const struct cloud_request *r, const char *name)
{
    for (uint32_t i = 0; i < r->header_count; i++)
        if (slice_eq_nocase(r->headers[i].name, slice_of(name)))
            return r->headers[i].value;
    return SLICE("");
}

/* Appends "name:value\n" of the headers that begin with x-ms-, sorted by name. */
static void put_headers(const struct cloud_request *r, struct arena *a, struct buf *out)
{
    struct http_header list[CLOUD_HEADERS] = {0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->header_count; i++)
        if (slice_starts(slice_lower(r->headers[i].name, a), SLICE("x-ms-")))
            list[count++] = (struct http_header){slice_lower(r->headers[i].name, a), r->headers[i].value};
    qsort(list, count, sizeof list[0], by_name);
    for (uint32_t i = 0; i < count; i++)
        buf_printf(out, "%.*s:%.*s\n", SLICE_ARG(list[i].name), SLICE_ARG(slice_trim(list[i].value)));
}

/* Appends "/ACCOUNT/PATH" and "\nname:value" of the query, sorted by name. */
static void put_resource(const struct cloud_request *r, struct slice account, struct arena *a, struct buf *out)
{
    struct http_header list[CLOUD_QUERY] = {0};
    struct cloud_request path = {.path = r->path};
    if (r->query_count) {
        memcpy(list, r->query, r->query_count * sizeof list[0]);
        qsort(list, r->query_count, sizeof list[0], by_name);
    }
    buf_printf(out, "/%.*s%.*s", SLICE_ARG(account), SLICE_ARG(cloud_target(&path, a)));
    for (uint32_t i = 0; i < r->query_count; i++)
        buf_printf(out, "\n%.*s:%.*s", SLICE_ARG(list[i].name), SLICE_ARG(list[i].value));
}

struct slice cloud_azure_text(const struct cloud_request *r, struct slice account, struct arena *a)
{
    static const char *const headers[] = {
        "Content-Encoding", "Content-Language",    NULL,   "Content-MD5", "Content-Type", "Date", "If-Modified-Since", "If-Match",
        "If-None-Match",    "If-Unmodified-Since", "Range"};
    __attribute__((cleanup(buf_free))) struct buf b = {.max = TEXT_MAX};
    buf_printf(&b, "%.*s\n", SLICE_ARG(r->method));
    for (size_t i = 0; i < COUNT_OF(headers); i++)
        if (headers[i])
            buf_printf(&b, "%.*s\n", SLICE_ARG(header_of(r, headers[i])));
        else if (r->size)
            buf_printf(&b, "%llu\n", (unsigned long long)r->size);
        else
            buf_putc(&b, '\n');
    put_headers(r, a, &b);
    put_resource(r, account, a, &b);
    return arena_dup(a, buf_slice(&b));
}

static void add_header(struct cloud_request *r, const char *name, struct slice value)
{
    r->headers[r->header_count++] = (struct http_header){slice_of(name), value};
}

static void add_query(struct cloud_request *r, struct slice name, struct slice value)
{
    r->query[r->query_count++] = (struct http_header){name, value};
}

/* The parameters of a SAS token, decoded, join the request's own. */
static void add_token(struct cloud_request *r, struct slice token, struct arena *a)
{
    token = slice_starts(token, SLICE("?")) ? slice_skip(token, 1) : token;
    while (!slice_empty(token) && r->query_count < CLOUD_QUERY) {
        struct slice value = slice_cut(&token, '&'), name = slice_cut(&value, '='), plain;
        if (http_query_decode(value, a, &plain))
            add_query(r, name, plain);
    }
}

static void sign(struct cloud_request *r, const struct cloud_signer *s, struct arena *a)
{
    char date[HTTP_DATE];
    add_header(r, "x-ms-version", SLICE(VERSION));
    if (!slice_empty(s->keys.session)) {
        add_token(r, s->keys.session, a);
        return;
    }
    http_date_write(s->wall_us, date);
    add_header(r, "x-ms-date", arena_dup(a, slice_of(date)));
    struct slice text = cloud_azure_text(r, s->keys.id, a);
    add_header(r, "Authorization",
               arena_printf(a, "SharedKey %.*s:%.*s", SLICE_ARG(s->keys.id), SLICE_ARG(sign_text(s->keys.secret, text, a))));
}

/* The path of a blob in a SAS: without the account that an emulator has in its paths. */
static void sign_url(struct cloud_request *r, const struct cloud_signer *s, int64_t seconds, struct arena *a)
{
    char until[TIME_TEXT_MAX];
    struct slice expires = arena_dup(a, time_format((s->wall_us / 1000000 + seconds) * 1000000, until)), path = r->path;
    struct slice account = arena_printf(a, "/%.*s/", SLICE_ARG(s->keys.id));
    if (!slice_empty(s->keys.session)) {
        add_token(r, s->keys.session, a);
        return;
    }
    if (slice_starts(path, account))
        path = slice_skip(path, account.len - 1);
    struct slice text = arena_printf(a, "r\n\n%.*s\n/blob/%.*s%.*s\n\n\n\n" VERSION "\nb\n\n\n\n\n\n", SLICE_ARG(expires),
                                     SLICE_ARG(s->keys.id), SLICE_ARG(path));
    const struct http_header given[] = {
        {SLICE("sv"), SLICE(VERSION)}, {SLICE("sr"), SLICE("b")}, {SLICE("sp"), SLICE("r")}, {SLICE("se"), expires}};
    for (size_t i = 0; i < COUNT_OF(given); i++)
        add_query(r, given[i].name, given[i].value);
    add_query(r, SLICE("sig"), sign_text(s->keys.secret, text, a));
}

/* ---- settings ---- */

static struct slice get(const struct cloud_surroundings *from, const char *name)
{
    return slice_trim(from->get(from->owner, name));
}

static bool read_settings(const struct cloud_surroundings *from, struct arena *a, struct cloud_settings *out, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf key = {.max = LIMIT_CLOUD_SECRET};
    (void)a;
    *out = (struct cloud_settings){
        .keys = {get(from, "AZURE_STORAGE_ACCOUNT"), get(from, "AZURE_STORAGE_KEY"), get(from, "AZURE_STORAGE_SAS_TOKEN")},
        .endpoint = get(from, "AZURE_STORAGE_BLOB_ENDPOINT"),
        .region = SLICE("auto")};
    bool token = slice_empty(out->keys.secret) && !slice_empty(out->keys.session);
    out->source = token ? "AZURE_STORAGE_SAS_TOKEN" : "AZURE_STORAGE_KEY";
    if (token)
        return out->keys.session.len <= LIMIT_CLOUD_TOKEN ||
               err_set(e, ERR_LIMIT, "AZURE_STORAGE_SAS_TOKEN has more than %d bytes (LIMIT_CLOUD_TOKEN)", LIMIT_CLOUD_TOKEN);
    out->keys.session = SLICE("");
    if (slice_empty(out->keys.id) || slice_empty(out->keys.secret))
        return err_set(e, ERR_CONFIG,
                       "no credentials for azure://: set AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY, or AZURE_STORAGE_SAS_TOKEN "
                       "(workload identity is not supported yet)");
    bool well = out->keys.secret.len <= LIMIT_CLOUD_SECRET && base64_decode(out->keys.secret, &key, &(struct err){0});
    if (key.ptr)
        mem_wipe(key.ptr, key.cap);
    return well || err_set(e, ERR_CONFIG, "AZURE_STORAGE_KEY is not an account key: base64 of at most %d bytes (LIMIT_CLOUD_SECRET)",
                           LIMIT_CLOUD_SECRET);
}

/* ---- calls ---- */

static void list(struct cloud_call *c, struct slice prefix, bool deep, struct slice more)
{
    cloud_add_query(c, "restype", SLICE("container"));
    cloud_add_query(c, "comp", SLICE("list"));
    cloud_add_query(c, "prefix", prefix);
    cloud_add_query(c, "maxresults", SLICE(CLOUD_PAGE));
    if (!deep)
        cloud_add_query(c, "delimiter", SLICE("/"));
    if (!slice_empty(more))
        cloud_add_query(c, "marker", more);
}

static void put(struct cloud_call *c)
{
    cloud_add_header(c, "x-ms-blob-type", SLICE("BlockBlob"));
}

/* All blocks of a blob have ids of the same length. */
static struct slice block_id(uint32_t number, struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf b = {.max = 64};
    base64_encode(arena_printf(a, "%06u", number), &b);
    return arena_dup(a, buf_slice(&b));
}

static void part(struct cloud_call *c, struct slice upload, uint32_t number, struct arena *a)
{
    (void)upload;
    cloud_add_query(c, "comp", SLICE("block"));
    cloud_add_query(c, "blockid", block_id(number, a));
}

static void put_part(struct buf *out, uint32_t number, const char *etag, struct arena *a)
{
    (void)etag;
    buf_printf(out, "<Latest>%.*s</Latest>", SLICE_ARG(block_id(number, a)));
}

static void complete(struct cloud_call *c, struct slice upload)
{
    (void)upload;
    c->method = "PUT";
    cloud_add_query(c, "comp", SLICE("blocklist"));
}

static const struct cloud_upload upload = {
    .root = "BlockList", .no_etag = true, .metadata_last = true, .part = part, .put_part = put_part, .complete = complete};

const struct cloud_protocol cloud_azure = {
    .scheme = "azure",
    .sha256 = "x-ms-meta-sha256",
    .size = "x-ms-meta-size",
    .absent = {SLICE("If-None-Match"), SLICE("*")},
    .rights = {[CLOUD_READ] = "role Storage Blob Data Reader (SAS: r)",
               [CLOUD_LIST] = "role Storage Blob Data Reader (SAS: l)",
               [CLOUD_WRITE] = "role Storage Blob Data Contributor (SAS: cw)",
               [CLOUD_DELETE] = "role Storage Blob Data Contributor (SAS: d)",
               [CLOUD_ABORT] = "role Storage Blob Data Contributor (SAS: d)"},
    .resource = "container ",
    .settings = read_settings,
    .list = list,
    .list_read = cloud_list_read,
    .put = put,
    .sign = sign,
    .sign_url = sign_url,
    .upload = &upload,
};
