/* Checks by this operator of itself and its cluster. Components that need the API server are checked every five minutes, by one request at
 * a time, and the rights every OPERATOR_CHECK_RIGHTS_MS where there is a control plane; the others are decided from what the operator
 * knows, whenever a report is written. Nothing else waits for a check. */
#include "checks.h"

enum { REPORT_MAX = 64 * KIB };

/* ---- findings ---- */

/* telling: for a call to the control plane. When it reads the findings, it has accepted that call. */
static struct health_facts facts_of(const struct checks *k, bool telling)
{
    const struct op *op = k->op;
    const struct operator_options *o = &op->o;
    const struct setting *s = setting_of(op, &setting_instance_types);
    const struct shape_types *types = types_in_force(op);
    struct health_facts f = {.gateway = o->checks.gateway,
                             .gateway_ns = o->checks.gateway_ns,
                             .ingress_class = o->checks.ingress_class,
                             .rights = o->checks.rights,
                             .namespaces = o->namespaces,
                             .namespace_count = o->namespace_count,
                             .own_ns = o->settings_ns,
                             .types = s->watch ? setting_name(s) : SLICE_NONE,
                             .types_known = s->known,
                             .types_broken = s->broken,
                             .type_count = types ? types->count : 0,
                             .types_why = slice_of(s->why.text),
                             .bucket = o->bucket.url,
                             .bucket_checked = k->bucket.checked,
                             .bucket_trouble = slice_of(k->bucket.trouble)};
    if (!workloads_of(op))
        return f;
    const struct remote_stats *r = remote_stats(workloads_of(op)->remote);
    f.cloud = o->plane.cloud;
    f.identity = slice_of(r->identity);
    if (telling || workloads_of(op)->on)
        f.accepted = telling || (r->heard_us && r->trouble.code == ERR_NONE);
    if (workloads_of(op)->on && !f.accepted) {
        f.refused = r->refused;
        f.trouble = slice_of(r->trouble.text);
    }
    return f;
}

static void find_component(struct checks *k, uint32_t i, bool telling, struct health_finding *out)
{
    const struct health_component *c = &health_components[i];
    struct health_facts f = facts_of(k, telling);
    if (k->excluded[i])
        health_say(out, HEALTH_SKIPPED, "Excluded", "excluded by --exclude-component-verification");
    else if (!c->ask)
        c->decide(&f, 0, NULL, &k->arena, out);
    else if (k->found[i].reason)
        *out = k->found[i];
    else
        health_say(out, HEALTH_UNKNOWN, "NotChecked", "it has not been checked yet");
}

/* ---- asking the API server ---- */

static void advance(struct checks *k);

static void on_answer(void *owner, uint64_t tag, const struct kube_answer *said, struct now now)
{
    struct checks *k = owner;
    struct health_finding *found = &k->found[k->at];
    struct health_answer answer = {.code = said->outcome == KUBE_OK ? 200 : said->status.code, .words = slice_of(said->status.message)};
    struct health_facts f = facts_of(k, false);
    (void)tag;
    k->op->now = now;
    k->asking = false;
    if (said->outcome != KUBE_OK && said->outcome != KUBE_REFUSED) {
        health_say(found, HEALTH_UNKNOWN, "ApiServerUnreachable", "%s", said->err.text);
    } else if (said->outcome == KUBE_OK && !json_read(&answer.body, arena_dup(&k->arena, said->body), &k->arena, NULL)) {
        health_say(found, HEALTH_UNKNOWN, "NoJson", "the answer is no JSON: is a proxy between here and the API server?");
    } else {
        struct jval rules = json_get(answer.body, "status.resourceRules");
        if (json_there(rules))
            k->nodes.barred = !json_get_bool(answer.body, "status.incomplete", false) &&
                              !rights_allowed(rules, SLICE("list"), SLICE(""), SLICE("nodes"), SLICE(""), &k->arena);
        health_components[k->at].decide(&f, k->question, &answer, &k->arena, found);
    }
    if (found->state == HEALTH_OK) {
        k->question++;
    } else {
        k->at++;
        k->question = 0;
    }
    advance(k);
}

