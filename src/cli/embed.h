/* Files of the repository that are part of the binary, byte for byte: airgap/crds/, airgap/install/, airgap/patches/ and the texts of
 * src/cli/, all of them compressed as one. */
#ifndef MOBULA_CLI_EMBED_H
#define MOBULA_CLI_EMBED_H

#include <mobula/base.h>

#define EMBED_EGRESS "src/cli/egress_domains.txt"
#define EMBED_CRD_CLOUD "airgap/crds/clouds.mobula.dev.yaml" /* these three are for the cluster of a control plane */
#define EMBED_CRD_COMPUTE_CONFIG "airgap/crds/computeconfigs.mobula.dev.yaml"
#define EMBED_CRD_WORKLOAD "airgap/crds/workloads.mobula.dev.yaml"
#define EMBED_POD_FIELDS "src/cli/pod_fields.txt"
#define EMBED_COMPLETE "src/cli/complete_%s.txt" /* bash, zsh, fish */

/* Each file's path and its text, a NUL behind both. */
struct slice embed_all(struct arena *a);
/* The text of one of them, which must be there: a path from the repository's root. */
struct slice embed_file(struct slice all, const char *path);
/* The same, empty if it is not there. */
struct slice embed_optional(struct slice all, const char *path);
/* The definition of a kind, by its struct kind.plural. */
struct slice embed_definition(struct slice all, const char *plural);

#endif
