/* Stores batches of log files, one after the other. */
#include "put.h"

enum errand { IDLE, LISTING, ASKING, STORING };

struct ship {
    struct ship_options o;
    struct cloud_store *store;
    struct ship_files files;
    enum errand errand;
    struct ship_file *file; /* of ASKING and STORING */
    struct slice key, more; /* of the call; more: continuation token of the next page of the list */
    struct arena a, pages;  /* of one call; of the list */
    struct buf plain, packed;
    bool listed, stopping, unconditional; /* unconditional: the store has no conditional PUT */
    bool ending;                          /* stopping, and the last scan found nothing to ship */
    int64_t scan_ms, retry_ms, quiet_ms;  /* next scan; no call earlier; bytes were last shipped then */
    unsigned failures;
    uint32_t left_out;
    uint64_t shipped;
    struct rng rng;
    struct log_limit log;
};

struct ship *ship_new(struct cloud_store *store, const struct ship_options *o)
{
    struct ship *s = mem_alloc(sizeof *s);
    s->o = *o;
    s->store = store;
    s->files.root = o->root;
    rng_seed_system(&s->rng);
    buf_init(&s->plain, LIMIT_SHIP_BATCH);
    buf_init(&s->packed, 2 * LIMIT_SHIP_BATCH);
    return s;
}

void ship_free(struct ship *s)
{
    if (!s)
        return;
    ship_files_free(&s->files);
    buf_free(&s->plain);
    buf_free(&s->packed);
    arena_free(&s->a);
    arena_free(&s->pages);
    mem_free(s);
}

/* ---- answers ---- */

static void fail(struct ship *s, const char *why, struct now now)
{
    s->retry_ms = now.mono_ms + backoff_ms(&s->rng, s->failures++, SHIP_RETRY_MS, SHIP_RETRY_MAX_MS);
    if (s->file)
        s->file->since_ms = now.mono_ms; /* the others first */
    if (log_limit_pass(&s->log, now))
        log_warn("logs cannot be shipped now: they stay on the disk of the pod until the store answers", LF_CSTR("error", why));
}

static void take_list(struct ship *s, const struct cloud_answer *answer, struct now now)
{
    struct cloud_list list;
    struct err e = {0};
    uint32_t left_out = 0;
    if (!s->o.protocol->list_read(answer->body, &s->a, &list, &e)) {
        fail(s, e.text, now);
        return;
    }
    for (uint32_t i = 0; i < list.count; i++) {
        struct slice key = list.objects[i].key;
        left_out += !slice_starts(key, s->o.prefix) || !ship_files_recover(&s->files, slice_skip(key, s->o.prefix.len));
    }
    if (left_out)
        log_warn("objects of the bucket are not logs of this pod, or more than LIMIT_SHIP_FILES", LF_INT("count", left_out));
    struct slice next = arena_dup(&s->a, list.next);
    arena_reset(&s->pages, 4 * KIB);
    s->more = arena_dup(&s->pages, next);
    s->listed = slice_empty(s->more);
}

/* The bytes of the object that is in the bucket: shipping continues behind them. */
static void take_size(struct ship *s, const struct cloud_answer *answer, struct now now)
{
    int64_t size = -1;
    if (answer->status == 404)
        size = 0; /* it was deleted, by a rule of the bucket or a person: its lines are stored again */
    else if (answer->err.code != ERR_NONE || !answer->reader ||
             !slice_int(http_header_get(answer->reader, slice_of(s->o.protocol->size)), &size) || size < 0) {
        fail(s,
             answer->err.code == ERR_NONE ? "an object in the bucket has no size in its metadata: another program has stored it"
                                          : answer->err.text,
             now);
        return;
    }
    ship_file_shipped(&s->files, s->file, s->file->offset + (uint64_t)size, now);
}

static void take_stored(struct ship *s, const struct cloud_answer *answer, struct now now)
{
    if (answer->err.code == ERR_NONE) {
        s->shipped += s->plain.len;
        s->quiet_ms = now.mono_ms + SHIP_QUIET_MS;
        ship_file_shipped(&s->files, s->file, s->file->offset + s->plain.len, now);
    } else if (answer->status == 412 || answer->status == 409) {
        s->file->recovered = true; /* stored already: an attempt whose answer was lost, or another agent */
        s->file->since_ms = 1;
        s->retry_ms = now.mono_ms + SHIP_RETRY_MS; /* or the container is being deleted, and there is no object either */
    } else if (answer->status == 501 && !s->unconditional) {
        s->unconditional = true;
        log_warn("the store has no conditional PUT: if the agent is restarted while it stores lines, they may be stored twice");
    } else {
        fail(s, answer->err.text, now);
    }
}

