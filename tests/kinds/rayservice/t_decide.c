/* Decisions on RayServices, from decide.case beside this file. */
#include "tests/kinds/plan_words.h"

#include "src/kinds/rayservice/rayservice.h"

enum { CLUSTERS_MAX = 4, APPS_MAX = 8, SPEC_HASH = 0x5ec, SCALE_HASH = 0x5ca1e, OTHER_HASH = 0xdead };

struct service_scene {
    struct arena a;
    struct rayservice service;
    struct spec_errors errors;
    struct service_cluster clusters[CLUSTERS_MAX];
    struct pod heads[CLUSTERS_MAX];
    struct serve_app apps[CLUSTERS_MAX][APPS_MAX];
    uint32_t count;
    struct service services[2]; /* [0] the head service, [1] the serve service */
    bool there[2], pods_left, held;
    int64_t active_ms;
    struct group_failures refusals;
    struct slice prior;
};

static uint64_t want_of(struct slice cluster, bool head)
{
    return hash64(cluster, head) | 1;
}

/* Words of a cluster about rolling updates. */
static bool take_rolling(struct service_scene *s, struct service_cluster *c, struct slice word)
{
    struct slice v, drift = word_value(word, "drift");
    int64_t n = 0;
    if ((v = word_value(word, "apart")).ptr)
        c->apart = v;
    else if ((v = word_value(word, "outdated")).ptr && slice_int(v, &n))
        c->outdated = (uint32_t)n;
    else if (slice_is(word, "quota"))
        c->why = SLICE("group small: exceeded quota: gpus");
    else if (slice_is(word, "other-roll"))
        c->other_roll = true;
    else if ((v = word_value(word, "status")).ptr)
        CHECK(json_read(&c->status, v, &s->a, NULL));
    else if (!drift.ptr)
        return false;
    v = arena_printf(&s->a, "{\"conditions\":[{\"type\":\"TemplateDrift\",\"reason\":\"%.*s\",\"message\":\"why\"}]}", SLICE_ARG(drift));
    return !drift.ptr || CHECK(json_read(&c->status, v, &s->a, NULL));
}

/* One word of a `cluster` line; the words are listed at the top of decide.case. */
static void take_word(struct service_scene *s, struct service_cluster *c, struct slice word)
{
    struct slice v;
    int64_t n = 0;
    uint32_t i = (uint32_t)(c - s->clusters);
    if ((v = word_value(word, "ready")).ptr && slice_int(v, &n))
        c->ready = (uint32_t)n;
    else if ((v = word_value(word, "hash")).ptr)
        c->hash = slice_is(v, "spec") ? SPEC_HASH : OTHER_HASH;
    else if ((v = word_value(word, "scale")).ptr)
        c->scale_hash = slice_is(v, "spec") ? SCALE_HASH : slice_is(v, "none") ? 0 : OTHER_HASH;
    else if ((v = word_value(word, "groups")).ptr && slice_int(v, &n))
        c->group_count = (uint32_t)n;
    else if ((v = word_value(word, "given")).ptr)
        c->said.put_hash = slice_is(v, "spec") ? s->service.config_hash : OTHER_HASH;
    else if ((v = word_value(word, "put")).ptr && slice_int(v, &n))
        c->said.put_ms = NOW_MS - n;
    else if ((v = word_value(word, "refused")).ptr && slice_int(v, &n)) {
        c->said.refused_hash = s->service.config_hash;
        c->said.refused_ms = NOW_MS - n;
        c->said.refused_why = SLICE("no module m");
    } else if ((v = word_value(word, "unused")).ptr && slice_int(v, &n))
        c->unused_ms = NOW_MS - n;
    else if ((v = word_value(word, "said")).ptr && slice_int(v, &n)) {
        c->said.known = true;
        c->said.answered_ms = NOW_MS - n;
    } else if ((v = word_value(word, "silent")).ptr && slice_int(v, &n)) {
        c->said.failures = (uint32_t)n;
        c->said.failed_ms = NOW_MS;
        c->said.trouble = SLICE("connection refused");
    } else if ((v = word_value(word, "label")).ptr)
        s->heads[i].serves = slice_is(v, "true");
    else if ((v = word_value(word, "app")).ptr) {
        struct slice name = slice_cut(&v, ':');
        s->apps[i][c->said.app_count++] = (struct serve_app){.name = name, .status = v, .message = SLICE("why")};
        c->said.apps = s->apps[i];
    } else if (slice_is(word, "proxy"))
        c->said.head_serves = true;
    else if (slice_is(word, "asking"))
        c->said.asking = true;
    else if (slice_is(word, "deleting"))
        c->deleting = true;
    else if (slice_is(word, "unready"))
        c->head_ready = false;
    else if (slice_is(word, "headless"))
        c->head = NULL;
    else if (slice_is(word, "unmarked"))
        c->unmarked = true;
    else if (slice_is(word, "first"))
        c->first_hash = c->hash;
    else if (!take_rolling(s, c, word) && !CHECK(false))
        printf("  word: %.*s\n", SLICE_ARG(word));
}

