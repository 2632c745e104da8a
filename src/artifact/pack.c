/* Zip files (APPNOTE.TXT 4.3), as far as a folder of source code needs them: no encryption, no Zip64, times of 1980. */
#include "private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOP "dir/" /* Ray takes the one folder at the top away, whatever it is called */

#define LEAVE_MORE_OUT ": leave more out (--exclude, .gitignore), or put a zip file into object storage and give its URL"

enum { SKIPPED_SHOWN = 20, SPILL = 4 * MIB /* bytes of the buffer that are written to the file at once */ };
enum {
    FILE_MODE = 0100644,
    PROGRAM_MODE = 0100755,
    FOLDER_MODE = 040755,
    DEFLATED = 8,
    TEXT_IS_UTF8 = 0x800,
    MADE_BY_UNIX = 0x0314,
    VERSION = 20,
    DAY = 0x21
};

struct pack {
    struct ignore given, found; /* --exclude; .gitignore and .rayignore of the folders that we are in */
    struct slice root;          /* as the file system has it, without links, with a slash behind it */
    struct arena *arena;
    struct buf *zip;
    struct buf directory; /* the zip file's own */
    int spill;            /* file descriptor of the temporary file; -1: the zip file stays in memory */
    uint64_t most;        /* maximum bytes of the temporary file */
    struct pack_result *result;
    uint32_t folders; /* empty folders, which are entries of the archive, too */
    struct err *e;
};

/* ---- the format ---- */

__attribute__((noinline)) static void put_number(struct buf *b, unsigned bytes, uint64_t value)
{
    for (; bytes > 0; bytes--, value >>= 8)
        buf_putc(b, (char)(value & 0xff));
}

struct entry {
    struct slice name;
    uint32_t crc, mode;
    size_t size, packed, offset;
    bool deflated;
};

/* The header before the file's bytes and its entry in the directory. */
static void put_common(struct buf *b, const struct entry *n)
{
    put_number(b, 2, VERSION);
    put_number(b, 2, TEXT_IS_UTF8);
    put_number(b, 2, n->deflated ? DEFLATED : 0);
    put_number(b, 2, 0); /* midnight */
    put_number(b, 2, DAY);
    put_number(b, 4, n->crc);
    put_number(b, 4, n->packed);
    put_number(b, 4, n->size);
    put_number(b, 2, n->name.len + strlen(TOP));
    put_number(b, 2, 0); /* extra field */
}

static void put_name(struct buf *b, const struct entry *n)
{
    buf_put(b, SLICE(TOP));
    buf_put(b, n->name);
}

/* Moves the buffer to the temporary file if it has `least` bytes or more. */
static void spill_buffer(struct pack *p, size_t least)
{
    struct slice rest = buf_slice(p->zip);
    if (p->spill < 0 || rest.len < least || p->result->over)
        return;
    p->result->spilled += rest.len;
    while (!slice_empty(rest)) {
        ssize_t n = write(p->spill, rest.ptr, rest.len);
        if (n < 0) {
            err_put(p->e, ERR_IO, "a temporary file for the packed folder: %s", strerror(errno));
            break;
        }
        rest = slice_skip(rest, (size_t)n);
    }
    buf_clear(p->zip);
    p->result->over |= p->result->spilled > p->most;
}

static void put_file(struct pack *p, struct slice name, uint32_t mode, struct slice text)
{
    size_t room = p->zip->max - p->zip->len; /* for what takes more the work of packing it is spared */
    __attribute__((cleanup(buf_free))) struct buf small = {.max = !text.len ? 0 : text.len - 1 < room ? text.len - 1 : room};
    struct entry n = {.name = name, .crc = crc32(text), .mode = mode, .size = text.len, .offset = (size_t)p->result->spilled + p->zip->len};
    n.deflated = deflate(text, &small);
    n.packed = n.deflated ? small.len : text.len;
    put_number(p->zip, 4, 0x04034b50);
    put_common(p->zip, &n);
    put_name(p->zip, &n);
    buf_put(p->zip, n.deflated ? buf_slice(&small) : text);
    put_number(&p->directory, 4, 0x02014b50);
    put_number(&p->directory, 2, MADE_BY_UNIX);
    put_common(&p->directory, &n);
    put_number(&p->directory, 6, 0); /* comment, disk, internal attributes */
    put_number(&p->directory, 4, (uint64_t)mode << 16);
    put_number(&p->directory, 4, n.offset);
    put_name(&p->directory, &n);
    p->result->over = p->zip->full || p->directory.full;
    spill_buffer(p, SPILL);
}

static void put_end(struct pack *p)
{
    size_t at = (size_t)p->result->spilled + p->zip->len;
    buf_put(p->zip, buf_slice(&p->directory));
    put_number(p->zip, 4, 0x06054b50);
    put_number(p->zip, 4, 0); /* this disk, and that of the directory */
    put_number(p->zip, 2, p->result->files + p->folders);
    put_number(p->zip, 2, p->result->files + p->folders);
    put_number(p->zip, 4, p->directory.len);
    put_number(p->zip, 4, at);
    put_number(p->zip, 2, 0); /* comment */
    p->result->over |= p->zip->full;
    spill_buffer(p, 0);
}

