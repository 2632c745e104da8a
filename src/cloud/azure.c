/* Azure Blob Storage: SharedKey signatures, service SAS for signed URLs, and a SAS token in the place of a key. Blobs are uploaded in
 * blocks. https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key, …/create-service-sas */
#include "store.h"

#include <stdlib.h>

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

/* `se` of a SAS token: a date, a minute or a second. */
static int64_t token_until(const struct cloud_keys *k, struct arena *a)
{
    struct slice rest = k->session;
    int64_t us = TIME_NEVER;
    while (!slice_empty(rest)) {
        struct slice value = slice_cut(&rest, '&'), name = slice_cut(&value, '='), text;
        if (!slice_is(name, "se") || !http_query_decode(value, a, &text))
            continue;
        const char *more = text.len == 10 ? "T00:00:00Z" : text.len == 17 ? ":00Z" : "";
        text = arena_printf(a, "%.*s%s", SLICE_ARG(*more == ':' ? slice_head(text, 16) : text), more);
        us = time_parse(text, &us, NULL) ? us : TIME_NEVER;
    }
    return us;
}

static void sign(struct cloud_request *r, const struct cloud_signer *s, struct arena *a)
{
    char date[HTTP_DATE];
    add_header(r, "x-ms-version", SLICE(CLOUD_AZURE_VERSION));
    if (s->bearer) {
        add_header(r, "Authorization", arena_printf(a, "Bearer %.*s", SLICE_ARG(s->keys.session)));
        return;
    }
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

/* Appends texts of a delegation's key, each with a newline. */
static void put_delegation(const struct cloud_delegation *d, struct buf *out)
{
    for (int i = 0; i < CLOUD_DELEGATION_VALUE; i++)
        buf_printf(out, "%s\n", d->texts[i]);
}

/* The path of a blob in a SAS: without the account that an emulator has in its paths. */
static struct slice sas_path(const struct cloud_request *r, struct slice account, struct arena *a)
{
    struct slice front = arena_printf(a, "/%.*s/", SLICE_ARG(account));
    return slice_starts(r->path, front) ? slice_skip(r->path, front.len - 1) : r->path;
}

/* A SAS of the service, signed by the account's key, or one of the user that a bearer's delegation is for. */
static void sign_url(struct cloud_request *r, const struct cloud_signer *s, int64_t seconds, struct arena *a)
{
    static const char *const names[] = {"skoid", "sktid", "skt", "ske", "sks", "skv"};
    __attribute__((cleanup(buf_free))) struct buf b = {.max = TEXT_MAX};
    char until[TIME_TEXT_MAX];
    struct slice expires = arena_dup(a, time_format((s->wall_us / 1000000 + seconds) * 1000000, until));
    const struct http_header given[] = {
        {SLICE("sv"), SLICE(CLOUD_AZURE_VERSION)}, {SLICE("sr"), SLICE("b")}, {SLICE("sp"), SLICE("r")}, {SLICE("se"), expires}};
    if (!slice_empty(s->keys.session) && !s->bearer) {
        add_token(r, s->keys.session, a);
        return;
    }
    struct slice path = sas_path(r, s->keys.id, a);
    buf_printf(&b, "r\n\n%.*s\n/blob/%.*s%.*s\n", SLICE_ARG(expires), SLICE_ARG(s->keys.id), SLICE_ARG(path));
    if (s->bearer)
        put_delegation(s->delegation, &b);
    else
        buf_putc(&b, '\n');
    buf_put(&b, SLICE("\n\n" CLOUD_AZURE_VERSION "\nb\n\n\n\n\n\n"));
    for (size_t i = 0; i < COUNT_OF(given); i++)
        add_query(r, given[i].name, given[i].value);
    for (int i = 0; i < CLOUD_DELEGATION_VALUE && s->bearer; i++)
        add_query(r, slice_of(names[i]), slice_of(s->delegation->texts[i]));
    struct slice key = s->bearer ? slice_of(s->delegation->texts[CLOUD_DELEGATION_VALUE]) : s->keys.secret;
    add_query(r, SLICE("sig"), sign_text(key, buf_slice(&b), a));
}

/* ---- settings ---- */

static struct slice get(const struct cloud_surroundings *from, const char *name)
{
    return slice_trim(from->get(from->owner, name));
}

/* Entra ID, in exchange for the pod's token, or the managed identity of the machine. */
static bool read_identity(const struct cloud_surroundings *from, struct arena *a, struct cloud_settings *out, struct err *e)
{
    struct slice tenant = get(from, "AZURE_TENANT_ID"), host = get(from, "AZURE_AUTHORITY_HOST");
    out->token_file = get(from, "AZURE_FEDERATED_TOKEN_FILE");
    out->role = get(from, "AZURE_CLIENT_ID");
    if (slice_empty(out->token_file)) {
        host = get(from, "AZURE_POD_IDENTITY_AUTHORITY_HOST");
        out->identity = slice_empty(host) ? SLICE("http://169.254.169.254") : host;
        out->source = "the managed identity: no AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or AZURE_FEDERATED_TOKEN_FILE is set";
        return true;
    }
    host = slice_empty(host) ? SLICE("https://login.microsoftonline.com/") : host;
    out->source = "AZURE_FEDERATED_TOKEN_FILE";
    out->identity = arena_printf(a, "%.*s%s%.*s", SLICE_ARG(host), slice_ends(host, SLICE("/")) ? "" : "/", SLICE_ARG(tenant));
    return (!slice_empty(tenant) && !slice_empty(out->role)) ||
           err_set(e, ERR_CONFIG,
                   "AZURE_FEDERATED_TOKEN_FILE is set without AZURE_CLIENT_ID or AZURE_TENANT_ID: annotate the pod's service account with "
                   "azure.workload.identity/client-id");
}

static bool read_settings(const struct cloud_surroundings *from, struct arena *a, struct cloud_settings *out, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf key = {.max = LIMIT_CLOUD_SECRET};
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
    if (slice_empty(out->keys.secret))
        return read_identity(from, a, out, e);
    if (slice_empty(out->keys.id))
        return err_set(e, ERR_CONFIG, "AZURE_STORAGE_KEY is set without AZURE_STORAGE_ACCOUNT: set both");
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

/* Blocks that are not part of a blob yet belong to no upload, so their ids say which one sent them: the number, then a hash of the upload's
 * id. All blocks of a blob have ids of the same length; those of older versions are six digits. */
enum { BLOCK_ID = 6 };

static void write_id(uint32_t number, struct slice upload, char out[BLOCK_ID])
{
    uint64_t id = (uint64_t)number << 32 | (uint32_t)hash64(upload, 0);
    for (int i = BLOCK_ID; i-- > 0; id >>= 8)
        out[i] = (char)id;
}

static struct slice block_id(uint32_t number, struct slice upload, struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf b = {.max = 64};
    char id[BLOCK_ID];
    write_id(number, upload, id);
    base64_encode((struct slice){id, sizeof id}, &b);
    return arena_dup(a, buf_slice(&b));
}

static uint32_t block_number(struct slice name, struct slice upload)
{
    __attribute__((cleanup(buf_free))) struct buf b = {.max = 64};
    char id[BLOCK_ID];
    if (!base64_decode(name, &b, &(struct err){0}) || b.len != BLOCK_ID)
        return 0;
    uint32_t number = (uint32_t)(unsigned char)b.ptr[0] << 8 | (unsigned char)b.ptr[1];
    write_id(number, upload, id);
    return memcmp(id, b.ptr, BLOCK_ID) == 0 && number <= LIMIT_CLOUD_PARTS ? number : 0;
}

static void part(struct cloud_call *c, struct slice upload, uint32_t number, struct arena *a)
{
    cloud_add_query(c, "comp", SLICE("block"));
    cloud_add_query(c, "blockid", block_id(number, upload, a));
}

static void put_part(struct buf *out, struct slice upload, uint32_t number, const char *etag, struct arena *a)
{
    (void)etag;
    buf_printf(out, "<Latest>%.*s</Latest>", SLICE_ARG(block_id(number, upload, a)));
}

static void parts(struct cloud_call *c, struct slice upload)
{
    (void)upload;
    cloud_add_query(c, "comp", SLICE("blocklist"));
    cloud_add_query(c, "blocklisttype", SLICE("uncommitted"));
}

static void complete(struct cloud_call *c, struct slice upload)
{
    (void)upload;
    c->method = "PUT";
    cloud_add_query(c, "comp", SLICE("blocklist"));
}

static const struct cloud_upload upload = {.root = "BlockList",
                                           .no_etag = true,
                                           .metadata_last = true,
                                           .part = part,
                                           .put_part = put_part,
                                           .parts = parts,
                                           .number = block_number,
                                           .complete = complete};

const struct cloud_protocol cloud_azure = {
    .scheme = "azure",
    .sha256 = "x-ms-meta-sha256",
    .crc32c = "x-ms-meta-crc32c",
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
    .keys_until = token_until,
    .upload = &upload,
    .errand = cloud_errand_azure,
};
