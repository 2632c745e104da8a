/* Decisions on RayJobs, from tests/kinds/rayjob/decide.case. */
#include "tests/kinds/plan_words.h"
#include "tests/kinds/words.h"

#include <mobula/rayjob.h>

enum { CLUSTERS_MAX = 8, FIRST_ATTEMPTS = 4 };

struct job_scene {
    struct arena a;
    struct ray_job job;
    struct spec_errors errors;
    struct buf spec; /* members of spec beyond the usual, each with a comma before it */
    bool broken, selected, finalizer, deleting, pods_mode, going;
    struct buf prior; /* members of status, likewise */
    bool has_prior;
    struct job_cluster clusters[CLUSTERS_MAX];
    uint32_t cluster_count;
    struct pod pods[CLUSTERS_MAX];
    uint32_t pod_count;
    struct job_said said;
    struct group_failures refusals;
    int32_t blocked, leaving, giving_up, made, known;
    bool same;
};

/* $C2 is the cluster of the second attempt, $J2 its submission id, $S2, $T2 and $U2 its submitter pods. */
static struct slice expand(struct job_scene *s, struct slice text)
{
    struct ray_job names = {.name = SLICE("j"), .uid = SLICE("00000000-0000-0000-0000-000000000001")};
    struct buf b;
    buf_init(&b, MIB);
    for (; !slice_empty(text); text = slice_skip(text, 1)) {
        if (text.ptr[0] != '$' || text.len < 3) {
            buf_putc(&b, text.ptr[0]);
            continue;
        }
        int32_t n = text.ptr[2] - '0';
        char kind = text.ptr[1];
        struct slice name = kind == 'C'   ? ray_job_cluster_name(&names, n, &s->a)
                            : kind == 'J' ? ray_job_submission_id(&names, n, &s->a)
                                          : ray_job_submitter_name(&names, n, kind - 'S', &s->a);
        buf_put(&b, name);
        text = slice_skip(text, 2);
    }
    struct slice out = arena_dup(&s->a, buf_slice(&b));
    buf_free(&b);
    return out;
}

static struct slice ago(struct job_scene *s, struct slice seconds)
{
    int64_t n = 0;
    char text[TIME_TEXT_MAX];
    slice_int(seconds, &n);
    return arena_dup(&s->a, time_format(now_us - n * 1000000, text));
}

/* "key=value" to a member of a JSON object; kind: s string, n number, t seconds ago. */
static bool take_member(struct job_scene *s, struct slice word, const char *name, const char *key, char kind, struct buf *to)
{
    struct slice v = word_value(word, name);
    if (!v.ptr)
        return false;
    if (kind == 't')
        v = ago(s, v);
    buf_printf(to, kind == 'n' ? ",\"%s\":%.*s" : ",\"%s\":\"%.*s\"", key, SLICE_ARG(v));
    return true;
}

static bool read_switch(struct job_scene *s, struct slice word)
{
    struct {
        const char *name;
        bool *to;
    } all[] = {{"broken", &s->broken},  {"selected", &s->selected}, {"finalizer", &s->finalizer}, {"deleting", &s->deleting},
               {"pods", &s->pods_mode}, {"same", &s->same},         {"going", &s->going}};
    static const struct {
        const char *name, *members;
    } texts[] = {
        {"suspend", ",\"suspend\":true,\"shutdownAfterJobFinishes\":true"},
        {"shutdown", ",\"shutdownAfterJobFinishes\":true"},
        {"own-submitter", ",\"submitterPodTemplate\":{\"spec\":{\"containers\":[{\"name\":\"s\",\"image\":\"i\",\"command\":[\"x\"]}]}}"}};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (slice_eq(word, slice_of(all[i].name)))
            return *all[i].to = true;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (slice_eq(word, slice_of(texts[i].name)))
            return buf_put(&s->spec, slice_of(texts[i].members));
    return false;
}

