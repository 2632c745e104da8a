/* The conversation with a control plane: what it says becomes records, what they report goes back. */
#include "workload.h"

enum { STATUSES_MAX = 2000 };

/* ---- reports to the control plane ---- */

void workload_tell(struct workloads *s, struct workload_news *n, struct slice text, uint64_t hash)
{
    s->bytes += text.len;
    s->bytes -= n->text ? n->len : 0;
    mem_free(n->text);
    n->text = NULL;
    n->hash = text.ptr ? hash : n->hash;
    if (!text.ptr)
        return;
    n->text = mem_alloc(text.len);
    n->len = text.len;
    memcpy(n->text, text.ptr, text.len);
    remote_push(s->remote, s->op->now);
}

bool workload_keep_report(struct workloads *s, struct record *c, struct slice report, bool gone)
{
    struct workload *w = workload_of(c);
    uint64_t hash = hash64(report, 0) | 1;
    if (hash == w->status.hash)
        return false;
    struct slice text =
        arena_printf(&s->op->arenas.plan, "{\"sequence\":%lld,%.*s", (long long)++s->sequence, SLICE_ARG(slice_skip(report, 1)));
    workload_tell(s, &w->status, text, hash);
    w->gone = gone;
    return true;
}

/* at: of the news in struct workload. bytes: as of answers_tell. */
static enum remote_news tell_news(struct workloads *s, const char *key, size_t at, struct jout *w, size_t room, size_t *bytes,
                                  uint64_t call)
{
    struct record *c;
    size_t count = 0;
    enum remote_news news = REMOTE_NO_NEWS;
    jout_karray(w, key);
    for (uint32_t i = 0; (c = map_next(&s->by_uid, &i)) != NULL;) {
        struct workload_news *n = (struct workload_news *)(void *)((char *)workload_of(c) + at);
        if (!n->text)
            continue;
        if ((*bytes && *bytes + n->len > room) || count == STATUSES_MAX) {
            news = REMOTE_MORE_NEWS;
            break;
        }
        news = REMOTE_NEWS;
        jout_raw(w, (struct slice){n->text, n->len});
        *bytes += n->len + 1;
        count++;
        n->call = call;
        n->told_hash = n->hash;
    }
    jout_end(w);
    return news;
}

static enum remote_news tell(void *owner, struct jout *w, size_t room, uint64_t call)
{
    struct workloads *s = owner;
    size_t bytes = 0;
    checks_tell(s->op, w, room, call);
    if (!room)
        return REMOTE_NO_NEWS;
    /* Answers come first, because somebody waits for them. Reports of pods go with a call that has no statuses: the control plane stores a
     * report in the status that is written before it. */
    enum remote_news answers = answers_tell(s, w, room, &bytes, call);
    enum remote_news news = tell_news(s, "statuses", offsetof(struct workload, status), w, room, &bytes, call);
    enum remote_news rays = tell_news(s, "reports", offsetof(struct workload, ray), w, news == REMOTE_NO_NEWS ? room : 0, &bytes, call);
    news = answers > news ? answers : news;
    return rays > news ? rays : news;
}

/* Returns whether the control plane has the newest. */
static bool news_told(struct workloads *s, struct workload_news *n, uint64_t call, bool taken)
{
    bool whole = n->call == call && taken && n->told_hash == n->hash;
    n->call = n->call == call ? 0 : n->call;
    if (whole)
        workload_tell(s, n, SLICE_NONE, 0);
    return whole;
}

static void told(void *owner, uint64_t call, bool taken)
{
    struct workloads *s = owner;
    struct record *c;
    for (uint32_t i = 0; (c = map_next(&s->by_uid, &i)) != NULL;) {
        struct workload *w = workload_of(c);
        news_told(s, &w->ray, call, taken);
        if (news_told(s, &w->status, call, taken) && w->gone)
            record_gone(s->op, c);
    }
    answers_told(s, call, taken);
    checks_told(s->op, call, taken);
}

/* ---- work from the control plane ---- */

static void take_spec(struct workloads *s, struct record *c, const struct remote_item *x)
{
    struct op *op = s->op;
    struct workload *w = workload_of(c);
    s->spec_bytes += x->spec.len - w->bytes;
    w->bytes = x->spec.len;
    failures_clear(op, c);
    c->seen.generation = x->generation;
    keep_interned(op, &c->seen.spec, intern_get(&op->strings, x->spec));
    work_drop(c);
    record_reread(op, c);
}

