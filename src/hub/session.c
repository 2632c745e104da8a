/* Cloud.status: which instance of an operator holds the cloud, and what it reports of it. The session is taken and renewed by a write that
 * only the version of the object that was looked at allows, so two replicas never give one cloud to two instances. */
#include "private.h"

enum { TRIES = 4 };

static bool is(const char *text, struct slice s)
{
    return slice_eq(slice_of(text), s);
}

static bool is_ours(const struct call *c)
{
    return is(c->cloud->session.instance, c->sync.instance);
}

static bool is_free(const struct call *c)
{
    const struct session *s = &c->cloud->session;
    return !s->instance[0] || session_silent(c->hub, c->cloud) || is_ours(c) ||
           (!slice_empty(c->sync.lease) && is(s->lease, c->sync.lease));
}

static const struct refusal held = {409, "CloudInUse", "stop the other operator, or give this one a cloud of its own", 0};

void session_refuse(struct call *c)
{
    enum { RETRY_S = 5 }; /* the holder may give the cloud back at any time */
    const struct session *s = &c->cloud->session;
    int64_t left = (s->seen_ms + HUB_SESSION_MS - c->hub->now.mono_ms + 999) / 1000;
    struct refusal r = held;
    r.retry_s = left < 1 ? 1 : left < RETRY_S ? (int)left : RETRY_S;
    call_refuse(c, &r, "cloud %.*s in project %.*s is held by instance %s, which may be silent for another %d s", SLICE_ARG(c->cloud->name),
                SLICE_ARG(c->cloud->ns), s->instance, left < 0 ? 0 : (int)left);
}

/* ---- reports ---- */

static const char *status_word(struct jval state)
{
    static const struct {
        const char *state, *status;
    } words[] = {{"OK", "PASSED"}, {"WARN", "WARNING"}, {"ERROR", "FAILED"}, {"SKIPPED", "SKIPPED"}};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (json_is(state, words[i].state))
            return words[i].status;
    return "UNKNOWN";
}

static struct slice components(struct jval health, struct slice *failed, struct arena *a)
{
    struct buf b;
    struct jout w;
    struct jval k, one;
    *failed = SLICE("");
    buf_init(&b, LIMIT_HUB_BODY);
    jout_init(&w, &b);
    jout_array(&w);
    unsigned left = LIMIT_HUB_ITEMS;
    for (struct jiter it = json_iter(json_get(health, "components")); left && json_next(&it, &k, &one); left--) {
        const char *word = status_word(json_get(one, "state"));
        struct slice name = arena_clean(a, json_get_str(one, "name", a), LIMIT_HUB_WORD),
                     reason = arena_clean(a, json_get_str(one, "reason", a), LIMIT_HUB_WORD),
                     details = arena_clean(a, json_get_str(one, "message", a), LIMIT_HUB_DETAILS);
        if (strcmp(word, "FAILED") == 0)
            *failed = arena_printf(a, "%.*s%s%.*s: %.*s", SLICE_ARG(*failed), failed->len ? "; " : "", SLICE_ARG(name), SLICE_ARG(details));
        jout_form(&w, "{name:'%.*s',status:'%s',reason:'%.*s',details:'%.*s'}", SLICE_ARG(name), word, SLICE_ARG(reason),
                  SLICE_ARG(details));
    }
    jout_end(&w);
    struct slice out = arena_dup(a, buf_slice(&b));
    buf_free(&b);
    return out;
}

/* A list with a hash: it is written when it came with its items, and asked for when its hash is another than the one that is stored. */
static bool write_list(struct jout *w, struct jval list, const char *name, const char *stored, bool *wanted, struct arena *a)
{
    struct slice hash = json_get_str(list, "hash", a);
    struct jval items = json_get(list, "items");
    *wanted = false;
    if (slice_empty(hash) || hash.len > LIMIT_HUB_HASH || is(stored, hash))
        return false;
    *wanted = json_type(items) != JSON_ARRAY;
    if (*wanted)
        return false;
    struct slice all = clean_json(items, a), message = arena_clean(a, json_get_str(list, "message", a), LIMIT_HUB_DETAILS);
    if (all.len > LIMIT_HUB_LIST) {
        message = arena_printf(a, "left out: the list has %zu bytes, and at most %d are stored (LIMIT_HUB_LIST)", all.len, LIMIT_HUB_LIST);
        all = SLICE("[]");
    }
    jout_form(w, "%s:{hash:'%.*s',count:%zu,items:%.*s,message:'%.*s'}", name, SLICE_ARG(arena_clean(a, hash, hash.len)), json_len(items),
              SLICE_ARG(all), SLICE_ARG(message));
    return true;
}

