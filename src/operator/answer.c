/* Answers move records. What was created is in the cache before the next decision; what was refused is counted against its group; what is
 * unknown is looked up by name before anything else is done for that cluster. */
#include "kind.h"
#include "verbs.h"

struct jval answer_object(struct op *op, const struct kube_answer *a, uint64_t *version)
{
    struct err e = {0};
    arena_reset(&op->event_arena, 64 * KIB);
    struct json *doc = arena_new(&op->event_arena, struct json);
    if (!json_parse(doc, json_without(a->body, KUBE_UNREAD, &op->event_arena), &op->event_arena, &e))
        return (struct jval){.at = -1};
    struct jval root = json_root(doc);
    if (!kube_version_parse(json_get_str(root, "metadata.resourceVersion", &op->event_arena), version))
        return (struct jval){.at = -1};
    return root;
}

void group_failed(struct op *op, struct cluster *c, int32_t group, bool ended, const char *event, struct slice reason)
{
    work_drop(c);
    model_load(op, c);
    struct slice name = group_name(op, group);
    struct group_failures *f = failures_of(op, c, name, group < 0, true);
    if (f->count && op->now.mono_ms < f->not_before_ms)
        return;
    f->count += f->count < 1000;
    f->ends += ended && f->ends < f->count;
    f->made = 0;
    f->ended = ended;
    f->last_us = op->now.wall_us;
    f->not_before_ms = op->now.mono_ms + reconcile_backoff_ms(f->count, hash64(slice_of(c->uid), 0));
    utf8_copy(reason, f->reason, sizeof f->reason);
    int64_t wait_ms = f->not_before_ms - op->now.mono_ms;
    bool news = say_once(op, SAID_CLUSTER, said_of(c, reason, hash64(name, 0)));
    if (news)
        log_warn("group failed", LF("namespace", istr_slice(c->ns)), LF_CSTR("cluster", c->name), LF("group", name), LF("reason", reason),
                 LF_INT("failures", f->count), LF_INT("retry_in_ms", wait_ms));
    char note[2 * LIMIT_KUBE_EVENT_NOTE]; /* cut where it is sent */
    /* no number in it: repeated events are counted as one */
    snprintf(note, sizeof note, "group %.*s: %.*s", SLICE_ARG(name), SLICE_ARG(reason));
    say_event(op, c, true, event, slice_of(note));
    if (news)
        say_legacy(op, c, "WARNING", slice_of(note));
}

/* The reason of the event about a call that cannot be made, or was refused. */
static const char *event_of(const struct verb *v, int32_t group)
{
    if (v->how == VERB_APPLY)
        return "FailedToCreateService";
    return group < 0 ? "FailedToCreateHeadPod" : "FailedToCreateWorkerPod";
}

void group_failed_by(struct op *op, struct cluster *c, const struct action *act, const char *text)
{
    group_failed(op, c, act->group, false, event_of(act->verb, act->group), slice_of(text));
}

static void log_trouble(struct op *op, struct cluster *c, const struct flight *f, const char *text, int64_t again_ms)
{
    if (!op->leading || op->stopping)
        return; /* what was recalled is no trouble */
    if (say_failed(op, f->failed, verb_number(f->verb), said_of(c, SLICE(""), 0)))
        log_warn("call failed", LF("namespace", istr_slice(c->ns)), LF_CSTR(c->kind->word, c->name), LF_CSTR("action", verb_name(f->verb)),
                 LF_CSTR("object", f->name), LF_CSTR("error", text), LF_INT("retry_in_ms", again_ms - op->now.mono_ms));
}

static void keep_asked(struct cluster *c, const struct flight *f)
{
    if (c->not_before_ms < f->not_before_ms)
        c->not_before_ms = f->not_before_ms;
}

void cluster_wait(struct op *op, struct cluster *c, const struct flight *f, const char *text)
{
    enum { LOOK_AGAIN_MS = 1000, PATIENCE = 16 }; /* so that nobody waits much longer than it took */
    work_drop(c);
    if (op->now.mono_ms >= c->not_before_ms) {
        c->not_before_ms = op->now.mono_ms + backoff_ms(&op->rng, c->waits / PATIENCE, LOOK_AGAIN_MS, OPERATOR_BACKOFF_MAX_MS);
        if (c->waits < UINT8_MAX)
            c->waits++;
    }
    keep_asked(c, f);
    cluster_wake_at(op, c, c->not_before_ms);
    log_trouble(op, c, f, text, c->not_before_ms);
}

