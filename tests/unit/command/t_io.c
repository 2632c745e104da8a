#include "../test.h"

#include <mobula/command.h>
#include <mobula/ray.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A new file of so many bytes; its name is in path. */
static void make_file(char *path, size_t size)
{
    int fd = mkstemp(path);
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0)
        fatal("no temporary file");
    close(fd);
}

static void sizes(struct arena *a)
{
    static const size_t cases[] = {0, 1, 255, 256, 257, LIMIT_YAML_INPUT, LIMIT_YAML_INPUT + 1};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("file of %zu bytes", cases[i]);
        char path[] = "/tmp/mobula-t_io-XXXXXX";
        struct slice text = SLICE_NONE;
        struct err e = {0};
        make_file(path, cases[i]);
        bool fits = cases[i] <= LIMIT_YAML_INPUT;
        CHECK_INT(cli_read_file(slice_of(path), a, &text, &e), fits);
        CHECK_INT(text.len, fits ? cases[i] : 0);
        CHECK_INT(e.code, fits ? ERR_NONE : ERR_LIMIT);
        unlink(path);
        arena_reset(a, 0);
    }
}

static void refused(struct arena *a)
{
    struct slice text;
    struct err e = {0};
    test_case("no file");
    CHECK(!cli_read_file(SLICE("/no/such/file"), a, &text, &e));
    CHECK_STR(slice_of(e.text), "/no/such/file: No such file or directory");
    test_case("a folder");
    e = (struct err){0};
    CHECK(!cli_read_file(SLICE("/tmp"), a, &text, &e));
    CHECK_STR(slice_of(e.text), "/tmp: Is a directory");
}

/* Standard input, which comes in pieces. */
static void standard_input(struct arena *a)
{
    test_case("standard input");
    int fds[2], kept = dup(STDIN_FILENO);
    if (pipe(fds) != 0 || kept < 0 || dup2(fds[0], STDIN_FILENO) < 0)
        fatal("no pipe");
    CHECK_INT(write(fds[1], "one ", 4), 4);
    CHECK_INT(write(fds[1], "two", 3), 3);
    close(fds[0]);
    close(fds[1]);
    struct slice text;
    struct err e = {0};
    CHECK(cli_read_file(SLICE("-"), a, &text, &e));
    CHECK_STR(text, "one two");
    dup2(kept, STDIN_FILENO);
    close(kept);
}

static int held(unsigned closed)
{
    struct err e = {0};
    char byte;
    struct stat before[3], now;
    for (int fd = 0; fd < 3; fd++)
        if (!(closed >> fd & 1) && fstat(fd, &before[fd]) != 0)
            return 1;
    if (!cli_hold_standard(&e))
        return 2;
    for (int fd = 0; fd < 3; fd++)
        if (!(closed >> fd & 1) && (fstat(fd, &now) != 0 || now.st_ino != before[fd].st_ino))
            return 3; /* not ours to change */
    int fds[2];
    if (pipe(fds) != 0 || fds[0] < 3)
        return 4;
    if ((closed & 1) && read(0, &byte, 1) >= 0)
        return 5;
    for (int fd = 1; fd < 3; fd++)
        if ((closed >> fd & 1) && write(fd, "x", 1) >= 0)
            return 6;
    return 0;
}

/* In a child with these closed. Returns the number of the first thing that is wrong; 0: nothing is. */
static int in_child(unsigned closed)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        for (int fd = 0; fd < 3; fd++)
            if (closed >> fd & 1)
                close(fd);
        _exit(held(closed));
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void closed_at_start(void)
{
    for (unsigned closed = 0; closed < 8; closed++) {
        test_case("standard files that are closed at start (%u): nothing that is opened becomes one of them", closed);
        CHECK_INT(in_child(closed), 0);
    }
}

