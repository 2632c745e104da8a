/* release: an installation of the operator or of a control plane. Renders its manifests from options, applies and deletes them, and reads
 * an existing installation back from the cluster. Options and manifests are texts (YAML); times are milliseconds, deadlines monotonic.
 * Results lie in the given arena, or in apply.a. A function that fails returns false and sets *e; nothing here prints (apply.say). */
#ifndef MOBULA_RELEASE_H
#define MOBULA_RELEASE_H

#include <mobula/command.h>
#include <mobula/operator.h>
#include <mobula/patches.h>

/* ---- defaults ---- */

/* The default patches, below those of ConfigMap patches: flags that the operator, install and explain share (docs/patches.md). */

#define DEFAULT_PARTS "market,zone,accelerator,identity"

struct default_patches {
    struct slice provider, parts; /* "aws" or empty; "market,zone": which parts of its file, empty: all */
    struct slice account, pull_secrets;
    struct slice proxy, no_proxy, ca; /* a URL; a list; the name of a ConfigMap */
    struct slice shared;              /* a volume: "pvc:NAME", "nfs:HOST:/PATH" or "csi:DRIVER" */
    struct slice address;             /* of routes, for DNS, where it is not the one in their status: an IP address or a name */
    bool karpenter, tracing, internal;
};

/* Rows of a command's table of flags: at is the offset of its struct default_patches. */
#define DEFAULT_PATCHES_AT(field) offsetof(struct default_patches, field)
#define DEFAULT_PATCHES_FLAGS(at)                                                                                                          \
    {"cloud-provider", FLAG_TEXT, (at) + DEFAULT_PATCHES_AT(provider), "aws|gcp|azure|generic"},                                           \
        {"karpenter", FLAG_SWITCH, (at) + DEFAULT_PATCHES_AT(karpenter), NULL},                                                            \
        {"default-patches", FLAG_LIST, (at) + DEFAULT_PATCHES_AT(parts), "PART[,PART...]"},                                                \
        {"workload-service-account", FLAG_TEXT, (at) + DEFAULT_PATCHES_AT(account), "NAME"},                                               \
        {"workload-pull-secrets", FLAG_LIST, (at) + DEFAULT_PATCHES_AT(pull_secrets), "NAME[,NAME...]"},                                   \
        {"workload-proxy", FLAG_TEXT, (at) + DEFAULT_PATCHES_AT(proxy), "URL"},                                                            \
        {"workload-no-proxy", FLAG_LIST, (at) + DEFAULT_PATCHES_AT(no_proxy), "LIST"},                                                     \
        {"workload-ca", FLAG_TEXT, (at) + DEFAULT_PATCHES_AT(ca), "NAME"},                                                                 \
        {"shared-storage", FLAG_TEXT, (at) + DEFAULT_PATCHES_AT(shared), "pvc:NAME|nfs:HOST:/PATH|csi:DRIVER"},                            \
        {"process-tracing", FLAG_SWITCH, (at) + DEFAULT_PATCHES_AT(tracing), NULL},                                                        \
        {"internal-load-balancers", FLAG_SWITCH, (at) + DEFAULT_PATCHES_AT(internal), NULL},                                               \
    {                                                                                                                                      \
        "route-address", FLAG_TEXT, (at) + DEFAULT_PATCHES_AT(address), "IP|NAME"                                                          \
    }

bool defaults_check(const struct default_patches *o, struct err *e);
/* The sets in a, each on top of the one before; *out NULL: the flags ask for none. */
bool defaults_read(const struct default_patches *o, struct arena *a, const struct shape_patches **out, struct err *e);
/* The flags that are not the defaults as arguments of a manifest, a line each. */
struct slice defaults_arguments(const struct default_patches *o, struct arena *a);

/* ---- apply ---- */

/* Applying the manifests of an installation: server-side apply of one object after another. Everything is tried in a dry run first, so that
 * a missing right, a foreign object or a namespace that is going away is reported before anything is changed. */

