/* Reads a RayJob, and its log from the head or from the submitter pod. */
#include "live.h"

/* jobDeploymentStatus of a RayJob that will print no more. */
static bool is_over(struct slice phase)
{
    return slice_eq(phase, SLICE("Complete")) || slice_eq(phase, SLICE("Failed"));
}

bool logs_read_job(struct logs_live *l)
{
    struct seek *s = &l->seek;
    struct ask_answer answer;
    struct json doc;
    if (!ask_get(&s->ask, seek_path(s, &ray_job_resource, l->o->name, SLICE_NONE), NULL, s->a, &answer, &l->e))
        return false;
    l->absent = answer.code == 404;
    if (l->absent)
        return err_set(&l->e, ERR_STATUS, "there is no RayJob %.*s in namespace %.*s (kubectl get rayjobs -A lists them)",
                       SLICE_ARG(l->o->name), SLICE_ARG(s->ns));
    if (answer.code != 200)
        return seek_refused(&answer, "the RayJob cannot be read", &l->e);
    if (!json_parse(&doc, answer.body, s->a, &l->e))
        return err_wrap(&l->e, "the API server's answer");
    struct jval job = json_root(&doc), mode = json_get(job, "spec.submissionMode");
    struct slice state = json_get_str(job, "status.jobStatus", s->a);
    struct slice container = json_get_str(json_at(json_get(job, "spec.submitterPodTemplate.spec.containers"), 0), "name", s->a);
    l->job = (struct logs_target){.id = json_get_str(job, "status.jobId", s->a),
                                  .cluster = json_get_str(job, "status.rayClusterName", s->a),
                                  .phase = json_get_str(job, "status.jobDeploymentStatus", s->a),
                                  .message = json_get_str(job, "status.message", s->a),
                                  .uid = json_get_str(job, "metadata.uid", s->a),
                                  .container = slice_empty(container) ? SLICE(RAY_SUBMITTER_CONTAINER) : container,
                                  .begun = !slice_empty(state) && !slice_eq(state, SLICE("PENDING")),
                                  .pods = !json_there(mode) || json_str_eq(mode, SLICE("K8sJobMode"))};
    l->over = is_over(l->job.phase);
    return true;
}

static void on_piece(void *owner, uint64_t tag, struct slice piece)
{
    struct logs_view *v = owner;
    (void)tag;
    logs_view_add(v, piece);
}

/* A refusal by the API server, or by the dashboard behind its proxy. */
static bool refused(struct logs_live *l, enum ray_dash_call call, const struct ask_answer *answer, const char *what)
{
    struct ray_dash_answer said;
    l->absent = answer->code == 404;
    if (answer->object)
        return seek_refused(answer, what, &l->e);
    ray_dash_read(call, answer->code, answer->body, false, l->seek.a, &said);
    return err_set(&l->e, ERR_STATUS, "%s: %s", what, said.err.text);
}

static bool read_log(struct logs_live *l, struct slice path, const struct http_header *header, bool json, const char *what)
{
    struct seek *s = &l->seek;
    struct ask_answer answer;
    logs_view_begin(&l->view, json);
    if (!ask_text(&s->ask, path, header, on_piece, &l->view, s->a, &answer, &l->e))
        return false;
    if (answer.code != 200)
        return refused(l, RAY_DASH_LOG, &answer, what);
    return logs_view_end(&l->view) || err_set(&l->e, ERR_SYNTAX, "%s: the answer is no log", what);
}

