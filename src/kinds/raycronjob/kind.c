/* RayCronJobs as a kind: how one is read and decided, and how its RayJobs are made and deleted. */
#include "raycronjob.h"

#include <mobula/kind_child.h>
#include <mobula/kind_rayjob.h>

/* ---- the view ---- */

static void read_cron(struct op *op, struct record *c, const struct spec_object *from)
{
    struct raycronjob *model = arena_new(&op->models.loaded->arena, struct raycronjob);
    (void)c;
    raycronjob_read_resource(from, &op->models.loaded->arena, model, &op->models.loaded->errors);
    op->models.loaded->model = model;
}

/* Read again for each decision: the folder may be another by now. */
static const struct zone *zone_of(const struct op *op, struct slice name, struct arena *a, struct slice *why)
{
    struct zone *zone = arena_new(a, struct zone);
    struct err *e = arena_new(a, struct err);
    struct slice file;
    zone_utc(zone);
    if (slice_empty(name) || slice_is(name, "UTC"))
        return zone;
    e->code = ERR_NONE;
    if (!op->o.zone_file)
        err_set(e, ERR_MISSING, "this operator knows no time zone but UTC");
    else if (op->o.zone_file(op->o.zones, name, a, &file, e) && zone_read(file, zone, e))
        return zone;
    *why = slice_of(e->text);
    return NULL;
}

static struct cron_child view_job(const struct op *op, const struct record *job, struct arena *a)
{
    struct jval meta, status;
    struct cron_child v = {.name = slice_of(job->name), .uid = slice_of(job->uid), .scheduled_s = CRON_NEVER};
    v.deleting_us = job->seen.deleted_us ? job->seen.deleted_us : job->deleting ? op->now.wall_us : 0;
    if (json_read(&meta, istr_slice(job->seen.meta), a, NULL))
        v.scheduled_s = raycronjob_scheduled(meta, v.name, a);
    if (!job->status.len || !json_read(&status, (struct slice){job->status.text, job->status.len}, a, NULL))
        return v;
    struct jval root = status, phase = json_get(root, "jobDeploymentStatus");
    bool complete = json_is(phase, "Complete");
    v.finished = complete || json_is(phase, "Failed");
    v.succeeded = complete && json_is(json_get(root, "jobStatus"), "SUCCEEDED");
    if (v.finished && !complete) {
        v.reason = json_get_str(root, "reason", a);
        v.message = json_get_str(root, "message", a);
    }
    if (!time_parse(json_get_str(root, "endTime", a), &v.ended_us, NULL))
        v.ended_us = 0;
    return v;
}

/* Counts the pods of the RayJob's clusters, and finds the one whose deletion was requested first. */
static void view_pods_of(const struct op *op, const struct record *job, struct arena *a, struct cron_child *v)
{
    uint32_t count = 0;
    int64_t again_us;
    for (const struct record *c = job->family.owned; c; c = c->family.next)
        v->pods += c->children.pod_count;
    const struct pod **list = arena_array(a, v->pods + 1, sizeof(const struct pod *));
    for (const struct record *c = job->family.owned; c; c = c->family.next)
        for (const struct pod_record *r = c->children.pods; r; r = r->next)
            list[count++] = &r->pod;
    v->stays = pods_going_text(list, count, op->now.wall_us, a, &again_us);
}

static const struct cron_child *view_jobs(const struct op *op, const struct record *c, struct arena *a, uint32_t *count)
{
    uint32_t all = 0;
    for (const struct record *own = c->family.owned; own; own = own->family.next)
        all++;
    struct cron_child *list = arena_array(a, all + 1, sizeof *list);
    for (const struct record *own = c->family.owned; own; own = own->family.next)
        if (own->present && own->kind == &kind_rayjob) {
            list[*count] = view_job(op, own, a);
            if (own->deleting)
                view_pods_of(op, own, a, &list[*count]);
            ++*count;
        }
    return list;
}

static int64_t decide_cron(struct op *op, struct record *c, struct plan *p)
{
    struct arena *a = &op->arenas.plan;
    const struct raycronjob *model = op->models.loaded->model;
    struct cron_view v = {.cron = model,
                          .errors = &op->models.loaded->errors,
                          .status = {c->status.text, c->status.len},
                          .status_hash = c->status_ours ? c->status.hash : 0,
                          .status_not_before_ms = c->status.not_before_ms,
                          .refusals = failures_of(op, c, SLICE_NONE, true, false),
                          .now = op->now};
    arena_reset(a, 256 * KIB);
    v.zone = zone_of(op, model->zone, a, &v.zone_why);
    v.jobs = view_jobs(op, c, a, &v.job_count);
    raycronjob_decide(&v, a, p);
    op->stats.decisions++;
    return p->next_ms;
}

/* ---- calls ---- */

static bool make_job(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    int64_t due_us;
    slice_copy(act->name, f->name, sizeof f->name);
    *t = (struct call_text){SLICE("POST"), SLICE(KUBE_TYPE_JSON), false};
    kube_path(&op->out.path, &ray_job_resource, istr_slice(c->ns), SLICE_NONE, SLICE_NONE);
    kube_query(&op->out.path, "fieldManager", SLICE(RAY_FIELD_MANAGER));
    return time_parse(act->text, &due_us, e) &&
           (raycronjob_build_job(op->models.loaded->model, due_us / 1000000, &op->out.body, &op->arenas.body) ||
            err_set(e, ERR_LIMIT, "RayJob %.*s does not fit %d bytes (LIMIT_JSON_ITEM)", SLICE_ARG(act->name), LIMIT_JSON_ITEM));
}

