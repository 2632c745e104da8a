/* Stored logs are read from an S3 server on loopback. tests/e2e/test_shipped_logs.py has a real one, and the command's flags. */
#include "texts.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the bucket ---- */

#define UID "01234567-89ab-cdef-0123-456789abcdef"
#define HEAD "c/head." UID
#define BATCH(generation, start) "/000000000000000" generation "-00000000000" start ".gz"

/* In the order of their names, as a list has them. */
static const struct {
    const char *key, *modified, *content;
} objects[] = {
    {"logs/ns/" HEAD "/raylet.err" BATCH("2", "7"), "2027-01-15T01:00:02.000Z", "late\n"},
    {"logs/ns/" HEAD "/raylet.out" BATCH("1", "0"), "2027-01-15T01:00:00.000Z", "one\n"},
    {"logs/ns/" HEAD "/raylet.out" BATCH("1", "4"), "2027-01-15T01:00:01.000Z", "two\n"},
    {"logs/ns/train-abcde/head/job-driver-raysubmit_1.log" BATCH("3", "0"), "2027-01-15T02:00:00.000Z", "first attempt\n"},
    {"logs/ns/train-fghij/head/job-driver-raysubmit_2.log" BATCH("4", "0"), "2027-01-15T03:00:00.000Z", "second attempt\n"},
    {"logs/ns/trainer/head/job-driver-raysubmit_3.log" BATCH("5", "0"), "2027-01-15T04:00:00.000Z", "of another job\n"},
};

static void put_list(struct slice prefix, bool deep, struct buf *out)
{
    struct slice last = SLICE("");
    buf_put(out, SLICE("<ListBucketResult><IsTruncated>false</IsTruncated>"));
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        struct slice key = slice_of(objects[i].key);
        ptrdiff_t folder = slice_starts(key, prefix) ? slice_find(slice_skip(key, prefix.len), '/') : -1;
        struct slice above = slice_head(key, prefix.len + (size_t)(folder + 1));
        if (slice_starts(key, prefix) && deep)
            buf_printf(out, "<Contents><Key>%s</Key><LastModified>%s</LastModified><Size>%zu</Size></Contents>", objects[i].key,
                       objects[i].modified, strlen(objects[i].content));
        if (!deep && folder >= 0 && !slice_eq(above, last))
            buf_printf(out, "<CommonPrefixes><Prefix>%.*s</Prefix></CommonPrefixes>", SLICE_ARG(above));
        last = above;
    }
    buf_put(out, SLICE("</ListBucketResult>"));
}

/* The value of a parameter of the target; its slashes are %2F. */
static struct slice parameter(struct slice target, const char *name, struct arena *a)
{
    ptrdiff_t at = slice_find_text(target, name);
    struct slice rest = at < 0 ? SLICE_NONE : slice_skip(target, (size_t)at + strlen(name)), text = slice_cut(&rest, '&'), out = SLICE("");
    for (ptrdiff_t slash; (slash = slice_find_text(text, "%2F")) >= 0; text = slice_skip(text, (size_t)slash + 3))
        out = arena_printf(a, "%.*s%.*s/", SLICE_ARG(out), (int)slash, text.ptr);
    return arena_printf(a, "%.*s%.*s", SLICE_ARG(out), SLICE_ARG(text));
}

