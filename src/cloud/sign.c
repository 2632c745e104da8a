/* Signature Version 4 of AWS (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html) and of Google Cloud Storage
 * (https://cloud.google.com/storage/docs/authentication/signatures), which differ in names and in the key. Paths are encoded once and not
 * normalized, as object stores require. */
#include "store.h"

#include <stdlib.h>

enum { DATE = 8, TEXT_MAX = 256 * KIB };

struct words {
    const char *algorithm, *prefix, *end; /* end: of the scope */
    bool rsa;
};
static const struct words of_aws = {"AWS4-HMAC-SHA256", "X-Amz-", "aws4_request", false},
                          of_google = {"GOOG4-RSA-SHA256", "X-Goog-", "goog4_request", true};

/* ---- encoding of path and query ---- */

static void encode_path(struct slice path, struct buf *out)
{
    while (path.ptr) {
        http_percent_encode(slice_cut(&path, '/'), out);
        if (path.ptr)
            buf_putc(out, '/');
    }
}

static int by_name(const void *x, const void *y)
{
    const struct http_header *a = x, *b = y;
    int order = slice_cmp(a->name, b->name);
    return order ? order : slice_cmp(a->value, b->value);
}

static struct slice encode(struct slice text, struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf b = {.max = TEXT_MAX};
    http_percent_encode(text, &b);
    return arena_dup(a, buf_slice(&b));
}

/* The query, encoded and sorted by name. */
static void encode_query(const struct cloud_request *r, struct arena *a, struct buf *out)
{
    struct http_header list[CLOUD_QUERY] = {{SLICE_NONE, SLICE_NONE}};
    for (uint32_t i = 0; i < r->query_count; i++)
        list[i] = (struct http_header){encode(r->query[i].name, a), encode(r->query[i].value, a)};
    qsort(list, r->query_count, sizeof list[0], by_name);
    for (uint32_t i = 0; i < r->query_count; i++)
        buf_printf(out, "%s%.*s=%.*s", i ? "&" : "", SLICE_ARG(list[i].name), SLICE_ARG(list[i].value));
}

struct slice cloud_target(const struct cloud_request *r, struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf b = {.max = TEXT_MAX};
    encode_path(r->path, &b);
    if (r->query_count)
        buf_putc(&b, '?');
    encode_query(r, a, &b);
    return arena_dup(a, buf_slice(&b));
}

/* ---- canonical request and signature ---- */

/* Appends the canonical header value: trimmed, each run of blanks replaced by one. */
static void put_squeezed(struct slice value, struct buf *out)
{
    char before = ' ';
    value = slice_trim(value);
    for (size_t i = 0; i < value.len; i++) {
        char c = value.ptr[i] == '\t' ? ' ' : value.ptr[i];
        if (c != ' ' || before != ' ')
            buf_putc(out, c);
        before = c;
    }
}

struct canonical {
    struct http_header headers[CLOUD_HEADERS + 1]; /* sorted, names in lower case; Host is one of them */
    uint32_t count;
    struct slice names; /* "a;b" */
    char stamp[CLOUD_STAMP];
    struct slice scope;
};

static void put_names(const struct canonical *c, struct buf *out)
{
    for (uint32_t i = 0; i < c->count; i++)
        buf_printf(out, "%s%.*s", i ? ";" : "", SLICE_ARG(c->headers[i].name));
}

static void sort_headers(const struct cloud_request *r, struct canonical *c, struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf names = {.max = TEXT_MAX};
    c->headers[0] = (struct http_header){SLICE("host"), r->host};
    for (uint32_t i = 0; i < r->header_count; i++)
        c->headers[i + 1] = (struct http_header){slice_lower(r->headers[i].name, a), r->headers[i].value};
    c->count = r->header_count + 1;
    qsort(c->headers, c->count, sizeof c->headers[0], by_name);
    put_names(c, &names);
    c->names = arena_dup(a, buf_slice(&names));
}

