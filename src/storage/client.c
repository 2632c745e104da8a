/* A client of object storage: finds its server, region and credentials in flags, environment and files, and makes one call after another.
 */
#include <mobula/storage.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- settings ---- */

static struct slice get_setting(void *owner, const char *name)
{
    struct storage *s = owner;
    struct slice text = slice_of(getenv(name));
    if (!slice_empty(s->o.dir)) {
        struct slice path = arena_printf(&s->a, "%.*s/%s", SLICE_ARG(s->o.dir), name), in_file;
        if (cli_read_file(path, &s->secrets, &in_file, &(struct err){0}))
            text = in_file;
    }
    return text.ptr ? text : SLICE("");
}

static bool read_setting(void *owner, struct slice path, struct arena *a, struct slice *text, struct err *e)
{
    struct storage *s = owner;
    return cli_read_file(arena_dup(&s->a, path), a == &s->a ? &s->secrets : a, text, e);
}

static void say(void *owner, const char *line)
{
    struct storage *s = owner;
    s->warning = arena_dup(&s->a, slice_of(line));
    if (s->loud)
        fprintf(stderr, "mobula: %s\n", line);
}

/* Whether the bucket is part of the host's name: at AWS, unless it has a dot (the wildcard certificate covers one label). */
static bool is_virtual(const struct cloud_place *at, struct slice endpoint, bool asked)
{
    return at->protocol == &cloud_s3 && (slice_empty(endpoint) ? slice_find(at->bucket, '.') < 0 : asked);
}

struct slice storage_endpoint(const struct cloud_place *at, struct slice given, struct slice region, struct arena *a)
{
    struct slice account = at->account, domain = slice_empty(at->domain) ? SLICE("core.windows.net") : at->domain;
    if (!slice_empty(given))
        return given;
    if (at->protocol == &cloud_gcs)
        return SLICE("https://storage.googleapis.com");
    if (at->protocol == &cloud_azure)
        return slice_empty(account) ? SLICE("") : arena_printf(a, "https://%.*s.blob.%.*s", SLICE_ARG(account), SLICE_ARG(domain));
    bool front = is_virtual(at, given, false);
    return arena_printf(a, "https://%.*s%s%.*s", SLICE_ARG(slice_head(at->bucket, front ? at->bucket.len : 0)), front ? "." : "",
                        SLICE_ARG(cloud_aws_host("s3", region, a)));
}

static struct slice find_endpoint(struct storage *s, const struct cloud_place *at)
{
    const struct cloud_settings *set = &s->with.settings;
    struct slice given = set->endpoint, bucket = at->bucket, region = slice_empty(set->region) ? SLICE("us-east-1") : set->region;
    struct cloud_place with = *at;
    with.account = set->keys.id;
    s->with.path_style = !is_virtual(at, given, s->o.virtual_host);
    if (slice_empty(given) || s->with.path_style)
        return storage_endpoint(&with, given, region, &s->a);
    ptrdiff_t scheme = slice_find_text(given, "://");
    size_t n = scheme < 0 ? 0 : (size_t)scheme + 3;
    return arena_printf(&s->a, "%.*s%.*s.%.*s", SLICE_ARG(slice_head(given, n)), SLICE_ARG(bucket), SLICE_ARG(slice_skip(given, n)));
}

/* Servers of this node: only these may be sent tokens without TLS. */
static bool is_near(struct slice host)
{
    static const char *const nodes[] = {"169.254.170.2", "169.254.170.23", "fd00:ec2::23", "169.254.169.254", "metadata.google.internal",
                                        "127.0.0.1",     "localhost"};
    bool near = false;
    for (size_t i = 0; i < COUNT_OF(nodes); i++)
        near |= slice_is(host, nodes[i]);
    return near;
}

/* Parses the URL of a server that issues credentials; empty: there is none. */
static bool find_issuer(struct storage *s, struct slice url, struct cloud_host *to, struct err *e)
{
    const char *source = s->with.settings.source;
    return slice_empty(url) ||
           (cloud_host(url, source, &s->a, to, e) &&
            (to->at.tls || is_near(to->at.host) ||
             err_set(e, ERR_CONFIG, "%s: https:// is needed: http:// would show the token to everybody on the way", source)));
}

