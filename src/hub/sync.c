/* POST /v1/sync: who asks is known, and what follows is whether the cloud is his (session.c), what he reports (report.c), and the answer,
 * which is held back until there is something to say. */
#include "private.h"

#include <stdio.h>

enum { PROTOCOL = 1 };

/* ---- the request ---- */

static bool read_text(struct call *c, const char *name, size_t max, struct slice *out)
{
    struct jval v = json_get(json_root(&c->sync.doc), name);
    *out = json_there(v) ? arena_dup(&c->arena, json_str(v, &c->arena)) : SLICE("");
    bool plain = out->len <= max && (json_type(v) == JSON_STRING || !json_there(v));
    for (struct slice rest = *out; plain && !slice_empty(rest);) {
        size_t step = utf8_step(rest);
        plain = step && !utf8_control(slice_head(rest, step));
        rest = slice_skip(rest, step);
    }
    if (plain)
        return true;
    call_refuse(c, &refuse_bad, "%s is a string of at most %zu bytes, without control characters", name, max);
    return false;
}

static bool read_list(struct call *c, const char *name, size_t most)
{
    struct jval v = json_get(json_root(&c->sync.doc), name);
    if (!json_there(v) || (json_type(v) == JSON_ARRAY && json_len(v) <= most))
        return true;
    call_refuse(c, &refuse_bad, "%s is an array of at most %zu elements", name, most);
    return false;
}

/* A revision is a version, and behind a dot where a full answer is to go on. What is none is as none at all. */
static void read_revision(struct call *c, struct slice text)
{
    struct slice version = slice_cut(&text, '.');
    if (!kube_version_parse(version, &c->sync.revision))
        c->sync.revision = 0;
    c->sync.cursor = c->sync.revision && text.ptr ? text : SLICE("");
    c->sync.full = !c->sync.revision || !slice_empty(c->sync.cursor);
}

static bool read_request(struct call *c, struct slice *id)
{
    static const struct refusal version = {422, "ProtocolUnsupported",
                                           "install a control plane and an operator that are at most one version apart", 0};
    struct err e = {0};
    struct slice revision;
    if (!json_parse(&c->sync.doc, c->ask->body, &c->arena, &e) || json_type(json_root(&c->sync.doc)) != JSON_OBJECT) {
        call_refuse(c, &refuse_bad, "the body is no JSON object%s%s", e.code ? ": " : "", e.text);
        return false;
    }
    c->sync.values = c->sync.doc.count;
    c->hub->values += c->sync.values;
    if (c->hub->values > LIMIT_HUB_VALUES) {
        call_refuse(c, &refuse_later, "too many requests of operators are being carried out at this moment");
        return false;
    }
    int64_t protocol = json_get_int(json_root(&c->sync.doc), "protocol", 0);
    if (protocol < 1) {
        call_refuse(c, &refuse_bad, "protocol is a number from 1 on");
        return false;
    }
    if (protocol > PROTOCOL + 1) {
        call_refuse(c, &version, "protocol %lld is not spoken here: %d is", (long long)protocol, PROTOCOL);
        return false;
    }
    if (!read_text(c, "cloud", HUB_DEPLOYMENT_ID, id) || !read_text(c, "instance", LIMIT_HUB_INSTANCE, &c->sync.instance) ||
        !read_text(c, "lease", LIMIT_HUB_LEASE, &c->sync.lease) || !read_text(c, "version", 64, &c->sync.version) ||
        !read_text(c, "revision", 64, &revision) || !read_list(c, "statuses", LIMIT_HUB_STATUSES) ||
        !read_list(c, "reports", LIMIT_HUB_STATUSES) || !read_list(c, "answers", LIMIT_HUB_ANSWERS))
        return false;
    if (slice_empty(c->sync.instance)) {
        call_refuse(c, &refuse_bad, "instance is empty");
        return false;
    }
    read_revision(c, revision);
    c->sync.release = json_get_bool(json_root(&c->sync.doc), "release", false);
    int64_t wait_s = json_get_int(json_root(&c->sync.doc), "wait", HUB_WAIT_MS / 1000);
    c->sync.wait_ms = wait_s <= 0 ? 0 : wait_s > HUB_WAIT_MS / 1000 ? HUB_WAIT_MS : wait_s * 1000;
    return true;
}

/* ---- the answer ---- */

static void answer(struct call *c)
{
    struct hub *h = c->hub;
    struct jout w;
    buf_clear(&h->body);
    jout_init(&w, &h->body);
    jout_object(&w);
    jout_kint(&w, "protocol", PROTOCOL);
    page_write(c, &w);
    jout_karray(&w, "questions");
    if (!peer_forwarded(c)) /* the replica that has sent the call on ignores the answer's contents */
        questions_write(c->cloud, &w);
    jout_end(&w);
    jout_karray(&w, "wants");
    if (c->sync.want_types)
        jout_str(&w, SLICE("instanceTypes"));
    if (c->sync.want_nodes)
        jout_str(&w, SLICE("nodes"));
    jout_end(&w);
    jout_form(&w, "retryAfter:0,identity:'%.*s'", SLICE_ARG(c->user));
    jout_end(&w);
    h->stats.syncs++;
    h->stats.resyncs += c->sync.full;
    call_answer(c, 200, buf_slice(&h->body));
}

static void answer_in_full(struct call *c)
{
    c->sync.full = true;
    c->sync.revision = 0;
    c->sync.cursor = SLICE_NONE;
}

/* The operator has seen more than this replica. It waits for its own watch, then for a consistent list: if that is older too, the store was
 * restored from a backup. False: not yet, or it was refused. */
