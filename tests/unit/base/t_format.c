/* Compares format_text with the C library's vsnprintf. */
#include "../../../src/base/libc.h"
#include "../test.h"

#include <limits.h>
#include <signal.h>
#include <sys/wait.h>

/* Some formats are put together at run time, and some are mistakes. */
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
#pragma GCC diagnostic ignored "-Wformat-zero-length"

enum { ROOM = 4096 };

/* Texts, ends and returned lengths must be the same. */
static bool PRINTF_LIKE(2, 0) equal(size_t size, const char *format, va_list args)
{
    char got[ROOM], want[ROOM];
    memset(got, '#', sizeof got);
    memset(want, '#', sizeof want);
    va_list again;
    va_copy(again, args);
    int len = format_text(size ? got : NULL, size, format, args), other = vsnprintf(size ? want : NULL, size, format, again);
    va_end(again);
    if (len != other || memcmp(got, want, sizeof got) != 0) {
        printf("  %s: got %d \"%.60s\", want %d \"%.60s\"\n", format, len, got, other, want);
        return false;
    }
    return true;
}

static void beside(const char *format, ...)
{
    static const size_t sizes[] = {ROOM, 0, 1, 2, 7, 64};
    test_case("%s", format);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        va_list args;
        va_start(args, format);
        CHECK(equal(sizes[i], format, args));
        va_end(args);
    }
}

/* Every conversion with every combination of flags, width and precision. */
static void combinations(void)
{
    static const char *const flags[] = {"", "-", "0", "-0", "0-"}, *const widths[] = {"", "1", "5", "20", "300"};
    static const char *const precisions[] = {"", ".", ".0", ".1", ".5", ".20", ".300"};
    static const char *const conversions[] = {"d", "u", "x", "X", "o", "lld", "llu", "llx", "llX", "llo", "ld", "lu", "zu", "zx", "zd"};
    static const int64_t values[] = {0, 1, -1, 9, 10, 255, INT32_MAX, INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN};
    char format[64];
    for (size_t f = 0; f < COUNT_OF(flags); f++)
        for (size_t w = 0; w < COUNT_OF(widths); w++)
            for (size_t p = 0; p < COUNT_OF(precisions); p++)
                for (size_t c = 0; c < COUNT_OF(conversions); c++) {
                    snprintf(format, sizeof format, "<%%%s%s%s%s>", flags[f], widths[w], precisions[p], conversions[c]);
                    for (size_t v = 0; v < COUNT_OF(values); v++)
                        if (conversions[c][1])
                            beside(format, values[v]);
                        else
                            beside(format, (int)values[v]);
                }
}

static void texts(void)
{
    static const char *const flags[] = {"", "-"}, *const widths[] = {"", "1", "5", "20", "3000"};
    static const char *const precisions[] = {"", ".", ".0", ".1", ".5", ".3000"}, *const texts[] = {"", "a", "hello", "hello, world"};
    char format[64], longer[2000];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    for (size_t f = 0; f < COUNT_OF(flags); f++)
        for (size_t w = 0; w < COUNT_OF(widths); w++)
            for (size_t p = 0; p < COUNT_OF(precisions); p++) {
                snprintf(format, sizeof format, "<%%%s%s%ss>", flags[f], widths[w], precisions[p]);
                for (size_t t = 0; t < COUNT_OF(texts); t++)
                    beside(format, texts[t]);
                beside(format, longer);
            }
    beside("%c%c|%-5c|%5c", 'a', 0, 'b', 'c');
    beside("%.*s|%.0s", 0, (const char *)NULL, (const char *)NULL);
    beside("%.*s %.*s", 3, guarded(SLICE("abc")).ptr, -1, "whole");
    beside("%*s|%-*s|%*s|%*d|%0*d|%-*d", 7, "a", 7, "b", -7, "c", -7, 1, 7, -2, 7, 3);
    beside("%*.*s|%-*.*s|%.*d", 9, 2, "abc", 9, 2, "abc", 5, 42);
    beside("");
    beside("%%");
    beside("100 %% of %s%%, %%s%d", "it", 7);
    beside("no conversion, but more than the seven bytes, and more than the sixty-four bytes, that some of the rooms have");
    beside("%s%s%s%d%s", "a", "", "b", 5, longer);
}

/* More than INT_MAX bytes cannot be returned as a length. */
static void PRINTF_LIKE(2, 3) too_long(int want, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    CHECK_INT(format_text(NULL, 0, format, args), want);
    va_end(args);
}

static int PRINTF_LIKE(2, 3) to_file(FILE *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = format_file(f, format, args);
    va_end(args);
    return len;
}

static void files(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        abort();
    for (int width = 1020; width <= 1028; width++) /* as much as the buffer on the stack holds, and one past it */
        CHECK_INT(to_file(f, "%*d", width, 7), width);
    CHECK_INT(to_file(f, "%s", ""), 0);
    CHECK_INT(to_file(f, "%-100000d", 1), 100000);
    fclose(f);
    size_t at = 0;
    for (size_t width = 1020; width <= 1028; at += width, width++)
        CHECK(strspn(text + at, " ") == width - 1 && text[at + width - 1] == '7');
    CHECK(size == at + 100000 && text[at] == '1' && strspn(text + at + 1, " ") == 99999);
    free(text);
    f = fopen("/dev/full", "w");
    if (!f)
        abort();
    setvbuf(f, NULL, _IONBF, 0);
    CHECK_INT(to_file(f, "%d", 1), -1);
    fclose(f);
}

/* A conversion that format.c does not have ends the process. */
static void unknown(void)
{
    static const char *const formats[] = {"%g", "%f", "%p", "%n", "%hd", "%+d", "% d", "%#x", "%i", "%5.", "%", "%ll"};
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        test_case("%s", formats[i]);
        int status;
        pid_t child = fork();
        if (child == 0) {
            signal(SIGABRT, SIG_DFL);
            fclose(stderr);
            to_file(stdout, formats[i], 1);
            _exit(0);
        }
        CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}

int main(void)
{
    combinations();
    texts();
    test_case("too long");
    volatile int most = INT_MAX; /* gcc would see the mistake */
    too_long(INT_MAX, "%*d", most, 1);
    too_long(-1, "%*d ", most, 1);
    files();
    unknown();
    return test_done();
}
