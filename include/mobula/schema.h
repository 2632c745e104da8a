/* schema: files of the repository inside the binary, and what manifests are held against: definitions of our kinds, the Kubernetes API's
 * types of pod templates, rules between their fields. No cluster is asked. Texts and values lie in the arena that is given. */
#ifndef MOBULA_SCHEMA_H
#define MOBULA_SCHEMA_H

#include <mobula/base.h>
#include <mobula/command.h>
#include <mobula/yaml.h>

/* ---- embed ---- */

/* Files of the repository that are part of the binary, byte for byte: airgap/crds/, airgap/install/, airgap/patches/ and the texts of
 * src/cli/ and src/schema/, all of them compressed as one. */

#define EMBED_EGRESS "src/cli/egress_domains.txt"
#define EMBED_CRD_CLOUD "airgap/crds/clouds.mobula.dev.yaml" /* these three are for the cluster of a control plane */
#define EMBED_CRD_COMPUTE_CONFIG "airgap/crds/computeconfigs.mobula.dev.yaml"
#define EMBED_CRD_WORKLOAD "airgap/crds/workloads.mobula.dev.yaml"
#define EMBED_COMPLETE "src/cli/complete_%s.txt" /* bash, zsh, fish */

/* Each file's path and its text, a NUL behind both. */
struct slice embed_all(struct arena *a);
/* The text of one of them, which must be there: a path from the repository's root. */
struct slice embed_file(struct slice all, const char *path);
/* The same, empty if it is not there. */
struct slice embed_optional(struct slice all, const char *path);
/* The definition of a kind, by its struct kind.plural. */
struct slice embed_definition(struct slice all, const char *plural);

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