/* Of the calls that were in flight together, one counts. */
void cluster_trouble(struct op *op, struct cluster *c, const struct flight *f, const char *text)
{
    work_drop(c);
    if (op->now.mono_ms >= c->not_before_ms)
        c->not_before_ms = op->now.mono_ms + backoff_ms(&op->rng, c->trouble++, OPERATOR_BACKOFF_MS, OPERATOR_BACKOFF_MAX_MS);
    keep_asked(c, f);
    cluster_wake_at(op, c, c->not_before_ms);
    log_trouble(op, c, f, text, c->not_before_ms);
}

/* Whether a pod was made, or is still there, cannot be found out. The next plan might call it by another name, as soon as the one that it
 * replaces is gone: so nothing is decided before all have been listed anew, by a list that begins from now on. */
static void never_known(struct op *op, const struct flight *f, const char *text)
{
    cluster_trouble(op, f->c, f, text);
    f->c->pods_round = source_of(f->c->space, &kind_pod)->round + 1;
}

bool flight_look(struct op *op, struct flight *f, struct err *e)
{
    struct kube_request r = {.lane = KUBE_LANE_MAIN,
                             .method = SLICE("GET"),
                             .path = buf_slice(&op->path),
                             .again = true,
                             .secret = verb_secret(f->verb, f->index),
                             .done = answer_done,
                             .owner = op,
                             .about = f->c,
                             .tag = (uint64_t)(uintptr_t)f};
    f->looking = true;
    op->stats.unknown++;
    return kube_call(op->client, &r, op->now, e);
}

/* By a list of its name and not by a GET: a 404 is not to be believed (see OPERATOR_DOUBT_MS), while nobody but the API server answers with
 * an empty list. Returns whether the flight goes on with that. */
static bool look_up(struct op *op, struct flight *f)
{
    struct err e = {0};
    char one[sizeof "metadata.name=" + POD_NAME_MAX];
    snprintf(one, sizeof one, "metadata.name=%s", f->name);
    buf_clear(&op->path);
    kube_path(&op->path, &kube_pods, istr_slice(f->c->ns), SLICE_NONE, SLICE_NONE);
    kube_query(&op->path, "fieldSelector", slice_of(one));
    if (flight_look(op, f, &e))
        return true;
    never_known(op, f, e.text);
    return false;
}

void flight_failed(struct op *op, const struct flight *f, const char *text)
{
    if (f->generation == f->c->generation)
        group_failed(op, f->c, f->group, false, event_of(f->verb, f->group), slice_of(text));
}

/* The pod of this name belongs to somebody else: most often to an older cluster of the same name whose pods are still going away. */
static void name_taken(struct op *op, struct flight *f, struct jval pod, struct slice owner)
{
    char text[ERR_TEXT_MAX];
    const struct cluster *other = slice_empty(owner) ? NULL : cluster_get(op, owner, istr_slice(f->c->ns));
    bool orphan = !slice_empty(owner) && !(other && other->present);
    bool going = orphan || json_there(json_get(pod, "metadata.deletionTimestamp"));
    snprintf(text, sizeof text, "pod %s exists and belongs to another owner%s", f->name,
             going ? ", which is gone: waiting for its pods to go" : ": delete or rename one of them");
    if (going)
        cluster_wait(op, f->c, f, text);
    else if (slice_empty(owner))
        held_found(op, f, pod);
    else
        flight_failed(op, f, text);
}

/* Whether the next decision, which sees this pod, will ask for something else than a pod of this name. */
static bool holds_place(struct op *op, const struct flight *f, const struct pod *pod)
{
    if (f->generation != f->c->generation)
        return true;
    if (f->group < 0)
        return pod->head;
    model_load(op, f->c);
    if ((uint32_t)f->group >= op->model.group_count) /* a server that was put back tells of other groups in the same generation */
        return true;
    const struct ray_group *g = &op->model.groups[f->group];
    bool runs = !pod->deleting && !pod->ended && pod->phase != POD_FAILED && pod->phase != POD_SUCCEEDED;
    return !pod->head && slice_eq(pod->group, g->name) && (runs || pod->index == f->index / g->hosts);
}