/* Where is not known when only its uid is: then nothing of it is here, and that is all there is to say. */
static struct slice some_namespace(const struct op *op)
{
    return slice_empty(op->spaces[0].ns) ? SLICE("default") : op->spaces[0].ns;
}

/* A workload that is not kept counts as not received: it waits in the control plane until that sends it again, and nothing is deleted for
 * it. */
static bool leave_out(struct workloads *s, const struct remote_item *x)
{
    s->rules[WORK_RULE_FLOODS]++;
    if (log_limit_pass(&s->flood_log, s->op->now))
        log_warn("rule floods: the control plane sends more than is kept here: a workload is left out", LF("uid", x->uid),
                 LF_INT("workloads", s->by_uid.count), LF_INT("bytes", s->spec_bytes));
    return false;
}

static bool take_item(struct workloads *s, const struct remote_item *x)
{
    struct record *c = workload_find(s, x->uid);
    if (!x->gone || !c)
        c = x->gone ? workload_record(s, x->uid, some_namespace(s->op), x->uid) : workload_record(s, x->uid, x->project, x->name);
    if (!c)
        return leave_out(s, x);
    struct workload *w = workload_of(c);
    if (!x->gone && !slice_eq(x->project, istr_slice(c->ns)))
        return false;
    w->listed = true;
    w->round = s->round;
    w->held = false;
    w->ended = x->gone;
    w->over = x->over > w->over ? x->over : w->over;
    s->rules[WORK_RULE_REPLAYS] += !x->gone && x->generation < c->seen.generation;
    bool newer = !x->gone && x->generation > c->seen.generation;
    if (newer && s->spec_bytes - w->bytes + x->spec.len > LIMIT_REMOTE_SPECS)
        return leave_out(s, x);
    if (newer)
        take_spec(s, c, x);
    record_touch(s->op, c);
    return true;
}

/* ---- full lists ---- */

static void announce(uint32_t gone, uint32_t runs, bool back)
{
    log_warn(back ? "the control plane's state is older than before: what it does not have any more is deleted later"
                  : "the control plane does not have many workloads any more: what was made from them is deleted later",
             LF_INT("workloads", gone), LF_INT("of", runs), LF_INT("in_ms", REMOTE_HOLD_MS));
}

static void say_held(struct workloads *s, const struct record *c)
{
    for (const struct record *own = c->family.owned; own; own = own->family.next)
        if (own->present)
            kube_event_say(
                s->op->events,
                &(struct kube_event){.about = {own->kind->api_version, slice_of(own->kind->name), istr_slice(own->ns), slice_of(own->name),
                                               slice_of(own->uid)},
                                     .warning = true,
                                     .reason = SLICE("RemoteDeletionHeld"),
                                     .action = SLICE("Sync"),
                                     .note = SLICE("the control plane does not have the workload of this object any more, and many others "
                                                   "neither: it is deleted in 10 min unless the workload is there again")},
                s->op->now);
}

static bool is_missing(const struct workloads *s, const struct record *c)
{
    return workload_of(c)->round != s->round && !workload_of(c)->ended;
}

/* The workloads that the list no longer has. When they are more than a fifth of those that run (with those whose deletion is held already),
 * or the control plane's state has gone back, it may be the control plane that has lost it: then nothing is deleted for ten minutes. */
static void end_list(struct workloads *s, bool back)
{
    struct record *c;
    uint32_t gone = 0, more = 0, runs = 0;
    for (uint32_t i = 0; (c = map_next(&s->by_uid, &i)) != NULL;) {
        bool runs_here = c->family.owned != NULL, missing = runs_here && is_missing(s, c);
        runs += runs_here;
        more += missing;
        gone += missing || (runs_here && workload_of(c)->held);
    }
    bool hold = more && (back || (uint64_t)gone * REMOTE_HOLD_SHARE > runs);
    if (hold) {
        announce(gone, runs, back);
        s->held_ms = s->op->now.mono_ms + REMOTE_HOLD_MS;
    }
    for (uint32_t i = 0; (c = map_next(&s->by_uid, &i)) != NULL;) {
        if (!is_missing(s, c))
            continue;
        if (!c->family.owned) {
            record_gone(s->op, c);
            continue;
        }
        workload_of(c)->ended = true;
        workload_of(c)->held = hold;
        if (hold)
            say_held(s, c);
        record_touch(s->op, c);
    }
}

