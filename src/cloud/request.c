/* Writes the client's HTTP requests: calls to the store, signed URLs, and requests for credentials of AWS. */
#include "store.h"

enum { VALID_S = 3600 /* requested lifetime of an assumed role's credentials */ };

/* ---- credentials ---- */

/* Keeps credentials that were fetched, until they expire. False: they do not fit, which keys_fit has checked. */
static bool keep_keys(struct cloud_store *s, const struct cloud_keys *k, int64_t expires_us)
{
    struct cloud_fetched *to = &s->keys;
    to->expires_us = expires_us == TIME_NEVER ? TIME_NEVER - 1 : expires_us; /* TIME_NEVER: those of the settings */
    return slice_copy(k->id, to->id, sizeof to->id) && slice_copy(k->secret, to->secret, sizeof to->secret) &&
           slice_copy(k->session.ptr ? k->session : SLICE(""), to->session, sizeof to->session);
}

bool cloud_credentials_due(const struct cloud_store *s, struct now now)
{
    int64_t expires_us = s->keys.expires_us;
    return expires_us != TIME_NEVER && !s->keys.fresh && expires_us <= now.wall_us + s->skew_us + (int64_t)CLOUD_RENEW_S * 1000000;
}

static bool take_credentials(struct cloud_store *s, struct now now, struct err *e)
{
    struct cloud_keys k;
    int64_t expires_us;
    (void)now;
    s->keys.fresh = cloud_credentials_read(buf_slice(&s->answer), &s->a, &k, &expires_us, e) && keep_keys(s, &k, expires_us);
    return s->keys.fresh;
}

bool cloud_pod_token(struct cloud_store *s, struct slice *token, struct err *e)
{
    const struct cloud_surroundings *from = s->o.from;
    struct slice file = s->o.settings.token_file;
    *token = SLICE("");
    if (!slice_empty(file) && !from->read(from->owner, file, &s->a, token, e))
        return err_wrap(e, "the pod's identity token cannot be read");
    *token = slice_trim(*token);
    return true;
}

/* AssumeRoleWithWebIdentity: the pod's token authenticates the request, which is therefore not signed. */
static bool write_role(struct cloud_store *s, struct now now, struct err *e)
{
    const struct cloud_settings *o = &s->o.settings;
    __attribute__((cleanup(buf_free))) struct buf body = {.max = 4 * LIMIT_HTTP_HEAD};
    const struct http_header type = {SLICE("Content-Type"), SLICE("application/x-www-form-urlencoded")};
    struct slice token;
    (void)now;
    if (!cloud_pod_token(s, &token, e))
        return false;
    buf_printf(&body, "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&DurationSeconds=%d&RoleSessionName=", VALID_S);
    http_percent_encode(slice_empty(o->session_name) ? SLICE("mobula") : o->session_name, &body);
    buf_put(&body, SLICE("&RoleArn="));
    http_percent_encode(o->role, &body);
    buf_put(&body, SLICE("&WebIdentityToken="));
    http_percent_encode(token, &body);
    struct slice text = buf_slice(&body), path = arena_printf(&s->a, "%.*s/", SLICE_ARG(s->o.identity.path));
    bool well = !body.full && http_write_request(&s->head, SLICE("POST"), path, s->o.identity.authority, &type, 1, &text);
    mem_wipe(body.ptr, body.len);
    return well || err_set(e, ERR_CONFIG, "AWS_ROLE_ARN or the token of AWS_WEB_IDENTITY_TOKEN_FILE is too long for a request to STS");
}

/* The EKS Pod Identity agent. */
static bool write_pod(struct cloud_store *s, struct now now, struct err *e)
{
    struct slice token;
    (void)now;
    if (!cloud_pod_token(s, &token, e))
        return false;
    const struct http_header given = {SLICE("Authorization"), token};
    return http_write_request(&s->head, SLICE("GET"), s->o.identity.path, s->o.identity.authority, &given, !slice_empty(token), NULL) ||
           err_set(e, ERR_CONFIG, "the URL or its token is too long, or has a control character");
}