static void read_job_words(struct job_scene *s, struct slice line)
{
    static const struct {
        const char *name, *key;
        char kind;
    } members[] = {{"mode", "submissionMode", 's'},
                   {"retries", "backoffLimit", 'n'},
                   {"active", "activeDeadlineSeconds", 'n'},
                   {"pre", "preRunningDeadlineSeconds", 'n'},
                   {"ttl", "ttlSecondsAfterFinished", 'n'},
                   {"id", "jobId", 's'},
                   {"managed", "managedBy", 's'},
                   {"deletion", "deletionStrategy", 'n'}};
    while (!slice_empty(line)) {
        struct slice word = slice_cut(&line, ' ');
        bool known = read_switch(s, word) || word_value(word, "blocked").ptr || word_value(word, "leaving").ptr ||
                     word_value(word, "giving-up").ptr || word_value(word, "made").ptr || word_value(word, "known").ptr;
        for (size_t i = 0; i < COUNT_OF(members); i++)
            known |= take_member(s, word, members[i].name, members[i].key, members[i].kind, &s->spec);
        take_int(word, "blocked", &s->blocked);
        take_int(word, "leaving", &s->leaving);
        take_int(word, "giving-up", &s->giving_up);
        take_int(word, "made", &s->made);
        take_int(word, "known", &s->known);
        if (!CHECK(known))
            printf("  word: %.*s\n", SLICE_ARG(word));
    }
}

static void put_condition(struct job_scene *s, const char *type, struct slice reason, struct slice message)
{
    bool first = s->prior.ptr[s->prior.len - 1] == '[';
    buf_printf(&s->prior,
               "%s{\"type\":\"%s\",\"status\":\"True\",\"reason\":\"%.*s\",\"message\":\"%.*s\",\"lastTransitionTime\":"
               "\"2027-01-15T00:00:00Z\",\"observedGeneration\":1}",
               first ? "" : ",", type, SLICE_ARG(reason), SLICE_ARG(message));
}

/* is PHASE words: a status as we would have written it. */
static void read_is(struct job_scene *s, struct slice line)
{
    struct slice phase = slice_cut(&line, ' '), rest = line;
    static const struct {
        const char *name, *key;
        char kind;
    } members[] = {{"state", "jobStatus", 's'},        {"attempt", "attempt", 'n'}, {"failed", "failed", 'n'},
                   {"start", "startTime", 't'},        {"end", "endTime", 't'},     {"session", "raySession", 's'},
                   {"cluster", "rayClusterName", 's'}, {"id", "jobId", 's'},        {"silent", "jobStatusCheckFailureStartTime", 't'},
                   {"reason", "reason", 's'}};
    bool has[COUNT_OF(members)] = {false};
    struct slice reason = SLICE("Unknown"), ended = SLICE("JobSucceeded"), left = SLICE_NONE;
    s->has_prior = true;
    buf_printf(&s->prior, ",\"jobDeploymentStatus\":\"%.*s\"", SLICE_ARG(phase));
    while (!slice_empty(rest)) {
        struct slice word = slice_cut(&rest, ' ');
        if (word_value(word, "reason").ptr)
            reason = word_value(word, "reason");
        if (word_value(word, "left").ptr)
            left = word_value(word, "left");
        if (slice_eq(word, SLICE("state=STOPPED")))
            ended = SLICE("JobStopped");
        for (size_t i = 0; i < COUNT_OF(members); i++)
            has[i] |= take_member(s, word, members[i].name, members[i].key, members[i].kind, &s->prior);
    }
    buf_printf(&s->prior, "%s%s,\"succeeded\":0,\"observedGeneration\":1", has[1] ? "" : ",\"attempt\":1", has[2] ? "" : ",\"failed\":0");
    buf_put(&s->prior, SLICE(",\"conditions\":["));
    put_condition(s, "Valid", SLICE("SpecAccepted"), SLICE(""));
    if (slice_eq(phase, SLICE("Complete")))
        put_condition(s, "Complete", ended, SLICE(""));
    else if (slice_eq(phase, SLICE("Failed")))
        put_condition(s, "Failed", reason, SLICE(""));
    else if (slice_eq(phase, SLICE("Suspended")))
        put_condition(s, "Suspended", SLICE("Suspend"), SLICE(""));
    if (left.len)
        put_condition(s, "MayStillRun", SLICE("NotStopped"), left);
    buf_putc(&s->prior, ']');
}

