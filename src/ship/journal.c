/* Stores lines that this process says of objects, beside the logs of their pods. */
#include "put.h"

struct batch {
    struct batch *next;
    uint64_t hash, generation; /* hash: of the file's name */
    int64_t since_ms;
    char *file;
    struct buf lines;
};

struct ship_journal {
    struct cloud_store *store;
    const struct cloud_protocol *protocol;
    struct slice prefix;
    struct batch *first, *last; /* by age; the first may be in flight */
    bool busy, stopping, unconditional;
    uint32_t count;
    uint64_t held, dropped; /* bytes that wait; lines that found no room */
    int64_t retry_ms;
    unsigned failures;
    struct arena a; /* of one call */
    struct buf packed;
    struct rng rng;
    struct log_limit log;
};

struct ship_journal *ship_journal_new(struct net *net, const struct cloud_store_options *with, struct slice prefix)
{
    struct ship_journal *j = mem_alloc(sizeof *j);
    j->store = cloud_store_new(net, with);
    j->protocol = with->protocol;
    j->prefix = prefix;
    rng_seed_system(&j->rng);
    buf_init(&j->packed, 2 * LIMIT_SHIP_BATCH);
    return j;
}

static void drop_first(struct ship_journal *j)
{
    struct batch *b = j->first;
    j->first = b->next;
    j->last = j->first ? j->last : NULL;
    j->held -= b->lines.len;
    j->count--;
    buf_free(&b->lines);
    mem_free(b->file);
    mem_free(b);
}

void ship_journal_free(struct ship_journal *j)
{
    if (!j)
        return;
    cloud_store_free(j->store);
    while (j->first)
        drop_first(j);
    buf_free(&j->packed);
    arena_free(&j->a);
    mem_free(j);
}

/* ---- lines ---- */

static struct batch *find(struct ship_journal *j, uint64_t hash, size_t len)
{
    struct batch *b = j->busy ? j->first->next : j->first;
    while (b && (b->hash != hash || b->lines.len + len > LIMIT_SHIP_BATCH))
        b = b->next;
    return b;
}

static struct batch *add(struct ship_journal *j, uint64_t hash, struct slice file, struct now now)
{
    struct batch *b = mem_alloc(sizeof *b);
    b->hash = hash;
    b->since_ms = now.mono_ms;
    b->generation = ship_generation(now.wall_us / 1000000, rng_next(&j->rng));
    b->file = mem_alloc(file.len + 1);
    slice_copy(file, b->file, file.len + 1);
    buf_init(&b->lines, LIMIT_SHIP_BATCH);
    *(j->last ? &j->last->next : &j->first) = b;
    j->last = b;
    j->count++;
    return b;
}

bool ship_journal_add(struct ship_journal *j, struct slice file, struct slice line, struct now now)
{
    uint64_t hash = hash64(file, 0);
    struct batch *b = find(j, hash, line.len + 1);
    if (j->held + line.len >= LIMIT_JOURNAL_HELD || line.len >= LIMIT_SHIP_BATCH || (!b && j->count == LIMIT_JOURNAL_FILES)) {
        j->dropped++;
        if (log_limit_pass(&j->log, now))
            log_warn("lines of the history of objects are dropped: the store takes them too slowly, or not at all",
                     LF_INT("dropped", j->dropped));
        return false;
    }
    b = b ? b : add(j, hash, file, now);
    buf_put(&b->lines, line);
    buf_putc(&b->lines, '\n');
    j->held += line.len + 1;
    return true;
}

/* ---- calls ---- */

static void on_done(void *owner, const struct cloud_answer *answer, struct now now)
{
    struct ship_journal *j = owner;
    j->busy = false;
    if (answer->err.code == ERR_NONE || answer->status == 412) { /* 412: an attempt whose answer was lost */
        j->failures = 0;
        drop_first(j);
    } else if (answer->status == 501 && !j->unconditional) {
        j->unconditional = true;
    } else {
        j->retry_ms = now.mono_ms + backoff_ms(&j->rng, j->failures++, SHIP_RETRY_MS, SHIP_RETRY_MAX_MS);
        if (log_limit_pass(&j->log, now))
            log_warn("the history of objects cannot be stored now: it is kept in memory until the store answers",
                     LF_CSTR("error", answer->err.text));
    }
}

static void store_first(struct ship_journal *j, struct now now)
{
    const struct batch *b = j->first;
    struct cloud_call c = {.done = on_done, .done_owner = j};
    arena_reset(&j->a, 64 * KIB);
    c.key = arena_printf(&j->a, "%.*s%s/%016llx-000000000000.gz", SLICE_ARG(j->prefix), b->file, (unsigned long long)b->generation);
    ship_put(&c, j->protocol, buf_slice(&b->lines), j->unconditional, &j->packed, &j->a);
    j->busy = true;
    cloud_store_call(j->store, &c, now);
}

static int64_t due_at(const struct ship_journal *j)
{
    const struct batch *b = j->first;
    int64_t due_ms = !b ? TIME_NEVER : j->stopping || b->lines.len > LIMIT_SHIP_BATCH / 2 ? 0 : b->since_ms + JOURNAL_FLUSH_MS;
    return due_ms < j->retry_ms ? j->retry_ms : due_ms;
}

int64_t ship_journal_step(struct ship_journal *j, struct now now)
{
    int64_t next_ms = cloud_store_tick(j->store, now), due_ms = due_at(j);
    if (j->busy)
        return next_ms;
    if (due_ms > now.mono_ms)
        return due_ms;
    store_first(j, now);
    return now.mono_ms;
}

bool ship_journal_stop(struct ship_journal *j)
{
    if (!j->stopping)
        j->retry_ms = 0;
    j->stopping = true;
    return !j->first;
}
