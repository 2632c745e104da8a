/* storage: blocking calls to object storage, with settings and credentials of the process: flags, environment, files. Files are uploaded in
 * parts, and an upload that was broken off is continued. Warnings and progress go to stderr. */
#ifndef MOBULA_STORAGE_H
#define MOBULA_STORAGE_H

#include <mobula/cloud.h>
#include <mobula/command.h>
#include <mobula/tls.h>

struct storage_options {
    struct slice endpoint, region, ca_file, dir;
    bool virtual_host;
};
#define STORAGE_FLAGS(at)                                                                                                                  \
    {"endpoint", FLAG_TEXT, (at) + offsetof(struct storage_options, endpoint), "URL"},                                                     \
        {"region", FLAG_TEXT, (at) + offsetof(struct storage_options, region), "NAME"},                                                    \
        {"storage-ca", FLAG_TEXT, (at) + offsetof(struct storage_options, ca_file), "FILE"},                                               \
        {"credentials-dir", FLAG_TEXT, (at) + offsetof(struct storage_options, dir), "DIR"},                                               \
    {                                                                                                                                      \
        "virtual-host", FLAG_SWITCH, (at) + offsetof(struct storage_options, virtual_host), NULL                                           \
    }
enum { STORAGE_FLAG_COUNT = 5, STORAGE_SERVERS = 3 /* the store, the issuer of credentials, Google's service accounts */ };

struct storage {
    struct storage_options o;
    struct arena a;                      /* settings, URLs and other texts that outlive a call */
    struct arena last;                   /* body of the last call's answer */
    struct arena secrets;                /* content of files with credentials; wiped at the end */
    struct net_allow *allow, *own_allow; /* own_allow: the same, if storage_open has made it */
    struct loop *loop;
    struct tls_trust *trust;
    struct cloud_surroundings from;
    struct cloud_store_options with;
    struct net_proxy proxies[STORAGE_SERVERS];
    struct cloud_store *lanes[CLOUD_LANES]; /* clients beside `store`, for calls at the same time; NULL: none */
    struct cloud_store *store;
    bool over, loud;            /* over: the call is done; loud: print the client's warnings to stderr */
    struct slice warning;       /* the client's last one (cloud_store_options.say); empty: none */
    int signal;                 /* the last one received, which ends this call and all later ones; 0: none */
    struct cloud_answer answer; /* of the last call, until the next one */
    char etag[CLOUD_ETAG_MAX];  /* ETag of the last answer; empty: none */
    char crc[TLS_SHA256_HEX];   /* its CRC-32C of an object that was stored in parts; empty: none */
    struct slice allowed;       /* its Access-Control-Allow-Origin */
    int64_t size;               /* Content-Length of the last answer; -1: unknown */
};
/* Reads settings, adds the servers to `allow`, and fills s->with, for a client on the caller's loop. Call storage_close also after a
 * failure. */
bool storage_prepare(struct storage *s, const struct storage_options *o, const struct cloud_place *at, struct net_allow *allow,
                     struct err *e);
/* URL of the store: the given one, or the provider's own; empty: at Azure, no account is known. */
struct slice storage_endpoint(const struct cloud_place *at, struct slice given, struct slice region, struct arena *a);
/* The same as storage_prepare, and opens a client on a loop of its own. */
bool storage_open(struct storage *s, const struct storage_options *o, const struct cloud_place *at, struct err *e);
void storage_close(struct storage *s);
/* Makes a call and waits for its end. False: *e; status and error code are in s->answer. */
bool storage_call(struct storage *s, struct cloud_call *call, struct err *e);
struct cloud_store *storage_lane(struct storage *s, size_t n); /* the n-th client of at most CLOUD_LANES */
/* Waits until *over, which a callback of the client sets. False: a signal came first (*e). */
bool storage_wait(struct storage *s, const bool *over, struct err *e);

void storage_add_put(const struct storage *s, struct cloud_call *c); /* headers of a call that stores a whole object */
bool storage_put(struct storage *s, struct slice key, struct slice body, struct err *e);
bool storage_hash_file(int fd, char hex[TLS_SHA256_HEX], uint64_t *size, struct err *e); /* SHA-256 and size of a regular file */
uint64_t storage_part(uint64_t size); /* bytes of each part when a file of `size` bytes is uploaded */
/* Stores a regular file, in parts if it is larger than CLOUD_PART, with its SHA-256 or, in parts, its CRC-32C as metadata of the object.
 * Parts of an upload of the same content that was broken off are not sent again. If the upload is gone from the store, another process may
 * have completed it, or the answer to our call that completes it was lost: then the object is looked at, and success if it is this file. */
bool storage_put_file(struct storage *s, struct slice key, int fd, struct err *e);
/* Reads the object's headers. False without an error: the object does not exist. */
bool storage_head(struct storage *s, struct slice key, struct err *e);
/* The sum of an object's content that its metadata has: SHA-256, or CRC-32C where it was stored in parts. */
struct storage_sum {
    bool parts;
    uint32_t crc;
    struct tls_sha256 hash;
};
void storage_sum_begin(struct storage_sum *m, bool parts);
void storage_sum_add(struct storage_sum *m, struct slice piece);
void storage_sum_end(struct storage_sum *m, char hex[TLS_SHA256_HEX]);
/* Reads an object and compares it with the CRC-32C or SHA-256 in its metadata, if any. */
bool storage_get(struct storage *s, struct slice key, cloud_piece *piece, void *owner, struct err *e);
/* Writes an object to the open file fd; name: of the file, for the error. */
bool storage_get_to(struct storage *s, struct slice key, int fd, const char *name, struct err *e);
/* Writes an object to FILE.part, which is renamed to the file when the object is complete: after an error the old file is as it was. A pipe
 * or device is written directly. */
bool storage_get_file(struct storage *s, struct slice key, struct slice file, struct err *e);
bool storage_delete(struct storage *s, struct slice key, struct err *e);
/* Reads one page of the list of objects with this prefix. deep: all objects, else objects and folders of one level. *more: continuation
 * token, empty for the first page and after the last one. *out is valid until the next call. */
bool storage_list(struct storage *s, struct slice prefix, bool deep, struct slice *more, struct cloud_list *out, struct err *e);
/* A signed URL to GET the object. *seconds: its validity; set to that of the credentials if they expire sooner. */
bool storage_url(struct storage *s, struct slice key, int64_t *seconds, struct slice *url, struct err *e);

/* Prefix of the names of all logs in a bucket that is used with this prefix. */
struct slice storage_logs(struct slice prefix, struct arena *a);

#endif