static void read_a_cluster(struct job_scene *s, struct slice line)
{
    struct job_cluster *c = &s->clusters[s->cluster_count++];
    int32_t heads = 0;
    *c = (struct job_cluster){.name = slice_cut(&line, ' '), .owned = !s->selected, .dashboard = SLICE("svc:8265"), .head_runs = true};
    c->uid = arena_printf(&s->a, "u%u", s->cluster_count);
    while (!slice_empty(line)) {
        struct slice word = slice_cut(&line, ' ');
        c->ready |= slice_eq(word, SLICE("ready"));
        c->deleting |= slice_eq(word, SLICE("deleting"));
        c->refused |= slice_eq(word, SLICE("refused"));
        c->head_runs &= !slice_eq(word, SLICE("headless"));
        c->owned &= !slice_eq(word, SLICE("foreign"));
        c->workers_suspended |= slice_eq(word, SLICE("suspended"));
        take_int(word, "heads", &heads);
        if (word_value(word, "why").ptr)
            c->why = word_value(word, "why");
        if (word_value(word, "head-end").ptr)
            c->head_end = word_value(word, "head-end");
        if (word_value(word, "stays").ptr)
            c->stays = word_value(word, "stays");
        if (slice_eq(word, SLICE("soon")))
            c->stays_again_us = now_us + 20000000;
        if (word_value(word, "status").ptr)
            CHECK(json_read(&c->status, word_value(word, "status"), &s->a, NULL));
    }
    c->head_failures = (uint32_t)heads;
}

static void read_said(struct job_scene *s, struct slice line)
{
    struct job_said *said = &s->said;
    int32_t answered = 0, failures = 0, failed = 0, failing = 0, began = 0, ended = 0, unsubmitted = 0, unheard = 0;
    int32_t stops = 0, stopped = 0;
    while (!slice_empty(line)) {
        struct slice word = slice_cut(&line, ' ');
        struct {
            const char *name;
            struct slice *to;
        } texts[] = {{"cluster", &said->cluster}, {"session", &said->session}, {"id", &said->id},           {"refused", &said->refused},
                     {"log", &said->log},         {"message", &said->message}, {"trouble", &said->trouble}, {"no", &said->unheard_no}};
        for (size_t i = 0; i < COUNT_OF(texts); i++)
            if (word_value(word, texts[i].name).ptr)
                *texts[i].to = word_value(word, texts[i].name);
        if (word_value(word, "state").ptr)
            said->known = CHECK(job_state_parse(word_value(word, "state"), &said->state));
        take_int(word, "answered", &answered);
        take_int(word, "failures", &failures);
        take_int(word, "failed", &failed);
        take_int(word, "failing", &failing);
        take_int(word, "unsubmitted", &unsubmitted);
        take_int(word, "unheard", &unheard);
        take_int(word, "began", &began);
        take_int(word, "ended", &ended);
        said->asking |= slice_eq(word, SLICE("asking"));
        said->log_asked |= slice_eq(word, SLICE("log-asked")) || said->log.len;
        said->stopping |= slice_eq(word, SLICE("stopping"));
        take_int(word, "stops", &stops);
        take_int(word, "stopped", &stopped);
        said->says_no |= slice_eq(word, SLICE("says-no"));
    }
    said->answered_ms = slice_empty(said->session) ? 0 : NOW_MS - answered;
    said->unsubmitted = (uint32_t)unsubmitted;
    said->unsubmitted_ms = NOW_MS - failed;
    said->unsubmitted_why = SLICE("500");
    said->unheard = (uint32_t)unheard;
    said->unheard_ms = NOW_MS - failed;
    said->stops = (uint32_t)stops;
    said->stop_ms = NOW_MS - stopped;
    said->failures = (uint32_t)failures;
    said->failed_ms = NOW_MS - failed;
    said->failing_ms = NOW_MS - failing * INT64_C(1000);
    said->started_us = began ? now_us - began * INT64_C(1000000) : 0;
    said->ended_us = ended ? now_us - ended * INT64_C(1000000) : 0;
}

