/* mobula ray-cert: written files, their modes, and errors. */
#include "said.h"

#include "../../../src/cli/cli.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define CA "build/test/ray-ca"
#define OUT "build/test/ray-tls"

static void save(const char *path, struct slice text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, text.ptr, text.len) == (ssize_t)text.len);
    close(fd);
}

static void make_ca(void)
{
    struct buf cert, key;
    struct err e = {0};
    int64_t now = clock_now().wall_us;
    buf_init(&cert, 64 * KIB);
    buf_init(&key, 64 * KIB);
    CHECK(tls_issue(&(struct tls_issue){.not_before_us = now - TIME_DAY_US, .not_after_us = now + 400 * TIME_DAY_US}, &cert, &key, &e));
    save(CA "/tls.crt", buf_slice(&cert));
    save(CA "/tls.key", buf_slice(&key));
    buf_free(&cert);
    buf_free(&key);
}

/* said: the command's text on stderr. */
static int command(const char *names, const char *more, char *said, size_t size)
{
    char name[] = "ray-cert", ca[] = "--ca-dir=" CA, out[] = "--out-dir=" OUT, third[4096], fourth[64];
    char *argv[] = {name, ca, out, third, more ? fourth : NULL, NULL};
    snprintf(third, sizeof third, "--names=%s", names);
    snprintf(fourth, sizeof fourth, "%s", more ? more : "");
    return run_said(cli_ray_cert, argv, said, size);
}

static unsigned mode_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_mode & 0777 : 0;
}

static struct tls_identity *written(struct arena *a)
{
    return tls_identity_load(read_file(OUT "/tls.crt", a), read_file(OUT "/tls.key", a), NULL);
}

static void files(void)
{
    struct arena a = {0};
    struct tls_leaf leaf;
    char said[1024];
    test_case("a certificate with all names, and files that only their user may read");
    CHECK_INT(command("localhost,127.0.0.1,,10.1.2.3,fd00::9,c-head-svc.n.svc", NULL, said, sizeof said), STATUS_OK);
    CHECK_STR(slice_of(said), "");
    CHECK(mode_of(OUT "/tls.key") == 0600 && mode_of(OUT "/tls.crt") == 0600 && mode_of(OUT "/ca.crt") == 0600);
    struct tls_identity *id = written(&a);
    CHECK(id && tls_identity_leaf(id, SLICE("fd00::9"), &leaf) && leaf.has_name);
    CHECK(tls_identity_leaf(id, SLICE("c-head-svc.n.svc"), &leaf) && leaf.has_name);
    CHECK(tls_identity_leaf(id, SLICE("10.1.2.4"), &leaf) && !leaf.has_name);
    tls_identity_drop(id);
    CHECK(slice_eq(read_file(OUT "/ca.crt", &a), read_file(CA "/tls.crt", &a)));
    test_case("the files are replaced; --shared makes them readable to every user of the pod");
    struct slice before = read_file(OUT "/tls.key", &a);
    CHECK_INT(command("localhost", "--shared", said, sizeof said), STATUS_OK);
    CHECK(mode_of(OUT "/tls.key") == 0644 && !slice_eq(before, read_file(OUT "/tls.key", &a)));
    arena_free(&a);
}

/* Text beside the certificates counts as well: a bundle may hold comments. */
static void chain(void)
{
    struct arena a = {0};
    struct buf long_ca;
    char said[1024];
    test_case("the CA's file is kept whole behind the certificate, if it is longer than any certificate");
    buf_init(&long_ca, LIMIT_TLS_PEM);
    for (size_t i = 0; i < 70 * KIB; i += 64)
        buf_printf(&long_ca, "%-63s\n", "# a comment of a bundle");
    buf_put(&long_ca, read_file(CA "/tls.crt", &a));
    save(CA "/tls.crt", buf_slice(&long_ca));
    CHECK_INT(command("localhost", NULL, said, sizeof said), STATUS_OK);
    CHECK(slice_ends(read_file(OUT "/tls.crt", &a), buf_slice(&long_ca)));
    buf_free(&long_ca);
    arena_free(&a);
    make_ca();
}

static void trouble(void)
{
    char said[1024], names[4096];
    size_t at = 0;
    test_case("errors");
    CHECK_INT(command("", NULL, said, sizeof said), STATUS_USAGE);
    CHECK(strstr(said, "--names is needed"));
    for (int i = 0; i < 32; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%sn%d", i ? "," : "", i);
    CHECK_INT(command(names, NULL, said, sizeof said), STATUS_OK);
    snprintf(names + at, sizeof names - at, ",more");
    CHECK_INT(command(names, NULL, said, sizeof said), STATUS_ERROR);
    CHECK(strstr(said, "--names has more than 32 names"));
    CHECK(rename(CA "/tls.key", CA "/other") == 0);
    CHECK_INT(command("localhost", NULL, said, sizeof said), STATUS_ERROR);
    CHECK(strstr(said, CA "/tls.key: No such file"));
    save(CA "/tls.key", SLICE("nothing"));
    CHECK_INT(command("localhost", NULL, said, sizeof said), STATUS_ERROR);
    CHECK(strstr(said, "the CA in " CA ": no private key found"));
    make_ca();
}

int main(void)
{
    if (system("rm -rf " CA " " OUT " && mkdir -p " CA " " OUT) != 0)
        fatal("mkdir");
    make_ca();
    files();
    chain();
    trouble();
    return test_done();
}
