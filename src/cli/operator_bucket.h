/* The bucket of an operator: its flags, what agents of pods get of them, and the check of it. */
#ifndef MOBULA_CLI_OPERATOR_BUCKET_H
#define MOBULA_CLI_OPERATOR_BUCKET_H

#include "storage.h"

#include <mobula/operator.h>

struct bucket_options {
    struct slice url, secret;
    struct storage_options storage;
};
#define BUCKET_FLAGS(at)                                                                                                                   \
    {"bucket", FLAG_TEXT, (at) + offsetof(struct bucket_options, url), "URL",                                                              \
     "s3://BUCKET[/PREFIX]: every pod of Ray gets a container that stores its logs there; empty (default): none"},                         \
        {"bucket-secret", FLAG_TEXT, (at) + offsetof(struct bucket_options, secret), "NAME",                                               \
         "of the Secret with the bucket's credentials in each namespace of clusters (default: the pods' own identity)"},                   \
        {"bucket-credentials-dir", FLAG_TEXT, (at) + offsetof(struct bucket_options, storage.dir), "DIR",                                  \
         "where the operator has such a Secret mounted (default: its environment or identity)"},                                           \
        {"bucket-endpoint", FLAG_TEXT, (at) + offsetof(struct bucket_options, storage.endpoint), "URL",                                    \
         "of the store, http[s]://HOST[:PORT] (AWS_ENDPOINT_URL_S3; default: AWS)"},                                                       \
        {"bucket-region", FLAG_TEXT, (at) + offsetof(struct bucket_options, storage.region), "NAME",                                       \
         "of the bucket (AWS_REGION, or us-east-1)"},                                                                                      \
        {"bucket-ca-file", FLAG_TEXT, (at) + offsetof(struct bucket_options, storage.ca_file), "FILE",                                     \
         "PEM of the CAs of the store's certificate; pods get its content (default: the machine's)"},                                      \
    {                                                                                                                                      \
        "bucket-virtual-host", FLAG_SWITCH, (at) + offsetof(struct bucket_options, storage.virtual_host), NULL,                            \
            "the bucket is part of the host's name: https://BUCKET.HOST"                                                                   \
    }

/* Reads the flags into to->ray.ship and to->bucket; s is the operator's own client's, open until the end. Call it when to->ray.tools is
 * known. */
bool operator_bucket_read(const struct bucket_options *o, struct net_allow *allow, struct arena *a, struct storage *s,
                          struct operator_options *to, struct err *e);

#endif
