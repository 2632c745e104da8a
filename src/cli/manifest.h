/* The documents of a manifest: which are for Ray, and which were meant to be. */
#ifndef MOBULA_CLI_MANIFEST_H
#define MOBULA_CLI_MANIFEST_H

#include "flags.h"

#include <mobula/kinds.h>
#include <mobula/yaml.h>

enum manifest {
    MANIFEST_OTHER, /* an object of another kind: not our business */
    MANIFEST_KIND,  /* one of ours */
    MANIFEST_LIST,  /* its items are documents themselves */
    MANIFEST_WRONG, /* no object, or one that comes near to one of ours and that no operator would ever see */
};

/* The error of a MANIFEST_WRONG: the member, its value, and what to write instead. */
struct manifest_fault {
    struct slice path;
    struct jval at;
    struct slice text;
};

/* *kind is set for MANIFEST_KIND. */
enum manifest manifest_what(struct jval object, struct arena *a, const struct kind **kind, struct manifest_fault *fault);
/* The kinds that manifests are written for, as a text: "RayCluster, RayJob or RayCronJob". */
struct slice manifest_kinds(struct arena *a);
/* A line to out that it is passed over: "FILE:LINE: skipped: "APIVERSION KIND" BECAUSE". */
void manifest_skip(const char *file, uint32_t line, struct jval object, const char *because, struct arena *a, struct buf *out);

/* The files that -f named, with folders replaced by the *.yaml, *.yml and *.json in them, sorted by name, as kubectl takes them. Paths end
 * in NUL. */
struct manifest_files {
    struct slice *list;
    uint32_t count;
};
bool manifest_files(const struct flag_texts *given, struct arena *a, struct manifest_files *out, struct err *e);

#endif
