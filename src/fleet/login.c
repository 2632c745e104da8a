/* The file of mobula login: the control plane that commands use, and the token for it. Nobody else may read it:
 *     server URL
 *     project NAMESPACE
 *     token TOKEN
 * and behind these lines the CA of the server's certificate, in PEM, where it is no well-known one. */
#include <mobula/fleet.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* $XDG_CONFIG_HOME/mobula/login. */
bool login_path(struct arena *a, struct slice *path, struct err *e)
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
    if (!login_path(a, &l->path, NULL) || stat(l->path.ptr, &st) != 0)
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

bool login_write(const struct login *l, struct slice ca, struct arena *a, struct err *e)
{
    struct slice text = arena_printf(a, "server %.*s\nproject %.*s\ntoken %.*s\n%.*s", SLICE_ARG(l->server), SLICE_ARG(l->project),
                                     SLICE_ARG(l->token), SLICE_ARG(ca));
    return keep(l->path, text, a, e);
}
