#include "../test.h"

#include <sys/wait.h>

static bool all_zero(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != 0)
            return false;
    return true;
}

static void test_arena(void)
{
    test_case("arena");
    struct arena a = {0};
    for (int round = 0; round < 3; round++) {
        for (size_t size = 0; size < 3000; size += 7) {
            char *p = arena_alloc(&a, size);
            if (((uintptr_t)p & 15) != 0 || !all_zero(p, size)) {
                CHECK(!"aligned and zeroed");
                break;
            }
            memset(p, 0xee, size);
        }
        CHECK(a.used > 600000);
        arena_reset(&a, round == 1 ? 0 : 64 * KIB);
        CHECK_INT(a.used, 0);
        CHECK((a.first == NULL) == (round == 1));
    }
    char *large = arena_alloc(&a, 10 * MIB);
    CHECK(all_zero(large, 10 * MIB));
    CHECK_STR(arena_printf(&a, "%s-%d", "pod", 3), "pod-3");
    struct slice copy = arena_dup(&a, guarded(SLICE("abc")));
    CHECK_STR(copy, "abc");
    CHECK_INT(copy.ptr[3], 0);
    CHECK(arena_dup(&a, SLICE_NONE).ptr == NULL);
    CHECK(arena_dup(&a, SLICE("")).ptr != NULL);
    CHECK(all_zero(arena_array(&a, 100, 24), 2400));
    arena_free(&a);
    CHECK(a.first == NULL && a.last == NULL);
    arena_free(&a);
}

/* The libc's own, because ours is patched: each way of copying, at the edge of a page, and onto itself. */
static void test_copies(void)
{
    test_case("memcpy and memmove");
    enum { MOST = 1100 };
    static const size_t lengths[] = {0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 500, 1023, 1024, 1025, 1040, MOST};
    char from[MOST + 64], want[MOST + 64], to[MOST + 64];
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (char)(i * 7 + i / 256);
    for (size_t k = 0; k < COUNT_OF(lengths); k++)
        for (size_t shift = 0; shift < 32; shift++) {
            size_t len = lengths[k];
            struct slice s = guarded((struct slice){from + shift, len});
            memset(to, '#', sizeof to);
            memcpy(to + shift, s.ptr, len);
            CHECK(memcmp(to + shift, from + shift, len) == 0 && to[shift + len] == '#' && (shift == 0 || to[shift - 1] == '#'));
            for (size_t at = 0; at < 32; at++) {
                memcpy(to, from, sizeof to);
                memcpy(want, from, sizeof want);
                for (size_t i = 0; i < len; i++)
                    want[at + i] = from[shift + i];
                memmove(to + at, to + shift, len);
                CHECK(memcmp(to, want, sizeof to) == 0);
            }
        }
}

/* Each length into what there is, and into what must be made for it. */
static void test_printf(void)
{
    test_case("printf into an arena and a buf");
    /* What is absent has a NULL pointer, which printf does not look at for no bytes. */
    struct arena none = {0};
    CHECK_SLICE(arena_printf(&none, "<%.*s>", SLICE_ARG(slice_of(NULL))), SLICE("<>"));
    arena_free(&none);

    char text[600];
    memset(text, 'x', sizeof text);
    for (size_t len = 0; len < sizeof text; len++) {
        struct arena a = {0};
        struct buf b;
        buf_init(&b, sizeof text);
        struct slice s = {text, len};
        CHECK_SLICE(arena_printf(&a, "%.*s", SLICE_ARG(s)), s);
        CHECK(buf_printf(&b, "%.*s", SLICE_ARG(s)));
        bool fits = buf_printf(&b, "%.*s", SLICE_ARG(s));
        CHECK(fits == (2 * len <= sizeof text) && b.full == !fits);
        CHECK_INT(b.len, fits ? 2 * len : len);
        CHECK(memcmp(b.ptr, text, b.len) == 0);
        arena_free(&a);
        buf_free(&b);
    }
}

