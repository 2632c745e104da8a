/* cli: the subcommands. Each is one function of its arguments in a file of its own; argv[0] is the subcommand's name. It returns an exit
 * status: 0 well, 1 an error that was printed, 2 wrong usage. */
#ifndef MOBULA_CLI_H
#define MOBULA_CLI_H

#include <mobula/command.h>

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
int cli_service(int argc, char **argv);         /* versions of services */
int cli_logs(int argc, char **argv);            /* output of a job */
int cli_wait_gcs(int argc, char **argv);        /* waits until Ray's control service answers */
int cli_ray_cert(int argc, char **argv);        /* a certificate for a pod of Ray */
int cli_egress(int argc, char **argv);          /* places that may be contacted, for firewalls */
int cli_dns(int argc, char **argv);             /* the DNS records that host names of routes need */
int cli_instance_types(int argc, char **argv);  /* lists instance types, or suggests some */
int cli_check(int argc, char **argv);           /* causes of failures in the field, before and after an installation */
int cli_compute(int argc, char **argv);         /* compute configs: the RayCluster of one, and what is wrong with it */
int cli_policy(int argc, char **argv);          /* refusals of the administrator's policy */
int cli_images(int argc, char **argv);          /* the images that manifests need */
int cli_bundle(int argc, char **argv);          /* an air-gap bundle: verify, list, unpack, push to a registry */
int cli_storage(int argc, char **argv);         /* lists, reads and writes objects of a bucket, and checks it */
int cli_submit(int argc, char **argv);          /* submits a job to Ray's dashboard and follows it */
int cli_completion(int argc, char **argv);      /* completion of these commands in shells */

#endif
