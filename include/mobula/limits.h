/* Every limit of mobula, in one place. Reaching one is an error (ERR_LIMIT, with the limit's name and value in its text), never a crash and
 * never a silent truncation. Each is tested at the limit and one past it. */
#ifndef MOBULA_LIMITS_H
#define MOBULA_LIMITS_H

enum {
    KIB = 1024,
    MIB = 1024 * 1024,
};

/* base */
enum {
    LIMIT_LOG_SAID = 64, /* log lines of one kind per minute; further ones are suppressed and counted */
};

/* json: one document. The API server stores 1.5 MiB and accepts 3 MiB. Nesting is checked before jsmn parses, because jsmn's time is
 * quadratic in depth. */
enum {
    LIMIT_JSON_DEPTH = 64,
    LIMIT_JSON_ITEM = 3 * MIB,
    LIMIT_JSON_TOKENS = 256 * KIB,
    LIMIT_JSON_ENVELOPE = 64 * KIB, /* a list without its items: kind, apiVersion, metadata */
    LIMIT_JSON_PATCH_OPS = 4 * KIB,
    LIMIT_JSON_PATCH_STEPS = 4 * MIB, /* values that all operations on one document look at */
};

/* yaml: manifests and kubeconfigs. */
enum {
    LIMIT_BUNDLE = 16 * MIB, /* of an air-gap bundle, which is read whole before anything in it is believed */
    LIMIT_YAML_INPUT = 4 * MIB,
    LIMIT_YAML_DEPTH = 64,
    LIMIT_YAML_ALIASED = 1 * MIB, /* bytes that aliases and merge keys may add to one document */
    LIMIT_YAML_DOCUMENTS = 1024,
};

/* tls: what BearSSL's buffers can hold, and what is read from files. */
enum {
    LIMIT_TLS_LEAF = 8 * KIB,  /* DER bytes of the server's own certificate */
    LIMIT_TLS_ANCHORS = 4096,  /* certificates in one CA bundle */
    LIMIT_TLS_PEM = 4 * MIB,   /* bytes of one PEM file */
    LIMIT_TLS_CHAIN = 8,       /* certificates of a client identity */
    LIMIT_TLS_PEER_CHAIN = 16, /* certificates of a server's chain */
    LIMIT_TLS_EXPONENT = 8,    /* bytes of an RSA key's public exponent: with more, verifying is as slow as signing */
    /* of TLS 1.3 */
    LIMIT_TLS_HELLO =
        20 * KIB, /* bytes of a peer's first records, until its version is known; of a client's handshake message; of a cookie */
    LIMIT_TLS_MESSAGE = 128 * KIB, /* bytes of one handshake message of a server */
    LIMIT_TLS_EARLY = 32 * KIB,    /* bytes of a client's 0-RTT records, which a server skips */
    LIMIT_TLS_QUEUE = 256 * KIB,   /* bytes of our records that wait for the wire, certificates included */
    LIMIT_TLS_IDLE = 32,           /* records in a row without data: key updates, tickets, empty records */
    LIMIT_TLS_RECORDS = 1 << 23,   /* records sent with one key before a key update; AES-GCM allows 2^24.5 */
};

/* http */
enum {
    LIMIT_HTTP_HEAD = 16 * KIB, /* status or request line and all headers */
    LIMIT_HTTP_HEADERS = 64,
    LIMIT_HTTP_INTERIM = 8,               /* 1xx answers before the real one */
    LIMIT_HTTP_CHUNK_OVERHEAD = 64 * KIB, /* chunk headers and extensions beyond 1/8 of the body */
    LIMIT_HTTP_URL = 4 * KIB,
    LIMIT_HTTP_BODY = 8 * MIB, /* an answer that is collected before it is parsed */
};

/* net */
enum {
    LIMIT_NET_LINKS = 2048,   /* opened by this process: one to each of 1,000 heads, and the rest */
    LIMIT_NET_ACCEPTED = 32,  /* accepted by one listener; a further one closes the oldest */
    LIMIT_NET_ALLOW = 256,    /* entries of the egress allowlist */
    LIMIT_NET_PEERS = 20000,  /* temporary entries of the allowlist: two ports of 10,000 heads */
    LIMIT_NET_ADDRESSES = 16, /* addresses tried for one name */
    LIMIT_NET_HOST = 253,
    NET_BUFFER = 16 * KIB,  /* bytes in flight per direction and link … */
    NET_BULK = 64 * KIB,    /* … in a command that has few links, and large files */
    NET_DNS_MS = 12 * 1000, /* libc tries twice, 5 s each */
    NET_DNS_V4_FIRST = 64,  /* after a slow AAAA answer, this many lookups ask for IPv4 addresses first */
    NET_CONNECT_MS = 30 * 1000,
    NET_HANDSHAKE_MS = 10 * 1000,
    NET_ADDRESS_MS = 2 * 1000,  /* the least part of NET_CONNECT_MS for each address */
    NET_LINGER_MS = 5 * 1000,   /* a closed link may still send what was written to it */
    NET_ACCEPT_PAUSE_MS = 1000, /* no accept for this time after the system ran out of descriptors */
    NET_IDLE_MS = 60 * 1000,    /* an idle link is closed; the server would close it at 90 s */
};