static bool send(struct checks *k, const struct health_question *q)
{
    struct err e = {0};
    const struct kube_request r = {.method = slice_empty(q->body) ? SLICE("GET") : SLICE("POST"),
                                   .path = q->path,
                                   .content_type = slice_empty(q->body) ? SLICE_NONE : SLICE(KUBE_TYPE_JSON),
                                   .body = q->body,
                                   .again = true,
                                   .timeout_ms = OPERATOR_CHECK_CALL_MS,
                                   .done = on_answer,
                                   .owner = k};
    k->asking = kube_call(k->op->client, &r, k->op->now, &e);
    if (!k->asking)
        health_say(&k->found[k->at], HEALTH_UNKNOWN, "ApiServerUnreachable", "%s", e.text);
    return k->asking;
}

static void end_check(struct checks *k)
{
    bool well = true;
    k->rights_ms = k->op->now.mono_ms + OPERATOR_CHECK_RIGHTS_MS;
    if (k->rights) {
        k->rights = false;
        k->checked_us = k->found[HEALTH_RIGHTS].state == HEALTH_OK ? k->checked_us : k->op->now.wall_us;
        return;
    }
    for (uint32_t i = 0; i < HEALTH_COMPONENTS; i++)
        well &= k->found[i].state != HEALTH_ERROR && (k->found[i].state != HEALTH_UNKNOWN || !k->found[i].reason);
    k->checked_us = k->op->now.wall_us;
    k->ended_ms = k->op->now.mono_ms;
    k->next_ms = k->op->now.mono_ms + (well ? OPERATOR_CHECK_MS : OPERATOR_CHECK_AGAIN_MS);
    if (workloads_of(k->op) && k->op->phase.leading && !k->op->phase.stopping)
        nodes_list(k);
}

/* The next question, or the end. */
static void advance(struct checks *k)
{
    for (; k->at < (k->rights ? HEALTH_RIGHTS + 1 : HEALTH_COMPONENTS); k->at++, k->question = 0) {
        const struct health_component *c = &health_components[k->at];
        struct health_facts f = facts_of(k, false);
        struct health_question q = {0};
        if (k->excluded[k->at] || !c->ask)
            continue;
        if (c->ask(&f, k->question, &k->arena, &q)) {
            if (send(k, &q))
                return;
        } else if (k->question == 0) {
            c->decide(&f, 0, NULL, &k->arena, &k->found[k->at]);
        }
    }
    end_check(k);
}

/* ---- reports to the control plane ---- */

static void write_health(struct checks *k, struct jout *w)
{
    jout_karray(w, "components");
    for (uint32_t i = 0; i < HEALTH_COMPONENTS; i++) {
        struct health_finding found;
        find_component(k, i, true, &found);
        jout_form(w, "{name:'%s',state:'%s',reason:'%s',message:'%s'}", health_components[i].name, health_words[found.state], found.reason,
                  found.message);
    }
    jout_end(w);
}

static void write_types(const struct op *op, struct jout *w)
{
    const struct shape_types *types = types_in_force(op);
    jout_array(w);
    for (uint32_t i = 0; types && i < types->count && i < LIMIT_REMOTE_LISTED && w->to->len < REMOTE_LIST; i++)
        health_type_write(&types->list[i], w);
    jout_end(w);
}

static void hash_types(struct checks *k)
{
    const struct setting *s = setting_of(k->op, &setting_instance_types);
    struct buf b;
    struct jout w;
    buf_init(&b, MIB);
    jout_init(&w, &b);
    write_types(k->op, &w);
    k->types.hash[0] = '\0';
    if (s->known && s->watch)
        list_hash(&k->types, buf_slice(&b), SLICE_NONE);
    buf_free(&b);
}

/* Whether the request has the list's items. Where they do not fit, as after a 413, it has their hash alone. */
static bool goes_whole(const struct checks *k, struct told_list *l, size_t len, size_t room, uint64_t call)
{
    if (!l->wanted || len > room)
        return false;
    l->call = call;
    l->sent_ms = k->op->now.mono_ms;
    return true;
}

