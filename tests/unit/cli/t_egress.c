/* What `mobula egress` prints: a case is its flags, and after >>> its lines. WRITE=1 prints the file of cases as it would be now. */
#include "tests/kinds/cases.h"

#include "../../../src/cli/egress.h"

/* The flags, parted by blanks. */
static int words(struct slice text, char *argv[], int most, struct arena *a)
{
    int count = 1;
    argv[0] = (char *)(uintptr_t) "egress";
    while (!slice_empty(text) && count < most) {
        struct slice word = arena_dup(a, slice_trim(slice_cut(&text, ' ')));
        if (!slice_empty(word))
            argv[count++] = (char *)(uintptr_t)word.ptr;
    }
    argv[count] = NULL;
    return count;
}

static void print(struct slice flags, struct arena *a, struct buf *out)
{
    char *argv[33];
    bool help;
    struct err e = {0};
    struct buf notes;
    struct egress_options o = egress_defaults();
    buf_init(&notes, MIB);
    if (CHECK(flags_read(&egress_flags, words(flags, argv, 32, a), argv, &o, &help, &e)) && !egress_write(&o, out, &notes, &e)) {
        CHECK_INT(out->len, 0);
        buf_printf(out, "error: %s\n", e.text);
    }
    for (struct slice rest = buf_slice(&notes); !slice_empty(rest);) {
        struct slice line = slice_cut(&rest, '\n');
        buf_printf(out, "stderr: %.*s\n", SLICE_ARG(line));
    }
    buf_free(&notes);
}

static void run(struct slice text)
{
    struct arena a = {0};
    struct buf out;
    buf_init(&out, MIB);
    struct slice want = text, flags = slice_cut(&want, '\n');
    CHECK(slice_starts(want, SLICE(">>>\n")));
    print(flags, &a, &out);
    CHECK_SLICE(slice_trim(buf_slice(&out)), slice_trim(slice_skip(want, 4)));
    if (getenv("WRITE"))
        printf("=== %s\n%.*s\n>>>\n%.*s\n", test_id, SLICE_ARG(flags), SLICE_ARG(buf_slice(&out)));
    buf_free(&out);
    arena_free(&a);
}

/* The example of docs/egress.md is what is printed. */
static void documented(void)
{
    struct arena a = {0};
    struct buf out;
    buf_init(&out, MIB);
    struct slice page = read_file("docs/egress.md", &a), line, shown = SLICE("");
    test_case("docs/egress.md");
    while (!slice_empty(page) && !slice_starts(page, SLICE("    mobula egress --api-server 10.0.0.1")))
        slice_cut(&page, '\n');
    struct slice flags = slice_skip(slice_cut(&page, '\n'), sizeof "    mobula egress " - 1);
    while (slice_starts(line = slice_cut(&page, '\n'), SLICE("    ")))
        shown = arena_printf(&a, "%.*s%.*s\n", SLICE_ARG(shown), SLICE_ARG(slice_skip(line, 4)));
    print(flags, &a, &out);
    CHECK_SLICE(shown, buf_slice(&out));
    buf_free(&out);
    arena_free(&a);
}

int main(void)
{
    run_cases("tests/data/cli/egress.case", run);
    documented();
    return test_done();
}
