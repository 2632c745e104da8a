/* Images of OCI archives (scratch-image/build, skopeo oci-archive:, podman save --format oci-archive) go to a registry by the distribution
 * API. Blobs go in pieces, so a layer is never copied as a whole; what the registry has already is not sent again; every blob is held
 * against its digest before it goes, and manifests go byte for byte, so an image has the same digest there as here. */
#ifndef MOBULA_CLI_REGISTRY_H
#define MOBULA_CLI_REGISTRY_H

#include <mobula/net.h>

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

/* The file of this name in a tar of anybody's; SLICE_NONE when there is none. */
struct slice tar_find(struct slice tar, struct slice name);
/* "registry.io:5000/a/mobula:1.0@sha256:…" gives "mobula" and "1.0". False: it has no tag. */
bool image_name_split(struct slice text, struct slice *name, struct slice *tag);

#endif