#define APPLY_MANAGER "mobula" /* field manager */
#define APPLY_LABEL "app.kubernetes.io/name"
#define APPLY_VERSION_LABEL "app.kubernetes.io/version"

struct apply_object {
    struct slice json, api_version, kind, name, ns; /* ns: empty for objects of the whole cluster */
    struct slice path;                              /* of the object at the API server */
    struct slice version;                           /* resourceVersion before we came; empty: it did not exist, or may not be read */
    struct slice takeover; /* merge patch that moves fields applied by kubectl to our field manager (surplus_takeover); empty: none */
    bool force;            /* it is ours: fields that others have set on it are taken over */
    bool rolls;            /* a Deployment that is there and rolls: see apply.c */
    const char *passed;    /* why the object is skipped; NULL: it is applied */
    struct slice release;  /* with apply.shows: name of the Helm release that owns the object; empty: none */
    bool changed;          /* it was created, changed or deleted by us */
};

enum { APPLY_OBJECTS_MAX = 128, APPLY_FAILURES_MAX = 16, APPLY_WORDS_MAX = 8 * KIB };
struct apply {
    struct ask *ask;
    void (*say)(struct slice line);  /* of each object that is changed or waited for; NULL: nothing is said */
    void (*note)(struct slice line); /* warnings of install_change_apply and uninstall_apply, which need say as well */
    struct arena *a;
    struct apply_object *list;
    uint32_t count;
    bool definitions;   /* --crds-only: an admission policy of a Helm release is skipped */
    bool replaces;      /* an installation of another version may be replaced */
    bool shows;         /* --dry-run: differences of a Helm release's objects are printed, and are no failure */
    bool keeps_flags;   /* fails if a flag of the existing Deployment would be dropped */
    struct slice roles; /* with keeps_flags: the existing Roles of the list as JSON; empty: none could be read */
    bool image_given, resources_given, requests_given,
        replicas_given;        /* the command sets them: they may differ from those of the existing Deployment */
    bool spares;               /* apply_delete leaves objects under a name of ours that lack our label */
    struct slice installation; /* its namespace: apply_delete leaves objects of other installations; empty: owners are not compared */
    bool may_lack_right;       /* apply_find counts a 403 as an empty list */
    struct slice *next;        /* continue token of a list that apply_find reads in pages; NULL: only the first page is wanted */
    struct slice failures[APPLY_FAILURES_MAX];
    uint32_t failed; /* may be more than are kept */
};

/* The URL path of the object at the API server. */
struct slice apply_path(const struct apply_object *o, struct arena *a);
bool apply_has(const struct apply *p, struct slice path);
/* Reads YAML documents into the list. */
bool apply_read(struct apply *p, struct slice text, struct err *e);
/* Adds objects that lie at the API server to the list, at most as many as it holds: those of this kind, in this namespace (empty: in all),
 * with this label selector and this name; NULL: whatever they have. */
bool apply_find(struct apply *p, struct slice api_version, const char *kind, struct slice ns, const char *labels, const char *name,
                struct err *e);
/* Adds a failure for each Secret and ConfigMap that pods of the list's Deployments need and that neither exists nor is in the list. False:
 * the API server did not answer. */
bool apply_needs(struct apply *p, struct err *e);
/* The EndpointSlices of the API server. */
#define APPLY_ENDPOINTS                                                                                                                    \
    "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dkubernetes"
/* Whether a NetworkPolicy has an egress rule that allows this port to any destination, as the rule for API servers does. */
bool apply_lets_out(struct jval policy, int64_t port);
/* The first address of the API server's EndpointSlice with this port, as an entry of --egress-allow. */
struct slice apply_endpoint(struct jval endpoints, int64_t port, struct arena *a);
/* Prints each port of the API server (APPLY_ENDPOINTS) that the NetworkPolicy of the list does not allow. Prints nothing without the right
 * to list EndpointSlices. */