static void read_cluster(struct service_scene *s, struct slice line)
{
    struct service_cluster *c = &s->clusters[s->count];
    struct pod *head = &s->heads[s->count];
    struct slice name = slice_cut(&line, ' ');
    *head = (struct pod){.head = true, .phase = POD_RUNNING};
    snprintf(head->name, sizeof head->name, "%.*s-head", SLICE_ARG(name));
    snprintf(head->uid, sizeof head->uid, "h%u", s->count);
    *c = (struct service_cluster){.name = name,
                                  .uid = arena_printf(&s->a, "u%u", s->count),
                                  .hash = SPEC_HASH,
                                  .scale_hash = SCALE_HASH,
                                  .first_hash = SPEC_HASH,
                                  .group_count = 1,
                                  .head_ready = true,
                                  .head = head,
                                  .head_want = want_of(name, true),
                                  .serve_want = want_of(name, false),
                                  .status = NO_VALUE};
    s->count++;
    while (!slice_empty(line))
        take_word(s, c, slice_cut(&line, ' '));
}

/* head|serve CLUSTER [stale|deleting]: the service leads to that cluster; stale: another client changed it 2 s after our apply. */
static void read_service(struct service_scene *s, bool head, struct slice line)
{
    struct service *have = &s->services[!head];
    struct slice to = slice_cut(&line, ' ');
    s->there[!head] = true;
    *have = (struct service){.hash = want_of(to, head)};
    snprintf(have->name, sizeof have->name, "%s", head ? "svc-head-svc" : "svc-serve-svc");
    snprintf(have->uid, sizeof have->uid, "%s", head ? "s0" : "s1");
    if (slice_is(line, "stale"))
        *have = (struct service){.hash = 7, .wanted = have->hash, .became = have->hash, .applied_ms = NOW_MS - 2000};
    have->deleting = slice_is(line, "deleting");
}

static void read_option(struct service_scene *s, struct slice word)
{
    struct rayservice *m = &s->service;
    struct slice v;
    int64_t n = 0;
    if (slice_is(word, "suspend"))
        m->suspend = true;
    else if (slice_is(word, "keep"))
        m->upgrade = SERVICE_UPGRADE_NONE;
    else if (slice_is(word, "steps"))
        m->upgrade = SERVICE_UPGRADE_STEPS;
    else if (slice_is(word, "rolling"))
        m->upgrade = SERVICE_UPGRADE_ROLLING;
    else if (slice_is(word, "else-new"))
        m->options.else_new = true;
    else if (slice_is(word, "exclude-head"))
        m->exclude_head = true;
    else if (slice_is(word, "elsewhere"))
        m->managed_elsewhere = true;
    else if (slice_is(word, "deleting"))
        m->deleting = true;
    else if (slice_is(word, "finalizer"))
        m->finalizer = true;
    else if (slice_is(word, "bare"))
        m->config_hash = m->app_count = 0;
    else if (slice_is(word, "pods-left"))
        s->pods_left = true;
    else if (slice_is(word, "held"))
        s->held = true;
    else if ((v = word_value(word, "groups")).ptr && slice_int(v, &n))
        m->group_count = (uint32_t)n;
    else if ((v = word_value(word, "timeout")).ptr && slice_int(v, &n))
        m->initializing_ms = n;
    else if ((v = word_value(word, "led")).ptr && slice_int(v, &n))
        s->active_ms = NOW_MS - n;
    else if (!CHECK(false))
        printf("  word: %.*s\n", SLICE_ARG(word));
}

static void read_line(struct service_scene *s, struct slice line)
{
    struct slice rest = line, word = slice_cut(&rest, ' ');
    int64_t wait = 0;
    if (slice_is(word, "cluster"))
        read_cluster(s, rest);
    else if (slice_is(word, "head-service") || slice_is(word, "serve-service"))
        read_service(s, slice_is(word, "head-service"), rest);
    else if (slice_is(word, "active"))
        s->prior = arena_printf(&s->a, "\"activeServiceStatus\":{\"rayClusterName\":\"%.*s\"},%.*s", SLICE_ARG(rest), SLICE_ARG(s->prior));
    else if (slice_is(word, "pending"))
        s->prior = arena_printf(&s->a, "\"pendingServiceStatus\":{\"rayClusterName\":\"%.*s\"},%.*s", SLICE_ARG(rest), SLICE_ARG(s->prior));
    else if (slice_is(word, "prior"))
        s->prior = arena_printf(&s->a, "%.*s,%.*s", SLICE_ARG(rest), SLICE_ARG(s->prior));
    else if (slice_is(word, "wrong"))
        spec_errors_add(&s->errors, (struct spec_error){.path = SLICE("spec.serveConfigV2"), .text = rest});
    else if (slice_is(word, "refused")) {
        slice_int(slice_cut(&rest, ' '), &wait);
        s->refusals = (struct group_failures){.count = 1, .not_before_ms = NOW_MS + wait};
        snprintf(s->refusals.reason, sizeof s->refusals.reason, "%.*s", SLICE_ARG(rest));
    } else
        for (rest = line; !slice_empty(rest);)
            read_option(s, slice_cut(&rest, ' '));
}

