/* What every unit test uses: checks that count, inputs that end at a page nobody may read, and files of cases.
 * A test program is a list of calls and ends with `return test_done();`, which prints "N passed, N failed". */
#ifndef MOBULA_TEST_H
#define MOBULA_TEST_H

#include <mobula/base.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int test_passed, test_failed;
static char test_id[160];

/* Names the checks that follow in what is printed when one fails. */
PRINTF_LIKE(1, 2) __attribute__((unused)) static void test_case(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(test_id, sizeof test_id, fmt, ap);
    va_end(ap);
}

__attribute__((unused)) static bool test_check(bool ok, const char *file, int line, const char *what)
{
    test_passed += ok;
    test_failed += !ok;
    if (!ok)
        printf("not ok: %s:%d: [%s] %s\n", file, line, test_id, what);
    return ok;
}

__attribute__((unused)) static bool test_check_int(int64_t got, int64_t want, const char *file, int line, const char *what)
{
    if (got != want)
        printf("  got %" PRId64 ", want %" PRId64 "\n", got, want);
    return test_check(got == want, file, line, what);
}

__attribute__((unused)) static bool test_check_str(struct slice got, struct slice want, const char *file, int line, const char *what)
{
    bool ok = slice_eq(got, want);
    if (!ok)
        printf("  got  \"%.*s\"\n  want \"%.*s\"\n", SLICE_ARG(got), SLICE_ARG(want));
    return test_check(ok, file, line, what);
}

#define CHECK(cond) test_check((cond), __FILE__, __LINE__, #cond)
#define CHECK_INT(got, want) test_check_int((int64_t)(got), (int64_t)(want), __FILE__, __LINE__, #got)
#define CHECK_STR(got, want) test_check_str((got), slice_of(want), __FILE__, __LINE__, #got)
#define CHECK_SLICE(got, want) test_check_str((got), (want), __FILE__, __LINE__, #got)

/* A copy of s whose last byte touches a page that cannot be read: an over-read of one byte is a crash. The copy lives until the next
 * call with a longer input than any before; callers use one at a time, or guarded_n with different slots. */
__attribute__((unused)) static struct slice guarded_n(unsigned slot, struct slice s)
{
    enum { SLOTS = 4 };
    static char *end[SLOTS];
    static size_t room[SLOTS];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (slot >= SLOTS)
        abort();
    if (!end[slot] || room[slot] < s.len) {
        room[slot] = (s.len / page + 1) * page;
        char *p = mmap(NULL, room[slot] + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED || mprotect(p + room[slot], page, PROT_NONE) != 0)
            abort();
        end[slot] = p + room[slot];
    }
    if (s.len)
        memcpy(end[slot] - s.len, s.ptr, s.len);
    return (struct slice){end[slot] - s.len, s.len};
}

__attribute__((unused)) static struct slice guarded(struct slice s)
{
    return guarded_n(0, s);
}

/* The whole file, path relative to the repository's root (where tests run), in the arena. A file that is not there fails the test. */
__attribute__((unused)) static struct slice read_file(const char *path, struct arena *a)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        printf("cannot open %s\n", path);
        test_check(false, __FILE__, __LINE__, "read_file");
        return SLICE_NONE;
    }
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *p = arena_alloc(a, (size_t)size + 1);
    size_t n = fread(p, 1, (size_t)size, f);
    fclose(f);
    return (struct slice){p, n};
}

__attribute__((unused)) static int test_done(void)
{
    printf("%d passed, %d failed\n", test_passed, test_failed);
    return test_failed != 0;
}

#endif