/* cloud */
enum {
    LIMIT_CLOUD_KEY = 1024,               /* bytes of an object's name: S3's own limit */
    LIMIT_CLOUD_XML = 16,                 /* nested elements in an XML answer */
    LIMIT_CLOUD_TOKEN = 8 * KIB,          /* bytes of a session token, which is sent in a header */
    LIMIT_CLOUD_SECRET = 256,             /* bytes of a secret key; bytes of a key's id */
    LIMIT_CLOUD_ANSWER = LIMIT_HTTP_BODY, /* bytes of an answer without a cloud_piece */
    CLOUD_TRIES = 6,                      /* attempts of one call */
    CLOUD_BACKOFF_MS = 250,               /* before the second attempt; doubled before each further one … */
    CLOUD_BACKOFF_MAX_MS = 10 * 1000,     /* … up to this */
    CLOUD_SILENCE_MS = 30 * 1000,         /* a connection without a byte in either direction for so long is closed */
    CLOUD_RENEW_S = 5 * 60,               /* credentials are renewed this long before they expire */
    CLOUD_PART = 8 * MIB,                 /* bytes: larger files are uploaded in parts of this size */
    CLOUD_LANES = 3,                      /* parts of one upload that are sent at the same time */
    LIMIT_CLOUD_PARTS = 10000,            /* parts of one upload: S3's own limit; parts of larger files are larger */
};

/* logs that are shipped to a bucket */
enum {
    LIMIT_SHIP_FILES = 4096,       /* log files of one pod; further ones are left out, which is logged */
    LIMIT_SHIP_NAME = 512,         /* bytes of a log file's name, with folders */
    LIMIT_SHIP_BATCH = MIB,        /* bytes of lines in one object */
    LIMIT_SHIP_HELD = 256 * MIB,   /* unshipped bytes of removed files: while the store fails, older lines are lost beyond this */
    SHIP_OPEN = 256,               /* log files with unshipped bytes that are open at once */
    SHIP_SCAN_MS = 1000,           /* between two looks at Ray's folder */
    SHIP_QUIET_MS = 2 * 1000,      /* at the end of a pod: its log is complete when no file has grown for so long … */
    SHIP_END_MS = 25 * 1000,       /* … and at the latest then, within the pod's grace period */
    SHIP_RETRY_MS = 1000,          /* before the second attempt while the store fails, doubled before each further one … */
    SHIP_RETRY_MAX_MS = 60 * 1000, /* … up to this */
    SHIP_EXPIRE_MS = 3600 * 1000,  /* between two looks for logs above the retention … */
    SHIP_EXPIRE_PACE_MS = 20,      /* … and between two deletions */
    LIMIT_JOURNAL_HELD = 4 * MIB,  /* bytes of the history of objects that wait to be stored; further lines are dropped */
    LIMIT_JOB_TASKS = 64 * KIB,    /* bytes of Ray's summary of tasks in the history of a job; a longer one is left out */
    LIMIT_JOURNAL_FILES = 4096,    /* objects whose history waits */
    JOURNAL_FLUSH_MS = 10 * 1000,  /* how long a line of history waits for more */
};

/* serve */
enum {
    LIMIT_SERVE_ANSWER = LIMIT_HTTP_BODY,
};

/* rayservice: status and Serve applications of one cluster. status has those of two, and etcd takes 1.5 MiB for the whole object */
enum {
    LIMIT_STATUS_COPY = 128 * KIB, /* bytes of the cluster's status; a longer one is not copied */
    LIMIT_APPS_LISTED = 1024,      /* applications and deployments that a head lists … */
    LIMIT_APPS_NAMES = 128 * KIB,  /* … bytes of their names and states … */
    LIMIT_APPS_WORDS = 128 * KIB,  /* … bytes of their messages, each of which is cut to an equal share */
};