void apply_say_ports(struct apply *p);
/* The last warning event of a pod whose containers are being created; empty: none, or it may not be read. */
struct slice apply_pod_event(struct apply *p, struct slice ns, struct jval pod);
/* Looks at what is there and tries everything in a dry run. False: failures say what is wrong, and nothing was changed. */
bool apply_try(struct apply *p, struct err *e);
/* Applies all of it in order; a definition is waited for before the next object. Says a line for each object. */
bool apply_all(struct apply *p, int64_t until_ms, struct err *e);
/* Waits until the Deployments of the list are available. Says a line when what it waits for changes. */
bool apply_wait(struct apply *p, int64_t until_ms, struct err *e);
/* Applies one object without a line about it. */
bool apply_send(struct apply *p, const struct apply_object *o, struct ask_answer *answer, struct err *e);
/* Sends the apply of one object as a dry run (dryRun=All). */
bool apply_dry(struct apply *p, const struct apply_object *o, struct ask_answer *answer, struct err *e);
/* An object's JSON without status, managedFields, uid and the other fields that the API server, controllers and kubectl add. */
struct slice apply_plain(struct slice json, struct arena *a);
/* Appends a diff for each object that apply_all would change, and a line for each of `gone` as deleted. *count: the number of both. */
bool apply_diff(struct apply *p, const struct apply *gone, uint32_t *count, struct buf *out, struct err *e);
/* Reads the object; NO_VALUE when it is absent. False with *e: no answer, or a refusal. */
bool apply_live(struct apply *p, const struct apply_object *o, struct jval *out, bool *absent, struct err *e);
/* Keeps a line for the list of failures. */
void apply_fail(struct apply *p, struct slice text);
/* Deletes all of it at once and then waits: for many objects that do not depend on each other. */
bool apply_purge(struct apply *p, int64_t until_ms, struct err *e);
/* Deletes all of it in order and waits until each is gone. What is not there is passed over. */
bool apply_delete(struct apply *p, int64_t until_ms, struct err *e);

/* ---- reading of answers, as functions of them ---- */

bool apply_is(const struct apply_object *o, const char *kind);
/* The Helm release that an object belongs to; empty: none. */
struct slice apply_release(struct jval there, struct arena *a);
/* Why the object that is there cannot be replaced by ours; false with *e. Sets o->force. */
bool apply_judge(struct apply_object *o, struct jval there, bool replaces, struct arena *a, struct err *e);
/* Whether an object under a name of ours is somebody else's, and so is not to be deleted. False with *e: a Helm release has it. */
bool apply_spared(const struct apply_object *o, struct jval there, struct arena *a, bool *spared, struct err *e);
/* The flags that the Deployment that is there has and the wanted one lacks, whatever their values; empty: none. An older version names no
 * flag for a function that it always has, nor for one that it lacks: it has those that its roles (apply.roles) grant rights for. Without
 * the Role of the operator's rules among them it may have each. */
struct slice apply_dropped(struct jval there, struct jval wanted, struct slice roles, struct arena *a);
/* The same for flags of `mobula install` that do not become arguments of the operator: pull secrets, proxies, limits, files, image,
 * replicas, user. */
struct slice apply_dropped_elsewhere(const struct apply *p, struct jval there, struct jval wanted, struct arena *a);
/* The path of the list of a Deployment's pods. */
struct slice apply_pods(const struct apply_object *o, struct arena *a);
/* Whether a Deployment is available; *why says what is missing. */
bool apply_available(struct jval deployment, struct arena *a, struct slice *why);
/* The reason why a pod does not run, in the kubelet's words; empty: nothing is known. */
struct slice apply_pod_words(struct jval pod, struct arena *a);
/* The last warning of a list of events. */
struct slice apply_event_words(struct jval events, struct arena *a);
/* "Role mobula: 403 Forbidden: …": the server's whole message on one line, and the remedy. */
struct slice apply_refusal(const struct apply_object *o, const struct ask_answer *answer, struct arena *a);
/* The remedy for a refusal, as words to stand behind it; "" when its own text says it. */
const char *apply_remedy(const struct apply_object *o, const struct ask_answer *answer);

