#include "private.h"

#include <stdlib.h>

enum { SAID_MAX = 64 * KIB };

struct words {
    const struct explain_facts *in;
    const struct ray_cluster *c;
    const struct pod *head; /* NULL: none runs or starts */
    bool read;              /* the spec has no errors: c is whole */
    struct jval status;
    struct arena *a;
    struct buf *out;
};

/* ---- facts ---- */

void explain_add_pod(struct explain_facts *f, struct jval pod, struct arena *a)
{
    struct slice uid = json_get_str(f->object, "metadata.uid", a);
    struct jval k, v;
    bool ours = false;
    for (struct jiter it = json_iter(json_get(pod, "metadata.ownerReferences")); json_next(&it, &k, &v);)
        ours |= json_get_bool(v, "controller", false) && json_str_eq(json_get(v, "uid"), uid);
    if (!ours)
        return;
    if (f->pod_count == f->pod_cap) {
        f->pod_cap = f->pod_cap * 2 + 16;
        struct pod *more = arena_array(a, f->pod_cap, sizeof *more);
        if (f->pod_count)
            memcpy(more, f->pods, f->pod_count * sizeof *more);
        f->pods = more;
    }
    struct pod *p = &f->pods[f->pod_count++];
    pod_read(pod, a, p);
    p->group = arena_dup(a, p->group);
    p->reason = arena_dup(a, p->reason);
    p->words = arena_dup(a, p->words);
    __attribute__((cleanup(buf_free))) struct buf text = {.max = LIMIT_JSON_ITEM};
    if (p->head && !p->deleting) {
        ray_running_read(pod, a, &text);
        f->running = text.full ? SLICE_NONE : arena_dup(a, buf_slice(&text));
    }
    for (struct jiter it = json_iter(json_get(pod, "spec.containers")); p->head && json_next(&it, &k, &v);)
        f->sidecar |= json_str_eq(json_get(v, "name"), SLICE("autoscaler"));
}

/* The number of pods in the spec; 0: the operator has written status already, or the cluster is suspended or invalid. */
static int64_t still_wanted(struct jval cluster, struct arena *a)
{
    struct ray_cluster c;
    struct spec_errors errors = {0};
    if (json_there(json_get(cluster, "status.observedGeneration")) || !ray_read(cluster, a, &c, &errors) || errors.count || c.suspend)
        return 0;
    int64_t pods = 1;
    for (uint32_t i = 0; i < c.group_count; i++)
        pods += (int64_t)c.groups[i].desired * c.groups[i].hosts;
    return pods;
}

void explain_wait(struct explain_facts *f, struct arena *a)
{
    f->waits = still_wanted(f->object, a) > f->pod_count;
}

void explain_add_cluster(struct explain_facts *f, struct jval other, struct arena *a)
{
    int64_t mine = still_wanted(f->object, a), its = still_wanted(other, a), since = 0, its_since = 0;
    struct err none = {0};
    bool dated = time_parse(json_get_str(f->object, "metadata.creationTimestamp", a), &since, &none) &&
                 time_parse(json_get_str(other, "metadata.creationTimestamp", a), &its_since, &none);
    f->ahead += its > 0 && (its < mine || (its == mine && dated && its_since < since));
}

typedef void add_item(struct explain_facts *f, struct jval item, struct arena *a);