/* kube */
enum {
    LIMIT_KUBE_CALLS = 4096,   /* calls queued or in flight */
    LIMIT_KUBE_WATCHES = 1024, /* LIMIT_KINDS in each of CLI_NAMESPACES_MAX */
    LIMIT_KINDS = 64,          /* kinds of objects that the operator watches */
    LIMIT_SETTINGS = 8,        /* ConfigMaps of its own that it watches */
    LIMIT_KUBE_TOKEN = 64 * KIB,
    LIMIT_KUBE_NAME = 253,        /* of an object */
    LIMIT_KUBE_NAMESPACE = 63,    /* of a namespace */
    LIMIT_KUBE_CONFIG_FILES = 16, /* of one KUBECONFIG list */
    LIMIT_KUBE_IMPERSONATE = 16,  /* groups, and extra values, to impersonate */
    LIMIT_KUBE_EXEC_ARGS = 64,    /* arguments, and environment variables, of an exec plugin */
    LIMIT_KUBE_EXEC_OUTPUT = 256 * KIB,
    KUBE_EXEC_MS = 60 * 1000, /* an exec plugin may have to contact a login server */
    KUBE_PAGE = 500,
    LIMIT_KUBE_PAGES = 2000,  /* of one list: a million objects */
    KUBE_CALL_MS = 65 * 1000, /* the server gives up at 60 s */
    KUBE_WATCH_SECONDS = 290,
    KUBE_SILENCE_MS = 150 * 1000, /* bookmarks come every 60 s: a watch silent for longer is probed */
    KUBE_BACKOFF_MS = 800,
    KUBE_BACKOFF_MAX_MS = 30 * 1000,
    KUBE_RELOAD_MS = 60 * 1000,    /* tokens and CA files are read again */
    KUBE_OPENING = 4,              /* connections of one lane that are opened at once: more handshakes only delay the first request */
    KUBE_IDLE_KEPT = 4,            /* idle connections of a lane that are kept for NET_IDLE_MS */
    KUBE_IDLE_EXTRA_MS = 5 * 1000, /* and how long further ones are kept */
    KUBE_PROXY_CALLS = 16,         /* calls in flight that the API server proxies to pods */
    KUBE_WINDOW_MIN = 1,           /* calls of the main lane in flight, after many 429 */
    KUBE_WINDOW_START = 8, /* as many as two cores serve without a queue; with a fast server KUBE_WINDOW_MAX is reached after 500 answers */
    KUBE_WINDOW_MAX = 64,  /* with a round trip of 200 ms: 300 calls a second, more than an API server with two cores answers */
    KUBE_WINDOW_FEW = 4,  /* the window grows while fewer than this many of our calls queue at the server: enough to keep a core busy … */
    KUBE_WINDOW_MANY = 8, /* … and shrinks while more than this many do: they add latency for other clients and no throughput for us */
    KUBE_WINDOW_PROBE = 4,            /* calls in flight while the server's latency without our load is measured (a probe) … */
    KUBE_WINDOW_PROBE_MS = 20 * 1000, /* … interval of these probes, of eight answers each; only while our calls queue at the server */
    KUBE_WINDOW_IDLE_MS = 30 * 1000,  /* after so long without an answer the window starts again: the server's load may have changed */
    KUBE_WINDOW_FLOOR_MS = 5,         /* shorter answer times count as this: our clock and loop decide them */
    KUBE_WINDOW_CLASSES = 16,         /* pairs of verb and resource whose fastest answer is kept; the least recently used is replaced */
    KUBE_LEASE_MS = 4 * 1000,         /* a Lease that was not renewed for so long is taken over by another replica … */
    KUBE_LEASE_RENEW_MS = 3 * 1000,   /* … its holder stops leading 1 s earlier: enough if clock speeds differ by a third */
    KUBE_LEASE_RETRY_MS = 1000,       /* between two renewals of the Lease */
    LIMIT_KUBE_EVENTS = 1024,         /* events waiting to be sent; more are dropped and counted */
    LIMIT_KUBE_EVENT_NOTE = 1024,
    LIMIT_KUBE_WARNINGS = 8,  /* warnings kept of one custom resource; later ones are dropped */
    LIMIT_KUBE_WARNING = KIB, /* bytes of each */
};

/* ray: the spec of one cluster */
enum {
    LIMIT_RAY_GROUPS = 256,
    LIMIT_RAY_PODS = 100 * 1000,    /* of one cluster */
    LIMIT_POD_WORDS = KIB,          /* why a pod is not ready, in the kubelet's or scheduler's words; kept only until it is ready */
    LIMIT_SPEC_ERRORS = 64,         /* validation errors kept for one resource */
    LIMIT_RAY_HOSTS = 1024,         /* numOfHosts */
    LIMIT_RAY_ENDPOINTS = 100,      /* ports in status.endpoints, as many as one EndpointSlice has; further ones are left out */
    LIMIT_RAY_PACK_NAMES = 1024,    /* distinct resource names in one scaling decision */
    LIMIT_RAY_PACK_SELECTORS = 64,  /* distinct label selectors in one scaling decision */
    LIMIT_RAY_RULES = 16,           /* deletionRules of a RayJob */
    LIMIT_RAY_ARGUMENT = 120 * KIB, /* bytes of one argument of a submitter pod's command: Linux allows 128 KiB */
};

