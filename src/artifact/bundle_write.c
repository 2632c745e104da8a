/* Bundles and their files, written to this machine. */
#include <mobula/artifact.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_bytes(int folder, const char *path, struct slice content, mode_t mode, struct err *e)
{
    int fd = openat(folder, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0)
        return err_set(e, ERR_IO, "%s: %s", path, strerror(errno));
    ssize_t n = 1;
    while (!slice_empty(content) && (n = write(fd, content.ptr, content.len)) > 0)
        content = slice_skip(content, (size_t)n);
    if (n <= 0)
        err_set(e, ERR_IO, "%s: %s", path, strerror(errno));
    if (close(fd) != 0)
        err_set(e, ERR_IO, "%s: %s", path, strerror(errno));
    return e->code == ERR_NONE;
}

/* Names were found plain when the bundle was opened, the folder is new, and no link is followed. */
static bool write_member(int folder, struct slice name, struct slice content, mode_t mode, struct err *e)
{
    char path[TAR_BLOCK];
    snprintf(path, sizeof path, "%.*s", SLICE_ARG(name));
    for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdirat(folder, path, 0755) != 0 && errno != EEXIST)
            return err_set(e, ERR_IO, "%s: %s", path, strerror(errno));
        *slash = '/';
    }
    return write_bytes(folder, path, content, mode, e);
}

bool bundle_unpack(const struct bundle *b, struct slice to, struct err *e)
{
    if (mkdir(to.ptr, 0755) != 0)
        return err_set(e, ERR_IO, "%s: %s: want a folder that is not there yet", to.ptr, strerror(errno));
    int folder = open(to.ptr, O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return err_set(e, ERR_IO, "%s: %s", to.ptr, strerror(errno));
    for (uint32_t i = 0; i < b->count; i++)
        if (!write_member(folder, b->files[i].name, b->files[i].content, slice_starts(b->files[i].name, SLICE("bin/")) ? 0755 : 0644, e))
            break;
    close(folder);
    return e->code == ERR_NONE || err_wrap(e, "%s is not complete: delete it, and load again. What was in the way", to.ptr);
}

bool bundle_write(const char *path, struct slice bytes, struct err *e)
{
    return write_bytes(AT_FDCWD, path, bytes, 0644, e);
}