bool logs_read_head(struct logs_live *l)
{
    struct seek *s = &l->seek;
    struct seek_head head = {0};
    struct ray_dash_request r = {.call = RAY_DASH_JOB, .id = l->job.id};
    struct ask_answer answer;
    if (!seek_head(s, l->job.cluster, &head, &l->absent, &l->e))
        return false;
    if (l->o->cluster) { /* no RayJob says how it goes */
        struct json doc;
        struct slice path = ray_dash_path(&r, SLICE_NONE, SLICE_NONE, 0, s->a);
        if (!ask_get(&s->ask, arena_printf(s->a, "%.*s%.*s", SLICE_ARG(head.path), SLICE_ARG(path)), &head.token, s->a, &answer, &l->e))
            return false;
        if (answer.code != 200)
            return refused(l, RAY_DASH_JOB, &answer, "the job cannot be read from its head");
        if (json_parse(&doc, answer.body, s->a, &l->e))
            l->over = ray_dash_job_ended(json_get_str(json_root(&doc), "status", s->a));
    }
    r.call = RAY_DASH_LOG;
    struct slice path = ray_dash_path(&r, SLICE_NONE, SLICE_NONE, 0, s->a);
    bool well = read_log(l, arena_printf(s->a, "%.*s%.*s", SLICE_ARG(head.path), SLICE_ARG(path)), &head.token, true,
                         "the job's log cannot be read from its head");
    mem_wipe((char *)(uintptr_t)head.token.value.ptr, head.token.value.len);
    return well;
}

/* The container by that name, or the first: another one may stand in front of it. */
static struct slice container_of(struct jval pod, struct slice wanted, struct arena *a)
{
    struct jval containers = json_get(pod, "spec.containers");
    return list_has(containers, "name", wanted) ? wanted : json_get_str(json_at(containers, 0), "name", a);
}

static bool is_owned(struct jval pod, struct slice uid)
{
    struct jval k, owner;
    bool owned = false;
    for (struct jiter it = json_iter(json_get(pod, "metadata.ownerReferences")); json_next(&it, &k, &owner);)
        owned |= json_str_eq(json_get(owner, "uid"), uid);
    return owned;
}

struct slice logs_submitter(struct jval pods, struct slice uid, struct slice *container, struct arena *a)
{
    struct slice name = SLICE_NONE, made = SLICE_NONE, wanted = *container;
    struct jval k, pod;
    for (struct jiter it = json_iter(json_get(pods, "items")); json_next(&it, &k, &pod);) {
        struct slice at = json_get_str(pod, "metadata.creationTimestamp", a);
        if (!is_owned(pod, uid) || json_str_eq(json_get(pod, "status.phase"), SLICE("Pending")) || slice_cmp(at, made) < 0)
            continue;
        name = json_get_str(pod, "metadata.name", a);
        *container = container_of(pod, wanted, a);
        made = at;
    }
    return name;
}

/* Whether there is a submitter pod: then its log is what is shown. */
bool logs_find_submitter(struct logs_live *l, struct slice *path)
{
    struct seek *s = &l->seek;
    struct ask_answer answer;
    struct json doc;
    struct err none = {0};
    struct slice container = l->job.container;
    __attribute__((cleanup(buf_free))) struct buf b;
    buf_init(&b, LIMIT_HTTP_URL);
    kube_path(&b, &kube_pods, s->ns, SLICE_NONE, SLICE_NONE);
    kube_query(&b, "labelSelector",
               arena_printf(s->a, RAY_LABEL_CLUSTER "=%.*s," RAY_LABEL_MAKER_KIND "=RayJob", SLICE_ARG(l->job.cluster)));
    if (!ask_get(&s->ask, buf_slice(&b), NULL, s->a, &answer, &none) || answer.code != 200 || !json_parse(&doc, answer.body, s->a, &none))
        return false;
    struct slice pod = logs_submitter(json_root(&doc), l->job.uid, &container, s->a);
    if (slice_empty(pod))
        return false;
    buf_clear(&b);
    kube_path(&b, &kube_pods, s->ns, pod, SLICE("log"));
    kube_query(&b, "container", container);
    *path = arena_dup(s->a, buf_slice(&b));
    return true;
}

bool logs_read_submitter(struct logs_live *l, struct slice path)
{
    return read_log(l, path, NULL, false, "the log of its submitter pod cannot be read");
}
