/* Archives in files, pushed to a registry. */
#include <mobula/artifact.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool registry_push_file(struct registry *r, struct slice path, struct buf *out, struct err *e)
{
    struct stat st;
    int fd = open(path.ptr, O_RDONLY | O_CLOEXEC);
    void *at = fd >= 0 && fstat(fd, &st) == 0 ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    bool well = at != MAP_FAILED || err_set(e, ERR_IO, "%s: %s: want an OCI archive", path.ptr, strerror(errno));
    if (fd >= 0)
        close(fd);
    if (!well)
        return false;
    well = registry_push(r, (struct slice){at, (size_t)st.st_size}, path.ptr, out, e);
    munmap(at, (size_t)st.st_size);
    return well;
}
