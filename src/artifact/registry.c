#include <mobula/artifact.h>
#include <mobula/command.h>
#include <mobula/http.h>
#include <mobula/json.h>
#include <mobula/tls.h>

#include <stdio.h>
#include <stdlib.h>

enum { PIECE = 4 * MIB, WORDS = 120, DEPTH_MAX = 3, BLOCK = 512 };
#define DIGEST "sha256:"

struct registry {
    struct link_owner owner; /* first */
    struct registry_options o;
    struct arena a;
    struct net_allow *allow;
    struct loop *loop;
    struct tls_trust *trust;
    struct endpoint at;
    struct net_proxy proxy;
    struct slice authority, prefix; /* HOST[:PORT]; "" or "a/b/" */
    struct slice basic, bearer;     /* values of Authorization; bearer: what the token server gave last, and then it counts */
    /* one request */
    struct slice unsent;
    struct http_reader reader;
    struct buf body;
    char location[LIMIT_HTTP_URL], challenge[LIMIT_HTTP_URL];
    struct err *e;
    bool over, told; /* told: it was printed that an answer is late */
};

/* ---- archives: only names and contents of regular files count ---- */

static bool octal(const char *field, size_t size, size_t *out)
{
    *out = 0;
    for (size_t i = 0; i < size && field[i] >= '0' && field[i] <= '7'; i++)
        *out = *out * 8 + (size_t)(field[i] - '0');
    return (field[0] & 0x80) == 0; /* else it is larger than 8 GiB */
}

struct slice tar_find(struct slice tar, struct slice name)
{
    enum { NAME_SIZE = 100, SIZE_AT = 124, SIZE_SIZE = 12, TYPE_AT = 156 };
    size_t size;
    while (tar.len >= BLOCK && tar.ptr[0] != '\0') {
        struct slice found = {tar.ptr, strnlen(tar.ptr, NAME_SIZE)};
        char type = tar.ptr[TYPE_AT];
        if (!octal(tar.ptr + SIZE_AT, SIZE_SIZE, &size) || size > tar.len - BLOCK)
            return SLICE_NONE;
        tar = slice_skip(tar, BLOCK);
        if (slice_starts(found, SLICE("./")))
            found = slice_skip(found, 2);
        if ((type == '0' || type == '\0') && slice_eq(found, name))
            return slice_head(tar, size);
        size_t padded = (size + BLOCK - 1) / BLOCK * BLOCK;
        tar = slice_skip(tar, padded < tar.len ? padded : tar.len);
    }
    return SLICE_NONE;
}

bool image_name_split(struct slice text, struct slice *name, struct slice *tag)
{
    text = slice_cut(&text, '@');
    struct slice last = text;
    while (text.ptr)
        last = slice_cut(&text, '/');
    *name = slice_cut(&last, ':');
    *tag = last;
    return !slice_empty(*name) && !slice_empty(*tag);
}

/* ---- one request ---- */

static void end(struct registry *r, struct link *l)
{
    link_close(l);
    r->over = true;
}

static void on_link(struct link_owner *owner, struct link *l, struct now now)
{
    struct registry *r = (struct registry *)owner;
    (void)now;
    if (l->state == LINK_OPENING)
        return;
    if (l->state == LINK_OPEN)
        link_put(l, &r->unsent);
    for (;;) {
        struct slice in = link_peek(l), piece;
        size_t had = in.len;
        enum http_step step = http_read(&r->reader, &in, &piece, r->e);
        if (step == HTTP_HEAD) {
            slice_copy(http_header_get(&r->reader, SLICE("location")), r->location, sizeof r->location);
            slice_copy(http_header_get(&r->reader, SLICE("www-authenticate")), r->challenge, sizeof r->challenge);
        }
        if (step == HTTP_BODY)
            buf_put(&r->body, piece);
        link_used(l, had - in.len);
        if (step == HTTP_END || step == HTTP_BAD) {
            end(r, l);
            return;
        }
        if (step == HTTP_MORE)
            break;
    }
    if (l->state == LINK_OPEN)
        return;
    if (l->state == LINK_FAILED)
        *r->e = l->error;
    else if (http_read_end(&r->reader, r->e) == HTTP_MORE)
        err_set(r->e, ERR_CLOSED, "it closed the connection without an answer");
    end(r, l);
}

/* To whom, as whom, what. */
struct request {
    const struct endpoint *at;
    struct slice authority, authorization;
    const char *method;
    struct slice target, type, range; /* range: of a piece of a blob */
    const struct slice *body;
};

