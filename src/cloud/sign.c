/* AWS Signature Version 4: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html. Paths are encoded once and not
 * normalized, as S3 requires. */
#include <mobula/cloud.h>

#include <mobula/tls.h>

#include <stdlib.h>

enum { TEXT_MAX = 64 * KIB, STAMP = sizeof "20130524T000000Z", DATE = 8 };

/* ---- encoding of path and query ---- */

static struct slice encode_path(struct slice path, struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf b = {.max = TEXT_MAX};
    while (path.ptr) {
        http_percent_encode(slice_cut(&path, '/'), &b);
        if (path.ptr)
            buf_putc(&b, '/');
    }
    return arena_dup(a, buf_slice(&b));
}

static struct slice encode(struct slice text, struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf b = {.max = TEXT_MAX};
    http_percent_encode(text, &b);
    return arena_dup(a, buf_slice(&b));
}

static int by_name(const void *x, const void *y)
{
    const struct http_header *a = x, *b = y;
    int order = slice_cmp(a->name, b->name);
    return order ? order : slice_cmp(a->value, b->value);
}

static struct slice encode_query(const struct cloud_request *r, struct arena *a)
{
    struct http_header list[CLOUD_QUERY] = {{SLICE_NONE, SLICE_NONE}};
    struct slice text = SLICE("");
    for (uint32_t i = 0; i < r->query_count; i++)
        list[i] = (struct http_header){encode(r->query[i].name, a), encode(r->query[i].value, a)};
    qsort(list, r->query_count, sizeof list[0], by_name);
    for (uint32_t i = 0; i < r->query_count; i++)
        text = arena_printf(a, "%.*s%s%.*s=%.*s", SLICE_ARG(text), i ? "&" : "", SLICE_ARG(list[i].name), SLICE_ARG(list[i].value));
    return text;
}

struct slice cloud_target(const struct cloud_request *r, struct arena *a)
{
    return arena_printf(a, "%.*s%s%.*s", SLICE_ARG(encode_path(r->path, a)), r->query_count ? "?" : "", SLICE_ARG(encode_query(r, a)));
}

/* ---- canonical request and signature ---- */

/* The canonical header value: trimmed, each run of blanks replaced by one. */
static struct slice squeeze(struct slice value, struct arena *a)
{
    struct slice out = arena_dup(a, slice_trim(value));
    char *to = (char *)(uintptr_t)out.ptr;
    size_t n = 0;
    for (size_t i = 0; i < out.len; i++)
        if (out.ptr[i] != ' ' || out.ptr[i - 1] != ' ')
            to[n++] = out.ptr[i];
    return (struct slice){to, n};
}

/* The canonical headers: "name:value\n" of each, sorted by name. *names: their names as "a;b". */
static struct slice signed_headers(const struct cloud_request *r, struct slice *names, struct arena *a)
{
    struct http_header list[CLOUD_HEADERS + 1];
    struct slice text = SLICE("");
    uint32_t count = 0;
    list[count++] = (struct http_header){SLICE("host"), r->host};
    for (uint32_t i = 0; i < r->header_count; i++)
        list[count++] = (struct http_header){slice_lower(r->headers[i].name, a), squeeze(r->headers[i].value, a)};
    qsort(list, count, sizeof list[0], by_name);
    *names = SLICE("");
    for (uint32_t i = 0; i < count; i++) {
        text = arena_printf(a, "%.*s%.*s:%.*s\n", SLICE_ARG(text), SLICE_ARG(list[i].name), SLICE_ARG(list[i].value));
        *names = arena_printf(a, "%.*s%s%.*s", SLICE_ARG(*names), i ? ";" : "", SLICE_ARG(list[i].name));
    }
    return text;
}

static struct slice mac(struct slice key, struct slice text, char out[TLS_MAC])
{
    tls_mac(key, text, out);
    return (struct slice){out, TLS_MAC};
}

static struct slice scope_of(const struct cloud_signer *s, const char *stamp, struct arena *a)
{
    return arena_printf(a, "%.*s/%.*s/%.*s/aws4_request", DATE, stamp, SLICE_ARG(s->region), SLICE_ARG(s->service));
}

