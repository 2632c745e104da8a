/* Pods of RayClusters are created: how the call is made, what an answer to it means, and what is found when it is lost. Quota, admission
 * and validation do not look at the index of a pod: their no holds for its whole group. */
#include "record.h"

static const struct ray_group *group_spec(const struct op *op, int32_t group)
{
    struct ray_cluster *model = cluster_model(op);
    return group < 0 ? &model->head : &model->groups[group];
}

/* Its workers wait for what is in there, and its agent runs it; asked for with the head, which is made before them, it is there when a
 * kubelet mounts it. That is a call of its own, with the same buffers. */
static void want_tools(struct op *op, struct record *c)
{
    tools_want(op, c->ns);
    buf_clear(&op->out.path);
}

bool make_pod(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    const struct ray_cluster *model = cluster_model(op);
    const struct ray_group *g = group_spec(op, act->group);
    if (act->on_demand && g->on_demand)
        g = g->on_demand;
    if ((model->group_count || op->o.ray.agent || op->o.ray.ship || !slice_empty(model->auth.ca)) && act->verb == &raycluster_create_pod)
        want_tools(op, c);
    struct slice name =
        act->group < 0 ? ray_head_pod_name(model, &op->arenas.body) : ray_worker_pod_name(model, g, act->index, act->uid, &op->arenas.body);
    snprintf(f->name, sizeof f->name, "%.*s", SLICE_ARG(name));
    *t = (struct call_text){SLICE("POST"), SLICE(KUBE_TYPE_JSON), false};
    kube_path(&op->out.path, &kube_pods, istr_slice(c->ns), SLICE_NONE, SLICE_NONE);
    buf_put(&op->out.path, SLICE("?fieldManager=" RAY_FIELD_MANAGER));
    if (act->verb == &raycluster_try_pod) {
        buf_put(&op->out.path, SLICE("&dryRun=All"));
        f->hash = g->hash + patches_revision(op); /* an answer is about both */
    }
    return act->group < 0 ? ray_build_head_pod(model, &op->o.ray, &op->arenas.body, &op->out.body, e)
                          : ray_build_worker_pod(model, g, act->index, act->uid, &op->o.ray, &op->arenas.body, &op->out.body, e);
}

/* Whether a pod was made, or is still there, cannot be found out. The next plan might call it by another name, as soon as the one that it
 * replaces is gone: so nothing is decided before all have been listed again, by a list that begins from now on. */
static void never_known(struct op *op, const struct flight *f, const char *text)
{
    record_trouble(op, f->c, f, text);
    f->c->doubt.pods_round = source_of(f->c->space, &kind_pod)->keeper.round + 1;
}

/* By a list of its name and not by a GET: a 404 is not to be believed (see OPERATOR_DOUBT_MS), while nobody but the API server answers with
 * an empty list. Returns whether the flight goes on with that. */
static bool look_up(struct op *op, struct flight *f)
{
    struct err e = {0};
    char one[sizeof "metadata.name=" + POD_NAME_MAX];
    snprintf(one, sizeof one, "metadata.name=%s", f->name);
    buf_clear(&op->out.path);
    kube_path(&op->out.path, &kube_pods, istr_slice(f->c->ns), SLICE_NONE, SLICE_NONE);
    kube_query(&op->out.path, "fieldSelector", slice_of(one));
    if (flight_look(op, f, &e))
        return true;
    never_known(op, f, e.text);
    return false;
}

/* The pod of this name belongs to somebody else: most often to an older cluster of the same name whose pods are still going away. */
static void name_taken(struct op *op, struct flight *f, struct jval pod, struct slice owner)
{
    char text[ERR_TEXT_MAX];
    const struct record *other = slice_empty(owner) ? NULL : record_get(op, owner, istr_slice(f->c->ns));
    bool orphan = !slice_empty(owner) && !(other && other->present);
    bool going = json_there(json_get(pod, "metadata.deletionTimestamp"));
    snprintf(text, sizeof text, "pod %s exists and belongs to another owner%s", f->name,
             going    ? ": it is being deleted, and waited for"
             : orphan ? ", which is gone, or of a kind that --kinds leaves out: waiting for the pod to go"
                      : ": delete or rename one of them");
    if (going || orphan)
        record_wait(op, f->c, f, text);
    else if (slice_empty(owner))
        held_found(op, f, pod);
    else
        flight_failed(op, f, text);
}

