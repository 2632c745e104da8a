/* Which log files are found, in what batches they are read, and what is lost. tests/e2e/test_shipped_logs.py stores them. */
#include "../test.h"

#include <mobula/ship.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOGS "/session_2026-01-01_1/logs"

struct folder {
    char path[64], made[256];
    struct ship_files t;
    struct now now;
    struct buf out;
};

static const char *in(struct folder *f, const char *name)
{
    snprintf(f->made, sizeof f->made, "%s%s", f->path, name);
    return f->made;
}

static void begin(struct folder *f)
{
    *f = (struct folder){.path = "/tmp/mobula-ship-XXXXXX", .now = {.mono_ms = 1000, .wall_us = 1000000}};
    if (!CHECK(mkdtemp(f->path) != NULL))
        exit(1);
    mkdir(in(f, "/session_2026-01-01_1"), 0755);
    mkdir(in(f, LOGS), 0755);
    f->t.root = slice_of(f->path);
    buf_init(&f->out, LIMIT_SHIP_BATCH);
}

static void end(struct folder *f)
{
    char command[128];
    ship_files_free(&f->t);
    buf_free(&f->out);
    snprintf(command, sizeof command, "rm -r %s", f->path);
    CHECK_INT(system(command), 0);
}

static void append(struct folder *f, const char *name, const char *text, size_t times)
{
    int fd = open(in(f, name), O_WRONLY | O_CREAT | O_APPEND, 0644);
    for (size_t i = 0; CHECK(fd >= 0) && i < times; i++)
        CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static struct ship_file *due(struct folder *f, bool all)
{
    int64_t next_ms;
    ship_files_scan(&f->t, f->now);
    return ship_files_due(&f->t, 60000, all, f->now, &next_ms);
}

static void test_names(void)
{
    static const char *const bad[] = {"",
                                      "a.log",
                                      "/0123456789abcdef-000000000001.gz",
                                      "a/0123456789abcdeg-000000000001.gz",
                                      "a/0123456789abcde-000000000001.gz",
                                      "a/0123456789abcdef-x.gz",
                                      "a/0123456789abcdef--1.gz",
                                      "a/0123456789abcdef-1",
                                      "a/0123456789abcdef-.gz",
                                      "a/0123456789abcdef-99999999999999999999.gz"};
    struct arena a = {0};
    struct ship_file f = {.generation = 0x6b0a9389e9febfb7, .name = (char[]){"serve/a.log"}, .offset = 5000000000};
    struct slice name, text = ship_object(SLICE("p/"), &f, &a);
    uint64_t generation, start;
    test_case("the name of an object is read as it was written");
    CHECK_STR(text, "p/serve/a.log/6b0a9389e9febfb7-005000000000.gz");
    CHECK(ship_object_read(slice_skip(text, 2), &name, &generation, &start));
    CHECK_STR(name, "serve/a.log");
    CHECK(generation == f.generation && start == f.offset);
    test_case("names that are not of a log");
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (!CHECK(!ship_object_read(guarded(slice_of(bad[i])), &name, &generation, &start)))
            printf("  %s\n", bad[i]);
    arena_free(&a);
}

static void test_batches(void)
{
    struct folder f;
    begin(&f);
    append(&f, LOGS "/a.log", "0123456789abcde\n", LIMIT_SHIP_BATCH / 16 + 2);
    append(&f, LOGS "/a.log", "half", 1);
    test_case("a whole batch is read at once, and ends with a line");
    struct ship_file *one = due(&f, false);
    if (!CHECK(one && ship_file_read(&f.t, one, false, &f.out)))
        exit(1);
    CHECK_INT(f.out.len, LIMIT_SHIP_BATCH);
    ship_file_shipped(&f.t, one, f.out.len, f.now);
    test_case("the rest waits for more, or for its time");
    CHECK(due(&f, false) == NULL);
    f.now.mono_ms += 60000;
    one = due(&f, false);
    CHECK(one && ship_file_read(&f.t, one, false, &f.out));
    CHECK_STR(buf_slice(&f.out), "0123456789abcde\n0123456789abcde\n");
    ship_file_shipped(&f.t, one, one->offset + f.out.len, f.now);
    test_case("at the end of the pod the last line is read, although it has no end");
    one = due(&f, true);
    CHECK(one && ship_file_read(&f.t, one, true, &f.out));
    CHECK_STR(buf_slice(&f.out), "half");
    ship_file_shipped(&f.t, one, one->offset + f.out.len, f.now);
    CHECK(due(&f, true) == NULL && f.t.open == 0);
    test_case("a renamed file is the same file, by its first name");
    char from[256];
    snprintf(from, sizeof from, "%s%s", f.path, LOGS "/a.log");
    CHECK_INT(rename(from, in(&f, LOGS "/a.1.log")), 0);
    append(&f, LOGS "/a.1.log", "more\n", 1);
    one = due(&f, true);
    CHECK(one && strcmp(one->name, "a.log") == 0 && one->offset == (LIMIT_SHIP_BATCH / 16 + 2) * 16 + 4);
    end(&f);
}

static void test_lost(void)
{
    struct folder f;
    begin(&f);
    append(&f, LOGS "/a.log", "one\ntwo\n", 1);
    struct ship_file *one = due(&f, true);
    test_case("a file that is removed before it was shipped is read all the same");
    unlink(in(&f, LOGS "/a.log"));
    for (int i = 0; i < 10; i++)
        one = due(&f, true);
    CHECK(one && ship_file_read(&f.t, one, true, &f.out) && f.t.lost_bytes == 0);
    CHECK_STR(buf_slice(&f.out), "one\ntwo\n");
    test_case("unless more is unshipped of removed files than LIMIT_SHIP_HELD: it is counted, in bytes and lines");
    CHECK_INT(ftruncate(one->fd, LIMIT_SHIP_HELD), -1); /* it was opened to be read only */
    one->size = LIMIT_SHIP_HELD;
    CHECK(due(&f, true) == one);
    one->size = LIMIT_SHIP_HELD + 1ull;
    CHECK(due(&f, true) == NULL);
    CHECK_INT(f.t.lost_bytes, LIMIT_SHIP_HELD + 1ull);
    CHECK_INT(f.t.lost_lines, 2);
    end(&f);
}

static void test_limits(void)
{
    struct folder f;
    char name[LIMIT_SHIP_NAME + 16];
    begin(&f);
    test_case("as many files as there may be, and one more");
    for (int i = 0; i <= LIMIT_SHIP_FILES; i++) {
        snprintf(name, sizeof name, LOGS "/f%d", i);
        append(&f, name, "x\n", 1);
        if (i == LIMIT_SHIP_FILES - 1) {
            due(&f, true);
            CHECK_INT(f.t.left_out, 0);
        }
    }
    CHECK(due(&f, true) != NULL);
    CHECK_INT(f.t.left_out, 1);
    CHECK_INT(f.t.count, LIMIT_SHIP_FILES);
    CHECK_INT(f.t.open, SHIP_OPEN);
    end(&f);
    begin(&f);
    test_case("names that no object can have, links and folders are left out");
    append(&f, LOGS "/a\nb", "x\n", 1);
    CHECK_INT(symlink("/etc/passwd", in(&f, LOGS "/link")), 0);
    CHECK(due(&f, true) == NULL && f.t.left_out == 1);
    test_case("a name as long as it may be, and one byte longer");
    char deep[LIMIT_SHIP_NAME + 64] = LOGS;
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(deep);
        memset(deep + n, 'd', 201);
        deep[n] = '/';
        deep[n + 201] = '\0';
        char whole[LIMIT_SHIP_NAME + 128];
        snprintf(whole, sizeof whole, "%s%s", f.path, deep);
        CHECK_INT(mkdir(whole, 0755), 0);
    }
    char file[2 * LIMIT_SHIP_NAME], path[2 * LIMIT_SHIP_NAME + 64];
    for (int extra = 0; extra < 2; extra++) {
        snprintf(file, sizeof file, "%s/%.*s", deep, LIMIT_SHIP_NAME - 402 + extra,
                 "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff");
        snprintf(path, sizeof path, "%s%s", f.path, file);
        int fd = open(path, O_WRONLY | O_CREAT, 0644);
        CHECK(fd >= 0 && write(fd, "x\n", 2) == 2);
        close(fd);
        due(&f, true);
        CHECK_INT(f.t.left_out, 1 + extra);
    }
    end(&f);
}

int main(void)
{
    log_global.level = LOG_ERROR;
    test_names();
    test_batches();
    test_lost();
    test_limits();
    return test_done();
}