static bool add_page(struct explain_facts *f, struct slice page, struct slice *more, add_item *add, struct arena *a, struct err *e)
{
    struct json_slicer s;
    struct slice item;
    enum json_step step;
    struct err odd = {0}; /* one that cannot be read is no reason to say nothing of the others */
    if (f->pages++ >= LIMIT_EXPLAIN_PAGES)
        return err_set(e, ERR_LIMIT, "the API server's list does not end: more than %d pages (LIMIT_EXPLAIN_PAGES)", LIMIT_EXPLAIN_PAGES);
    json_slicer_init(&s, JSON_STREAM_LIST, LIMIT_JSON_ITEM);
    while ((step = json_slice(&s, &page, &item, &odd)) == JSON_ITEM || step == JSON_OVER) {
        struct json one;
        struct arena scratch = {0};
        if (step == JSON_ITEM && json_parse(&one, item, &scratch, &odd))
            add(f, json_root(&one), add == explain_add_pod ? a : &scratch);
        arena_free(&scratch);
    }
    struct json rest;
    struct arena scratch = {0};
    bool well = step == JSON_DONE && json_parse(&rest, json_slicer_envelope(&s), &scratch, &odd);
    if (well)
        *more = arena_dup(a, json_get_str(json_root(&rest), "metadata.continue", &scratch));
    arena_free(&scratch);
    json_slicer_free(&s);
    if (f->pod_count > LIMIT_EXPLAIN_PODS)
        return err_set(e, ERR_LIMIT, "the API server lists too many pods of the cluster: more than %d (LIMIT_EXPLAIN_PODS)",
                       LIMIT_EXPLAIN_PODS);
    return well || err_set(e, ERR_SYNTAX, "the API server's list is malformed");
}

bool explain_add_pods(struct explain_facts *f, struct slice page, struct slice *more, struct arena *a, struct err *e)
{
    return add_page(f, page, more, explain_add_pod, a, e);
}

bool explain_add_clusters(struct explain_facts *f, struct slice page, struct slice *more, struct arena *a, struct err *e)
{
    return add_page(f, page, more, explain_add_cluster, a, e);
}

bool explain_said(struct slice body, struct arena *a, struct slice *said)
{
    struct json doc;
    struct err e = {0};
    if (!json_parse(&doc, body, a, &e))
        return false;
    struct jval text = json_get(json_root(&doc), "data.clusterStatus");
    *said = slice_head(json_str(text, a), SAID_MAX);
    return json_type(text) == JSON_STRING;
}

/* ---- lines ---- */

static const char *age_text(const struct words *w, int64_t since_us)
{
    return explain_age(w->in->now.wall_us, since_us, w->a);
}

/* " for 5m" or " 5m ago", or nothing where no time is known. */
static const char *since(const struct words *w, const char *before, struct jval time, const char *after)
{
    int64_t us;
    struct err e = {0};
    if (!time_parse(json_str(time, w->a), &us, &e))
        return "";
    return arena_printf(w->a, " %s%s%s", before, age_text(w, us), after).ptr;
}

static bool is_false(struct jval condition)
{
    return json_str_eq(json_get(condition, "status"), SLICE("False"));
}

static void title(const struct words *w)
{
    const struct ray_cluster *c = w->c;
    int64_t since;
    struct err e = {0};
    struct slice state = json_get_str(w->status, c->kind == RAY_V1 ? "state" : "phase", w->a);
    buf_printf(w->out, "RayCluster %.*s/%.*s (%.*s)", SLICE_ARG(c->ns), SLICE_ARG(c->name), SLICE_ARG(ray_api_version(c->kind)));
    if (time_parse(json_get_str(w->in->object, "metadata.creationTimestamp", w->a), &since, &e))
        buf_printf(w->out, ", made %s ago", age_text(w, since));
    buf_printf(w->out, ": %.*s\n", SLICE_ARG(slice_empty(state) ? SLICE("not ready") : state));
}

