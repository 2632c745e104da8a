/* mobula login and logout: the control plane that commands use, and the token for it, in a file that nobody else may read:
 *     server URL
 *     project NAMESPACE
 *     token TOKEN
 * and behind these lines the CA of the server's certificate, in PEM, where it is no well-known one. */
#include "cli.h"
#include "fleet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOGIN_MAX = 256 * KIB };

/* $XDG_CONFIG_HOME/mobula/login. */
static bool find_path(struct arena *a, struct slice *path, struct err *e)
{
    struct slice config = slice_of(getenv("XDG_CONFIG_HOME")), home = slice_of(getenv("HOME"));
    if (!slice_empty(config))
        *path = arena_printf(a, "%.*s/mobula/login", SLICE_ARG(config));
    else if (!slice_empty(home))
        *path = arena_printf(a, "%.*s/.config/mobula/login", SLICE_ARG(home));
    else
        return err_set(e, ERR_CONFIG, "neither XDG_CONFIG_HOME nor HOME is set");
    return true;
}

static struct slice word(struct slice *text, struct slice name)
{
    struct slice line = slice_cut(text, '\n');
    return slice_eq(slice_cut(&line, ' '), name) ? line : SLICE_NONE;
}

bool login_read(struct login *l, struct arena *a, struct err *e)
{
    struct stat st;
    struct slice text;
    *l = (struct login){0};
    if (!find_path(a, &l->path, NULL) || stat(l->path.ptr, &st) != 0)
        return true;
    if (st.st_mode & 077)
        return err_set(e, ERR_CONFIG, "%s can be read by others, and it holds a token: chmod 600, or mobula login again", l->path.ptr);
    if (!cli_read_most(l->path, LOGIN_MAX, "LOGIN_MAX", a, &text, e))
        return false;
    l->server = arena_dup(a, word(&text, SLICE("server")));
    l->project = word(&text, SLICE("project"));
    l->token = word(&text, SLICE("token"));
    l->ca = !slice_empty(text);
    return !slice_empty(l->token) || err_set(e, ERR_SYNTAX, "%s is no file of mobula login", l->path.ptr);
}

/* Its folders are made, and a file that is there is replaced as a whole. */
static bool keep(struct slice path, struct slice text, struct arena *a, struct err *e)
{
    char *name = (char *)(uintptr_t)arena_printf(a, "%.*s.new", SLICE_ARG(path)).ptr;
    for (char *at = name + 1; (at = strchr(at, '/')) != NULL; *at++ = '/') {
        *at = '\0';
        mkdir(name, 0700);
    }
    unlink(name);
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool well = fd >= 0 && write(fd, text.ptr, text.len) == (ssize_t)text.len && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return (well && rename(name, path.ptr) == 0) || err_set(e, ERR_IO, "%s: %s", path.ptr, strerror(errno));
}

/* Whether the control plane takes the token: what its user may do is another question. */
static bool try(struct desk *d, struct slice token, struct err *e)
{
    struct ask_answer a;
    const char *ca = slice_empty(d->o.ca_file) ? NULL : d->o.ca_file.ptr;
    struct slice path = arena_printf(&d->a, "/v1/projects/%.*s/clouds", SLICE_ARG(d->o.ns));
    bool opened = fleet_open_hub(d, d->o.server, token, ca, e), asked = opened && ask_get(&d->ask, path, NULL, &d->a, &a, e);
    if (asked && a.code == 401)
        d->way->refused(d, &a, e);
    else if (opened && !asked)
        d->way->silent(d, e);
    ask_close(&d->ask);
    return asked && a.code != 401;
}

static bool login(struct desk *d, struct err *e)
{
    const struct fleet_options *o = &d->o;
    struct slice token, ca = SLICE(""), path;
    if (slice_eq(o->token_file, SLICE("-")) && isatty(STDIN_FILENO))
        return err_set(e, ERR_CONFIG,
                       "--token-file FILE is needed, or the token on standard input: kubectl create token NAME | mobula login …");
    if (!find_path(&d->a, &path, e) || !cli_read_most(o->token_file, LIMIT_KUBE_TOKEN, "LIMIT_KUBE_TOKEN", &d->a, &token, e))
        return false;
    if (!slice_empty(o->ca_file) && !cli_read_most(o->ca_file, LOGIN_MAX / 2, "LOGIN_MAX / 2", &d->a, &ca, e))
        return false;
    token = slice_trim(token);
    if (slice_empty(token) || !try(d, token, e))
        return slice_empty(token) ? err_set(e, ERR_CONFIG, "the token is empty") : false;
    struct slice text = arena_printf(&d->a, "server %.*s\nproject %.*s\ntoken %.*s\n%.*s", SLICE_ARG(o->server), SLICE_ARG(o->ns),
                                     SLICE_ARG(token), SLICE_ARG(ca));
    if (!keep(path, text, &d->a, e))
        return false;
    fprintf(stderr, "logged in at %s, project %s; the token is kept in %s\n", o->server.ptr, o->ns.ptr, path.ptr);
    return true;
}

static const struct flags flags = {
    .usage = "mobula login --server URL [FLAG…]",
    .list = fleet_flags,
    .count = FLEET_FLAGS_LOGIN,
};

int cli_login(int argc, char **argv)
{
    struct desk d = {.o = {.token_file = SLICE("-"), .ns = SLICE("default")}};
    struct err e = {0};
    int status;
    if (!flags_parse(&flags, argc, argv, &d.o, &status))
        return status;
    if (slice_empty(d.o.server))
        return flags_wrong(&flags, "--server URL is needed");
    d.ask.timeout_ms = d.o.timeout_ms;
    bool well = login(&d, &e);
    arena_free(&d.a);
    return well ? STATUS_OK : cli_fail(&e);
}

int cli_logout(int argc, char **argv)
{
    static const struct flags none = {
        .usage = "mobula logout",
    };
    struct arena a = {0};
    struct slice path;
    struct err e = {0};
    int status;
    if (!flags_parse(&none, argc, argv, NULL, &status))
        return status;
    bool well =
        find_path(&a, &path, &e) && (unlink(path.ptr) == 0 || errno == ENOENT || err_set(&e, ERR_IO, "%s: %s", path.ptr, strerror(errno)));
    arena_free(&a);
    return well ? STATUS_OK : cli_fail(&e);
}
