/* A cluster and its pods from a case file: what the tests of decisions and of status share. */
#ifndef MOBULA_TEST_SCENE_H
#define MOBULA_TEST_SCENE_H

#include "tests/kinds/words.h"

enum { PODS_MAX = 64 };

struct scene {
    struct arena a;
    int32_t workers, min, max, hosts, second;
    struct slice delete_names, typeless; /* typeless: the group that lacks its instance type */
    int32_t accounts;                    /* bits of what KubeRay's autoscaler acts by */
    struct slice roll;                   /* value of RAY_ANNOTATION_ROLL */
    bool serves;                         /* owned by a RayService */
    bool tls;                            /* tlsOptions: its pods have certificates */
    bool drains;                         /* the head's GCS can be asked to drain workers */
    bool suspend, recreate, sidecar, scaled, accepted, refused;
    int32_t unscheduled; /* seconds; workers have instance types */
    int32_t fence;       /* ms for which requests of the previous leader may be in flight */
    int32_t ondemand;    /* ms for which group small is made on demand */
    bool prefer;         /* it prefers spot */
    int32_t try_in;      /* ms until a refused template may be tried again */
    struct pod pods[PODS_MAX];
    uint32_t pod_count;
    struct group_failures failures[3];
    struct ray_cluster cluster;
    struct spec_errors errors;
    bool broken;              /* the spec has an error */
    bool unserved;            /* there is no head service */
    int32_t written, blocked; /* ms since the last status write, and until the next is allowed */
    int32_t fleet, starting;  /* clusters in all, and those without a status */
    int32_t made;             /* ms since the last pod was created */
    struct slice prior;
    struct scale_news news; /* what the autoscaler has to say */
    struct service own[RAY_SERVICES];
    bool same; /* that is what this very status became */
    bool kept; /* services are made once, for all decisions */
    struct service_want wants[RAY_SERVICES];
};

static int group_slot(struct slice name)
{
    return slice_eq(name, SLICE("head")) ? 0 : slice_eq(name, SLICE("small")) ? 1 : 2;
}

static void take_failures(struct scene *s, struct slice text)
{
    struct slice group = slice_cut(&text, ':'), count = slice_cut(&text, ':'), ms = slice_cut(&text, ':'), since = slice_cut(&text, ':');
    int64_t n = 0, wait = 0, ago = 0, made = 0;
    slice_int(count, &n);
    slice_int(ms, &wait);
    slice_int(since, &ago);
    struct slice more = text; /* the last: a number, or refused */
    slice_int(more, &made);
    s->failures[group_slot(group)] = (struct group_failures){.count = (uint32_t)n,
                                                             .made = (uint32_t)made,
                                                             .last_us = now_us - ago * 1000000,
                                                             .not_before_ms = NOW_MS + (wait ? wait : -ago * 1000),
                                                             .ended = !slice_eq(more, SLICE("refused")),
                                                             .reason = "it ended"};
}