static void answer(int fd, struct slice target)
{
    struct arena a = {0};
    struct buf body, all;
    buf_init(&body, MIB);
    buf_init(&all, MIB);
    if (slice_find(target, '?') >= 0)
        put_list(parameter(target, "prefix=", &a), slice_find_text(target, "delimiter=") < 0, &body);
    else
        for (size_t i = 0; i < COUNT_OF(objects); i++)
            if (slice_ends(target, slice_of(objects[i].key)))
                buf_put(&body, slice_of(objects[i].content));
    buf_printf(&all, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%.*s", body.len, SLICE_ARG(buf_slice(&body)));
    if (send(fd, all.ptr, all.len, MSG_NOSIGNAL) < 0)
        printf("  no answer to %.*s\n", SLICE_ARG(target));
    buf_free(&body);
    buf_free(&all);
    arena_free(&a);
}

static void *serve(void *arg)
{
    char in[8192];
    int fd;
    while ((fd = accept(*(int *)arg, NULL, NULL)) >= 0) {
        size_t len = 0;
        ssize_t n;
        while (slice_find_text((struct slice){in, len}, "\r\n\r\n") < 0 && len < sizeof in &&
               (n = recv(fd, in + len, sizeof in - len, 0)) > 0)
            len += (size_t)n;
        struct slice rest = {in, len};
        slice_cut(&rest, ' ');
        answer(fd, slice_cut(&rest, ' '));
        close(fd);
    }
    return NULL;
}

/* ---- the cases ---- */

static struct logs_bucket_options bucket(struct slice endpoint)
{
    return (struct logs_bucket_options){.url = SLICE("s3://bucket"), .storage = {.endpoint = endpoint}};
}

static void reads(struct slice endpoint)
{
    static const struct {
        const char *what, *name, *made, *node, *file, *text, *lines, *error;
        bool deaf;
    } cases[] = {
        {.what = "the files of a cluster",
         .name = "c",
         .lines = "2027-01-15T01:00:02             5 " HEAD "/raylet.err\n2027-01-15T01:00:01             8 " HEAD "/raylet.out\n"},
        {.what = "clusters of a job",
         .name = "train",
         .made = "rayjob.",
         .lines = "2027-01-15T02:00:00            14 train-abcde/head/job-driver-raysubmit_1.log\n"
                  "2027-01-15T03:00:00            15 train-fghij/head/job-driver-raysubmit_2.log\n"},
        {.what = "a file of a pod", .name = "c", .node = "head", .file = "raylet.out", .text = "one\ntwo\n"},
        {.what = "files by a pattern, with what is missing",
         .name = "c",
         .file = "*",
         .text = "late\none\ntwo\n",
         .lines = "mobula: " HEAD "/raylet.err: 7 bytes before byte 7 are not in the bucket\n==> " HEAD "/raylet.err <==\n==> " HEAD
                  "/raylet.out <==\n"},
        {.what = "no such file",
         .name = "c",
         .file = "gcs.out",
         .error = "s3://bucket has logs of c, but none that --node, --file and --since leave: without --file they are listed"},
        {.what = "no such cluster", .name = "d", .error = "s3://bucket has no such logs below logs/ns/d/: "},
        {.what = "the output fails",
         .name = "c",
         .node = "head",
         .file = "raylet.out",
         .error = "standard output cannot be written to",
         .deaf = true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct texts got = {.fails = cases[i].deaf};
        const struct logs_sink sink = texts_sink(&got);
        struct logs_bucket_options o = bucket(endpoint);
        struct err e = {0};
        const char *error = cases[i].error ? cases[i].error : "";
        test_case("%s", cases[i].what);
        o.node = slice_of(cases[i].node);
        o.file = slice_of(cases[i].file);
        CHECK_INT(logs_bucket_read(&o, &sink, SLICE("ns"), slice_of(cases[i].name), cases[i].made, &e), !cases[i].error);
        CHECK_STR(slice_head(slice_of(e.text), cases[i].error ? strlen(error) : sizeof e.text), error);
        CHECK_STR(texts_of(&got), cases[i].text ? cases[i].text : "");
        CHECK_STR(slice_of(got.lines), cases[i].lines ? cases[i].lines : "");
    }
}

static void drivers(struct slice endpoint)
{
    static const struct {
        const char *what, *cluster, *id, *text; /* text NULL: the bucket has no log of that job */
        uint64_t skip;
    } cases[] = {
        {"of the last attempt", "train", "", "second attempt\n", 0},
        {"of a submission", "train-abcde", "raysubmit_1", "first attempt\n", 0},
        {"the rest of it", "train-abcde", "raysubmit_1", "attempt\n", 6},
        {"none of it is left", "train-abcde", "raysubmit_1", "", 14},
        {"of another submission", "train-abcde", "raysubmit_2", NULL, 0},
        {"of a job without logs", "tr", "", NULL, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct texts got = {0};
        const struct logs_sink sink = texts_sink(&got);
        const struct logs_bucket_options o = bucket(endpoint);
        struct err e = {0};
        test_case("driver's log %s", cases[i].what);
        CHECK_INT(logs_bucket_driver(&o, &sink, SLICE("ns"), slice_of(cases[i].cluster), slice_of(cases[i].id), cases[i].skip, &e),
                  cases[i].text != NULL);
        CHECK_INT(e.code, ERR_NONE);
        CHECK_STR(texts_of(&got), cases[i].text ? cases[i].text : "");
        CHECK_INT(got.lines_len, 0);
    }
}

static void downloads(struct slice endpoint)
{
    char folder[] = "/tmp/mobula-logs-XXXXXX";
    struct texts got = {0};
    const struct logs_sink sink = texts_sink(&got);
    struct logs_bucket_options o = bucket(endpoint);
    struct err e = {0};
    struct arena a = {0};
    test_case("a download");
    if (!CHECK(mkdtemp(folder) != NULL))
        return;
    o.download = slice_of(folder);
    CHECK(logs_bucket_read(&o, &sink, SLICE("ns"), SLICE("c"), NULL, &e));
    CHECK_STR(read_file(arena_printf(&a, "%s/" HEAD "/raylet.out", folder).ptr, &a), "one\ntwo\n");
    CHECK_STR(read_file(arena_printf(&a, "%s/" HEAD "/raylet.err", folder).ptr, &a), "late\n");
    CHECK_INT(got.len, 0);
    CHECK(slice_find_text(slice_of(got.lines), arena_printf(&a, "mobula: 2 files below %s\n", folder).ptr) >= 0);
    static const char *const made[] = {"/" HEAD "/raylet.out", "/" HEAD "/raylet.err", "/" HEAD, "/c", ""};
    for (size_t i = 0; i < COUNT_OF(made); i++)
        CHECK(remove(arena_printf(&a, "%s%s", folder, made[i]).ptr) == 0);
    arena_free(&a);
}

int main(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pthread_t thread;
    if (listener < 0 || bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 8) != 0 ||
        getsockname(listener, (struct sockaddr *)&at, &len) != 0 || pthread_create(&thread, NULL, serve, &listener) != 0)
        fatal("no server on loopback");
    setenv("AWS_ACCESS_KEY_ID", "id", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    setenv("NO_PROXY", "127.0.0.1", 1);
    char endpoint[64];
    snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u", ntohs(at.sin_port));
    reads(slice_of(endpoint));
    drivers(slice_of(endpoint));
    downloads(slice_of(endpoint));
    shutdown(listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(listener);
    return test_done();
}
