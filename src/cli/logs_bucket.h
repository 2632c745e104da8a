/* Logs that `mobula agent` has stored in a bucket: mobula logs … --bucket. */
#ifndef MOBULA_CLI_LOGS_BUCKET_H
#define MOBULA_CLI_LOGS_BUCKET_H

#include "storage.h"

struct logs_bucket_options {
    struct slice url;                  /* empty: no bucket */
    struct slice node, file, download; /* empty: all; download: a folder that gets the files */
    int64_t since_ms;                  /* only what was stored within this time; 0: all */
    struct storage_options storage;
};
#define LOGS_BUCKET_FLAGS(at)                                                                                                              \
    {"bucket", FLAG_TEXT, (at) + offsetof(struct logs_bucket_options, url), "URL",                                                         \
     "s3://BUCKET[/PREFIX], as the operator's --bucket: logs are read from there when their pods are gone (MOBULA_BUCKET)"},               \
        {"node", FLAG_TEXT, (at) + offsetof(struct logs_bucket_options, node), "POD", "of the bucket's logs only those of this pod"},      \
        {"file", FLAG_TEXT, (at) + offsetof(struct logs_bucket_options, file), "NAME",                                                     \
         "of the bucket's logs print this file, as the list has it; a star at the end stands for anything"},                               \
        {"since", FLAG_DURATION, (at) + offsetof(struct logs_bucket_options, since_ms), "TIME",                                            \
         "of the bucket's logs only what was stored within this time"},                                                                    \
        {"download", FLAG_TEXT, (at) + offsetof(struct logs_bucket_options, download), "DIR",                                              \
         "write the bucket's logs into files below this folder, DIR/CLUSTER/POD/FILE"},                                                    \
        STORAGE_FLAGS((at) + offsetof(struct logs_bucket_options, storage))

/* Whether the options ask for more than the log of a job's driver. */
bool logs_bucket_asked(const struct logs_bucket_options *o);
/* Lists, prints or downloads the logs of a cluster; of a job or service (made: "rayjob."), its history and those of all its clusters. */
bool logs_bucket_read(const struct logs_bucket_options *o, struct slice ns, struct slice name, const char *made, struct err *e);
/* Prints the log of a job's driver, without its first `skip` bytes. id: submission id; empty: of the last attempt of the RayJob `cluster`.
 * False without an error: the bucket has none. */
bool logs_bucket_driver(const struct logs_bucket_options *o, struct slice ns, struct slice cluster, struct slice id, uint64_t skip,
                        struct err *e);

#endif