bool answer_pod(struct op *op, const struct flight *f, struct jval pod, uint64_t version)
{
    struct space *s = f->c->space;
    const struct source *pods = source_of(s, &kind_pod);
    bool known = map_get(&op->pods, json_get_str(pod, "metadata.uid", &op->event_arena)) != NULL;
    if (known || !pods->synced || version > kube_watch_version(pods->watch)) {
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
    if (!f->c->failing || f->generation != f->c->generation)
        return;
    model_load(op, f->c);
    struct group_failures *failures = failures_of(op, f->c, group_name(op, f->group), f->group < 0, false);
    if (failures && failures->count && op->now.mono_ms >= failures->not_before_ms)
        failures->made += failures->made < INT32_MAX;
}

/* made: by this POST, as far as anybody knows; false: the server has said that it was there. */
static void created(struct op *op, struct flight *f, struct jval pod, uint64_t version, bool made)
{
    struct cluster *c = f->c;
    char uid[UID_TEXT_MAX + 1];
    struct slice owner = extract_owner(pod, &op->event_arena), name = json_get_str(pod, "metadata.uid", &op->event_arena);
    bool owned = slice_eq(owner, slice_of(c->uid)), labelled = extract_labelled(pod) && !extract_elsewhere(pod, &op->event_arena);
    if (!f->looking && !(owned && labelled)) { /* nobody will tell of it again */
        held_stripped(op, f, pod);
        return;
    }
    if (!owned) {
        name_taken(op, f, pod, owner);
        return;
    }
    snprintf(uid, sizeof uid, "%.*s", SLICE_ARG(name));
    bool told = labelled && answer_pod(op, f, pod, version);
    const struct pod_record *r = map_get(&op->pods, slice_of(uid));
    if (!labelled || (told && f->looking && (!r || !holds_place(op, f, &r->pod)))) {
        held_found(op, f, pod);
        return;
    }
    if (told)
        group_made(op, f);
    if (!f->looking)
        c->strips = false;
    if (f->group < 0 && told)
        c->decided_ms = 0; /* its workers are made without a pause */
    if (f->group < 0)
        c->accounts = 0; /* the next head's are looked at anew: whoever took them away meanwhile took them from this one only */
    if (!c->work || !made)
        return;
    c->work->created++;
    c->work->created_head += f->group < 0;
    if (c->work->created == 1)
        memcpy(c->work->first_created, f->name, sizeof f->name);
}

int answer_failed(const struct kube_answer *a)
{
    return a->outcome == KUBE_REFUSED || a->err.code == ERR_STATUS ? a->told : (int)a->err.code;
}

/* A policy of the namespace against a container that nobody finds in the manifest. */
static const char *way_out(const struct kube_status *s)
{
    struct slice text = slice_of(s->message);
    bool ours = slice_has(text, RAY_INIT_CONTAINER) || slice_has(text, RAY_SUBMITTER_CONTAINER) || slice_has(text, " per Container ");
    return ours ? " (of an added container: set the annotation " RAY_ANNOTATION_TOOLS_RESOURCES ")" : "";
}

const char *answer_words(const struct kube_answer *a, char out[ANSWER_WORDS])
{
    if (a->outcome != KUBE_REFUSED)
        return a->err.text;
    snprintf(out, ANSWER_WORDS, "%d %s%s: %s", a->status.code, kube_reason_text(a->status.reason), way_out(&a->status), a->status.message);
    return out;
}

/* The credentials, the load, a write at the same time. */
bool answer_passing(const struct kube_status *s)
{
    bool conflict = s->code == 409 && s->reason != KUBE_ALREADY_EXISTS && !s->manager_conflict;
    return s->code >= 500 || s->code == 401 || s->code == 408 || s->code == 429 || conflict || s->namespace_terminating;
}

/* Whether the service is still that of an older cluster of the same name, which is gone: it goes too. A server with
 * OwnerReferencesPermissionEnforcement does not let it be taken over by who may not delete services. */
static bool service_left_over(const struct op *op, const struct flight *f)
{
    const struct service_record *r = name_find(op, &kind_kservice, f->c->ns, slice_of(f->name));
    return r && !r->of->present;
}

/* Quota, admission and validation do not look at the index of a pod: their no holds for the whole group. */
static void refused(struct op *op, struct flight *f, const struct kube_status *s)
{
    char text[ERR_TEXT_MAX + POD_NAME_MAX + 64];
    op->stats.refused[verb_number(f->verb)]++;
    if (f->c->work)
        f->c->work->refused++;
    bool service = f->verb->how == VERB_APPLY;
    if (service && service_left_over(op, f)) {
        f->failed = 0; /* the words are the same whatever the code was */
        snprintf(text, sizeof text, "service %s exists and belongs to another owner, which is gone: waiting for it to go", f->name);
        cluster_wait(op, f->c, f, text);
        return;
    }
    snprintf(text, sizeof text, "%s%s%s%d %s%s: %s", service ? "service " : "", service ? f->name : "", service ? ": " : "", s->code,
             kube_reason_text(s->reason), way_out(s), s->message);
    if (answer_passing(s) || (f->verb != &raycluster_create_pod && !service))
        cluster_trouble(op, f->c, f, text);
    else
        flight_failed(op, f, text);
}

/* The answer to a dry run: whether pods that run may be given up for the new template. */
bool answer_try(struct op *op, struct flight *f, const struct kube_answer *a)
{
    struct cluster *c = f->c;
    enum { TRY_AGAIN_MS = 60 * 1000 };
    bool exists = a->status.reason == KUBE_ALREADY_EXISTS; /* the name of the head that runs: everything else was checked before it */
    if (f->generation != c->generation)
        return false; /* another spec is tried by now */
    model_load(op, c);
    char words[ANSWER_WORDS];
    if (a->outcome != KUBE_OK && (a->outcome != KUBE_REFUSED || answer_passing(&a->status))) {
        cluster_trouble(op, c, f, answer_words(a, words));
        return false;
    }
    struct group_failures *g = failures_of(op, c, group_name(op, f->group), f->group < 0, true);
    bool news = g->refused != f->hash;
    if (a->outcome == KUBE_OK || exists) {
        g->accepted = f->hash;
        g->refused = 0;
        return false;
    }
    g->refused = f->hash;
    g->try_ms = op->now.mono_ms + TRY_AGAIN_MS;
    utf8_copy(slice_of(a->status.message), g->reason, sizeof g->reason);
    if (!news ||
        !say_once(op, SAID_CLUSTER, said_of(c, slice_of(a->status.message), hash64(group_name(op, f->group), verb_number(f->verb)))))
        return false; /* who leads anew, or is given another template of that fault, has said it before */
    log_warn("the API server refuses a changed pod template: what runs stays as it is", LF("namespace", istr_slice(c->ns)),
             LF_CSTR("cluster", c->name), LF("group", group_name(op, f->group)), LF_INT("generation", f->generation),
             LF_CSTR("reason", a->status.message));
    return false;
}

/* The server, or who stands before it, is in trouble: it may have carried out what was asked all the same. */
static bool in_trouble(const struct kube_answer *a)
{
    return a->outcome == KUBE_REFUSED && (a->status.code >= 500 || a->status.code == 408);
}

/* The answer to a look-up. Unless it is a list, nothing is known of the pod. */
static void on_look(struct op *op, struct flight *f, const struct kube_answer *a)
{
    struct err e = {0};
    uint64_t version = 0;
    struct json *doc = arena_new(&op->event_arena, struct json);
    struct jval k, pod;
    char words[ANSWER_WORDS];
    if (a->outcome != KUBE_OK) {
        never_known(op, f, answer_words(a, words));
        return;
    }
    int failed = f->failed;
    f->failed = 0; /* what follows is not said in the words of the first answer … */
    if (!json_parse(doc, a->body, &op->event_arena, &e) || json_type(json_get(json_root(doc), "items")) != JSON_ARRAY) {
        never_known(op, f, "the server's answer is not a list of pods");
        return;
    }
    for (struct jiter it = json_iter(json_get(json_root(doc), "items")); json_next(&it, &k, &pod);) {
        if (!json_str_eq(json_get(pod, "metadata.name"), slice_of(f->name)))
            continue;
        if (kube_version_parse(json_get_str(pod, "metadata.resourceVersion", &op->event_arena), &version))
            created(op, f, pod, version, failed != 409);
        else
            never_known(op, f, "the server's answer is not a list of pods");
        return;
    }
    if (failed == 409) {
        cluster_trouble(op, f->c, f, "a pod of that name was there, and has just gone: it will be created again");
        return;
    }
    f->failed = f->why[0] ? failed : ANSWER_LOST; /* … but this is */
    cluster_trouble(op, f->c, f, f->why[0] ? f->why : "the pod is not there, and its answer was lost: it will be created again");
}

/* The answer to a POST, or to the look-up after it. Returns whether the flight goes on. */
bool answer_create(struct op *op, struct flight *f, const struct kube_answer *a)
{
    uint64_t version = 0;
    arena_reset(&op->event_arena, 64 * KIB);
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
    bool troubled = in_trouble(a);
    if (a->outcome == KUBE_UNKNOWN || troubled || a->status.reason == KUBE_ALREADY_EXISTS) {
        if (troubled)
            answer_words(a, f->why);
        return look_up(op, f);
    }
    refused(op, f, &a->status);
    return false;
}

/* How long after a DELETE that was not answered well it may still turn out to have been carried out: the server gives up at last, and every
 * watch that has not told has ended since and was taken up where it stood. What is shown then was not deleted. */
enum { ASKED_MS = KUBE_CALL_MS + KUBE_WATCH_SECONDS * 1000 };

/* The pod is another than the one that was to go, as the watch will tell, or has told by now. Or the answer to a first try was lost, the
 * client has asked again, and what has changed is that it goes: the watch tells that, too. Whose doing it was is not known then: the
 * cluster is read once more to see that it is there. Nothing has failed: what is left of the plan is dropped and decided anew, with no
 * backoff. */
static void overtaken(struct op *op, const struct flight *f)
{
    struct pod_record *r = map_get(&op->pods, slice_of(f->uid));
    if (!r || r->pod.version != f->version)
        return;
    r->pod.overtaken = true;
    doubt_pod(op, r);
    kind_tell(op, r, CHILD_CHANGED);
}

static void service_deleted(struct op *op, const struct flight *f, bool gone)
{
    struct service_record *s = map_get(&op->services, slice_of(f->uid));
    if (s && gone) {
        s->by_us = false;
        if (!s->service.deleting) /* else the watch has told meanwhile that it goes */
            doubt_service(op, s);
        return;
    }
    if (s) {
        s->service.deleting = true;
        s->doubt = (struct doubt){0};
    }
    log_info("service deleted", LF("namespace", istr_slice(f->c->ns)), LF_CSTR("cluster", f->c->name), LF_CSTR("service", f->name));
}

/* Nobody says that it goes. All the same it may, and be the first to go then. */
static void not_deleted(struct op *op, const struct flight *f, const struct kube_answer *a)
{
    struct pod_record *r = f->verb == &pod_delete ? map_get(&op->pods, slice_of(f->uid)) : NULL;
    if (f->verb->by_us)
        f->verb->by_us(op, slice_of(f->uid), false);
    if (!r || (a->outcome != KUBE_UNKNOWN && !in_trouble(a)))
        return;
    r->pod.asked = true;
    r->asked_ms = op->now.mono_ms + ASKED_MS;
}

static void count_deleted(struct work *w, const struct flight *f)
{
    size_t n = strlen(w->why_deleted);
    w->deleted++;
    w->deleted_head += f->group == -1;
    if (!strstr(w->why_deleted, f->why))
        snprintf(w->why_deleted + n, sizeof w->why_deleted - n, "%s%s", n ? "; " : "", f->why);
}

bool answer_delete(struct op *op, struct flight *f, const struct kube_answer *a)
{
    bool refusal = a->outcome == KUBE_REFUSED, gone = refusal && a->status.code == 404;
    struct pod_record *r = map_get(&op->pods, slice_of(f->uid));
    if (a->outcome != KUBE_OK && !gone) {
        not_deleted(op, f, a);
        if (refusal && a->status.reason == KUBE_CONFLICT && f->version)
            overtaken(op, f);
        else if (refusal)
            refused(op, f, &a->status); /* of a 409, too: another has its name, as the watch tells in a moment, or a webhook said so */
        else
            cluster_trouble(op, f->c, f, a->err.text);
        return false;
    }
    if (f->verb == &kservice_delete) {
        service_deleted(op, f, gone);
        return false;
    }
    if (r) {
        r->pod.doubted = gone && !r->pod.deleting; /* else the watch has told meanwhile that it goes */
        r->pod.deleting = true;                    /* its end is the watch's to tell */
        r->pod.overtaken = false;
        r->doubt.ms = 0;
        kind_tell(op, r, CHILD_GOES);
        if (r->pod.doubted)
            doubt_pod(op, r);
        else
            r->doubt.disproved = 0;
    }
    if (f->c->work && !(r && r->pod.doubted))
        count_deleted(f->c->work, f);
    return false;
}

/* Pods do not wait for a status that is not taken: only it is held back. */
bool answer_status(struct op *op, struct flight *f, const struct kube_answer *a)
{
    uint64_t version = 0;
    struct cluster *c = f->c;
    struct source *from = source_of(c->space, c->kind);
    char words[ANSWER_WORDS];
    c->status_at_ms = op->now.mono_ms;
    if (a->outcome != KUBE_OK) {
        bool gone = a->outcome == KUBE_REFUSED && (a->status.code == 404 || a->status.reason == KUBE_CONFLICT);
        op->stats.refused[verb_number(f->verb)] += a->outcome == KUBE_REFUSED;
        c->status_not_before_ms = op->now.mono_ms + backoff_ms(&op->rng, c->status_trouble++, OPERATOR_BACKOFF_MS, OPERATOR_BACKOFF_MAX_MS);
        if (c->status_not_before_ms < f->not_before_ms)
            c->status_not_before_ms = f->not_before_ms;
        if (c->kind->goes_by_status && (a->outcome == KUBE_UNKNOWN || in_trouble(a)))
            cluster_doubt(c); /* a job goes on from where its status says that it is: one that is over might begin again */
        if (gone) { /* deleted, perhaps made again: the watch tells. Until it does, pods of a cluster that is no more are not made for ever
                     */
            work_drop(c);
            cluster_doubt(c);
            if (c->not_before_ms < c->status_not_before_ms) /* else a call of the same plan was told to wait longer */
                c->not_before_ms = c->status_not_before_ms;
            cluster_wake_at(op, c, c->not_before_ms);
            return false;
        }
        log_trouble(op, c, f, answer_words(a, words), c->status_not_before_ms);
        return false;
    }
    c->status_trouble = 0;
    c->status_not_before_ms = 0;
    if (c->work && c->work->reasons) {
        c->reasons = c->work->reasons;
        c->reasons_ms = op->now.mono_ms;
    }
    struct jval object = answer_object(op, a, &version);
    if (!json_there(object))
        return false;
    extract_cluster(op, from, object, version, 0);
    c->status_hash = f->hash;
    c->status_ours = c->version == version; /* else the watch has told of something newer */
    return false;
}

bool answer_service(struct op *op, struct flight *f, const struct kube_answer *a)
{
    if (a->outcome == KUBE_REFUSED) {
        refused(op, f, &a->status);
        return false;
    }
    if (a->outcome != KUBE_OK) {
        cluster_trouble(op, f->c, f, a->err.text);
        return false;
    }
    service_applied(op, f, a);
    return false;
}

/* The cluster has gone meanwhile. Should it be there all the same, it finds nothing that was only begun. */
static void too_late(struct op *op, struct flight *f, const struct kube_answer *a)
{
    if (a->outcome != KUBE_OK)
        not_deleted(op, f, a);
}

/* It has waited for a connection, or at a server that is busy, for too long. Nothing has happened: it is decided anew. A server that goes
 * on saying so is told of. */
static void not_sent(struct op *op, const struct flight *f, const struct err *why)
{
    if (f->verb->by_us)
        f->verb->by_us(op, slice_of(f->uid), false);
    work_drop(f->c);
    if (why->code == ERR_STATUS)
        log_trouble(op, f->c, f, why->text, op->now.mono_ms);
}

/* Retry-After is kept up to the longest pause that is taken without it: a gateway that says an hour is most often back sooner. */
static void keep_pause(struct op *op, struct flight *f, const struct kube_answer *a)
{
    if (a->outcome != KUBE_REFUSED || a->status.retry_after_ms <= 0)
        return;
    int64_t ms = a->status.retry_after_ms < OPERATOR_BACKOFF_MAX_MS ? a->status.retry_after_ms : OPERATOR_BACKOFF_MAX_MS;
    f->not_before_ms = op->now.mono_ms + ms + (int64_t)rng_below(&op->rng, (uint64_t)ms / 8 + 1); /* not all of us at the same moment */
}

void answer_done(void *owner, uint64_t tag, const struct kube_answer *a, struct now now)
{
    struct op *op = owner;
    struct flight *f = (struct flight *)(uintptr_t)tag;
    struct cluster *c = f->c;
    op->now = now;
    f->failed = f->looking && a->outcome == KUBE_OK ? f->failed : answer_failed(a);
    keep_pause(op, f, a);
    if (c->present && a->outcome == KUBE_UNSENT && !f->looking) {
        not_sent(op, f, &a->err);
    } else if (c->present) {
        warnings_heard(op, f, a->warnings);
        if (f->verb->answer(op, f, a))
            return;
        if (a->outcome == KUBE_OK && c->not_before_ms <= now.mono_ms) /* an answer may be good and bring trouble still */
            c->trouble = c->waits = 0;
    } else {
        too_late(op, f, a);
    }
    c->in_flight--;
    op->flights--;
    slab_free(&op->flight_slab, f);
    work_settle(op, c);
}