static bool find_identity(struct storage *s, struct err *e)
{
    struct cloud_store_options *o = &s->with;
    const struct cloud_settings *set = &o->settings;
    struct slice region = slice_empty(set->region) ? SLICE("us-east-1") : set->region, url = set->identity;
    bool bearer = !slice_empty(url) && o->protocol != &cloud_s3;
    if (slice_empty(url) && !slice_empty(set->role))
        url = arena_printf(&s->a, "https://%.*s", SLICE_ARG(cloud_aws_host("sts", region, &s->a)));
    if (bearer && !o->store.at.tls && !is_near(o->store.at.host))
        return err_set(e, ERR_CONFIG, "--endpoint: https:// is needed: http:// would show the token to everybody on the way");
    return find_issuer(s, url, &o->identity, e) && find_issuer(s, set->signer, &o->signer, e);
}

static bool find_servers(struct storage *s, const struct cloud_place *at, struct err *e)
{
    struct cloud_store_options *o = &s->with;
    struct cloud_host *hosts[STORAGE_SERVERS] = {&o->store, &o->identity, &o->signer};
    const char *ca = slice_empty(s->o.ca_file) ? "AWS_CA_BUNDLE" : "--storage-ca";
    struct slice endpoint = find_endpoint(s, at);
    if (slice_empty(endpoint))
        return err_set(e, ERR_CONFIG, "--endpoint is needed: https://ACCOUNT.blob.core.windows.net, or AZURE_STORAGE_ACCOUNT");
    if (!cloud_host(endpoint, "--endpoint", &s->a, &o->store, e) || !find_identity(s, e))
        return false;
    o->near = at->protocol == &cloud_s3 && !o->store.at.tls && is_near(o->store.at.host);
    for (size_t i = 0; i < STORAGE_SERVERS; i++) {
        struct endpoint *host = &hosts[i]->at;
        if (!host->host.ptr)
            continue;
        if (host->tls && !s->trust && !(s->trust = way_trust(o->settings.ca_file, ca, &s->a, e)))
            return false;
        host->trust = s->trust;
        if (!way_find(s->allow, host, &s->proxies[i], i ? o->settings.source : "--endpoint", &s->a, e))
            return false;
    }
    return true;
}

bool storage_prepare(struct storage *s, const struct storage_options *o, const struct cloud_place *at, struct net_allow *allow,
                     struct err *e)
{
    struct cloud_settings *set = &s->with.settings;
    struct rng rng;
    *s = (struct storage){.o = *o, .allow = allow, .loud = true};
    s->from = (struct cloud_surroundings){get_setting, read_setting, s};
    rng_seed_system(&rng);
    s->with.protocol = at->protocol;
    if (!at->protocol->settings(&s->from, &s->a, set, e))
        return false;
    if (!slice_empty(at->account))
        set->keys.id = at->account;
    set->region = slice_empty(o->region) ? set->region : o->region;
    set->endpoint = slice_empty(o->endpoint) ? set->endpoint : o->endpoint;
    set->ca_file = slice_empty(o->ca_file) ? set->ca_file : o->ca_file;
    s->with.from = &s->from;
    s->with.bucket = arena_dup(&s->a, at->bucket);
    s->with.say = say;
    s->with.owner = s;
    s->with.seed = rng_next(&rng);
    return find_servers(s, at, e);
}

bool storage_open(struct storage *s, const struct storage_options *o, const struct cloud_place *at, struct err *e)
{
    struct net_allow *allow = net_allow_new();
    bool ready = storage_prepare(s, o, at, allow, e);
    s->own_allow = allow;
    if (!ready || !(s->loop = loop_new(s->allow, e)))
        return false;
    loop_bulk();
    s->store = cloud_store_new(loop_net(s->loop), &s->with);
    return true;
}

