/* API requests of a RayJob's plan: create and delete clusters, create a submitter pod, delete the RayJob itself. */
#include "record.h"

/* ---- bodies ---- */

bool job_make_cluster(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    slice_copy(act->name, f->name, sizeof f->name);
    *t = (struct call_text){SLICE("POST"), SLICE(KUBE_TYPE_JSON), false};
    kube_path(&op->out.path, &ray_resources[RAY_V1], istr_slice(c->ns), SLICE_NONE, SLICE_NONE);
    kube_query(&op->out.path, "fieldManager", SLICE(RAY_FIELD_MANAGER));
    return ray_build_job_cluster(job_model(op), act->name, &op->out.body, &op->arenas.body) ||
           err_set(e, ERR_LIMIT, "RayCluster %.*s does not fit %d bytes (LIMIT_JSON_ITEM)", SLICE_ARG(act->name), LIMIT_JSON_ITEM);
}

/* Deletes a cluster, or the RayJob itself with all that it owns. A cluster is deleted in the foreground: it exists until its pods are gone,
 * so the next attempt does not run beside them. */
bool job_make_delete(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    (void)e;
    bool self = act->verb == &rayjob_delete;
    struct slice name = self ? slice_of(c->name) : act->name, uid = self ? slice_of(c->uid) : act->uid;
    slice_copy(name, f->name, sizeof f->name);
    slice_copy(uid, f->uid, sizeof f->uid);
    if (act->why)
        utf8_copy(slice_of(act->why), f->why, sizeof f->why);
    *t = (struct call_text){SLICE("DELETE"), SLICE(KUBE_TYPE_JSON), true};
    kube_path(&op->out.path, self ? &ray_job_resource : &ray_resources[RAY_V1], istr_slice(c->ns), name, SLICE_NONE);
    return kube_delete_options(&op->out.body, uid, 0, self ? SLICE("Background") : SLICE("Foreground"));
}

/* Every worker group is suspended, by its place: the test of the uid keeps this from another cluster of that name. */
bool job_make_suspend(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    slice_copy(act->name, f->name, sizeof f->name);
    struct jval doc;
    const struct record *own = record_get(op, act->uid, istr_slice(c->ns));
    if (!own || !own->present || !json_read(&doc, istr_slice(own->seen.spec), &op->arenas.body, e))
        return err_set(e, ERR_MISSING, "RayCluster %.*s is gone", SLICE_ARG(act->name));
    *t = (struct call_text){SLICE("PATCH"), SLICE(KUBE_TYPE_JSON_PATCH), true};
    kube_path(&op->out.path, &ray_resources[RAY_V1], istr_slice(c->ns), act->name, SLICE_NONE);
    kube_query(&op->out.path, "fieldManager", SLICE(RAY_FIELD_MANAGER));
    buf_printf(&op->out.body, "[{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":\"%.*s\"}", SLICE_ARG(act->uid));
    for (size_t i = 0; i < json_len(json_get(doc, "workerGroupSpecs")); i++)
        buf_printf(&op->out.body, ",{\"op\":\"add\",\"path\":\"/spec/workerGroupSpecs/%zu/suspend\",\"value\":true}", i);
    return buf_putc(&op->out.body, ']');
}

bool job_make_mark(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    struct jout w;
    (void)f;
    (void)e;
    *t = (struct call_text){SLICE("PATCH"), SLICE(KUBE_TYPE_MERGE_PATCH), true};
    kube_path(&op->out.path, &ray_job_resource, istr_slice(c->ns), slice_of(c->name), SLICE_NONE);
    kube_query(&op->out.path, "fieldManager", SLICE(RAY_FIELD_MANAGER));
    jout_init(&w, &op->out.body);
    jout_form(&w, "{metadata:{uid:'%s',annotations:", c->uid);
    jout_object(&w);
    jout_kstr(&w, RAY_ANNOTATION_ENDED, act->text);
    jout_end(&w);
    jout_form(&w, "}}");
    return !op->out.body.full;
}

/* The cluster that the job runs on, its own or another's. */
static struct record *cluster_of(struct op *op, const struct record *c, struct slice name)
{
    for (struct record *own = c->family.owned; own; own = own->family.next)
        if (own->present && slice_eq(slice_of(own->name), name))
            return own;
    return cluster_named(op, c, name);
}