/* ---- install ---- */

/* The output of `mobula install --print` and `mobula uninstall`, as functions of their options. */

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
    struct slice keep, keep_bytes;      /* retention: a duration, a quantity; empty: none */
    bool virtual_host;                  /* the bucket is part of the endpoint's host name */
};

struct install_options {
    struct slice ns;              /* where the operator runs */
    struct slice watch;           /* "a,b": where it makes clusters; empty: in ns */
    struct slice image, registry; /* not given: INSTALL_IMAGE, or its name in the registry */
    struct {
        struct slice bytes, arch; /* for a ConfigMap, and what it runs on; empty: the image has it */
        struct slice file;        /* of registryless; empty: this program */
        bool registryless;
    } program;
    struct slice pull_secrets, resources;
    struct {
        struct slice url, no_proxy;
        struct slice proxies; /* as MOBULA_PROXIES */
        struct slice secret;  /* NAME or NAME/KEY: what $(PROXY_CREDENTIALS) in them stands for */
    } proxy;
    struct {
        struct slice kinds, tools, tools_resources, agent_resources, autoscaler, submitter, ray_access, egress;
        struct slice egress_ca;                          /* NAME or NAME/KEY of a ConfigMap; empty: none */
        struct slice route_ca;                           /* NAME of a Secret; empty: none … */
        struct slice route_hosts;                        /* … and for which hosts it is; empty: all */
        struct slice domain;                             /* of hosts of routes that name none; empty: none */
        struct slice service_auth;                       /* how long a former token of a service is valid; empty: no tokens are made */
        struct slice gateway, gateway_ns, ingress_class; /* through which services of a control plane are reached; empty: none */
        bool egress_strict;
    } args;                           /* of the operator */
    struct slice kubeconfig, context; /* of apply */
    struct {
        struct slice url, cloud;    /* empty: none */
        struct slice default_image; /* of its workloads that name none; empty: they are refused */
        struct slice token, ca;     /* NAME or NAME/KEY of a Secret and of a ConfigMap; empty: the default */
        struct slice sts;           /* in place of a token, and of a control plane: URL of STS; empty: none */
    } hub;                          /* a control plane that the operator calls */
    struct install_bucket bucket;   /* for logs */
    struct {
        struct slice secret; /* NAME of a Secret; empty: the default */
        struct slice made;   /* a Secret that the hub makes, unless `secret` names one … */
        struct slice names;  /* … and names of its certificate */
    } tls;
    struct default_patches defaults;
    int64_t replicas, timeout_ms; /* replicas 0: 1, of a control plane 2 */
    bool plane;                   /* a control plane in the place of an operator: `watch` are its projects */
    bool edge;                    /* the defaults of an edge's pod: of install_write_edge */
    struct {
        bool print, apply, dry_run, drop_flags;
    } mode; /* of the command */
    struct {
        bool agent, agent_direct, ray_auth, report_nodes, shapes, openshift, no_network_policy, no_admission_policy;
    } with; /* parts of the installation */
    bool leader_elect, create_namespace, crds_only, no_crds, all_namespaces;
    struct slice values; /* path of a file */
    struct {
        struct slice requests, node_selector, tolerations, priority_class;
        struct slice raw[INSTALL_RAW]; /* JSON; empty: none */
    } place;                           /* placement and requests of the pod */
    bool optional[LIMIT_KINDS];        /* by place in kinds[]: optional kinds that are wanted although --kinds does not bring every kind */
    bool no_definitions;               /* no flag: of what needs a cluster's admin only the definitions are left out */
};

extern const struct install_options install_defaults;
extern const char *const install_plane_kinds[]; /* the definitions of a control plane; NULL behind the last */