void checks_tell(struct op *op, struct jout *w, size_t room, uint64_t call)
{
    struct checks *k = op->checks;
    char time[TIME_TEXT_MAX];
    if (!k || !k->checked_us)
        return;
    struct slice when = time_format(k->checked_us, time);
    jout_form(w, "health:{checkedAt:'%.*s'", SLICE_ARG(when));
    write_health(k, w);
    jout_end(w);
    if (k->types.hash[0] && room >= REMOTE_LIST) {
        jout_form(w, "instanceTypes:{hash:'%s'", k->types.hash);
        if (goes_whole(k, &k->types, 0, room, call)) {
            jout_key(w, SLICE("items"));
            write_types(op, w);
        }
        jout_end(w);
    }
    if (k->nodes.told.hash[0] && room >= k->nodes.items.len) {
        jout_form(w, "nodes:{hash:'%s',message?:'%s'", k->nodes.told.hash, k->nodes.message);
        if (goes_whole(k, &k->nodes.told, k->nodes.items.len, room, call))
            jout_kraw(w, "items", buf_slice(&k->nodes.items));
        jout_end(w);
    }
}

void checks_told(struct op *op, uint64_t call, bool taken)
{
    struct checks *k = op->checks;
    struct told_list *lists[] = {k ? &k->types : NULL, k ? &k->nodes.told : NULL};
    for (size_t i = 0; k && i < COUNT_OF(lists); i++) {
        if (lists[i]->call != call)
            continue;
        lists[i]->call = 0;
        lists[i]->wanted &= !taken;
    }
}

bool checks_wanted(struct op *op, bool types, bool nodes)
{
    struct checks *k = op->checks;
    if (!k)
        return false;
    k->types.wanted |= types;
    k->nodes.told.wanted |= nodes;
    return (types && op->now.mono_ms >= k->types.sent_ms + REMOTE_WANTED_MS) ||
           (nodes && op->now.mono_ms >= k->nodes.told.sent_ms + REMOTE_WANTED_MS);
}

/* ---- the process ---- */

void checks_init(struct op *op)
{
    if (!op->o.checks.on)
        return;
    struct checks *k = mem_alloc(sizeof *k);
    k->op = op;
    health_excluded_read(op->o.checks.excluded, k->excluded, NULL); /* checked with the flags */
    k->types.sent_ms = k->nodes.told.sent_ms = -REMOTE_WANTED_MS;
    buf_init(&k->nodes.items, MIB);
    buf_init(&k->nodes.fresh, MIB);
    buf_init(&k->nodes.more, LIMIT_HTTP_URL);
    op->checks = k;
    if (!k->excluded[HEALTH_BUCKET])
        bucket_init(k);
}

void checks_free(struct op *op)
{
    if (!op->checks)
        return;
    nodes_free(&op->checks->nodes);
    bucket_free(op->checks);
    arena_free(&op->checks->arena);
    mem_free(op->checks);
    op->checks = NULL;
}

/* A hash of what findings and lists are made from. */
static uint64_t hash_inputs(const struct checks *k)
{
    const struct op *op = k->op;
    const struct setting *s = setting_of(op, &setting_instance_types);
    bool named = workloads_of(op) && remote_stats(workloads_of(op)->remote)->identity[0];
    uint64_t bucket = hash64(slice_of(k->bucket.trouble), k->bucket.checked);
    uint64_t parts[] = {s->hash, (uint64_t)s->known << 1 | s->broken, (uint64_t)k->checked_us, named, bucket};
    return hash64((struct slice){(const char *)parts, sizeof parts}, hash64(slice_of(s->why.text), 1)) | 1;
}

/* Pushes changed findings or types to the control plane at once; what has not changed goes with the next call. */
static void push_changes(struct checks *k)
{
    struct buf b;
    struct jout w;
    uint64_t now = hash_inputs(k);
    if (now == k->seen || !k->checked_us)
        return;
    k->seen = now;
    hash_types(k);
    buf_init(&b, REPORT_MAX);
    jout_init(&w, &b);
    jout_object(&w);
    write_health(k, &w);
    jout_end(&w);
    uint64_t told = hash64(buf_slice(&b), hash64(slice_of(k->types.hash), 1));
    buf_free(&b);
    if (told != k->told && workloads_of(k->op) && workloads_of(k->op)->on)
        remote_push(workloads_of(k->op)->remote, k->op->now);
    k->told = told;
}