/* heads: answers of a Ray head, and their deadlines. */
enum {
    LIMIT_RAY_ANSWER = 4 * MIB,           /* one gRPC message: about 8,000 nodes */
    LIMIT_RAY_ANSWERS = 16 * MIB,         /* messages being received from all heads together … */
    RAY_ANSWER_FREE = 4 * KIB,            /* … where messages of up to this size do not count */
    LIMIT_RAY_STATE = 16 * MIB,           /* bytes of the structs that it is parsed into */
    LIMIT_RAY_COUNT = 1000 * 1000 * 1000, /* pending tasks of one shape */
    LIMIT_RAY_HEADERS = 16 * KIB,         /* of an answer or a call, compressed */
    LIMIT_RAY_CHATTER = 64 * KIB,         /* bytes of frames that belong to no answer, during one call */
    LIMIT_RAY_REPORT = 60 * KIB,          /* the autoscaler's report to the head: fits HTTP/2's initial window */
    LIMIT_RAY_RESOURCES = 4096,           /* in one set: each bundle of a placement group adds four or more to its node */
    LIMIT_RAY_LABELS = 512,               /* of one node */
    LIMIT_RAY_TOKEN = 8 * KIB,
    LIMIT_RAY_DRAINS = 256,  /* waiting drain requests of one GCS */
    RAY_GCS_MS = 5 * 1000,   /* one call, from DNS to its last byte */
    RAY_GCS_EVERY_MS = 1000, /* the GCS polls its raylets no more often */
    RAY_GCS_GRID_MS = 50,    /* polls are aligned to this, so that many of them share one turn of the event loop */
    RAY_GCS_BACKOFF_MS = 1000,
    RAY_GCS_BACKOFF_MAX_MS = 10 * 1000,
    LIMIT_RAY_DASH = 2 * MIB,     /* an answer of a dashboard other than a log */
    LIMIT_RAY_LOG = 16 * KIB,     /* the part of a driver's log that is kept … */
    LIMIT_RAY_LOG_ALL = 64 * MIB, /* … and the most that is read of it */
    LIMIT_RAY_DASH_CALLS = 4096,  /* waiting or in flight */
    RAY_DASH_MS = 10 * 1000,      /* one call */
    RAY_LOG_STEP = 1 * MIB,       /* of a log that is shown: the bytes that must arrive within RAY_DASH_MS */
    RAY_DASH_LINKS = 32,
    RAY_DASH_LINKS_HOST = 2,
    RAY_DASH_LINKS_DOUBTFUL = 16,           /* of RAY_DASH_LINKS, those to heads that did not answer the last time … */
    RAY_DASH_PROXIED_DOUBTFUL = 8,          /* … and the same of KUBE_PROXY_CALLS */
    LIMIT_RAY_SESSION = 256,                /* Ray's session name, one for each start of a head */
    RAY_TOKEN_BYTES = 32,                   /* random bytes in a token that we generate */
    RAY_TOKEN_AGAIN_MS = 10 * 1000,         /* a token that a head refused is read again this long after it was read … */
    RAY_TOKEN_AGAIN_MAX_MS = 5 * 60 * 1000, /* … growing to this while it stays the same. The same holds for a token that cannot be read */
};
#define LIMIT_RAY_AMOUNT INT64_C(100000000000000) /* units of one resource on one node: 91 TiB of memory */

/* remote: the control plane's call, and how it is answered */
enum {
    LIMIT_REMOTE_BODY = MIB,                /* of a request, and of an answer */
    LIMIT_REMOTE_DEPTH = 32,                /* of an answer */
    LIMIT_REMOTE_REVISION = 64,             /* bytes */
    LIMIT_REMOTE_ITEMS = 4096,              /* workloads in one answer */
    LIMIT_REMOTE_QUESTIONS = 64,            /* in one answer */
    LIMIT_REMOTE_WORKLOADS = 20 * 1000,     /* that one operator keeps */
    LIMIT_REMOTE_SPECS = 32 * MIB,          /* bytes of their specs, all together */
    LIMIT_REMOTE_STATUS = 64 * KIB,         /* bytes of one status */
    REMOTE_REPORT = 512 * KIB,              /* bytes that one request reports; the rest goes with the next … */
    REMOTE_REPORT_LEAST = 16 * KIB,         /* … and so many after a server that took none */
    REMOTE_WAIT_S = 25,                     /* an answer without news is held for so long: shorter than what a NAT remembers */
    REMOTE_CALL_MS = 45 * 1000,             /* a call, from its first byte to the answer's last */
    REMOTE_BEGIN_MS = 10 * 1000,            /* a call that was not sent by then is made again */
    REMOTE_LEAST_MS = 1000,                 /* between two calls to a server that does not hold its answers */
    REMOTE_SOON_MS = 100,                   /* between two calls that bring news */
    REMOTE_PAGES = 256,                     /* so many pages of a list come without a pause: more than LIMIT_REMOTE_WORKLOADS need */
    REMOTE_PUSH_MS = 250,                   /* changes of statuses are gathered for so long */
    REMOTE_BACKOFF_MS = 1000,               /* after a call that failed, growing to the next … */
    REMOTE_BACKOFF_MAX_MS = 15 * 1000,      /* … with the next, an operator is in sync 30 s after the end of an outage */
    REMOTE_LINK_BACKOFF_MAX_MS = 10 * 1000, /* between two connections that fail */
    POLICY_FILE_MS = 60 * 1000,             /* between two looks at the policy file */
    LIMIT_REMOTE_AGENTS = 256,              /* connections of agents at a time; each is for one report */
    LIMIT_REMOTE_NEWS = 4 * MIB,            /* of statuses and reports that are not told yet: above it no report is taken */
    REMOTE_REVIEW_MS = 5 * 60 * 1000,       /* the workload of an agent's token is remembered for so long; */
    REMOTE_REFUSED_MS = 2 * 1000,           /* … that it is refused, for so long */
    REMOTE_REPORT_MS = 25 * 1000,           /* a report that has changed in anything but the health is sent once in so long, */
    REMOTE_REPORT_SAME_MS = 5 * 60 * 1000,  /* … and one that has not changed */
    LIMIT_REMOTE_AGENT_CA = 64 * KIB,       /* bytes of CAs that each agent gets with its pod */
    LIMIT_REMOTE_IDENTITY = 256,            /* bytes of the name by which the control plane knows us */
    LIMIT_REMOTE_LISTED = 2000,             /* nodes, and instance types, that are reported, … */
    REMOTE_LIST = 192 * KIB,                /* … and about so many bytes of each */
    REMOTE_WANTED_MS = 5 * 1000, /* a list that is asked for again so soon after it was sent waits for the next call: none is made for it */
    REMOTE_HOLD_SHARE = 5,       /* when a full answer lacks more than the fifth part of what runs … */
    REMOTE_HOLD_MS = 10 * 60 * 1000,           /* … nothing is deleted by it for so long */
    REMOTE_RETRY_AFTER_MAX_MS = 5 * 60 * 1000, /* … and the longest Retry-After that is obeyed */
};

