/* `mobula bundle create`: a folder as a bundle. openssl signs it, so this program never reads the private key: without --signature the
 * bytes to be signed are written, and with it the bundle of the same bytes. */
#include <mobula/artifact.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

struct creation {
    struct arena *a;
    struct slice from;
    struct bundle *out; /* its files, without SHA256SUMS */
    struct err *e;
};

void tar_header(char block[TAR_BLOCK], const char *name, size_t size, int64_t mtime_s, unsigned mode)
{
    unsigned sum = 0;
    memset(block, 0, TAR_BLOCK);
    snprintf(block, TAR_NAME_MAX, "%s", name);
    snprintf(block + 100, 25, "%07o%c%07o%c%07o", mode, 0, 0, 0, 0);
    snprintf(block + 124, 25, "%011llo%c%011llo", (unsigned long long)size, 0, (unsigned long long)mtime_s);
    memset(block + 148, ' ', 8);
    block[156] = '0'; /* a file */
    memcpy(block + 257, "ustar\00000", 8);
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += (unsigned char)block[i];
    snprintf(block + 148, 8, "%06o", sum);
}

/* Files of a folder and of those in it, whose names in the bundle begin with `below`. */
static bool gather_folder(struct creation *c, struct slice below);

static bool gather_one(struct creation *c, struct slice name)
{
    struct slice path = arena_printf(c->a, "%.*s/%.*s", SLICE_ARG(c->from), SLICE_ARG(name)), content;
    struct stat st;
    if (lstat(path.ptr, &st) != 0)
        return err_set(c->e, ERR_IO, "%s: %s", path.ptr, strerror(errno));
    if (S_ISDIR(st.st_mode) && name.len < TAR_NAME_MAX) /* a longer one has no files for a bundle */
        return gather_folder(c, arena_printf(c->a, "%.*s/", SLICE_ARG(name)));
    if (!S_ISREG(st.st_mode))
        return err_set(c->e, ERR_SYNTAX, "%s: a bundle holds plain files only", path.ptr);
    if (slice_eq(name, SLICE("SHA256SUMS"))) /* is made again */
        return true;
    if (c->out->count == BUNDLE_FILES_MAX - 1)
        return err_set(c->e, ERR_LIMIT, "%.*s: more than %d files (BUNDLE_FILES_MAX)", SLICE_ARG(c->from), BUNDLE_FILES_MAX - 1);
    if (!cli_read_most(path, LIMIT_BUNDLE, "LIMIT_BUNDLE", c->a, &content, c->e))
        return false;
    c->out->files[c->out->count++] = (struct tar_file){name, content};
    return true;
}

static bool gather_folder(struct creation *c, struct slice below)
{
    struct slice path = arena_printf(c->a, "%.*s/%.*s", SLICE_ARG(c->from), SLICE_ARG(below));
    DIR *folder = opendir(path.ptr);
    struct dirent *one;
    bool well = folder || err_set(c->e, ERR_IO, "%s: %s", path.ptr, strerror(errno));
    while (well && (one = readdir(folder)))
        if (strcmp(one->d_name, ".") != 0 && strcmp(one->d_name, "..") != 0)
            well = gather_one(c, arena_printf(c->a, "%.*s%s", SLICE_ARG(below), one->d_name));
    if (folder)
        closedir(folder);
    return well;
}

static int by_name(const void *a, const void *b)
{
    const struct tar_file *x = a, *y = b;
    return slice_cmp(x->name, y->name);
}

static bool put_file(struct buf *out, struct slice folder, struct slice name, struct slice content, struct err *e)
{
    const char zeros[TAR_BLOCK] = "";
    char block[TAR_BLOCK], path[2 * TAR_NAME_MAX];
    int n = snprintf(path, sizeof path, "%.*s%.*s", SLICE_ARG(folder), SLICE_ARG(name));
    if (n >= TAR_NAME_MAX)
        return err_set(e, ERR_LIMIT, "%.*s%.*s: a name has at most %d bytes", SLICE_ARG(folder), SLICE_ARG(name), TAR_NAME_MAX - 1);
    tar_header(block, path, content.len, 0, slice_starts(name, SLICE("bin/")) ? 0755 : 0644);
    return (buf_put(out, (struct slice){block, sizeof block}) && buf_put(out, content) &&
            buf_put(out, (struct slice){zeros, (TAR_BLOCK - content.len % TAR_BLOCK) % TAR_BLOCK})) ||
           err_set(e, ERR_LIMIT, "more than %d bytes (LIMIT_BUNDLE)", LIMIT_BUNDLE);
}

/* "/a/mobula-0.1.0/" is mobula-0.1.0. */
static struct slice last_part(struct slice path)
{
    while (slice_ends(path, SLICE("/")))
        path.len--;
    for (struct slice rest = path; rest.ptr;)
        path = slice_cut(&rest, '/');
    return path;
}

bool bundle_body(struct slice from, struct arena *a, struct buf *out, struct err *e)
{
    const char zeros[2 * TAR_BLOCK] = "";
    struct creation c = {a, from, arena_new(a, struct bundle), e};
    struct slice folder = arena_printf(a, "%.*s/", SLICE_ARG(last_part(from)));
    char hex[TLS_SHA256_HEX];
    __attribute__((cleanup(buf_free))) struct buf sums;
    buf_init(&sums, MIB);
    if (!gather_folder(&c, SLICE("")))
        return false;
    qsort(c.out->files, c.out->count, sizeof c.out->files[0], by_name);
    for (uint32_t i = 0; i < c.out->count; i++) {
        tls_sha256_hex(c.out->files[i].content, hex);
        buf_printf(&sums, "%s  %.*s\n", hex, SLICE_ARG(c.out->files[i].name));
    }
    bool well = put_file(out, folder, SLICE("SHA256SUMS"), buf_slice(&sums), e);
    for (uint32_t i = 0; well && i < c.out->count; i++)
        well = put_file(out, folder, c.out->files[i].name, c.out->files[i].content, e);
    return well && buf_put(out, (struct slice){zeros, sizeof zeros});
}

bool bundle_sign(struct slice body, struct slice signature, struct buf *out, struct err *e)
{
    return put_file(out, SLICE(""), SLICE("SIGNATURE"), signature, e) &&
           (out->len == BUNDLE_SIGNED ||
            err_set(e, ERR_SYNTAX, "this is no signature on P-256: want that of openssl dgst -sha256 -sign")) &&
           buf_put(out, body);
}
