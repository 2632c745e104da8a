/* Finds Ray's log files and reads them in batches. */
#include "put.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH = 4 /* nested folders below logs */, NANOSECOND_BITS = 32, WANTED = STATX_BASIC_STATS | STATX_BTIME, ABSENCES = 5 };

/* ---- names ---- */

struct slice ship_object(struct slice prefix, const struct ship_file *f, struct arena *a)
{
    return arena_printf(a, "%.*s%s/%016llx-%012llu.gz", SLICE_ARG(prefix), f->name, (unsigned long long)f->generation,
                        (unsigned long long)f->offset);
}

static bool read_hex(struct slice text, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool digit = c >= '0' && c <= '9';
        if (!digit && !(c >= 'a' && c <= 'f'))
            return false;
        *out = *out << 4 | (uint64_t)(digit ? c - '0' : c - 'a' + 10);
    }
    return text.len == 16;
}

bool ship_object_read(struct slice text, struct slice *name, uint64_t *generation, uint64_t *start)
{
    size_t n = text.len;
    int64_t at;
    while (n > 0 && text.ptr[n - 1] != '/')
        n--;
    struct slice rest = slice_skip(text, n), hex = slice_cut(&rest, '-'), number = slice_head(rest, rest.len > 3 ? rest.len - 3 : 0);
    while (number.len > 1 && number.ptr[0] == '0')
        number = slice_skip(number, 1);
    *name = slice_head(text, n ? n - 1 : 0);
    if (slice_empty(*name) || !read_hex(hex, generation) || !slice_ends(rest, SLICE(".gz")) || !slice_int(number, &at) || at < 0)
        return false;
    *start = (uint64_t)at;
    return true;
}

/* ---- the table ---- */