/* The answer's status; 0 with *e when there is none. */
static int ask_once(struct registry *r, const struct request *q, struct err *e)
{
    struct http_header headers[4] = {{SLICE("Connection"), SLICE("close")}};
    size_t count = 1;
    __attribute__((cleanup(buf_free))) struct buf request;
    buf_init(&request, PIECE + LIMIT_HTTP_HEAD);
    if (!slice_empty(q->authorization))
        headers[count++] = (struct http_header){SLICE("Authorization"), q->authorization};
    if (!slice_empty(q->type))
        headers[count++] = (struct http_header){SLICE("Content-Type"), q->type};
    if (!slice_empty(q->range))
        headers[count++] = (struct http_header){SLICE("Content-Range"), q->range};
    if (!http_write_request(&request, slice_of(q->method), q->target, q->authority, headers, count, q->body)) {
        err_set(e, ERR_CONFIG, "%s %.*s: no request can be made of it", q->method, SLICE_ARG(slice_head(q->target, WORDS)));
        return 0;
    }
    struct now now = clock_now();
    struct net *net = loop_net(r->loop);
    r->unsent = buf_slice(&request);
    r->e = e;
    r->over = false;
    r->location[0] = r->challenge[0] = '\0';
    buf_clear(&r->body);
    http_reader_free(&r->reader);
    http_reader_init(&r->reader, HTTP_RESPONSES);
    if (strcmp(q->method, "HEAD") == 0)
        http_reader_expect_no_body(&r->reader);
    if (!net_open(net, q->at, &r->owner, now.mono_ms + r->o.timeout_ms, e))
        return 0;
    int64_t hint_ms = r->told ? TIME_NEVER : now.mono_ms + CLI_HINT_MS;
    while (!r->over) {
        now = loop_wait(r->loop, hint_ms);
        if (now.mono_ms >= hint_ms) {
            cli_say_silent(arena_printf(&r->a, "%.*s: ", SLICE_ARG(q->authority)), SLICE("no answer so far"), r->o.timeout_ms);
            r->told = true;
            hint_ms = TIME_NEVER;
        }
        if (loop_signal(r->loop))
            exit(STATUS_ERROR); /* blobs that have been sent need not be sent again */
        net_dispatch(net, now);
    }
    return e->code == ERR_NONE ? r->reader.status : 0;
}

/* ---- tokens: 401 with WWW-Authenticate: Bearer realm="URL",service="…",scope="…" ---- */

/* The value of NAME="…" in a challenge. */
static struct slice parameter(struct slice challenge, const char *name)
{
    ptrdiff_t at = slice_find_text(challenge, name);
    struct slice value = at < 0 ? SLICE_NONE : slice_skip(challenge, (size_t)at + strlen(name));
    return slice_head(value, slice_find(value, '"') < 0 ? 0 : (size_t)slice_find(value, '"'));
}

static bool load_trust(struct registry *r, struct err *e);

/* Gets one of the token server that the registry names. User and password go there, so not in the clear, unless the registry itself is
 * spoken to so. */
static bool get_token(struct registry *r, struct err *e)
{
    struct slice challenge = arena_dup(&r->a, slice_of(r->challenge)), realm = parameter(challenge, "realm=\""), rest;
    struct request q = {.method = "GET", .authorization = r->basic};
    struct endpoint at = {.tls = false};
    struct net_proxy proxy;
    struct json doc;
    __attribute__((cleanup(buf_free))) struct buf query;
    buf_init(&query, LIMIT_HTTP_URL);
    if (!net_url(realm, &at, &q.authority, &rest) || (r->at.tls && !at.tls))
        return err_set(e, ERR_STATUS, "it wants a token of a server that is not one: \"%.*s\"", SLICE_ARG(slice_head(realm, WORDS)));
    buf_printf(&query, "/%.*s%cservice=", SLICE_ARG(rest), slice_find(rest, '?') < 0 ? '?' : '&');
    http_percent_encode(parameter(challenge, "service=\""), &query);
    buf_put(&query, SLICE("&scope="));
    http_percent_encode(parameter(challenge, "scope=\""), &query);
    q.target = buf_slice(&query);
    q.at = &at;
    if ((at.tls && !r->trust && !load_trust(r, e)) || !way_find(r->allow, &at, &proxy, "--to", &r->a, e))
        return false;
    at.trust = r->trust;
    int status = ask_once(r, &q, e);
    if (status == 0)
        return err_wrap(e, "its token server %.*s", SLICE_ARG(q.authority));
    if (status != 200)
        return err_set(e, ERR_STATUS, "its token server %.*s: %d %s: give --registry-user and --registry-password-file of one who may push",
                       SLICE_ARG(q.authority), status, http_status_text(status));
    if (!json_parse(&doc, arena_dup(&r->a, buf_slice(&r->body)), &r->a, e))
        return err_wrap(e, "its token server %.*s", SLICE_ARG(q.authority));
    struct slice token = json_get_str(json_root(&doc), "token", &r->a);
    if (slice_empty(token))
        token = json_get_str(json_root(&doc), "access_token", &r->a);
    r->bearer = arena_printf(&r->a, "Bearer %.*s", SLICE_ARG(token));
    return !slice_empty(token) || err_set(e, ERR_STATUS, "its token server %.*s gave no token", SLICE_ARG(q.authority));
}

