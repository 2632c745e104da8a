/* cloud: a client for object stores with S3's protocol (AWS, and self-hosted MinIO, Ceph, SeaweedFS): signed requests (AWS Signature
 * Version 4), renewal of credentials, one call at a time over a link.
 *
 * Nothing here reads a file or makes a system call: the caller provides environment variables, files and a net. Secrets are wiped from
 * memory and appear in no message. */
#ifndef MOBULA_CLOUD_H
#define MOBULA_CLOUD_H

#include <mobula/http.h>
#include <mobula/net.h>
#include <mobula/tls.h>

/* ---- names of buckets and objects ---- */

struct cloud_place {
    const struct cloud_protocol *protocol;
    struct slice bucket, key; /* key: the object's name, without a leading slash; empty: the bucket itself */
    struct slice account;     /* of abfss://CONTAINER@ACCOUNT.dfs.DOMAIN: "ACCOUNT", … */
    struct slice domain;      /* … and DOMAIN; empty: none */
};
/* Parses "SCHEME://BUCKET[/KEY]": s3, gs, azure, or abfss://CONTAINER@ACCOUNT.dfs.DOMAIN[/KEY]. False: another scheme, or a bucket or key
 * that stores do not accept; *e names it. */
bool cloud_place(struct slice url, struct cloud_place *out, struct err *e);
/* Checks an object's name: 1 to LIMIT_CLOUD_KEY bytes of UTF-8 without control characters; "." and ".." between slashes are refused,
 * because proxies and HTTP libraries resolve them. */
bool cloud_key(struct slice key, struct err *e);
const char *cloud_partition(struct slice region); /* of AWS, as in its ARNs: "aws", "aws-cn", "aws-us-gov" */
/* Host of an AWS service in a region: "sts.eu-west-1.amazonaws.com", in China "sts.cn-north-1.amazonaws.com.cn". */
struct slice cloud_aws_host(const char *service, struct slice region, struct arena *a);

/* ---- signatures ---- */

struct cloud_keys {
    struct slice id, secret, session; /* session: empty for keys that do not expire */
};

/* Half of a query may be the call's; a SAS token of Azure has up to 13 parameters. */
enum { CLOUD_QUERY = 24, CLOUD_HEADERS = 10, CLOUD_URL_S = 7 * 24 * 3600 /* maximum validity of a signed URL */ };
#define CLOUD_UNSIGNED "UNSIGNED-PAYLOAD"
#define CLOUD_CHUNKED "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
struct cloud_request {
    struct slice method, host, path; /* host: as in the header Host. path: not encoded, with a leading slash */
    struct http_header query[CLOUD_QUERY], headers[CLOUD_HEADERS]; /* query: not encoded; headers: all signed headers except Host */
    uint32_t query_count, header_count;
    uint64_t size;        /* bytes of the body */
    struct slice payload; /* SHA-256 of the body in hexadecimal, CLOUD_UNSIGNED, or CLOUD_CHUNKED: its chunks are signed one by one */
};
/* A key that Azure gives the bearer of a token to sign URLs with, as texts of its answer. */
enum {
    CLOUD_DELEGATION_OID,
    CLOUD_DELEGATION_TID,
    CLOUD_DELEGATION_START,
    CLOUD_DELEGATION_EXPIRY,
    CLOUD_DELEGATION_SERVICE,
    CLOUD_DELEGATION_VERSION,
    CLOUD_DELEGATION_VALUE,
    CLOUD_DELEGATION_TEXTS
};
struct cloud_delegation {
    char texts[CLOUD_DELEGATION_TEXTS][64];
    int64_t until_us; /* its expiry; 0: there is no key */
};
struct cloud_signer {
    struct cloud_keys keys;
    struct slice region, service; /* "us-east-1", "s3" */
    int64_t wall_us;
    bool bearer;                               /* Azure, Google: keys.session is an OAuth token */
    const struct cloud_delegation *delegation; /* Azure: what signs URLs of a bearer */
};
/* Adds date, session token and signature to the headers, and for S3 the hash of the payload. The added values lie in a. */
void cloud_sign(struct cloud_request *r, const struct cloud_signer *s, struct arena *a);
/* Signs a chunk of a body. signature: in hexadecimal, that of the chunk before, or of the request's headers; it is replaced. */
void cloud_sign_chunk(const struct cloud_signer *s, struct slice chunk, char signature[TLS_SHA256_HEX], struct arena *a);
/* Adds them to the query instead, for a signed URL that is valid for so many seconds from s->wall_us on; the payload is unsigned. */
void cloud_sign_query(struct cloud_request *r, const struct cloud_signer *s, int64_t seconds, struct arena *a);
/* The same for Google Cloud Storage; keys.secret is the PEM of an RSA key. */
void cloud_sign_google(struct cloud_request *r, const struct cloud_signer *s, int64_t seconds, struct arena *a);
/* Adds the query of Google's signed URL without its signature, and returns the text to sign. */
struct slice cloud_google_text(struct cloud_request *r, const struct cloud_signer *s, int64_t seconds, struct arena *a);
struct slice cloud_azure_text(const struct cloud_request *r, struct slice account, struct arena *a); /* the text signed by SharedKey */
struct slice cloud_target(const struct cloud_request *r, struct arena *a); /* the request's path and query, encoded */

