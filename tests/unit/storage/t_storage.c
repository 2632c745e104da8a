/* Sizes of parts, and objects that are written to files. tests/e2e/test_storage.py has the commands against real stores. */
#include "../canned.h"
#include "../test.h"

#include <mobula/storage.h>

#include <stdlib.h>
#include <sys/stat.h>

#define FOLDER "build/test/t_storage"

/* ---- objects in files ---- */

static void save(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

/* The command `get` of an object in a store that gives this answer. */
static bool get(const struct canned_answer *answer, const char *file, struct err *e)
{
    struct canned c;
    struct storage s = {0};
    struct arena a = {0};
    struct cloud_place at;
    canned_start(&c, answer, 1);
    struct storage_options o = {.endpoint = arena_printf(&a, "http://127.0.0.1:%u", c.port)};
    *e = (struct err){0};
    bool well =
        cloud_place(SLICE("s3://bucket/key"), &at, e) && storage_open(&s, &o, &at, e) && storage_get_file(&s, at.key, slice_of(file), e);
    storage_close(&s);
    canned_stop(&c);
    CHECK(slice_starts(slice_of(c.heard), SLICE("GET /bucket/key")) || !well);
    arena_free(&a);
    return well;
}

static void files(void)
{
    static const char file[] = FOLDER "/file", part[] = FOLDER "/file.part";
    static const struct canned_answer whole = {.bytes = SLICE("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")},
                                      half = {.bytes = SLICE("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhe")},
                                      damaged = {.bytes = SLICE("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n"
                                                                "x-amz-meta-crc32c: 00000000\r\n\r\nhello")},
                                      absent = {.bytes = SLICE("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")};
    struct arena a = {0};
    struct err e = {0};
    setenv("AWS_ACCESS_KEY_ID", "AK", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "SK", 1);
    if (system("rm -rf " FOLDER " && mkdir -p " FOLDER) != 0)
        fatal("mkdir");
    test_case("an object in a file");
    if (!CHECK(get(&whole, file, &e)))
        printf("  %s\n", e.text);
    CHECK_STR(read_file(file, &a), "hello");
    const struct canned_answer *bad[] = {&damaged, &absent, &half};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        test_case("an object that does not come whole (%zu) leaves the file as it was", i);
        save(file, "precious");
        CHECK(!get(bad[i], file, &e) && e.code != ERR_NONE);
        CHECK_STR(read_file(file, &a), "precious");
        CHECK(access(part, F_OK) != 0);
    }
    test_case("a folder that is missing");
    CHECK(!get(&whole, FOLDER "/none/file", &e) && slice_has(slice_of(e.text), FOLDER "/none/file.part: No such file"));
    test_case("a device is written directly");
    CHECK(get(&whole, "/dev/null", &e) && access("/dev/null.part", F_OK) != 0);
    CHECK(!get(&whole, "/dev/full", &e) && slice_has(slice_of(e.text), "/dev/full: No space left"));
    arena_free(&a);
}

int main(void)
{
    files();
    static const uint64_t sizes[] = {CLOUD_PART + 1, (uint64_t)CLOUD_PART * LIMIT_CLOUD_PARTS, (uint64_t)CLOUD_PART * LIMIT_CLOUD_PARTS + 1,
                                     5ull * 1024 * 1024 * MIB, 5ull * 1024 * 1024 * MIB - 1};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        uint64_t part = storage_part(sizes[i]), parts = (sizes[i] + part - 1) / part;
        test_case("a file of %llu bytes", (unsigned long long)sizes[i]);
        CHECK(parts <= LIMIT_CLOUD_PARTS && part >= CLOUD_PART);
        CHECK(part == CLOUD_PART || sizes[i] > (uint64_t)CLOUD_PART * LIMIT_CLOUD_PARTS);
    }
    test_case("the largest file that goes in parts of the least size");
    CHECK_INT(storage_part((uint64_t)CLOUD_PART * LIMIT_CLOUD_PARTS), CLOUD_PART);
    CHECK(storage_part((uint64_t)CLOUD_PART * LIMIT_CLOUD_PARTS + 1) > CLOUD_PART);
    return test_done();
}
