#include "client.h"

#include <stdio.h>

/* Leader election by a Lease, as client-go does it (rule 1.6):
 *
 *   1. the holder writes the Lease it knows back, with its resourceVersion: when that succeeds it is renewed;
 *   2. everybody else, and a holder whose write failed, reads it; a Lease that is not there is created, but see 4;
 *   3. when the record has changed, the local monotonic time of that is kept: times inside the record are other people's clocks;
 *   4. while another holder's record has not stood still for its own leaseDuration, wait. A deletion, and a holder that was taken out by
 *      hand, are changes like any other, so they are waited out too: the holder leads until it finds out. (client-go does not wait then.)
 *      A release says that it is one by a duration of one second;
 *   5. else write our name into it; a client that receives 409 was too late.
 *
 * Who waits reads it once in retry_ms: LOOK_BEHIND_MS behind the time at which the holder renews it, so that a renewal is seen soon and
 * the wait begins soon, and at the moment at which the wait is over. The phase of the holder's renewals comes from renewTime, by two wall
 * clocks: where they differ a renewal is seen later, and never waited for less. (client-go reads at a random time between 1 and 2.2 s.)
 *
 * It is held from the moment before a successful write was sent until renew_ms later, whatever is in flight. It is no fence: a write that
 * left us in time may land later, which is why every write carries its preconditions. */

enum lease_step { LEASE_REST, LEASE_READ, LEASE_WRITE, LEASE_CREATE };

enum { LEASE_RECORD_MAX = 64 * KIB, RELEASED_S = 1, LOOK_BEHIND_MS = 200, LOOK_APART_MS = 100 };

struct kube_lease {
    struct kube_client *client;
    struct arena strings;
    struct slice ns, name, identity;
    int64_t lease_ms, renew_ms, retry_ms;
    enum lease_step step;
    bool foreign; /* another holder was seen, or none */
    bool mine, releasing;
    bool reread;         /* the write failed, so the next step reads, in the same round … */
    bool second;         /* … which then ends, whatever becomes of its second write */
    struct buf record;   /* the Lease as it was last seen */
    uint64_t spec;       /* hash of its spec */
    struct slice holder; /* in the arena `seen` */
    struct arena seen;
    int64_t duration_ms; /* how long a change of the record keeps others from writing it; 0: it was released, or never seen */
    int64_t transitions;
    int64_t stamp_us;    /* renewTime, by the holder's wall clock; 0: none */
    int64_t observed_ms; /* when the spec was seen to change */
    int64_t asked_ms;    /* when the request in flight was made */
    int64_t renewed_ms;  /* when the last successful write of ours was made */
    int64_t next_ms;
    struct log_memory said;
};

static const struct kube_resource leases = {SLICE("coordination.k8s.io"), SLICE("v1"), SLICE("leases")};

bool kube_lease_held(const struct kube_lease *l, struct now now)
{
    return l->mine && !l->releasing && now.mono_ms < l->renewed_ms + l->renew_ms;
}

struct slice kube_lease_holder(const struct kube_lease *l)
{
    return l->holder;
}

bool kube_lease_changed_hands(struct kube_lease *l)
{
    bool foreign = l->foreign;
    l->foreign = false;
    return foreign;
}

static void set_mine(struct kube_lease *l, bool mine)
{
    if (l->mine == mine)
        return;
    l->mine = mine;
    log_at(mine || l->releasing ? LOG_INFO : LOG_WARN, mine ? "this instance leads" : "this instance does not lead any more",
           LF("lease", l->name), LF("namespace", l->ns), LF("identity", l->identity), LF("holder", l->holder));
}

/* ---- the record ---- */

