/* `mobula logs`: what a job has printed. The head's dashboard has it, asked through the API server's proxy; where a submitter pod shows it,
 * the API server has it from the kubelet. Both give all of it each time: what was shown is passed over. */
#include "logs.h"
#include "cli.h"
#include "logs_bucket.h"

#include <mobula/explain.h>
#include <mobula/submit.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

struct logs_options {
    bool cluster, service; /* a RayCluster or RayService is named, and not a RayJob */
    struct slice name, id;
    bool follow;
    struct seek_options seek;
    struct logs_bucket_options bucket;
};

#define AT(field) offsetof(struct logs_options, field)
static const struct flag list[] = {
    {"f", FLAG_SWITCH, AT(follow), NULL},
    {"follow", FLAG_SWITCH, AT(follow), NULL},
    {"submission-id", FLAG_TEXT, AT(id), "ID"},
    LOGS_BUCKET_FLAGS(AT(bucket)),
    SEEK_FLAGS(AT(seek)),
    ASK_TIMEOUT_FLAG(AT(seek.timeout_ms)),
};
#undef AT

static const struct flags flags = {
    .usage = "mobula logs rayjob|raycluster|rayservice NAME [-n NS] [-f] [FLAG...]",
    .list = list,
    .count = COUNT_OF(list),
};

enum {
    LOOK_MS = 1000, /* between two looks at a job that is followed … */
    LOG_SHARE = 4,  /* … but a log that took so long to read is not read again before so many times as long */
    LAST_TRIES = 3, /* of reading the last of it, when the job has ended */
};

/* ---- knowledge about the job ---- */

struct target {
    struct slice id, cluster;    /* empty: it has none yet */
    struct slice phase, message; /* of a RayJob: jobDeploymentStatus, and its words */
    struct slice uid, container; /* of its submitter, where it has one */
    bool begun;                  /* Ray has said that it runs, or that it has run */
    bool pods;                   /* its submitter may be a pod */
};

struct logs {
    const struct logs_options *o;
    struct seek seek;
    struct arena a; /* of one look */
    struct logs_view view;
    struct target job;
    bool over;       /* the job has ended: what is left is its log */
    uint64_t id;     /* of the job that is shown */
    uint64_t said;   /* the last line to people */
    unsigned failed; /* readings in a row, when it is over */
    bool absent;     /* the object does not exist */
    bool missing;    /* the RayJob itself does not exist … */
    bool deleted;    /* … and its log may be in the bucket */
    struct err e;
};

/* To people, on stderr, once. */
static void say(struct logs *l, struct slice text)
{
    char line[2 * ERR_TEXT_MAX];
    uint64_t hash = hash64(text, 0);
    if (hash == l->said)
        return;
    l->said = hash;
    utf8_clean(text, line, sizeof line);
    fprintf(stderr, "logs: %s\n", line);
}

bool logs_job_over(struct slice phase)
{
    return slice_eq(phase, SLICE("Complete")) || slice_eq(phase, SLICE("Failed"));
}

static bool read_job(struct logs *l)
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
    l->job = (struct target){.id = json_get_str(job, "status.jobId", s->a),
                             .cluster = json_get_str(job, "status.rayClusterName", s->a),
                             .phase = json_get_str(job, "status.jobDeploymentStatus", s->a),
                             .message = json_get_str(job, "status.message", s->a),
                             .uid = json_get_str(job, "metadata.uid", s->a),
                             .container = slice_empty(container) ? SLICE(RAY_SUBMITTER_CONTAINER) : container,
                             .begun = !slice_empty(state) && !slice_eq(state, SLICE("PENDING")),
                             .pods = !json_there(mode) || json_str_eq(mode, SLICE("K8sJobMode"))};
    l->over = logs_job_over(l->job.phase);
    return true;
}

/* ---- the log ---- */

static void on_piece(void *owner, uint64_t tag, struct slice piece)
{
    struct logs_view *v = owner;
    (void)tag;
    logs_view_add(v, piece);
}

/* A no of the API server's own, or of the dashboard behind it. */
static bool refused(struct logs *l, enum ray_dash_call call, const struct ask_answer *answer, const char *what)
{
    struct ray_dash_answer said;
    l->absent = answer->code == 404;
    if (answer->object)
        return seek_refused(answer, what, &l->e);
    ray_dash_read(call, answer->code, answer->body, false, l->seek.a, &said);
    return err_set(&l->e, ERR_STATUS, "%s: %s", what, said.err.text);
}

static bool read_log(struct logs *l, struct slice path, const struct http_header *header, bool json, const char *what)
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

