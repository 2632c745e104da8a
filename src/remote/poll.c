/* When the call is made. One is always under way, and the server holds its answer until there is news; when that fails, the next one waits,
 * longer each time. */
#include <mobula/remote.h>

#include <stdio.h>

enum { BODY_MAX = LIMIT_REMOTE_BODY, HEAD_ROOM = 64 * KIB, PUSH = 1 /* bit of a call's number */ };

struct remote {
    struct kube_client *client;
    struct remote_options o;
    struct rng rng;
    bool on, polling, pushing;
    bool releasing, released; /* the last call was sent; it was answered, or there is none to be sent */
    bool told;        /* the last poll had news: the next one has none, so that the server may hold it, and changes since then are pushed */
    bool held;        /* the last poll may be held */
    uint64_t telling; /* the call that has news; 0: none is under way */
    bool more;        /* there are more news than the last call had room for */
    uint64_t first;   /* number of the first call since remote_start: answers to older ones are ignored */
    uint64_t calls;   /* the last number given */
    int64_t next_ms;  /* the next poll */
    int64_t push_ms;  /* the next push; TIME_NEVER: nothing to tell */
    int64_t push_from_ms; /* earliest time of a push after one that failed; 0: the last one did not fail */
    uint32_t failures;    /* consecutive */
    size_t room;          /* for what a call tells */
    int64_t pages_ms;     /* of pages: for rate_pays */
    bool listing;         /* the revision is that of a page of a full answer */
    char revision[LIMIT_REMOTE_REVISION + 1];
    struct buf body;
    struct arena arena;
    struct log_limit log;
    bool said; /* the log has a failure that is not over */
    struct remote_stats stats;
};

static void on_answer(void *owner, uint64_t tag, const struct kube_answer *answer, struct now now);

/* ---- sending ---- */

static void write_request(struct remote *r, bool push, uint64_t call)
{
    struct jout w;
    buf_clear(&r->body);
    jout_init(&w, &r->body);
    jout_object(&w);
    jout_kint(&w, "protocol", REMOTE_PROTOCOL);
    jout_kstr(&w, "cloud", r->o.cloud);
    jout_kstr(&w, "instance", r->o.instance);
    if (!slice_empty(r->o.lease))
        jout_kstr(&w, "lease", r->o.lease);
    jout_kstr(&w, "version", r->o.version);
    jout_kstr(&w, "revision", slice_of(r->revision));
    bool may_tell = !r->releasing && !r->telling && (push || !r->told || r->listing);
    enum remote_news news = r->o.user->tell(r->o.owner, &w, may_tell ? r->room : 0, call);
    bool waits = !push && news == REMOTE_NO_NEWS && !r->listing;
    if (news != REMOTE_NO_NEWS)
        r->telling = call;
    if (may_tell) {
        r->push_ms = TIME_NEVER;
        r->more = news == REMOTE_MORE_NEWS;
    }
    if (!push) {
        r->told = news != REMOTE_NO_NEWS;
        r->held = waits;
    }
    jout_kint(&w, "wait", waits ? REMOTE_WAIT_S : 0);
    if (r->releasing)
        jout_kbool(&w, "release", true);
    jout_end(&w);
}

static void failed(struct remote *r, bool push, const struct err *why, int64_t least_ms, struct now now);

static void told(struct remote *r, uint64_t call, bool taken)
{
    r->telling = r->telling == call ? 0 : r->telling;
    r->o.user->told(r->o.owner, call, taken);
}

static void send_call(struct remote *r, bool push, struct now now)
{
    struct err e = {0};
    uint64_t call = r->calls += 2;
    call |= push;
    write_request(r, push, call);
    const struct kube_request q = {.lane = KUBE_LANE_MAIN,
                                   .method = SLICE("POST"),
                                   .path = SLICE("/v1/sync"),
                                   .content_type = SLICE(KUBE_TYPE_JSON),
                                   .body = buf_slice(&r->body),
                                   .again = true, /* it is state */
                                   .at_once = true,
                                   .timeout_ms = REMOTE_CALL_MS,
                                   .begin_ms = now.mono_ms + REMOTE_BEGIN_MS,
                                   .done = on_answer,
                                   .owner = r,
                                   .tag = call};
    r->stats.calls++;
    *(push ? &r->pushing : &r->polling) = true;
    bool sent = kube_call(r->client, &q, now, &e);
    buf_shrink(&r->body, HEAD_ROOM);
    if (sent)
        return;
    told(r, call, false);
    failed(r, push, &e, 0, now);
}

/* ---- answers ---- */