static void close_lanes(struct storage *s)
{
    for (size_t i = 1; i < CLOUD_LANES; i++)
        cloud_store_free(s->lanes[i]);
    memset(s->lanes, 0, sizeof s->lanes);
    cloud_store_free(s->store);
}

void storage_close(struct storage *s)
{
    close_lanes(s);
    if (s->loop)
        loop_free(s->loop);
    tls_trust_drop(s->trust);
    if (s->own_allow)
        net_allow_free(s->own_allow);
    arena_wipe(&s->secrets);
    arena_free(&s->last);
    arena_free(&s->a);
}

struct slice storage_logs(struct slice prefix, struct arena *a)
{
    bool slash = slice_empty(prefix) || slice_ends(prefix, SLICE("/"));
    return arena_printf(a, "%.*s%slogs/", SLICE_ARG(prefix), slash ? "" : "/");
}

/* ---- calls that wait for their answer ---- */

static void on_done(void *owner, const struct cloud_answer *answer, struct now now)
{
    struct storage *s = owner;
    (void)now;
    s->over = true;
    s->answer = *answer;
    s->answer.body = arena_dup(&s->last, answer->body);
    s->etag[0] = s->crc[0] = '\0';
    s->size = -1;
    s->allowed = SLICE("");
    if (answer->reader) {
        s->allowed = arena_dup(&s->last, http_header_get(answer->reader, SLICE("access-control-allow-origin")));
        slice_copy(http_header_get(answer->reader, SLICE("etag")), s->etag, sizeof s->etag);
        slice_copy(http_header_get(answer->reader, slice_of(s->with.protocol->crc32c)), s->crc, sizeof s->crc);
        s->size = answer->reader->length;
    }
    s->answer.reader = NULL;
}

struct cloud_store *storage_lane(struct storage *s, size_t n)
{
    struct cloud_store **lane = &s->lanes[n];
    if (!*lane)
        *lane = n ? cloud_store_beside(s->store) : s->store;
    return *lane;
}

bool storage_wait(struct storage *s, const bool *over, struct err *e)
{
    struct now now = clock_now();
    while (!*over) {
        int64_t next_ms = s->signal ? now.mono_ms : cloud_store_tick(s->store, now);
        for (size_t i = 1; i < CLOUD_LANES; i++)
            if (s->lanes[i])
                next_ms = earlier(next_ms, cloud_store_tick(s->lanes[i], now));
        now = loop_wait(s->loop, next_ms);
        net_dispatch(loop_net(s->loop), now);
        int signal = loop_signal(s->loop);
        s->signal = signal ? signal : s->signal;
        if (s->signal && !*over) {
            close_lanes(s); /* cancels calls */
            s->store = cloud_store_new(loop_net(s->loop), &s->with);
            return err_set(e, ERR_CLOSED, "ended by a signal");
        }
    }
    return true;
}

bool storage_call(struct storage *s, struct cloud_call *call, struct err *e)
{
    call->done = on_done;
    call->done_owner = s;
    s->over = false;
    arena_reset(&s->last, MIB);
    cloud_store_call(s->store, call, clock_now());
    if (!storage_wait(s, &s->over, e))
        return false;
    if (s->answer.err.code != ERR_NONE)
        *e = s->answer.err;
    return s->answer.err.code == ERR_NONE;
}

bool storage_head(struct storage *s, struct slice key, struct err *e)
{
    struct cloud_call c = {.method = "HEAD", .right = CLOUD_READ, .key = key};
    struct err why = {0};
    if (storage_call(s, &c, &why))
        return true;
    return s->answer.status == 404 ? false : err_set(e, why.code, "%s", why.text);
}

bool storage_delete(struct storage *s, struct slice key, struct err *e)
{
    struct cloud_call c = {.method = "DELETE", .right = CLOUD_DELETE, .key = key};
    return storage_call(s, &c, e);
}