const struct cloud_errand *cloud_errand_aws(const struct cloud_store *s, struct now now)
{
    static const struct cloud_errand role = {"new credentials", NULL, CLOUD_TO_IDENTITY, write_role, take_credentials},
                                     pod = {"new credentials", NULL, CLOUD_TO_IDENTITY, write_pod, take_credentials};
    return !cloud_credentials_due(s, now) ? NULL : slice_empty(s->o.settings.role) ? &pod : &role;
}

/* ---- calls to the store ---- */

/* TLS protects the content of a body. Without it a body is signed, at once if its hash is known, else in chunks; to a store on this
 * machine the latter are not needed. */
static bool is_chunked(const struct cloud_store *s)
{
    return s->call.read && s->call.size && slice_empty(s->call.sha256) && !s->o.store.at.tls && !s->o.near && s->o.protocol == &cloud_s3;
}

static void fill_request(struct cloud_store *s, const struct cloud_call *c, struct cloud_request *r)
{
    const struct cloud_host *h = &s->o.store;
    const char *bucket = s->o.path_style ? "/" : "";
    *r = (struct cloud_request){.method = slice_of(c->method),
                                .host = h->authority,
                                .path = arena_printf(&s->a, "%.*s%s%.*s/%.*s", SLICE_ARG(h->path), bucket,
                                                     SLICE_ARG(slice_head(s->o.bucket, s->o.path_style ? s->o.bucket.len : 0)),
                                                     SLICE_ARG(c->key)),
                                .query_count = c->query_count,
                                .header_count = c->header_count,
                                .size = c->size,
                                .payload = !c->size                  ? SLICE(CLOUD_NO_BODY)
                                           : !slice_empty(c->sha256) ? c->sha256
                                           : is_chunked(s)           ? SLICE(CLOUD_CHUNKED)
                                                                     : SLICE(CLOUD_UNSIGNED)};
    memcpy(r->query, c->query, sizeof c->query);
    memcpy(r->headers, c->headers, sizeof c->headers);
}

static struct cloud_signer signer_of(const struct cloud_store *s, int64_t wall_us)
{
    const struct cloud_fetched *k = &s->keys;
    bool fixed = k->expires_us == TIME_NEVER;
    return (struct cloud_signer){.keys = fixed ? s->o.settings.keys
                                               : (struct cloud_keys){slice_of(k->id), slice_of(k->secret), slice_of(k->session)},
                                 .bearer = !fixed && s->o.protocol != &cloud_s3,
                                 .delegation = &k->delegation,
                                 .region = slice_of(s->region),
                                 .service = slice_of(s->o.service                  ? s->o.service
                                                     : s->o.protocol == &cloud_gcs ? "storage"
                                                                                   : "s3"),
                                 .wall_us = wall_us + s->skew_us};
}

/* ---- bodies in signed chunks: "SIZE;chunk-signature=SIGNATURE", the bytes, and at the end a chunk of none ---- */

enum { FRAME = sizeof "0;chunk-signature=\r\n\r\n" - 1 + TLS_SHA256_HEX - 1 /* bytes around a chunk whose size has one digit */ };

static uint64_t framed(uint64_t size)
{
    uint64_t more = FRAME;
    for (uint64_t rest = size; rest > 15; rest >>= 4)
        more++;
    return size + more;
}

static int64_t chunked_size(uint64_t size)
{
    uint64_t rest = size % CLOUD_CHUNK;
    return (int64_t)(size / CLOUD_CHUNK * framed(CLOUD_CHUNK) + (rest ? framed(rest) : 0) + framed(0));
}