static void read_submitter(struct job_scene *s, struct slice line)
{
    struct pod *p = &s->pods[s->pod_count++];
    struct slice name = slice_cut(&line, ' ');
    int32_t age = 60, going = 0;
    snprintf(p->name, sizeof p->name, "%.*s", SLICE_ARG(name));
    snprintf(p->uid, sizeof p->uid, "p%u", s->pod_count);
    set_state(p, slice_cut(&line, ' '));
    while (!slice_empty(line)) {
        struct slice word = slice_cut(&line, ' ');
        take_int(word, "age", &age);
        take_int(word, "going", &going);
        if (word_value(word, "reason").ptr)
            p->reason = word_value(word, "reason");
    }
    if (going) {
        p->deleting = true;
        p->going_s = (uint32_t)(now_us / 1000000 - going);
        p->reason = SLICE(POD_REASON_GOING);
        p->words = SLICE("Terminating");
    }
    p->exit_code = p->phase == POD_FAILED ? 3 : 0;
    p->created_us = now_us - age * INT64_C(1000000);
}

static void read_lines(struct job_scene *s, struct slice *text)
{
    while (text->ptr) {
        struct slice line = slice_cut(text, '\n'), rest = expand(s, line), word = slice_cut(&rest, ' ');
        if (slice_eq(word, SLICE("---")))
            return;
        if (slice_eq(word, SLICE("is")))
            read_is(s, rest);
        else if (slice_eq(word, SLICE("cluster")))
            read_a_cluster(s, rest);
        else if (slice_eq(word, SLICE("said")))
            read_said(s, rest);
        else if (slice_eq(word, SLICE("submitter")))
            read_submitter(s, rest);
        else if (slice_eq(word, SLICE("prior"))) {
            s->has_prior = true;
            buf_printf(&s->prior, ",%.*s", SLICE_ARG(rest));
        } else if (slice_eq(word, SLICE("refusals"))) {
            int64_t n = 0, wait = 0;
            slice_int(slice_cut(&rest, ' '), &n);
            slice_int(slice_cut(&rest, ' '), &wait);
            s->refusals = (struct group_failures){.count = (uint32_t)n, .not_before_ms = NOW_MS + wait};
            snprintf(s->refusals.reason, sizeof s->refusals.reason, "%.*s", SLICE_ARG(rest));
        } else
            read_job_words(s, rest.ptr ? expand(s, line) : word);
    }
}

static void make_job(struct job_scene *s)
{
    struct json *doc = arena_new(&s->a, struct json);
    struct err e = {0};
    struct slice text = arena_printf(
        &s->a,
        "{\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"uid\":\"00000000-0000-0000-0000-000000000001\",\"generation\":1%s%s},"
        "\"spec\":{\"entrypoint\":\"%s\"%s,\"rayClusterSpec\":{\"headGroupSpec\":{\"template\":%s}}%.*s}}",
        s->deleting ? ",\"deletionTimestamp\":\"x\"" : "", s->finalizer ? ",\"finalizers\":[\"" RAY_JOB_FINALIZER "\"]" : "",
        s->broken ? "" : "x", s->selected ? ",\"clusterSelector\":{\"ray.io/cluster\":\"other\"}" : "", container,
        SLICE_ARG(buf_slice(&s->spec)));
    if (!CHECK(json_parse(doc, text, &s->a, &e)))
        printf("  %s\n", e.text);
    ray_read_job(json_root(doc), &s->a, &s->job, &s->errors);
    CHECK_INT(s->errors.count > 0, s->broken);
    for (uint32_t i = 0; i < s->errors.count && !s->broken; i++)
        printf("  %.*s: %.*s\n", SLICE_ARG(s->errors.list[i].path), SLICE_ARG(s->errors.list[i].text));
}