/* shape: what the ConfigMap of instance types may hold, and compute configs */
enum {
    LIMIT_COMPUTE_ZONES = 64,
    LIMIT_SHAPE_TYPES = 2000,
    LIMIT_SHAPE_RESOURCES = 32, /* of one type */
    LIMIT_SHAPE_TEXT = MIB,     /* bytes of the text: the API server takes no larger ConfigMap */
};

/* shape: what the ConfigMap of patches may hold */
enum {
    LIMIT_PATCHES = 1024,           /* of one text */
    LIMIT_PATCHES_OPS = 4 * KIB,    /* operations of all of them */
    LIMIT_PATCH_SELECTOR = 4 * KIB, /* bytes of one selector */
    LIMIT_PATCH_REQUIREMENTS = 64,  /* of one selector */
    LIMIT_PATCH_VALUES = 256,       /* of one requirement */
};

/* work: of one workload */
enum {
    LIMIT_WORK_ENV = 256, /* variables */
    LIMIT_WORK_TAGS = 32,
    LIMIT_WORK_VERSIONS = 10,      /* of a service */
    LIMIT_WORK_HOSTS = 16,         /* of a service; the Gateway API has no more */
    LIMIT_WORK_LIST = 1024,        /* items of one list of a policy */
    LIMIT_WORK_PODS = 1000,        /* of one cluster, where the policy says nothing */
    LIMIT_WORK_RATE = 1000 * 1000, /* of newPerMinute and writesPerMinute */
    WORK_GRACE_S = 3600,           /* default of a policy's maxGracePeriodSeconds */
    WORK_WRITES = 1200,            /* writes a minute for a control plane, where the policy says nothing */
    LIMIT_WORK_FOLDER = 512 * KIB, /* a zip file that a control plane stores: a ConfigMap holds 1 MiB, and base64 is on the way */
};

/* edge */
enum {
    LIMIT_EDGE_CONNECTIONS = 2048, /* of clients at a time, at most; … */
    EDGE_CONNECTIONS = 1024,       /* … without a flag. Three quarters of them may have a request under way */
    LIMIT_EDGE_SPARE = 48,         /* requests that have ended, whose memory is kept for the next ones; buffers of connections likewise */
    LIMIT_EDGE_IDLE = 128,         /* idle connections to upstreams that are kept */
    LIMIT_EDGE_CONFIG = 256 * KIB, /* bytes of the file of routes; … */
    LIMIT_EDGE_ROUTES = 256,       /* … and routes in it, … */
    LIMIT_EDGE_VERSIONS = 16,      /* … and versions of one */
    LIMIT_EDGE_WEIGHT = 1000000,   /* of a version */
    LIMIT_EDGE_TOKENS = 2,         /* tokens of a route at a time: the next one and the one before */
    LIMIT_EDGE_TOKEN = 4 * KIB,    /* bytes of one, and of a token of a user */
    LIMIT_EDGE_HEAD = LIMIT_HTTP_HEAD + 4 * KIB, /* bytes of a head as it is passed on */
    LIMIT_EDGE_FORM = 16 * KIB,                  /* bytes of what the login page sends */
    LIMIT_EDGE_REVIEWS = 512,                    /* answers about tokens, and about rights, that are kept */
    LIMIT_EDGE_ASKED = 64,                       /* reviews at the API server at a time; … */
    LIMIT_EDGE_ASKED_UNKNOWN = 16,               /* … and of them those of unknown tokens */
    EDGE_ADDRESSES = 256,     /* buckets that addresses of clients share for the budget of unknown tokens, and users for that of rights */
    EDGE_UNKNOWN_MS = 50,     /* 20 unknown tokens a second, … */
    EDGE_UNKNOWN_BURST = 100, /* … after so many at once; … */
    EDGE_ADDRESS_MS = 1000,   /* … from one address, and rights of one user, one a second, … */
    EDGE_ADDRESS_BURST = 30,  /* … after so many at once */
    EDGE_YES_MS = 10 * 1000,  /* an accepted token or right holds so long, … */
    EDGE_NO_MS = 2 * 1000,    /* … a refused one so long */
    EDGE_KNOWN_MS = 10 * 60 * 1000,  /* after so long without a request an accepted token counts as unknown again */
    EDGE_REVIEW_MS = 10 * 1000,      /* a review */
    EDGE_HEAD_MS = 10 * 1000,        /* for a TLS handshake and the head of a request, from its first byte */
    EDGE_QUIET_MS = 75 * 1000,       /* a client's connection without a request */
    EDGE_POOL_MS = 4 * 1000,         /* an idle connection to an upstream: uvicorn closes it after 5 s */
    EDGE_CONNECT_MS = 5 * 1000,      /* to an upstream */
    EDGE_ANSWER_MS = 5 * 60 * 1000,  /* silence of an upstream that has a request */
    EDGE_TUNNEL_MS = 60 * 60 * 1000, /* silence of a tunnel in both directions */
    EDGE_SLOW_MS = 30 * 1000,        /* a client that is waited for moves EDGE_SLOW_BYTES in this time, or is dropped */
    EDGE_SLOW_BYTES = 16 * KIB,
    EDGE_RELOAD_MS = 2 * 1000, /* between two looks at the files */
    EDGE_DRAIN_MS = 3 * 1000,  /* after SIGTERM new connections are accepted for so long: proxies must have heard of it */
    EDGE_STOP_MS = 25 * 1000,  /* after SIGTERM, for what is under way */
};