__attribute__((unused)) static void read_words(struct scene *s, struct slice line)
{
    while (!slice_empty(line)) {
        struct slice word = slice_cut(&line, ' ');
        take_int(word, "workers", &s->workers);
        take_int(word, "min", &s->min);
        take_int(word, "max", &s->max);
        take_int(word, "hosts", &s->hosts);
        take_int(word, "second", &s->second);
        take_int(word, "try", &s->try_in);
        take_int(word, "accounts", &s->accounts);
        take_int(word, "ondemand", &s->ondemand);
        take_int(word, "fence", &s->fence);
        take_int(word, "unscheduled", &s->unscheduled);
        s->prefer |= slice_eq(word, SLICE("prefer"));
        if (word_value(word, "delete").ptr)
            s->delete_names = word_value(word, "delete");
        if (word_value(word, "roll").ptr) { /* SURGE:UNAVAILABLE */
            struct slice rest = word_value(word, "roll"), surge = slice_cut(&rest, ':');
            s->roll = arena_printf(&s->a, "maxSurgePercent=%.*s,maxUnavailablePercent=%.*s", SLICE_ARG(surge), SLICE_ARG(rest));
        }
        s->serves |= slice_eq(word, SLICE("serves"));
        s->drains |= slice_eq(word, SLICE("drains"));
        s->tls |= slice_eq(word, SLICE("tls"));
        if (word_value(word, "typeless").ptr)
            s->typeless = word_value(word, "typeless");
        if (word_value(word, "failures").ptr)
            take_failures(s, word_value(word, "failures"));
        take_int(word, "written", &s->written);
        take_int(word, "blocked", &s->blocked);
        take_int(word, "fleet", &s->fleet);
        take_int(word, "starting", &s->starting);
        take_int(word, "made", &s->made);
        if (word_value(word, "scaling").ptr)
            s->news = (struct scale_news){true, arena_dup(&s->a, word_value(word, "scaling")).ptr, SLICE("words")};
        s->same |= slice_eq(word, SLICE("same"));
        s->broken |= slice_eq(word, SLICE("broken"));
        s->unserved |= slice_eq(word, SLICE("unserved"));
        s->suspend |= slice_eq(word, SLICE("suspend"));
        s->sidecar |= slice_eq(word, SLICE("sidecar"));
        s->scaled |= slice_eq(word, SLICE("scaled"));
        s->recreate |= slice_eq(word, SLICE("recreate"));
        s->accepted |= slice_eq(word, SLICE("accepted"));
        s->refused |= slice_eq(word, SLICE("refused"));
    }
}

static unsigned drain_of(struct slice word)
{
    static const char *const words[] = {"none", "asked", "under-way", "done"};
    unsigned drain = POD_DRAIN_DONE;
    while (drain && !slice_is(word, words[drain]))
        drain--;
    return drain;
}

static void read_pod(struct scene *s, struct slice line)
{
    struct pod *p = &s->pods[s->pod_count++];
    struct slice group = slice_cut(&line, ' '), index = slice_cut(&line, ' ');
    int64_t n = 0;
    slice_int(index, &n);
    snprintf(p->name, sizeof p->name, "p%u", s->pod_count);
    snprintf(p->uid, sizeof p->uid, "u%u", s->pod_count);
    if (slice_eq(group, SLICE("gone")))
        snprintf(p->name, sizeof p->name, "c-gone-worker-0-p%u", s->pod_count);
    p->head = slice_eq(group, SLICE("head"));
    p->group = p->head ? SLICE("headgroup") : group;
    p->index = (int32_t)n;
    p->version = s->pod_count;
    p->hash = 0;
    set_state(p, slice_cut(&line, ' '));
    snprintf(p->ip, sizeof p->ip, "%s", p->phase == POD_RUNNING ? "10.0.0.1" : "");
    int32_t age = 60, since = 0, run = 0, going = 0;
    while (!slice_empty(line)) {
        struct slice word = slice_cut(&line, ' ');
        take_int(word, "age", &age);
        take_int(word, "since", &since);
        take_int(word, "run", &run);
        take_int(word, "going", &going);
        take_int(word, "host", &p->host);
        int32_t idle = 0;
        take_int(word, "idle", &idle);
        p->idle_s = idle ? (uint16_t)idle : p->idle_s;
        if (word_value(word, "reason").ptr)
            p->reason = word_value(word, "reason");
        if (slice_starts(word, SLICE("says="))) { /* and so does the rest of the line */
            p->words = slice_skip((struct slice){word.ptr, word.len + (line.ptr ? 1 + line.len : 0)}, 5);
            line = SLICE_NONE;
        }
        p->ours.counted |= slice_eq(word, SLICE("counted"));
        p->restarted |= slice_eq(word, SLICE("restarted"));
        p->ours.asked |= slice_eq(word, SLICE("asked"));
        p->on_demand |= slice_eq(word, SLICE("on-demand"));
        p->ours.overtaken |= slice_eq(word, SLICE("overtaken"));
        p->unschedulable |= slice_eq(word, SLICE("unschedulable"));
        p->stopped |= slice_eq(word, SLICE("stopped"));
        if (slice_eq(word, SLICE("gave-up")))
            p->ended = p->gave_up = true;
        if (slice_eq(word, SLICE("doubted")))
            p->deleting = p->ours.doubted = true;
        p->hash = slice_eq(word, SLICE("old")) ? 1 : p->hash;
        if (word_value(word, "drain").ptr)
            p->ours.drain = drain_of(word_value(word, "drain")) & 3u;
    }
    p->created_us = now_us - age * INT64_C(1000000);
    p->going_s = going ? (uint32_t)(now_us / 1000000 - going) : 0;
    p->run_us = run ? now_us - run * INT64_C(1000000) : 0;
    p->ready_us = since ? now_us - since * INT64_C(1000000) : 0;
}