/* The same components have the same hash, whoever has written them down. */
static uint64_t hash_of(struct slice list, struct arena *a)
{
    struct jval doc;
    return json_read(&doc, list, a, NULL) ? hub_hash(doc) : 0;
}

/* Records the operator's checks, and that it calls. Returns whether that is new; renew: the session is written anyway. */
static bool write_health(struct call *c, struct jval health, bool renew, struct jout *w)
{
    struct cloud *cloud = c->cloud;
    struct slice failed, list = components(health, &failed, &c->arena);
    bool there = json_there(health), fresh = there && hash_of(list, &c->arena) != cloud->health;
    bool well = slice_empty(failed), back = cloud->silent || !cloud->connected.since_us;
    if (fresh)
        jout_form(w, "health:'%s',components:%.*s", well ? "HEALTHY" : "UNHEALTHY", SLICE_ARG(list));
    if (fresh || (there && renew))
        put_time(w, "checkedTime", json_get(health, "checkedAt"), &c->arena);
    if (fresh || back)
        conditions_write(cloud, !there ? "Unknown" : well ? "True" : "False", failed, SLICE_NONE, c->hub->now.wall_us, w);
    return fresh || back;
}

/* Members of the status that have changed. Returns whether there are any. */
static bool write_report(struct call *c, bool renew, struct jout *w)
{
    struct jval body = json_root(&c->sync.doc), health = json_get(body, "health");
    const struct cloud *cloud = c->cloud;
    bool news = write_health(c, health, renew, w);
    news |= write_list(w, json_get(body, "instanceTypes"), "instanceTypes", cloud->types, &c->sync.want_types, &c->arena);
    news |= write_list(w, json_get(body, "nodes"), "nodes", cloud->nodes, &c->sync.want_nodes, &c->arena);
    return news;
}

/* ---- the write ---- */

static void write_session(struct call *c, struct jout *w)
{
    const struct session *s = &c->cloud->session;
    const struct hub *h = c->hub;
    char times[3][TIME_TEXT_MAX];
    bool same = is_ours(c) && s->since_us;
    /* A call with wait 0 may meet any replica: the one that holds the operator's long call stays in the session. */
    bool elsewhere = same && !s->here && s->url[0] && !c->sync.wait_ms;
    struct slice url = elsewhere ? slice_of(s->url) : h->o.url, replica = elsewhere ? SLICE("") : h->o.replica;
    struct slice since = time_format(same ? s->since_us : h->now.wall_us, times[0]), now = time_format(h->now.wall_us, times[1]),
                 expiry = time_format(h->now.wall_us + HUB_SESSION_MS * INT64_C(1000), times[2]);
    jout_form(w,
              "session:{instance:'%.*s',lease:'%.*s',replica?:'%.*s',url:'%.*s',since:'%.*s',expiryTime:'%.*s',renewals:%lld},"
              "lastContactTime:'%.*s',operatorVersion:'%.*s',deploymentId:'%s'",
              SLICE_ARG(c->sync.release ? SLICE("") : c->sync.instance), SLICE_ARG(c->sync.release ? SLICE("") : c->sync.lease),
              SLICE_ARG(replica), SLICE_ARG(url), SLICE_ARG(since), SLICE_ARG(expiry),
              (long long)(s->renewals < 0 || s->renewals == INT64_MAX ? 1 : s->renewals + 1), SLICE_ARG(now), SLICE_ARG(c->sync.version),
              c->cloud->id);
}

/* Writes of other replicas do not count: this one may have seen them late. */
static bool is_fresh(const struct call *c)
{
    const struct session *s = &c->cloud->session;
    return is_ours(c) && s->wrote_ms && c->hub->now.mono_ms - s->wrote_ms < HUB_RENEW_MS;
}