/* Rows of a command's table of flags for image, resources and placement of a pod; at: the offset of its struct install_options. */
#define POD_AT(field) offsetof(struct install_options, field)
#define POD_FLAGS(at)                                                                                                                      \
    {"image", FLAG_TEXT, (at) + POD_AT(image), "REF"}, {"registry", FLAG_TEXT, (at) + POD_AT(registry), "PREFIX"},                         \
        {"pull-secret", FLAG_LIST, (at) + POD_AT(pull_secrets), "NAME[,...]"},                                                             \
        {"resources", FLAG_TEXT, (at) + POD_AT(resources), "cpu=N,memory=N"},                                                              \
        {"requests", FLAG_TEXT, (at) + POD_AT(place.requests), "cpu=N,memory=N"},                                                          \
        {"toleration", FLAG_LIST, (at) + POD_AT(place.tolerations), "KEY[=VALUE][:EFFECT][,...]"},                                         \
        {"node-selector", FLAG_LIST, (at) + POD_AT(place.node_selector), "LABEL=VALUE[,...]"},                                             \
        {"priority-class-name", FLAG_TEXT, (at) + POD_AT(place.priority_class), "NAME"},                                                   \
        {"openshift", FLAG_SWITCH, (at) + POD_AT(with.openshift), NULL},                                                                   \
    {                                                                                                                                      \
        "replicas", FLAG_INT, (at) + POD_AT(replicas), "N"                                                                                 \
    }

/* Checks the options and appends the manifests as YAML documents. The same options give the same bytes. */
bool install_write(const struct install_options *o, struct buf *out, struct err *e);
/* The same of an edge: namespace, image, resources, placement and replicas of the options. */
bool install_write_edge(const struct install_options *o, struct buf *out, struct err *e);
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
/* The rules that an operator with these flags, in namespace ns, needs in the namespaces `watch`, in keep; SLICE_NONE: they are not known.
 * Those of kinds that are needed on demand only are left out: the object that needs one names it in a condition. */
struct slice install_rights_needed(install_flag *value, const void *of, struct slice ns, struct slice watch, struct arena *keep);
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

/* ---- inventory ---- */

/* The existing objects of an installation, and the work in the namespaces that it watches. */

struct inventory {
    struct jval deployment, arguments; /* NO_VALUE: it does not exist */
    struct slice watch;                /* "a,b": the namespaces that it watches; empty: all */
    bool all;
};
/* The arguments of a Deployment of ours. */
struct jval inventory_arguments(struct jval deployment);
/* The value of a flag among arguments, as the program reads it: if it is given twice, the last one, of a list all. SLICE_NONE: it is not
 * given; empty: it has no value. */
struct slice inventory_argument(struct jval arguments, const char *flag, bool list, struct arena *a);
/* Reads the Deployment of the installation in p->installation. False: the API server did not answer, or refused. */
bool inventory_read(struct apply *p, bool plane, struct inventory *out, struct err *e);
/* *words: the work in a namespace (empty: in all), such as "2 RayClusters, 1 RayJob"; empty: there is none. False: the API server did not
 * answer, or refuses to list a kind that the installation works with. */
bool inventory_count(struct apply *p, const struct inventory *now, bool plane, struct slice ns, struct slice *words, struct err *e);
/* Whether the operator reconciles the kind. */
bool inventory_reconciles(const struct inventory *now, const struct kind *k, struct arena *a);
/* Adds a failure for each namespace that the installation watches now and would not watch with these options. */
bool inventory_given_up(struct apply *p, const struct inventory *now, const struct install_options *o, struct err *e);

/* The operator (or control plane) of another installation that watches a namespace. */
struct watcher {
    struct slice installation; /* its namespace; empty: none was found */
    bool known;                /* all bindings could be read; else there may be one that was not found */
};
/* Finds an operator that watches namespace ns (empty: any namespace), by the bindings of its account. but: an installation to ignore.
 * kinds: the value of --kinds; operators for the other group only are ignored; empty: none is. False: the API server did not answer. */
