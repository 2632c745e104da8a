/* Decisions on RayCronJobs, from decide.case beside this file. */
#include "tests/kinds/plan_words.h"

#include "src/kinds/raycronjob/raycronjob.h"

enum { JOBS_MAX = 16 };

struct cron_scene {
    struct arena a;
    struct raycronjob cron;
    struct spec_errors errors;
    struct zone zone;
    struct slice schedule, zone_name, created;
    struct buf spec, prior; /* members, each with a comma before it */
    bool broken, no_zone, held, same, deleting;
    struct cron_child jobs[JOBS_MAX];
    uint32_t job_count;
    struct group_failures refusals;
    int64_t wall_us;
};

/* "08:00" and "08:00:30" on 2027-01-15, "14T08:00" on another day of that month, or a whole time. */
static int64_t moment_us(struct cron_scene *s, struct slice text)
{
    int64_t us = 0;
    bool day = slice_find(text, 'T') == 2;
    struct slice full =
        arena_printf(&s->a, "2027-01-%s%.*s%sZ", day ? "" : "15T", SLICE_ARG(text), text.len - (day ? 3 : 0) == 5 ? ":00" : "");
    if (!CHECK(time_parse(text.len == 20 ? text : full, &us, NULL)))
        printf("  time: %.*s\n", SLICE_ARG(text));
    return us;
}

static struct slice moment(struct cron_scene *s, struct slice text)
{
    char out[TIME_TEXT_MAX];
    return arena_dup(&s->a, time_format(moment_us(s, text), out));
}

static void read_words(struct cron_scene *s, struct slice line)
{
    static const struct {
        const char *name, *before, *after;
    } members[] = {{"policy", ",\"concurrencyPolicy\":\"", "\""},
                   {"deadline", ",\"startingDeadlineSeconds\":", ""},
                   {"keep", ",\"successfulJobsHistoryLimit\":", ""},
                   {"keep-failed", ",\"failedJobsHistoryLimit\":", ""}};
    struct {
        const char *name;
        bool *to;
    } all[] = {{"broken", &s->broken}, {"no-zone", &s->no_zone}, {"held", &s->held}, {"same", &s->same}, {"deleting", &s->deleting}};
    while (!slice_empty(line)) {
        struct slice word = slice_cut(&line, ' '), created = word_value(word, "created"), now = word_value(word, "now");
        bool known = created.ptr || now.ptr;
        s->created = created.ptr ? moment(s, created) : s->created;
        s->wall_us = now.ptr ? moment_us(s, now) : s->wall_us;
        for (size_t i = 0; i < COUNT_OF(members); i++)
            if (word_value(word, members[i].name).ptr)
                known = buf_printf(&s->spec, "%s%.*s%s", members[i].before, SLICE_ARG(word_value(word, members[i].name)), members[i].after);
        for (size_t i = 0; i < COUNT_OF(all); i++)
            if (slice_eq(word, slice_of(all[i].name)))
                known = *all[i].to = true;
        if (slice_eq(word, SLICE("suspend")))
            known = buf_put(&s->spec, SLICE(",\"suspend\":true"));
        if (!CHECK(known))
            printf("  word: %.*s\n", SLICE_ARG(word));
    }
}

/* NAME AT STATE [words] */
static void read_job(struct cron_scene *s, struct slice line)
{
    struct cron_child *job = &s->jobs[s->job_count++];
    *job = (struct cron_child){.name = slice_cut(&line, ' '), .uid = arena_printf(&s->a, "u%u", s->job_count), .scheduled_s = CRON_NEVER};
    struct slice at = slice_cut(&line, ' '), state = slice_cut(&line, ' ');
    if (!slice_eq(at, SLICE("-")))
        job->scheduled_s = moment_us(s, at) / 1000000;
    job->succeeded = slice_eq(state, SLICE("succeeded"));
    job->finished = job->succeeded || slice_eq(state, SLICE("failed"));
    CHECK(job->finished || slice_eq(state, SLICE("active")));
    while (!slice_empty(line)) {
        struct slice word = slice_cut(&line, ' ');
        if (word_value(word, "ended").ptr)
            job->ended_us = moment_us(s, word_value(word, "ended"));
        else if (word_value(word, "going").ptr)
            job->deleting_us = moment_us(s, word_value(word, "going"));
        else if (word_value(word, "stays").ptr) {
            job->pods = 1;
            job->stays = word_value(word, "stays");
        } else if (CHECK(word_value(word, "reason").ptr))
            job->reason = word_value(word, "reason");
    }
}

/* AT [Waiting reason and message]: a status as it would have been written when nothing else was there. */
static void read_told(struct cron_scene *s, struct slice line)
{
    struct slice at = slice_cut(&line, ' '), missed = slice_cut(&line, ' ');
    if (!slice_eq(at, SLICE("-")))
        buf_printf(&s->prior, ",\"lastScheduleTime\":\"%.*s\"", SLICE_ARG(moment(s, at)));
    buf_printf(&s->prior,
               ",\"active\":[],\"missedRuns\":%.*s,\"observedGeneration\":1,\"conditions\":[{\"type\":\"Valid\",\"status\":\"True\","
               "\"reason\":\"SpecAccepted\",\"message\":\"\",\"lastTransitionTime\":\"2027-01-01T00:00:00Z\",\"observedGeneration\":1}]",
               SLICE_ARG(missed.len ? missed : SLICE("0")));
}