static struct slice signature(const struct cloud_request *r, const struct cloud_signer *s, const char *stamp, struct slice headers,
                              struct slice names, struct arena *a)
{
    char hex[TLS_SHA256_HEX], key[TLS_MAC], secret[4 + LIMIT_CLOUD_SECRET + 1];
    struct slice request = arena_printf(a, "%.*s\n%.*s\n%.*s\n%.*s\n%.*s\n%.*s", SLICE_ARG(r->method), SLICE_ARG(encode_path(r->path, a)),
                                        SLICE_ARG(encode_query(r, a)), SLICE_ARG(headers), SLICE_ARG(names), SLICE_ARG(r->payload));
    tls_sha256_hex(request, hex);
    struct slice text = arena_printf(a, "AWS4-HMAC-SHA256\n%s\n%.*s\n%s", stamp, SLICE_ARG(scope_of(s, stamp, a)), hex);
    memcpy(secret, "AWS4", 4);
    memcpy(secret + 4, s->keys.secret.ptr, s->keys.secret.len);
    struct slice k = mac((struct slice){secret, 4 + s->keys.secret.len}, (struct slice){stamp, DATE}, key);
    k = mac(mac(mac(k, s->region, key), s->service, key), SLICE("aws4_request"), key);
    hex_encode(mac(k, text, key), hex);
    mem_wipe(secret, sizeof secret);
    mem_wipe(key, sizeof key);
    return arena_dup(a, slice_of(hex));
}

/* ---- signed headers and signed URLs ---- */

static void write_stamp(int64_t wall_us, char stamp[STAMP])
{
    char text[TIME_TEXT_MAX];
    struct slice time = time_format(wall_us, text); /* 2013-05-24T00:00:00Z */
    size_t n = 0;
    for (size_t i = 0; i < time.len && n < STAMP - 1; i++)
        if (time.ptr[i] != '-' && time.ptr[i] != ':')
            stamp[n++] = time.ptr[i];
    stamp[n] = '\0';
}

static void add(struct http_header *list, uint32_t *count, const char *name, struct slice value)
{
    list[(*count)++] = (struct http_header){slice_of(name), value};
}

void cloud_sign(struct cloud_request *r, const struct cloud_signer *s, struct arena *a)
{
    char stamp[STAMP];
    struct slice names;
    write_stamp(s->wall_us, stamp);
    add(r->headers, &r->header_count, "X-Amz-Date", arena_dup(a, slice_of(stamp)));
    if (slice_is(s->service, "s3"))
        add(r->headers, &r->header_count, "X-Amz-Content-Sha256", r->payload);
    if (!slice_empty(s->keys.session))
        add(r->headers, &r->header_count, "X-Amz-Security-Token", s->keys.session);
    struct slice headers = signed_headers(r, &names, a);
    add(r->headers, &r->header_count, "Authorization",
        arena_printf(a, "AWS4-HMAC-SHA256 Credential=%.*s/%.*s, SignedHeaders=%.*s, Signature=%.*s", SLICE_ARG(s->keys.id),
                     SLICE_ARG(scope_of(s, stamp, a)), SLICE_ARG(names), SLICE_ARG(signature(r, s, stamp, headers, names, a))));
}

void cloud_sign_query(struct cloud_request *r, const struct cloud_signer *s, int64_t seconds, struct arena *a)
{
    char stamp[STAMP];
    struct slice names, headers = signed_headers(r, &names, a);
    write_stamp(s->wall_us, stamp);
    r->payload = SLICE(CLOUD_UNSIGNED);
    add(r->query, &r->query_count, "X-Amz-Algorithm", SLICE("AWS4-HMAC-SHA256"));
    add(r->query, &r->query_count, "X-Amz-Credential",
        arena_printf(a, "%.*s/%.*s", SLICE_ARG(s->keys.id), SLICE_ARG(scope_of(s, stamp, a))));
    add(r->query, &r->query_count, "X-Amz-Date", arena_dup(a, slice_of(stamp)));
    add(r->query, &r->query_count, "X-Amz-Expires", arena_printf(a, "%lld", (long long)seconds));
    add(r->query, &r->query_count, "X-Amz-SignedHeaders", names);
    if (!slice_empty(s->keys.session))
        add(r->query, &r->query_count, "X-Amz-Security-Token", s->keys.session);
    add(r->query, &r->query_count, "X-Amz-Signature", signature(r, s, stamp, headers, names, a));
}
