/* The status of a RayCluster, RayJob or VersionedService as the status of its workload. */
#include <mobula/ray.h>
#include <mobula/spec.h>
#include <mobula/work.h>

enum { MESSAGE_MAX = 8 * KIB - 1, REASON_MAX = 256 };

static void set(struct work_status *s, const char *state, bool over)
{
    s->state = slice_of(state);
    s->over = over;
}

static void say(struct work_status *s, struct slice reason, struct slice message)
{
    s->reason = reason.ptr ? slice_head(reason, REASON_MAX) : SLICE("");
    s->message = message.ptr ? message : SLICE("");
}

/* ---- RayJob ---- */

static void job_running(struct jval status, struct work_status *s)
{
    static const char *const begun[] = {"RUNNING", "SUCCEEDED", "FAILED", "STOPPED"};
    struct jval job = json_get(status, "jobStatus");
    bool runs = s->attempts > 1; /* a job that is tried again has run, and goes on */
    for (size_t i = 0; i < COUNT_OF(begun); i++)
        runs |= json_is(job, begun[i]);
    set(s, runs ? "RUNNING" : "STARTING", false);
}

static void job_state(struct jval status, struct arena *a, struct work_status *s)
{
    struct slice phase = json_get_str(status, "jobDeploymentStatus", a), url = json_get_str(status, "dashboardURL", a);
    s->attempts = json_get_int(status, "attempt", 0);
    if (s->attempts == 0 && !slice_empty(phase))
        s->attempts = json_get_int(status, "failed", 0) + 1;
    s->started = json_get_str(status, "startTime", a);
    s->ended = json_get_str(status, "endTime", a);
    if (!slice_empty(url))
        s->url = (struct work_url){SLICE("dashboard"), arena_printf(a, "http://%.*s", SLICE_ARG(url))};
    say(s, json_get_str(status, "reason", a), json_get_str(status, "message", a));
    if (slice_empty(phase))
        set(s, "STARTING", false);
    else if (slice_is(phase, "Complete"))
        set(s, json_is(json_get(status, "jobStatus"), "STOPPED") ? "TERMINATED" : "SUCCEEDED", true);
    else if (slice_is(phase, "Failed"))
        set(s, "FAILED", true);
    else if (slice_is(phase, "ValidationFailed"))
        set(s, "FAILED", false); /* a spec that is right ends it */
    else if (slice_starts(phase, SLICE("Suspend")))
        set(s, "SUSPENDED", false);
    else if (slice_is(phase, "Initializing") || slice_is(phase, "Running") || slice_is(phase, "Waiting") || slice_is(phase, "Retrying"))
        job_running(status, s);
    else
        set(s, "UNKNOWN", false);
}

/* ---- RayCluster ---- */

static void cluster_url(const struct work_object *object, struct arena *a, struct work_status *s)
{
    struct slice service = json_get_str(object->status, "head.serviceName", a),
                 port = json_get_str(object->status, "endpoints.dashboard", a);
    if (slice_empty(service))
        return;
    s->url.name = SLICE("dashboard");
    s->url.url =
        arena_printf(a, "http://%.*s.%.*s.svc:%.*s", SLICE_ARG(service), SLICE_ARG(object->ns), SLICE_ARG(port.ptr ? port : SLICE("8265")));
}

static void cluster_why(struct jval status, struct arena *a, struct work_status *s)
{
    struct jval c = ray_cluster_unready(status);
    if (json_there(c))
        say(s, json_get_str(c, "reason", a), json_get_str(c, "message", a));
}

static void cluster_state(const struct work_object *object, struct arena *a, struct work_status *s)
{
    struct jval status = object->status;
    struct slice word = json_get_str(status, "state", a);
    bool once = condition_is(status, "RayClusterProvisioned", "True");
    s->attempts = 1;
    s->started = json_get_str(object->metadata, "creationTimestamp", a);
    cluster_url(object, a, s);
    if (slice_is(word, "ready"))
        set(s, "RUNNING", false);
    else if (slice_is(word, "suspended"))
        set(s, "SUSPENDED", false);
    else if (slice_is(word, "failed"))
        set(s, "FAILED", false);
    else if (slice_empty(word))
        set(s, once ? "RUNNING" : "STARTING", false);
    else
        set(s, "UNKNOWN", false);
    if (!slice_is(word, "ready") || condition_is(status, "WorkersNotReady", "True"))
        cluster_why(status, a, s);
    if (slice_empty(s->message))
        s->message = json_type(json_get(status, "reason")) == JSON_STRING ? json_get_str(status, "reason", a) : SLICE("");
}

/* ---- VersionedService ---- */

/* The first that applies: a refused spec, a rollout under way, a service or route that is not ready, a rollout that went back. */
static void service_why(const struct work_object *object, struct arena *a, struct work_status *s)
{
    static const struct {
        const char *type, *word; /* word: with which value it is worth saying */
    } all[] = {{"Valid", "False"},       {"Progressing", "True"}, {"Ready", "False"},
               {"RoutesReady", "False"}, {"TokenReady", "False"}, {"Progressing", "False"}};
    if (json_get_int(object->status, "observedGeneration", object->generation) < object->generation) {
        say(s, SLICE(WORK_PROGRESSING), SLICE("the operator has not seen the new versions yet"));
        return;
    }
    for (size_t i = 0; i < COUNT_OF(all) && slice_empty(s->reason); i++) {
        struct jval c = status_condition(object->status, slice_of(all[i].type));
        struct slice message = json_get_str(c, "message", a);
        if (json_is(json_get(c, "status"), all[i].word) && (i == 1 || !slice_empty(message)))
            say(s, json_get_str(c, "reason", a), message);
    }
}