static bool catch_up(struct call *c)
{
    struct hub *h = c->hub;
    struct kube_keeper *k = &hub_store_space(h, c->cloud->ns)->source[SOURCE_WORKLOADS].keeper;
    if (!c->sync.revision || c->sync.revision <= k->version)
        return true;
    if (!c->sync.ahead_ms) {
        c->sync.ahead_ms = h->now.mono_ms;
        c->until_ms = h->now.mono_ms + HUB_CATCH_UP_MS / 2;
    } else if (!c->sync.listed_ms && h->now.mono_ms >= c->until_ms) {
        c->sync.listed_ms = h->now.mono_ms;
        c->until_ms = h->now.mono_ms + HUB_CATCH_UP_MS;
        kube_keeper_refresh(k, h->now);
    } else if (c->sync.listed_ms && k->synced && kube_watch_asked_ms(k->watch) >= c->sync.listed_ms) {
        log_warn("the operator has a revision that the store does not know: it gets a full answer", LF_CSTR("cloud", c->cloud->key),
                 LF_INT("revision", c->sync.revision), LF_INT("version", k->version));
        answer_in_full(c);
        return true;
    } else if (h->now.mono_ms >= c->until_ms) {
        call_refuse(c, &refuse_lost, "this replica of the control plane has not seen revision %llu yet",
                    (unsigned long long)c->sync.revision);
    }
    return false;
}

/* Another instance has the cloud now, or may have it before this replica hears of that: the operator receives no further work. */
static bool session_lost(struct call *c)
{
    const char *holder = c->cloud->session.instance;
    bool lost = holder[0] && !slice_is(c->sync.instance, holder),
         late = !c->sync.since_ms && !c->sync.release && c->hub->now.mono_ms >= session_sure_ms(c->cloud);
    if (lost)
        session_refuse(c);
    else if (late)
        call_refuse(c, &refuse_lost, "the call took longer than the session of cloud %s is sure to last", c->cloud->key);
    return lost || late;
}

static void sync_touch(struct call *c)
{
    struct hub *h = c->hub;
    const struct space *s = hub_store_space(h, c->cloud->ns);
    if (session_refuse_deleted(c) || (!c->sync.since_ms && !catch_up(c)) || session_lost(c))
        return;
    if (!c->sync.since_ms) {
        c->sync.since_ms = h->now.mono_ms;
        c->until_ms = earlier(c->sync.since_ms + c->sync.wait_ms, session_sure_ms(c->cloud));
    }
    if (c->sync.revision < s->floor)
        answer_in_full(c);
    if (page_due(c) || c->sync.want_types || c->sync.want_nodes || questions_write(c->cloud, NULL) || h->stopping ||
        h->now.mono_ms >= c->until_ms)
        answer(c);
}

/* From here on it is not needed what the request has said. A new call of an operator that waits takes the place of the one before, whose
 * answer may have nowhere to go. */
static void hold(struct call *c)
{
    struct cloud *cloud = c->cloud;
    struct arena before = c->arena;
    if (c->sync.failed) {
        call_refuse(c, &refuse_lost, "a status could not be written: %s", c->sync.failure);
        return;
    }
    c->arena = (struct arena){0};
    c->user = arena_dup(&c->arena, c->user);
    c->sync.cursor = arena_dup(&c->arena, c->sync.cursor);
    c->sync.instance = arena_dup(&c->arena, c->sync.instance);
    c->sync.lease = c->sync.version = c->token = c->subject = SLICE_NONE;
    arena_free(&before);
    call_drop_values(c);
    c->touch = sync_touch;
    serve_drop_body(c->ask);
    if (c->sync.wait_ms > 0) {
        struct call *old = cloud->held;
        cloud->held = NULL;
        if (old)
            answer(old);
        cloud->held = c;
    }
    sync_touch(c);
}

static void report(struct call *c)
{
    reports_write(c, hold);
}

static void take(struct call *c)
{
    session_take(c, report);
}

void operator_may(struct call *c, call_step *then)
{
    static const struct refusal identity = {403, "Forbidden", "use the token or the role that the cloud's operatorIdentity names", 0};
    const struct cloud *cloud = c->cloud;
    bool proof = c->proven.ptr != NULL, elsewhere = proof && !slice_is(c->proven, cloud->id);
    bool other = elsewhere || ((proof || !slice_empty(cloud->identity)) && !slice_eq(cloud->identity, c->user));
    if (other && c->hide)
        c->hide(c);
    else if (other)
        call_refuse(c, &identity, "%.*s%s is not the operator of cloud %s", SLICE_ARG(c->user),
                    elsewhere ? " with a proof for another cloud" : "", cloud->key);
    else if (proof) /* the Cloud names its ARN: there is no user of the API server to ask about */
        then(c);
    else
        auth_may(c, then);
}

void sync_begin(struct call *c)
{
    struct hub *h = c->hub;
    struct slice id;
    if (!read_request(c, &id))
        return;
    struct cloud *cloud = hub_store_cloud_by_id(h, id);
    const struct space *s = cloud ? hub_store_space(h, cloud->ns) : NULL;
    struct buf why;
    buf_init(&why, ERR_TEXT_MAX);
    if (!hub_ready(h, &why)) {
        call_refuse(c, &refuse_lost, "the control plane is not ready: %.*s", SLICE_ARG(buf_slice(&why)));
    } else if (!s) {
        call_refuse(c, &refuse_cloud, "there is no cloud with the deployment id \"%.*s\"", SLICE_ARG(id));
    } else {
        c->cloud = cloud;
        cloud->calls++;
        c->project = cloud->ns;
        c->resource = hub_clouds.plural;
        c->name = cloud->name;
        operator_may(c, take);
    }
    buf_free(&why);
}
