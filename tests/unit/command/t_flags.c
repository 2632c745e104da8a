#include "../test.h"

#include <mobula/command.h>

struct options {
    bool on;
    struct slice text, entries;
    struct flag_texts many;
    int64_t number, wait;
    bool each[3];
};

static const struct flag list[] = {
    {"watch", FLAG_SWITCH, offsetof(struct options, on), NULL},
    {"namespace", FLAG_TEXT, offsetof(struct options, text), "NS"},
    {"allow", FLAG_LIST, offsetof(struct options, entries), "HOST[,...]"},
    {"f", FLAG_TEXTS, offsetof(struct options, many), "FILE"},
    {"replicas", FLAG_INT, offsetof(struct options, number), "N"},
    TLS_FLAG,
    {NULL, FLAG_EACH, offsetof(struct options, each), NULL},
    {"timeout", FLAG_DURATION, offsetof(struct options, wait), "TIME"},
};

static bool each_of(size_t n, struct flag *row, const char **help)
{
    static const char *const names[] = {"apples", "pears", "plums"};
    if (n >= COUNT_OF(names))
        return false;
    *row = (struct flag){names[n], FLAG_SWITCH, (uint16_t)(row->at + n), NULL};
    *help = "one of several";
    return true;
}

static bool each_none(size_t n, struct flag *row, const char **help)
{
    (void)n;
    (void)row;
    (void)help;
    return false;
}

static const struct flags flags = {.usage = "mobula test", .list = list, .count = COUNT_OF(list), .each = each_of};

enum { ARGS = 6 };

static bool read_of(const struct flags *f, const char *const args[ARGS], struct options *o, bool *help, struct err *e)
{
    static char store[ARGS][64];
    char *argv[ARGS + 2] = {store[0]};
    int argc = 1;
    for (; argc <= ARGS && args[argc - 1]; argc++) {
        argv[argc] = store[argc - 1];
        snprintf(argv[argc], sizeof store[0], "%s", args[argc - 1]);
    }
    return flags_read(f, argc, argv, o, help, e);
}

static bool read_args(const char *const args[ARGS], struct options *o, bool *help, struct err *e)
{
    return read_of(&flags, args, o, help, e);
}

static void good(void)
{
    static const struct {
        const char *args[ARGS];
        bool on, help;
        const char *text;
        int64_t number, wait;
        uint32_t many;
    } cases[] = {
        {{NULL}, false, false, "kept", 7, 70, 0},
        {{"--watch", "--namespace", "a"}, true, false, "a", 7, 70, 0},
        {{"--watch=true", "--namespace=a=b"}, true, false, "a=b", 7, 70, 0},
        {{"-n", "a", "--namespace=a"}, false, false, "a", 7, 70, 0}, /* -n and --namespace are one flag */
        {{"--watch=false", "--namespace=", "--watch=false"}, false, false, "", 7, 70, 0},
        {{"--replicas", "0", "--timeout=1m30s"}, false, false, "kept", 0, 90000, 0},
        {{"--tls-min-version", "1.3"}, false, false, "kept", 7, 70, 0},
        {{"-f", "x", "-f=y", "-f", "-"}, false, false, "kept", 7, 70, 3},
        {{"--replicas=3", "--help", "--nonsense"}, false, true, "kept", 3, 70, 0},
        {{"-h"}, false, true, "kept", 7, 70, 0},
        {{"--namespace", "--watch"}, false, false, "--watch", 7, 70, 0}, /* a value may look like a flag */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("good %zu", i);
        struct options o = {.text = SLICE("kept"), .number = 7, .wait = 70};
        struct err e = {0};
        bool help;
        CHECK(read_args(cases[i].args, &o, &help, &e));
        CHECK_INT(o.on, cases[i].on);
        CHECK_INT(help, cases[i].help);
        CHECK_STR(o.text, cases[i].text);
        CHECK_INT(o.number, cases[i].number);
        CHECK_INT(o.wait, cases[i].wait);
        CHECK_INT(o.many.count, cases[i].many);
    }
}

