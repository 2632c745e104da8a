/* artifact: files and images that are carried to where there is no way to fetch them: bundles, images of archives on their way to a
 * registry, images that manifests name, the program for a ConfigMap, and a user's folder as a zip file. Sizes are bytes; a function that
 * fails returns false (or NULL) and sets *e. Tars and zips of others are read as a stranger's. */
#ifndef MOBULA_ARTIFACT_H
#define MOBULA_ARTIFACT_H

#include <mobula/base.h>
#include <mobula/command.h>
#include <mobula/net.h>
#include <mobula/tls.h>

/* ---- bundle ---- */

/* An air-gap bundle: a tar file whose first member is the signature of all bytes behind it.
 *
 *     SIGNATURE                       one block: ECDSA P-256 in DER form over SHA-256 of everything from byte BUNDLE_SIGNED on
 *     mobula-VERSION/SHA256SUMS       a line for each of the members that follow, as sha256sum prints it
 *     mobula-VERSION/…                regular files
 *
 * Nothing behind the signature is looked at before it was found good, and even then the tar is read as a stranger's: plain files only, no
 * "..", no absolute name, no name twice, no size beyond the file. */

enum { TAR_BLOCK = 512, TAR_NAME_MAX = 100, BUNDLE_SIGNED = 2 * TAR_BLOCK, BUNDLE_FILES_MAX = 1024 };

struct tar_file {
    struct slice name, content;
};
/* The next file of a tar, off the front of *rest. False at its end, or with *e set: it is broken, or holds what no bundle holds. name lies
 * in the tar. */
bool tar_next(struct slice *rest, struct tar_file *out, struct err *e);

/* The block before a file, in ustar form. */
void tar_header(char block[TAR_BLOCK], const char *name, size_t size, int64_t mtime_s, unsigned mode);

struct bundle {
    struct slice folder;                     /* "mobula-0.1.0" */
    struct tar_file files[BUNDLE_FILES_MAX]; /* names without the folder */
    uint32_t count;
};
bool bundle_open(struct slice bytes, const struct tls_key *key, struct bundle *out, struct err *e);
/* The file of that name; NULL: there is none. */
const struct tar_file *bundle_find(const struct bundle *b, struct slice name);
/* Writes the bundle's files into a folder that does not exist yet; those below bin/ can be executed. After an error the folder is not
 * complete, and *e says so. */
bool bundle_unpack(const struct bundle *b, struct slice to, struct err *e);
/* Writes a file that does not exist yet. */
bool bundle_write(const char *path, struct slice bytes, struct err *e);
/* Appends what follows the signature of a bundle: all files of the folder, without owners and times. */
bool bundle_body(struct slice from, struct arena *a, struct buf *out, struct err *e);
/* Appends the bundle of such a body and its signature. */
bool bundle_sign(struct slice body, struct slice signature, struct buf *out, struct err *e);

/* ---- registry ---- */

/* Images of OCI archives (scratch-image/build, skopeo oci-archive:, podman save --format oci-archive) go to a registry by the distribution
 * API. Blobs go in pieces, so a layer is never copied as a whole; what the registry has already is not sent again; every blob is held
 * against its digest before it goes, and manifests go byte for byte, so an image has the same digest there as here. */

struct registry_options {
    struct slice to;             /* http[s]://HOST[:PORT][/PREFIX] */
    struct slice user, password; /* for Basic; no user: none */
    struct slice ca;             /* a file of PEM certificates; empty: the machine's own */
    int64_t timeout_ms;          /* of each request */
};
struct registry;
bool registry_is_url(struct slice to);
/* NULL with *e. Wants registry_close. */
struct registry *registry_open(const struct registry_options *o, struct err *e);
void registry_close(struct registry *r);
/* Every image of the archive, under PREFIX/NAME:TAG, where NAME is the last part of its name in the archive; `name` is for messages. A line
 * for each goes to *out. */