bool cloud_request_chunk(struct cloud_store *s, struct err *e)
{
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    const struct cloud_signer signer = signer_of(s, s->signed_us);
    size_t n;
    buf_clear(&s->head);
    do {
        uint64_t left = s->call.size - s->sent;
        n = left < CLOUD_CHUNK ? (size_t)left : CLOUD_CHUNK;
        buf_printf(&s->head, "%zx;chunk-signature=%s\r\n", n, s->signature);
        char *room = buf_room(&s->head, n + 2);
        if (!s->call.read(s->call.owner, s->sent, room, n, e))
            return false;
        cloud_sign_chunk(&signer, (struct slice){room, n}, s->signature, &a);
        memcpy(room - 2 - (TLS_SHA256_HEX - 1), s->signature, TLS_SHA256_HEX - 1);
        s->head.len += n;
        buf_put(&s->head, SLICE("\r\n"));
        s->sent += n;
    } while (n && s->sent == s->call.size);
    s->unsent = buf_slice(&s->head);
    return true;
}

bool cloud_request_write(struct cloud_store *s, struct now now, struct err *e)
{
    const struct cloud_call *c = &s->call;
    int64_t size = (int64_t)c->size;
    bool chunked = is_chunked(s);
    struct cloud_request r;
    if (!slice_empty(c->url)) {
        struct slice rest = slice_skip(c->url, (size_t)slice_find_text(c->url, "://") + 3);
        rest = slice_skip(rest, (size_t)slice_find(rest, '/'));
        return http_write_request_head(&s->head, slice_of(c->method), rest, s->o.store.authority, c->headers, c->header_count, -1) ||
               err_set(e, ERR_LIMIT, "the signed URL has more than %d bytes (LIMIT_HTTP_URL)", LIMIT_HTTP_URL);
    }
    fill_request(s, c, &r);
    if (c->from + s->got) {
        r.headers[r.header_count++] =
            (struct http_header){SLICE("Range"), arena_printf(&s->a, "bytes=%llu-", (unsigned long long)(c->from + s->got))};
        if (s->got && s->etag[0])
            r.headers[r.header_count++] = (struct http_header){SLICE("If-Match"), slice_of(s->etag)};
    }
    if (chunked) {
        size = chunked_size(c->size);
        r.headers[r.header_count++] = (struct http_header){SLICE("Content-Encoding"), SLICE("aws-chunked")};
        r.headers[r.header_count++] =
            (struct http_header){SLICE("X-Amz-Decoded-Content-Length"), arena_printf(&s->a, "%llu", (unsigned long long)c->size)};
    }
    const struct cloud_signer signer = signer_of(s, now.wall_us);
    s->o.protocol->sign(&r, &signer, &s->a);
    if (chunked) {
        struct slice value = r.headers[r.header_count - 1].value;
        memcpy(s->signature, value.ptr + value.len - (TLS_SHA256_HEX - 1), TLS_SHA256_HEX); /* with its end: texts of an arena have one */
        s->signed_us = now.wall_us;
    }
    if (s->o.protocol == &cloud_gcs) /* else it decompresses objects on the way; not signed, because proxies change it */
        r.headers[r.header_count++] = (struct http_header){SLICE("Accept-Encoding"), SLICE("gzip")};
    bool body = slice_is(r.method, "PUT") || slice_is(r.method, "POST");
    return http_write_request_head(&s->head, r.method, cloud_target(&r, &s->a), r.host, r.headers, r.header_count, body ? size : -1) ||
           err_set(e, ERR_LIMIT, "the request is too long: shorten the object's name, or get a shorter session token");
}

/* ---- signed URLs ---- */

struct cloud_signer cloud_url_begin(struct cloud_store *s, int64_t max_s, struct now now, struct cloud_request *r)
{
    fill_request(s, &s->call, r);
    s->url_s = s->call.sign_s < max_s ? s->call.sign_s : max_s;
    return signer_of(s, now.wall_us);
}

void cloud_url_end(struct cloud_store *s, const struct cloud_request *r)
{
    s->url =
        arena_printf(&s->a, "%s://%.*s%.*s", s->o.store.at.tls ? "https" : "http", SLICE_ARG(r->host), SLICE_ARG(cloud_target(r, &s->a)));
}
