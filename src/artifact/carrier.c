/* The carried form of the running program. Packing takes a second of a processor and 14 MB, so a thread does it, and only when the carried
 * form is first asked for. */
#include <mobula/artifact.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SELF "/proc/self/exe"

struct carrier {
    struct slice program; /* mapped, while it is packed */
    size_t size;
    int fd;
    bool begun;
    atomic_bool done; /* carried is complete */
    struct buf carried;
};

static bool map_program(struct carrier *c, struct err *e)
{
    void *p = mmap(NULL, c->size, PROT_READ, MAP_PRIVATE, c->fd, 0);
    if (p == MAP_FAILED)
        return err_set(e, ERR_IO, "cannot map " SELF ": %s", strerror(errno));
    c->program = (struct slice){p, c->size};
    return true;
}

static void unmap_program(struct carrier *c)
{
    munmap((void *)(uintptr_t)c->program.ptr, c->size);
    c->program = SLICE("");
}

struct carrier *carrier_open(uint64_t *hash, struct err *e)
{
    struct stat st = {.st_size = 0};
    struct carrier *c = mem_alloc(sizeof *c);
    c->fd = open(SELF, O_RDONLY | O_CLOEXEC);
    bool well = c->fd >= 0 && fstat(c->fd, &st) == 0;
    if (!well)
        err_set(e, ERR_IO, "cannot read " SELF ": %s", strerror(errno));
    c->size = (size_t)st.st_size;
    if (!well || !map_program(c, e)) {
        if (c->fd >= 0)
            close(c->fd);
        mem_free(c);
        return NULL;
    }
    *hash = hash64(c->program, 0);
    unmap_program(c);
    return c;
}

static void *pack(void *of)
{
    struct carrier *c = of;
    struct err e = {0};
    if (!map_program(c, &e))
        fatal("%s", e.text);
    buf_init(&c->carried, c->size);
    if (!program_carry(c->program, &c->carried))
        fatal("the carried form of this program has more than its own %zu bytes", c->size);
    unmap_program(c);
    atomic_store_explicit(&c->done, true, memory_order_release);
    return NULL;
}

bool carrier_take(struct carrier *c, struct slice *out)
{
    pthread_t thread;
    if (!c->begun && pthread_create(&thread, NULL, pack, c) == 0)
        pthread_detach(thread);
    else if (!c->begun)
        pack(c); /* no thread can be made: the caller waits */
    c->begun = true;
    if (!atomic_load_explicit(&c->done, memory_order_acquire))
        return false;
    *out = buf_slice(&c->carried);
    return true;
}
