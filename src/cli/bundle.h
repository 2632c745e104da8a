/* An air-gap bundle: a tar file whose first member is the signature of all bytes behind it.
 *
 *     SIGNATURE                       one block: ECDSA P-256 in DER form over SHA-256 of everything from byte BUNDLE_SIGNED on
 *     mobula-VERSION/SHA256SUMS       a line for each of the members that follow, as sha256sum prints it
 *     mobula-VERSION/…                regular files
 *
 * Nothing behind the signature is looked at before it was found good, and even then the tar is read as a stranger's: plain files only, no
 * "..", no absolute name, no name twice, no size beyond the file. */
#ifndef MOBULA_CLI_BUNDLE_H
#define MOBULA_CLI_BUNDLE_H

#include <mobula/tls.h>

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
/* Appends what follows the signature of a bundle: all files of the folder, without owners and times. */
bool bundle_body(struct slice from, struct arena *a, struct buf *out, struct err *e);
/* Appends the bundle of such a body and its signature. */
bool bundle_sign(struct slice body, struct slice signature, struct buf *out, struct err *e);

#endif