static void on_done(void *owner, const struct cloud_answer *answer, struct now now)
{
    struct ship *s = owner;
    enum errand was = s->errand;
    unsigned failures = s->failures;
    s->errand = IDLE;
    if (was == STORING)
        take_stored(s, answer, now);
    else if (was == ASKING)
        take_size(s, answer, now);
    else if (answer->err.code == ERR_NONE)
        take_list(s, answer, now);
    else
        fail(s, answer->err.text, now);
    if (failures == s->failures)
        s->failures = 0;
    s->file = NULL;
}

/* ---- calls ---- */

static void call(struct ship *s, enum errand errand, struct ship_file *f, struct cloud_call *c, struct now now)
{
    s->errand = errand;
    s->file = f;
    c->key = f ? s->key : SLICE("");
    c->done = on_done;
    c->done_owner = s;
    cloud_store_call(s->store, c, now);
}

static void list(struct ship *s, struct now now)
{
    struct cloud_call c = {.method = "GET", .right = CLOUD_LIST};
    s->o.protocol->list(&c, s->o.prefix, true, s->more);
    call(s, LISTING, NULL, &c, now);
}

static void ask_size(struct ship *s, struct ship_file *f, struct now now)
{
    struct cloud_call c = {.method = "HEAD", .right = CLOUD_READ};
    call(s, ASKING, f, &c, now);
}

void ship_put(struct cloud_call *c, const struct cloud_protocol *p, struct slice plain, bool unconditional, struct buf *packed,
              struct arena *a)
{
    char hex[TLS_SHA256_HEX];
    buf_clear(packed);
    if (!gzip(plain, packed))
        fatal("a batch of logs does not fit when it is compressed");
    c->method = "PUT";
    c->right = CLOUD_WRITE;
    c->body = buf_slice(packed);
    c->size = c->body.len;
    tls_sha256_hex(c->body, hex);
    c->sha256 = arena_dup(a, slice_of(hex));
    if (p->put)
        p->put(c);
    cloud_add_header(c, "Content-Type", SLICE("text/plain; charset=utf-8"));
    cloud_add_header(c, "Content-Encoding", SLICE("gzip"));
    cloud_add_header(c, p->size, arena_printf(a, "%zu", plain.len));
    if (!unconditional)
        cloud_add_header(c, p->absent.name.ptr, p->absent.value);
}

static void store(struct ship *s, struct ship_file *f, struct now now)
{
    struct cloud_call c = {.owner = NULL};
    if (!ship_file_read(&s->files, f, s->stopping, &s->plain))
        return;
    ship_put(&c, s->o.protocol, buf_slice(&s->plain), s->unconditional, &s->packed, &s->a);
    call(s, STORING, f, &c, now);
}

static void scan(struct ship *s, struct now now)
{
    ship_files_scan(&s->files, now);
    s->scan_ms = now.mono_ms + SHIP_SCAN_MS;
    if (s->files.left_out > s->left_out)
        log_warn("log files are left out: there are more than LIMIT_SHIP_FILES, or no object can have their name",
                 LF_INT("files", s->files.left_out));
    s->left_out = s->files.left_out;
}

static int64_t begin(struct ship *s, struct now now)
{
    int64_t next_ms;
    if (now.mono_ms < s->retry_ms)
        return s->retry_ms;
    arena_reset(&s->a, 64 * KIB);
    if (!s->listed) {
        list(s, now);
        return now.mono_ms;
    }
    if (now.mono_ms >= s->scan_ms)
        scan(s, now);
    struct ship_file *f = ship_files_due(&s->files, s->o.flush_ms, s->stopping, now, &next_ms);
    s->ending = s->stopping && !f;
    if (!f)
        return earlier(next_ms, s->scan_ms);
    s->key = ship_object(s->o.prefix, f, &s->a);
    if (f->recovered)
        ask_size(s, f, now);
    else
        store(s, f, now);
    return now.mono_ms;
}

int64_t ship_step(struct ship *s, struct now now)
{
    int64_t next_ms = TIME_NEVER;
    if (s->errand == IDLE)
        next_ms = begin(s, now);
    return earlier(next_ms, cloud_store_tick(s->store, now));
}

bool ship_stop(struct ship *s, struct now now)
{
    if (!s->stopping) {
        s->stopping = true;
        s->scan_ms = 0;
        s->retry_ms = 0;
        s->quiet_ms = now.mono_ms + SHIP_QUIET_MS;
    }
    return s->errand == IDLE && s->ending && now.mono_ms >= s->quiet_ms;
}
