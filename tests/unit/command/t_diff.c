#include "../test.h"

#include <mobula/command.h>

/* A hunk for each place that differs, with three lines around it; places that are near each other are in one. */
static void diffs(void)
{
    static const struct {
        const char *before, *after, *out;
    } cases[] = {
        {"{\"a\":1}", "{\"a\":1}", "--- A\n+++ B\n"},
        {"{\"a\":1}", "{\"a\":2}", "--- A\n+++ B\n@@ -1,1 +1,1 @@\n-a: 1\n+a: 2\n"},
        {"{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1}", "{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"f\":1,\"g\":1,\"h\":1}",
         "--- A\n+++ B\n@@ -2,7 +2,6 @@\n b: 1\n c: 1\n d: 1\n-e: 1\n f: 1\n g: 1\n h: 1\n"},
        {"{\"a\":1,\"b\":1}", "{\"a\":1,\"b\":1,\"c\":1}", "--- A\n+++ B\n@@ -1,2 +1,3 @@\n a: 1\n b: 1\n+c: 1\n"},
        {"[1,1]", "[1,1,1]", "--- A\n+++ B\n@@ -1,2 +1,3 @@\n - 1\n - 1\n+- 1\n"},
        {"[1,2,1]", "[1,1]", "--- A\n+++ B\n@@ -1,3 +1,2 @@\n - 1\n-- 2\n - 1\n"},
        {"[0,1,2,3,4,5,6,7,8,9]", "[1,2,3,4,5,6,7,8,8,9]",
         "--- A\n+++ B\n@@ -1,4 +1,3 @@\n-- 0\n - 1\n - 2\n - 3\n@@ -7,4 +6,5 @@\n - 6\n - 7\n - 8\n+- 8\n - 9\n"},
        {"[0,1,2,3,4,5]", "[9,1,2,3,4,8]", "--- A\n+++ B\n@@ -1,6 +1,6 @@\n-- 0\n+- 9\n - 1\n - 2\n - 3\n - 4\n-- 5\n+- 8\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf out;
        struct err e = {0};
        test_case("diff %zu", i);
        buf_init(&out, KIB);
        CHECK(diff_yaml(slice_of(cases[i].before), slice_of(cases[i].after), SLICE("A"), SLICE("B"), &out, &e));
        CHECK_STR(buf_slice(&out), cases[i].out);
        buf_free(&out);
    }
}

int main(void)
{
    diffs();
    return test_done();
}
