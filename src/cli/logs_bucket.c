#include "logs_bucket.h"
#include "cli.h"

#include <mobula/ship.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CELL = 128 };

/* One object below logs/NAMESPACE/: a batch of a file. */
struct segment {
    struct slice cluster, node, file, key, modified;
    uint64_t generation, start;
    int64_t size; /* bytes of the object */
};

struct reading {
    const struct logs_bucket_options *o;
    struct storage s;
    struct slice prefix; /* of the names of the namespace's logs */
    bool well;           /* false: *e of the caller is set */
    uint32_t found;
    bool others; /* there are logs, if not those that the options ask for */
    /* the file whose segments are being read; they come in order */
    struct slice path; /* CLUSTER/NODE/FILE */
    uint64_t generation, next;
    struct slice modified;
    int64_t size;
    uint64_t skip; /* bytes that are not printed */
    int fd;        /* of a download; -1: none */
    struct arena a;
    struct buf packed, plain;
};

typedef bool on_segment(struct reading *r, const struct segment *one, struct err *e);

/* ---- the list ---- */

static bool read_segment(struct reading *r, const struct cloud_object *o, struct segment *out)
{
    struct slice rest = slice_starts(o->key, r->prefix) ? slice_skip(o->key, r->prefix.len) : SLICE("");
    *out = (struct segment){.key = o->key, .modified = o->modified, .size = o->size};
    out->cluster = slice_cut(&rest, '/');
    out->node = slice_cut(&rest, '/');
    return rest.ptr && !slice_empty(out->cluster) && !slice_empty(out->node) &&
           ship_object_read(rest, &out->file, &out->generation, &out->start) && cloud_key(o->key, &(struct err){0});
}

/* The pod's name and its uid are joined by a dot: either the pod's name or both are a node. */
static bool is_node(struct slice node, struct slice wanted)
{
    return slice_empty(wanted) || slice_eq(node, wanted) ||
           (slice_starts(node, wanted) && node.len == wanted.len + 37 && node.ptr[wanted.len] == '.');
}

/* Each star of the pattern stands for any characters. */
static bool is_like(struct slice file, struct slice pattern)
{
    struct slice part = slice_cut(&pattern, '*');
    if (!slice_starts(file, part))
        return false;
    file = slice_skip(file, part.len);
    for (; pattern.ptr; file = slice_skip(file, 1))
        if (is_like(file, pattern))
            return true;
        else if (slice_empty(file))
            return false;
    return slice_empty(file);
}

static bool is_file(struct slice file, struct slice wanted)
{
    return slice_empty(wanted) || is_like(file, wanted);
}

static bool is_recent(const struct reading *r, struct slice modified)
{
    int64_t at_us;
    return !r->o->since_ms || !time_parse(modified, &at_us, NULL) || at_us >= clock_now().wall_us - r->o->since_ms * 1000;
}

/* Hands out the segments below CLUSTER/NODE, a prefix of a node's name, that the options ask for, in the order of their files and of the
 * files' lines. */
static bool each_segment(struct reading *r, struct slice cluster, const char *node, struct slice file, on_segment *on, struct err *e)
{
    struct slice more = SLICE(""), prefix = arena_printf(&r->s.a, "%.*s%.*s/%s", SLICE_ARG(r->prefix), SLICE_ARG(cluster), node);
    do {
        struct cloud_list page;
        if (!storage_list(&r->s, prefix, true, &more, &page, e))
            return false;
        /* a download makes calls, which reuse the memory of the page */
        arena_reset(&r->a, MIB);
        struct segment *all = arena_array(&r->a, page.count + 1, sizeof *all);
        uint32_t count = 0;
        for (uint32_t i = 0; i < page.count; i++) {
            struct cloud_object o = page.objects[i];
            o.key = arena_dup(&r->a, o.key);
            o.modified = arena_dup(&r->a, o.modified);
            bool log = read_segment(r, &o, &all[count]);
            r->others |= log;
            if (log && is_node(all[count].node, r->o->node) && is_file(all[count].file, file) && is_recent(r, o.modified))
                count++;
        }
        for (uint32_t i = 0; i < count; i++)
            if (!on(r, &all[i], e))
                return false;
    } while (!slice_empty(more));
    return true;
}

/* Replaces a text that outlives the arena of a page. */
static void keep(struct slice *to, struct slice text)
{
    char *kept = mem_alloc(text.len + 1);
    if (text.len)
        memcpy(kept, text.ptr, text.len);
    mem_free((char *)(uintptr_t)to->ptr);
    *to = (struct slice){kept, text.len};
}