bool storage_list(struct storage *s, struct slice prefix, bool deep, struct slice *more, struct cloud_list *out, struct err *e)
{
    struct cloud_call c = {.method = "GET", .right = CLOUD_LIST, .key = SLICE("")};
    s->with.protocol->list(&c, prefix, deep, *more);
    if (!storage_call(s, &c, e) || !s->with.protocol->list_read(s->answer.body, &s->last, out, e))
        return false;
    *more = arena_dup(&s->a, out->next);
    return true;
}

bool storage_url(struct storage *s, struct slice key, int64_t *seconds, struct slice *url, struct err *e)
{
    struct cloud_call c = {.method = "GET", .right = CLOUD_READ, .key = key, .sign_s = *seconds};
    if (!storage_call(s, &c, e))
        return false;
    *seconds = s->answer.seconds;
    *url = arena_dup(&s->a, s->answer.body);
    return true;
}

/* ---- whole objects ---- */

void storage_sum_begin(struct storage_sum *m, bool parts)
{
    *m = (struct storage_sum){.parts = parts};
    tls_sha256_begin(&m->hash);
}

void storage_sum_add(struct storage_sum *m, struct slice piece)
{
    if (m->parts)
        m->crc = crc32c(m->crc, piece);
    else
        tls_sha256_add(&m->hash, piece);
}

void storage_sum_end(struct storage_sum *m, char hex[TLS_SHA256_HEX])
{
    tls_sha256_end(&m->hash, hex);
    if (m->parts)
        snprintf(hex, TLS_SHA256_HEX, "%08x", m->crc);
}

struct receipt {
    cloud_piece *piece;
    void *owner;
    struct storage *s;
    char want[TLS_SHA256_HEX]; /* sum in the object's metadata; empty: none */
    bool begun;
    struct storage_sum sum;
};

/* Chooses the sum by the answer's headers. */
static void begin_sum(struct receipt *r)
{
    const struct cloud_protocol *p = r->s->with.protocol;
    const struct http_reader *head = cloud_store_reader(r->s->store);
    struct slice crc = http_header_get(head, slice_of(p->crc32c)), sum = http_header_get(head, slice_of(p->sha256));
    r->begun = true;
    storage_sum_begin(&r->sum, !slice_empty(crc));
    slice_copy(r->sum.parts ? crc : sum.ptr ? sum : SLICE(""), r->want, sizeof r->want);
}

static bool take(void *owner, struct slice piece, struct err *e)
{
    struct receipt *r = owner;
    if (!r->begun)
        begin_sum(r);
    storage_sum_add(&r->sum, piece);
    return r->piece(r->owner, piece, e);
}

bool storage_get(struct storage *s, struct slice key, cloud_piece *piece, void *owner, struct err *e)
{
    struct receipt r = {.piece = piece, .owner = owner, .s = s};
    struct cloud_call c = {.method = "GET", .right = CLOUD_READ, .key = key, .piece = take, .owner = &r};
    char hex[TLS_SHA256_HEX];
    if (!storage_call(s, &c, e))
        return false;
    if (!r.begun) /* an empty object */
        begin_sum(&r);
    storage_sum_end(&r.sum, hex);
    return !r.want[0] || strcmp(r.want, hex) == 0 ||
           err_set(e, ERR_SYNTAX, "the object is damaged: its %s is %s, and it was stored with %s", r.sum.parts ? "CRC-32C" : "SHA-256",
                   hex, r.want);
}

void storage_add_put(const struct storage *s, struct cloud_call *c)
{
    if (s->with.protocol->put)
        s->with.protocol->put(c);
    cloud_add_header(c, s->with.protocol->sha256, c->sha256);
}

bool storage_put(struct storage *s, struct slice key, struct slice body, struct err *e)
{
    char hex[TLS_SHA256_HEX];
    struct cloud_call c = {.method = "PUT", .right = CLOUD_WRITE, .key = key, .body = body, .size = body.len};
    tls_sha256_hex(body, hex);
    c.sha256 = slice_of(hex);
    storage_add_put(s, &c);
    return storage_call(s, &c, e);
}