/* A list or watch that was answered 403 since the last check began may mean that rights were removed: the next check comes soon. */
static void hurry(struct checks *k)
{
    int64_t soon = k->ended_ms + OPERATOR_CHECK_DENIED_MS;
    if (k->denied != k->op->watches_denied && soon < k->next_ms)
        k->next_ms = soon;
}

/* Monotonic: next check of the rights alone, if a control plane is connected. The API server keeps a watch open for minutes after its right
 * was removed. */
static int64_t rights_due(const struct checks *k)
{
    bool shown = k->checked_us && workloads_of(k->op) && workloads_of(k->op)->on && !k->excluded[HEALTH_RIGHTS];
    return shown ? k->rights_ms : TIME_NEVER;
}

int64_t checks_tick(struct op *op)
{
    struct checks *k = op->checks;
    if (!k)
        return TIME_NEVER;
    hurry(k);
    int64_t bucket_ms = bucket_tick(k);
    bool all = op->now.mono_ms >= k->next_ms;
    if (!k->asking && !op->phase.stopping && (all || op->now.mono_ms >= rights_due(k))) {
        arena_reset(&k->arena, 0);
        k->rights = !all;
        k->at = all ? 0 : HEALTH_RIGHTS;
        k->question = 0;
        k->denied = all ? op->watches_denied : k->denied;
        advance(k);
    }
    push_changes(k);
    return earlier(bucket_ms, k->asking || op->phase.stopping ? TIME_NEVER : earlier(k->next_ms, rights_due(k)));
}

/* ---- output for people ---- */

bool checks_run(struct op *op, struct buf *out)
{
    struct checks *k = op->checks;
    char time[TIME_TEXT_MAX];
    bool well = k->checked_us != 0;
    for (uint32_t i = 0; i < HEALTH_COMPONENTS; i++) {
        struct health_finding found;
        find_component(k, i, false, &found);
        well &= found.state != HEALTH_ERROR;
        buf_printf(out, "%-22s %-7s %s: %s\n", health_components[i].name, health_words[found.state], found.reason, found.message);
    }
    struct slice when = k->checked_us ? time_format(k->checked_us, time) : SLICE("never");
    buf_printf(out, "checked: %.*s\n", SLICE_ARG(when));
    return well;
}

void checks_config(const struct op *op, struct buf *out)
{
    const struct operator_options *o = &op->o;
    const struct checks *k = op->checks;
    struct jout w;
    bool gateway = !slice_empty(o->checks.gateway);
    jout_init(&w, out);
    jout_form(&w, "{operatorVersion:'%.*s',cloudDeploymentId:'%.*s'", SLICE_ARG(o->ray.version), SLICE_ARG(o->plane.cloud));
    if (o->plane.config)
        jout_form(&w, "controlPlane:'%.*s:%u',iamIdentity:'%s'", SLICE_ARG(o->plane.config->host), o->plane.config->port,
                  workloads_of(op) ? remote_stats(workloads_of(op)->remote)->identity : "");
    jout_form(&w, "gateway:{enable:%hhd,name:'%.*s',namespace:'%.*s'},ingressClass:'%.*s'", gateway, SLICE_ARG(o->checks.gateway),
              SLICE_ARG(o->checks.gateway_ns), SLICE_ARG(o->checks.ingress_class));
    jout_form(&w, "instanceTypesConfigMap:'%.*s',patchesConfigMap:'%.*s'", SLICE_ARG(setting_name(setting_of(op, &setting_instance_types))),
              SLICE_ARG(setting_name(setting_of(op, &setting_patches))));
    jout_karray(&w, "namespaces");
    for (uint32_t i = 0; i < o->namespace_count; i++)
        jout_str(&w, o->namespaces[i]);
    jout_end(&w);
    jout_karray(&w, "excludeComponentVerification");
    for (uint32_t i = 0; k && i < HEALTH_COMPONENTS; i++)
        if (k->excluded[i])
            jout_str(&w, slice_of(health_components[i].name));
    jout_end(&w);
    jout_end(&w);
    buf_putc(out, '\n');
}
