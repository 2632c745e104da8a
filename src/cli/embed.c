#include "embed.h"

/* The assembler reads the file: paths are relative to the repository's root, where the build runs. */
#define EMBED(name, path)                                                                                                                  \
    __asm__(".pushsection .rodata.embed_" #name ",\"a\"\n"                                                                                 \
            ".global embed_" #name "\n"                                                                                                    \
            ".hidden embed_" #name "\n"                                                                                                    \
            "embed_" #name ":\n"                                                                                                           \
            ".incbin \"" path "\"\n"                                                                                                       \
            ".global embed_" #name "_end\n"                                                                                                \
            ".hidden embed_" #name "_end\n"                                                                                                \
            "embed_" #name "_end:\n"                                                                                                       \
            ".byte 0\n"                                                                                                                    \
            ".popsection\n")

EMBED(crd_ray, "airgap/crds/rayclusters.ray.io.yaml");
EMBED(crd_legacy, "airgap/crds/rayclusters.cluster.ray.io.yaml");
EMBED(crd_job, "airgap/crds/rayjobs.ray.io.yaml");
EMBED(install_namespace, "airgap/install/namespace.yaml");
EMBED(install_account, "airgap/install/account.yaml");
EMBED(install_role, "airgap/install/role.yaml");
EMBED(install_role_tools, "airgap/install/role-tools.yaml");
EMBED(install_role_sidecar, "airgap/install/role-sidecar.yaml");
EMBED(install_role_proxy, "airgap/install/role-proxy.yaml");
EMBED(install_role_auth, "airgap/install/role-auth.yaml");
EMBED(install_role_leader, "airgap/install/role-leader.yaml");
EMBED(install_deployment, "airgap/install/deployment.yaml");