/* cli */
enum {
    LIMIT_CLI_FILES = 4096,         /* files in all folders that -f names */
    LIMIT_PACK_FILES = 10000,       /* of a folder that is packed; the format's own limit is 65,535 */
    LIMIT_PACK_SIZE = 64 * MIB,     /* bytes of one file, and of all of them packed */
    LIMIT_PACK_BUCKET = 1024 * MIB, /* bytes of the zip file of a folder that is stored in a bucket */
    LIMIT_PACK_DEPTH = 64,          /* folders in each other */
    LIMIT_PACK_RULES = 4096,        /* lines of .gitignore files */
    LIMIT_PACK_PATTERN = KIB,       /* bytes of one */
    EXPLAIN_PAGE = 100,             /* pods in one page of a list … */
    LIMIT_EXPLAIN_PAGES = 2000, /* … and pages that `mobula explain cluster` reads: twice LIMIT_RAY_PODS, because some may be terminating */
    LIMIT_EXPLAIN_PODS = EXPLAIN_PAGE * LIMIT_EXPLAIN_PAGES, /* … and pods that it keeps if a server sends more than a page */
};

/* dns: records for the host names of routes */
enum {
    LIMIT_DNS_ADDRESSES = 2 * KIB, /* bytes of the addresses of one host, behind which no further one is added */
    LIMIT_DNS_OUTPUT = 64 * MIB,   /* bytes of all records */
};

/* plan */
enum {
    PLAN_BACKOFF_MS = 1000,
    PLAN_BACKOFF_MAX_MS = 5 * 60 * 1000,
    PLAN_ACTIONS = 512, /* of one plan; the next plan does the rest */
};

/* raycluster */
enum {
    RAYCLUSTER_UNSCHEDULED_MS = 10 * 60 * 1000,  /* a worker with an instance type that has had no node for so long is made again */
    RAYCLUSTER_SPOT_FALLBACK_MS = 2 * 60 * 1000, /* a pod of a PREFER_SPOT group that has waited so long for a node is made on demand … */
    RAYCLUSTER_SPOT_RETRY_MS = 10 * 60 * 1000,   /* … and so are the others of its group, for so long */
    RAYCLUSTER_ZONE_MS = 10 * 60 * 1000,         /* the next zone is tried when a cluster's minimum had no room in one for so long */
    RAYCLUSTER_DRAIN_ASK_MS = 10 * 1000,         /* Ray takes the request to drain a worker that is replaced within so long … */
    RAYCLUSTER_DRAIN_MS = 5 * 60 * 1000,         /* … and has drained it within so long; else its pod is deleted all the same */
    RAYCLUSTER_STARTING_MS = 25 * 60 * 1000,     /* a cluster that was not ready for the first time within so long is StartingTimedOut */
    RAYCLUSTER_CERTIFICATE_DAYS = 89,            /* a pod's certificate by mobula ray-cert ends so long after its creation … */
    RAYCLUSTER_CERTIFICATE_OLD_DAYS = 75,        /* … and CertificatesEndSoon says so from this age on */
};

/* scale */
enum {
    SCALE_STALE_MS = 30 * 1000,   /* a head's state older than this is not used for a decision */
    SCALE_CANCEL_MS = 10 * 1000,  /* pods that have not started are deleted when there was no demand for them for this time */
    SCALE_PREEMPT_MS = 30 * 1000, /* how long a busy node that has to be removed may finish its work */
    SCALE_REJOIN_MS =
        2 * 60 * 1000, /* a pod is replaced when the head has not known its node for this time; Ray itself gives up after one minute */
    SCALE_JOIN_MS = 20 * 60 * 1000, /* the same for a pod whose node the head has never known: it may still be starting */
    SCALE_FAILURES = 3, /* consecutive failed launches, after which another group that fits is preferred while this one backs off */
    SCALE_STEP = 1000,  /* nodes that one decision launches for demands */
    LIMIT_SCALE_WANTS = 16 * KIB, /* demands, placement group bundles, request_resources() bundles: the most of each in one decision */
    LIMIT_SCALE_CONSTRAINTS = 4,  /* request_resources() at a time: Ray keeps one */
    LIMIT_SCALE_NAMES = 16,       /* resources of one bundle that a message lists */
    LIMIT_SCALE_TOLD = 20,        /* nodes, pods or demands that a message lists */
    LIMIT_SCALE_LINES = 64,       /* explanations of one decision */
};

