/* Object storage for commands: one call after another, each waited for. */
#ifndef MOBULA_CLI_STORAGE_H
#define MOBULA_CLI_STORAGE_H

#include "flags.h"

#include <mobula/cloud.h>
#include <mobula/tls.h>

struct storage_options {
    struct slice endpoint, region, ca_file, dir;
    bool virtual_host;
};
#define STORAGE_FLAGS(at)                                                                                                                  \
    {"endpoint", FLAG_TEXT, (at) + offsetof(struct storage_options, endpoint), "URL",                                                      \
     "of the store, http[s]://HOST[:PORT] (AWS_ENDPOINT_URL_S3; default: AWS)"},                                                           \
        {"region", FLAG_TEXT, (at) + offsetof(struct storage_options, region), "NAME", "of the bucket (AWS_REGION, or us-east-1)"},        \
        {"storage-ca", FLAG_TEXT, (at) + offsetof(struct storage_options, ca_file), "FILE",                                                \
         "PEM of the CAs of the store's certificate (AWS_CA_BUNDLE; default: this machine's)"},                                            \
        {"credentials-dir", FLAG_TEXT, (at) + offsetof(struct storage_options, dir), "DIR",                                                \
         "a mounted Secret: files AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and others, which count before variables of their name"},       \
    {                                                                                                                                      \
        "virtual-host", FLAG_SWITCH, (at) + offsetof(struct storage_options, virtual_host), NULL,                                          \
            "the bucket is part of the host's name: https://BUCKET.HOST, as at AWS"                                                        \
    }
enum { STORAGE_FLAG_COUNT = 5 };

struct storage {
    struct storage_options o;
    struct arena a;       /* settings, and what outlives a call */
    struct arena last;    /* the last call's answer */
    struct arena secrets; /* what files of secrets say */
    struct net_allow *allow;
    struct loop *loop;
    struct tls_trust *trust;
    struct cloud_surroundings from;
    struct cloud_store_options with;
    struct net_proxy proxies[2];
    struct cloud_store *store;
    bool over, voice;  /* voice: what was worked around goes to stderr */
    struct slice said; /* the last of these */
    int signal;
    struct cloud_answer answer;             /* of the last call, until the next one */
    char sha256[TLS_SHA256_HEX], etag[160]; /* the first of the object's metadata, the other of the last answer; empty: none */
    int64_t size;                           /* Content-Length of the last answer, or -1 */
};
/* For all calls to one bucket. storage_close also after a failure. */
bool storage_open(struct storage *s, const struct storage_options *o, struct slice bucket, struct err *e);
void storage_close(struct storage *s);
/* False: no answer of 2xx came, and *e says why; the rest is in s->answer. */
bool storage_call(struct storage *s, struct cloud_call *call, struct err *e);

bool storage_put(struct storage *s, struct slice key, struct slice body, struct err *e);
bool storage_hash_file(int fd, char hex[TLS_SHA256_HEX], uint64_t *size, struct err *e); /* of a regular file */
uint64_t storage_part(uint64_t size);                                                    /* bytes of each part of a file of so many */
/* A regular file, in parts when it is larger than CLOUD_PART. Its SHA-256 becomes part of the object's metadata. */
bool storage_put_file(struct storage *s, struct slice key, int fd, struct err *e);
/* False without an error: there is no such object. */
bool storage_head(struct storage *s, struct slice key, struct err *e);
bool storage_get(struct storage *s, struct slice key, cloud_piece *piece, void *owner, struct err *e);
bool storage_delete(struct storage *s, struct slice key, struct err *e);
/* A page of names below prefix; *more: the list's own place, empty at first and at its end. Valid until the next call. */
bool storage_list(struct storage *s, struct slice prefix, bool deep, struct slice *more, struct cloud_list *out, struct err *e);
/* A URL that anybody may GET for so many seconds: fewer when the credentials end before, which *seconds says then. */
bool storage_url(struct storage *s, struct slice key, int64_t *seconds, struct slice *url, struct err *e);

/* Rows of a check: writes, reads, lists, signs, fetches and deletes an object below the place. */
struct check;
void storage_probe(struct check *c, struct storage *s, struct slice prefix);

#endif