/* Whether the next decision, which sees this pod, will ask for something else than a pod of this name. */
static bool holds_place(struct op *op, const struct flight *f, const struct pod *pod)
{
    if (f->generation != f->c->seen.generation)
        return true;
    if (f->group < 0)
        return pod->head;
    model_load(op, f->c);
    const struct ray_cluster *model = cluster_model(op);
    if ((uint32_t)f->group >= model->group_count) /* a server that was put back tells of other groups in the same generation */
        return true;
    const struct ray_group *g = &model->groups[f->group];
    bool runs = !pod->deleting && !pod->ended && pod->phase != POD_FAILED && pod->phase != POD_SUCCEEDED;
    return !pod->head && slice_eq(pod->group, g->name) && (runs || pod->index == f->index / g->hosts);
}

bool answer_pod(struct op *op, const struct flight *f, struct jval pod, uint64_t version)
{
    struct space *s = f->c->space;
    const struct source *pods = source_of(s, &kind_pod);
    bool known = map_get(&op->all.pods, json_get_str(pod, "metadata.uid", &op->arenas.event)) != NULL;
    if (known || !source_passed(pods, version)) {
        extract_pod(op, s, pod, version, 0);
        return true;
    }
    /* The watch has passed this version and does not know the pod: it is gone again, or its label is, or its event was lost. */
    if (!extract_labelled(pod))
        return true;
    never_known(op, f, "the pod was created, but no watch tells of it: all pods are listed");
    return false;
}

/* One more that did not fail. What was on its way when another failed says nothing yet. */
static void group_made(struct op *op, const struct flight *f)
{
    if (!f->c->children.failing || f->generation != f->c->seen.generation)
        return;
    model_load(op, f->c);
    struct group_failures *failures = failures_of(op, f->c, group_name(op, f->group), f->group < 0, false);
    if (failures && failures->count && op->now.mono_ms >= failures->not_before_ms)
        failures->made += failures->made < INT32_MAX;
}

/* made: by this POST, as far as anybody knows; false: the server has said that it was there. */
static void created(struct op *op, struct flight *f, struct jval pod, uint64_t version, bool made)
{
    struct record *c = f->c;
    char uid[UID_TEXT_MAX + 1];
    struct slice owner = extract_owner(op, pod, &op->arenas.event), name = json_get_str(pod, "metadata.uid", &op->arenas.event);
    bool owned = slice_is(owner, c->uid), labelled = extract_labelled(pod) && !extract_elsewhere(pod, &op->arenas.event);
    if (!f->looking && !(owned && labelled)) { /* no further event will report it */
        held_report_stripped(op, f, pod);
        return;
    }
    if (!owned && orphan_claim(op, c->space, pod, &kind_pod) == c) {
        answer_pod(op, f, pod, version); /* the next plan adopts it */
        return;
    }
    if (!owned) {
        name_taken(op, f, pod, owner);
        return;
    }
    snprintf(uid, sizeof uid, "%.*s", SLICE_ARG(name));
    bool told = labelled && answer_pod(op, f, pod, version);
    const struct pod_record *r = map_get(&op->all.pods, slice_of(uid));
    if (!labelled || (told && f->looking && (!r || !holds_place(op, f, &r->pod)))) {
        held_found(op, f, pod);
        return;
    }
    if (told)
        group_made(op, f);
    if (!f->looking)
        raycluster_of(c)->strips = false;
    if (f->group < 0 && told)
        c->decided_ms = 0; /* its workers are made without a pause */
    if (f->group < 0)
        raycluster_of(c)->accounts = 0; /* the objects are checked again for the next head: they may have been deleted in the meantime */
    if (made)
        raycluster_of(c)->made_ms = op->now.mono_ms;
    if (!c->work || !made)
        return;
    c->work->created++;
    c->work->created_head += f->group < 0;
    if (c->work->created == 1)
        memcpy(c->work->first_created, f->name, sizeof f->name);
}

