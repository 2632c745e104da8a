/* Objects that are written to files. */
#include <mobula/storage.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct target {
    int fd;
    const char *name;
};

static bool write_piece(void *owner, struct slice piece, struct err *e)
{
    const struct target *t = owner;
    while (!slice_empty(piece)) {
        ssize_t n = write(t->fd, piece.ptr, piece.len);
        if (n < 0)
            return err_set(e, ERR_IO, "%s: %s", t->name, strerror(errno));
        piece = slice_skip(piece, (size_t)n);
    }
    return true;
}

bool storage_get_to(struct storage *s, struct slice key, int fd, const char *name, struct err *e)
{
    struct target t = {fd, name};
    return storage_get(s, key, write_piece, &t, e);
}

bool storage_get_file(struct storage *s, struct slice key, struct slice file, struct err *e)
{
    struct stat st;
    bool whole = stat(file.ptr, &st) != 0 || S_ISREG(st.st_mode);
    struct slice part = whole ? arena_printf(&s->a, "%s.part", file.ptr) : file;
    int fd = open(part.ptr, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return err_set(e, ERR_IO, "%s: %s", part.ptr, strerror(errno));
    bool well = storage_get_to(s, key, fd, file.ptr, e);
    if (close(fd) != 0 && well)
        well = err_set(e, ERR_IO, "%s: %s", part.ptr, strerror(errno));
    if (well && whole && rename(part.ptr, file.ptr) != 0)
        well = err_set(e, ERR_IO, "%s: %s", file.ptr, strerror(errno));
    if (whole && !well)
        unlink(part.ptr);
    return well;
}