static uint32_t place_of(const struct ship_files *t, uint64_t generation)
{
    uint32_t from = 0, to = t->count;
    while (from < to) {
        uint32_t mid = from + (to - from) / 2;
        if (t->list[mid]->generation < generation)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

static struct ship_file *find(const struct ship_files *t, uint64_t generation)
{
    uint32_t at = place_of(t, generation);
    return at < t->count && t->list[at]->generation == generation ? t->list[at] : NULL;
}

static struct ship_file *add(struct ship_files *t, uint64_t generation, struct slice name)
{
    uint32_t at = place_of(t, generation);
    if (t->count == LIMIT_SHIP_FILES)
        return NULL;
    if (t->count == t->room)
        t->list = mem_resize(t->list, (t->room = t->room ? 2 * t->room : 64) * sizeof(struct ship_file *));
    struct ship_file *f = mem_alloc(sizeof *f);
    f->generation = generation;
    f->fd = -1;
    f->name = mem_alloc(name.len + 1);
    slice_copy(name, f->name, name.len + 1);
    memmove(t->list + at + 1, t->list + at, (t->count++ - at) * sizeof(struct ship_file *));
    t->list[at] = f;
    return f;
}

static void let_go(struct ship_files *t, struct ship_file *f)
{
    if (f->fd < 0)
        return;
    close(f->fd);
    f->fd = -1;
    t->open--;
}

static void drop(struct ship_files *t, struct ship_file *f)
{
    uint32_t at = place_of(t, f->generation);
    let_go(t, f);
    memmove(t->list + at, t->list + at + 1, (--t->count - at) * sizeof(struct ship_file *));
    mem_free(f->name);
    mem_free(f);
}

void ship_files_free(struct ship_files *t)
{
    while (t->count)
        drop(t, t->list[t->count - 1]);
    mem_free(t->list);
    arena_free(&t->a);
}

bool ship_files_recover(struct ship_files *t, struct slice object)
{
    struct slice name;
    uint64_t generation, start;
    if (!ship_object_read(object, &name, &generation, &start))
        return false;
    struct ship_file *f = find(t, generation);
    if (!f && !(f = add(t, generation, name)))
        return false;
    f->recovered = true;
    f->offset = start > f->offset ? start : f->offset;
    return true;
}

/* ---- lost bytes ---- */

/* Counts the unshipped lines of a file that is still open; without a descriptor only their bytes are known. */
static void lose(struct ship_files *t, struct ship_file *f, const char *why)
{
    char piece[4096];
    uint64_t lines = 0;
    ssize_t n;
    if (f->size <= f->offset)
        return;
    if (f->fd >= 0 && lseek(f->fd, (off_t)f->offset, SEEK_SET) >= 0)
        while ((n = read(f->fd, piece, sizeof piece)) > 0)
            for (ssize_t i = 0; i < n; i++)
                lines += piece[i] == '\n';
    t->lost_bytes += f->size - f->offset;
    t->lost_lines += lines;
    log_warn("lines of a log file are lost: they are not in the bucket", LF_CSTR("file", f->name), LF_CSTR("why", why),
             LF_INT("bytes", f->size - f->offset), LF_INT("lines", lines), LF_INT("lost_bytes", t->lost_bytes));
    f->offset = f->size;
}

/* ---- the scan ---- */

uint64_t ship_generation(int64_t wall_s, uint64_t more)
{
    return (uint64_t)wall_s << NANOSECOND_BITS | (more & UINT32_MAX);
}

static uint64_t generation_of(const struct statx *st)
{
    char text[64];
    struct statx_timestamp made = st->stx_mask & STATX_BTIME ? st->stx_btime : (struct statx_timestamp){0};
    int n = snprintf(text, sizeof text, "%llu %u %u", (unsigned long long)st->stx_ino, made.tv_nsec, st->stx_dev_minor);
    return ship_generation(made.tv_sec, hash64((struct slice){text, (size_t)n}, 0));
}

/* A file that became shorter was begun again by a program that does not rename its logs: it gets another generation, as a new file does. */
static struct ship_file *begin_again(struct ship_files *t, struct ship_file *f, struct now now)
{
    struct slice name = arena_dup(&t->a, slice_of(f->name));
    uint64_t generation = ship_generation(now.wall_us / 1000000, f->generation);
    drop(t, f);
    return find(t, generation) ? NULL : add(t, generation, name);
}

/* A file that began again is not known by its inode any more: the newest one of its name that is not renamed. */
static struct ship_file *find_again(struct ship_files *t, uint64_t generation, struct slice name)
{
    struct ship_file *same = find(t, generation);
    for (uint32_t i = same && !same->recovered ? 0 : t->count; i > 0; i--) {
        struct ship_file *f = t->list[i - 1];
        if ((f->generation & UINT32_MAX) == (generation & UINT32_MAX) && f->generation > generation && slice_is(name, f->name))
            return f;
    }
    return same;
}

/* Opens a file that has unshipped bytes. While SHIP_OPEN files are open, the others wait. If Ray renames the file meanwhile, the path is
 * that of another one: the next scan finds it by its new name. */
static void hold(struct ship_files *t, struct ship_file *f, const char *path, uint64_t generation)
{
    struct statx st;
    if (f->fd >= 0 || t->open == SHIP_OPEN || f->unreadable)
        return;
    f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (f->fd < 0 && errno != ENOENT) {
        f->unreadable = true;
        log_warn("a log file cannot be read, and is not shipped", LF_CSTR("file", path), LF_CSTR("why", strerror(errno)));
    }
    t->open += f->fd >= 0;
    if (f->fd >= 0 && (statx(f->fd, "", AT_EMPTY_PATH, WANTED, &st) != 0 || generation_of(&st) != generation))
        let_go(t, f);
}

static void see_file(struct ship_files *t, const char *path, struct slice name, const struct statx *st, struct now now)
{
    uint64_t generation = generation_of(st);
    struct ship_file *f = find_again(t, generation, name);
    if (!f && (name.len > LIMIT_SHIP_NAME || !cloud_key(name, &(struct err){0}) || !(f = add(t, generation, name)))) {
        t->left_out++;
        return;
    }
    if (!f->recovered && st->stx_size < f->offset) {
        f = begin_again(t, f, now);
        if (!f)
            return;
    }
    f->seen = true;
    f->absences = 0;
    f->size = st->stx_size;
    bool more = f->size > f->offset || f->recovered;
    f->since_ms = !more ? 0 : f->since_ms ? f->since_ms : now.mono_ms;
    if (more)
        hold(t, f, path, generation);
    else
        let_go(t, f);
}

static void see_folder(struct ship_files *t, struct slice path, struct slice below, unsigned depth, struct now now)
{
    DIR *d = opendir(path.ptr);
    const struct dirent *one;
    while (d && (one = readdir(d)) != NULL) {
        struct statx st;
        struct slice file = slice_of(one->d_name);
        if (file.ptr[0] == '.')
            continue;
        struct slice at = arena_printf(&t->a, "%.*s/%.*s", SLICE_ARG(path), SLICE_ARG(file));
        struct slice name = arena_printf(&t->a, "%.*s%s%.*s", SLICE_ARG(below), below.len ? "/" : "", SLICE_ARG(file));
        if (statx(AT_FDCWD, at.ptr, AT_SYMLINK_NOFOLLOW, WANTED, &st) != 0)
            continue;
        if (S_ISDIR(st.stx_mode) && depth < DEPTH)
            see_folder(t, at, name, depth + 1, now);
        else if (S_ISREG(st.stx_mode))
            see_file(t, at.ptr, name, &st, now);
    }
    if (d)
        closedir(d);
}

/* A folder that is read while Ray renames a file in it may show neither name: a file counts as removed after ABSENCES scans. */
static void see_removed(struct ship_files *t, struct ship_file *f, uint64_t *held)
{
    struct stat st;
    f->absences = (uint8_t)(f->absences < ABSENCES ? f->absences + 1 : ABSENCES);
    if (f->fd >= 0 && fstat(f->fd, &st) == 0 && (uint64_t)st.st_size > f->size)
        f->size = (uint64_t)st.st_size; /* its last bytes were written after the last scan */
    uint64_t left = f->size > f->offset ? f->size - f->offset : 0;
    if (f->recovered) /* before a restart: what it had is in the bucket, or was lost then */
        left = f->size = 0;
    bool wait = f->absences < ABSENCES || (left && f->fd >= 0);
    if (left && f->fd >= 0)
        *held += left;
    if (wait && *held <= LIMIT_SHIP_HELD)
        return;
    lose(t, f, f->fd < 0 ? "the file was removed before it was read" : "more bytes of removed files wait than LIMIT_SHIP_HELD");
    drop(t, f);
}

void ship_files_scan(struct ship_files *t, struct now now)
{
    uint64_t held = 0;
    arena_reset(&t->a, 64 * KIB);
    t->left_out = 0;
    for (uint32_t i = 0; i < t->count; i++)
        t->list[i]->seen = false;
    DIR *d = opendir(t->root.ptr);
    const struct dirent *one;
    while (d && (one = readdir(d)) != NULL) /* session_latest is a link to one of them */
        if (slice_starts(slice_of(one->d_name), SLICE("session_")) && !slice_is(slice_of(one->d_name), "session_latest"))
            see_folder(t, arena_printf(&t->a, "%.*s/%s/logs", SLICE_ARG(t->root), one->d_name), SLICE(""), 0, now);
    if (d)
        closedir(d);
    for (uint32_t i = t->count; i > 0; i--)
        if (!t->list[i - 1]->seen)
            see_removed(t, t->list[i - 1], &held);
}

/* ---- batches ---- */

struct ship_file *ship_files_due(struct ship_files *t, int64_t flush_ms, bool all, struct now now, int64_t *next_ms)
{
    struct ship_file *due = NULL;
    *next_ms = TIME_NEVER;
    for (uint32_t i = 0; i < t->count; i++) {
        struct ship_file *f = t->list[i];
        if (!f->since_ms || f->fd < 0)
            continue;
        bool ready = all || f->recovered || f->size - f->offset >= LIMIT_SHIP_BATCH || f->since_ms + flush_ms <= now.mono_ms;
        if (ready && (!due || f->since_ms < due->since_ms))
            due = f;
        else if (!ready)
            *next_ms = earlier(*next_ms, f->since_ms + flush_ms);
    }
    return due;
}

bool ship_file_read(struct ship_files *t, struct ship_file *f, bool all, struct buf *out)
{
    uint64_t left = f->size - f->offset;
    size_t want = left < LIMIT_SHIP_BATCH ? (size_t)left : LIMIT_SHIP_BATCH;
    buf_clear(out);
    char *room = buf_room(out, want);
    if (!room || lseek(f->fd, (off_t)f->offset, SEEK_SET) < 0)
        want = 0;
    while (room && out->len < want) {
        ssize_t n = read(f->fd, room + out->len, want - out->len);
        if (n <= 0)
            break;
        out->len += (size_t)n;
    }
    if (!room || out->len == 0) {
        lose(t, f, "the file cannot be read");
        return false;
    }
    size_t line = out->len;
    while (line > 0 && room[line - 1] != '\n')
        line--;
    if (line > 0 && !all)
        out->len = line;
    return true;
}

void ship_file_shipped(struct ship_files *t, struct ship_file *f, uint64_t offset, struct now now)
{
    f->recovered = false;
    f->offset = offset;
    f->since_ms = f->size > offset ? now.mono_ms : 0;
    if (!f->since_ms || t->open == SHIP_OPEN)
        let_go(t, f);
}