/* A list flag replaces the default; given again, it adds its entries to those before. */
static void lists(void)
{
    static const struct {
        const char *args[ARGS], *text;
    } cases[] = {
        {{NULL}, "kept"},
        {{"--allow=a,b"}, "a,b"},
        {{"--allow", "a", "--allow=b"}, "a,b"},
        {{"--allow=a, b", "--allow=b,c ,a", "--allow=d"}, "a, b,c,d"},
        {{"--allow=", "--allow=a"}, "a"},
        {{"--namespace=x", "--allow=a", "--namespace", "x", "--allow=a"}, "a"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("list %zu", i);
        struct options o = {.entries = SLICE("kept")};
        struct err e = {0};
        bool help;
        CHECK(read_args(cases[i].args, &o, &help, &e));
        CHECK_STR(o.entries, cases[i].text);
    }
}

static void bad(void)
{
    static const struct {
        const char *args[ARGS];
        const char *text;
    } cases[] = {
        {{"--watc"}, "unknown flag --watc; did you mean --watch?"},
        {{"--nmaespace", "a"}, "unknown flag --nmaespace; did you mean --namespace?"},
        {{"--nothing-like-it"}, "unknown flag --nothing-like-it"},
        {{"-x"}, "unknown flag -x"},
        {{"pod"}, "unexpected argument \"pod\""},
        {{""}, "unexpected argument \"\""},
        {{"-"}, "unexpected argument \"-\""},
        {{"--namespace"}, "--namespace needs a value: NS"},
        {{"-f"}, "-f needs a value: FILE"},
        {{"--watch=yes"}, "--watch: \"yes\" is neither true nor false"},
        {{"--replicas=-1"}, "--replicas: \"-1\" is not a whole number"},
        {{"--replicas=1.5"}, "--replicas: \"1.5\" is not a whole number"},
        {{"--tls-min-version=1.1"}, "--tls-min-version: \"1.1\" is neither 1.2 nor 1.3"},
        {{"--namespace", "a", "--namespace=b"}, "--namespace: is given twice, as \"a\" and as \"b\": leave one out"},
        {{"--watch", "--watch=false"}, "--watch: is given twice, as \"true\" and as \"false\": leave one out"},
        {{"--replicas=1", "--replicas=2"}, "--replicas: is given twice, as \"1\" and as \"2\": leave one out"},
        {{"--timeout", "5"}, "--timeout: \"5\" is not a duration such as 500ms, 5s or 1m30s"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("bad %zu", i);
        struct options o = {0};
        struct err e = {0};
        bool help;
        CHECK(!read_args(cases[i].args, &o, &help, &e));
        CHECK_STR(slice_of(e.text), cases[i].text);
    }
}

/* One row of the table is a row for each of several; --timeout stands behind it. */
static void several(void)
{
    static const struct {
        flag_each *each;
        const char *args[ARGS];
        bool on[3];
        const char *wrong;
    } cases[] = {
        {each_of, {NULL}, {true, true, true}, ""},
        {each_of, {"--pears=false"}, {true, false, true}, ""},
        {each_of, {"--plums=false", "--apples=false", "--timeout=1s"}, {false, true, false}, ""},
        {each_of, {"--plum"}, {true, true, true}, "unknown flag --plum; did you mean --plums?"},
        {each_none, {"--timeout=1s"}, {true, true, true}, ""},
        {each_none, {"--plums"}, {true, true, true}, "unknown flag --plums"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("several %zu", i);
        struct options o = {.each = {true, true, true}};
        struct flags of = flags;
        struct err e = {0};
        bool help;
        of.each = cases[i].each;
        CHECK_INT(read_of(&of, cases[i].args, &o, &help, &e), !cases[i].wrong[0]);
        CHECK_STR(slice_of(e.text), cases[i].wrong);
        for (size_t k = 0; k < COUNT_OF(o.each); k++)
            CHECK_INT(o.each[k], cases[i].on[k]);
    }
    test_case("the value of one of them");
    CHECK_STR(flags_value(&flags, &(struct options){.each = {[1] = true}}, "pears"), "true");
    CHECK_STR(flags_value(&flags, &(struct options){.each = {[1] = true}}, "plums"), "false");
}

static void one_word(void)
{
    static const struct flags with = {
        .usage = "mobula test NAME", .list = list, .count = COUNT_OF(list), .word = offsetof(struct options, text), .each = each_of};
    char name[] = "test", one[] = "one", on[] = "--watch", two[] = "two", *argv[] = {name, on, one, on, two, NULL};
    struct options o = {0};
    struct err e = {0};
    bool help;
    test_case("a word that is no flag, between flags");
    CHECK(flags_read(&with, 4, argv, &o, &help, &e));
    CHECK_STR(o.text, "one");
    test_case("a second one");
    o = (struct options){0};
    CHECK(!flags_read(&with, 5, argv, &o, &help, &e));
    CHECK_STR(slice_of(e.text), "unexpected argument \"two\"");
}

static void texts_limit(void)
{
    test_case("FLAG_TEXTS_MAX");
    char name[] = "test", flag[] = "-f=x", *argv[FLAG_TEXTS_MAX + 2] = {name};
    for (int i = 1; i < FLAG_TEXTS_MAX + 2; i++)
        argv[i] = flag;
    struct options o = {0};
    struct err e = {0};
    bool help;
    CHECK(flags_read(&flags, FLAG_TEXTS_MAX + 1, argv, &o, &help, &e));
    CHECK_INT(o.many.count, FLAG_TEXTS_MAX);
    o = (struct options){0};
    CHECK(!flags_read(&flags, FLAG_TEXTS_MAX + 2, argv, &o, &help, &e));
    CHECK_INT(e.code, ERR_LIMIT);
}

static void durations(void)
{
    static const struct {
        const char *text;
        int64_t ms; /* -1: refused */
    } cases[] = {
        {"0", 0},
        {"0s", 0},
        {"500ms", 500},
        {"5s", 5000},
        {"10m", 600000},
        {"2h", 7200000},
        {"1h1m1s1ms", 3661001},
        {"9223372036854775807ms", INT64_MAX},
        {"", -1},
        {"5", -1},
        {"s", -1},
        {"5 s", -1},
        {"-5s", -1},
        {"1.5s", -1},
        {"30d", 2592000000},
        {"5D", -1},
        {"5S", -1},
        {"05s", -1},
        {"1s5", -1},
        {"9223372036854775807s", -1},
        {"9223372036854775807ms1ms", -1},
        {"00", -1},
        {"1s0", -1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("duration \"%s\"", cases[i].text);
        struct err e = {0};
        int64_t ms = -1;
        CHECK_INT(duration_parse(guarded(slice_of(cases[i].text)), &ms, &e), cases[i].ms >= 0);
        CHECK_INT(ms, cases[i].ms);
    }
}

static void nearest(void)
{
    static const struct {
        const char *typed, *best;
    } cases[] = {
        {"instal", "install"},
        {"insatll", "install"},
        {"explian", "explain"},
        {"explode", NULL},
        {"x", NULL},
        {"", NULL},
        {"foo", NULL}, /* two letters from job */
        {"jbo", NULL},
        {"jb", "job"},
        {"jbos", "job"},
        {"installinstallinstallinstallinstall", NULL},
        {"wait-gsc", "wait-gcs"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("nearest to \"%s\"", cases[i].typed);
        struct nearest n = {.typed = guarded(slice_of(cases[i].typed))};
        nearest_try(&n, SLICE("install"));
        nearest_try(&n, SLICE("explain"));
        nearest_try(&n, SLICE("wait-gcs"));
        nearest_try(&n, SLICE("job"));
        CHECK_SLICE(n.best, slice_of(cases[i].best));
    }
}

int main(void)
{
    good();
    lists();
    bad();
    several();
    one_word();
    texts_limit();
    durations();
    nearest();
    return test_done();
}