/* A cluster that is ready stays so while it scales. */
static void put_progress(const struct words *w)
{
    long long wanted = 0, ready = 0;
    bool up = json_str_eq(json_get(w->status, "state"), SLICE("ready")) || json_str_eq(json_get(w->status, "phase"), SLICE("Running"));
    struct jval k, g;
    for (struct jiter it = json_iter(json_get(w->status, "groups")); json_next(&it, &k, &g);) {
        bool head = json_str_eq(json_get(g, "name"), SLICE(RAY_HEAD_GROUP));
        wanted += head ? 0 : json_get_int(g, "desired", 0);
    }
    for (uint32_t i = 0; i < w->in->pod_count; i++)
        ready += !w->in->pods[i].head && !w->in->pods[i].deleting && w->in->pods[i].ready;
    if (w->in->waits)
        buf_printf(w->out, "  waits for its turn: %u clusters of this namespace with fewer pods, or as many and older, come before it\n",
                   w->in->ahead);
    bool well = up && !is_false(status_condition(w->status, SLICE("HeadPodReady")));
    if (well && ready < wanted)
        buf_printf(w->out, "  scaling up: %lld of %lld workers ready\n", ready, wanted);
    else if (well && ready > wanted)
        buf_printf(w->out, "  scaling down: %lld workers ready, %lld wanted\n", ready, wanted);
}

/* If the condition has status `is`, writes `what` with its age, reason and message. */
static void put_condition(const struct words *w, const char *type, const char *is, const char *what)
{
    struct jval c = status_condition(w->status, slice_of(type));
    struct slice reason = json_get_str(c, "reason", w->a), message = json_get_str(c, "message", w->a);
    if (json_is(json_get(c, "status"), is))
        buf_printf(w->out, "  %s%s (%.*s)%s%.*s\n", what, since(w, "for ", json_get(c, "lastTransitionTime"), ""), SLICE_ARG(reason),
                   message.len ? ": " : "", SLICE_ARG(message));
}

/* ---- groups ---- */

struct tally {
    uint32_t ready, starting, ended, going;
};

static bool belongs(const struct pod *p, const struct ray_group *g)
{
    return g->head ? p->head : !p->head && slice_eq(p->group, g->name);
}

static bool ends(const struct pod *p)
{
    return p->phase == POD_FAILED || p->phase == POD_SUCCEEDED || p->ended;
}

static const struct pod *find_head(const struct explain_facts *f)
{
    for (uint32_t i = 0; i < f->pod_count; i++)
        if (f->pods[i].head && !f->pods[i].deleting && !ends(&f->pods[i]))
            return &f->pods[i];
    return NULL;
}

/* Ready, but for a head that has ended. */
static bool of_old_head(const struct words *w, const struct pod *p)
{
    return w->head && !p->head && pod_of_old_head(p, w->head, w->in->now.wall_us);
}

static struct tally count_pods(const struct words *w, const struct ray_group *g)
{
    struct tally t = {0};
    for (uint32_t i = 0; i < w->in->pod_count; i++) {
        const struct pod *p = &w->in->pods[i];
        if (!belongs(p, g))
            continue;
        bool ready = p->ready && !of_old_head(w, p);
        uint32_t *n = p->deleting ? &t.going : ends(p) ? &t.ended : ready ? &t.ready : &t.starting;
        ++*n;
    }
    return t;
}

static struct jval group_status(const struct words *w, const struct ray_group *g)
{
    struct slice name = g->head ? SLICE(RAY_HEAD_GROUP) : g->name;
    return list_find(json_get(w->status, "groups"), "name", name);
}

static void put_count(const struct words *w, uint32_t n, const char *what)
{
    if (n)
        buf_printf(w->out, ", %u %s", n, what);
}

/* Pods that are not what they should be. */
static void put_pods(const struct words *w, const struct ray_group *g)
{
    static const char *const phases[] = {"Pending", "Running", "Succeeded", "Failed", "Unknown"};
    uint32_t told = 0, more = 0;
    for (uint32_t i = 0; i < w->in->pod_count; i++) {
        const struct pod *p = &w->in->pods[i];
        bool old_head = of_old_head(w, p);
        if (!belongs(p, g) || (p->ready && !old_head) || p->deleting)
            continue;
        if (told == LIMIT_SCALE_TOLD) {
            more++;
            continue;
        }
        told++;
        buf_printf(w->out, "    pod %s: %s", p->name, ends(p) && p->phase == POD_RUNNING ? "Ray has ended" : phases[p->phase]);
        struct slice words = old_head ? SLICE("belongs to a head that has ended: Ray exits there and is started again") : p->words;
        buf_printf(w->out, ", made %s ago%s%.*s\n", age_text(w, p->created_us), words.len ? ": " : "", SLICE_ARG(words));
    }
    if (more)
        buf_printf(w->out, "    and %u pods more\n", more);
}

