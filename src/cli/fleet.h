/* Shared by the commands about objects of a control plane: cloud, compute-config, job, node, login, service. */
#ifndef MOBULA_CLI_FLEET_H
#define MOBULA_CLI_FLEET_H

#include <mobula/fleet.h>

/* Of all these commands; the first of them are those of login. */
enum { FLEET_FLAGS = 10, FLEET_FLAGS_LOGIN = 6 };
extern const struct flag fleet_flags[FLEET_FLAGS];
enum { JOB_FLAGS = 15 + STORAGE_FLAG_COUNT };
extern const struct flag job_flags[JOB_FLAGS];

/* An operation on the object that is named, or on all. */
typedef bool fleet_verb(struct desk *d, struct err *e);
enum { FLEET_VERBS = 8 };
struct fleet_command {
    struct noun noun;
    struct flags flags;
    struct {
        const char *name; /* one word or two */
        fleet_verb *run;
    } verbs[FLEET_VERBS];
};
int fleet_run(const struct fleet_command *c, int argc, char **argv); /* returns the exit status */

fleet_verb fleet_show, fleet_remove;
fleet_verb cloud_register, cloud_update, cloud_verify, cloud_delete, cloud_config, node_list;
fleet_verb config_create, config_get, config_archive;
fleet_verb job_submit, job_status, job_wait, job_logs, job_terminate;

void fleet_note(struct slice text);                                 /* desk.told: to standard error */
bool fleet_print(struct desk *d, struct slice body, struct err *e); /* fleet_write, to standard output */
bool fleet_print_rows(struct desk *d, const struct column columns[FLEET_COLUMNS], struct jval list, struct err *e);

#endif