/* The answer's status; 0 with *e when there is none. A token is for one repository and a few minutes: another one is got where the registry
 * asks for it. */
static int talk(struct registry *r, const char *method, struct slice target, struct slice type, struct slice range,
                const struct slice *body, struct err *e)
{
    struct request q = {&r->at, r->authority, r->bearer.ptr ? r->bearer : r->basic, method, target, type, range, body};
    int status = ask_once(r, &q, e);
    if (status != 401 || !slice_eq_nocase(slice_head(slice_of(r->challenge), 7), SLICE("Bearer ")))
        return status;
    if (!get_token(r, e))
        return 0;
    q.authorization = r->bearer;
    return ask_once(r, &q, e);
}

/* The message of the registry's answer, and the remedy. */
static bool refused(const struct registry *r, int status, const char *what, struct err *e)
{
    char words[WORDS];
    utf8_clean(buf_slice(&r->body), words, sizeof words);
    if (e->code != ERR_NONE)
        return err_wrap(e, "%.*s: %s%s", SLICE_ARG(r->authority), what, e->code == ERR_TIMEOUT ? " (--timeout gives it longer)" : "");
    const char *remedy = status == 301 || status == 308
                             ? ": it has moved: give the address that it names, such as https:// instead of http://"
                         : status == 401 || status == 403 ? ": give --registry-user and --registry-password-file of one who may push"
                         : status == 413 ? ": a proxy before it takes no body of 4 MiB: raise its limit (client_max_body_size)"
                         : status == 404 ? ": no registry at this address, or no such project"
                         : status >= 500 ? ": try again later; what was sent is not sent again"
                                         : "";
    return err_set(e, ERR_STATUS, "%.*s: %s: %d %s%s (%s)", SLICE_ARG(r->authority), what, status, http_status_text(status), remedy, words);
}

/* ---- blobs and manifests ---- */

struct push {
    struct registry *r;
    struct slice tar, name; /* the repository: "prefix/mobula" */
    struct arena *a;
};

/* The bytes of a descriptor, held against it. */
static bool blob_of(const struct push *p, struct jval descriptor, struct slice *digest, struct slice *out, struct err *e)
{
    char hex[TLS_SHA256_HEX];
    *digest = json_get_str(descriptor, "digest", p->a);
    if (!slice_starts(*digest, SLICE(DIGEST)))
        return err_set(e, ERR_SYNTAX, "a descriptor has no SHA-256 digest");
    struct slice name = slice_skip(*digest, strlen(DIGEST));
    *out = tar_find(p->tar, arena_printf(p->a, "blobs/sha256/%.*s", SLICE_ARG(name)));
    if (!out->ptr)
        return err_set(e, ERR_MISSING, "it has no blob %.*s", SLICE_ARG(*digest));
    tls_sha256_hex(*out, hex);
    return slice_eq(slice_of(hex), name) || err_set(e, ERR_SYNTAX, "blob %.*s is another one: the archive is damaged", SLICE_ARG(*digest));
}

/* Where the next request of an upload goes: a path here, or a URL of this registry. */
static bool next_place(const struct push *p, struct slice *out, struct err *e)
{
    struct slice at = slice_of(p->r->location);
    ptrdiff_t scheme = slice_find_text(at, "://");
    if (scheme >= 0 && at.ptr[0] != '/') {
        at = slice_skip(at, (size_t)scheme + 3);
        if (!slice_starts(at, p->r->authority))
            return err_set(e, ERR_DENIED, "it sends uploads to another host: %.*s", SLICE_ARG(slice_head(at, WORDS)));
        at = slice_skip(at, p->r->authority.len);
    }
    *out = arena_dup(p->a, at);
    return slice_starts(at, SLICE("/")) || err_set(e, ERR_STATUS, "it does not say where an upload goes (no Location)");
}