/* hub */
enum {
    LIMIT_HUB_BODY = MIB,         /* of a request, and of an answer of sync; of one request … */
    LIMIT_HUB_BODIES = 32 * MIB,  /* … and of all that are read at a time */
    LIMIT_HUB_UNTAKEN = 32 * MIB, /* answers that have not been taken yet, all together */
    LIMIT_HUB_VALUES = MIB,       /* values and keys in the requests of operators that are carried out at a time, 20 bytes each */
    LIMIT_HUB_CONNECTIONS = 1024, /* at a time: each operator has two at most */
    LIMIT_HUB_STRANGERS = 256,    /* connections of one address whose token was not accepted */
    LIMIT_HUB_SPEC = 512 * KIB,   /* of a workload with its compute config … */
    LIMIT_HUB_TOKENS = 96 * KIB,  /* … values and keys of both, … */
    LIMIT_HUB_DEPTH = LIMIT_REMOTE_DEPTH - 3, /* … and levels: it fits an answer that an operator reads */
    LIMIT_HUB_STATUSES = 2000,                /* in one call; writes in flight are the client's window */
    LIMIT_HUB_ANSWERS = 64,                   /* to questions, in one call, and questions that wait for one cloud */
    LIMIT_HUB_GONE = 1024,                    /* workloads remembered that vanished; before them lies a full answer */
    LIMIT_HUB_UID = 64,
    LIMIT_HUB_ITEMS = 64,         /* components, objects and addresses in one report … */
    LIMIT_HUB_WORD = 2 * KIB,     /* … bytes of one word or address in it … */
    LIMIT_HUB_DETAILS = 2 * KIB,  /* … bytes of a component's message … */
    LIMIT_HUB_MESSAGE = 32 * KIB, /* … and of a workload's message, without the log that follows it */
    LIMIT_HUB_LIST = 600 * KIB,   /* bytes of a stored list of instance types or nodes: etcd takes 1.5 MiB for the whole object */
    LIMIT_HUB_INSTANCE = 128,
    LIMIT_HUB_LEASE = 256,
    LIMIT_HUB_HASH = 64,
    LIMIT_HUB_TOKEN = 16 * KIB,                           /* a bearer token: the whole head is no longer */
    LIMIT_HUB_USERS = 4096,                               /* tokens, and rights, whose review is remembered */
    LIMIT_HUB_REVIEWS = 64,                               /* reviews in flight; further calls are answered 429 … */
    LIMIT_HUB_UNKNOWN_REVIEWS = 32,                       /* … reviews in flight of unknown tokens: not accepted within HUB_KNOWN_MS */
    HUB_UNKNOWN_MS = 5,                                   /* reviews of unknown tokens: one in so many milliseconds … */
    HUB_UNKNOWN_BURST = 200,                              /* … after so many at once; … */
    HUB_ADDRESS_MS = 20,                                  /* … of one address: one in so many milliseconds … */
    HUB_ADDRESS_BURST = 100,                              /* … after so many at once */
    HUB_ADDRESSES = 256,                                  /* counters for addresses, chosen by a hash: two addresses may share one */
    HUB_KNOWN_MS = 10 * 60 * 1000,                        /* how long an accepted token counts as known after its review has expired */
    LIMIT_HUB_LOG_LINES = 10000,                          /* of one log tail */
    LIMIT_HUB_URL = 127,                                  /* of a replica */
    LIMIT_HUB_NAMES = 32,                                 /* of a certificate of the hub's own making */
    HUB_PAGE = 900 * KIB,                                 /* an answer goes on in the next page from here on, … */
    HUB_PAGE_TOKENS = LIMIT_JSON_TOKENS / 2,              /* … or from so many values, … */
    HUB_PAGE_ITEMS = LIMIT_REMOTE_ITEMS - LIMIT_HUB_GONE, /* … or workloads */
    HUB_RATE_MS = 50,                                     /* calls of one token: one in so many milliseconds … */
    HUB_BURST = 100,                                      /* … after so many at once */
    HUB_YES_MS = 10 * 1000,                               /* how long a review that says yes is remembered … */
    HUB_NO_MS = 2 * 1000,                                 /* … and one that says no */
    LIMIT_HUB_PROOF = LIMIT_HTTP_URL - 8,                 /* bytes of a signed request to STS as a bearer token */
    HUB_PROOF_MS = 5 * 60 * 1000,                         /* how much longer an ARN of STS is remembered, within the proof's own validity */
    HUB_REVIEW_MS = 5 * 1000,                             /* for one review */
    HUB_CALL_MS = 20 * 1000,                              /* for another call to the API server */
    HUB_WAIT_MS = 25 * 1000,                              /* the longest that an answer is held */
    HUB_CATCH_UP_MS = 5 * 1000,                           /* how long a replica waits for its own watch to reach the operator's revision */
    HUB_SESSION_MS = 60 * 1000,                           /* how long a cloud is its operator's after a call … */
    HUB_RENEW_MS = 30 * 1000,                             /* … how old that gets before a call renews it … */
    HUB_SURE_MS = 55 * 1000,                              /* … and how long behind its write only its end is reported on its strength */
    HUB_QUESTION_MS = 20 * 1000,                          /* for the operator's answer to a question */
    HUB_HEAD_MS = 5 * 1000,                               /* for the TLS handshake and the head of the first request */
    HUB_REQUEST_MS = 20 * 1000,                           /* for the body of a request, and for the head of each further request */
    HUB_ANSWER_MS = 30 * 1000,                            /* within which an answer must have been taken */
    HUB_IDLE_MS = 120 * 1000,                             /* a silent connection ends */
    LIMIT_HUB_REPORT = 16 * KIB,                          /* a pod's POST /v1/report */
    LIMIT_HUB_BOOTSTRAP = KIB,                            /* a pod's POST /v1/bootstrap, before it is known whose it is */
    HUB_REPORT_MS = 5 * 1000,                             /* pods of one workload may report once in so long */
    HUB_CREDENTIAL_S = 10 * 60,                           /* lifetime of a pod's credential */
    HUB_PEER_MS = 5 * 60 * 1000,                          /* connections to another replica are closed after so long without a request */
    LIMIT_ROUTE_DOMAIN = 200,                             /* bytes of --domain */
    ROUTE_TLS_LOOK_MS = 60 * 1000,                        /* between two reads of a route's Secret, or more … */
    ROUTE_TLS_PACE_MS = 200,                              /* … so that all of them together are read at most once in this time */
    HUB_CERT_LOOK_MS = 60 * 1000,                         /* between two reads of the certificate's objects */
    HUB_STOP_MS = 3 * 1000,                               /* for calls under way when the process is to end … */
    HUB_LEAVE_MS = 8 * 1000,                              /* … and for finalizers of a namespace that is being deleted */
};