enum { CLOUD_STAMP = sizeof "20130524T000000Z" };
void cloud_stamp(int64_t wall_us, char stamp[CLOUD_STAMP]); /* of dates in signatures */

/* A proof of an identity of AWS, as a bearer token: CLOUD_PROOF, the deployment id of a cloud, a dot, and the query of a signed URL of STS
 * for GetCallerIdentity, whose signature covers the header CLOUD_PROOF_HEADER with that id. */
enum { CLOUD_PROOF_S = 15 * 60 }; /* its validity */
#define CLOUD_PROOF "mobula-aws-v1."
#define CLOUD_PROOF_HEADER "X-Mobula-Cloud"
#define CLOUD_PROOF_SIGNED "x-mobula-cloud"

/* ---- answers in XML: elements and text; DOCTYPE, CDATA, comments and entities other than the five standard ones are errors ---- */

struct cloud_xml {
    struct slice rest;                           /* the unread part: initialise it to the document, all other members to 0 */
    struct slice open[16 /* LIMIT_CLOUD_XML */]; /* names of the open elements, outermost first */
    unsigned depth;
    bool begun, empty;
};
enum cloud_xml_step { CLOUD_XML_OPEN, CLOUD_XML_CLOSE, CLOUD_XML_END, CLOUD_XML_BAD };
/* Reads the next tag. *name: the element's name, without a namespace prefix; *text: the text between the previous tag and this one, decoded
 * in a. */
enum cloud_xml_step cloud_xml_next(struct cloud_xml *x, struct arena *a, struct slice *name, struct slice *text, struct err *e);
/* The text of the first element of this name; SLICE_NONE: the document has no such element or is not valid XML. */
struct slice cloud_xml_text(struct slice document, const char *name, struct arena *a);

struct cloud_object {
    struct slice key;      /* a common prefix (a folder) ends in the delimiter, and has size 0 and no date */
    int64_t size;          /* bytes */
    struct slice modified; /* LastModified, as the store writes it */
};
struct cloud_list {
    struct cloud_object *objects; /* in the arena */
    uint32_t count;
    struct slice next; /* continuation token of the next page; empty: this is the last page */
};
/* Reads one page of ListObjectsV2 with encoding-type=url, or of Azure's List Blobs. */
bool cloud_list_read(struct slice document, struct arena *a, struct cloud_list *out, struct err *e);

/* ---- settings: environment variables and files of the AWS CLI ---- */

struct cloud_surroundings {                             /* access to the process's environment */
    struct slice (*get)(void *owner, const char *name); /* value of an environment variable; empty: not set */
    bool (*read)(void *owner, struct slice path, struct arena *a, struct slice *text, struct err *e); /* content of a file */
    void *owner;
};

/* Settings of a store. Exactly one source of credentials is set: keys, or an identity. */
struct cloud_settings {
    struct cloud_keys keys;                 /* id: also the account at Azure and Google, with an identity */
    struct slice identity;                  /* URL of the server that issues credentials; empty with a role: STS of the region */
    struct slice signer;                    /* URL of Google's service accounts, one of which signs URLs */
    struct slice token_file;                /* the pod's token for that server */
    struct slice role;                      /* IRSA: what the pod assumes; Azure: id of its client; Google: audience of its token */
    struct slice session_name;              /* IRSA: of the session; Google: type of the pod's token */
    struct slice region, endpoint, ca_file; /* empty: not given */
    const char *source;                     /* where the credentials were found, for messages */
};
/* Credentials, from the first source that is set: 1. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN; 2. AWS_ROLE_ARN and
 * AWS_WEB_IDENTITY_TOKEN_FILE; 3. the profile AWS_PROFILE ("default") of AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials) and
 * AWS_CONFIG_FILE (~/.aws/config); 4. AWS_CONTAINER_CREDENTIALS_FULL_URI. Other settings: AWS_REGION, AWS_DEFAULT_REGION;
 * AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL; AWS_CA_BUNDLE. A profile with credential_process, sso_… or role_arn is an error that names it.
 * False: no credentials, or invalid ones (*e). Texts lie in a. */
