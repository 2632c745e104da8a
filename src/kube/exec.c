#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A running plugin: its process, which leads a group of its own unless it is interactive, and the end of the pipe that it writes to. */
struct plugin {
    pid_t pid;
    int out;
};

static bool is_known_version(struct slice v)
{
    return slice_is(v, "client.authentication.k8s.io/v1") || slice_is(v, "client.authentication.k8s.io/v1beta1");
}

/* Ours, then the plugin's, then KUBERNETES_EXEC_INFO. */
static char **environment(const struct kube_exec *x, struct arena *a)
{
    size_t n = 0, count = 0;
    while (environ[count])
        count++;
    char **env = arena_array(a, count + LIMIT_KUBE_EXEC_ARGS + 2, sizeof *env);
    /* The first variable of a name wins in most programs, so the plugin's own variables go first. */
    for (size_t i = 0; x->env && x->env[i]; i++)
        env[n++] = (char *)(uintptr_t)x->env[i];
    env[n++] = (char *)(uintptr_t)arena_printf(a,
                                               "KUBERNETES_EXEC_INFO={\"apiVersion\":\"%.*s\",\"kind\":\"ExecCredential\","
                                               "\"spec\":{\"interactive\":%s}}",
                                               SLICE_ARG(x->api_version), x->interactive ? "true" : "false")
                   .ptr;
    for (size_t i = 0; i < count; i++)
        env[n++] = environ[i];
    return env;
}

static bool start(const struct kube_exec *x, struct arena *a, struct plugin *p, struct err *e)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set(e, ERR_IO, "cannot make a pipe: %s", strerror(errno));
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    posix_spawn_file_actions_init(&files);
    if (!x->interactive)
        posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, ends[1], 1);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, (short)((x->interactive ? 0 : POSIX_SPAWN_SETPGROUP) | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attr, &none);
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE); /* which we ignore */
    posix_spawnattr_setsigdefault(&attr, &usual);
    int failed = posix_spawnp(&p->pid, x->argv[0], &files, &attr, (char *const *)(uintptr_t)x->argv, environment(x, a));
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    p->out = ends[0];
    if (!failed)
        return true;
    close(ends[0]);
    char hint[ERR_TEXT_MAX / 2];
    bool say = failed == ENOENT && !slice_empty(x->hint);
    return err_set(e, ERR_CONFIG, "cannot run the exec plugin %s: %s%s%s", x->argv[0], strerror(failed), say ? ". Its installHint: " : "",
                   say ? utf8_clean(x->hint, hint, sizeof hint).ptr : "");
}

/* Reads until the plugin closes its output. */
static bool read_output(const struct plugin *p, const char *name, struct buf *out, struct err *e)
{
    int64_t deadline = clock_now().mono_ms + KUBE_EXEC_MS;
    for (;;) {
        int64_t left = deadline - clock_now().mono_ms;
        struct pollfd fd = {.fd = p->out, .events = POLLIN};
        if (left <= 0 || poll(&fd, 1, (int)left) == 0)
            return err_set(e, ERR_TIMEOUT, "the exec plugin %s has not answered within %d s", name, KUBE_EXEC_MS / 1000);
        char *room = buf_room(out, 4 * KIB);
        if (!room)
            return err_set(e, ERR_LIMIT, "the exec plugin %s wrote more than %d bytes", name, LIMIT_KUBE_EXEC_OUTPUT);
        ssize_t n = read(p->out, room, 4 * KIB);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return err_set(e, ERR_IO, "cannot read from the exec plugin %s: %s", name, strerror(errno));
        if (n == 0)
            return true;
        out->len += n > 0 ? (size_t)n : 0;
    }
}

/* Ends the plugin when it did not end by itself. */
static bool finish(struct plugin *p, bool good, bool interactive, const char *name, struct err *e)
{
    close(p->out);
    if (!good)
        kill(interactive ? p->pid : -p->pid, SIGKILL); /* one that reads from the terminal stays in our group: another's would be stopped */
    int status = 0;
    while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!good || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
        return good;
    return err_set(e, ERR_CONFIG, "the exec plugin %s ended with %s %d", name, WIFEXITED(status) ? "exit code" : "signal",
                   WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

bool kube_exec_read(const struct kube_exec *x, struct slice text, struct arena *a, struct kube_exec_result *out, struct err *e)
{
    struct jval doc;
    if (!json_read(&doc, text, a, e))
        return err_wrap(e, "what the exec plugin %s wrote", x->argv[0]);
    struct jval root = doc;
    if (!json_is(json_get(root, "kind"), "ExecCredential") || !json_str_eq(json_get(root, "apiVersion"), x->api_version))
        return err_set(e, ERR_CONFIG, "the exec plugin %s wrote no ExecCredential of %.*s", x->argv[0], SLICE_ARG(x->api_version));
    out->token = json_get_str(root, "status.token", a);
    out->cert_pem = json_get_str(root, "status.clientCertificateData", a);
    out->key_pem = json_get_str(root, "status.clientKeyData", a);
    if (slice_empty(out->token) && slice_empty(out->cert_pem))
        return err_set(e, ERR_CONFIG, "the exec plugin %s gave neither a token nor a certificate", x->argv[0]);
    struct slice expires = json_get_str(root, "status.expirationTimestamp", a);
    return slice_empty(expires) || time_parse(expires, &out->expires_us, e);
}

bool kube_exec_run(const struct kube_exec *x, struct arena *a, struct kube_exec_result *out, struct err *e)
{
    *out = (struct kube_exec_result){0};
    if (!is_known_version(x->api_version))
        return err_set(e, ERR_CONFIG, "exec plugin %s: apiVersion \"%.*s\" is not client.authentication.k8s.io/v1 or v1beta1", x->argv[0],
                       SLICE_ARG(x->api_version));
    struct plugin p;
    if (!start(x, a, &p, e))
        return false;
    struct buf text;
    buf_init(&text, LIMIT_KUBE_EXEC_OUTPUT);
    bool ok = read_output(&p, x->argv[0], &text, e);
    ok = finish(&p, ok, x->interactive, x->argv[0], e);
    struct slice kept = arena_dup(a, buf_slice(&text)); /* the result points into it */
    ok = ok && kube_exec_read(x, kept, a, out, e);
    buf_wipe(&text);
    return ok;
}
