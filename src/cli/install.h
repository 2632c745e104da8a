/* What `mobula install --print` prints, as a function of its options. */
#ifndef MOBULA_CLI_INSTALL_H
#define MOBULA_CLI_INSTALL_H

#include <mobula/operator.h>

enum { INSTALL_REPLICAS_MAX = 16 };

struct install_options {
    struct slice ns;    /* where the operator runs */
    struct slice watch; /* "a,b": where it makes clusters; empty: in ns */
    struct slice kinds, image, tools, autoscaler, submitter, ray_access;
    int64_t replicas;
    bool print, leader_elect, create_namespace, crds_only, no_crds, ray_auth;
};

extern const struct install_options install_defaults;

/* Checks the options and appends the manifests as YAML documents. The same options give the same bytes. */
bool install_write(const struct install_options *o, struct buf *out, struct err *e);

#endif
