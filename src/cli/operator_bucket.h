/* The bucket of an operator: its flags, what agents of pods get of them, and the check of it. */
#ifndef MOBULA_CLI_OPERATOR_BUCKET_H
#define MOBULA_CLI_OPERATOR_BUCKET_H

#include <mobula/operator.h>
#include <mobula/storage.h>

struct bucket_options {
    struct slice url, secret, keep_bytes;
    int64_t keep_ms;
    struct storage_options storage;
};
#define BUCKET_FLAGS(at)                                                                                                                   \
    {"bucket", FLAG_TEXT, (at) + offsetof(struct bucket_options, url), "URL"},                                                             \
        {"bucket-secret", FLAG_TEXT, (at) + offsetof(struct bucket_options, secret), "NAME"},                                              \
        {"bucket-retention", FLAG_DURATION, (at) + offsetof(struct bucket_options, keep_ms), "TIME"},                                      \
        {"bucket-retention-bytes", FLAG_TEXT, (at) + offsetof(struct bucket_options, keep_bytes), "QUANTITY"},                             \
        {"bucket-credentials-dir", FLAG_TEXT, (at) + offsetof(struct bucket_options, storage.dir), "DIR"},                                 \
        {"bucket-endpoint", FLAG_TEXT, (at) + offsetof(struct bucket_options, storage.endpoint), "URL"},                                   \
        {"bucket-region", FLAG_TEXT, (at) + offsetof(struct bucket_options, storage.region), "NAME"},                                      \
        {"bucket-ca-file", FLAG_TEXT, (at) + offsetof(struct bucket_options, storage.ca_file), "FILE"},                                    \
    {                                                                                                                                      \
        "bucket-virtual-host", FLAG_SWITCH, (at) + offsetof(struct bucket_options, storage.virtual_host), NULL                             \
    }

/* Reads the flags into to->ray.ship and to->bucket; s is the operator's own client's, open until the end. Call it when to->ray.tools is
 * known. */
bool operator_bucket_read(const struct bucket_options *o, struct net_allow *allow, struct arena *a, struct storage *s,
                          struct operator_options *to, struct err *e);

#endif
