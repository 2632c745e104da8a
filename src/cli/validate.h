/* What `mobula validate` says about a text, as a function of it. */
#ifndef MOBULA_CLI_VALIDATE_H
#define MOBULA_CLI_VALIDATE_H

#include <mobula/ray.h>
#include <mobula/yaml.h>

struct validated {
    uint32_t checked, skipped; /* documents */
    uint32_t errors, warnings;
};

/* Checks every document of a YAML or JSON text; lines go to out, counts are added to *sum. file is the name in front of each line. */
void validate_text(const char *file, struct slice text, struct arena *a, struct validated *sum, struct buf *out);

/* Whether a document is a RayCluster, and which kind. */
bool manifest_kind(struct jval object, struct arena *a, enum ray_kind *kind);
/* A line to out that it is passed over: "FILE:LINE: skipped: "APIVERSION KIND" BECAUSE". */
void manifest_skip(const char *file, const struct yaml_doc *doc, struct jval object, const char *because, struct arena *a, struct buf *out);

#endif