/* A call has failed. A push waits as long as a poll would: until then the poll may have told it. */
static void failed(struct remote *r, bool push, const struct err *why, int64_t least_ms, struct now now)
{
    int64_t wait_ms = backoff_ms(&r->rng, r->failures, REMOTE_BACKOFF_MS, REMOTE_BACKOFF_MAX_MS);
    r->failures += r->failures < 1000;
    if (wait_ms < least_ms)
        wait_ms = least_ms + (int64_t)rng_below(&r->rng, (uint64_t)least_ms / 8 + 1);
    r->stats.failures++;
    r->stats.trouble = *why;
    r->stats.refused = 0;
    if (!push)
        r->told = false; /* the next call carries its report */
    *(push ? &r->pushing : &r->polling) = false;
    *(push ? &r->push_ms : &r->next_ms) = now.mono_ms + wait_ms;
    if (push)
        r->push_from_ms = r->push_ms;
}

/* Connections that fail are logged by the client. */
static void say_failure(struct remote *r, struct now now)
{
    if (!log_limit_pass(&r->log, now))
        return;
    r->said = true;
    log_warn("the control plane's answer cannot be used: what runs here goes on", LF_CSTR("error", r->stats.trouble.text),
             LF_CSTR("step", err_code_name(r->stats.trouble.code)), LF_INT("failures", r->failures));
}

static void well(struct remote *r, struct now now)
{
    if (r->said)
        log_info("the control plane's answers can be used again", LF_INT("failures", r->failures));
    r->said = false;
    r->failures = 0;
    r->push_from_ms = 0;
    r->stats.trouble = (struct err){0};
    r->stats.refused = 0;
    r->stats.heard_us = now.wall_us;
}

/* The wait that the control plane asks for. Its clock, and dates made from it, decide nothing here. */
static int64_t bounded(struct remote *r, int64_t asked_ms, struct now now)
{
    if (asked_ms <= REMOTE_RETRY_AFTER_MAX_MS)
        return asked_ms < 0 ? 0 : asked_ms;
    r->stats.long_waits++;
    if (log_limit_pass(&r->log, now))
        log_warn("the control plane asks for a longer pause than is kept", LF_CSTR("rule", "clocks"), LF_INT("asked_ms", asked_ms),
                 LF_INT("in_ms", REMOTE_RETRY_AFTER_MAX_MS));
    return REMOTE_RETRY_AFTER_MAX_MS;
}

/* The pause until the next poll: none while pages come, nor after one that was not to be held; a server that answers without news and at
 * once although it may wait is not asked in a circle. */
static int64_t pause_ms(struct remote *r, const struct remote_answer *a, int64_t took_ms, struct now now)
{
    bool news = a->count || a->question_count, page = a->more && rate_pays(&r->pages_ms, REMOTE_LEAST_MS, REMOTE_PAGES, now);
    int64_t ms = news ? (page ? 0 : REMOTE_SOON_MS) : r->held && took_ms < REMOTE_LEAST_MS ? REMOTE_LEAST_MS : 0;
    return a->retry_after_ms > ms ? a->retry_after_ms : ms;
}

static void say_bad(struct remote *r, const struct remote_answer *a, struct now now)
{
    if (a->bad && log_limit_pass(&r->log, now))
        log_warn("the control plane sent workloads that are none: they are left out", LF_INT("count", a->bad),
                 LF_CSTR("first", a->why.text));
}

static void answered(struct remote *r, bool push, uint64_t call, const struct kube_answer *answer, struct now now)
{
    struct remote_answer a;
    struct err e = {0};
    arena_reset(&r->arena, HEAD_ROOM);
    bool news = r->telling == call, read = remote_read(answer->body, &r->arena, &a, &e);
    told(r, call, read);
    if (!read) {
        r->stats.unreadable++;
        failed(r, push, &e, 0, now);
        say_failure(r, now);
        return;
    }
    well(r, now);
    if (news)
        r->room = r->room * 2 < REMOTE_REPORT ? r->room * 2 : REMOTE_REPORT;
    if (!push) {
        a.fresh = a.full && !r->listing;
        r->stats.items += a.count;
        r->stats.bad += a.bad;
        say_bad(r, &a, now);
        a.retry_after_ms = bounded(r, a.retry_after_ms, now);
        r->next_ms = now.mono_ms + pause_ms(r, &a, answer->took_ms, now);
        r->o.user->heard(r->o.owner, &a, now);
        slice_copy(a.revision, r->revision, sizeof r->revision);
        r->listing = a.full && a.more;
    }
    if (!slice_empty(a.identity))
        slice_copy(a.identity, r->stats.identity, sizeof r->stats.identity);
    if (a.wants_types || a.wants_nodes)
        r->o.user->wanted(r->o.owner, a.wants_types, a.wants_nodes, now);
    for (uint32_t i = 0; i < a.question_count; i++)
        r->o.user->asked(r->o.owner, &a.questions[i], now);
    if (r->more)
        remote_push(r, now);
}

