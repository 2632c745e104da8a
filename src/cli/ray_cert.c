/* mobula ray-cert: makes the certificate of a pod of a RayCluster with tlsOptions. Only this init container mounts the CA. */
#include "cli.h"

#include <mobula/ray.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES_MAX = 32 };

struct options {
    struct slice ca, out, names;
    bool shared;
};

static const struct flag list[] = {
    {"ca-dir", FLAG_TEXT, offsetof(struct options, ca), "DIR"},
    {"out-dir", FLAG_TEXT, offsetof(struct options, out), "DIR"},
    {"names", FLAG_LIST, offsetof(struct options, names), "NAME[,...]"},
    {"shared", FLAG_SWITCH, offsetof(struct options, shared), NULL},
};

static const struct flags flags = {
    .usage = "mobula ray-cert --names NAME[,...] [FLAG...]",
    .list = list,
    .count = COUNT_OF(list),
};

static bool write_file(const struct options *o, const char *name, struct slice text, struct arena *a, struct err *e)
{
    mode_t mode = o->shared ? 0644 : 0600;
    const char *path = arena_printf(a, "%.*s/%s", SLICE_ARG(o->out), name).ptr;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
    ssize_t n = fd >= 0 && fchmod(fd, mode) == 0 ? write(fd, text.ptr, text.len) : -1;
    bool well = n == (ssize_t)text.len;
    int why = n < 0 ? errno : ENOSPC; /* a short write: the volume is full */
    if (fd >= 0)
        close(fd);
    return well || err_set(e, ERR_IO, "%s: %s", path, strerror(why));
}

static bool read_part(const struct options *o, const char *name, struct arena *a, struct slice *out, struct err *e)
{
    return cli_read_file(arena_printf(a, "%.*s/%s", SLICE_ARG(o->ca), name), a, out, e);
}

static bool make(const struct options *o, struct arena *a, struct err *e)
{
    struct slice names[NAMES_MAX], rest = o->names, ca, key, root;
    struct tls_issue how = {.names = names, .subject = "ray"};
    struct buf own, own_key;
    while (rest.ptr && how.name_count < NAMES_MAX) {
        names[how.name_count] = slice_cut(&rest, ',');
        how.name_count += !slice_empty(names[how.name_count]);
    }
    if (rest.ptr)
        return err_set(e, ERR_LIMIT, "--names has more than %d names", NAMES_MAX);
    if (!read_part(o, RAY_CA_CERT, a, &ca, e) || !read_part(o, RAY_CA_KEY, a, &key, e))
        return false;
    if (!read_part(o, RAY_CA_ROOT, a, &root, NULL) || slice_empty(root))
        root = ca;
    buf_init(&own, LIMIT_TLS_PEM);
    buf_init(&own_key, LIMIT_TLS_PEM);
    bool well = (tls_issue_by(ca, key, &how, clock_now().wall_us, &own, &own_key, e) || err_wrap(e, "the CA in %s", o->ca.ptr)) &&
                write_file(o, RAY_CA_ROOT, root, a, e) && write_file(o, RAY_CA_CERT, buf_slice(&own), a, e) &&
                write_file(o, RAY_CA_KEY, buf_slice(&own_key), a, e);
    buf_free(&own);
    buf_wipe(&own_key);
    return well;
}

int cli_ray_cert(int argc, char **argv)
{
    struct options o = {.ca = SLICE(RAY_CA_FOLDER), .out = SLICE(RAY_TLS_FOLDER)};
    struct arena a = {0};
    struct err e = {0};
    int status;
    if (!flags_parse(&flags, argc, argv, &o, &status))
        return status;
    if (slice_empty(o.names))
        return flags_wrong(&flags, "--names is needed");
    status = make(&o, &a, &e) ? STATUS_OK : cli_fail(&e);
    arena_wipe(&a);
    return status;
}
