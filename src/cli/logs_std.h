/* The sink of commands that show logs: the text and rows to standard output, notes to standard error. */
#ifndef MOBULA_CLI_LOGS_STD_H
#define MOBULA_CLI_LOGS_STD_H

#include <mobula/logs.h>

extern const struct logs_sink cli_logs_std;

#endif