bool inventory_watcher(struct ask *k, struct slice ns, struct slice but, bool plane, struct slice kinds, struct arena *a,
                       struct watcher *out, struct err *e);
/* Adds a failure for each namespace that another installation watches for the same kinds. */
bool inventory_clash(struct apply *p, const struct install_options *o, struct err *e);

/* ---- owner ---- */

/* Which installation an object belongs to. An installation is identified by its namespace. */

#define OWNER_LABEL "mobula.dev/installation"

/* The namespace of the installation that an object belongs to, by its label. Objects of earlier versions have no label: for a binding or a
 * policy it is the namespace of the account that it is for. Empty: the object does not tell. */
struct slice owner_of(struct jval object, struct arena *a);
struct slice owner_of_text(struct slice json, struct arena *a);
/* *other: the namespace of the installation that an object at the API server belongs to, if that is not p->installation; else empty. For a
 * Role of an earlier version its binding is asked. False: the API server did not answer. */
bool owner_other(struct apply *p, const struct apply_object *o, struct jval there, struct slice *other, struct err *e);
/* The object under the name that versions before 0.1.0 gave it, which two installations could share. False: the name has not changed. */
bool owner_former(const struct apply_object *o, struct slice name, struct slice ns, struct arena *a, struct apply_object *former);
/* Adds to the list the objects of this installation that exist under former names of the objects in `of`. */
bool owner_find_former(struct apply *p, const struct apply *of, struct slice name, struct err *e);

/* ---- surplus ---- */

/* Finds objects of an installation that its new manifests lack, and fields of the others that kubectl has applied. */

/* Adds to `gone` the objects of this installation that exist and are not in p->list, whether mobula or kubectl applied them. now: has the
 * namespaces that it watched so far. False: the API server did not answer. */
bool surplus_find(struct apply *gone, const struct apply *p, const struct install_options *o, const struct inventory *now, struct err *e);

/* A merge patch of metadata.managedFields that moves fields set by `kubectl apply` of our manifests (client-side or server-side) to our
 * field manager. Our next apply then removes those that it does not set. SLICE_NONE: kubectl has not applied our manifests. */
struct slice surplus_takeover(struct jval there, struct arena *a);

/* Whether an entry of managedFields comes from an apply of our manifests, by mobula or kubectl. */
bool surplus_applies(struct jval entry);

/* ---- revision ---- */

/* The state of an installation before an upgrade, so that it can go back: the objects of the present and of the previous revision in Secret
 * mobula-revisions of the operator's namespace (mobula-control-plane-revisions of a control plane's), as Helm keeps them. Definitions and
 * namespaces are not among them: they stay as they are. */

#define REVISION_SUFFIX "-revisions" /* behind the name of what is installed */

struct revision {
    struct slice ns, name;          /* install_name */
    struct slice current, previous; /* manifests; empty: none is recorded */
};

/* Reads the Secret. False with *e: no answer, or what it holds cannot be read. */
bool revision_read(struct apply *p, struct revision *r, struct err *e);
bool revision_write(struct apply *p, const struct revision *r, struct err *e);
/* The objects of the list that belong to a revision, as documents. */
struct slice revision_text(const struct revision *r, const struct apply *p);
/* Sets r->current from the objects of p and gone that exist at the API server: an installation applied by kubectl has no revision yet. */
bool revision_live(struct apply *p, struct revision *r, const struct apply *gone, struct err *e);
/* The recorded list becomes the previous revision, and the list the current one, unless it is that already. */
void revision_next(struct revision *r, struct slice next);
/* Whether an object may come out of a Secret: who may write that would otherwise decide what an admin applies. Of what an installation has
 * in its own namespace none may lie in another, and rights are for the installation's own account. */