/* In pieces, each with its place in the blob. `at`: where the upload ends. */
static bool push_pieces(const struct push *p, struct slice bytes, struct slice *at, struct err *e)
{
    for (size_t from = 0; !slice_empty(bytes);) {
        struct slice piece = slice_head(bytes, PIECE);
        if (!next_place(p, at, e))
            return false;
        struct slice range = arena_printf(p->a, "%zu-%zu", from, from + piece.len - 1);
        int status = talk(p->r, "PATCH", *at, SLICE("application/octet-stream"), range, &piece, e);
        if (status != 202)
            return refused(p->r, status, "sending a blob", e);
        from += piece.len;
        bytes = slice_skip(bytes, piece.len);
    }
    return next_place(p, at, e);
}

static bool push_blob(const struct push *p, struct jval descriptor, struct err *e)
{
    struct slice digest, bytes, at, none = SLICE("");
    if (!blob_of(p, descriptor, &digest, &bytes, e))
        return false;
    struct slice path = arena_printf(p->a, "/v2/%.*s/blobs/", SLICE_ARG(p->name));
    int status = talk(p->r, "HEAD", arena_printf(p->a, "%.*s%.*s", SLICE_ARG(path), SLICE_ARG(digest)), SLICE_NONE, SLICE_NONE, NULL, e);
    if (status == 200 || status == 302 || status == 307) /* with blobs in object storage: it says where this one lies */
        return true;
    if (status != 404)
        return refused(p->r, status, "looking for a blob", e);
    status = talk(p->r, "POST", arena_printf(p->a, "%.*suploads/", SLICE_ARG(path)), SLICE_NONE, SLICE_NONE, &none, e);
    if (status != 202)
        return refused(p->r, status, "beginning an upload", e);
    if (!push_pieces(p, bytes, &at, e))
        return false;
    const char *sign = slice_find(at, '?') >= 0 ? "&" : "?";
    struct slice end = arena_printf(p->a, "%.*s%sdigest=%.*s", SLICE_ARG(at), sign, SLICE_ARG(digest));
    status = talk(p->r, "PUT", end, SLICE_NONE, SLICE_NONE, &none, e);
    return status == 201 || refused(p->r, status, "ending an upload", e);
}

static bool push_manifest(const struct push *p, struct jval descriptor, struct slice tag, int depth, struct err *e);

/* The blobs that a manifest needs come before it. */
static bool push_parts(const struct push *p, struct jval manifest, int depth, struct err *e)
{
    struct jval none, one;
    for (struct jiter it = json_iter(json_get(manifest, "manifests")); json_next(&it, &none, &one);)
        if (!push_manifest(p, one, SLICE_NONE, depth + 1, e))
            return false;
    for (struct jiter it = json_iter(json_get(manifest, "layers")); json_next(&it, &none, &one);)
        if (!push_blob(p, one, e))
            return false;
    return !json_there(json_get(manifest, "config")) || push_blob(p, json_get(manifest, "config"), e);
}

static bool push_manifest(const struct push *p, struct jval descriptor, struct slice tag, int depth, struct err *e)
{
    struct json *doc = arena_new(p->a, struct json);
    struct slice digest, bytes;
    if (depth == DEPTH_MAX)
        return err_set(e, ERR_SYNTAX, "indexes in indexes");
    if (!blob_of(p, descriptor, &digest, &bytes, e) || !json_parse(doc, bytes, p->a, e) || !push_parts(p, json_root(doc), depth, e))
        return false;
    struct slice reference = slice_empty(tag) ? digest : tag;
    struct slice path = arena_printf(p->a, "/v2/%.*s/manifests/%.*s", SLICE_ARG(p->name), SLICE_ARG(reference));
    int status = talk(p->r, "PUT", path, json_get_str(descriptor, "mediaType", p->a), SLICE_NONE, &bytes, e);
    return status == 201 || refused(p->r, status, "sending a manifest", e);
}

