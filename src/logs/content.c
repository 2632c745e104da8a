/* The content of stored segments, shown or written to files. */
#include "stored.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool keep_piece(void *owner, struct slice piece, struct err *e)
{
    struct logs_reading *r = owner;
    return buf_put(&r->packed, piece) || err_set(e, ERR_LIMIT, "the object is larger than a batch of logs (LIMIT_SHIP_BATCH)");
}

/* Reads and decompresses one segment into r->plain. A store or proxy may have decompressed it on the way. */
static bool fetch(struct logs_reading *r, const struct logs_segment *one, struct err *e)
{
    buf_clear(&r->packed);
    buf_clear(&r->plain);
    if (!storage_get(&r->s, one->key, keep_piece, r, e))
        return false;
    struct slice packed = buf_slice(&r->packed);
    bool well = slice_starts(packed, SLICE("\x1f\x8b")) ? gunzip(packed, &r->plain, e) : buf_put(&r->plain, packed);
    if (!well)
        return err_wrap(e, "%.*s", SLICE_ARG(one->key));
    if (r->generation != one->generation)
        r->next = r->o->since_ms ? one->start : 0;
    if (one->start != r->next)
        r->sink->note(r->sink->owner, arena_printf(&r->a, "mobula: %.*s: %lld bytes before byte %llu are not in the bucket",
                                                   SLICE_ARG(r->path), (long long)(one->start - r->next), (unsigned long long)one->start));
    r->generation = one->generation;
    r->next = one->start + r->plain.len;
    return true;
}

bool logs_print_segment(struct logs_reading *r, const struct logs_segment *one, struct err *e)
{
    bool other = logs_is_next_file(r, one), star = slice_empty(r->o->file) || slice_find(r->o->file, '*') >= 0 || slice_empty(r->o->node);
    if (!fetch(r, one, e))
        return false;
    if (other && star && r->o->file.ptr)
        r->sink->note(r->sink->owner, arena_printf(&r->a, "==> %.*s <==", SLICE_ARG(arena_clean(&r->a, r->path, 4 * LOGS_CELL))));
    size_t skip = r->skip < r->plain.len ? (size_t)r->skip : r->plain.len;
    r->skip -= skip;
    return r->sink->text(r->sink->owner, slice_skip(buf_slice(&r->plain), skip)) ||
           err_set(e, ERR_IO, "standard output cannot be written to");
}

static bool make_folders(struct logs_reading *r, struct slice path, struct err *e)
{
    for (size_t i = 1; i < path.len; i++) {
        if (path.ptr[i] != '/')
            continue;
        struct slice folder = arena_dup(&r->a, slice_head(path, i));
        if (mkdir(folder.ptr, 0777) != 0 && errno != EEXIST)
            return err_set(e, ERR_IO, "%s: %s", folder.ptr, strerror(errno));
    }
    return true;
}

/* logs_segment_read passes over names with "..", and a link at the end of the path is not followed. */
bool logs_download_segment(struct logs_reading *r, const struct logs_segment *one, struct err *e)
{
    bool other = logs_is_next_file(r, one);
    if (!fetch(r, one, e))
        return false;
    struct slice path = arena_printf(&r->a, "%.*s/%.*s", SLICE_ARG(r->o->download), SLICE_ARG(r->path));
    if (other) {
        if (r->fd >= 0)
            close(r->fd);
        r->fd = -1;
        if (!make_folders(r, path, e))
            return false;
        r->fd = open(path.ptr, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    }
    for (struct slice rest = buf_slice(&r->plain); !slice_empty(rest);) {
        ssize_t n = r->fd < 0 ? -1 : write(r->fd, rest.ptr, rest.len);
        if (n <= 0)
            return err_set(e, ERR_IO, "%s: %s", path.ptr, strerror(errno));
        rest = slice_skip(rest, (size_t)n);
    }
    return true;
}
