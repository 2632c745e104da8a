/* mobula login and logout: the control plane that commands use, and the token for it. */
#include "cli.h"
#include "fleet.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

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
    struct slice token, ca = SLICE("");
    struct login file = {0};
    if (slice_eq(o->token_file, SLICE("-")) && isatty(STDIN_FILENO))
        return err_set(e, ERR_CONFIG,
                       "--token-file FILE is needed, or the token on standard input: kubectl create token NAME | mobula login …");
    if (!login_path(&d->a, &file.path, e) || !cli_read_most(o->token_file, LIMIT_KUBE_TOKEN, "LIMIT_KUBE_TOKEN", &d->a, &token, e))
        return false;
    if (!slice_empty(o->ca_file) && !cli_read_most(o->ca_file, LOGIN_MAX / 2, "LOGIN_MAX / 2", &d->a, &ca, e))
        return false;
    token = slice_trim(token);
    if (slice_empty(token) || !try(d, token, e))
        return slice_empty(token) ? err_set(e, ERR_CONFIG, "the token is empty") : false;
    file.server = o->server;
    file.project = o->ns;
    file.token = token;
    if (!login_write(&file, ca, &d->a, e))
        return false;
    fprintf(stderr, "logged in at %s, project %s; the token is kept in %s\n", o->server.ptr, o->ns.ptr, file.path.ptr);
    return true;
}

static const struct flags flags = {
    .usage = "mobula login --server URL [FLAG…]",
    .list = cli_fleet_flags,
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
        login_path(&a, &path, &e) && (unlink(path.ptr) == 0 || errno == ENOENT || err_set(&e, ERR_IO, "%s: %s", path.ptr, strerror(errno)));
    arena_free(&a);
    return well ? STATUS_OK : cli_fail(&e);
}