static void put_group(struct scene *s, struct buf *b, const char *name, int32_t replicas, bool first)
{
    buf_printf(b, "%s{\"groupName\":\"%s\",\"replicas\":%d,\"minReplicas\":%d,\"maxReplicas\":%d,\"numOfHosts\":%d,", first ? "" : ",",
               name, replicas, s->min, s->max, s->hosts);
    if (first && s->delete_names.len) {
        buf_put(b, SLICE("\"scaleStrategy\":{\"workersToDelete\":["));
        for (struct slice rest = s->delete_names; rest.ptr;) {
            struct slice one = slice_cut(&rest, ',');
            buf_printf(b, "\"%.*s\"%s", SLICE_ARG(one), rest.ptr ? "," : "");
        }
        buf_put(b, SLICE("]},"));
    }
    buf_printf(b, "\"rayStartParams\":{},\"template\":%s}", container);
}

__attribute__((unused)) static void read_pods(struct scene *s, struct slice *text)
{
    while (text->ptr) {
        struct slice line = slice_cut(text, '\n');
        if (slice_eq(line, SLICE("---")))
            return;
        if (slice_starts(line, SLICE("prior ")))
            s->prior = slice_skip(line, 6);
        else
            read_pod(s, line);
    }
}

static void read_cluster(struct scene *s)
{
    struct buf b;
    buf_init(&b, MIB);
    buf_printf(&b,
               "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"c\",\"namespace\":\"n\",\"uid\":"
               "\"00000000-0000-0000-0000-000000000001\",\"generation\":1%s},\"spec\":{%s%s%s\"headGroupSpec\":{\"rayStartParams\":{},"
               "\"template\":%s},\"workerGroupSpecs\":[",
               s->sidecar    ? ",\"annotations\":{\"" RAY_ANNOTATION_AUTOSCALER "\":\"sidecar\"}"
               : s->roll.len ? arena_printf(&s->a, ",\"annotations\":{\"" RAY_ANNOTATION_ROLL "\":\"%.*s\"}", SLICE_ARG(s->roll)).ptr
                             : "",
               s->sidecar ? "\"enableInTreeAutoscaling\":true," : "", s->suspend ? "\"suspend\":true," : "",
               s->recreate ? "\"upgradeStrategy\":{\"type\":\"Recreate\"}," : "", container);
    put_group(s, &b, s->broken ? "Not a name!" : "small", s->workers, true);
    if (s->second)
        put_group(s, &b, "big", s->second, false);
    buf_put(&b, SLICE("]}}"));
    struct json *doc = arena_new(&s->a, struct json);
    struct err e = {0};
    CHECK(json_parse(doc, arena_dup(&s->a, buf_slice(&b)), &s->a, &e));
    CHECK(ray_read(json_root(doc), &s->a, &s->cluster, &s->errors) != s->broken);
    if (s->errors.count && !s->broken)
        printf("  %.*s: %.*s\n", SLICE_ARG(s->errors.list[0].path), SLICE_ARG(s->errors.list[0].text));
    buf_free(&b);
    s->cluster.serves = s->serves;
    s->cluster.auth.ca = s->tls ? SLICE("c-ray-ca") : SLICE("");
    s->cluster.typed = s->typeless.ptr;
    s->cluster.marketed = s->unscheduled;
    if (s->prefer) {
        s->cluster.groups[0].on_demand = &s->cluster.groups[0];
        s->failures[1].spot_from_ms = NOW_MS + s->ondemand;
    }
    for (uint32_t i = 0; i <= s->cluster.group_count; i++) {
        struct ray_group *g = i == 0 ? &s->cluster.head : &s->cluster.groups[i - 1];
        if (s->typeless.ptr && group_slot(s->typeless) == (int)i) {
            g->blocked = "InstanceTypeNotFound";
            g->blocked_text = SLICE("has no type");
        }
        uint64_t hash = i == 0 ? s->cluster.head.hash : s->cluster.groups[i - 1].hash;
        s->failures[i].accepted = s->accepted ? hash : 0;
        s->failures[i].refused = s->refused ? hash : 0;
        s->failures[i].try_ms = NOW_MS + s->try_in;
    }
}