static bool read_head(struct logs *l)
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
static bool find_submitter(struct logs *l, struct slice *path)
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

/* ---- the course ---- */

enum look { LOOK_AGAIN, LOOK_DONE, LOOK_FAILED };

/* The cluster, or its head, is gone, and the log with it. Prints the end of the log that status has: a caller that has followed the log
 * often misses nothing else. */
static enum look gone(struct logs *l)
{
    const struct logs_options *o = l->o;
    if (!slice_empty(o->bucket.url) && logs_bucket_driver(&o->bucket, l->seek.ns, l->job.cluster, l->job.id, l->view.shown, &l->e))
        return LOOK_DONE;
    if (l->e.code != ERR_NONE)
        say(l, arena_printf(l->seek.a, "the job's log cannot be read from %.*s: %s", SLICE_ARG(o->bucket.url), l->e.text));
    l->e = (struct err){0};
    if (l->view.shown && logs_view_rest(&l->view, l->job.message))
        return LOOK_DONE;
    bool told = !slice_empty(l->job.message);
    say(l, arena_printf(l->seek.a,
                        "RayJob %.*s is %.*s, and its head is gone with the job's log%s. Read it while the job runs (mobula logs rayjob "
                        "%.*s -n %.*s -f), or keep the cluster (ttlSecondsAfterFinished), or run the operator with --bucket",
                        SLICE_ARG(l->o->name), SLICE_ARG(l->job.phase), told ? ": these are the last words of its status" : "",
                        SLICE_ARG(l->o->name), SLICE_ARG(l->seek.ns)));
    if (told && cli_print(l->job.message))
        cli_print(SLICE("\n"));
    return LOOK_FAILED;
}

/* It has no output yet. */
static enum look waits(struct logs *l)
{
    struct slice phase = slice_empty(l->job.phase) ? SLICE("new") : l->job.phase;
    bool words = !slice_empty(l->job.message);
    struct slice text = arena_printf(l->seek.a, "RayJob %.*s is %.*s and has printed nothing yet%s%.*s", SLICE_ARG(l->o->name),
                                     SLICE_ARG(phase), words ? ": " : "", SLICE_ARG(l->job.message));
    if (l->o->follow && !l->over) {
        say(l, text);
        return LOOK_AGAIN;
    }
    err_set(&l->e, ERR_STATUS, "%.*s%s", SLICE_ARG(text), l->over ? "" : " (-f waits for it)");
    return LOOK_FAILED;
}

static enum look trouble(struct logs *l)
{
    bool wait = l->o->follow && l->seek.ask.heard && !l->seek.ask.signal && !l->view.deaf && (!l->over || ++l->failed < LAST_TRIES);
    if (!wait)
        return LOOK_FAILED;
    say(l, arena_printf(l->seek.a, "%s; trying again", l->e.text));
    l->e = (struct err){0};
    return LOOK_AGAIN;
}

static enum look look(struct logs *l)
{
    struct slice path;
    l->absent = false;
    bool known = l->o->cluster || read_job(l);
    if (l->o->cluster)
        l->job = (struct target){.id = l->o->id, .cluster = l->o->name};
    l->missing = !known && l->absent;
    if (!known)
        return l->absent ? LOOK_FAILED : trouble(l);
    if (slice_empty(l->job.id) || slice_empty(l->job.cluster))
        return waits(l);
    uint64_t id = hash64(l->job.id, 0);
    if (id != l->id)
        l->view.shown = 0; /* another attempt: another job */
    l->id = id;
    bool pod = l->job.pods && find_submitter(l, &path);
    bool read = pod ? read_log(l, path, NULL, false, "the log of its submitter pod cannot be read") : read_head(l);
    if (read && !l->view.deaf)
        return l->over || !l->o->follow ? LOOK_DONE : LOOK_AGAIN;
    if (l->o->cluster || !l->absent || l->seek.ask.signal || (l->job.begun && !l->over))
        return trouble(l);
    l->e = (struct err){0}; /* it says less than these */
    return l->over ? gone(l) : waits(l);
}

static int run(struct logs *l)
{
    struct now began = clock_now();
    enum look next;
    while ((next = look(l)) == LOOK_AGAIN) {
        int64_t took_ms = clock_now().mono_ms - began.mono_ms;
        if (!ask_pause(&l->seek.ask, took_ms * LOG_SHARE > LOOK_MS ? took_ms * LOG_SHARE : LOOK_MS))
            break;
        arena_reset(&l->a, MIB);
        began = clock_now();
    }
    if (l->seek.ask.signal)
        return STATUS_SIGNAL + l->seek.ask.signal;
    if (next == LOOK_DONE)
        return STATUS_OK;
    l->deleted = l->missing && !slice_empty(l->o->bucket.url);
    return l->e.code == ERR_NONE || l->deleted ? STATUS_ERROR : cli_fail(&l->e);
}

