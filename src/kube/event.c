#include "client.h"

#include <stdio.h>

enum {
    SERIES_MS = 6 * 60 * 1000, /* a series ends when it was quiet for this long */
    BURST = 25,                /* writes about one object at once … */
    REFILL_MS = 5 * 60 * 1000, /* … and one more after each of these */
    BUCKETS = 4096,
    WORD_MAX = 128, /* bytes of reason, action and reporting instance that the server takes */
    NAME_MAX_LEN = 253,
    SUFFIX_MAX = 1 + 16,
};

/* Writes that an object may still cause. Objects share a bucket when their hashes meet: that bounds memory, and may only drop more. */
struct bucket {
    uint32_t used;
    uint32_t since_s; /* when the oldest of them was */
};

/* One Event object, from its first occurrence until it was quiet for SERIES_MS. */
struct series {
    uint64_t key, object;       /* the map's key is these bytes */
    struct series *prev, *next; /* by last_ms, the quietest first */
    struct slice ns, name;      /* behind the struct */
    int64_t last_ms, last_us;
    uint32_t count, told;
    bool created, in_flight;
};

struct kube_events {
    struct kube_client *client;
    struct arena strings;
    struct slice controller, instance;
    struct map series;
    struct series *first, *last;
    uint64_t named; /* makes names distinct within one clock tick */
    uint32_t waiting;
    uint64_t dropped;
    struct bucket buckets[BUCKETS];
};

static const struct kube_resource events = {SLICE("events.k8s.io"), SLICE("v1"), SLICE("events")};

static struct slice key_of(const uint64_t *key)
{
    return (struct slice){(const char *)key, sizeof *key};
}

/* ---- limits ---- */

static bool take_token(struct kube_events *q, uint64_t object, struct now now)
{
    struct bucket *b = &q->buckets[object % BUCKETS];
    uint32_t now_s = (uint32_t)(now.mono_ms / 1000), refill_s = REFILL_MS / 1000;
    uint32_t back = (now_s - b->since_s) / refill_s;
    if (back > 0) {
        b->used = back < b->used ? b->used - back : 0;
        b->since_s = b->used ? b->since_s + back * refill_s : now_s;
    }
    if (b->used >= BURST)
        return false;
    if (b->used == 0)
        b->since_s = now_s;
    b->used++;
    return true;
}

/* ---- series ---- */

static void list_take(struct kube_events *q, struct series *s)
{
    *(s->prev ? &s->prev->next : &q->first) = s->next;
    *(s->next ? &s->next->prev : &q->last) = s->prev;
}

static void list_append(struct kube_events *q, struct series *s)
{
    s->prev = q->last;
    s->next = NULL;
    *(q->last ? &q->last->next : &q->first) = s;
    q->last = s;
}

static void series_free(struct kube_events *q, struct series *s)
{
    map_del(&q->series, key_of(&s->key));
    list_take(q, s);
    mem_free(s);
}

static uint64_t object_of(const struct kube_object_ref *about)
{
    struct arena a = {0};
    uint64_t hash = hash64(arena_printf(&a, "%.*s/%.*s/%.*s/%.*s", SLICE_ARG(about->kind), SLICE_ARG(about->ns), SLICE_ARG(about->name),
                                        SLICE_ARG(about->uid)),
                           0);
    arena_free(&a);
    return hash;
}

/* Of the note, too: a series has the note of its first occurrence, which must be true of each one that is counted. */
static uint64_t series_key(const struct kube_event *ev, uint64_t object)
{
    return hash64(ev->note, hash64(ev->reason, hash64(ev->action, object + ev->warning)));
}

static struct slice event_ns(const struct kube_object_ref *about)
{
    return slice_empty(about->ns) ? SLICE("default") : about->ns; /* where events about cluster-scoped objects live */
}