/* As the API server gives it back. */
static void make_service(struct scene *s, enum ray_service which, struct service *to)
{
    struct buf b;
    buf_init(&b, MIB);
    struct json doc;
    struct err e = {0};
    CHECK(ray_build_service(&s->cluster, which, &s->a, &b, &e));
    CHECK(json_parse(&doc, buf_slice(&b), &s->a, &e));
    *to = (struct service){.name = "svc", .uid = "su", .ip = "None", .version = 1, .hash = ray_service_hash(json_root(&doc))};
    buf_clear(&b);
    ray_service_endpoints(json_root(&doc), &s->a, &b);
    to->endpoints = arena_dup(&s->a, buf_slice(&b));
    buf_free(&b);
}

static void scene_view(struct scene *s, const struct pod **pods, struct cluster_view *v)
{
    static struct ray_options options = {.tools = RAY_TOOLS_NONE, .cluster_domain = {"cluster.local", 13}, .version = {"0", 1}};
    options.unscheduled_ms = s->unscheduled * INT64_C(1000);
    for (uint32_t i = 0; i < s->pod_count; i++)
        pods[i] = &s->pods[i];
    *v = (struct cluster_view){.cluster = &s->cluster,
                               .errors = &s->errors,
                               .pods = pods,
                               .pod_count = s->pod_count,
                               .status = s->prior,
                               .status_at_ms = s->written ? NOW_MS - s->written : 0,
                               .made_ms = s->made ? NOW_MS - s->made : 0,
                               .fleet = {.all = s->fleet < 0 ? UINT32_MAX : (uint32_t)s->fleet, .starting = (uint32_t)s->starting},
                               .status_not_before_ms = s->blocked ? NOW_MS + s->blocked : 0,
                               .failures = s->failures,
                               .scaling = s->news.reason ? &s->news : NULL,
                               .by_name = s->scaled,
                               .drains = s->drains,
                               .workers_from_ms = s->fence ? NOW_MS + s->fence : 0,
                               .accounts = (uint32_t)s->accounts,
                               .options = &options,
                               .now = {NOW_MS, now_us}};
    if (s->broken)
        return;
    for (enum ray_service k = 0; k < RAY_SERVICES; k++) {
        if (!s->kept || !s->wants[k].hash) {
            make_service(s, k, &s->own[k]);
            s->wants[k] = service_want_made(&s->cluster, k, NULL, &s->a);
        }
        v->own[k] = s->unserved && k == RAY_SERVICE_HEAD ? NULL : &s->own[k];
        v->wants[k] = s->wants[k];
    }
}

#endif
