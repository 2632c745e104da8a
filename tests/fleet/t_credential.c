/* Credentials of pods: what is not exactly as it was given is refused, and so is what is too old. */
#include "src/hub/private.h"

#include "tests/unit/test.h"

int main(void)
{
    struct arena a = {0};
    struct hub *h = mem_alloc(sizeof *h), *other = mem_alloc(sizeof *other);
    struct credential given = {1000, SLICE("cldrsrc_a"), SLICE("0b6f3c1e-51f5"), SLICE("7c3e9f10-aaaa")}, got;
    memset(h->secret, 7, sizeof h->secret);
    h->now.wall_us = INT64_C(999) * 1000000;
    test_case("a credential comes back as it was given");
    struct slice text = credential_make(h, &given, &a);
    CHECK(!credential_read(h, text, &got));
    CHECK(got.end_s == 1000 && slice_eq(got.cloud, given.cloud) && slice_eq(got.workload, given.workload) && slice_eq(got.pod, given.pod));
    test_case("another key");
    other->now = h->now;
    CHECK(credential_read(other, text, &got) != NULL);
    test_case("any byte changed, any byte left out, one more");
    for (size_t i = 0; i < text.len; i++) {
        struct slice changed = arena_dup(&a, text);
        ((char *)(uintptr_t)changed.ptr)[i] ^= 1;
        CHECK(credential_read(h, changed, &got) != NULL);
        CHECK(credential_read(h, slice_head(text, i), &got) != NULL);
    }
    CHECK(credential_read(h, arena_printf(&a, "%.*s0", SLICE_ARG(text)), &got) != NULL);
    CHECK(credential_read(h, SLICE(""), &got) != NULL);
    test_case("its end");
    h->now.wall_us = INT64_C(1000) * 1000000;
    CHECK_STR(slice_of(credential_read(h, text, &got)), "the credential has expired");
    arena_free(&a);
    mem_free(h);
    mem_free(other);
    return test_done();
}