/* "<object>.<hex of the clock in nanoseconds>", as client-go names them; the counter stands for the nanoseconds that we do not read. */
static struct series *series_new(struct kube_events *q, const struct kube_event *ev, uint64_t key, uint64_t object, struct now now)
{
    struct slice ns = event_ns(&ev->about), about = slice_head(ev->about.name, NAME_MAX_LEN - SUFFIX_MAX);
    size_t room = ns.len + about.len + SUFFIX_MAX + 1;
    struct series *s = mem_alloc(sizeof *s + room);
    char *text = (char *)(s + 1);
    if (ns.len)
        memcpy(text, ns.ptr, ns.len);
    uint64_t moment = (uint64_t)now.wall_us * 1000 + q->named++ % 1000;
    int n = snprintf(text + ns.len, room - ns.len, "%.*s.%llx", SLICE_ARG(about), (unsigned long long)moment);
    s->ns = (struct slice){text, ns.len};
    s->name = (struct slice){text + ns.len, (size_t)n};
    s->key = key;
    s->object = object;
    s->count = s->told = 1;
    s->last_ms = now.mono_ms;
    s->last_us = now.wall_us;
    if (q->series.count >= LIMIT_KUBE_EVENTS)
        series_free(q, q->first);
    map_put(&q->series, key_of(&s->key), s);
    list_append(q, s);
    return s;
}

/* ---- sending ---- */

static void event_done(void *owner, uint64_t tag, const struct kube_answer *answer, struct now now);

static void send(struct kube_events *q, struct series *s, const char *method, struct slice type, const struct buf *body, struct now now)
{
    struct buf path;
    struct err e = {0};
    bool create = !s->created;
    buf_init(&path, LIMIT_HTTP_URL);
    kube_path(&path, &events, s->ns, create ? SLICE_NONE : s->name, SLICE_NONE);
    struct kube_request r = {
        .lane = KUBE_LANE_EVENTS,
        .method = slice_of(method),
        .path = buf_slice(&path),
        .content_type = type,
        .body = buf_slice(body),
        .done = event_done,
        .owner = q,
        .tag = s->key,
    };
    bool sent = !body->full && q->waiting < LIMIT_KUBE_EVENTS && kube_call(q->client, &r, now, &e);
    buf_free(&path);
    q->waiting += sent;
    s->in_flight = sent;
    if (sent)
        return;
    q->dropped++;
    if (create)
        series_free(q, s);
}

static void put_object(struct jout *w, const struct kube_object_ref *about)
{
    jout_form(w, "regarding:{apiVersion:'%.*s',kind:'%.*s',namespace?:'%.*s',name:'%.*s',uid:'%.*s'}", SLICE_ARG(about->api_version),
              SLICE_ARG(about->kind), SLICE_ARG(about->ns), SLICE_ARG(about->name), SLICE_ARG(about->uid));
}

static void send_first(struct kube_events *q, struct series *s, const struct kube_event *ev, struct now now)
{
    char time[TIME_TEXT_MAX];
    struct arena a = {0};
    struct buf body;
    struct jout w;
    buf_init(&body, 16 * KIB);
    jout_init(&w, &body);
    struct slice when = time_format_micro(now.wall_us, time), instance = arena_cut(&a, q->instance, WORD_MAX),
                 action = arena_cut(&a, slice_empty(ev->action) ? ev->reason : ev->action, WORD_MAX),
                 reason = arena_cut(&a, ev->reason, WORD_MAX), note = arena_cut(&a, ev->note, LIMIT_KUBE_EVENT_NOTE);
    jout_form(&w,
              "{apiVersion:'events.k8s.io/v1',kind:'Event',metadata:{name:'%.*s',namespace:'%.*s'},eventTime:'%.*s',"
              "reportingController:'%.*s',reportingInstance:'%.*s',action:'%.*s',reason:'%.*s'",
              SLICE_ARG(s->name), SLICE_ARG(s->ns), SLICE_ARG(when), SLICE_ARG(q->controller), SLICE_ARG(instance), SLICE_ARG(action),
              SLICE_ARG(reason));
    put_object(&w, &ev->about);
    jout_form(&w, "note:'%.*s',type:'%s'}", SLICE_ARG(note), ev->warning ? "Warning" : "Normal");
    send(q, s, "POST", SLICE(KUBE_TYPE_JSON), &body, now);
    buf_free(&body);
    arena_free(&a);
}