void cloud_stamp(int64_t wall_us, char stamp[CLOUD_STAMP])
{
    char text[TIME_TEXT_MAX];
    struct slice time = time_format(wall_us, text); /* 2013-05-24T00:00:00Z */
    size_t n = 0;
    for (size_t i = 0; i < time.len && n < CLOUD_STAMP - 1; i++)
        if (time.ptr[i] != '-' && time.ptr[i] != ':')
            stamp[n++] = time.ptr[i];
    stamp[n] = '\0';
}

static void begin(struct canonical *c, const struct words *w, const struct cloud_signer *s, struct arena *a)
{
    cloud_stamp(s->wall_us, c->stamp);
    c->scope = arena_printf(a, "%.*s/%.*s/%.*s/%s", DATE, c->stamp, SLICE_ARG(s->region), SLICE_ARG(s->service), w->end);
}

static struct slice mac(struct slice key, struct slice text, char out[TLS_MAC])
{
    tls_mac(key, text, out);
    return (struct slice){out, TLS_MAC};
}

static void sign_hmac(const struct cloud_signer *s, const char *stamp, struct slice text, char hex[TLS_SHA256_HEX])
{
    char key[TLS_MAC], secret[4 + LIMIT_CLOUD_SECRET + 1];
    memcpy(secret, "AWS4", 4);
    memcpy(secret + 4, s->keys.secret.ptr, s->keys.secret.len);
    struct slice k = mac((struct slice){secret, 4 + s->keys.secret.len}, (struct slice){stamp, DATE}, key);
    k = mac(mac(mac(k, s->region, key), s->service, key), SLICE("aws4_request"), key);
    hex_encode(mac(k, text, key), hex);
    mem_wipe(secret, sizeof secret);
    mem_wipe(key, sizeof key);
}

/* The string to sign. */
static struct slice text_of(const struct cloud_request *r, const struct canonical *c, const struct words *w, struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf b = {.max = TEXT_MAX};
    char hex[TLS_SHA256_HEX];
    buf_printf(&b, "%.*s\n", SLICE_ARG(r->method));
    encode_path(r->path, &b);
    buf_putc(&b, '\n');
    encode_query(r, a, &b);
    buf_putc(&b, '\n');
    for (uint32_t i = 0; i < c->count; i++) {
        buf_printf(&b, "%.*s:", SLICE_ARG(c->headers[i].name));
        put_squeezed(c->headers[i].value, &b);
        buf_putc(&b, '\n');
    }
    buf_printf(&b, "\n%.*s\n%.*s", SLICE_ARG(c->names), SLICE_ARG(r->payload));
    tls_sha256_hex(buf_slice(&b), hex);
    return arena_printf(a, "%s\n%s\n%.*s\n%s", w->algorithm, c->stamp, SLICE_ARG(c->scope), hex);
}

static struct slice sign_rsa(struct slice key, struct slice text, struct arena *a)
{
    char signature[TLS_RSA_MAX], hex[2 * TLS_RSA_MAX + 1];
    size_t len;
    if (!tls_rsa_sign(key, text, signature, &len, &(struct err){0})) /* checked when the settings were read */
        len = 0;
    hex_encode((struct slice){signature, len}, hex);
    return arena_dup(a, slice_of(hex));
}

static struct slice sign(const struct cloud_request *r, const struct canonical *c, const struct words *w, const struct cloud_signer *s,
                         struct arena *a)
{
    char hex[TLS_SHA256_HEX];
    struct slice text = text_of(r, c, w, a);
    if (w->rsa)
        return sign_rsa(s->keys.secret, text, a);
    sign_hmac(s, c->stamp, text, hex);
    return arena_dup(a, slice_of(hex));
}

/* ---- signed headers and signed URLs ---- */

static void add(struct http_header *list, uint32_t *count, struct slice name, struct slice value)
{
    list[(*count)++] = (struct http_header){name, value};
}

