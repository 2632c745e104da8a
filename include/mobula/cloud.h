/* cloud: object storage that speaks S3's protocol: AWS, and MinIO, Ceph, SeaweedFS and others in clusters of their own. Signed requests
 * (AWS Signature Version 4), credentials and how they are renewed, and a client that makes one call at a time over a link.
 *
 * Nothing here reads a file or makes a system call: the caller hands in what the environment says, and a net. Secrets are wiped, and are
 * in no message. */
#ifndef MOBULA_CLOUD_H
#define MOBULA_CLOUD_H

#include <mobula/http.h>
#include <mobula/net.h>

/* ---- names ---- */

struct cloud_place {
    struct slice bucket, key; /* key: without a slash at its front; empty: the bucket itself */
};
/* "s3://BUCKET[/KEY]". Other schemes are refused by name, and so are names that no store takes. */
bool cloud_place(struct slice url, struct cloud_place *out, struct err *e);
/* Whether it can be the name of an object: 1 to LIMIT_CLOUD_KEY bytes of UTF-8 without control characters, and none of its parts between
 * slashes is "." or "..", which programs on the way resolve. */
bool cloud_key(struct slice key, struct err *e);

/* ---- signatures ---- */

struct cloud_keys {
    struct slice id, secret, session; /* session: empty for keys that do not expire */
};

enum { CLOUD_QUERY = 12, CLOUD_HEADERS = 10, CLOUD_URL_S = 7 * 24 * 3600 /* the longest that a signed URL may be valid */ };
#define CLOUD_UNSIGNED "UNSIGNED-PAYLOAD"
struct cloud_request {
    struct slice method, host, path; /* host: as in the header Host. path: not encoded, with a slash at its front */
    struct http_header query[CLOUD_QUERY], headers[CLOUD_HEADERS]; /* query: not encoded; headers: all that are signed, but Host */
    uint32_t query_count, header_count;
    struct slice payload; /* SHA-256 of the body in hexadecimal, or CLOUD_UNSIGNED */
};
struct cloud_signer {
    struct cloud_keys keys;
    struct slice region, service; /* "us-east-1", "s3" */
    int64_t wall_us;
};
/* Add what signs the request: to its headers, or (for s seconds, from signer.wall_us on) to its query. What they add lies in a. The payload
 * is part of an S3 request's headers. */
void cloud_sign(struct cloud_request *r, const struct cloud_signer *s, struct arena *a);
void cloud_sign_query(struct cloud_request *r, const struct cloud_signer *s, int64_t seconds, struct arena *a);
struct slice cloud_target(const struct cloud_request *r, struct arena *a); /* path and query, encoded */

/* ---- answers in XML: elements and their texts; no DOCTYPE, no CDATA, no entities but the five ---- */

struct cloud_xml {
    struct slice rest;                           /* set it to the document, the rest to 0 */
    struct slice open[16 /* LIMIT_CLOUD_XML */]; /* names of open elements */
    unsigned depth;
    bool begun, empty;
};
enum cloud_xml_step { CLOUD_XML_OPEN, CLOUD_XML_CLOSE, CLOUD_XML_END, CLOUD_XML_BAD };
/* *name: of the element that begins or ends, without its namespace's prefix; *text: what stands between its last tag before and its end,
 * in a. */
enum cloud_xml_step cloud_xml_next(struct cloud_xml *x, struct arena *a, struct slice *name, struct slice *text, struct err *e);
/* The text of the first element of this name; SLICE_NONE when it has none, or is no such document. */
struct slice cloud_xml_text(struct slice document, const char *name, struct arena *a);

struct cloud_object {
    struct slice key; /* of a common prefix: it ends in the delimiter, and the rest is empty */
    int64_t size;
    struct slice modified;
};
struct cloud_list {
    struct cloud_object *objects; /* in the arena */
    uint32_t count;
    struct slice next; /* continuation token; empty: it is complete */
};
/* Of ListObjectsV2 with encoding-type=url. */
bool cloud_list_read(struct slice document, struct arena *a, struct cloud_list *out, struct err *e);

/* ---- settings: as other S3 clients take them ---- */

struct cloud_surroundings {
    struct slice (*get)(void *owner, const char *name); /* the value of a variable; empty: none */
    bool (*read)(void *owner, struct slice path, struct arena *a, struct slice *text, struct err *e);
    void *owner;
};

