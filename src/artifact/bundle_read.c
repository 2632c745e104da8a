#include <mobula/artifact.h>

#include <stdio.h>

/* ---- tar, of which ustar's regular files are understood ---- */

enum { NAME_AT = 0, NAME_SIZE = 100, SIZE_AT = 124, SUM_AT = 148, SUM_SIZE = 8, TYPE_AT = 156, MAGIC_AT = 257, PREFIX_AT = 345 };

/* Eleven octal digits and a NUL. */
static bool read_size(const char *field, size_t *out)
{
    size_t n = 0;
    for (int i = 0; i < 11; i++) {
        if (field[i] < '0' || field[i] > '7')
            return false;
        n = n * 8 + (size_t)(field[i] - '0');
    }
    *out = n;
    return field[11] == '\0';
}

static bool sum_holds(const char *block)
{
    char want[SUM_SIZE];
    unsigned sum = 0;
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += i >= SUM_AT && i < SUM_AT + SUM_SIZE ? ' ' : (unsigned char)block[i];
    snprintf(want, sizeof want, "%06o", sum);
    want[SUM_SIZE - 1] = ' ';
    return memcmp(block + SUM_AT, want, sizeof want) == 0;
}

/* Parts joined by single slashes, of plain letters, none of them "." or "..". */
static bool plain_name(struct slice name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+/";
    for (size_t i = 0; i < name.len; i++)
        if (!strchr(letters, name.ptr[i]))
            return false;
    do {
        struct slice part = slice_cut(&name, '/');
        if (slice_empty(part) || slice_eq(part, SLICE(".")) || slice_eq(part, SLICE("..")))
            return false;
    } while (name.ptr);
    return true;
}

static bool all_zero(struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] != '\0')
            return false;
    return true;
}

bool tar_next(struct slice *rest, struct tar_file *out, struct err *e)
{
    const char *block = rest->ptr;
    size_t size;
    if (rest->len < TAR_BLOCK)
        return err_set(e, ERR_SYNTAX, "the tar ends in the middle");
    if (all_zero(slice_head(*rest, TAR_BLOCK)))
        return all_zero(*rest) ? false : err_set(e, ERR_SYNTAX, "there are bytes behind the tar's end");
    if (!sum_holds(block) || memcmp(block + MAGIC_AT, "ustar\00000", 8) != 0)
        return err_set(e, ERR_SYNTAX, "a tar header's checksum is wrong, or it is not ustar");
    struct slice name = {block + NAME_AT, strnlen(block + NAME_AT, NAME_SIZE)};
    if (block[TYPE_AT] != '0')
        return err_set(e, ERR_SYNTAX, "\"%.*s\" is a link, folder or device: want regular files", SLICE_ARG(name));
    if (block[PREFIX_AT] != '\0' || !plain_name(name))
        return err_set(e, ERR_SYNTAX, "\"%.*s\" is not a name that a bundle has", SLICE_ARG(name));
    if (!read_size(block + SIZE_AT, &size) || size > rest->len - TAR_BLOCK)
        return err_set(e, ERR_SYNTAX, "\"%.*s\" is larger than the file", SLICE_ARG(name));
    size_t padded = (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
    *rest = slice_skip(*rest, TAR_BLOCK);
    if (padded > rest->len || !all_zero(slice_skip(slice_head(*rest, padded), size)))
        return err_set(e, ERR_SYNTAX, "\"%.*s\" is cut off, or not padded with zeros", SLICE_ARG(name));
    *out = (struct tar_file){name, slice_head(*rest, size)};
    *rest = slice_skip(*rest, padded);
    return true;
}

/* ---- the bundle ---- */

const struct tar_file *bundle_find(const struct bundle *b, struct slice name)
{
    for (uint32_t i = 0; i < b->count; i++)
        if (slice_eq(b->files[i].name, name))
            return &b->files[i];
    return NULL;
}

static bool read_files(struct slice rest, struct bundle *b, struct err *e)
{
    struct tar_file f;
    while (tar_next(&rest, &f, e)) {
        struct slice folder = slice_cut(&f.name, '/');
        if (b->count == 0)
            b->folder = folder;
        if (!f.name.ptr || !slice_eq(folder, b->folder))
            return err_set(e, ERR_SYNTAX, "\"%.*s\" is not in the bundle's folder", SLICE_ARG(folder));
        if (bundle_find(b, f.name))
            return err_set(e, ERR_SYNTAX, "\"%.*s\" is in it twice", SLICE_ARG(f.name));
        if (b->count == BUNDLE_FILES_MAX)
            return err_set(e, ERR_LIMIT, "more than %d files (BUNDLE_FILES_MAX)", BUNDLE_FILES_MAX);
        b->files[b->count++] = f;
    }
    return e->code == ERR_NONE;
}

/* "HEX  NAME" for each file but SHA256SUMS itself, in the tar's order. */
static bool check_sums(const struct bundle *b, struct err *e)
{
    struct slice sums = b->count > 0 ? b->files[0].content : SLICE_NONE;
    char hex[TLS_SHA256_HEX];
    if (b->count == 0 || !slice_eq(b->files[0].name, SLICE("SHA256SUMS")))
        return err_set(e, ERR_MISSING, "SHA256SUMS is not its first file");
    for (uint32_t i = 1; i < b->count; i++) {
        struct slice line = slice_cut(&sums, '\n'), sum = slice_cut(&line, ' ');
        tls_sha256_hex(b->files[i].content, hex);
        if (!slice_eq(sum, slice_of(hex)) || line.len < 1 || !slice_eq(slice_skip(line, 1), b->files[i].name))
            return err_set(e, ERR_SYNTAX, "\"%.*s\" is not what SHA256SUMS says", SLICE_ARG(b->files[i].name));
    }
    if (slice_empty(sums))
        return true;
    struct slice missing = slice_cut(&sums, '\n');
    return err_set(e, ERR_MISSING, "a file that SHA256SUMS lists is missing: %.*s", SLICE_ARG(missing));
}

static bool check_parts(const struct bundle *b, struct err *e)
{
    static const char *const parts[] = {"LICENSE",      "bin/amd64/mobula",    "bin/arm64/mobula",        "image/mobula.tar",
                                        "images.txt",   "manifests/crds.yaml", "manifests/operator.yaml", "sbom.spdx.json",
                                        "sbom.cdx.json"};
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (!bundle_find(b, slice_of(parts[i])))
            return err_set(e, ERR_MISSING, "%s is missing", parts[i]);
    return true;
}

bool bundle_open(struct slice bytes, const struct tls_key *key, struct bundle *out, struct err *e)
{
    struct tar_file signature;
    struct slice first = slice_head(bytes, BUNDLE_SIGNED);
    out->count = 0;
    if (bytes.len < BUNDLE_SIGNED)
        return err_set(e, ERR_SYNTAX, "it is too short for a bundle: copy it again");
    if (!tar_next(&first, &signature, e) || !slice_eq(signature.name, SLICE("SIGNATURE")) || first.len != 0)
        return err_set(e, ERR_SYNTAX, "it does not begin with a signature: this is no bundle, or a damaged one: copy it again");
    if (!tls_key_signed(key, slice_skip(bytes, BUNDLE_SIGNED), signature.content))
        return err_set(e, ERR_DENIED,
                       "the signature is not by this key, or the file was changed: copy it again, and compare the key's "
                       "fingerprint with the one that you were told");
    return (read_files(slice_skip(bytes, BUNDLE_SIGNED), out, e) && check_sums(out, e) && check_parts(out, e)) ||
           err_wrap(e, "well signed, but no bundle: ask who signed it to make it by mobula bundle create");
}