void cloud_sign(struct cloud_request *r, const struct cloud_signer *s, struct arena *a)
{
    struct canonical c;
    begin(&c, &of_aws, s, a);
    add(r->headers, &r->header_count, SLICE("X-Amz-Date"), arena_dup(a, slice_of(c.stamp)));
    if (slice_is(s->service, "s3"))
        add(r->headers, &r->header_count, SLICE("X-Amz-Content-Sha256"), r->payload);
    if (!slice_empty(s->keys.session))
        add(r->headers, &r->header_count, SLICE("X-Amz-Security-Token"), s->keys.session);
    sort_headers(r, &c, a);
    add(r->headers, &r->header_count, SLICE("Authorization"),
        arena_printf(a, "AWS4-HMAC-SHA256 Credential=%.*s/%.*s, SignedHeaders=%.*s, Signature=%.*s", SLICE_ARG(s->keys.id),
                     SLICE_ARG(c.scope), SLICE_ARG(c.names), SLICE_ARG(sign(r, &c, &of_aws, s, a))));
}

void cloud_sign_chunk(const struct cloud_signer *s, struct slice chunk, char signature[TLS_SHA256_HEX], struct arena *a)
{
    struct canonical c;
    char hex[TLS_SHA256_HEX];
    begin(&c, &of_aws, s, a);
    tls_sha256_hex(chunk, hex);
    sign_hmac(
        s, c.stamp,
        arena_printf(a, "%s-PAYLOAD\n%s\n%.*s\n%s\n" CLOUD_NO_BODY "\n%s", of_aws.algorithm, c.stamp, SLICE_ARG(c.scope), signature, hex),
        signature);
}

/* Adds the query of a signed URL, but for the signature. */
static void begin_query(struct cloud_request *r, const struct words *w, const struct cloud_signer *s, int64_t seconds, struct canonical *c,
                        struct arena *a)
{
    begin(c, w, s, a);
    sort_headers(r, c, a);
    if (!slice_is(s->service, "sts")) /* its requests have no body */
        r->payload = SLICE(CLOUD_UNSIGNED);
    const struct http_header given[] = {{SLICE("Algorithm"), slice_of(w->algorithm)},
                                        {SLICE("Credential"), arena_printf(a, "%.*s/%.*s", SLICE_ARG(s->keys.id), SLICE_ARG(c->scope))},
                                        {SLICE("Date"), arena_dup(a, slice_of(c->stamp))},
                                        {SLICE("Expires"), arena_printf(a, "%lld", (long long)seconds)},
                                        {SLICE("SignedHeaders"), c->names},
                                        {SLICE("Security-Token"), w->rsa ? SLICE("") : s->keys.session}};
    for (size_t i = 0; i < COUNT_OF(given); i++)
        if (!slice_empty(given[i].value))
            add(r->query, &r->query_count, arena_printf(a, "%s%.*s", w->prefix, SLICE_ARG(given[i].name)), given[i].value);
}

static void sign_query(struct cloud_request *r, const struct words *w, const struct cloud_signer *s, int64_t seconds, struct arena *a)
{
    struct canonical c;
    begin_query(r, w, s, seconds, &c, a);
    struct slice signature = sign(r, &c, w, s, a);
    add(r->query, &r->query_count, arena_printf(a, "%sSignature", w->prefix), signature);
}

void cloud_sign_query(struct cloud_request *r, const struct cloud_signer *s, int64_t seconds, struct arena *a)
{
    sign_query(r, &of_aws, s, seconds, a);
}

void cloud_sign_google(struct cloud_request *r, const struct cloud_signer *s, int64_t seconds, struct arena *a)
{
    sign_query(r, &of_google, s, seconds, a);
}

struct slice cloud_google_text(struct cloud_request *r, const struct cloud_signer *s, int64_t seconds, struct arena *a)
{
    struct canonical c;
    begin_query(r, &of_google, s, seconds, &c, a);
    return text_of(r, &c, &of_google, a);
}
