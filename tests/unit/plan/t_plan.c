/* Plans, and the patch of a status, of no kind. */
#include "tests/unit/test.h"

#include <mobula/pod.h>
#include <mobula/status.h>

static const struct verb verb_other = {.name = "other", .how = VERB_MOVE};

static struct plan blank(struct arena *a)
{
    return (struct plan){.next_ms = TIME_NEVER, .arena = a};
}

static void check_limit(void)
{
    struct arena a = {0};
    struct plan p = blank(&a);
    test_case("a plan has PLAN_ACTIONS; one more is beyond it");
    for (int32_t i = 0; i < PLAN_ACTIONS; i++) {
        struct action *act = plan_add(&p, &verb_other);
        CHECK(act->group == GROUP_NONE && act->index == -1 && !act->why && slice_empty(act->text));
        act->index = i;
    }
    CHECK_INT(p.count, PLAN_ACTIONS);
    plan_event(&p, true, "Reason", SLICE("a note"));
    CHECK_INT(p.count, PLAN_ACTIONS);
    CHECK(p.beyond.verb == &verb_event && p.beyond.warning && strcmp(p.beyond.why, "Reason") == 0);
    CHECK_STR(p.beyond.text, "a note");
    for (int32_t i = 0; i < PLAN_ACTIONS; i++)
        CHECK_INT(p.actions[i].index, i);
    arena_free(&a);
}

static void check_again(void)
{
    struct arena a = {0};
    struct plan p = blank(&a);
    test_case("the earliest time to look again counts");
    plan_look_again(&p, 300);
    plan_look_again(&p, 200);
    plan_look_again(&p, 400);
    CHECK_INT(p.next_ms, 200);
}

static void check_backoff(void)
{
    test_case("no failure, no wait");
    CHECK_INT(plan_backoff_ms(0, 1), 0);
    test_case("it doubles up to its end, with a jitter that the seed decides");
    for (uint32_t count = 1; count < 100; count++) {
        int64_t most = count < 10 ? (int64_t)PLAN_BACKOFF_MS << (count - 1) : PLAN_BACKOFF_MAX_MS;
        int64_t first = plan_backoff_ms(count, 1);
        most = earlier(most, PLAN_BACKOFF_MAX_MS);
        CHECK(first >= most / 2 && first <= most && plan_backoff_ms(count, 1) == first);
    }
    CHECK(plan_backoff_ms(9, 1) != plan_backoff_ms(9, 2));
}

/* ---- a status ---- */

static void write_ready(const void *about, struct jout *w, struct slice stamp)
{
    const struct condition ready = {"Ready", *(const bool *)about, SLICE("Because"), SLICE(""), 1};
    static const char *const ours[] = {"Ready", NULL};
    struct jval prior;
    struct arena a = {0};
    CHECK(json_read(&prior, SLICE("{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"},{\"type\":\"Theirs\"}]}"), &a, NULL));
    status_write_all(w, &ready, 1, prior, stamp, &a, ours);
    arena_free(&a);
}

static void check_status(void)
{
    struct arena a = {0};
    struct plan p = blank(&a);
    struct jval prior, patch = {.at = -1};
    bool ready = true;
    CHECK(json_read(&prior, SLICE("{\"conditions\":[]}"), &a, NULL));
    struct status_writer s = {.plan = &p,
                              .prior = prior,
                              .not_before_ms = 500,
                              .now = {.mono_ms = 400},
                              .uid = SLICE("u1"),
                              .about = &ready,
                              .write = write_ready};
    test_case("after a refused write it waits");
    CHECK(status_look(&s) == STATUS_HELD);
    CHECK_INT(p.next_ms, 500);
    test_case("then it is written, held to the object by its uid, with what others have put there");
    s.now.mono_ms = 500;
    CHECK(status_look(&s) == STATUS_NEWS);
    status_send(&s);
    CHECK(p.count == 1 && p.actions[0].verb == &verb_status && json_read(&patch, p.actions[0].text, &a, NULL));
    CHECK_STR(json_get_str(patch, "metadata.uid", &a), "u1");
    CHECK(json_is(json_get(status_condition(json_get(patch, "status"), SLICE("Ready")), "status"), "True"));
    CHECK(json_is(json_get(status_condition(json_get(patch, "status"), SLICE("Theirs")), "type"), "Theirs"));
    test_case("what was written is not written again, another one is");
    s.hash = p.status_hash;
    CHECK(status_look(&s) == STATUS_SAME);
    ready = false;
    CHECK(status_look(&s) == STATUS_NEWS);
    test_case("nor is what the server has, whoever wrote it");
    s.prior = status_next_object(&s);
    s.hash = 0;
    CHECK(status_look(&s) == STATUS_SAME);
    arena_free(&a);
}

/* A status into which another client has put so many bytes, or values. */
struct foreign {
    size_t bytes, values;
};

static void write_foreign(const void *about, struct jout *w, struct slice stamp)
{
    const struct foreign *f = about;
    __attribute__((cleanup(buf_free))) struct buf text = {.max = 4 * MIB};
    (void)stamp;
    for (size_t i = 0; i < f->bytes; i++)
        buf_putc(&text, 'x');
    jout_kstr(w, "x", buf_slice(&text));
    jout_karray(w, "a");
    for (size_t i = 0; i < f->values; i++)
        jout_int(w, 1);
    jout_end(w);
}

static void check_huge(void)
{
    enum { FRAME = sizeof "{\"x\":\"\",\"a\":[]}" - 1, VALUES = 5 }; /* bytes and values beside the foreign ones */
    static const struct {
        struct foreign size;
        bool fits;
    } rows[] = {{{LIMIT_JSON_ITEM - FRAME, 0}, true},
                {{LIMIT_JSON_ITEM - FRAME + 1, 0}, false},
                {{0, LIMIT_JSON_TOKENS - VALUES}, true},
                {{0, LIMIT_JSON_TOKENS - VALUES + 1}, false}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct arena a = {0};
        struct plan p = blank(&a);
        struct status_writer s = {.plan = &p, .prior = NO_VALUE, .uid = SLICE("u1"), .about = &rows[i].size, .write = write_foreign};
        test_case("a status of %zu bytes and %zu values beside its frame", rows[i].size.bytes, rows[i].size.values);
        CHECK_INT(status_look(&s), rows[i].fits ? STATUS_NEWS : STATUS_HELD);
        arena_free(&a);
    }
}

static void check_invalid(void)
{
    struct arena a = {0};
    struct plan p = blank(&a);
    struct status_writer s = {.plan = &p};
    test_case("a wrong spec is told once for each generation");
    CHECK(json_read(&s.prior, SLICE("{\"conditions\":[{\"type\":\"Valid\",\"status\":\"False\",\"observedGeneration\":3}]}"), &a, NULL));
    status_say_invalid(&s, 3, "Invalid", SLICE("spec.x: no"));
    CHECK_INT(p.count, 0);
    status_say_invalid(&s, 4, "Invalid", SLICE(""));
    CHECK_INT(p.count, 0);
    status_say_invalid(&s, 4, "Invalid", SLICE("spec.x: no"));
    CHECK(p.count == 1 && p.actions[0].verb == &verb_event && p.actions[0].warning);
    arena_free(&a);
}

int main(void)
{
    check_limit();
    check_again();
    check_backoff();
    check_status();
    check_huge();
    check_invalid();
    return test_done();
}
