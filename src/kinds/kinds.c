/* The table of all kinds. Each kind's own tables are in src/kinds/NAME/kind.c. */
#include <mobula/kind_raycluster.h>
#include <mobula/kind_workload.h>
#include <mobula/kinds.h>
#include <mobula/settings.h>

/* Lowest first. A new kind is one word here; it need not be declared anywhere else unless another kind speaks of it. */
#define KINDS(kind)                                                                                                                        \
    kind(raycluster) kind(raycluster_legacy) kind(rayjob) kind(raycronjob) kind(rayservice) kind(versioned) kind(workload) kind(pod)       \
        kind(kservice) kind(ingress) kind(gateway) kind(httproute) kind(grpcroute) kind(virtualservice)
#define DECLARATION(name) extern const struct kind kind_##name;
#define ENTRY(name) &kind_##name,
KINDS(DECLARATION)
const struct kind *const kinds[] = {KINDS(ENTRY) NULL};
_Static_assert(COUNT_OF(kinds) - 1 <= LIMIT_KINDS, "as the limit of watches has it");

const struct control_parts kinds_parts = {.kinds = kinds, .settings = setting_kinds, .handlers = control_handlers, .amend = patches_amend};