/* ---- the folder ---- */

static struct slice place_of(struct pack *p, struct slice name)
{
    return arena_printf(p->arena, "%.*s%.*s", SLICE_ARG(p->root), SLICE_ARG(name));
}

static bool leave_out(struct pack *p, struct slice name, const char *why)
{
    char line[ERR_TEXT_MAX];
    if (++p->result->skipped <= SKIPPED_SHOWN)
        fprintf(stderr, "mobula: left out: %s: %s\n", utf8_clean(name, line, sizeof line).ptr, why);
    return true;
}

static bool is_left_out(const struct pack *p, struct slice name, bool folder)
{
    enum ignored said = ignore_look(&p->given, name, folder);
    return (said != IGNORE_SAYS_NOTHING ? said : ignore_look(&p->found, name, folder)) == IGNORE_LEAVES_OUT;
}

/* Where this is without links, as the kernel says: a third of what realpath() takes of the binary. .ptr NULL: it is not there. */
static struct slice real_place(const char *path, struct arena *a)
{
    char text[32], *real = arena_alloc(a, PATH_MAX);
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return SLICE_NONE;
    snprintf(text, sizeof text, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(text, real, PATH_MAX - 1);
    close(fd);
    return n < 0 ? SLICE_NONE : arena_printf(a, "%.*s", (int)n, real);
}

static bool read_rules(struct pack *p, struct slice folder)
{
    static const char *const files[] = {".gitignore", ".rayignore"};
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        struct slice text, place = arena_printf(p->arena, "%.*s%.*s%s", SLICE_ARG(p->root), SLICE_ARG(folder), files[i]);
        struct stat st;
        if (lstat(place.ptr, &st) != 0 || !S_ISREG(st.st_mode))
            continue;
        if (!cli_read_file(place, p->arena, &text, p->e) || !ignore_add(&p->found, folder, text, p->e))
            return err_wrap(p->e, "%s", place.ptr);
    }
    return true;
}

/* The target of a link is packed when it is a file of the folder itself that is not left out, by the rules of the target's folders too:
 * packing a folder means no other file of this machine. */
static bool leads_inside(struct pack *p, struct slice name, struct slice place)
{
    struct arena one = {0}, *outer = p->arena;
    uint32_t rules = p->found.count;
    struct slice target = real_place(place.ptr, &one);
    bool inside = slice_starts(target, p->root);
    target = slice_skip(target, inside ? p->root.len : 0);
    p->arena = &one;
    for (size_t i = 0; inside && i <= target.len; i++)
        if (i == target.len)
            inside = !is_left_out(p, target, false);
        else if (target.ptr[i] == '/')
            inside = !is_left_out(p, slice_head(target, i), true) &&
                     (slice_starts(name, slice_head(target, i + 1)) || read_rules(p, slice_head(target, i + 1)));
    p->arena = outer;
    p->found.count = rules;
    arena_free(&one);
    return inside;
}

static bool has_room(struct pack *p, struct slice name)
{
    struct slice first = slice_cut(&name, '/');
    return p->result->files + p->folders <= LIMIT_PACK_FILES ||
           err_set(p->e, ERR_LIMIT, "the folder holds more than %d files (LIMIT_PACK_FILES), the last of them in %.*s" LEAVE_MORE_OUT,
                   LIMIT_PACK_FILES, SLICE_ARG(slice_head(first, 100)));
}

/* Like Ray, stores an entry for an empty folder; other folders have no entry, only their files do. */
static bool pack_empty(struct pack *p, struct slice name)
{
    p->folders++;
    if (!has_room(p, name))
        return false;
    if (!p->result->over)
        put_file(p, name, FOLDER_MODE, SLICE(""));
    return true;
}

static bool pack_file(struct pack *p, struct slice name, const struct stat *st)
{
    struct slice text;
    struct arena one = {0};
    struct pack_result *r = p->result;
    r->size += (uint64_t)st->st_size;
    r->files++;
    if (!has_room(p, name))
        return false;
    if (r->over)
        return true;
    bool well = cli_read_most(place_of(p, name), LIMIT_PACK_SIZE, "LIMIT_PACK_SIZE", &one, &text, p->e);
    if (well)
        put_file(p, name, st->st_mode & S_IXUSR ? PROGRAM_MODE : FILE_MODE, text);
    arena_free(&one);
    return well;
}

static bool pack_entries(struct pack *p, struct slice name, unsigned depth);