static void put_job_action(struct buf *b, const struct action *act)
{
    buf_printf(b, "%s", act->verb->name);
    if (act->verb == &verb_status) {
        buf_putc(b, '\n');
        return;
    }
    if (act->verb == &verb_event) {
        buf_printf(b, " %s\n", act->why);
        return;
    }
    if (act->verb == &rayjob_delete_cluster || act->verb == &rayjob_suspend_workers || act->verb == &pod_delete)
        buf_printf(b, " %.*s", SLICE_ARG(act->uid));
    else if (act->text.len)
        buf_printf(b, " %.*s", SLICE_ARG(act->text));
    else if (act->name.len && act->verb != &rayjob_look)
        buf_printf(b, " %.*s", SLICE_ARG(act->name));
    if (act->why)
        buf_printf(b, " %s", act->why);
    buf_putc(b, '\n');
}

static void run_case(struct slice text)
{
    struct job_scene s = {0};
    struct plan p, q;
    struct err e = {0};
    const struct pod *pods[CLUSTERS_MAX];
    buf_init(&s.spec, MIB);
    buf_init(&s.prior, MIB);
    read_lines(&s, &text);
    make_job(&s);
    struct job_view v = {.job = &s.job,
                         .errors = &s.errors,
                         .clusters = s.clusters,
                         .cluster_count = s.cluster_count,
                         .submitters = pods,
                         .submitter_count = s.pod_count,
                         .submitter_pods = s.pods_mode,
                         .namespace_going = s.going,
                         .status_not_before_ms = s.blocked ? NOW_MS + s.blocked : 0,
                         .submitter_ms = s.made ? NOW_MS - s.made : 0,
                         .leaving_ms = s.deleting ? NOW_MS - s.leaving : 0,
                         .giving_up_ms = s.giving_up ? NOW_MS - s.giving_up : 0,
                         .start_known_ms = s.known ? NOW_MS - s.known : 0,
                         .end_known_ms = s.known ? NOW_MS - s.known : 0,
                         .ray_end_known_ms = s.known ? NOW_MS - s.known : 0,
                         .refusals = s.refusals.count ? &s.refusals : NULL,
                         .said = s.said,
                         .now = {NOW_MS, now_us}};
    for (uint32_t i = 0; i < s.pod_count; i++)
        pods[i] = &s.pods[i];
    if (s.has_prior)
        CHECK(json_read(&v.status, arena_printf(&s.a, "{%.*s}", SLICE_ARG(slice_skip(buf_slice(&s.prior), 1))), &s.a, &e));
    int64_t end_us;
    if (s.has_prior && !s.known && time_parse(json_get_str(v.status, "endTime", &s.a), &end_us, NULL))
        v.end_known_ms = NOW_MS - (now_us - end_us) / 1000;
    rayjob_decide(&v, &s.a, &p);
    rayjob_decide(&v, &s.a, &q);
    CHECK_INT(q.count, p.count); /* the same view gives the same plan */
    CHECK_INT(q.next_ms, p.next_ms);
    if (s.same) { /* the server has made something else of this very status */
        v.status_hash = p.status_hash;
        rayjob_decide(&v, &s.a, &p);
    }
    plan_compare(expand(&s, text), &p, s.job.uid, put_job_action, &s.a);
    buf_free(&s.spec);
    buf_free(&s.prior);
    arena_free(&s.a);
}

