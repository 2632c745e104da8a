/* cli: the subcommands. Each is one function of its arguments in a file of its own; argv[0] is the subcommand's name. It returns an exit
 * status: 0 well, 1 an error that was printed, 2 wrong usage. */
#ifndef MOBULA_CLI_H
#define MOBULA_CLI_H

#include "flags.h"

#include <mobula/operator.h>

int cli_operator(int argc, char **argv);      /* the controller itself */
int cli_start(int argc, char **argv);         /* the same by the command line of the Anyscale operator */
int cli_agent(int argc, char **argv);         /* how a head pod's Ray is, to a control plane */
int cli_control_plane(int argc, char **argv); /* the server that operators of other clusters call */
int cli_edge(int argc, char **argv);          /* a reverse proxy for dashboards and services */
int cli_cloud(int argc, char **argv);         /* objects of a control plane (fleet.c) */
int cli_compute_config(int argc, char **argv);
int cli_job(int argc, char **argv);
int cli_node(int argc, char **argv);
int cli_login(int argc, char **argv); /* the control plane that these use (login.c) */
int cli_logout(int argc, char **argv);
int cli_install(int argc, char **argv);         /* the manifests of an installation, printed or applied */
int cli_upgrade(int argc, char **argv);         /* the same, in place of an installation of another version */
int cli_rollback(int argc, char **argv);        /* the installation as it was before */
int cli_uninstall(int argc, char **argv);       /* the names of what they have made */
int cli_crds(int argc, char **argv);            /* `crds migrate`: stored versions that are no longer needed */
int cli_validate(int argc, char **argv);        /* checks manifests without a cluster */
int cli_explain(int argc, char **argv);         /* the objects that would be made from a manifest */
int cli_explain_cluster(int argc, char **argv); /* `explain cluster`: why a cluster is as it is */
int cli_explain_job(int argc, char **argv);     /* `explain job`: why a RayJob is as it is */
int cli_explain_service(int argc, char **argv); /* `explain service`: why a RayService is as it is */
int cli_logs(int argc, char **argv);            /* output of a job */
int cli_wait_gcs(int argc, char **argv);        /* waits until Ray's control service answers */
int cli_egress(int argc, char **argv);          /* places that may be contacted, for firewalls */
int cli_instance_types(int argc, char **argv);  /* lists instance types, or suggests some */
int cli_check(int argc, char **argv);           /* causes of failures in the field, before and after an installation */
int cli_compute(int argc, char **argv);         /* compute configs: the RayCluster of one, and what is wrong with it */
int cli_policy(int argc, char **argv);          /* refusals of the administrator's policy */
int cli_images(int argc, char **argv);          /* the images that manifests need */
int cli_bundle(int argc, char **argv);          /* an air-gap bundle: verify, list, unpack, push to a registry */
int cli_storage(int argc, char **argv);         /* lists, reads and writes objects of a bucket, and checks it */
int cli_submit(int argc, char **argv);          /* submits a job to Ray's dashboard and follows it */

/* ---- commands that run until a signal comes share this (daemon.c) ---- */

struct cli_daemon {
    void (*renew)(void *of, struct now now); /* SIGHUP */
    void (*wake)(void *of, struct now now);  /* before links are stepped; NULL: nothing */
    int64_t (*step)(void *of, struct now now);
    bool (*stop)(void *of, struct now now); /* true: nothing is left to wait for */
    int64_t stop_ms;                        /* the longest that is waited for it */
};
void cli_daemon_run(const struct cli_daemon *d, struct loop *l, void *of);
/* The exit status; an error is printed. */
int cli_daemon_end(const struct flags *f, bool started, const struct err *e);
bool cli_log(struct slice level, struct slice format, struct err *e); /* --log-level, --log-format */
/* Empty address: nowhere. */
bool cli_listen(struct loop *l, struct slice address, struct link_accept *accept, const char *flag, struct err *e);
bool cli_listen_tls(struct loop *l, struct slice address, struct link_accept *accept, struct tls_identity *const *identity,
                    const char *flag, struct err *e);