static bool pack_entry(struct pack *p, struct slice name, unsigned depth)
{
    struct slice place = place_of(p, name);
    struct stat st;
    bool there = lstat(place.ptr, &st) == 0, link = there && S_ISLNK(st.st_mode);
    if (!there)
        return err_set(p->e, ERR_IO, "%s: %s", place.ptr, strerror(errno));
    if (is_left_out(p, name, S_ISDIR(st.st_mode)))
        return true;
    if (!utf8_valid(name))
        return leave_out(p, name, "its name is not UTF-8, and Ray could not open the archive: rename it");
    if (S_ISDIR(st.st_mode))
        return pack_entries(p, arena_printf(p->arena, "%.*s/", SLICE_ARG(name)), depth + 1);
    if (link && (!leads_inside(p, name, place) || stat(place.ptr, &st) != 0 || !S_ISREG(st.st_mode)))
        return leave_out(p, name, "a symbolic link to something else than a file that is packed");
    return S_ISREG(st.st_mode) ? pack_file(p, name, &st) : leave_out(p, name, "neither a file nor a folder");
}

static int by_name(const void *a, const void *b)
{
    const struct slice *x = a, *y = b;
    return strcmp(x->ptr, y->ptr);
}

static bool read_names(struct pack *p, struct slice folder, struct slice **names, uint32_t *count)
{
    uint32_t room = 0;
    struct slice place = place_of(p, folder);
    DIR *dir = opendir(place.ptr);
    if (!dir)
        return err_set(p->e, ERR_IO, "%s: %s", place.ptr, strerror(errno));
    for (const struct dirent *one; (one = readdir(dir)) != NULL;) {
        if (strcmp(one->d_name, ".") == 0 || strcmp(one->d_name, "..") == 0)
            continue;
        if (*count == room)
            *names = mem_resize(*names, (room = room ? 2 * room : 64) * sizeof **names);
        (*names)[(*count)++] = arena_printf(p->arena, "%.*s%s", SLICE_ARG(folder), one->d_name);
    }
    closedir(dir);
    if (*count)
        qsort(*names, *count, sizeof **names, by_name);
    return true;
}

/* Inserts an entry into the sorted list of the largest. */
static void note_size(struct pack_result *r, struct slice name, uint64_t size)
{
    size_t at = COUNT_OF(r->largest);
    while (at > 0 && size > r->largest[at - 1].size)
        at--;
    for (size_t i = COUNT_OF(r->largest); i-- > at + 1;)
        r->largest[i] = r->largest[i - 1];
    if (at < COUNT_OF(r->largest))
        r->largest[at] = (struct pack_size){name, size};
}

/* folder: empty, or with a slash behind it. */
static bool pack_entries(struct pack *p, struct slice folder, unsigned depth)
{
    struct slice *names = NULL;
    uint32_t count = 0, rules = p->found.count;
    if (depth > LIMIT_PACK_DEPTH)
        return err_set(p->e, ERR_LIMIT, "%.*s: more than %d folders in each other (LIMIT_PACK_DEPTH)", SLICE_ARG(folder), LIMIT_PACK_DEPTH);
    bool well = read_rules(p, folder) && read_names(p, folder, &names, &count);
    for (uint32_t i = 0; well && i < count; i++) {
        uint64_t before = p->result->size;
        well = pack_entry(p, names[i], depth);
        if (depth == 0)
            note_size(p->result, names[i], p->result->size - before);
    }
    if (well && !count && depth > 0)
        well = pack_empty(p, folder);
    p->found.count = rules;
    mem_free(names);
    return well;
}

bool pack_folder(struct slice folder, const struct flag_texts *excludes, struct arena *a, struct buf *zip, int spill_fd, uint64_t most,
                 struct pack_result *out, struct err *e)
{
    struct pack p = {.arena = a, .zip = zip, .spill = spill_fd, .most = most, .directory = {.max = LIMIT_PACK_SIZE}, .result = out, .e = e};
    struct slice real = real_place(folder.ptr, a);
    *out = (struct pack_result){0};
    if (!real.ptr)
        return err_set(e, ERR_IO, "%s: %s", folder.ptr, strerror(errno));
    for (struct slice rest = real; rest.ptr;)
        out->name = slice_cut(&rest, '/');
    p.root = slice_is(real, "/") ? real : arena_printf(a, "%.*s/", SLICE_ARG(real));
    bool well = ignore_add(&p.found, SLICE(""), SLICE(".git\n__pycache__/\n.venv/\nvenv/\n"), e);
    for (uint32_t i = 0; well && i < excludes->count; i++)
        well = ignore_add(&p.given, SLICE(""), excludes->list[i], e);
    well = well && pack_entries(&p, SLICE(""), 0);
    if (well)
        put_end(&p);
    well = well && e->code == ERR_NONE;
    if (out->skipped > SKIPPED_SHOWN)
        fprintf(stderr, "mobula: left out: %u more\n", out->skipped - SKIPPED_SHOWN);
    if (well && !out->files)
        well = err_set(e, ERR_CONFIG, "%s: no file in it that is not left out", folder.ptr);
    ignore_free(&p.given);
    ignore_free(&p.found);
    buf_free(&p.directory);
    return well;
}