/* ---- logs in the bucket ---- */

/* A namespace is needed, and the API server only if -n does not name it. */
static int read_bucket(struct logs *l)
{
    const struct logs_options *o = l->o;
    struct slice ns = o->seek.ns;
    if (slice_empty(ns) && !seek_open(&l->seek, &o->seek, &l->a, &l->e))
        return cli_fail(&l->e);
    ns = slice_empty(ns) ? l->seek.ns : ns;
    return logs_bucket_read(&o->bucket, ns, o->name,
                            o->cluster   ? NULL
                            : o->service ? "rayservice."
                                         : "rayjob.",
                            &l->e)
               ? STATUS_OK
               : cli_fail(&l->e);
}

/* A RayJob that was deleted, or whose API server is away, may have its log in the bucket. */
static int read_live(struct logs *l)
{
    const struct logs_options *o = l->o;
    bool open = seek_open(&l->seek, &o->seek, &l->a, &l->e), bucket = !slice_empty(o->bucket.url) && !o->cluster;
    struct slice ns = open ? l->seek.ns : o->seek.ns;
    struct err why = {0};
    l->deleted = !open && bucket;
    int status = open ? run(l) : STATUS_ERROR;
    if (l->deleted && !slice_empty(ns) && logs_bucket_driver(&o->bucket, ns, o->name, SLICE(""), 0, &why))
        return STATUS_OK;
    if (why.code != ERR_NONE)
        cli_fail(&why);
    return open && !l->deleted ? status : cli_fail(&l->e);
}

/* "rayjob NAME", as kubectl has it "rayjob/NAME" too. Returns how many arguments that are. */
static int named_by(int argc, char **argv, struct logs_options *o)
{
    struct slice kind = argc > 1 ? slice_of(argv[1]) : SLICE_NONE, name = kind, first = slice_cut(&name, '/');
    int used = name.ptr ? 1 : 2;
    o->cluster = slice_eq(first, SLICE("raycluster")) || slice_eq(first, SLICE("cluster"));
    o->service = slice_eq(first, SLICE("rayservice")) || slice_eq(first, SLICE("service"));
    if (!o->cluster && !o->service && !slice_eq(first, SLICE("rayjob")) && !slice_eq(first, SLICE("job")))
        return 0;
    o->name = name.ptr ? name : argc > 2 ? slice_of(argv[2]) : SLICE_NONE;
    return argc > used ? used : argc - 1;
}

int cli_logs(int argc, char **argv)
{
    struct logs_options o = {0};
    int status, used = named_by(argc, argv, &o);
    bool named = used > 0 || argc == 1 || argv[1][0] == '-';
    if (named && !flags_parse(&flags, argc - used, argv + used, &o, &status))
        return status;
    if (used == 0)
        return flags_wrong(&flags, "logs of what? rayjob NAME, or raycluster NAME --submission-id ID, or raycluster NAME --bucket URL");
    if (!name_dns1123_subdomain(o.name))
        return flags_wrong(&flags, "\"%.*s\" is not the name of a %s", SLICE_ARG(o.name),
                           o.cluster   ? "RayCluster"
                           : o.service ? "RayService"
                                       : "RayJob");
    if (slice_empty(o.bucket.url) && getenv("MOBULA_BUCKET"))
        o.bucket.url = slice_of(getenv("MOBULA_BUCKET"));
    bool stored = o.service || logs_bucket_asked(&o.bucket) || (o.cluster && slice_empty(o.id) && !slice_empty(o.bucket.url));
    if (stored && slice_empty(o.bucket.url))
        return flags_wrong(&flags, "--bucket is needed: which bucket has the operator?");
    if (!stored && o.cluster != !slice_empty(o.id))
        return flags_wrong(&flags, o.cluster ? "--submission-id is needed: of which job? Or --bucket: all logs of the cluster"
                                             : "--submission-id is for raycluster NAME");
    if (!seek_group_known(&o.seek))
        return flags_wrong(&flags, "--group is ray.io or cluster.ray.io");
    signal(SIGPIPE, SIG_IGN); /* a reader that goes away is reported as an error */
    struct logs l = {.o = &o};
    status = stored ? read_bucket(&l) : read_live(&l);
    seek_close(&l.seek);
    arena_free(&l.a);
    return status;
}