static struct slice path_of(struct reading *r, const struct segment *one)
{
    return arena_printf(&r->a, "%.*s/%.*s/%.*s", SLICE_ARG(one->cluster), SLICE_ARG(one->node), SLICE_ARG(one->file));
}

/* Whether the next segment is of another file than the last one; r->path is set to it. */
static bool is_next_file(struct reading *r, const struct segment *one)
{
    struct slice path = path_of(r, one);
    if (slice_eq(path, r->path))
        return false;
    keep(&r->path, path);
    r->generation = 0;
    r->found++;
    return true;
}

static void print_row(struct reading *r)
{
    char path[CELL * 4], when[CELL];
    if (slice_empty(r->path))
        return;
    utf8_clean(r->modified, when, sizeof when);
    printf("%-20.19s %12lld %s\n", when, (long long)r->size, utf8_clean(r->path, path, sizeof path).ptr);
}

static bool list_segment(struct reading *r, const struct segment *one, struct err *e)
{
    (void)e;
    if (!slice_eq(r->path, path_of(r, one))) {
        print_row(r);
        is_next_file(r, one);
        r->size = 0;
    }
    r->size += one->size;
    keep(&r->modified, one->modified);
    return true;
}

/* ---- content ---- */

static bool keep_piece(void *owner, struct slice piece, struct err *e)
{
    struct reading *r = owner;
    return buf_put(&r->packed, piece) || err_set(e, ERR_LIMIT, "the object is larger than a batch of logs (LIMIT_SHIP_BATCH)");
}

/* Reads and decompresses one segment into r->plain. A store or proxy may have decompressed it on the way. */
static bool fetch(struct reading *r, const struct segment *one, struct err *e)
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
        fprintf(stderr, "mobula: %.*s: %lld bytes before byte %llu are not in the bucket\n", SLICE_ARG(r->path),
                (long long)(one->start - r->next), (unsigned long long)one->start);
    r->generation = one->generation;
    r->next = one->start + r->plain.len;
    return true;
}

static bool print_segment(struct reading *r, const struct segment *one, struct err *e)
{
    bool other = is_next_file(r, one), star = slice_empty(r->o->file) || slice_find(r->o->file, '*') >= 0 || slice_empty(r->o->node);
    if (!fetch(r, one, e))
        return false;
    if (other && star && r->o->file.ptr)
        fprintf(stderr, "==> %.*s <==\n", SLICE_ARG(arena_clean(&r->a, r->path, 4 * CELL)));
    size_t skip = r->skip < r->plain.len ? (size_t)r->skip : r->plain.len;
    r->skip -= skip;
    return cli_print(slice_skip(buf_slice(&r->plain), skip)) || err_set(e, ERR_IO, "standard output cannot be written to");
}

static bool make_folders(struct reading *r, struct slice path, struct err *e)
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