/* Monotonic: when deletions that are held back are carried out. Only while the control plane is there: without it nothing is deleted. */
static void release_held(struct workloads *s)
{
    struct op *op = s->op;
    bool there = remote_stats(s->remote)->trouble.code == ERR_NONE && op->now.mono_ms < s->heard_ms + REMOTE_CALL_MS;
    if (op->now.mono_ms < s->held_ms || !there)
        return;
    s->held_ms = TIME_NEVER;
    struct record *c;
    for (uint32_t i = 0; (c = map_next(&s->by_uid, &i)) != NULL;) {
        if (!workload_of(c)->held)
            continue;
        workload_of(c)->held = false;
        record_touch(op, c);
    }
}

static bool went_back(struct workloads *s, struct slice revision)
{
    uint64_t number = 0;
    bool back = kube_version_parse(revision, &number) && number < s->revision;
    s->revision = number ? number : s->revision;
    return back;
}

static void heard(void *owner, const struct remote_answer *a, struct now now)
{
    struct workloads *s = owner;
    s->op->now = now;
    s->heard_ms = now.mono_ms;
    arena_reset(&s->op->arenas.event, 64 * KIB);
    if (a->fresh) {
        s->round++;
        s->leaves = false;
    }
    s->leaves |= a->bad > 0;
    for (uint32_t i = 0; i < a->count; i++)
        s->leaves |= !take_item(s, &a->items[i]);
    bool back = went_back(s, a->revision);
    s->rules[WORK_RULE_REPLAYS] += back;
    if (a->full && !a->more && !s->leaves)
        end_list(s, back);
}

static void wanted(void *owner, bool types, bool nodes, struct now now)
{
    struct workloads *s = owner;
    s->op->now = now;
    if (checks_wanted(s->op, types, nodes))
        remote_push(s->remote, now);
}

const struct remote_user workload_user = {tell, told, heard, question_asked, wanted};

/* ---- the process ---- */

void workloads_init(struct op *op, struct net *net)
{
    const struct operator_plane *plane = &op->o.plane;
    if (!plane->config)
        return;
    struct workloads *s = mem_alloc(sizeof *s);
    *s = (struct workloads){.op = op, .held_ms = TIME_NEVER};
    s->remote = remote_new(net, plane->config,
                           &(struct remote_options){.cloud = plane->cloud,
                                                    .instance = plane->instance,
                                                    .lease = plane->lease,
                                                    .version = op->o.ray.version,
                                                    .seed = rng_next(&op->rng),
                                                    .user = &workload_user,
                                                    .owner = s});
    *kind_own(op, own_kind(op, &workload_own)) = s;
}

void workloads_free(struct op *op)
{
    struct workloads *s = workloads_of(op);
    if (!s)
        return;
    agents_free(s->agents);
    remote_free(s->remote);
    questions_free(s);
    map_free(&s->by_uid);
    mem_free(s);
    *kind_own(op, own_kind(op, &workload_own)) = NULL;
}

void workloads_renew(struct op *op)
{
    if (!workloads_of(op))
        return;
    policy_renew(op);
    remote_renew(workloads_of(op)->remote, op->now);
}

bool workloads_stop(struct op *op)
{
    return !workloads_of(op) || remote_release(workloads_of(op)->remote, op->now);
}

/* Calls begin when all lists are complete: what a full answer does not name is looked for among what is here. */
int64_t workloads_tick(struct op *op)
{
    struct workloads *s = workloads_of(op);
    if (!s)
        return TIME_NEVER;
    bool on = op->phase.leading && !op->phase.stopping && op->phase.complete && !policy_awaited(op);
    if (!policy_awaited(op))
        policy_follow(s);
    if (on && !s->on)
        remote_start(s->remote, op->now);
    if (!on && s->on)
        remote_stop(s->remote);
    s->on = on;
    if (on)
        release_held(s);
    int64_t next = remote_tick(s->remote, op->now);
    return on && s->held_ms > op->now.mono_ms && s->held_ms < next ? s->held_ms : next;
}
