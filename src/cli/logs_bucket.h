/* Logs that `mobula agent` has stored in a bucket: mobula logs … --bucket. */
#ifndef MOBULA_CLI_LOGS_BUCKET_H
#define MOBULA_CLI_LOGS_BUCKET_H

#include <mobula/storage.h>

struct logs_bucket_options {
    struct slice url;                  /* empty: no bucket */
    struct slice node, file, download; /* empty: all; download: a folder that gets the files */
    int64_t since_ms;                  /* only what was stored within this time; 0: all */
    struct storage_options storage;
};
#define LOGS_BUCKET_FLAGS(at)                                                                                                              \
    {"bucket", FLAG_TEXT, (at) + offsetof(struct logs_bucket_options, url), "URL"},                                                        \
        {"node", FLAG_TEXT, (at) + offsetof(struct logs_bucket_options, node), "POD"},                                                     \
        {"file", FLAG_TEXT, (at) + offsetof(struct logs_bucket_options, file), "NAME"},                                                    \
        {"since", FLAG_DURATION, (at) + offsetof(struct logs_bucket_options, since_ms), "TIME"},                                           \
        {"download", FLAG_TEXT, (at) + offsetof(struct logs_bucket_options, download), "DIR"},                                             \
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
