/* The file of mobula login. */
#include "desk.h"

#include <fcntl.h>
#include <sys/stat.h>

static void check_path(const char *home)
{
    struct arena a = {0};
    struct err e = {0};
    struct slice path;
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("HOME");
    test_case("the path of the login file: neither variable is set");
    CHECK(!login_path(&a, &path, &e) && e.code == ERR_CONFIG);
    setenv("HOME", "/h", 1);
    test_case("the path of the login file below HOME");
    CHECK(login_path(&a, &path, &e));
    CHECK_STR(path, "/h/.config/mobula/login");
    setenv("XDG_CONFIG_HOME", home, 1);
    test_case("the path of the login file below XDG_CONFIG_HOME");
    CHECK(login_path(&a, &path, &e));
    CHECK_SLICE(path, arena_printf(&a, "%s/mobula/login", home));
    arena_free(&a);
}

static void check_file(void)
{
    struct arena a = {0};
    struct err e = {0};
    struct stat st;
    struct login l = {.server = SLICE("https://plane"), .project = SLICE("team"), .token = SLICE("secret")}, back;
    test_case("nobody is logged in");
    CHECK(login_read(&back, &a, &e));
    CHECK(slice_empty(back.server));
    test_case("a login is written and read");
    CHECK(login_path(&a, &l.path, &e) && login_write(&l, SLICE("-----BEGIN"), &a, &e) && login_read(&back, &a, &e));
    CHECK_SLICE(back.server, l.server);
    CHECK_SLICE(back.project, l.project);
    CHECK_SLICE(back.token, l.token);
    CHECK(back.ca);
    CHECK(stat(l.path.ptr, &st) == 0 && (st.st_mode & 0777) == 0600);
    test_case("another login takes its place");
    CHECK(login_write(&l, SLICE(""), &a, &e) && login_read(&back, &a, &e));
    CHECK(!back.ca);
    test_case("a login file that others can read is refused");
    CHECK(chmod(l.path.ptr, 0644) == 0);
    CHECK(!login_read(&back, &a, &e) && e.code == ERR_CONFIG);
    CHECK(!strstr(e.text, "secret"));
    test_case("a file without a token is refused");
    int fd = open(l.path.ptr, O_WRONLY | O_TRUNC);
    CHECK(fd >= 0 && fchmod(fd, 0600) == 0 && close(fd) == 0);
    e = (struct err){0};
    CHECK(!login_read(&back, &a, &e) && e.code == ERR_SYNTAX);
    CHECK(unlink(l.path.ptr) == 0);
    arena_free(&a);
}

int main(void)
{
    char home[] = "/tmp/mobula-login-XXXXXX";
    struct arena a = {0};
    CHECK(mkdtemp(home) != NULL);
    check_path(home);
    check_file();
    CHECK(rmdir(arena_printf(&a, "%s/mobula", home).ptr) == 0 && rmdir(home) == 0);
    arena_free(&a);
    return test_done();
}