bool cloud_settings_read(const struct cloud_surroundings *from, struct arena *a, struct cloud_settings *out, struct err *e);
/* Reads credentials from the answer of STS (XML) or of the EKS Pod Identity agent (JSON). */
bool cloud_credentials_read(struct slice body, struct arena *a, struct cloud_keys *out, int64_t *expires_us, struct err *e);

/* ---- a client ---- */

struct cloud_host { /* a server's address */
    struct endpoint at;
    struct slice authority; /* as in the header Host: no port if it is the scheme's default */
    struct slice path;      /* prefix of all paths; without a trailing slash */
};
/* Parses "http[s]://HOST[:PORT][/PATH]". Texts lie in url or in a. what: the setting's name, with which the error begins. */
bool cloud_host(struct slice url, const char *what, struct arena *a, struct cloud_host *out, struct err *e);

enum cloud_right { CLOUD_READ, CLOUD_LIST, CLOUD_WRITE, CLOUD_DELETE, CLOUD_ABORT, CLOUD_RIGHTS };
enum { CLOUD_ETAG_MAX = 160 };
#define CLOUD_PAGE "1000" /* objects in one page of a list: S3's maximum */

struct cloud_call;
struct cloud_store;
/* How a large object is uploaded in parts. */
struct cloud_upload {
    const char *root;                    /* element of the list of parts that ends the upload */
    bool no_etag;                        /* answers to parts need no ETag */
    bool metadata_last;                  /* headers of the object belong to the call that ends the upload, not to the one that begins it */
    void (*begin)(struct cloud_call *c); /* NULL: no call begins an upload */
    void (*part)(struct cloud_call *c, struct slice upload, uint32_t number, struct arena *a);
    void (*put_part)(struct buf *out, struct slice upload, uint32_t number, const char *etag, struct arena *a);
    void (*parts)(struct cloud_call *c, struct slice upload); /* lists those that are stored, at least the first ones */
    /* Of the part that this list calls so, 1 to LIMIT_CLOUD_PARTS; 0: it is none, or of another upload. */
    uint32_t (*number)(struct slice name, struct slice upload);
    void (*complete)(struct cloud_call *c, struct slice upload);
};

/* How stores of one kind are called. */
struct cloud_protocol {
    const char *scheme;               /* of the URLs of its objects */
    const char *sha256, *size;        /* headers with an object's metadata: SHA-256 and bytes of the content before it was compressed */
    const char *crc32c;               /* … CRC-32C, in hexadecimal, of an object that was stored in parts */
    struct http_header absent;        /* header of a PUT that fails with 409 or 412 if the object exists */
    const char *rights[CLOUD_RIGHTS]; /* names of rights, for messages */
    const char *resource;             /* word before the bucket's name in messages about rights; NULL: its ARN */
    bool (*settings)(const struct cloud_surroundings *from, struct arena *a, struct cloud_settings *out, struct err *e);
    /* Adds what a GET of the bucket needs to list objects. more: continuation token, empty for the first page. */
    void (*list)(struct cloud_call *c, struct slice prefix, bool deep, struct slice more);
    bool (*list_read)(struct slice body, struct arena *a, struct cloud_list *out, struct err *e);
    void (*put)(struct cloud_call *c); /* adds what a PUT of a whole object needs; NULL: nothing */
    void (*sign)(struct cloud_request *r, const struct cloud_signer *s, struct arena *a);
    void (*sign_url)(struct cloud_request *r, const struct cloud_signer *s, int64_t seconds, struct arena *a);
    int64_t (*keys_until)(const struct cloud_keys *k, struct arena *a); /* end of given keys, microseconds of 1970; NULL: they have none */
    const struct cloud_upload *upload;                                  /* NULL: objects of any size are stored by one call */
    /* The request for credentials or a signature that the client makes next; NULL: none, the call itself. */
    const struct cloud_errand *(*errand)(const struct cloud_store *s, struct now now);
};
extern const struct cloud_protocol cloud_s3, cloud_gcs, cloud_azure;

struct cloud_store_options {
    const struct cloud_protocol *protocol;
    const struct cloud_surroundings *from; /* reads the token file again for each renewal */
    struct cloud_settings settings;
    struct cloud_host store, identity, signer; /* the servers of settings.identity and .signer; not used with keys */
    struct slice bucket;
    const char *service; /* of AWS, that calls are signed for; NULL: the object store */
    bool path_style;     /* the bucket is part of the path; else store.authority begins with it */
    bool near;           /* S3 on this machine, without TLS: parts are not signed, because no network lies between */
    /* Receives a warning when the client uses the store's clock or the bucket's region instead of ours; each at most once. */
    void (*say)(void *owner, const char *line);
    void *owner;
    uint64_t seed;
};

