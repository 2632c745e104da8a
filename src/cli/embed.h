/* Files of the repository that are part of the binary, byte for byte. */
#ifndef MOBULA_CLI_EMBED_H
#define MOBULA_CLI_EMBED_H

#include <mobula/base.h>

#define EMBEDDED(name)                                                                                                                     \
    extern const char embed_##name[], embed_##name##_end[];                                                                                \
    static inline struct slice name(void)                                                                                                  \
    {                                                                                                                                      \
        return (struct slice){embed_##name, (size_t)(embed_##name##_end - embed_##name)};                                                  \
    }

EMBEDDED(crd_ray)    /* airgap/crds/rayclusters.ray.io.yaml */
EMBEDDED(crd_legacy) /* airgap/crds/rayclusters.cluster.ray.io.yaml */
EMBEDDED(crd_job)    /* airgap/crds/rayjobs.ray.io.yaml */

/* airgap/install: templates, see install.c */
EMBEDDED(install_namespace)
EMBEDDED(install_account)
EMBEDDED(install_role)
EMBEDDED(install_role_tools)
EMBEDDED(install_role_sidecar)
EMBEDDED(install_role_proxy)
EMBEDDED(install_role_auth)
EMBEDDED(install_role_leader)
EMBEDDED(install_deployment)

#endif
