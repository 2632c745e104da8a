/* A hostile control plane: what it asks for is refused, held or harmless, by a rule of the policy, and the operator goes on. */
#include "tests/unit/json/cases.h"

#include "tests/world/maps.h"
#include "tests/world/planes.h"

#include <mobula/inspect.h>
#include <mobula/policy.h>
#include <mobula/yaml.h>

#include <stdlib.h>
#include <unistd.h>

enum { TROUBLE_MS = 2 * 60 * 1000, CASES_LEAST = 60 };

static struct slice part_json(const struct case_text *c, const char *part, const char *otherwise, struct arena *a)
{
    struct yaml_docs docs;
    struct slice text = case_part(c, part);
    if (!text.ptr)
        return slice_of(otherwise);
    return CHECK(yaml_parse(text, a, &docs, NULL) && docs.count == 1) ? docs.docs[0].json : slice_of(otherwise);
}

static bool is_said(const struct case_text *c, const char *part, const char *word)
{
    return slice_eq(slice_trim(case_part(c, part)), slice_of(word));
}

static const char *text_of(const struct case_text *c, const char *part, struct arena *a)
{
    struct slice text = case_part(c, part);
    return text.ptr ? arena_dup(a, slice_trim(text)).ptr : NULL;
}

static uint32_t number_of(struct slice rule)
{
    for (uint32_t i = 1; i <= WORK_RULES; i++)
        if (slice_eq(rule, slice_of(work_rules[i].name)))
            return i;
    return 0;
}

static uint64_t figure(struct world *w, const char *line)
{
    struct buf b;
    int64_t n = -1;
    buf_init(&b, MIB);
    buf_putc(&b, '\n');
    inspect_metrics(w->op, &b);
    line = arena_printf(&w->arena, "\n%s", line).ptr;
    ptrdiff_t at = slice_find_text(buf_slice(&b), line);
    if (CHECK(at >= 0)) {
        struct slice rest = slice_skip(buf_slice(&b), (size_t)at + strlen(line));
        CHECK(slice_int(slice_cut(&rest, '\n'), &n));
    }
    buf_free(&b);
    return (uint64_t)n;
}

static uint64_t refusals(struct world *w, struct slice rule)
{
    return figure(w, arena_printf(&w->arena, "mobula_policy_refusals_total{rule=\"%.*s\"} ", SLICE_ARG(rule)).ptr);
}

static void begin_row(struct world *w, struct plane *p, const struct case_text *c)
{
    struct buf quoted;
    struct slice policy = case_part(c, "policy");
    stage_plane(w, p);
    watch_map(w, "policy");
    buf_init(&quoted, 64 * KIB);
    json_quote(policy.ptr ? policy : SLICE("{}"), &quoted);
    struct slice text = slice_skip(slice_head(buf_slice(&quoted), quoted.len - 1), 1);
    put_map(w, "policy", "policy.yaml", arena_dup(&w->arena, text).ptr);
    buf_free(&quoted);
    if (is_said(c, "then", "foreign"))
        apply_job(w, "w0", "");
    world_start_operator(w, false);
    world_run(w, 2000);
}

/* What it asks for. Returns the last workload. */
static struct plane_workload *ask(struct world *w, struct plane *p, const struct case_text *c)
{
    struct slice spec = part_json(c, "spec", JOB, &w->arena);
    const char *project = text_of(c, "project", &w->arena);
    struct plane_workload *x = NULL;
    int64_t count = 1, status = 0;
    char name[32];
    if (case_part(c, "count").ptr)
        CHECK(slice_int(slice_trim(case_part(c, "count")), &count));
    if (case_part(c, "status").ptr)
        CHECK(slice_int(slice_trim(case_part(c, "status")), &status));
    p->status = (int)status;
    p->headers = text_of(c, "wait", &w->arena);
    p->text = text_of(c, "body", &w->arena);
    for (int64_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "w%lld", (long long)i);
        x = plane_put(p, (char)('a' + i), project ? project : "n", name, arena_dup(&w->arena, spec).ptr);
    }
    x->generation = is_said(c, "then", "older") ? 5 : x->generation;
    return x;
}

static void check_shown(struct world *w, struct plane *p, struct plane_workload *x, const struct case_text *c)
{
    const char *state = text_of(c, "state", &w->arena), *says = text_of(c, "says", &w->arena), *hides = text_of(c, "hides", &w->arena),
               *answered = text_of(c, "answered", &w->arena);
    struct slice message = plane_says(p, x, "message");
    if (state)
        CHECK_STR(plane_says(p, x, "state"), state);
    if (says && !CHECK(slice_has(message, says)))
        printf("  says %.*s\n", SLICE_ARG(message));
    if (answered && !CHECK(p->answered && strstr(p->answered, answered)))
        printf("  answered %s\n", p->answered ? p->answered : "nothing");
    CHECK(!hides || (x->status && !strstr(x->status, hides)));
    if (is_said(c, "rule", "audit"))
        CHECK(tells(w, "RemoteApplied", "applied for workload w0 (uid aaaaaaaa-0000-4000-8000-000000000000, generation 1)"));
}