/* --namespace and --all-namespaces. */
struct cli_namespaces;
bool cli_projects(struct slice given, bool all, struct slice otherwise, struct cli_namespaces *out, struct err *e);
/* --tls-name: what a certificate of the control plane's own making is for, "localhost" before them. */
bool cli_server_names(struct slice text, struct arena *a, const struct slice **out, uint32_t *count, struct err *e);

/* ---- shared by all commands ---- */

/* Opens those of 0, 1 and 2 that were given to us closed, so that no socket or file becomes one of them and gets what is printed. As
 * before, what is read from them or written to them is an error. */
bool cli_hold_standard(struct err *e);
/* The whole file, or standard input for "-", at most LIMIT_YAML_INPUT bytes. The error names the file. */
bool cli_read_file(struct slice path, struct arena *a, struct slice *out, struct err *e);
/* The same with another limit, and its name for the error. */
bool cli_read_most(struct slice path, size_t max, const char *limit, struct arena *a, struct slice *out, struct err *e);
enum { CLI_HINT_MS = 2000 }; /* without an answer for so long, a line says so */
void cli_say_silent(struct slice place, struct slice why, int64_t timeout_ms);
/* All of it to standard output; what cannot be written is an error that is printed. */
bool cli_print(struct slice text);
/* "mobula: TEXT" on stderr. Returns STATUS_ERROR. */
int cli_fail(const struct err *e);

/* --autoscaler=operator | sidecar | off, as the operator, install and explain take it. */
enum cli_scaler { CLI_SCALER_OPERATOR, CLI_SCALER_SIDECAR, CLI_SCALER_OFF };
bool cli_scaler(struct slice text, enum cli_scaler *out, struct err *e);

/* --ray-access=direct | service | proxy, as the operator and install take it. */
bool cli_access(struct slice text, enum operator_access *out, struct err *e);

/* --kinds=all | ray.io | legacy, as the operator and install take it. */
bool cli_kinds(struct slice text, enum operator_kinds *out, struct err *e);

/* A flag for each kind that an installation may be without, as the operator and install take it: of the n-th of these kinds the row of the
 * table, which puts its switch into an array by place in kinds[], but for the help. NULL: there are no more. */
struct kind;
const struct kind *cli_kind_switch(size_t n, struct flag *row);

/* --cloud-deployment-id, as the operator and install take it. */
/* "https://HOST[:PORT][/PREFIX]" of a control plane. No message quotes it: a user in it may stand beside a password. */
bool cli_plane_url(struct slice url, struct slice *host, uint16_t *port, struct err *e);
bool cli_cloud_id(struct slice text, struct err *e);

/* --cluster-domain of the operator and of explain: names of services end in it. */
bool cli_domain(struct slice text, struct err *e);

/* --namespace of the operator and --watch-namespace of install: "a,b". The names lie in the text. */
enum { CLI_NAMESPACES_MAX = 16 };
_Static_assert(CLI_NAMESPACES_MAX *LIMIT_KINDS <= LIMIT_KUBE_WATCHES, "each kind is watched in each namespace");
struct cli_namespaces {
    struct slice list[CLI_NAMESPACES_MAX];
    uint32_t count;
};
bool cli_namespaces(struct slice text, const char *flag, struct cli_namespaces *out, struct err *e);
bool cli_namespace(struct slice name, const char *flag, struct err *e); /* whether it can be one */

/* The items of a flag that is given again and again, or as "a,b", or both. */
struct cli_items {
    const struct flag_texts *of;
    uint32_t next;
    struct slice rest;
};
bool cli_items_next(struct cli_items *it, struct slice *item);

/* --egress-allow=HOST[:PORT][,…] of the operator and of egress: they go on the allowlist. */
bool cli_egress_entries(const struct flag_texts *given, bool strict, struct net_allow *allow, struct err *e);

/* --tools=configmap | image:REF | none, as the operator and explain take it. */
struct ray_options;
bool cli_tools(struct slice text, struct ray_options *out, struct err *e);
/* --tools-resources=cpu=100m,memory=90Mi, or empty, as the operator and explain take it. */
bool cli_tools_resources(struct slice text, struct ray_options *out, struct err *e);
/* --submitter=operator | pod, beside those tools, as the operator and install take it. */
bool cli_submitter(struct slice text, const struct ray_options *tools, bool *pods, struct err *e);

#endif