/* The whole patch, in h->body. False: there is nothing to write. */
static bool write_patch(struct call *c)
{
    struct hub *h = c->hub;
    const struct cloud *cloud = c->cloud;
    char version[KUBE_VERSION_TEXT];
    struct jout w;
    bool renew = c->sync.release || !is_fresh(c) || (!cloud->session.here && c->sync.wait_ms > 0);
    buf_clear(&h->body);
    jout_init(&w, &h->body);
    struct slice text = kube_version_format(cloud->version, version);
    jout_form(&w, "{metadata:{resourceVersion:'%.*s'},status:{", SLICE_ARG(text));
    bool news = write_report(c, renew, &w);
    if (renew || news)
        write_session(c, &w);
    jout_end(&w);
    jout_end(&w);
    return renew || news;
}

static void session_look(struct call *c);

bool session_refuse_deleted(struct call *c)
{
    if (c->cloud->present)
        return false;
    call_refuse(c, &refuse_cloud, "cloud %s was deleted", c->cloud->key);
    return true;
}

static bool keep_answer(struct call *c)
{
    struct arena *a = &c->hub->event;
    struct jval doc;
    bool read = c->answer->outcome == KUBE_OK && json_read(&doc, arena_dup(a, c->answer->body), a, NULL);
    if (read)
        hub_kind_cloud.keep(c->hub, NULL, doc);
    return read;
}

/* A GET returns the newest state. If that is older than what was known when it was sent, the API server's store was restored from a backup.
 */
static bool is_restored(struct call *c, uint64_t *version)
{
    struct arena *a = &c->hub->event;
    struct jval doc;
    return c->answer->outcome == KUBE_OK && json_read(&doc, arena_dup(a, c->answer->body), a, NULL) &&
           kube_version_parse(json_get_str(doc, "metadata.resourceVersion", a), version) && *version < c->sync.known;
}

static void on_read(struct call *c)
{
    struct hub *h = c->hub;
    uint64_t version, known = c->sync.known;
    if (session_refuse_deleted(c))
        return;
    if (is_restored(c, &version)) {
        call_refuse(c, &refuse_lost, "the store of the API server was restored from a backup: it is listed again");
        hub_store_restored(h, known, version); /* comes last, because it ends calls */
    } else if (keep_answer(c)) {
        session_look(c);
    } else {
        call_refuse_as(c, c->answer);
    }
}

static void on_written(struct call *c)
{
    struct hub *h = c->hub;
    const struct kube_answer *a = c->answer;
    if (session_refuse_deleted(c))
        return;
    if (keep_answer(c)) {
        if (is_ours(c))
            c->cloud->session.wrote_ms = c->sync.wrote_ms;
        c->next_step(c);
    } else if (a->outcome == KUBE_REFUSED && a->status.code == 409 && c->sync.tries++ < TRIES) {
        struct kube_request r = {
            .method = SLICE("GET"), .path = hub_path(h, &hub_clouds, c->cloud->ns, c->cloud->name, SLICE_NONE), .again = true};
        h->stats.conflicts++;
        c->sync.known = c->cloud->version;
        c->then = on_read;
        call_ask(c, &r);
    } else if (a->outcome == KUBE_REFUSED && a->status.code == 404) {
        call_refuse(c, &refuse_cloud, "cloud %s was deleted", c->cloud->key);
    } else if (a->outcome == KUBE_REFUSED && a->status.code == 409) {
        call_refuse(c, &refuse_lost, "the status of cloud %s is written by others all the time: %s", c->cloud->key, a->status.message);
    } else {
        call_refuse_as(c, a); /* the operator's report may break the CRD's rules */
    }
}

static void session_look(struct call *c)
{
    struct hub *h = c->hub;
    if (!is_free(c)) {
        session_refuse(c);
        return;
    }
    if (c->sync.release && !is_ours(c)) {
        call_refuse(c, &held, "instance %.*s does not hold cloud %s: there is nothing to give back", SLICE_ARG(c->sync.instance),
                    c->cloud->key);
        return;
    }
    if (!is_ours(c))
        log_info("an operator takes its cloud", LF_CSTR("cloud", c->cloud->key), LF("instance", c->sync.instance), LF("user", c->user),
                 LF_CSTR("before", c->cloud->session.instance));
    if (!write_patch(c)) {
        c->next_step(c);
        return;
    }
    struct kube_request r = cloud_patch(h, c->cloud);
    c->then = on_written;
    c->sync.wrote_ms = h->now.mono_ms;
    call_ask(c, &r);
}

void session_take(struct call *c, call_step *then)
{
    c->next_step = then;
    session_look(c);
}
