#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static void close_fd(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static bool read_all(int fd, struct buf *out, const char *path, struct err *e)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return err_set(e, ERR_IO, "%s is no regular file", path);
    /* All room at once: a buffer that grows would leave copies of a key behind in freed memory. */
    if (st.st_size > 0 && (uint64_t)st.st_size < out->max)
        buf_room(out, (size_t)st.st_size + 1);
    for (;;) {
        char *room = buf_room(out, 1);
        if (!room)
            return err_set(e, ERR_LIMIT, "%s is longer than %zu bytes", path, out->max - 1);
        ssize_t n = read(fd, room, out->cap - out->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(e, ERR_IO, "cannot read %s: %s", path, strerror(errno));
        if (n == 0)
            return true;
        out->len += (size_t)n;
    }
}

bool kube_file_read(const char *path, struct buf *out, struct err *e)
{
    __attribute__((cleanup(close_fd))) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return err_set(e, errno == ENOENT ? ERR_MISSING : ERR_IO, "cannot open %s: %s", path, strerror(errno));
    return read_all(fd, out, path, e);
}

bool kube_buf_put_secret(struct buf *b, struct slice piece)
{
    size_t need = b->len + piece.len;
    if (need > b->cap && need <= b->max) {
        struct buf grown;
        buf_init(&grown, b->max);
        buf_room(&grown, need <= b->max / 2 ? 2 * need : b->max);
        buf_put(&grown, buf_slice(b));
        buf_wipe(b);
        *b = grown;
    }
    return buf_put(b, piece);
}

void kube_slice_wipe(struct slice s)
{
    if (s.len)
        mem_wipe((char *)(uintptr_t)s.ptr, s.len);
}
