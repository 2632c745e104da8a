/* Shared by check.c, storage_command.c and storage_check.c. */
#ifndef MOBULA_CLI_STORAGE_CHECK_H
#define MOBULA_CLI_STORAGE_CHECK_H

#include <mobula/storage.h>

struct check;
/* Checks the bucket that --bucket names. */
void check_storage(struct check *c);
/* Adds the rows of a check: writes, lists, reads, fetches by a signed URL and deletes an object with this prefix. */
void storage_probe(struct check *c, struct storage *s, struct slice prefix);

#endif