/* How often, since when, and when the operator tries again: it waits as long as it does for this very cluster. */
static void put_failures(const struct words *w, struct jval s, int64_t failures)
{
    int64_t last_us;
    struct err e = {0};
    if (failures == 1)
        buf_put(w->out, SLICE("    failed once"));
    else
        buf_printf(w->out, "    failed %lld times in a row, the last", (long long)failures);
    if (time_parse(json_get_str(s, "lastFailureTime", w->a), &last_us, &e)) {
        uint64_t seed = hash64(json_get_str(w->in->object, "metadata.uid", w->a), 0);
        int64_t next_us = last_us + 1000 * plan_backoff_ms(failures < 1000 ? (uint32_t)failures : 1000, seed);
        buf_printf(w->out, " %s ago", age_text(w, last_us));
        if (next_us > w->in->now.wall_us)
            buf_printf(w->out, ", next try in %lld s", (long long)((next_us - w->in->now.wall_us + 999999) / 1000000));
    }
    buf_printf(w->out, ": %.*s\n", SLICE_ARG(json_get_str(s, "reason", w->a)));
}

/* An edit of a template changes no pod that runs, unless the spec asks for it. */
static void put_outdated(const struct words *w, const struct ray_group *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->in->pod_count; i++) {
        const struct pod *p = &w->in->pods[i];
        n += belongs(p, g) && !p->deleting && pod_outdated(p, g);
    }
    if (n)
        buf_printf(w->out, "    %u pod%s of an older template: %s\n", n, n == 1 ? " is" : "s are",
                   w->c->recreate  ? "replaced when the API server has taken the new one in a dry run"
                   : w->c->roll.on ? "replaced by a rolling update (annotation " RAY_ANNOTATION_ROLL "; condition TemplateDrift)"
                                   : "a pod is replaced when it is deleted, or with upgradeStrategy {type: Recreate}");
}

static void put_clamp(const struct words *w, const struct ray_group *g)
{
    struct slice clamp = ray_clamp_text(w->c, g, w->a);
    if (clamp.len)
        buf_printf(w->out, "    %.*s\n", SLICE_ARG(slice_skip(clamp, sizeof "group : " - 1 + g->name.len)));
}

/* Nothing fails, and yet the pods are not as many as the status says that there should be: an operator would have acted on that by now. */
static void put_gap(const struct words *w, const struct ray_group *g, int64_t live, int64_t wanted)
{
    if (wanted < 0 || live == wanted || json_get_int(w->status, "observedGeneration", -1) != w->c->generation)
        return;
    bool waits = live < wanted && !g->head && (!w->head || w->head->unschedulable);
    long long off = live > wanted ? live - wanted : wanted - live;
    buf_printf(w->out, "    %lld pod%s too %s at this moment: %s\n", off, off == 1 ? "" : "s", live > wanted ? "many" : "few",
               waits ? "no worker is created before the head has a node" : "if that lasts for more than a minute, see the operator's log");
}

