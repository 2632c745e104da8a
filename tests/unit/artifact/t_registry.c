/* An image goes to a registry on loopback that answers as its case says. tests/e2e/test_bundle.py has Debian's. */
#include "../test.h"

#include <mobula/artifact.h>
#include <mobula/tls.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIECE = 4 * MIB, LARGE = PIECE + 5 };

/* ---- the registry: one connection after another, one request on each ---- */

struct answer {
    const char *method;
    int status;
    const char *location; /* NULL: where the upload goes */
};

struct server {
    int listener;
    uint16_t port;
    const struct answer *other; /* in the place of what a registry without blobs says; ended by a NULL method */
    char heard[512];            /* "HEAD POST PATCH 0-4 PUT " */
};

static void answer(struct server *s, int fd, struct slice method)
{
    static const struct answer usual[] = {{"HEAD", 404, ""}, {"POST", 202, NULL}, {"PATCH", 202, NULL}, {"PUT", 201, ""}, {NULL, 0, NULL}};
    const struct answer *found = NULL;
    char text[512];
    for (const struct answer *a = usual; a->method; a++)
        found = slice_is(method, a->method) ? a : found;
    for (const struct answer *a = s->other; a && a->method; a++)
        found = slice_is(method, a->method) ? a : found;
    if (found)
        snprintf(text, sizeof text, "HTTP/1.1 %d X\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", found->status,
                 found->location ? found->location : "/v2/upload?state=1");
    if (!found || send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
        printf("  no answer to %.*s\n", SLICE_ARG(method));
}

/* The value of a header, up to the end of its line. */
static struct slice header(struct slice head, const char *name)
{
    ptrdiff_t at = slice_find_text(head, name);
    struct slice rest = at < 0 ? SLICE_NONE : slice_skip(head, (size_t)at + strlen(name));
    return slice_cut(&rest, '\r');
}

static void converse(struct server *s, int fd, struct buf *in)
{
    ssize_t n;
    size_t want = 0;
    ptrdiff_t end = -1;
    struct slice head = SLICE("");
    buf_clear(in);
    do {
        char *to = buf_room(in, 64 * KIB);
        n = to ? recv(fd, to, 64 * KIB, 0) : -1;
        in->len += n > 0 ? (size_t)n : 0;
        if (end < 0 && (end = slice_find_text(buf_slice(in), "\r\n\r\n")) >= 0) {
            int64_t length = 0;
            slice_int(header(buf_slice(in), "Content-Length: "), &length);
            want = (size_t)end + 4 + (size_t)length;
        }
    } while (n > 0 && (end < 0 || in->len < want));
    head = slice_head(buf_slice(in), end < 0 ? 0 : (size_t)end);
    struct slice rest = head, method = slice_cut(&rest, ' '), range = header(head, "\r\nContent-Range: ");
    size_t had = strlen(s->heard);
    snprintf(s->heard + had, sizeof s->heard - had, "%.*s%s%.*s ", SLICE_ARG(method), slice_empty(range) ? "" : " ", SLICE_ARG(range));
    answer(s, fd, method);
    close(fd);
}

static void *serve(void *arg)
{
    struct server *s = arg;
    struct buf in;
    int fd;
    buf_init(&in, 2 * LARGE);
    while ((fd = accept(s->listener, NULL, NULL)) >= 0)
        converse(s, fd, &in);
    buf_free(&in);
    return NULL;
}

/* ---- the archive ---- */

static void put_file(struct buf *tar, const char *name, struct slice content)
{
    static const char zeros[TAR_BLOCK];
    char block[TAR_BLOCK];
    tar_header(block, name, content.len, 0, 0644);
    buf_put(tar, (struct slice){block, sizeof block});
    buf_put(tar, content);
    buf_put(tar, (struct slice){zeros, (TAR_BLOCK - content.len % TAR_BLOCK) % TAR_BLOCK});
}

static void put_blob(struct buf *tar, struct slice content, char digest[TLS_SHA256_HEX])
{
    char name[100];
    tls_sha256_hex(content, digest);
    snprintf(name, sizeof name, "blobs/sha256/%s", digest);
    put_file(tar, name, content);
}

static void make_archive(struct buf *tar, bool image)
{
    char digest[TLS_SHA256_HEX], text[512];
    char *large = mem_alloc(LARGE);
    put_blob(tar, (struct slice){large, LARGE}, digest);
    mem_free(large);
    snprintf(text, sizeof text, "{\"layers\":[{\"digest\":\"sha256:%s\"}]}", digest);
    put_blob(tar, slice_of(text), digest);
    snprintf(text, sizeof text,
             "{\"manifests\":[{\"digest\":\"sha256:%s\",\"mediaType\":\"m\",\"annotations\":{\"org.opencontainers.image.ref.name\":"
             "\"ray:2\"}}]}",
             digest);
    put_file(tar, "index.json", image ? slice_of(text) : SLICE("{\"manifests\":[]}"));
}

/* ---- the cases ---- */

static void pushes(struct server *s, struct slice tar, struct slice empty)
{
    static const struct {
        const char *what;
        struct answer other[3];
        const char *heard, *error; /* error NULL: the image is there */
        bool empty;
    } cases[] = {
        {"a blob goes in pieces, and each says which it is",
         {{NULL, 0, NULL}},
         "HEAD POST PATCH 0-4194303 PATCH 4194304-4194308 PUT PUT ",
         NULL,
         false},
        {"a blob that lies in object storage is there", {{"HEAD", 307, "https://bucket.example/x"}}, "HEAD PUT ", NULL, false},
        {"the same by an older registry", {{"HEAD", 302, "https://bucket.example/x"}}, "HEAD PUT ", NULL, false},
        {"a registry that has moved",
         {{"HEAD", 301, "https://elsewhere.example/"}},
         "HEAD ",
         "it has moved: give the address that it names",
         false},
        {"uploads to another host", {{"POST", 202, "https://elsewhere.example/v2/upload"}}, "HEAD POST ", "another host", false},
        {"uploads to nowhere", {{"POST", 202, ""}}, "HEAD POST ", "no Location", false},
        {"a place that is no path", {{"PATCH", 202, "upload"}}, "HEAD POST PATCH 0-4194303 ", "no Location", false},
        {"an archive without an image", {{NULL, 0, NULL}}, "", "a.tar: there is no image in it", true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char to[64];
        struct err e = {0};
        struct buf out;
        buf_init(&out, KIB);
        test_case("%s", cases[i].what);
        s->other = cases[i].other;
        s->heard[0] = '\0';
        snprintf(to, sizeof to, "http://127.0.0.1:%u/p", s->port);
        struct registry *r = registry_open(&(struct registry_options){.to = slice_of(to), .timeout_ms = 20000}, &e);
        bool well = r && registry_push(r, cases[i].empty ? empty : tar, "a.tar", &out, &e);
        registry_close(r);
        CHECK_INT(well, cases[i].error == NULL);
        CHECK(cases[i].error ? strstr(e.text, cases[i].error) != NULL : out.len > 0 && e.code == ERR_NONE);
        if (cases[i].error && !strstr(e.text, cases[i].error))
            printf("  %s\n", e.text);
        CHECK_STR(slice_of(s->heard), cases[i].heard);
        buf_free(&out);
    }
}

/* The archive in a file. */
static void files(struct server *s, struct slice tar)
{
    static const char path[] = "build/test/t_registry.tar";
    char to[64];
    struct err e = {0};
    struct buf out;
    FILE *f = fopen(path, "w");
    buf_init(&out, KIB);
    CHECK(f && fwrite(tar.ptr, 1, tar.len, f) == tar.len && fclose(f) == 0);
    snprintf(to, sizeof to, "http://127.0.0.1:%u/p", s->port);
    s->other = NULL;
    struct registry *r = registry_open(&(struct registry_options){.to = slice_of(to), .timeout_ms = 20000}, &e);
    test_case("the archive of a file");
    CHECK(r && registry_push_file(r, slice_of(path), &out, &e) && slice_has(buf_slice(&out), "/p/ray:2"));
    test_case("a file that is missing, an empty one, and a folder");
    CHECK(!registry_push_file(r, SLICE("build/test/none.tar"), &out, &e));
    CHECK_STR(slice_of(e.text), "build/test/none.tar: No such file or directory: want an OCI archive");
    e = (struct err){0};
    CHECK((f = fopen(path, "w")) && fclose(f) == 0 && !registry_push_file(r, slice_of(path), &out, &e));
    e = (struct err){0};
    CHECK(!registry_push_file(r, SLICE("build/test"), &out, &e) && slice_has(slice_of(e.text), "want an OCI archive"));
    registry_close(r);
    buf_free(&out);
    unlink(path);
}

/* Nothing of an address that has a password in it is said. */
static void addresses(void)
{
    static const char *const cases[] = {"https://robot:hush@registry.example", "http://robot:hush@registry.example:5000/p",
                                        "https://robot:hush@registry.example/p"};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err e = {0};
        test_case("a registry with a user, %zu", i);
        CHECK(!registry_open(&(struct registry_options){.to = slice_of(cases[i]), .timeout_ms = 1000}, &e));
        CHECK(strstr(e.text, "--to: want http[s]://HOST[:PORT][/PREFIX], without a user") || !printf("  %s\n", e.text));
        CHECK(!strstr(e.text, "hush"));
    }
}

int main(void)
{
    struct server s = {.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    struct buf tar, empty;
    pthread_t thread;
    buf_init(&tar, 2 * LARGE);
    buf_init(&empty, 2 * LARGE);
    make_archive(&tar, true);
    make_archive(&empty, false);
    if (bind(s.listener, (struct sockaddr *)&at, len) != 0 || getsockname(s.listener, (struct sockaddr *)&at, &len) != 0 ||
        listen(s.listener, 16) != 0)
        fatal("no port");
    s.port = ntohs(at.sin_port);
    pthread_create(&thread, NULL, serve, &s);
    addresses();
    pushes(&s, buf_slice(&tar), buf_slice(&empty));
    files(&s, buf_slice(&tar));
    shutdown(s.listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(s.listener);
    buf_free(&tar);
    buf_free(&empty);
    return test_done();
}