/* For the submission that status has, on the cluster that status names: it was decided on that, and status does not change meanwhile. */
bool job_make_submitter(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    slice_copy(act->name, f->name, sizeof f->name);
    tools_want(op, c->ns);
    buf_clear(&op->out.path); /* that was a call of its own, with the same buffers */
    struct arena *a = &op->arenas.body;
    struct jval status, spec;
    if (!json_read(&status, (struct slice){c->status.text, c->status.len}, a, e))
        return false;
    struct ray_submitter s = {.name = act->name,
                              .id = json_get_str(status, "jobId", a),
                              .cluster = json_get_str(status, "rayClusterName", a),
                              .dashboard = json_get_str(status, "dashboardURL", a)};
    struct record *on = cluster_of(op, c, s.cluster);
    if (!on || !json_read(&spec, istr_slice(on->seen.spec), a, e))
        return err_set(e, ERR_MISSING, "RayCluster %.*s is gone", SLICE_ARG(s.cluster));
    s.spec = spec;
    s.secret = head_secret(op, on, a);
    model_load(op, c);
    struct ray_job job = *job_model(op);
    if (!types_pod(op, SLICE("submitter"), &job.submitter_template, a, e))
        return false;
    *t = (struct call_text){SLICE("POST"), SLICE(KUBE_TYPE_JSON), false};
    kube_path(&op->out.path, &kube_pods, istr_slice(c->ns), SLICE_NONE, SLICE_NONE);
    kube_query(&op->out.path, "fieldManager", SLICE(RAY_FIELD_MANAGER));
    return ray_build_submitter_pod(&job, &s, &op->o.ray, a, &op->out.body, e);
}

/* ---- answers ---- */

/* did: "created" */
static void say(struct op *op, const struct flight *f, const char *reason, const char *log, const char *did)
{
    struct record *c = f->c;
    char note[LIMIT_KUBE_EVENT_NOTE + ANSWER_WORDS]; /* cut where it is sent */
    snprintf(note, sizeof note, "%s RayCluster %s%s%s", did, f->name, f->why[0] ? ": " : "", f->why);
    log_info(log, LF("namespace", istr_slice(c->ns)), LF_CSTR("job", c->name), LF_CSTR("cluster", f->name), LF_CSTR("what", note));
    say_event(op, c, false, reason, slice_of(note));
}

static void submitter_created(struct op *op, const struct flight *f, const struct kube_answer *a)
{
    uint64_t version = 0;
    char note[LIMIT_KUBE_EVENT_NOTE];
    struct record *c = f->c;
    struct jval pod = answer_object(op, a, &version);
    failures_clear(op, c);
    job_of(op, c)->submitter_ms = op->now.mono_ms;
    if (json_there(pod))
        answer_pod(op, f, pod, version);
    log_info("submitter pod created", LF("namespace", istr_slice(c->ns)), LF_CSTR("job", c->name), LF_CSTR("pod", f->name));
    snprintf(note, sizeof note, "pod %s", f->name);
    say_event(op, c, false, "CreatedRayJobSubmitter", slice_of(note));
}

static void done(struct op *op, struct flight *f, const struct kube_answer *a)
{
    if (f->verb == &rayjob_create_cluster) {
        failures_clear(op, f->c);
        object_answered(op, f, a, &kind_raycluster);
        say(op, f, "CreatedRayCluster", "cluster created", "created");
    } else if (f->verb == &rayjob_create_submitter) {
        submitter_created(op, f, a);
    } else if (f->verb == &rayjob_delete_cluster) {
        object_deleting(op, record_get(op, slice_of(f->uid), istr_slice(f->c->ns)));
        say(op, f, "DeletedRayCluster", "cluster deleted", "deleted");
    } else if (f->verb == &rayjob_suspend_workers) {
        object_answered(op, f, a, &kind_raycluster);
        say(op, f, "SuspendedWorkers", "workers suspended", "set suspend in all worker groups of");
    } else {
        object_deleting(op, f->c);
        log_info("job deleted, as its deletion rules say", LF("namespace", istr_slice(f->c->ns)), LF_CSTR("job", f->c->name));
    }
}

/* Names are functions of the job and its attempt: what is there by now is this cluster or pod, or the watch will tell whose it is, unless
 * it has lost that. */
static void find_named(struct op *op, const struct flight *f)
{
    if (f->verb == &rayjob_create_submitter)
        source_missed(source_of(f->c->space, &kind_pod));
    else if (!cluster_named(op, f->c, slice_of(f->name)))
        source_missed(source_of(f->c->space, &kind_raycluster));
}

bool job_answer(struct op *op, struct flight *f, const struct kube_answer *a)
{
    if (a->outcome == KUBE_OK) {
        done(op, f, a);
        return false;
    }
    if (f->verb->how == VERB_CREATE && a->outcome == KUBE_REFUSED && a->status.reason == KUBE_ALREADY_EXISTS)
        find_named(op, f);
    object_write_failed(op, f, a);
    return false;
}