static bool make_job_delete(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    (void)e;
    return object_make_delete(op, c, act, f, t, &ray_job_resource, SLICE("Foreground")); /* the RayJob exists until its pods are gone */
}

static void done(struct op *op, const struct flight *f, const struct kube_answer *a)
{
    struct record *c = f->c;
    char note[LIMIT_KUBE_EVENT_NOTE + ANSWER_WORDS]; /* cut where it is sent */
    if (f->verb == &raycronjob_create_job) {
        log_info("job created", LF("namespace", istr_slice(c->ns)), LF_CSTR("cronjob", c->name), LF_CSTR("job", f->name));
        failures_clear(op, c);
        object_answered(op, f, a, &kind_rayjob); /* the event comes with the status that tells of it */
        return;
    }
    log_info("job deleted", LF("namespace", istr_slice(c->ns)), LF_CSTR("cronjob", c->name), LF_CSTR("job", f->name),
             LF_CSTR("why", f->why));
    snprintf(note, sizeof note, "deleted RayJob %s: %s", f->name, f->why);
    say_event(op, c, false, "DeletedRayJob", slice_of(note));
    object_deleting(op, record_get(op, slice_of(f->uid), istr_slice(c->ns)));
}

/* A name is that of one run: what has it by now is that run, unless it is somebody else's. What is not known at all, the watch has lost. */
static void find_job(struct op *op, struct flight *f, const char *text)
{
    const struct record *job = name_find(op, &kind_rayjob, f->c->ns, slice_of(f->name));
    if (job && job->family.owner != f->c) {
        char words[ERR_TEXT_MAX];
        snprintf(words, sizeof words, "RayJob %s exists and belongs to somebody else: delete it", f->name);
        object_refused(op, f->c, f->verb, words);
        return;
    }
    if (!job)
        source_missed(source_of(f->c->space, &kind_rayjob));
    record_wait(op, f->c, f, text);
}

static bool answer_job(struct op *op, struct flight *f, const struct kube_answer *a)
{
    char words[ANSWER_WORDS];
    bool exists = a->outcome == KUBE_REFUSED && a->status.reason == KUBE_ALREADY_EXISTS && f->verb == &raycronjob_create_job;
    if (a->outcome == KUBE_OK) {
        done(op, f, a);
    } else if (exists) {
        op->stats.refused[verb_number(op, f->verb)]++;
        find_job(op, f, answer_words(a, words));
    } else {
        object_write_failed(op, f, a);
    }
    return false;
}

/* ---- the kind ---- */

static void forget_cron(struct op *op, struct record *c)
{
    (void)op;
    (void)c;
}

static void lead_cron(struct op *op, struct record *c, bool leads)
{
    (void)leads;
    failures_clear(op, c);
}

/* The run of this minute. */
static bool preview(struct jval object, struct preview *p)
{
    struct raycronjob *cron = arena_new(p->arena, struct raycronjob);
    __attribute__((cleanup(buf_free))) struct buf job;
    buf_init(&job, LIMIT_JSON_ITEM);
    if (!raycronjob_read(object, p->arena, cron, p->errors))
        return false;
    if (slice_empty(cron->ns))
        cron->ns = SLICE("default");
    if (slice_empty(cron->uid))
        cron->uid = SLICE(PREVIEW_UID);
    if (cron->suspend) {
        p->note = SLICE("nothing is made: spec.suspend is true");
        return true;
    }
    return (raycronjob_build_job(cron, p->now_us / 60000000 * 60, &job, p->arena) ||
            err_set(&p->err, ERR_LIMIT, "its RayJob does not fit %d bytes (LIMIT_JSON_ITEM)", LIMIT_JSON_ITEM)) &&
           p->put(p, buf_slice(&job));
}

extern const struct kind kind_raycronjob;

static const struct verb_handler handlers[] = {
    {.verb = &raycronjob_create_job, .make = make_job, .answer = answer_job, .failed = object_failed},
    {.verb = &raycronjob_delete_job, .make = make_job_delete, .answer = answer_job, .failed = object_failed},
    {.verb = NULL},
};
static const struct kind *const owns[] = {&kind_rayjob, NULL};
static const struct kind *const needs[] = {&kind_raycronjob, &kind_rayjob, NULL};
static const struct kind *const must[] = {&kind_rayjob, NULL};

static const struct controller controller = {.owns = owns,
                                             .needs = needs,
                                             .must = must,
                                             .decide = decide_cron,
                                             .read = read_cron,
                                             .forget = forget_cron,
                                             .lead = lead_cron,
                                             .done = forget_cron,
                                             .respecified = children_respecified,
                                             .unsettled = doubt_list,
                                             .recall = doubt_recall,
                                             .by_wall_clock = true};

const struct kind kind_raycronjob = {.name = "RayCronJob",
                                     .word = "cronjob",
                                     .api_version = SLICE("ray.io/v1"),
                                     .resource = &raycronjob_resource,
                                     .plural = "raycronjobs.ray.io",
                                     .handlers = handlers,
                                     .family = OPERATOR_RAY_IO,
                                     .keep = extract_record,
                                     .drop = drop_record,
                                     .sweep = sweep_records,
                                     .check = raycronjob_check,
                                     .preview = preview,
                                     .gone = "cronjob deleted",
                                     .optional = {.flag = "raycronjobs",
                                                  .run = "run RayCronJobs (default); =false: they are not asked for",
                                                  .install = "with RayCronJobs: five rights more; --kinds=all has them"},
                                     .creation = true,
                                     .controller = &controller};
