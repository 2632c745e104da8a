/* The default patches, below those of ConfigMap patches: flags that the operator, install and explain share (docs/patches.md). */
#ifndef MOBULA_CLI_DEFAULTS_H
#define MOBULA_CLI_DEFAULTS_H

#include <mobula/command.h>
#include <mobula/patches.h>

#define DEFAULT_PARTS "market,zone,accelerator,identity"

struct default_patches {
    struct slice provider, parts; /* "aws" or empty; "market,zone": which parts of its file, empty: all */
    struct slice account, pull_secrets;
    struct slice proxy, no_proxy, ca; /* a URL; a list; the name of a ConfigMap */
    struct slice shared;              /* a volume: "pvc:NAME", "nfs:HOST:/PATH" or "csi:DRIVER" */
    bool karpenter, tracing;
};

/* Rows of a command's table of flags: at is the offset of its struct default_patches. */
#define DEFAULT_PATCHES_AT(field) offsetof(struct default_patches, field)
#define DEFAULT_PATCHES_FLAGS(at)                                                                                                          \
    {"cloud-provider", FLAG_TEXT, (at) + DEFAULT_PATCHES_AT(provider), "aws|gcp|azure|generic",                                            \
     "what markets, zones and accelerators mean for pods here, by patches below those of ConfigMap patches; empty (default): nothing"},    \
        {"karpenter", FLAG_SWITCH, (at) + DEFAULT_PATCHES_AT(karpenter), NULL, "markets by Karpenter's labels"},                           \
        {"default-patches", FLAG_LIST, (at) + DEFAULT_PATCHES_AT(parts), "PART[,PART...]", "which of " DEFAULT_PARTS " (all)"},            \
        {"workload-service-account", FLAG_TEXT, (at) + DEFAULT_PATCHES_AT(account), "NAME", "of pods without anyscale.com/iam-mapping"},   \
        {"workload-pull-secrets", FLAG_LIST, (at) + DEFAULT_PATCHES_AT(pull_secrets), "NAME[,NAME...]", "of all pods"},                    \
        {"workload-proxy", FLAG_TEXT, (at) + DEFAULT_PATCHES_AT(proxy), "URL", "HTTP_PROXY and HTTPS_PROXY of all containers"},            \
        {"workload-no-proxy", FLAG_LIST, (at) + DEFAULT_PATCHES_AT(no_proxy), "LIST", "their NO_PROXY, beside names of the cluster"},      \
        {"workload-ca", FLAG_TEXT, (at) + DEFAULT_PATCHES_AT(ca), "NAME",                                                                  \
         "ConfigMap of each namespace whose ca.crt holds the CAs that all containers trust"},                                              \
        {"shared-storage", FLAG_TEXT, (at) + DEFAULT_PATCHES_AT(shared), "pvc:NAME|nfs:HOST:/PATH|csi:DRIVER",                             \
         "file system that Ray's containers share, at /mnt/shared_storage and /mnt/cluster_storage"},                                      \
    {                                                                                                                                      \
        "process-tracing", FLAG_SWITCH, (at) + DEFAULT_PATCHES_AT(tracing), NULL, "SYS_PTRACE for Ray's containers, for py-spy"            \
    }

bool defaults_check(const struct default_patches *o, struct err *e);
/* The sets in a, each on top of the one before; *out NULL: the flags ask for none. */
bool defaults_read(const struct default_patches *o, struct arena *a, const struct shape_patches **out, struct err *e);
/* The flags that are not the defaults as arguments of a manifest, a line each. */
struct slice defaults_arguments(const struct default_patches *o, struct arena *a);

#endif