static void read_lines(struct cron_scene *s, struct slice *text)
{
    while (text->ptr) {
        struct slice line = slice_cut(text, '\n'), rest = line, word = slice_cut(&rest, ' ');
        int64_t n = 0, wait = 0;
        if (slice_eq(word, SLICE("---")))
            return;
        if (slice_eq(word, SLICE("schedule")))
            s->schedule = rest;
        else if (slice_eq(word, SLICE("zone")))
            s->zone_name = rest;
        else if (slice_eq(word, SLICE("job")))
            read_job(s, rest);
        else if (slice_eq(word, SLICE("told")))
            read_told(s, rest);
        else if (slice_eq(word, SLICE("prior")))
            buf_printf(&s->prior, ",%.*s", SLICE_ARG(rest));
        else if (slice_eq(word, SLICE("refusals"))) {
            slice_int(slice_cut(&rest, ' '), &n);
            slice_int(slice_cut(&rest, ' '), &wait);
            s->refusals = (struct group_failures){.count = (uint32_t)n, .not_before_ms = NOW_MS + wait};
            snprintf(s->refusals.reason, sizeof s->refusals.reason, "%.*s", SLICE_ARG(rest));
        } else
            read_words(s, line);
    }
}

static void make_cron(struct cron_scene *s)
{
    struct json *doc = arena_new(&s->a, struct json);
    struct err e = {0};
    struct slice text = arena_printf(
        &s->a,
        "{\"metadata\":{\"name\":\"c\",\"namespace\":\"n\",\"uid\":\"u0\",\"generation\":1,\"creationTimestamp\":\"%.*s\"%s},\"spec\":{"
        "\"schedule\":\"%.*s\",\"timeZone\":\"%.*s\"%.*s,"
        "\"jobTemplate\":{\"entrypoint\":\"%s\",\"rayClusterSpec\":{\"headGroupSpec\":{\"template\":%s}}}}}",
        SLICE_ARG(s->created), s->deleting ? ",\"deletionTimestamp\":\"x\"" : "", SLICE_ARG(s->schedule), SLICE_ARG(s->zone_name),
        SLICE_ARG(buf_slice(&s->spec)), s->broken ? "" : "x", container);
    if (!CHECK(json_parse(doc, text, &s->a, &e)))
        printf("  %s\n", e.text);
    raycronjob_read(json_root(doc), &s->a, &s->cron, &s->errors);
    CHECK_INT(s->errors.count > 0, s->broken);
    for (uint32_t i = 0; i < s->errors.count && !s->broken; i++)
        printf("  %.*s: %.*s\n", SLICE_ARG(s->errors.list[i].path), SLICE_ARG(s->errors.list[i].text));
    struct slice file = read_file(arena_printf(&s->a, "/usr/share/zoneinfo/%.*s", SLICE_ARG(s->zone_name)).ptr, &s->a);
    CHECK(zone_read(file, &s->zone, &e));
}

static void put_action(struct buf *b, const struct action *act)
{
    buf_printf(b, "%s", act->verb->name);
    if (act->verb == &verb_event)
        buf_printf(b, " %s", act->why);
    else if (act->verb == &raycronjob_create_job)
        buf_printf(b, " %.*s %.*s", SLICE_ARG(act->name), SLICE_ARG(act->text));
    else if (act->verb == &raycronjob_delete_job)
        buf_printf(b, " %.*s %.*s %s", SLICE_ARG(act->name), SLICE_ARG(act->uid), act->why);
    buf_putc(b, '\n');
}

static void run_case(struct slice text)
{
    static struct cron_scene s;
    struct plan p, q;
    struct json doc;
    s = (struct cron_scene){.schedule = SLICE("@hourly"), .zone_name = SLICE("UTC"), .wall_us = now_us};
    s.created = moment(&s, SLICE("01T00:00"));
    buf_init(&s.spec, MIB);
    buf_init(&s.prior, MIB);
    read_lines(&s, &text);
    make_cron(&s);
    struct cron_view v = {.cron = &s.cron,
                          .errors = &s.errors,
                          .zone = s.no_zone ? NULL : &s.zone,
                          .zone_why = SLICE("there is no such file"),
                          .jobs = s.jobs,
                          .job_count = s.job_count,
                          .status_not_before_ms = s.held ? NOW_MS + 5000 : 0,
                          .refusals = s.refusals.count ? &s.refusals : NULL,
                          .now = {NOW_MS, s.wall_us}};
    if (s.prior.len)
        v.status = arena_printf(&s.a, "{%.*s}", SLICE_ARG(slice_skip(buf_slice(&s.prior), 1)));
    CHECK(!s.prior.len || json_parse(&doc, v.status, &s.a, NULL));
    raycronjob_decide(&v, &s.a, &p);
    raycronjob_decide(&v, &s.a, &q);
    CHECK_INT(q.count, p.count); /* the same view gives the same plan */
    CHECK_INT(q.next_ms, p.next_ms);
    if (s.same) { /* the server has made something else of this very status */
        v.status_hash = p.status_hash;
        raycronjob_decide(&v, &s.a, &p);
    }
    plan_compare(text, &p, s.cron.uid, put_action, &s.a);
    buf_free(&s.spec);
    buf_free(&s.prior);
    arena_free(&s.a);
}

int main(void)
{
    run_cases("tests/kinds/raycronjob/decide.case", run_case);
    return test_done();
}