static void test_buf_limit(void)
{
    test_case("buf at its limit");
    struct buf b;
    buf_init(&b, 10);
    CHECK(buf_put(&b, SLICE("12345")));
    CHECK(buf_printf(&b, "%d", 67890));
    CHECK_STR(buf_slice(&b), "1234567890");
    CHECK(buf_put(&b, SLICE("")));
    CHECK(!b.full);
    CHECK(!buf_putc(&b, 'x'));
    CHECK(b.full);
    CHECK_STR(buf_slice(&b), "1234567890");
    CHECK(!buf_put(&b, SLICE(""))); /* sticky */
    CHECK(buf_room(&b, 0) == NULL);
    buf_clear(&b);
    CHECK(!buf_printf(&b, "%s", "12345678901"));
    CHECK_INT(b.len, 0);
    buf_free(&b);
    CHECK_INT(b.max, 10);
    CHECK(buf_put(&b, SLICE("again")));
    buf_free(&b);
    struct buf none;
    buf_init(&none, 0);
    CHECK(buf_put(&none, SLICE("")));
    CHECK(!buf_putc(&none, 'x'));
    buf_free(&none);
}

static void test_buf(void)
{
    test_case("buf");
    struct buf b;
    buf_init(&b, MIB);
    for (int i = 0; i < 10000; i++)
        buf_printf(&b, "%05d,", i);
    CHECK_INT(b.len, 60000);
    CHECK_STR(slice_head(slice_skip(buf_slice(&b), 59994), 6), "09999,");
    buf_drop(&b, 59994);
    CHECK_STR(buf_slice(&b), "09999,");
    buf_drop(&b, 6);
    CHECK_INT(b.len, 0);
    char *room = buf_room(&b, 3);
    memcpy(room, "abc", 3);
    b.len += 3;
    CHECK_STR(buf_slice(&b), "abc");
    buf_shrink(&b, MIB);
    CHECK(b.ptr != NULL && b.len == 0);
    buf_shrink(&b, 100);
    CHECK(b.ptr == NULL && b.max == MIB);
    buf_free(&b);
}

static void test_slab(void)
{
    static const size_t sizes[] = {1, 8, 24, 440, 8192};
    for (size_t k = 0; k < COUNT_OF(sizes); k++) {
        test_case("slab of %zu", sizes[k]);
        enum { N = 2000 };
        static char *records[N];
        struct slab s = {.size = sizes[k]};
        for (int i = 0; i < N; i++) {
            records[i] = slab_alloc(&s);
            if (!all_zero(records[i], s.size) || ((uintptr_t)records[i] & 15) != 0)
                CHECK(!"zeroed and aligned");
            memset(records[i], i, s.size);
        }
        for (int i = 0; i < N; i += 2)
            slab_free(&s, records[i]);
        CHECK_INT(s.count, N / 2);
        for (int i = 0; i < N; i += 2) {
            records[i] = slab_alloc(&s);
            if (!all_zero(records[i], s.size))
                CHECK(!"zeroed again");
            memset(records[i], i, s.size);
        }
        bool kept = true;
        for (int i = 0; i < N; i++)
            kept &= records[i][0] == (char)i && records[i][s.size - 1] == (char)i;
        CHECK(kept);
        for (int i = N - 1; i >= 0; i--)
            slab_free(&s, records[i]);
        CHECK_INT(s.count, 0);
        CHECK(s.pages == NULL); /* all went back */
        slab_free(&s, NULL);
        slab_alloc(&s);
        slab_destroy(&s);
        CHECK(s.pages == NULL);
    }
}

/* A record that no page could hold ends the process, and so does a size that nobody set. */
static void test_slab_size(void)
{
    static const size_t sizes[] = {0, 8193};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        test_case("slab of %zu", sizes[i]);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            struct slab s = {.size = sizes[i]};
            fclose(stderr);
            slab_alloc(&s);
            _exit(0);
        }
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
    }
}

static void test_wipe(void)
{
    test_case("wipe");
    char key[] = "secret";
    mem_wipe(key, sizeof key);
    CHECK(all_zero(key, sizeof key));
    mem_wipe(NULL, 0);
    char *p = mem_resize(mem_alloc(3), 4000);
    CHECK(all_zero(p, 3));
    mem_free(p);
    mem_free(NULL);
}

int main(void)
{
    test_arena();
    test_copies();
    test_printf();
    test_buf_limit();
    test_buf();
    test_slab();
    test_slab_size();
    test_wipe();
    return test_done();
}