bool registry_push(struct registry *r, struct slice tar, const char *name, struct buf *out, struct err *e)
{
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    struct json *doc = arena_new(&a, struct json);
    struct slice index = tar_find(tar, SLICE("index.json"));
    struct jval none, one;
    if (!index.ptr)
        return err_set(e, ERR_SYNTAX, "%s: no index.json: want an OCI archive (skopeo copy … oci-archive:FILE:NAME:TAG)", name);
    if (!json_parse(doc, index, &a, e))
        return err_wrap(e, "%s: index.json", name);
    if (json_len(json_get(json_root(doc), "manifests")) == 0)
        return err_set(e, ERR_SYNTAX, "%s: there is no image in it", name);
    for (struct jiter it = json_iter(json_get(json_root(doc), "manifests")); json_next(&it, &none, &one);) {
        struct jval notes = json_get(one, "annotations");
        struct slice full = json_str(json_key(notes, SLICE("io.containerd.image.name")), &a), image, tag;
        if (slice_empty(full))
            full = json_str(json_key(notes, SLICE("org.opencontainers.image.ref.name")), &a);
        if (!image_name_split(full, &image, &tag))
            return err_set(e, ERR_SYNTAX, "%s: an image has no NAME:TAG in index.json: copy it with skopeo to oci-archive:FILE:NAME:TAG",
                           name);
        struct push p = {r, tar, arena_printf(&a, "%.*s%.*s", SLICE_ARG(r->prefix), SLICE_ARG(image)), &a};
        if (!push_manifest(&p, one, tag, 0, e))
            return err_wrap(e, "%s", name);
        buf_printf(out, "%.*s/%.*s:%.*s@%.*s\n", SLICE_ARG(r->authority), SLICE_ARG(p.name), SLICE_ARG(tag),
                   SLICE_ARG(json_get_str(one, "digest", &a)));
    }
    return true;
}

/* ---- the registry ---- */

bool registry_is_url(struct slice to)
{
    return slice_starts(to, SLICE("http://")) || slice_starts(to, SLICE("https://"));
}

static bool read_url(struct registry *r, struct err *e)
{
    struct slice rest;
    if (!net_url(r->o.to, &r->at, &r->authority, &rest) || !net_is_host(r->at.host))
        return err_set(e, ERR_CONFIG, "--to: want http[s]://HOST[:PORT][/PREFIX], without a user");
    if (slice_ends(rest, SLICE("/")))
        rest.len--;
    r->prefix = slice_empty(rest) ? SLICE("") : arena_printf(&r->a, "%.*s/", SLICE_ARG(rest));
    return true;
}

static bool load_trust(struct registry *r, struct err *e)
{
    r->trust = r->at.trust = way_trust(r->o.ca, "--registry-ca", &r->a, e);
    return r->trust != NULL;
}

static bool set_basic(struct registry *r, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf plain, encoded;
    buf_init(&plain, LIMIT_HTTP_HEAD);
    buf_init(&encoded, LIMIT_HTTP_HEAD);
    if (slice_empty(r->o.user))
        return true;
    buf_printf(&plain, "%.*s:%.*s", SLICE_ARG(r->o.user), SLICE_ARG(slice_trim(r->o.password)));
    bool fits = base64_encode(buf_slice(&plain), &encoded);
    r->basic = arena_printf(&r->a, "Basic %.*s", SLICE_ARG(buf_slice(&encoded)));
    mem_wipe(plain.ptr, plain.len);
    return fits || err_set(e, ERR_LIMIT, "--registry-user and its password do not fit in a request");
}

struct registry *registry_open(const struct registry_options *o, struct err *e)
{
    struct registry *r = mem_alloc(sizeof *r);
    r->o = *o;
    r->owner.step = on_link;
    r->allow = net_allow_new();
    buf_init(&r->body, LIMIT_HTTP_HEAD);
    http_reader_init(&r->reader, HTTP_RESPONSES);
    bool well = read_url(r, e) && set_basic(r, e) && (!r->at.tls || load_trust(r, e)) &&
                way_find(r->allow, &r->at, &r->proxy, "--to", &r->a, e) && (r->loop = loop_new(r->allow, e)) != NULL;
    if (well)
        return r;
    registry_close(r);
    return NULL;
}

void registry_close(struct registry *r)
{
    if (!r)
        return;
    if (r->loop)
        loop_free(r->loop);
    tls_trust_drop(r->trust);
    net_allow_free(r->allow);
    http_reader_free(&r->reader);
    buf_free(&r->body);
    arena_free(&r->a);
    mem_free(r);
}