static void put_group(const struct words *w, const struct ray_group *g)
{
    struct tally t = count_pods(w, g);
    struct jval s = group_status(w, g);
    int64_t wanted = json_get_int(s, "desired", -1), failures = json_get_int(s, "failures", 0);
    buf_printf(w->out, "  %.*s: ", SLICE_ARG(g->name));
    if (wanted >= 0)
        buf_printf(w->out, "%lld wanted", (long long)wanted);
    else
        buf_put(w->out, SLICE("nobody has said how many are wanted"));
    if (!g->head && g->hosts > 1)
        buf_printf(w->out, " (%d to %d replicas of %d pods)", (int)g->min, (int)g->max, (int)g->hosts);
    else if (!g->head)
        buf_printf(w->out, g->max == INT32_MAX ? " (%d or more)" : " (%d to %d)", (int)g->min, (int)g->max);
    if (!g->head && wanted > 0 && wanted >= (int64_t)g->max * g->hosts)
        buf_put(w->out, SLICE(", which is its maximum"));
    buf_printf(w->out, ", %u ready", t.ready);
    put_count(w, t.starting, "starting");
    put_count(w, t.ended, "ended");
    put_count(w, t.going, "going");
    buf_putc(w->out, '\n');
    if (failures > 0)
        put_failures(w, s, failures);
    put_outdated(w, g);
    put_clamp(w, g);
    put_pods(w, g);
    if (!failures)
        put_gap(w, g, (int64_t)t.ready + t.starting + t.ended, wanted);
}

/* ---- scaling ---- */

/* The lines that are printed there one by one: the lines of the decision, joined by semicolons. */
static void put_parts(const struct words *w, struct slice text)
{
    while (!slice_empty(text)) {
        ptrdiff_t at = slice_find_text(text, "; ");
        struct slice line = at < 0 ? text : slice_head(text, (size_t)at);
        buf_printf(w->out, "    %.*s\n", SLICE_ARG(line));
        text = slice_skip(text, at < 0 ? line.len : line.len + strlen("; "));
    }
}

static void put_speed(const struct words *w)
{
    const struct ray_cluster *c = w->c;
    static const double at_once = 1000;
    char speed[DOUBLE_TEXT_MAX];
    if (c->scale.upscaling_speed >= at_once)
        buf_put(w->out, SLICE("  up: all nodes that demand needs at once, up to the groups' maxima"));
    else
        buf_printf(w->out, "  up: at most max(5, %.*s x joined) nodes of a group start at once (upscaling%s)",
                   SLICE_ARG(json_double_text(c->scale.upscaling_speed, DOUBLE_SHORT, speed)),
                   c->kind == RAY_V1 ? "Mode Conservative" : "Speed");
    if (c->scale.max_workers != INT32_MAX)
        buf_printf(w->out, ", and %d workers in all", (int)c->scale.max_workers);
    buf_putc(w->out, '\n');
}

static void put_rules(const struct words *w)
{
    put_speed(w);
    for (uint32_t i = 0; i < w->c->group_count; i++) {
        const struct ray_group *g = &w->c->groups[i];
        long long limit = g->idle_timeout_s >= 0 ? g->idle_timeout_s : w->c->scale.idle_timeout_s;
        buf_printf(w->out, "  down: %.*s: what is idle for %lld s; ", SLICE_ARG(g->name), limit);
        if (g->min == 0)
            buf_put(w->out, SLICE("none is kept but what request_resources() holds"));
        else
            buf_printf(w->out, "%d stay%s, and what request_resources() holds", (int)g->min, g->min == 1 ? "s" : "");
        if (g->priority)
            buf_printf(w->out, "; priority %d", (int)g->priority);
        buf_putc(w->out, '\n');
    }
}

static bool head_started(const struct words *w)
{
    for (uint32_t i = 0; i < w->in->pod_count; i++)
        if (w->in->pods[i].head && !w->in->pods[i].deleting && w->in->pods[i].phase == POD_RUNNING)
            return true;
    return false;
}