bool registry_push(struct registry *r, struct slice tar, const char *name, struct buf *out, struct err *e);
/* The same of a file, which is mapped: an image of Ray is larger than the memory that this program wants to use. */
bool registry_push_file(struct registry *r, struct slice path, struct buf *out, struct err *e);

/* The file of this name in a tar of anybody's; SLICE_NONE when there is none. */
struct slice tar_find(struct slice tar, struct slice name);
/* "registry.io:5000/a/mobula:1.0@sha256:…" gives "mobula" and "1.0". False: it has no tag. */
bool image_name_split(struct slice text, struct slice *name, struct slice *tag);

/* ---- images ---- */

/* The output of `mobula images`, as a function of manifests. */

enum { IMAGES_MAX = 4096 };
struct images {
    struct slice list[IMAGES_MAX];
    uint32_t count;
};
/* Adds one, unless it is there already. */
bool images_add(struct images *set, struct slice image, struct err *e);
/* The images of containers and image volumes of all documents, whatever their kind; text and arena must stay. */
bool images_read(struct slice text, struct arena *a, struct images *set, struct err *e);
void images_sort(struct images *set);

/* ---- program ---- */

/* The program that `mobula install --registryless` puts into a ConfigMap, and an image that it can run in. */

enum {
    INSTALL_PROGRAM_FILE_MAX = 16 * MIB, /* bytes of a program before it is compressed */
    INSTALL_PROGRAM_MAX = MIB,           /* bytes of a ConfigMap, base64 not counted */
};

/* Writes the carried form (carry.c) of a program. A program without a stub in it, such as a carried form, is copied as it is. False: out is
 * full. */
bool program_carry(struct slice program, struct buf *out);
/* Makes the carried form of the running program beside the caller's work. It is not closed: it lives until the process ends. *hash: of the
 * program. NULL: the program cannot be read (*e). */
struct carrier;
struct carrier *carrier_open(uint64_t *hash, struct err *e);
/* False: it is not ready yet. The first call begins it, in a thread. */
bool carrier_take(struct carrier *c, struct slice *out);
/* Reads the file (empty: this program) and makes its carried form; *arch is its architecture, as Kubernetes calls it. */
bool program_read(struct slice path, struct arena *a, struct slice *bytes, struct slice *arch, struct err *e);
bool program_arch(struct slice bytes, struct slice *arch, struct err *e);
/* A pause image that every node of this architecture has, by what the nodes say. False with *e: none is on all of them. */
bool program_image(struct ask *k, struct slice arch, struct arena *a, struct slice *image, struct err *e);
/* The same of a list of nodes. */
bool program_choose(struct jval nodes, struct slice arch, struct arena *a, struct slice *image, struct err *e);

/* ---- pack ---- */

/* A folder of the user's own machine as a zip file that Ray unpacks: the same bytes for the same files, names in order and no times. */

struct pack_size {
    struct slice name;
    uint64_t size;
};
struct pack_result {
    struct slice name;           /* of the folder, without its path */
    uint32_t files, skipped;     /* skipped: links, special files and names that are not UTF-8; the first of them are printed */
    struct pack_size largest[3]; /* of the folder's own entries, the largest first; size 0: there are fewer */
    uint64_t size;               /* of all files */
    bool over;                   /* they do not fit: from here on files are only counted */
    uint64_t spilled;            /* bytes of the zip file that were moved from the buffer to the temporary file */
};
/* excludes: items as in a .gitignore of the folder itself, which count for more than any file's. Everything stands under one folder at the
 * top, which Ray takes away. Paths lie in a. When zip is full, further files are not read (out->over); more than LIMIT_PACK_FILES are an
 * error. spill: file descriptor of a temporary file to which the whole zip file is moved as it grows, up to `most` bytes; -1: none, it
 * stays in zip. */
bool pack_folder(struct slice folder, const struct flag_texts *excludes, struct arena *a, struct buf *zip, int spill, uint64_t most,
                 struct pack_result *out, struct err *e);

#endif
