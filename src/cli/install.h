/* The output of `mobula install --print` and `mobula uninstall`, as functions of their options. */
#ifndef MOBULA_CLI_INSTALL_H
#define MOBULA_CLI_INSTALL_H

#include "apply.h"
#include "defaults.h"

#include <mobula/operator.h>

enum {
    INSTALL_REPLICAS_MAX = 16,
    INSTALL_TEXT_MAX = LIMIT_YAML_INPUT, /* bytes of the manifests */
};

#define INSTALL_IMAGE "localhost/mobula:" MOBULA_VERSION

/* Values of the chart that are copied into the manifests as JSON. */
enum { RAW_TOLERATIONS, RAW_AFFINITY, RAW_SPREAD, RAW_POD_ANNOTATIONS, RAW_POD_LABELS, RAW_SERVICE_ANNOTATIONS, RAW_ENV, INSTALL_RAW };
extern const struct install_raw {
    const char *key;
    bool list, texts; /* list: an array of objects, else an object; texts: all members are strings */
} install_raw[INSTALL_RAW];

/* A bucket for the logs of every pod of Ray. */
struct install_bucket {
    struct slice url, endpoint, region; /* url empty: none */
    struct slice secret;                /* NAME of a Secret, here and in the watched namespaces; empty: the pods' identity */
    struct slice ca;                    /* NAME or NAME/KEY of a ConfigMap; empty: none */
};

struct install_options {
    struct slice ns;              /* where the operator runs */
    struct slice watch;           /* "a,b": where it makes clusters; empty: in ns */
    struct slice image, registry; /* not given: INSTALL_IMAGE, or its name in the registry */
    struct slice program, arch;   /* bytes of the program, for a ConfigMap, and what it runs on; empty: the image has it */
    struct slice pull_secrets, resources, proxy, no_proxy, proxies; /* proxies: as MOBULA_PROXIES */
    struct slice proxy_secret;                                      /* NAME or NAME/KEY: what $(PROXY_CREDENTIALS) in them stands for */
    struct slice kinds, tools, tools_resources, autoscaler, submitter, ray_access, egress;
    struct slice kubeconfig, context; /* of apply */
    struct {
        struct slice url, cloud;    /* empty: none */
        struct slice default_image; /* of its workloads that name none; empty: they are refused */
        struct slice token, ca;     /* NAME or NAME/KEY of a Secret and of a ConfigMap; empty: the default */
    } hub;                          /* a control plane that the operator calls */
    struct install_bucket bucket;   /* for logs */
    struct slice egress_ca;         /* NAME or NAME/KEY of a ConfigMap; empty: none */
    struct {
        struct slice secret; /* NAME of a Secret; empty: the default */
        struct slice made;   /* a Secret that the hub makes, unless `secret` names one … */
        struct slice names;  /* … and names of its certificate */
    } tls;
    struct default_patches defaults;
    int64_t replicas, timeout_ms; /* replicas 0: 1, of a control plane 2 */
    bool plane;                   /* a control plane in the place of an operator: `watch` are its projects */
    bool print, apply, leader_elect, create_namespace, crds_only, no_crds, agent, agent_direct, ray_auth, report_nodes, egress_strict,
        shapes, all_namespaces, openshift, no_network_policy, no_admission_policy, registryless, drop_flags, dry_run;
    struct slice values; /* path of a file */
    struct {
        struct slice requests, node_selector, tolerations, priority_class;
        struct slice raw[INSTALL_RAW]; /* JSON; empty: none */
    } place;                           /* placement and requests of the pod */
    bool optional[LIMIT_KINDS];        /* by place in kinds[]: optional kinds that are wanted although --kinds does not bring every kind */
    bool no_definitions;               /* no flag: of what needs a cluster's admin only the definitions are left out */
    struct slice program_file;         /* of registryless; empty: this program */
};

extern const struct install_options install_defaults;
extern const char *const install_plane_kinds[]; /* the definitions of a control plane; NULL behind the last */

/* Checks the options and appends the manifests as YAML documents. The same options give the same bytes. */
bool install_write(const struct install_options *o, struct buf *out, struct err *e);
/* Appends every object that an installation may have under any flags, for their names. Definitions are left out; with no_crds also the
 * other objects that need a cluster's admin. */
bool install_write_all(const struct install_options *o, struct buf *out, struct err *e);
/* The options of the installation that an operator with these flags has, as far as its rights follow from them; namespaces are the
 * caller's. value: what a flag was given; of a switch also empty for "true"; SLICE_NONE: nothing. */
typedef struct slice install_flag(const void *of, const char *flag);
void install_of_operator(struct install_options *o, install_flag *value, const void *of);
/* The rules of the ClusterRoles and of the Roles in namespace ns, as a JSON array in a. ns SLICE_NONE: those of the first Role,
 * which is for the watched namespaces, and of ClusterRoles. */
bool install_rights(const struct install_options *o, struct slice ns, struct arena *a, struct slice *rules, struct err *e);
/* The name of what is installed: of its account, Deployment, labels and so on. */
struct slice install_name(bool plane);
/* The name of the Role in a watched namespace. Outside of the installation's own namespace it has that namespace in it, as the names of
 * cluster-scoped objects do, so that two installations never share an object. */
struct slice install_role_name(struct slice name, struct slice ns, struct slice watched, struct arena *a);
/* The ConfigMap of a program: another program has another one. It has these labels beside APPLY_LABEL with the name. */
#define INSTALL_PROGRAM_LABELS APPLY_LABEL "=%.*s,app.kubernetes.io/component=program"
struct slice install_program_name(bool plane, struct slice program, struct arena *a);

struct uninstall_options {
    struct slice ns, watch, kinds, kubeconfig, context; /* as above */
    struct slice program;                               /* the namespace of the ConfigMap; empty: none */
    int64_t timeout_ms;
    bool crds, apply, purge, leave_work, plane, all_namespaces; /* all_namespaces: look-ups cover every namespace */
};
/* The objects to delete, as YAML documents with nothing but names. */
bool uninstall_write(const struct uninstall_options *o, struct buf *out, struct err *e);

#endif