/* read_segment passes over names with "..", and a link at the end of the path is not followed. */
static bool download_segment(struct reading *r, const struct segment *one, struct err *e)
{
    bool other = is_next_file(r, one);
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

/* ---- which clusters ---- */

/* Clusters of a RayJob or RayService have its name, a hyphen and five characters. */
static bool is_made_by(struct slice cluster, struct slice name)
{
    return cluster.len == name.len + 1 + NAME_SUFFIX && slice_starts(cluster, name) && cluster.ptr[name.len] == '-';
}

/* Hands out the segments of all clusters of the job or service. */
static bool each_cluster(struct reading *r, struct slice name, struct slice file, on_segment *on, struct err *e)
{
    struct slice more = SLICE(""), prefix = arena_printf(&r->s.a, "%.*s%.*s-", SLICE_ARG(r->prefix), SLICE_ARG(name));
    __attribute__((cleanup(arena_free))) struct arena kept = {0};
    do {
        struct cloud_list page;
        if (!storage_list(&r->s, prefix, false, &more, &page, e))
            return false;
        struct slice *clusters = arena_array(&kept, page.count + 1, sizeof *clusters);
        for (uint32_t i = 0; i < page.count; i++)
            clusters[i] =
                slice_starts(page.objects[i].key, prefix) ? arena_dup(&kept, slice_skip(page.objects[i].key, r->prefix.len)) : SLICE("");
        for (uint32_t i = 0; i < page.count; i++) {
            struct slice cluster = slice_head(clusters[i], clusters[i].len ? clusters[i].len - 1 : 0);
            if (is_made_by(cluster, name) && !each_segment(r, cluster, "", file, on, e))
                return false;
        }
    } while (!slice_empty(more));
    return true;
}

static bool open_reading(struct reading *r, const struct logs_bucket_options *o, struct slice ns, struct err *e)
{
    struct cloud_place at;
    *r = (struct reading){.o = o, .fd = -1, .path = SLICE_NONE};
    buf_init(&r->packed, 2 * LIMIT_SHIP_BATCH);
    buf_init(&r->plain, 2 * LIMIT_SHIP_BATCH);
    if (!cloud_place(o->url, &at, e))
        return err_wrap(e, "--bucket");
    if (!storage_open(&r->s, &o->storage, &at, e))
        return false;
    r->prefix = arena_printf(&r->s.a, "%.*s%.*s/", SLICE_ARG(storage_logs(at.key, &r->s.a)), SLICE_ARG(ns));
    return true;
}

static void close_reading(struct reading *r)
{
    if (r->fd >= 0)
        close(r->fd);
    if (r->s.from.owner)
        storage_close(&r->s);
    mem_free((char *)(uintptr_t)r->path.ptr);
    mem_free((char *)(uintptr_t)r->modified.ptr);
    buf_free(&r->packed);
    buf_free(&r->plain);
    arena_free(&r->a);
}

bool logs_bucket_asked(const struct logs_bucket_options *o)
{
    return !slice_empty(o->node) || !slice_empty(o->file) || !slice_empty(o->download) || o->since_ms;
}

bool logs_bucket_read(const struct logs_bucket_options *o, struct slice ns, struct slice name, const char *made, struct err *e)
{
    struct reading r;
    on_segment *on = !slice_empty(o->download) ? download_segment : !slice_empty(o->file) ? print_segment : list_segment;
    bool well = open_reading(&r, o, ns, e);
    well = well && (!made || each_segment(&r, name, made, o->file, on, e)) &&
           (made ? each_cluster(&r, name, o->file, on, e) : each_segment(&r, name, "", o->file, on, e));
    if (well && on == list_segment)
        print_row(&r);
    if (well && on == download_segment)
        fprintf(stderr, "mobula: %u files below %.*s\n", r.found, SLICE_ARG(o->download));
    if (well && r.found == 0 && r.others)
        well =
            err_set(e, ERR_STATUS, "%.*s has logs of %.*s, but none that --node, --file and --since leave: without --file they are listed",
                    SLICE_ARG(o->url), SLICE_ARG(name));
    else if (well && r.found == 0)
        well = err_set(e, ERR_STATUS,
                       "%.*s has no such logs below %.*s%.*s%s: are the namespace (-n) and the name right, and has the operator --bucket?",
                       SLICE_ARG(o->url), SLICE_ARG(r.prefix), SLICE_ARG(name), made ? "-" : "/");
    close_reading(&r);
    return well;
}

/* ---- the log of a job's driver ---- */

#define DRIVER "job-driver-"

static bool find_last(struct reading *r, const struct segment *one, struct err *e)
{
    (void)e;
    if (!slice_starts(one->file, SLICE(DRIVER)) || slice_cmp(one->modified, r->modified) < 0)
        return true;
    is_next_file(r, one);
    keep(&r->modified, one->modified);
    return true;
}

bool logs_bucket_driver(const struct logs_bucket_options *o, struct slice ns, struct slice cluster, struct slice id, uint64_t skip,
                        struct err *e)
{
    struct reading r;
    struct logs_bucket_options plain = {.url = o->url, .storage = o->storage};
    bool well = open_reading(&r, &plain, ns, e);
    r.skip = skip;
    struct slice file = slice_empty(id) ? SLICE(DRIVER "*") : arena_printf(&r.s.a, DRIVER "%.*s.log", SLICE_ARG(id));
    if (well && slice_empty(id)) { /* the newest one of all attempts */
        well = each_cluster(&r, cluster, file, find_last, e);
        struct slice rest = arena_dup(&r.s.a, r.path);
        cluster = slice_cut(&rest, '/');
        plain.node = slice_cut(&rest, '/');
        file = rest;
        r.found = 0;
        keep(&r.path, SLICE(""));
    }
    well = well && (slice_empty(cluster) || each_segment(&r, cluster, "", file, print_segment, e));
    bool found = r.found > 0;
    close_reading(&r);
    return well && found;
}