static void put_scaling(const struct words *w)
{
    struct jval c = status_condition(w->status, SLICE("Autoscaling"));
    struct slice reason = json_get_str(c, "reason", w->a);
    buf_put(w->out, SLICE("\nAutoscaling\n"));
    if (!w->c->scale.on) {
        buf_put(w->out, SLICE("  off: enableInTreeAutoscaling is not true, so there are as many workers as the spec's replicas say\n"));
        return;
    }
    if (w->in->sidecar) {
        buf_put(w->out,
                SLICE("  by the container autoscaler of the head pod: its log says why (kubectl logs POD -c autoscaler); the operator "
                      "follows the replicas and workersToDelete that it writes\n"));
        return;
    }
    if (!json_there(c) && !head_started(w))
        buf_put(w->out, SLICE("  nothing can be decided: the head has not started\n"));
    else if (!json_there(c))
        buf_put(w->out, SLICE("  nothing was decided yet: the head has not answered, or the operator runs with --autoscaler=off\n"));
    else if (is_false(c))
        buf_printf(w->out, "  not by demand%s (%.*s):\n", since(w, "for ", json_get(c, "lastTransitionTime"), ""), SLICE_ARG(reason));
    else
        buf_printf(w->out, "  by the operator, which decided last (%.*s):\n", SLICE_ARG(reason));
    put_parts(w, json_get_str(c, "message", w->a));
    put_rules(w);
}

static void put_said(const struct words *w)
{
    buf_put(w->out, SLICE("\nRay itself\n"));
    struct slice rest = slice_trim(w->in->said);
    if (slice_empty(rest))
        buf_printf(w->out, "  was not heard: %.*s\n", SLICE_ARG(w->in->silence));
    while (!slice_empty(rest)) {
        struct slice line = slice_cut(&rest, '\n');
        buf_printf(w->out, "  %.*s\n", SLICE_ARG(line));
    }
}

void explain_plain(struct slice text, struct buf *out)
{
    while (!slice_empty(text)) {
        size_t n = utf8_step(text);
        bool end = text.ptr[0] == '\n', plain = end || (n > 0 && !utf8_control(slice_head(text, n)));
        n = n ? n : 1;
        while (end && out->len && out->ptr[out->len - 1] == ' ')
            out->len--;
        buf_put(out, plain ? slice_head(text, n) : SLICE("?"));
        text = slice_skip(text, n);
    }
}

void explain_words(const struct explain_facts *f, struct arena *a, struct buf *out)
{
    struct ray_cluster c;
    struct spec_errors errors = {0};
    struct buf b;
    buf_init(&b, EXPLAIN_WORDS_MAX);
    bool read = ray_read(f->object, a, &c, &errors);
    if (read && f->running.len)
        ray_running_apply(&c, f->running, a);
    struct words w = {.in = f, .c = &c, .head = find_head(f), .read = read, .status = json_get(f->object, "status"), .a = a, .out = &b};
    title(&w);
    explain_put_operator(f->object, f->unwatched, NULL, a, &b);
    if (read && c.suspend)
        buf_put(&b, SLICE("  it is suspended: spec.suspend is true, no pods run\n"));
    put_progress(&w);
    if (!read)
        buf_printf(&b, "  the spec cannot be carried out: %s\n", spec_errors_text(&errors, 4 * KIB, a).ptr);
    else
        put_condition(&w, "Valid", "False", "the spec is refused");
    if (!c.suspend)
        put_condition(&w, "HeadPodReady", "False", "the head is not ready");
    put_condition(&w, "WorkersNotReady", "True", "workers are not ready");
    put_condition(&w, STATUS_CERTIFICATES, "True", "certificates between Ray's processes end soon");
    if (f->kept.len)
        buf_printf(&b, "  %.*s\n", SLICE_ARG(f->kept));
    if (read) {
        buf_put(&b, SLICE("\nGroups\n"));
        put_group(&w, &c.head);
        for (uint32_t i = 0; i < c.group_count; i++)
            put_group(&w, &c.groups[i]);
        put_scaling(&w);
    }
    put_said(&w);
    explain_plain(buf_slice(&b), out);
    buf_free(&b);
}
