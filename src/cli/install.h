/* What `mobula install --print` and `mobula uninstall` print, as functions of their options. */
#ifndef MOBULA_CLI_INSTALL_H
#define MOBULA_CLI_INSTALL_H

#include <mobula/operator.h>

enum {
    INSTALL_REPLICAS_MAX = 16,
    INSTALL_TEXT_MAX = LIMIT_YAML_INPUT, /* bytes of the manifests */
};

struct install_options {
    struct slice ns;    /* where the operator runs */
    struct slice watch; /* "a,b": where it makes clusters; empty: in ns */
    struct slice kinds, image, tools, tools_resources, autoscaler, submitter, ray_access, egress;
    struct slice kubeconfig, context; /* of apply */
    int64_t replicas, timeout_ms;
    bool print, apply, leader_elect, create_namespace, crds_only, no_crds, ray_auth, egress_strict, shapes;
};

extern const struct install_options install_defaults;

/* Checks the options and appends the manifests as YAML documents. The same options give the same bytes. */
bool install_write(const struct install_options *o, struct buf *out, struct err *e);

struct uninstall_options {
    struct slice ns, watch, kinds, kubeconfig, context; /* as above */
    int64_t timeout_ms;
    bool crds, apply;
};
/* What there is to delete, as YAML documents with nothing but names. */
bool uninstall_write(const struct uninstall_options *o, struct buf *out, struct err *e);

#endif