static bool observe(struct kube_lease *l, struct slice body, struct now now)
{
    struct jval doc;
    struct err e = {0};
    struct arena a = {0};
    bool ok = json_read(&doc, body, &a, &e);
    if (ok) {
        struct jval spec = json_get(doc, "spec");
        uint64_t hash = hash64(json_raw(spec), 0);
        if (hash != l->spec || l->record.len == 0)
            l->observed_ms = now.mono_ms;
        l->spec = hash;
        arena_reset(&l->seen, KIB);
        l->holder = arena_dup(&l->seen, json_get_str(spec, "holderIdentity", &a));
        int64_t seconds = json_get_int(spec, "leaseDurationSeconds", 0);
        bool released = slice_empty(l->holder) && (seconds <= RELEASED_S || kube_lease_held(l, now));
        l->duration_ms = seconds > 0 && seconds <= 3600 ? seconds * 1000 : l->lease_ms; /* garbage must not make us wait for ever */
        l->duration_ms = released ? 0 : l->duration_ms;
        l->transitions = json_get_int(spec, "leaseTransitions", 0);
        struct err none = {0};
        if (!time_parse(json_get_str(spec, "renewTime", &a), &l->stamp_us, &none))
            l->stamp_us = 0;
        buf_clear(&l->record);
        l->foreign |= !slice_eq(l->holder, l->identity);
        ok = buf_put(&l->record, body);
    }
    arena_free(&a);
    return ok;
}

static void put_spec(const struct kube_lease *l, struct jout *w, struct slice holder, bool keep, struct now now)
{
    char text[TIME_TEXT_MAX];
    struct slice time = time_format_micro(now.wall_us, text);
    struct slice acquired = keep ? SLICE_NONE : time;
    jout_form(w, "spec:{holderIdentity:'%.*s',leaseDurationSeconds:%lld,renewTime:'%.*s',acquireTime?:'%.*s',leaseTransitions:%lld}",
              SLICE_ARG(holder), (long long)(slice_empty(holder) ? RELEASED_S : (l->lease_ms + 999) / 1000), SLICE_ARG(time),
              SLICE_ARG(acquired), (long long)(keep || l->record.len == 0 || slice_empty(holder) ? l->transitions : l->transitions + 1));
}

/* The Lease as it was seen with our spec in it: what others have put there (labels, owners) stays. */
static bool write_body(const struct kube_lease *l, struct slice holder, struct arena *a, struct slice *out, struct now now, struct err *e)
{
    bool keep = slice_eq(l->holder, l->identity) && !slice_empty(holder);
    struct buf b;
    struct jout w;
    buf_init(&b, 4 * KIB);
    jout_init(&w, &b);
    jout_object(&w);
    if (l->record.len == 0)
        jout_form(&w, "apiVersion:'coordination.k8s.io/v1',kind:'Lease',metadata:{name:'%.*s',namespace:'%.*s'}", SLICE_ARG(l->name),
                  SLICE_ARG(l->ns));
    put_spec(l, &w, holder, keep, now);
    jout_end(&w);
    *out = arena_dup(a, buf_slice(&b));
    bool ok = !b.full || err_set(e, ERR_LIMIT, "the identity is too long for a Lease");
    buf_free(&b);
    return ok && (l->record.len == 0 || json_merge(buf_slice(&l->record), *out, a, out, e));
}

/* ---- requests ---- */

static void lease_done(void *owner, uint64_t tag, const struct kube_answer *answer, struct now now);

static void complain(struct kube_lease *l, const struct err *e, struct now now)
{
    if (log_memory_pass(&l->said, hash64(slice_of(e->text), 0), now))
        log_warn("leader election does not work", LF("lease", l->name), LF("namespace", l->ns), LF_CSTR("error", e->text));
}

/* So that one slow try leaves time for another before the deadline. */
static int64_t call_timeout(const struct kube_lease *l)
{
    return l->renew_ms / 2 > l->retry_ms ? l->renew_ms / 2 : l->retry_ms;
}