static void check_row(const struct case_text *c)
{
    struct world w;
    struct plane p;
    int64_t jobs;
    struct slice rule = slice_trim(case_part(c, "rule"));
    begin_row(&w, &p, c);
    bool trouble = case_part(c, "status").ptr || case_part(c, "body").ptr;
    uint64_t before = refusals(&w, rule);
    struct plane_workload *x = ask(&w, &p, c);
    world_run(&w, 2000);
    if (is_said(c, "then", "older")) {
        x->generation = 4;
        x->changed = ++p.revision;
    } else if (is_said(c, "then", "back")) {
        p.revision = p.oldest = 50;
        x->changed = 50;
    }
    p.questions = text_of(c, "questions", &w.arena);
    world_run(&w, p.questions || case_part(c, "then").ptr ? 30 * 1000 : 0);
    if (slice_int(slice_trim(case_part(c, "jobs")), &jobs))
        CHECK_INT(jobs_now(&w), jobs);
    world_run(&w, 500);
    check_shown(&w, &p, x, c);
    if (!is_said(c, "counted", "no") && !CHECK(refusals(&w, rule) > before))
        printf("  %s: nothing was counted\n", arena_dup(&w.arena, rule).ptr);
    if (trouble) {
        world_run(&w, TROUBLE_MS);
        p.status = 0;
        p.text = p.headers = NULL;
        CHECK(run_until_says(&w, &p, x, "STARTING", REMOTE_RETRY_AFTER_MAX_MS * 5 / 4));
    }
    end_plane(&w, &p);
}

static void count_rules(const char *path, uint32_t *of_rule, uint32_t *all)
{
    struct arena a = {0};
    struct slice file = read_file(path, &a);
    for (struct case_text c; case_next(&file, &c);) {
        struct slice rule = slice_trim(case_part(&c, "rule"));
        if (!rule.ptr)
            continue;
        CHECK(number_of(rule) > 0);
        of_rule[number_of(rule)]++;
        ++*all;
    }
    arena_free(&a);
}

/* No rule without a hostile case. */
static void test_rules(void)
{
    uint32_t of_rule[WORK_RULES + 1] = {0}, all = 0;
    count_rules("tests/data/work/policy.case", of_rule, &all);
    count_rules("tests/kinds/workload/hostile.case", of_rule, &all);
    for (uint32_t i = 1; i <= WORK_RULES; i++) {
        test_case("a hostile case for rule %s", work_rules[i].name);
        CHECK(of_rule[i] > 0);
    }
    CHECK(all >= CASES_LEAST);
}

static uint32_t count_lines(int fd, const char *const words[2], struct arena *a)
{
    static char text[4 * MIB];
    uint32_t n = 0;
    ssize_t len = pread(fd, text, sizeof text, 0);
    CHECK(len > 0 && (size_t)len < sizeof text);
    for (struct slice rest = {text, len > 0 ? (size_t)len : 0}, line; rest.len;) {
        line = arena_dup(a, slice_cut(&rest, '\n'));
        n += slice_has(line, words[0]) && slice_has(line, words[1]);
    }
    return n;
}

/* However many writes it causes at once, each has its own line: nothing that is asked for can be had without it. */
static void test_audit(void)
{
    enum { FLOOD = 24 };
    struct world w;
    struct plane p;
    struct plane_workload *x[FLOOD];
    char name[16], path[] = "/tmp/mobula-audit-XXXXXX";
    int fd = mkstemp(path), before = log_global.fd;
    test_case("rule audit: each write of a flood is a line of the log, an event, and counted");
    CHECK(fd >= 0 && unlink(path) == 0);
    begin_plane(&w, &p);
    log_global.fd = fd;
    for (int i = 0; i < FLOOD; i++) {
        snprintf(name, sizeof name, "w%d", i);
        x[i] = plane_put(&p, (char)('a' + i), "n", name, JOB);
    }
    world_run(&w, 5000);
    CHECK_INT(jobs_now(&w), FLOOD);
    for (int i = 0; i < FLOOD; i++)
        plane_delete(&p, x[i]);
    world_run(&w, 60 * 1000);
    CHECK_INT(jobs_now(&w), 0);
    log_global.fd = before;
    CHECK_INT(count_lines(fd, (const char *const[]){"remote write: an object was applied", "generation=1"}, &w.arena), FLOOD);
    CHECK_INT(count_lines(fd, (const char *const[]){"remote write: an object was deleted", "its workload was deleted"}, &w.arena), FLOOD);
    for (int i = 0; i < FLOOD; i++) {
        const char *uid = arena_printf(&w.arena, "uid=%c", 'a' + i).ptr, *workload = arena_printf(&w.arena, "workload=w%d ", i).ptr;
        CHECK_INT(count_lines(fd, (const char *const[]){"remote write", workload}, &w.arena), 2);
        CHECK(count_lines(fd, (const char *const[]){workload, uid}, &w.arena) >= 2);
    }
    CHECK_INT(figure(&w, "mobula_remote_writes_total "), 2 * FLOOD);
    CHECK(inspect_figures(w.op).events_dropped > 0 || tells(&w, "RemoteDeleted", "deleted for workload w23 "));
    close(fd);
    end_plane(&w, &p);
}

int main(void)
{
    test_audit();
    struct arena files = {0};
    struct slice file = read_file("tests/kinds/workload/hostile.case", &files);
    test_rules();
    for (struct case_text c; case_next(&file, &c);)
        check_row(&c);
    arena_free(&files);
    return test_done();
}