bool revision_allows(const struct revision *r, const struct apply_object *o, struct arena *a);
/* The rights that a Role or binding gives beyond the live one (NO_VALUE: there is none); empty: none, or it is something else. */
struct slice revision_gives(const struct apply_object *o, struct jval live, struct arena *a);
/* Deletes what the other revision has and the list has not, and programs that neither needs. */
bool revision_prune(struct apply *p, const struct revision *r, int64_t until_ms, struct err *e);

/* ---- migration ---- */

/* `mobula crds migrate`: objects that are stored in a version other than the storage version of their definition are written again; then
 * status.storedVersions of the definition has that version alone, and a definition without the others can be applied. */

struct migration {
    struct ask *ask;
    struct arena *a;
    void (*say)(struct slice line); /* of each page of objects, and of each definition before and after */
    bool dry_run;                   /* counts the objects, and changes nothing */
    struct arena page;              /* private from here: of one page of objects */
    const char *plural;             /* "rayclusters.ray.io" */
    struct slice group, version, resource;
    uint64_t done;
};
/* *any: the definition exists, and has other stored versions. */
bool migrate_definition(struct migration *m, const char *plural, bool *any, struct err *e);
/* The same of the definitions of all kinds, a control plane's, too. *any: one of them has other stored versions. */
bool migrate_all(struct migration *m, bool *any, struct err *e);

/* ---- changes of an installation as a whole ---- */

/* `mobula install --apply`, from the first look at the cluster to the deletion of the surplus. */
struct install_change {
    struct inventory now;     /* before the change */
    struct apply gone;        /* objects that exist and that the new manifests lack */
    struct revision revision; /* private from here */
    int64_t until_ms;
};
/* Looks at what exists and tries everything in a dry run; nothing is changed. False with *e and p's failures: the change would not work, or
 * namespaces or flags would be given up. Sets p->installation. */
bool install_change_read(struct install_change *c, struct apply *p, const struct install_options *o, struct slice manifests, struct err *e);
/* Makes the change that was read: records the revision, applies the objects, waits, and deletes former ones. Without the right to Secrets
 * no revision is recorded, and a note says so. After a failure the objects of p that were changed are marked as such. */
bool install_change_apply(struct install_change *c, struct apply *p, const struct install_options *o, struct err *e);

/* `mobula uninstall --apply`: deletes the work with o->purge, or fails if some is left; then the objects of the installation in p's
 * namespace; with o->leave_work it removes the work's finalizers. Sets o->watch or o->all_namespaces, unless given, from the Deployment. */
bool uninstall_apply(struct uninstall_options *o, struct apply *p, struct err *e);

/* ---- values ---- */

/* `mobula install --values FILE`: a file with the keys of the chart's values. */

/* Sets the options that a file of values names, as the flags would: a key is the name of a flag (pullSecrets: --pull-secret, networkPolicy:
 * false: --no-network-policy), or one of install_raw. False: *e names the file and the key. */
bool values_read(const struct flags *f, struct slice file, struct install_options *o, struct arena *a, struct err *e);

/* ---- purge ---- */

/* Deletes the work of an operator or control plane before the operator or control plane itself is deleted. */

enum { PURGE_FINALIZERS_MS = 30 * 1000 }; /* how long the operator has to remove its finalizers */

/* Deletes every object of an operator's (or control plane's) kinds in the namespace (empty: in all), owners before what they own.
 * A kind that the operator does not reconcile is skipped if the right to list it is missing. Finalizers of ours that remain after
 * PURGE_FINALIZERS_MS are removed here; at once if `runs` is false, because no process would remove them. */
bool purge_namespace(struct apply *p, const struct inventory *now, bool plane, bool runs, struct slice ns, int64_t until_ms, struct err *e);
/* Removes our finalizers from all work of the namespace (empty: of all), so that its later deletion does not wait for a process that is
 * gone. */
bool purge_release(struct apply *p, bool plane, struct slice ns, struct err *e);

/* Whether a finalizer is one of those that the operator or the control plane removes. */
bool purge_strips(struct slice finalizer);

#endif
