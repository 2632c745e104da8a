/* The carried form of the running program, here of this test, which has no stub: then it is the program itself. */
#include "../test.h"

#include <mobula/artifact.h>

#include <stdio.h>
#include <time.h>

enum { LOOKS = 60 * 1000 };

static struct carrier *c; /* it lives until the process ends */

static struct slice read_self(struct arena *a)
{
    static struct buf text = {.max = 64 * MIB};
    char part[64 * KIB];
    FILE *f = fopen("/proc/self/exe", "r");
    CHECK(f != NULL);
    for (size_t n; f && (n = fread(part, 1, sizeof part, f)) > 0;)
        buf_put(&text, (struct slice){part, n});
    if (f)
        fclose(f);
    struct slice all = arena_dup(a, buf_slice(&text));
    buf_free(&text);
    return all;
}

int main(void)
{
    struct arena a = {0};
    struct err e = {0};
    uint64_t hash = 0;
    struct slice carried = SLICE(""), again = SLICE(""), self = read_self(&a);
    test_case("the hash is that of the program");
    c = carrier_open(&hash, &e);
    CHECK(c && hash == hash64(self, 0));
    test_case("the carried form is made by a thread, once");
    bool there = false;
    for (int i = 0; c && i < LOOKS && !there; i++) {
        there = carrier_take(c, &carried);
        nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
    }
    CHECK(there && slice_eq(carried, self));
    CHECK(c && carrier_take(c, &again) && again.ptr == carried.ptr && again.len == carried.len);
    arena_free(&a);
    return test_done();
}
