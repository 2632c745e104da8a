/* Jobs: the spec from the values of flags, the parts of a log that are shown, and the notes for whoever waits. */
#include "desk.h"

static void check_spec(void)
{
    static const struct {
        struct fleet_options o;
        const char *dir, *want; /* want: the spec, or else the error */
    } cases[] = {
        {{.cloud = SLICE("c"), .retries = 1}, "", "{'cloud':'c','job':{'entrypoint':'python a.py','maxRetries':1},'env':{}}"},
        {{.cloud = SLICE("c"),
          .image = SLICE("i"),
          .config = SLICE("small:2"),
          .env = {.list = {SLICE("A=b=c"), SLICE("D=")}, .count = 2},
          .modules = {.list = {SLICE("https://h/m.zip")}, .count = 1}},
         "upload:1",
         "{'cloud':'c','image':'i','workingDir':'upload:1','job':{'entrypoint':'python a.py','maxRetries':0},"
         "'pyModules':['https://h/m.zip'],'computeConfig':{'name':'small:2'},'env':{'A':'b=c','D':''}}"},
        {{.env = {.list = {SLICE("=b")}, .count = 1}}, "", "--env: \"=b\" is not NAME=VALUE"},
        {{.env = {.list = {SLICE("A")}, .count = 1}}, "", "--env: \"A\" is not NAME=VALUE"},
        {{.modules = {.list = {SLICE("folder")}, .count = 1}},
         "",
         "--py-modules: \"folder\" is no URL: put a package of your own into the folder of --working-dir"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct desk d = {.o = cases[i].o, .command = SLICE("python a.py")};
        struct buf out = {.max = MIB};
        struct err e = {0};
        struct jout w;
        test_case("the spec of a job, %zu", i);
        jout_init(&w, &out);
        if (fleet_job_put_spec(&d, slice_of(cases[i].dir), &w, &e))
            CHECK_SLICE(buf_slice(&out), quoted(cases[i].want, &d.a));
        else
            CHECK_STR(slice_of(e.text), cases[i].want);
        buf_free(&out);
        arena_free(&d.a);
    }
}

static void check_log(void)
{
    static const char *const windows[][3] = {{"a\nb\n", "", "a\nb\n"},       {"a\nb\n", "a\n", "b\n"}, {"b\nc\n", "a\nb\n", "c\n"},
                                             {"x\ny\n", "a\nb\n", "x\ny\n"}, {"a\nb\n", "a\nb\n", ""}, {"", "a\n", ""}};
    static const struct {
        const char *message, *known;
        int64_t most;
        const char *want; /* NULL: there are none, or they do not follow */
    } kept[] = {
        {"failed, log:\na\nb\nc", "", 10, "a\nb\nc"},
        {"failed, log:\na\nb\nc", "", 2, "b\nc"},
        {"log:\na\nb\nc", "x\na\n", 10, "b\nc"},
        {"log:\na\nb", "x\ny\n", 10, NULL},
        {"failed", "", 10, NULL},
        {"log:\n", "", 10, ""},
    };
    for (size_t i = 0; i < COUNT_OF(windows); i++) {
        test_case("a window of a log behind what was shown, %zu", i);
        CHECK_STR(fleet_job_log_behind(slice_of(windows[i][0]), slice_of(windows[i][1])), windows[i][2]);
    }
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        struct slice rest;
        test_case("lines of a log that a status keeps, %zu", i);
        bool there = fleet_job_log_kept(slice_of(kept[i].message), slice_of(kept[i].known), kept[i].most, &rest);
        CHECK(there == (kept[i].want != NULL));
        if (there)
            CHECK_STR(rest, kept[i].want);
    }
}

static const struct noun job = {.kind = "Workload", .word = "job", .resource = &hub_workloads};

static void check_say(void)
{
    static const char *const cases[][3] = {
        {"RUNNING", "", "job j: RUNNING\n"},
        {"RUNNING", "in pod p; log:\na line", "job j: RUNNING: in pod p;\n"},
        {"FAILED", "it ended; log:\njob j: SUCCEEDED\x1b[31m", "job j: FAILED: it ended; log:\n    job j: SUCCEEDED [31m\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct desk d = {.noun = &job, .o = {.name = SLICE("j")}, .told = desk_tell};
        test_case("notes about a state, %zu", i);
        fleet_say(&d, slice_of(cases[i][0]), slice_of(cases[i][1]));
        CHECK_STR(buf_slice(&desk_told), cases[i][2]);
        buf_clear(&desk_told);
        arena_free(&d.a);
    }
}

static void check_outlasts(void)
{
    static const struct {
        enum err_code code;
        bool answered, outlasts;
        int signal;
    } cases[] = {{ERR_TIMEOUT, true, true, 0}, {ERR_CLOSED, true, true, 0},    {ERR_TIMEOUT, false, false, 0},
                 {ERR_STATUS, true, false, 0}, {ERR_TIMEOUT, true, false, 15}, {ERR_NONE, true, false, 0}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct desk d = {.noun = &job, .told = desk_tell, .ask.signal = cases[i].signal};
        bool away = false;
        test_case("a control plane is away, %zu", i);
        for (int k = 0; k < 2; k++) {
            struct err e = {.code = cases[i].code, .text = "no answer"};
            CHECK(fleet_job_outlasts(&d, cases[i].answered, &away, &e) == cases[i].outlasts);
            CHECK(e.code == (cases[i].outlasts ? ERR_NONE : cases[i].code));
        }
        CHECK(away == cases[i].outlasts);
        CHECK_STR(buf_slice(&desk_told),
                  away ? "mobula: no answer\nmobula: the job goes on, and is asked about until there is an answer\n" : "");
        buf_clear(&desk_told);
        arena_free(&d.a);
    }
}

static void check_ended(void)
{
    static const struct {
        const char *state;
        bool ended;
    } cases[] = {{"SUCCEEDED", true}, {"FAILED", true}, {"TERMINATED", true}, {"REFUSED", true}, {"RUNNING", false}, {"", false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("state %s", cases[i].state);
        CHECK(fleet_job_ended(slice_of(cases[i].state)) == cases[i].ended);
    }
}

int main(void)
{
    check_spec();
    check_log();
    check_say();
    check_outlasts();
    check_ended();
    buf_free(&desk_told);
    return test_done();
}