static void put_action(struct buf *b, const struct action *act)
{
    buf_printf(b, "%s", act->verb->name);
    if (act->verb == &verb_event)
        buf_printf(b, " %s", act->why);
    else if (act->name.len)
        buf_printf(b, " %.*s", SLICE_ARG(act->name));
    if (act->verb == &rayservice_label_head)
        buf_printf(b, " %d", (int)act->index);
    if (act->verb == &rayservice_create_cluster && act->index)
        buf_printf(b, " growing");
    buf_putc(b, '\n');
}

static void decide(struct service_scene *s, struct json *doc, struct plan *p)
{
    struct service_view v = {.service = &s->service,
                             .errors = &s->errors,
                             .clusters = s->clusters,
                             .cluster_count = s->count,
                             .pods_left = s->pods_left,
                             .head_service = s->there[0] ? &s->services[0] : NULL,
                             .serve_service = s->there[1] ? &s->services[1] : NULL,
                             .status = NO_VALUE,
                             .status_not_before_ms = s->held ? NOW_MS + 5000 : 0,
                             .active_ms = s->active_ms,
                             .refusals = s->refusals.count ? &s->refusals : NULL,
                             .now = {NOW_MS, now_us}};
    if (s->prior.len &&
        CHECK(json_parse(doc, arena_printf(&s->a, "{%.*s}", SLICE_ARG(slice_head(s->prior, s->prior.len - 1))), &s->a, NULL)))
        v.status = json_root(doc);
    rayservice_decide(&v, &s->a, p);
}

static struct service_scene scene(void)
{
    static struct slice apps[] = {{"hello", 5}};
    return (struct service_scene){.service = {.ns = SLICE("n"),
                                              .name = SLICE("svc"),
                                              .uid = SLICE("u"),
                                              .generation = 1,
                                              .created_us = now_us - 60 * 1000000,
                                              .deletion_delay_ms = 60 * 1000,
                                              .config = SLICE("{}"),
                                              .config_hash = 0xc0f1,
                                              .apps = apps,
                                              .app_count = 1,
                                              .cluster_hash = SPEC_HASH,
                                              .scale_hash = SCALE_HASH,
                                              .group_count = 1,
                                              .cluster_spec = NO_VALUE,
                                              .serve_service = NO_VALUE}};
}

static void run_case(struct slice text)
{
    static struct service_scene s;
    struct plan p, q;
    struct json doc;
    s = scene();
    for (struct slice line; text.ptr && !slice_is(line = slice_cut(&text, '\n'), "---");)
        read_line(&s, line);
    decide(&s, &doc, &p);
    decide(&s, &doc, &q);
    CHECK_INT(q.count, p.count); /* the same view gives the same plan */
    CHECK_INT(q.next_ms, p.next_ms);
    plan_compare(text, &p, s.service.uid, put_action, &s.a);
    arena_free(&s.a);
}

/* RayClusters' statuses of LIMIT_STATUS_COPY bytes, and one more. */
static void test_copies(void)
{
    for (size_t more = 0; more < 2; more++) {
        static struct service_scene s;
        struct plan p;
        struct json doc, patch;
        struct buf text;
        test_case("a cluster's status of LIMIT_STATUS_COPY bytes and %zu", more);
        s = scene();
        buf_init(&text, MIB);
        buf_printf(&text, "{\"state\":\"");
        while (text.len < LIMIT_STATUS_COPY + more - 2)
            buf_putc(&text, 'x');
        buf_printf(&text, "\"}");
        read_cluster(&s, SLICE("svc-jjpvk"));
        CHECK(json_read(&s.clusters[0].status, buf_slice(&text), &s.a, NULL));
        read_line(&s, SLICE("prior \"activeServiceStatus\":{\"rayClusterName\":\"svc-jjpvk\",\"rayClusterStatus\":{\"state\":\"ready\"}}"));
        decide(&s, &doc, &p);
        struct jval copy = json_get(plan_status(&p, s.service.uid, &patch, &s.a), "activeServiceStatus.rayClusterStatus");
        CHECK_INT(json_type(copy), more ? JSON_NULL : JSON_OBJECT);
        arena_free(&s.a);
        buf_free(&text);
    }
}

int main(void)
{
    test_copies();
    run_cases("tests/kinds/rayservice/decide.case", run_case);
    return test_done();
}