/* Reads n bytes of a request's body from offset `at` on. False with *e. Each retry reads from offset 0. */
typedef bool cloud_read(void *owner, uint64_t at, char *to, size_t n, struct err *e);
/* Takes the next piece of an answer's body. False with *e: the call fails. */
typedef bool cloud_piece(void *owner, struct slice piece, struct err *e);

struct cloud_answer {
    struct err err;                   /* ERR_NONE: 2xx. Else the method, the object, the error and its remedy */
    int status;                       /* HTTP status; 0: no answer was received */
    struct slice code, message;       /* of the store's error document, such as "AccessDenied" */
    struct slice body;                /* only if call.piece is NULL; of a call with sign_s: the signed URL */
    int64_t seconds;                  /* validity of the signed URL: less than sign_s if the credentials end sooner */
    const struct http_reader *reader; /* the answer's headers; NULL: no answer was received */
};
typedef void cloud_done(void *owner, const struct cloud_answer *answer, struct now now);

struct cloud_call { /* the caller keeps what slices point at until done is called */
    const char *method;
    enum cloud_right right; /* that the call needs, for messages */
    struct slice key;       /* name of the object; empty: the bucket */
    struct slice url;       /* a signed URL to call as it is, without credentials; empty: the client signs the call */
    int64_t sign_s;         /* the call is not made, but a URL for it signed, valid for so many seconds; 0: it is made */
    struct http_header query[CLOUD_QUERY / 2], headers[CLOUD_HEADERS / 2];
    uint32_t query_count, header_count;
    uint64_t size;       /* bytes of the body */
    cloud_read *read;    /* NULL: the body is in `body` */
    struct slice body;   /* `size` bytes */
    struct slice sha256; /* of the body, in hexadecimal; empty: not known (CLOUD_UNSIGNED, or CLOUD_CHUNKED without TLS) */
    uint64_t from;       /* GET: offset of the first byte to read. If the answer is cut off, a retry asks only for the rest */
    cloud_piece *piece;  /* receives the body of a 2xx answer */
    void *owner;         /* owner of read and piece */
    cloud_done *done;
    void *done_owner;
};

void cloud_add_header(struct cloud_call *c, const char *name, struct slice value);
void cloud_add_query(struct cloud_call *c, const char *name, struct slice value);

/* The memory that slices and endpoints of o point at stays the caller's, and must live as long as the store. */
struct cloud_store *cloud_store_new(struct net *net, const struct cloud_store_options *o);
/* Another client of the same store, with the credentials, clock and region that s has now: for calls at the same time. */
struct cloud_store *cloud_store_beside(struct cloud_store *s);
void cloud_store_free(struct cloud_store *s);
const struct http_reader *cloud_store_reader(const struct cloud_store *s); /* the headers of the last answer; valid for call.piece */
/* Starts a call; the previous one must be done. Transient errors are retried with backoff, up to CLOUD_TRIES attempts: a connection that
 * fails or is silent for CLOUD_SILENCE_MS, 408, 429, 5xx but 501, SlowDown, an answer that is cut off. Retried at once: a wrong clock, with
 * the store's clock; a wrong region (only with an endpoint of one's own), with the bucket's region; each of them once for a store. Expired
 * credentials are renewed once for each call. */
void cloud_store_call(struct cloud_store *s, const struct cloud_call *call, struct now now);
/* Call it after every net_dispatch. Returns the monotonic ms of the next call. */
int64_t cloud_store_tick(struct cloud_store *s, struct now now);

/* ---- a check of a bucket: writes, lists, reads, signs and deletes an object ---- */

enum cloud_probe_step { CLOUD_PROBE_WRITE, CLOUD_PROBE_LIST, CLOUD_PROBE_READ, CLOUD_PROBE_SIGN, CLOUD_PROBE_DELETE, CLOUD_PROBE_STEPS };
extern const char *const cloud_probe_names[]; /* by step: "write" */
struct cloud_probe {
    bool over;
    struct err errors[CLOUD_PROBE_STEPS]; /* ERR_NONE: the step is over, and was successful */
    /* private */
    struct cloud_store *store;
    const struct cloud_protocol *protocol;
    int step;
    struct slice key, url, left; /* url: signed; left: rest of the content that was not read back yet */
    char sha256[TLS_SHA256_HEX];
    struct arena a;
};
/* Begins; *p is zeroed or an earlier one that is over. Call cloud_store_tick until p->over. */
void cloud_probe_begin(struct cloud_probe *p, struct cloud_store *s, struct slice prefix, uint64_t random, struct now now);
void cloud_probe_free(struct cloud_probe *p);
/* Appends "write: ERROR; list: ERROR"; nothing: all steps were successful. */
void cloud_probe_text(const struct cloud_probe *p, struct buf *out);

#endif