/* Where credentials come from. Exactly one of these is found: keys, role (with token_file), or container. */
struct cloud_settings {
    struct cloud_keys keys;
    struct slice role, token_file, session_name;          /* IRSA: AssumeRoleWithWebIdentity of STS */
    struct slice container, container_token_file;         /* EKS Pod Identity: a URL on the node */
    struct slice region, endpoint, sts_endpoint, ca_file; /* empty: not given */
    const char *source;                                   /* of the credentials, for messages */
};
/* AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN; AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE; the profile AWS_PROFILE
 * ("default") of AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials) and AWS_CONFIG_FILE (~/.aws/config); AWS_CONTAINER_CREDENTIALS_FULL_URI;
 * in this order. AWS_REGION, AWS_DEFAULT_REGION; AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL; AWS_CA_BUNDLE. A profile with credential_process
 * or sso_… is refused by name. False: there are none, or *e says what is wrong with them. Texts lie in a. */
bool cloud_settings_read(const struct cloud_surroundings *from, struct arena *a, struct cloud_settings *out, struct err *e);
/* The answer of STS (XML) or of a container's URL (JSON). */
bool cloud_credentials_read(struct slice body, struct arena *a, struct cloud_keys *out, int64_t *expires_us, struct err *e);

/* ---- a client ---- */

struct cloud_host { /* a server, and the way to it */
    struct endpoint at;
    struct slice authority; /* as in the header Host: without the port of the scheme */
    struct slice path;      /* in front of all paths; no slash at its end */
};
/* "http[s]://HOST[:PORT][/PATH]"; texts lie in it or in a. what: begins the error. */
bool cloud_host(struct slice url, const char *what, struct arena *a, struct cloud_host *out, struct err *e);

struct cloud_store_options {
    const struct cloud_surroundings *from; /* reads token files again */
    struct cloud_settings settings;
    struct cloud_host store, identity; /* identity: of STS or the container's URL; not used with keys */
    struct slice bucket;
    bool path_style;                            /* the bucket is in the path; else store's name begins with it */
    void (*say)(void *owner, const char *line); /* what was worked around: each thing once */
    void *owner;
    uint64_t seed;
};

/* Reads n bytes of a body from `at` on. False with *e. A call that is tried again reads from the start again. */
typedef bool cloud_read(void *owner, uint64_t at, char *to, size_t n, struct err *e);
/* A piece of an answer; false with *e ends the call. */
typedef bool cloud_piece(void *owner, struct slice piece, struct err *e);

struct cloud_answer {
    struct err err;                   /* ERR_NONE: 2xx. Else what happened, to which object, and what to do about it */
    int status;                       /* 0: none came */
    struct slice code, message;       /* of the store's error: "AccessDenied" */
    struct slice body;                /* when no piece was given */
    const struct http_reader *reader; /* its headers; NULL without a status */
};
typedef void cloud_done(void *owner, const struct cloud_answer *answer, struct now now);

struct cloud_call { /* slices stay the caller's until done */
    const char *method;
    const char *right; /* that it needs: "s3:PutObject" */
    struct slice key;  /* empty: the bucket */
    struct slice url;  /* of cloud_store_url: it is called as it is, without credentials; empty: signed */
    struct http_header query[CLOUD_QUERY / 2], headers[CLOUD_HEADERS / 2];
    uint32_t query_count, header_count;
    uint64_t size; /* of the body */
    cloud_read *read;
    struct slice body;   /* without read: of `size` bytes */
    struct slice sha256; /* of the body, in hexadecimal; empty: CLOUD_UNSIGNED */
    uint64_t from;       /* of a GET: bytes that are left out at the front; when it breaks off, the rest is asked for */
    cloud_piece *piece;  /* gets the body of a 2xx */
    void *owner;         /* of read and piece */
    cloud_done *done;
    void *done_owner;
};

struct cloud_store;
/* Slices, endpoints and what they point at stay the caller's, as long as the store. */
struct cloud_store *cloud_store_new(struct net *net, const struct cloud_store_options *o);
void cloud_store_free(struct cloud_store *s);
/* One at a time: done has been called for the one before. Tries CLOUD_TRIES times, with backoff, what may pass by itself: connections that
 * fail or stay silent for CLOUD_SILENCE_MS, 429, 5xx, SlowDown, an answer that breaks off. Once each: the store's clock is taken for ours
 * (RequestTimeTooSkewed), its region for the one that was set, new credentials for those that have expired. */
void cloud_store_call(struct cloud_store *s, const struct cloud_call *call, struct now now);
int64_t cloud_store_tick(struct cloud_store *s, struct now now); /* call it after every net_dispatch; returns when to call again */
/* A URL with which anybody may make this call, for so many seconds from now on. False: there are no credentials yet, and a call is needed
 * first. */
bool cloud_store_url(struct cloud_store *s, const struct cloud_call *call, int64_t seconds, int64_t wall_us, struct arena *a,
                     struct slice *url, struct err *e);
int64_t cloud_store_expires_us(const struct cloud_store *s); /* of the credentials; TIME_NEVER: they do not */

#endif