static void ask(struct kube_lease *l, enum lease_step step, struct slice body, struct now now)
{
    static const char *const methods[] = {[LEASE_READ] = "GET", [LEASE_WRITE] = "PUT", [LEASE_CREATE] = "POST"};
    char seconds[24];
    struct buf path;
    struct err e = {0};
    buf_init(&path, LIMIT_HTTP_URL);
    kube_path(&path, &leases, l->ns, step == LEASE_CREATE ? SLICE_NONE : l->name, SLICE_NONE);
    snprintf(seconds, sizeof seconds, "%llds", (long long)(call_timeout(l) + 999) / 1000);
    kube_query(&path, "timeout", slice_of(seconds));
    struct kube_request r = {
        .lane = KUBE_LANE_LEASE,
        .method = slice_of(methods[step]),
        .path = buf_slice(&path),
        .content_type = body.ptr ? SLICE(KUBE_TYPE_JSON) : SLICE_NONE,
        .body = body,
        .again = step == LEASE_READ,
        .timeout_ms = call_timeout(l),
        .done = lease_done,
        .owner = l,
    };
    l->step = step;
    l->asked_ms = now.mono_ms;
    if (!kube_call(l->client, &r, now, &e)) {
        l->step = LEASE_REST;
        complain(l, &e, now);
    }
    buf_free(&path);
}

static void write_lease(struct kube_lease *l, struct slice holder, struct now now)
{
    struct arena a = {0};
    struct slice body;
    struct err e = {0};
    if (write_body(l, holder, &a, &body, now, &e))
        ask(l, l->record.len ? LEASE_WRITE : LEASE_CREATE, body, now);
    else
        complain(l, &e, now);
    arena_free(&a);
}

/* ---- the protocol ---- */

/* The Lease was read, or is not there (an empty record). */
static void decide(struct kube_lease *l, struct now now)
{
    bool ours = slice_eq(l->holder, l->identity);
    bool taken = !ours && now.mono_ms < l->observed_ms + l->duration_ms;
    if (!ours)
        set_mine(l, false);
    if (!taken && !l->releasing) /* a process that is about to end does not take the lease: it would be without a leader until it lapses */
        write_lease(l, l->identity, now);
}

/* Its deletion has not stopped its holder. While our own term lasts there is no other. */
static void observe_absence(struct kube_lease *l, struct now now)
{
    if (kube_lease_held(l, now))
        l->duration_ms = 0;
    if (l->record.len)
        l->observed_ms = now.mono_ms;
    buf_clear(&l->record);
    l->holder = SLICE_NONE;
    l->foreign = true;
    l->transitions = 0;
}

static void read_done(struct kube_lease *l, const struct kube_answer *answer, struct now now)
{
    struct err e = answer->err;
    if (answer->outcome == KUBE_OK && observe(l, answer->body, now)) {
        decide(l, now);
        return;
    }
    if (answer->outcome == KUBE_REFUSED && answer->status.code == 404) {
        observe_absence(l, now);
        decide(l, now);
        return;
    }
    err_set(&e, ERR_STATUS, "reading it: %s", answer->status.message);
    complain(l, &e, now);
}

static void write_done(struct kube_lease *l, const struct kube_answer *answer, struct now now)
{
    bool was_mine = l->mine;
    if (answer->outcome == KUBE_OK && observe(l, answer->body, now)) {
        l->renewed_ms = l->asked_ms;
        l->next_ms = l->asked_ms + l->retry_ms; /* a holder's pace begins with its first write */
        set_mine(l, slice_eq(l->holder, l->identity));
        return;
    }
    if (answer->outcome == KUBE_REFUSED && answer->status.reason != KUBE_CONFLICT && answer->status.reason != KUBE_ALREADY_EXISTS) {
        struct err e = {0};
        err_set(&e, ERR_STATUS, "writing it: %s", answer->status.message);
        complain(l, &e, now);
    }
    l->reread = was_mine && !l->second; /* step 1 failed: step 2, at once */
}