static void send_count(struct kube_events *q, struct series *s, struct now now)
{
    char time[TIME_TEXT_MAX];
    struct buf body;
    struct jout w;
    buf_init(&body, KIB);
    jout_init(&w, &body);
    struct slice last = time_format_micro(s->last_us, time);
    jout_form(&w, "{series:{count:%lld,lastObservedTime:'%.*s'}}", (long long)s->count, SLICE_ARG(last));
    s->told = s->count;
    send(q, s, "PATCH", SLICE(KUBE_TYPE_MERGE_PATCH), &body, now);
    buf_free(&body);
}

/* Events that were counted since the last write are sent when nothing else of the series does, and the object has a write left. */
static void tell(struct kube_events *q, struct series *s, struct now now)
{
    if (s->created && !s->in_flight && s->count > s->told && take_token(q, s->object, now))
        send_count(q, s, now);
}

static void event_done(void *owner, uint64_t tag, const struct kube_answer *answer, struct now now)
{
    struct kube_events *q = owner;
    struct series *s = map_get(&q->series, key_of(&tag));
    q->waiting--;
    if (answer->outcome != KUBE_OK) {
        q->dropped++;
        log_debug("an event was not taken", LF_INT("code", answer->status.code),
                  LF_CSTR("error", answer->outcome == KUBE_REFUSED ? answer->status.message : answer->err.text));
        if (s)
            series_free(q, s); /* the next one is a new Event */
        return;
    }
    if (!s)
        return;
    s->in_flight = false;
    s->created = true;
    tell(q, s, now);
}

/* ---- for the owner ---- */

struct kube_events *kube_events_new(struct kube_client *c, struct slice controller, struct slice instance)
{
    struct kube_events *q = mem_alloc(sizeof *q);
    q->client = c;
    q->controller = arena_dup(&q->strings, controller);
    q->instance = arena_dup(&q->strings, instance);
    return q;
}

void kube_events_free(struct kube_events *q)
{
    if (!q)
        return;
    calls_orphan(q->client, q);
    while (q->first)
        series_free(q, q->first);
    map_free(&q->series);
    arena_free(&q->strings);
    mem_free(q);
}

void kube_event_say(struct kube_events *q, const struct kube_event *ev, struct now now)
{
    uint64_t object = object_of(&ev->about), key = series_key(ev, object);
    struct series *s = map_get(&q->series, key_of(&key));
    if (s && now.mono_ms - s->last_ms < SERIES_MS) {
        s->count++;
        s->last_ms = now.mono_ms;
        s->last_us = now.wall_us;
        list_take(q, s);
        list_append(q, s);
        tell(q, s, now);
        return;
    }
    if (s)
        series_free(q, s);
    if (q->waiting >= LIMIT_KUBE_EVENTS || !take_token(q, object, now)) {
        q->dropped++;
        return;
    }
    send_first(q, series_new(q, ev, key, object, now), ev, now);
}

int64_t kube_events_tick(struct kube_events *q, struct now now)
{
    for (struct series *s; (s = q->first) != NULL && now.mono_ms - s->last_ms >= SERIES_MS;) {
        if (s->created && !s->in_flight && s->count > s->told)
            send_count(q, s, now); /* the last word of a series is not held back */
        series_free(q, s);
    }
    return q->first ? q->first->last_ms + SERIES_MS : TIME_NEVER;
}

uint64_t kube_events_dropped(const struct kube_events *q)
{
    return q->dropped;
}
