/* Shared by the commands about objects of a control plane: cloud, compute-config, job, node, login, service. */
#ifndef MOBULA_CLI_FLEET_H
#define MOBULA_CLI_FLEET_H

#include <mobula/fleet.h>

/* Of all these commands; the first of them are those of login. */
enum { FLEET_FLAGS = 10, FLEET_FLAGS_LOGIN = 6 };
extern const struct flag cli_fleet_flags[FLEET_FLAGS];
enum { JOB_FLAGS = 15 + STORAGE_FLAG_COUNT };
extern const struct flag cli_job_flags[JOB_FLAGS];

/* An operation on the object that is named, or on all. */
typedef bool cli_fleet_verb(struct desk *d, struct err *e);
enum { FLEET_VERBS = 8 };
struct cli_fleet_command {
    struct noun noun;
    struct flags flags;
    struct {
        const char *name; /* one word or two */
        cli_fleet_verb *run;
    } verbs[FLEET_VERBS];
};
int cli_fleet_run(const struct cli_fleet_command *c, int argc, char **argv); /* returns the exit status */

cli_fleet_verb cli_fleet_show, cli_fleet_remove;
cli_fleet_verb cli_cloud_register, cli_cloud_update, cli_cloud_verify, cli_cloud_delete, cli_cloud_config, cli_node_list;
cli_fleet_verb cli_config_create, cli_config_get, cli_config_archive;
cli_fleet_verb cli_job_submit, cli_job_status, cli_job_wait, cli_job_logs, cli_job_terminate;

void cli_fleet_note(struct slice text);                                 /* desk.told: to standard error */
bool cli_fleet_print(struct desk *d, struct slice body, struct err *e); /* fleet_write, to standard output */
bool cli_fleet_print_rows(struct desk *d, const struct column columns[FLEET_COLUMNS], struct jval list, struct err *e);

#endif
