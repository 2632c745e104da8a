/* Between the flags of `mobula install` and its manifests. */
#ifndef MOBULA_RELEASE_PRIVATE_H
#define MOBULA_RELEASE_PRIVATE_H

#include <mobula/release.h>

/* The settings that the flags ask for. */
struct install_wanted {
    enum operator_kinds kinds;
    struct ray_options tools;
    struct ray_tools_resources limits, requests; /* of the operator's own pod */
    struct cli_namespaces watch;
    struct slice image, name, component;
    uint16_t proxy_port, plane_port; /* 0: none */
    uint16_t bucket_port, sts_port;  /* of the bucket's endpoint, of --sts-url; 0: 443, or none */
    int64_t replicas;
    bool pods, elect;
    bool brings[LIMIT_KINDS]; /* by place in kinds[]: the installation has the kind */
};
/* False: a flag is wrong, or two exclude each other. */
bool install_check(const struct install_options *o, struct install_wanted *want, struct arena *a, struct err *e);

/* ---- install_files.c ---- */

/* When a file is part of an installation. airgap/make-chart knows these words. */
enum install_when {
    ALWAYS,
    IF_ADMISSION,
    IF_ADMISSION_OF_SHAPES,
    IF_AGENT,
    IF_AGENT_HERE, /* agents report to the operator */
    IF_AGENT_DIRECT,
    IF_AUTH,
    IF_ELECTED,
    IF_IDENTITY, /* the operator may use an identity of its pod, whose credentials a server of the node or cloud issues */
    IF_NETWORK_POLICY,
    IF_NODES,
    IF_OWN_CERTIFICATE,
    IF_PLANE_TOKEN,
    IF_PLANE_URL,
    IF_PROGRAM,
    IF_PROXIED,
    IF_REPLICAS,
    IF_ROUTE_CA,
    IF_ROUTE_CA_OWN, /* the operator makes it */
    IF_SERVICE_AUTH,
    IF_SHAPES,
    IF_SIDECAR,
    IF_TOOLS,
    IF_VIRTUAL_HOST,
    AS_ASKED, /* of flags alone */
};
bool install_has(enum install_when when, const struct install_options *o, const struct install_wanted *want);

struct install_file {
    const char *name; /* airgap/install/NAME.yaml */
    uint8_t when;     /* enum install_when */
    enum { OF_OPERATOR = 1, OF_PLANE = 2, OF_BOTH = 3 } of : 8;
    enum {
        INSTALL_ONCE,
        INSTALL_EACH,  /* in each of the watched namespaces; with --all-namespaces once, in the cluster's scope */
        INSTALL_ADMIN, /* once, by an admin of the cluster: what --crds-only prints and --no-crds leaves out */
    } how : 8;
};
extern const struct install_file install_files[]; /* in the order in which they are applied; ended by a name NULL */

/* A file that is part of others: what stands there for @VARIABLE@. */
struct install_inset {
    const char *variable, *file;
    uint8_t when;
};
extern const struct install_inset install_insets[]; /* ended by a variable NULL */

/* ---- */

/* The entries of --egress-allow. */
struct flag_texts install_egress(const struct install_options *o);
/* The port of the next proxy of a table as MOBULA_PROXIES has it, off its front; 0 where it says "direct". */
bool install_next_proxy(struct slice *table, struct arena *a, uint16_t *port, struct err *e);

#endif