static void service_state(const struct work_object *object, struct arena *a, struct work_status *s)
{
    static const struct {
        const char *theirs, *ours;
    } words[] = {{"Running", "RUNNING"}, {"Progressing", "RUNNING"}, {"RolledBack", "RUNNING"}, {"Unhealthy", "UNHEALTHY"}};
    struct slice word = json_get_str(object->status, "state", a), host = json_str(json_at(json_get(object->spec, "hostnames"), 0), a);
    s->attempts = 1;
    s->started = json_get_str(object->metadata, "creationTimestamp", a);
    set(s, "STARTING", false);
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (slice_is(word, words[i].theirs))
            set(s, words[i].ours, false);
    if (!slice_empty(host))
        s->url = (struct work_url){
            SLICE("service"),
            arena_printf(a, "%s://%.*s", condition_is(object->status, "CertificateReady", "True") ? "https" : "http", SLICE_ARG(host))};
    service_why(object, a, s);
}

void work_state(const struct work_object *object, bool terminate, struct arena *a, struct work_status *out)
{
    *out = (struct work_status){.state = SLICE(""),
                                .reason = SLICE(""),
                                .message = SLICE(""),
                                .started = SLICE(""),
                                .ended = SLICE(""),
                                .url = {SLICE(""), SLICE("")}};
    if (!object) {
        set(out, terminate ? "TERMINATED" : "PENDING", terminate);
        return;
    }
    struct slice generation = json_str(json_child(json_get(object->metadata, "annotations"), WORK_ANNOTATION_GENERATION), a);
    if (!slice_int(generation, &out->generation) || out->generation < 0)
        out->generation = 0;
    if (slice_is(object->kind, "RayJob"))
        job_state(object->status, a, out);
    else if (slice_is(object->kind, "VersionedService"))
        service_state(object, a, out);
    else
        cluster_state(object, a, out);
    if (object->deleting && !out->over)
        set(out, "TERMINATING", false);
    out->message = arena_cut(a, out->message, MESSAGE_MAX);
}

/* A name and two numbers each; what else a pod writes there is left out. */
static void put_resources(struct jval list, struct arena *a, struct jout *w)
{
    static const char *const amounts[] = {"total", "used"};
    struct jval k, one;
    jout_karray(w, "resources");
    for (struct jiter it = json_iter(list); json_next(&it, &k, &one);) {
        struct slice name = arena_clean(a, json_get_str(one, "name", a), LIMIT_HUB_WORD);
        if (slice_empty(name))
            continue;
        jout_form(w, "{name:'%.*s'", SLICE_ARG(name));
        for (size_t i = 0; i < COUNT_OF(amounts); i++)
            if (json_type(json_child(one, amounts[i])) == JSON_NUMBER)
                jout_kval(w, amounts[i], json_child(one, amounts[i]));
        jout_end(w);
    }
    jout_end(w);
}

void work_ray_write(struct jval ray, struct arena *a, struct jout *w)
{
    static const char *const numbers[] = {"nodesAlive", "nodesDead"};
    struct slice health = json_get_str(ray, "health", a), version = json_get_str(ray, "version", a),
                 dashboard = json_get_str(ray, "dashboard", a), message = json_get_str(ray, "message", a);
    jout_form(w, "health:'%.*s',version?:'%.*s',dashboard?:'%.*s',message:'%.*s'", SLICE_ARG(arena_clean(a, health, 16)),
              SLICE_ARG(arena_clean(a, version, 64)), SLICE_ARG(arena_clean(a, dashboard, 16)),
              SLICE_ARG(arena_clean(a, message, ERR_TEXT_MAX)));
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        jout_kint(w, numbers[i], json_get_int(ray, numbers[i], 0));
    put_resources(json_get(ray, "resources"), a, w);
}

static void put_text(struct jout *w, const char *key, struct slice text)
{
    if (!slice_empty(text))
        jout_kstr(w, key, text);
}

void work_status_write(const struct work_status *s, const struct work_object *object, struct jout *w)
{
    jout_form(w, "state:'%.*s',reason:'%.*s',message:'%.*s',attempts:%lld,startedAt?:'%.*s',endedAt?:'%.*s'", SLICE_ARG(s->state),
              SLICE_ARG(s->reason), SLICE_ARG(s->message), (long long)s->attempts, SLICE_ARG(s->started), SLICE_ARG(s->ended));
    if (object) {
        jout_karray(w, "objects");
        jout_object(w);
        put_text(w, "apiVersion", object->api_version);
        put_text(w, "kind", object->kind);
        put_text(w, "namespace", object->ns);
        put_text(w, "name", object->name);
        put_text(w, "uid", object->uid);
        jout_end(w);
        jout_end(w);
    }
    if (!slice_empty(s->url.url))
        jout_form(w, "urls:[{name:'%.*s',url:'%.*s'}]", SLICE_ARG(s->url.name), SLICE_ARG(s->url.url));
}