static void refused(struct remote *r, bool push, const struct kube_answer *answer, struct now now)
{
    char words[REMOTE_WORDS];
    struct err e = {0};
    remote_refusal(answer->status.code, answer->body, words);
    if (answer->status.code == 413)
        r->room = r->room / 2 > REMOTE_REPORT_LEAST ? r->room / 2 : REMOTE_REPORT_LEAST;
    r->stats.redirects += answer->status.code >= 300 && answer->status.code < 400;
    err_set(&e, ERR_STATUS, "%s", words);
    failed(r, push, &e, bounded(r, answer->status.retry_after_ms, now), now);
    r->stats.refused = answer->status.code;
    say_failure(r, now);
}

static void on_answer(void *owner, uint64_t tag, const struct kube_answer *answer, struct now now)
{
    struct remote *r = owner;
    bool push = tag & PUSH;
    if (tag < r->first)
        return;
    *(push ? &r->pushing : &r->polling) = false;
    r->released = r->releasing && push;
    if (!r->on)
        return;
    if (answer->outcome == KUBE_OK) {
        answered(r, push, tag, answer, now);
        return;
    }
    told(r, tag, false);
    if (answer->outcome == KUBE_REFUSED)
        refused(r, push, answer, now);
    else {
        r->stats.unreadable += answer->err.code == ERR_HTTP || answer->err.code == ERR_LIMIT;
        failed(r, push, &answer->err, 0, now);
    }
}

/* ---- the client ---- */

struct remote *remote_new(struct net *net, struct kube_config *config, const struct remote_options *o)
{
    struct remote *r = mem_alloc(sizeof *r);
    r->o = *o;
    rng_seed(&r->rng, o->seed);
    buf_init(&r->body, BODY_MAX);
    r->room = REMOTE_REPORT;
    r->push_ms = TIME_NEVER;
    r->client = kube_client_new(net, config, rng_next(&r->rng), "mobula/" MOBULA_VERSION);
    kube_client_backoff(r->client, REMOTE_LINK_BACKOFF_MAX_MS);
    return r;
}

void remote_free(struct remote *r)
{
    if (!r)
        return;
    kube_client_free(r->client);
    buf_free(&r->body);
    arena_free(&r->arena);
    mem_free(r);
}

void remote_start(struct remote *r, struct now now)
{
    r->on = true;
    r->polling = r->pushing = r->listing = r->more = false;
    r->told = r->held = false;
    r->telling = 0;
    r->first = r->calls + 2;
    r->revision[0] = '\0';
    r->next_ms = now.mono_ms;
    r->push_from_ms = 0;
    r->failures = 0;
}

void remote_stop(struct remote *r)
{
    r->on = false;
}

bool remote_release(struct remote *r, struct now now)
{
    if (!r->stats.heard_us || r->stats.trouble.code != ERR_NONE)
        return true;
    r->on = false;
    if (r->pushing || (r->polling && !r->held) || r->releasing) /* a report is not to be written behind the last call */
        return r->released;
    r->releasing = true;
    send_call(r, true, now);
    return false;
}

void remote_push(struct remote *r, struct now now)
{
    int64_t at_ms = now.mono_ms + REMOTE_PUSH_MS;
    r->push_ms = earlier(r->push_ms, at_ms > r->push_from_ms ? at_ms : r->push_from_ms);
}

void remote_renew(struct remote *r, struct now now)
{
    kube_client_renew(r->client, now);
}

bool remote_fetch(struct remote *r, struct slice path, kube_done *done, void *owner, uint64_t tag, struct now now, struct err *e)
{
    const struct kube_request q = {.lane = KUBE_LANE_MAIN,
                                   .method = SLICE("GET"),
                                   .path = path,
                                   .again = true,
                                   .at_once = true,
                                   .timeout_ms = REMOTE_CALL_MS,
                                   .done = done,
                                   .owner = owner,
                                   .tag = tag};
    return kube_call(r->client, &q, now, e);
}

int64_t remote_tick(struct remote *r, struct now now)
{
    int64_t next = TIME_NEVER;
    if (r->on && !r->polling && now.mono_ms >= r->next_ms)
        send_call(r, false, now);
    /* A poll that is about to go out tells as well; and one whose answer is not held has no use for company. */
    bool push = r->on && r->polling && !r->pushing && !r->listing && !r->telling;
    if (push && now.mono_ms >= r->push_ms)
        send_call(r, true, now);
    if (r->on && !r->polling)
        next = r->next_ms;
    if (push && !r->pushing)
        next = earlier(next, r->push_ms);
    return earlier(next, kube_client_tick(r->client, now));
}

const struct remote_stats *remote_stats(const struct remote *r)
{
    return &r->stats;
}
