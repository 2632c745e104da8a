/* schema: files of the repository inside the binary, and what manifests are held against: definitions of our kinds, the Kubernetes API's
 * types of pod templates, rules between their fields. No cluster is asked. Texts and values lie in the arena that is given. */
#ifndef MOBULA_SCHEMA_H
#define MOBULA_SCHEMA_H

#include <mobula/base.h>
#include <mobula/command.h>
#include <mobula/yaml.h>

/* ---- check ---- */

/* Objects and the definitions of their kinds. */

/* Compares an object with the schema of its kind's definition (struct kind.plural), as the API server would: types, enums, limits, what is
 * required; and fields that the API server would silently drop. Rules in CEL are not looked at: the readers say the same. */
void schema_check(const char *plural, struct jval object, struct findings *f);

/* ---- manifest ---- */

/* The documents of a manifest: which are for Ray, and which were meant to be. */

struct kind;

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

/* ---- validate ---- */

/* The output of `mobula validate` for a text, as a function of it. */

struct validated {
    uint32_t checked, skipped; /* documents */
    uint32_t errors, warnings;
};

/* Checks every document of a YAML or JSON text; lines go to out, counts are added to *sum. file is the name in front of each line. */
void validate_text(const char *file, struct slice text, struct arena *a, struct validated *sum, struct buf *out);

#endif