static void test_shape(void)
{
    struct arena a = {0};
    enum job_state state;
    test_case("names of states");
    for (int i = JOB_PENDING; i <= JOB_FAILED; i++)
        CHECK(job_state_parse(slice_of(job_state_name((enum job_state)i)), &state) && state == (enum job_state)i);
    CHECK(!job_state_parse(SLICE(""), &state) && !job_state_parse(SLICE("running"), &state));
    arena_free(&a);
}

/* A message of LIMIT_JOB_MESSAGE bytes goes into status as it is; of a longer one its beginning and its end, in whole characters. */
static void test_shorten(void)
{
    struct arena a = {0};
    for (size_t len = LIMIT_JOB_MESSAGE - 1; len < LIMIT_JOB_MESSAGE + 8; len++) {
        test_case("message of %zu bytes", len);
        char *text = arena_alloc(&a, len);
        size_t front = len % 2 ? 1 : 2; /* between x and yz stand characters of two bytes */
        memset(text, 'x', front);
        for (size_t i = front; i + 2 < len; i += 2)
            memcpy(text + i, "\xc3\xa4", 2);
        memcpy(text + len - 2, "yz", 2);
        struct slice got = job_shorten((struct slice){text, len}, LIMIT_JOB_MESSAGE, &a);
        CHECK(got.len <= LIMIT_JOB_MESSAGE && got.len > LIMIT_JOB_MESSAGE - 8);
        CHECK_INT(got.len == len, len <= LIMIT_JOB_MESSAGE);
        CHECK(slice_starts(got, SLICE("x")) && slice_ends(got, SLICE("yz")) && utf8_valid(got));
    }
    arena_free(&a);
}

/* Status tells of the first attempt, and the only cluster is that of a later one. */
static void test_later_attempts(void)
{
    static const struct {
        int32_t retries, later, taken, failed;
    } cases[] = {{0, 1, 2, 0},
                 {0, 2, 1, 0},
                 {3, 4, 5, 3},
                 {3, 5, 1, 0},
                 {INT32_MAX, JOB_LATER_ATTEMPTS, 1 + JOB_LATER_ATTEMPTS, JOB_LATER_ATTEMPTS},
                 {INT32_MAX, JOB_LATER_ATTEMPTS + 1, 1, 0}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("%d retries, and the cluster is of %d attempts later", (int)cases[i].retries, (int)cases[i].later);
        struct job_scene s = {0};
        struct plan p;
        struct json doc;
        buf_init(&s.spec, MIB);
        buf_printf(&s.spec, ",\"backoffLimit\":%d", (int)cases[i].retries);
        make_job(&s);
        struct job_cluster later = {.name = ray_job_cluster_name(&s.job, 1 + cases[i].later, &s.a), .uid = SLICE("c"), .owned = true};
        struct job_view v = {.job = &s.job, .errors = &s.errors, .clusters = &later, .cluster_count = 1, .now = {NOW_MS, now_us}};
        struct slice prior = SLICE("{\"jobDeploymentStatus\":\"Initializing\",\"jobId\":\"$J1\",\"rayClusterName\":\"$C1\",\"attempt\":1}");
        CHECK(json_read(&v.status, expand(&s, prior), &s.a, NULL));
        rayjob_decide(&v, &s.a, &p);
        struct jval status = plan_status(&p, s.job.uid, &doc, &s.a);
        CHECK_INT(json_get_int(status, "attempt", -1), cases[i].taken);
        CHECK_INT(json_get_int(status, "failed", -1), cases[i].failed);
        bool creates = false;
        for (uint32_t k = 0; k < p.count; k++)
            creates |= p.actions[k].verb == &rayjob_create_cluster;
        CHECK_INT(creates, cases[i].taken == 1);
        buf_free(&s.spec);
        arena_free(&s.a);
    }
}

int main(void)
{
    test_later_attempts();
    test_shape();
    test_shorten();
    run_cases("tests/kinds/rayjob/decide.case", run_case);
    return test_done();
}