/* operator */
enum {
    OPERATOR_PLAN_MS = 10 * 1000,  /* a plan older than this is dropped and the record decided again */
    OPERATOR_RINGS = 18,           /* queues of plans: by actions left, 0 to 16, the fewest first; one for larger plans */
    OPERATOR_HELD_NAMES = 4,       /* names of one worker that are occupied by foreign pods, after which no further name is tried */
    OPERATOR_FENCE_MS = 1000,      /* after a change of leader: the previous leader's last requests may take this long to become visible */
    OPERATOR_DECISIONS = 64,       /* decisions in one step, and as many repeated ones; after them lease and watches get their turn */
    OPERATOR_DOUBT_MS = 10 * 1000, /* how long a watch may take to confirm a deletion before a list is requested … */
    OPERATOR_DOUBT_MAX_MS = 5 * 60 * 1000, /* … growing to this while lists disprove it */
    OPERATOR_BACKOFF_MS = 500,             /* first backoff of a record whose calls fail, growing to the next */
    OPERATOR_BACKOFF_MAX_MS = 60 * 1000,   /* … which is also the longest Retry-After that is obeyed */
    OPERATOR_CHECK_MS = 5 * 60 * 1000,     /* between two checks of the components … */
    OPERATOR_CHECK_AGAIN_MS = 60 * 1000,   /* … when one of them was not well */
    OPERATOR_CHECK_RIGHTS_MS = 25 * 1000,  /* between two checks of rights, for a control plane: a watch outlives a revoked right */
    OPERATOR_CHECK_DENIED_MS = 5 * 1000,   /* after a check, if a list or watch was answered 403 since it began */
    OPERATOR_CHECK_CALL_MS = 20 * 1000,    /* for one question of a check */
    OPERATOR_NODES_PAGE = 50,              /* nodes in one page of their list */
    HEALTH_HEAD_MS = 2 * 1000, /* a client of the health or metrics listener must have sent its request by then; the kubelet waits 5 s … */
    HEALTH_ANSWER_MS = 10 * 1000, /* … and must have read the answer after this */
};

/* rayjob */
enum {
    LIMIT_JOB_MESSAGE = 4 * KIB,            /* status.message of a RayJob; of a longer one the beginning and the end are kept */
    JOB_LOOK_MS = 2 * 1000,                 /* interval at which a running job is polled … */
    JOB_LOOK_MAX_MS = 10 * 1000,            /* … growing to this for a job that has run long */
    JOB_FRESH_MS = 100,                     /* an answer of the dashboard counts as current for this time */
    JOB_LOOK_FAILING_MAX_MS = 30 * 1000,    /* the interval grows to this while the dashboard does not answer */
    JOB_TROUBLE_MS = 10 * 1000,             /* a dashboard silent for this long is mentioned in status … */
    JOB_HEARD_MS = 60 * 1000,               /* after a start, a silence before it (from status) counts after so long without an answer */
    JOB_CHECK_TIMEOUT_MS = 5 * 60 * 1000,   /* … and for this long counts as having lost the job */
    JOB_SUBMITTER_GRACE_MS = 5 * 60 * 1000, /* a submitter pod may outlast its job by this */
    JOB_STOP_MS = 5 * 60 * 1000,            /* how long we try to stop a job that was given up … */
    JOB_STOP_FIRST_MS = 10 * 1000,          /* … before the cluster of a suspended or failed attempt is deleted … */
    JOB_STOP_DELETED_MS = 2 * 60 * 1000,    /* … and one whose RayJob is being deleted: a user waits for it */
    JOB_HEAD_FAILURES = 6,                  /* consecutive heads that ended: about a minute */
    JOB_LATER_ATTEMPTS = 16, /* attempts after the one in status that are looked for, because status may come from a backup */
    JOB_SUBMIT_TRIES = 5,    /* submissions that Ray answered with an error */
    JOB_SUBMIT_UNHEARD = 3,  /* unanswered submissions, after which status mentions it */
};

#endif
