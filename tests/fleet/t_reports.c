/* What one call reports of a cloud, and what of that stands in its status then: tests/data/fleet/report.case. */
#include "hubworld.h"

#include "tests/unit/json/cases.h"

/* Lines of a path in the status and its text; an index is a number. "-": there is nothing. */
static void check_status(struct hubworld *h, struct slice lines)
{
    struct arena *a = &h->w.arena;
    while (!slice_empty(lines)) {
        struct slice line = slice_cut(&lines, '\n'), path = slice_cut(&line, ' ');
        struct jval v = json_get(object_of(h, "clouds", "edge"), "status");
        while (path.ptr) {
            int64_t at;
            struct slice key = slice_cut(&path, '.');
            v = slice_int(key, &at) ? json_at(v, (size_t)at) : json_key(v, key);
        }
        struct slice got = json_type(v) == JSON_STRING ? json_str(v, a) : json_there(v) ? json_raw(v) : SLICE("-");
        CHECK_STR(got, arena_dup(a, line).ptr);
    }
}

static void check_case(const struct case_text *c)
{
    static const char *const reports[] = {"first", "second", "third"}, *const statuses[] = {"status", "status after", "status at last"};
    struct hubworld h;
    start(&h);
    make_cloud(&h, "edge");
    struct client *k = client_new(&h);
    for (size_t i = 0; i < COUNT_OF(reports); i++) {
        struct slice report = slice_trim(case_part(c, reports[i])), wants = case_part(c, "wants");
        if (!report.ptr)
            break;
        CHECK_INT(sync_ask(k, "edge", "one", "", arena_printf(&h.w.arena, ",\"wait\":0,%.*s", SLICE_ARG(report)).ptr), 200);
        if (wants.ptr && i == 0)
            CHECK_STR(json_raw(json_get(json_root(&h.doc), "wants")), arena_dup(&h.w.arena, slice_trim(wants)).ptr);
        CHECK_STR(said(&h, "identity"), "operator");
        check_status(&h, slice_trim(case_part(c, statuses[i])));
    }
    finish(&h);
}

int main(void)
{
    struct arena files = {0};
    struct slice file = read_file("tests/data/fleet/report.case", &files);
    uint32_t seen = 0;
    log_global = (struct log){.level = LOG_ERROR, .fd = -1};
    for (struct case_text c; case_next(&file, &c); seen++)
        check_case(&c);
    CHECK(seen >= 8);
    arena_free(&files);
    return test_done();
}
