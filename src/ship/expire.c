/* Deletes logs from the bucket: those above an age, and the oldest ones above a number of bytes. Objects whose name ship_object has not
 * written are left alone. */
#include "put.h"

enum { AGES = 30 * 16 };

struct ship_expiry {
    struct ship_expiry_options o;
    struct cloud_store *store;
    struct slice more, *doomed;         /* continuation token; keys of the page that are deleted next */
    uint32_t count, at;                 /* of doomed */
    bool busy, listed, deletes;         /* a call is in flight; a page of this pass was read; the second pass: the first one counts bytes */
    int64_t next_ms, begun_us, limit_s; /* limit_s: objects of this age are deleted */
    uint64_t bytes[AGES];               /* by age */
    struct ship_expired done, before;   /* before: when the sweep began */
    struct arena pages[2];              /* of this page, and of the one before, which has its token */
    unsigned page;
};

/* Ages of 1 s each below 32 s, then 16 ranges for each doubling. */
static unsigned range_of(int64_t age_s)
{
    uint32_t age = age_s < 0 ? 0 : age_s > INT32_MAX ? INT32_MAX : (uint32_t)age_s;
    unsigned e = age < 32 ? 0 : 27 - (unsigned)__builtin_clz(age);
    return e * 16 + (age >> e);
}

static int64_t range_begin(unsigned range)
{
    unsigned e = range < 32 ? 0 : range / 16 - 1;
    return (int64_t)(range - e * 16) << e;
}

struct ship_expiry *ship_expiry_new(struct net *net, const struct ship_expiry_options *o)
{
    struct ship_expiry *x = mem_alloc(sizeof *x);
    x->o = *o;
    x->store = cloud_store_new(net, o->with);
    return x;
}

static void free_pages(struct ship_expiry *x)
{
    arena_free(&x->pages[0]);
    arena_free(&x->pages[1]);
    x->more = SLICE("");
    x->count = x->at = 0;
    x->listed = false;
}

void ship_expiry_free(struct ship_expiry *x)
{
    if (!x)
        return;
    cloud_store_free(x->store);
    free_pages(x);
    mem_free(x);
}

const struct ship_expired *ship_expiry_done(const struct ship_expiry *x)
{
    return &x->done;
}

/* ---- a sweep ---- */

static void begin_sweep(struct ship_expiry *x, struct now now)
{
    x->begun_us = now.wall_us;
    x->limit_s = x->o.keep_ms ? x->o.keep_ms / 1000 : INT64_MAX;
    x->deletes = x->o.keep_bytes == 0;
    x->before = x->done;
    memset(x->bytes, 0, sizeof x->bytes);
}

static void end_sweep(struct ship_expiry *x, const struct err *why, struct now now)
{
    free_pages(x);
    x->begun_us = 0;
    x->next_ms = now.mono_ms + SHIP_EXPIRE_MS;
    x->done.sweeps++;
    x->done.trouble = *why;
    if (why->code != ERR_NONE)
        log_warn("old logs in the bucket cannot be deleted now: trying again in an hour", LF_CSTR("error", why->text));
    if (x->done.objects != x->before.objects)
        log_info("old logs were deleted from the bucket", LF_INT("objects", x->done.objects - x->before.objects),
                 LF_INT("bytes", x->done.bytes - x->before.bytes));
}

/* The first pass has counted all bytes: the youngest ranges that are within the limit stay. */
static void end_pass(struct ship_expiry *x, struct now now)
{
    uint64_t sum = 0;
    unsigned range = 0;
    if (x->deletes) {
        end_sweep(x, &(struct err){0}, now);
        return;
    }
    while (range < AGES && (sum += x->bytes[range]) <= x->o.keep_bytes)
        range++;
    if (range < AGES)
        x->limit_s = earlier(x->limit_s, range_begin(range));
    free_pages(x);
    x->deletes = true;
}

static void take_page(struct ship_expiry *x, const struct cloud_answer *answer, struct now now)
{
    struct arena *a = &x->pages[++x->page & 1];
    struct cloud_list list;
    struct slice file;
    struct err e = {0};
    uint64_t generation, start;
    int64_t at_us;
    arena_reset(a, 4 * KIB);
    if (!x->o.with->protocol->list_read(arena_dup(a, answer->body), a, &list, &e)) {
        end_sweep(x, &e, now);
        return;
    }
    x->doomed = arena_array(a, list.count + 1, sizeof *x->doomed);
    x->count = x->at = 0;
    x->more = list.next;
    x->listed = true;
    for (uint32_t i = 0; i < list.count; i++) {
        const struct cloud_object *o = &list.objects[i];
        if (!slice_starts(o->key, x->o.prefix) || !ship_object_read(slice_skip(o->key, x->o.prefix.len), &file, &generation, &start) ||
            !time_parse(o->modified, &at_us, NULL))
            continue;
        int64_t age_s = (x->begun_us - at_us) / 1000000;
        x->bytes[range_of(age_s)] += (uint64_t)o->size;
        bool doomed = x->deletes && at_us <= x->begun_us && age_s >= x->limit_s;
        if (doomed)
            x->doomed[x->count++] = o->key;
        x->done.bytes += doomed ? (uint64_t)o->size : 0;
    }
}

static void on_done(void *owner, const struct cloud_answer *answer, struct now now)
{
    struct ship_expiry *x = owner;
    bool deleted = x->at < x->count;
    x->busy = false;
    x->next_ms = now.mono_ms + (deleted ? SHIP_EXPIRE_PACE_MS : 0);
    if (answer->err.code != ERR_NONE && !(deleted && answer->status == 404))
        end_sweep(x, &answer->err, now);
    else if (!deleted)
        take_page(x, answer, now);
    else {
        x->done.objects++;
        x->at++;
    }
}

static void advance(struct ship_expiry *x, struct now now)
{
    struct cloud_call c = {.method = "GET", .right = CLOUD_LIST, .key = SLICE(""), .done = on_done, .done_owner = x};
    if (!x->begun_us)
        begin_sweep(x, now);
    if (x->at < x->count) {
        c.method = "DELETE";
        c.right = CLOUD_DELETE;
        c.key = x->doomed[x->at];
    } else if (x->listed && slice_empty(x->more)) {
        end_pass(x, now);
        return;
    } else
        x->o.with->protocol->list(&c, x->o.prefix, true, x->more);
    x->busy = true;
    cloud_store_call(x->store, &c, now);
}

int64_t ship_expiry_step(struct ship_expiry *x, bool lead, struct now now)
{
    if (!x->busy && lead && now.mono_ms >= x->next_ms)
        advance(x, now);
    int64_t next = cloud_store_tick(x->store, now);
    return x->busy ? next : lead ? x->next_ms : TIME_NEVER;
}