/* What a server said is a line for a terminal and nothing more. */
static void failure(void)
{
    struct err e = {0};
    char said[256] = "";
    int fds[2], kept = dup(STDERR_FILENO);
    test_case("an error with a server's words in it");
    err_set(&e, ERR_STATUS,
            "refused: \x1b]0;a\x07\n\xc2\x9b"
            "2Jb\xff \xc3\xa4");
    if (pipe(fds) != 0 || kept < 0 || dup2(fds[1], STDERR_FILENO) < 0)
        fatal("no pipe");
    int status = cli_fail(&e);
    dup2(kept, STDERR_FILENO);
    close(fds[1]);
    CHECK_INT(status, STATUS_ERROR);
    CHECK(read(fds[0], said, sizeof said - 1) > 0);
    CHECK_STR(slice_of(said), "mobula: refused: ]0;a 2Jb? \xc3\xa4\n");
    close(fds[0]);
    close(kept);
}

static void namespaces(void)
{
    static const struct {
        const char *text, *error; /* error: NULL: it is taken */
        uint32_t count;
    } cases[] = {
        {"a", NULL, 1},
        {"a,b-2, c", NULL, 3},
        {"a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p", NULL, CLI_NAMESPACES_MAX},
        {"a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q",
         "--namespace: more than 16 namespaces (CLI_NAMESPACES_MAX): mobula operator --all-namespaces watches all", 0},
        {"", "--namespace: \"\" is not the name of a namespace", 0},
        {"a,", "--namespace: \"\" is not the name of a namespace", 0},
        {"a,B", "--namespace: \"B\" is not the name of a namespace", 0},
        {"a,a", "--namespace: \"a\" is named twice", 0},
        {"a,b, a", "--namespace: \"a\" is named twice", 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct cli_namespaces got;
        struct err e = {0};
        test_case("--namespace=%s", cases[i].text);
        bool taken = cli_namespaces(slice_of(cases[i].text), "--namespace", &got, &e);
        CHECK_INT(taken, cases[i].error == NULL);
        if (taken)
            CHECK_INT(got.count, cases[i].count);
        else
            CHECK_STR(slice_of(e.text), cases[i].error);
    }
}

static void tools(void)
{
    static const struct {
        const char *text;
        int tools; /* -1: refused */
        const char *image;
    } cases[] = {
        {"configmap", RAY_TOOLS_CONFIGMAP, NULL},
        {"none", RAY_TOOLS_NONE, NULL},
        {"image:a/b:1", RAY_TOOLS_IMAGE, "a/b:1"},
        {"image:", -1, NULL},
        {"image", -1, NULL},
        {"", -1, NULL},
        {"configmaps", -1, NULL},
        {"a:b", -1, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("tools \"%s\"", cases[i].text);
        struct ray_options o = {.tools = RAY_TOOLS_NONE};
        struct err e = {0};
        CHECK_INT(cli_tools(guarded(slice_of(cases[i].text)), &o, &e), cases[i].tools >= 0);
        CHECK_INT(o.tools, cases[i].tools >= 0 ? (enum ray_tools)cases[i].tools : RAY_TOOLS_NONE);
        CHECK_STR(o.tools_image, cases[i].image);
    }
}

/* A dot at its end is what DNS itself would take, and links refuse. */
static void domains(void)
{
    static const struct {
        const char *text;
        bool taken;
    } cases[] = {{"cluster.local", true},
                 {"k8s", true},
                 {"a-1.example.com", true},
                 {"cluster.local.", false},
                 {".cluster.local", false},
                 {"Cluster.local", false},
                 {"a b", false},
                 {"a..b", false},
                 {"", false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err e = {0};
        test_case("--cluster-domain=%s", cases[i].text);
        CHECK_INT(cli_domain(guarded(slice_of(cases[i].text)), &e), cases[i].taken);
        CHECK_INT(slice_starts(slice_of(e.text), SLICE("--cluster-domain is \"")), !cases[i].taken);
    }
}

int main(void)
{
    struct arena a = {0};
    sizes(&a);
    refused(&a);
    standard_input(&a);
    closed_at_start();
    failure();
    namespaces();
    tools();
    domains();
    arena_free(&a);
    return test_done();
}