static void lease_done(void *owner, uint64_t tag, const struct kube_answer *answer, struct now now)
{
    struct kube_lease *l = owner;
    enum lease_step step = l->step;
    (void)tag;
    l->step = LEASE_REST;
    if (step == LEASE_READ)
        read_done(l, answer, now);
    else
        write_done(l, answer, now);
    if (l->releasing && l->step == LEASE_REST)
        kube_lease_release(l, now);
}

/* Monotonic: next read of a Lease that another replica holds, 0.5 to 1.5 × retry_ms from now: the jitter spreads the reads of waiting
 * replicas. */
static int64_t next_look(const struct kube_lease *l, struct now now)
{
    int64_t apart = (int64_t)rng_below(&l->client->rng, LOOK_APART_MS), retry = l->retry_ms;
    int64_t since = (now.wall_us - l->stamp_us) / 1000 - LOOK_BEHIND_MS - apart, phase = (since % retry + retry) % retry;
    int64_t next = now.mono_ms + retry + (phase < retry / 2 ? -phase : retry - phase), free = l->observed_ms + l->duration_ms + apart;
    return free > now.mono_ms + 1 && free < next ? free : next;
}

int64_t kube_lease_tick(struct kube_lease *l, struct now now)
{
    int64_t until = l->renewed_ms + l->renew_ms;
    if (l->mine && now.mono_ms >= until)
        set_mine(l, false);
    if (l->step == LEASE_REST && !l->releasing && (now.mono_ms >= l->next_ms || l->reread)) {
        l->next_ms = l->mine ? now.mono_ms + l->retry_ms : next_look(l, now);
        l->second = l->reread;
        if (l->mine && !l->reread)
            write_lease(l, l->identity, now);
        else
            ask(l, LEASE_READ, SLICE_NONE, now);
        l->reread = false;
    }
    int64_t next = l->step == LEASE_REST && !l->releasing ? l->next_ms : TIME_NEVER; /* else the answer is what happens next */
    return l->mine && until < next ? until : next;
}

/* ---- its life ---- */

struct kube_lease *kube_lease_start(struct kube_client *c, const struct kube_lease_options *o, struct err *e)
{
    int64_t lease = o->lease_ms ? o->lease_ms : KUBE_LEASE_MS, renew = o->renew_ms ? o->renew_ms : KUBE_LEASE_RENEW_MS;
    int64_t retry = o->retry_ms ? o->retry_ms : KUBE_LEASE_RETRY_MS;
    if (retry < 1 || lease <= renew || renew * 10 <= retry * 12) {
        err_set(e, ERR_CONFIG, "leader election: lease %lld ms > renew deadline %lld ms > 1.2 x retry %lld ms does not hold",
                (long long)lease, (long long)renew, (long long)retry);
        return NULL;
    }
    if (slice_empty(o->ns) || slice_empty(o->name) || slice_empty(o->identity)) {
        err_set(e, ERR_CONFIG, "leader election needs a namespace, a name and an identity");
        return NULL;
    }
    struct kube_lease *l = mem_alloc(sizeof *l);
    l->client = c;
    l->ns = arena_dup(&l->strings, o->ns);
    l->name = arena_dup(&l->strings, o->name);
    l->identity = arena_dup(&l->strings, o->identity);
    l->lease_ms = lease;
    l->renew_ms = renew;
    l->retry_ms = retry;
    buf_init(&l->record, LEASE_RECORD_MAX);
    return l;
}

void kube_lease_release(struct kube_lease *l, struct now now)
{
    l->releasing = true;
    if (l->step != LEASE_REST || !l->mine)
        return; /* when a request is in flight, its end comes back here */
    write_lease(l, SLICE(""), now);
    set_mine(l, false);
}

void kube_lease_free(struct kube_lease *l)
{
    if (!l)
        return;
    calls_orphan(l->client, l);
    buf_free(&l->record);
    arena_free(&l->seen);
    arena_free(&l->strings);
    mem_free(l);
}