/* The answer to a look-up. Unless it is a list, nothing is known of the pod. */
static void on_look(struct op *op, struct flight *f, const struct kube_answer *a)
{
    struct err e = {0};
    uint64_t version = 0;
    struct jval doc;
    struct jval k, pod;
    char words[ANSWER_WORDS];
    if (a->outcome != KUBE_OK) {
        never_known(op, f, answer_words(a, words));
        return;
    }
    int failed = f->failed;
    f->failed = 0; /* later answers are not reported in the words of the first … */
    if (!json_read(&doc, a->body, &op->arenas.event, &e) || json_type(json_get(doc, "items")) != JSON_ARRAY) {
        never_known(op, f, "the server's answer is not a list of pods");
        return;
    }
    for (struct jiter it = json_iter(json_get(doc, "items")); json_next(&it, &k, &pod);) {
        if (!json_is(json_get(pod, "metadata.name"), f->name))
            continue;
        if (kube_version_parse(json_get_str(pod, "metadata.resourceVersion", &op->arenas.event), &version))
            created(op, f, pod, version, failed != 409);
        else
            never_known(op, f, "the server's answer is not a list of pods");
        return;
    }
    if (failed == 409) {
        record_trouble(op, f->c, f, "a pod of that name was there, and has just gone: it will be created again");
        return;
    }
    f->failed = f->why[0] ? failed : ANSWER_LOST; /* … but this is */
    record_trouble(op, f->c, f, f->why[0] ? f->why : "the pod is not there, and its answer was lost: it will be created again");
}

/* The answer to a POST, or to the look-up after it. Returns whether the flight goes on. */
bool answer_create(struct op *op, struct flight *f, const struct kube_answer *a)
{
    uint64_t version = 0;
    arena_reset(&op->arenas.event, 64 * KIB);
    if (f->looking) {
        on_look(op, f, a);
        return false;
    }
    if (a->outcome == KUBE_OK) {
        struct jval pod = answer_object(op, a, &version);
        if (!json_there(pod))
            return look_up(op, f); /* it is there, but what came back cannot be read */
        created(op, f, pod, version, true);
        return false;
    }
    bool troubled = answer_troubled(a);
    if (a->outcome == KUBE_UNKNOWN || troubled || a->status.reason == KUBE_ALREADY_EXISTS) {
        if (troubled)
            answer_words(a, f->why);
        return look_up(op, f);
    }
    if (f->group < 0)
        raycluster_of(f->c)->accounts = 0; /* it may be that one of them has gone */
    group_refused(op, f, &a->status);
    return false;
}

/* The answer to a dry run: whether pods that run may be given up for the new template. */
bool answer_try(struct op *op, struct flight *f, const struct kube_answer *a)
{
    struct record *c = f->c;
    enum { TRY_AGAIN_MS = 60 * 1000 };
    bool exists = a->status.reason == KUBE_ALREADY_EXISTS; /* the name of the head that runs: everything else was checked before it */
    if (f->generation != c->seen.generation)
        return false; /* another spec is tried by now */
    model_load(op, c);
    char words[ANSWER_WORDS];
    if (a->outcome != KUBE_OK && (a->outcome != KUBE_REFUSED || answer_passing(&a->status))) {
        record_trouble(op, c, f, answer_words(a, words));
        return false;
    }
    struct group_failures *g = failures_of(op, c, group_name(op, f->group), f->group < 0, true);
    uint64_t hash = f->hash - patches_revision(op);
    bool news = g->refused != hash;
    if (a->outcome == KUBE_OK || exists) {
        g->accepted = hash;
        g->refused = 0;
        return false;
    }
    g->refused = hash;
    g->try_ms = op->now.mono_ms + TRY_AGAIN_MS;
    utf8_copy(slice_of(a->status.message), g->reason, sizeof g->reason);
    if (!news ||
        !say_once(op, SAID_CLUSTER, said_of(c, slice_of(a->status.message), hash64(group_name(op, f->group), verb_number(op, f->verb)))))
        return false; /* a new leader, or the next template with the same fault, does not report it again */
    log_warn("the API server refuses a changed pod template: what runs stays as it is", LF("namespace", istr_slice(c->ns)),
             LF_CSTR("cluster", c->name), LF("group", group_name(op, f->group)), LF_INT("generation", f->generation),
             LF_CSTR("reason", a->status.message));
    return false;
}
