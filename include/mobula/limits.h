/* Every limit of mobula, in one place. Reaching one is a named error (ERR_LIMIT, with the name and the number in its text), never a
 * crash and never a silent cut. Each is tested at the limit and one past it. */
#ifndef MOBULA_LIMITS_H
#define MOBULA_LIMITS_H

enum {
    KIB = 1024,
    MIB = 1024 * 1024,
};

/* base */
enum {
    LIMIT_LOG_SAID = 64, /* things of one kind that are said within a minute; more of them are held back and counted */
};

/* json: what one document may be. The API server stores 1.5 MiB and accepts 3 MiB; nesting is checked before jsmn sees a byte, because
 * jsmn is quadratic in depth. */
enum {
    LIMIT_JSON_DEPTH = 64,
    LIMIT_JSON_ITEM = 3 * MIB,
    LIMIT_JSON_TOKENS = 256 * KIB,
    LIMIT_JSON_ENVELOPE = 64 * KIB, /* a list without its items: kind, apiVersion, metadata */
    LIMIT_JSON_PATCH_OPS = 4 * KIB,
};

/* yaml: manifests and kubeconfigs. */
enum {
    LIMIT_YAML_INPUT = 4 * MIB,
    LIMIT_YAML_DEPTH = 64,
    LIMIT_YAML_ALIASED = 1 * MIB, /* bytes that aliases and merge keys may add to one document */
    LIMIT_YAML_DOCUMENTS = 1024,
};

/* tls: what BearSSL's buffers can hold, and what a loader takes. */
enum {
    LIMIT_TLS_LEAF = 8 * KIB, /* DER bytes of the server's own certificate */
    LIMIT_TLS_ANCHORS = 4096, /* certificates in one CA bundle */
    LIMIT_TLS_PEM = 4 * MIB,  /* bytes of one PEM file */
    LIMIT_TLS_CHAIN = 8,      /* certificates of a client identity */
};

/* http */
enum {
    LIMIT_HTTP_HEAD = 16 * KIB, /* status or request line and all headers */
    LIMIT_HTTP_HEADERS = 64,
    LIMIT_HTTP_INTERIM = 8,               /* 1xx answers before the real one */
    LIMIT_HTTP_CHUNK_OVERHEAD = 64 * KIB, /* chunk headers and extensions beyond 1/8 of the body */
    LIMIT_HTTP_URL = 4 * KIB,
    LIMIT_HTTP_BODY = 8 * MIB, /* an answer that is gathered whole */
};

/* net */
enum {
    LIMIT_NET_LINKS = 2048,   /* that we opened: one to each of 1,000 heads, and what else there is */
    LIMIT_NET_ACCEPTED = 32,  /* that others opened, of one listener; the oldest gives way to the next */
    LIMIT_NET_ALLOW = 256,    /* entries of the egress allowlist */
    LIMIT_NET_PEERS = 20000,  /* of it, addresses that come and go: two ports of 10,000 heads */
    LIMIT_NET_ADDRESSES = 16, /* addresses tried for one name */
    LIMIT_NET_HOST = 253,
    NET_BUFFER = 16 * KIB,  /* bytes in flight per direction and link */
    NET_DNS_MS = 12 * 1000, /* libc asks twice, for 5 s each */
    NET_DNS_V4_FIRST = 64,  /* lookups after one that was kept waiting for IPv6 addresses, before they are asked for first again */
    NET_CONNECT_MS = 30 * 1000,
    NET_HANDSHAKE_MS = 10 * 1000,
    NET_ADDRESS_MS = 2 * 1000,  /* of NET_CONNECT_MS, at least this much for each address */
    NET_LINGER_MS = 5 * 1000,   /* a closed link may still send what was written */
    NET_ACCEPT_PAUSE_MS = 1000, /* after the system had no descriptor left */
    NET_IDLE_MS = 60 * 1000,    /* a link that waits for work is closed: the server would close it at 90 s */
};

/* kube */
enum {
    LIMIT_KUBE_CALLS = 4096,   /* calls queued or in flight */
    LIMIT_KUBE_WATCHES = 1024, /* LIMIT_KINDS in each of CLI_NAMESPACES_MAX */
    LIMIT_KINDS = 64,          /* of objects that an operator watches */
    LIMIT_KUBE_TOKEN = 64 * KIB,
    LIMIT_KUBE_NAME = 253,        /* of an object */
    LIMIT_KUBE_NAMESPACE = 63,    /* of a namespace */
    LIMIT_KUBE_CONFIG_FILES = 16, /* of one KUBECONFIG list */
    LIMIT_KUBE_IMPERSONATE = 16,  /* groups, and extra values, to impersonate */
    LIMIT_KUBE_EXEC_ARGS = 64,    /* arguments, and variables, of an exec plugin */
    LIMIT_KUBE_EXEC_OUTPUT = 256 * KIB,
    KUBE_EXEC_MS = 60 * 1000, /* an exec plugin may talk to a login server */
    KUBE_PAGE = 500,
    LIMIT_KUBE_PAGES = 2000,  /* of one list: a million objects */
    KUBE_CALL_MS = 65 * 1000, /* the server gives up at 60 s */
    KUBE_WATCH_SECONDS = 290,
    KUBE_SILENCE_MS = 150 * 1000, /* bookmarks come every 60 s: longer silence is probed */
    KUBE_BACKOFF_MS = 800,
    KUBE_BACKOFF_MAX_MS = 30 * 1000,
    KUBE_RELOAD_MS = 60 * 1000,    /* tokens and CA files are read again */
    KUBE_OPENING = 4,              /* connections of one lane that open at the same time: more handshakes only delay the first request */
    KUBE_IDLE_KEPT = 4,            /* idle connections of a lane that are kept for NET_IDLE_MS */
    KUBE_IDLE_EXTRA_MS = 5 * 1000, /* and how long those beyond them are */
    KUBE_PROXY_CALLS = 16,         /* calls under way that the API server passes on */
    KUBE_WINDOW_MIN = 1,
    KUBE_WINDOW_START = 32,
    KUBE_WINDOW_MAX = 64,
    LIMIT_KUBE_EVENTS = 1024, /* events waiting to be sent; more are dropped and counted */
    LIMIT_KUBE_EVENT_NOTE = 1024,
    LIMIT_KUBE_WARNINGS = 8,  /* texts of warnings that are told of one cluster; later ones are not … */
    LIMIT_KUBE_WARNING = KIB, /* … and bytes of each */
};

/* ray: what one cluster may ask for */
enum {
    LIMIT_RAY_GROUPS = 256,
    LIMIT_RAY_PODS = 100 * 1000,   /* of one cluster */
    LIMIT_POD_WORDS = KIB,         /* why a pod is not ready, in the words of its kubelet and of the scheduler; kept only while it is not */
    LIMIT_RAY_ERRORS = 64,         /* validation errors kept for one resource */
    LIMIT_RAY_HOSTS = 1024,        /* numOfHosts */
    LIMIT_RAY_ENDPOINTS = 100,     /* ports of a head service that status tells, as many as one EndpointSlice has; others are left out */
    LIMIT_RAY_PACK_NAMES = 1024,   /* different resources that one scaling decision knows */
    LIMIT_RAY_PACK_SELECTORS = 64, /* different label selectors of one */
    LIMIT_RAY_RULES = 16,          /* deletionRules of a RayJob */
    LIMIT_RAY_ARGUMENT = 120 * KIB, /* of one value in a submitter pod's command: Linux takes 128 KiB of an argument */
};

/* ray: what a head may say, and how long it may take. */
enum {
    LIMIT_RAY_ANSWER = 4 * MIB,           /* one message of gRPC: some 8,000 nodes */
    LIMIT_RAY_ANSWERS = 16 * MIB,         /* of such messages that are coming in, from all heads together … */
    RAY_ANSWER_FREE = 4 * KIB,            /* … where those that are no larger do not count */
    LIMIT_RAY_STATE = 16 * MIB,           /* memory of the structs that it is read into */
    LIMIT_RAY_COUNT = 1000 * 1000 * 1000, /* pending tasks of one shape */
    LIMIT_RAY_HEADERS = 16 * KIB,         /* of an answer or a call, compressed */
    LIMIT_RAY_CHATTER = 64 * KIB,         /* frames that belong to no answer, during one call */
    LIMIT_RAY_REPORT = 60 * KIB,          /* what is reported back: within HTTP/2's first window */
    LIMIT_RAY_RESOURCES = 4096,           /* in one set: each bundle of a placement group adds four and more to its node's */
    LIMIT_RAY_LABELS = 512,               /* of one node */
    LIMIT_RAY_TOKEN = 8 * KIB,
    LIMIT_RAY_DRAINS = 256,  /* that wait for one GCS */
    RAY_GCS_MS = 5 * 1000,   /* one call, from DNS to its last byte */
    RAY_GCS_EVERY_MS = 1000, /* the GCS asks its raylets no more often */
    RAY_GCS_GRID_MS = 50,    /* polls are due at multiples of this, so that many of them are one turn of the loop */
    RAY_GCS_BACKOFF_MS = 1000,
    RAY_GCS_BACKOFF_MAX_MS = 10 * 1000,
    LIMIT_RAY_DASH = 2 * MIB,     /* an answer of a dashboard, but for logs */
    LIMIT_RAY_LOG = 16 * KIB,     /* what is kept of a driver's log … */
    LIMIT_RAY_LOG_ALL = 64 * MIB, /* … of which so much is read */
    LIMIT_RAY_DASH_CALLS = 4096,  /* that wait or are under way */
    RAY_DASH_MS = 10 * 1000,      /* one call */
    RAY_LOG_STEP = 1 * MIB,       /* of a log that is shown: so much must come in RAY_DASH_MS */
    RAY_DASH_LINKS = 32,
    RAY_DASH_LINKS_HOST = 2,
    RAY_DASH_LINKS_DOUBTFUL = 16,           /* of all, those to heads that did not answer the last time … */
    RAY_DASH_PROXIED_DOUBTFUL = 8,          /* … and of KUBE_PROXY_CALLS, where the API server passes them on */
    LIMIT_RAY_SESSION = 256,                /* the name of a run of Ray */
    RAY_TOKEN_BYTES = 32,                   /* of randomness, in a token that is made here */
    RAY_TOKEN_AGAIN_MS = 10 * 1000,         /* a token that a head refuses is read again so long after it was read … */
    RAY_TOKEN_AGAIN_MAX_MS = 5 * 60 * 1000, /* … growing to this while it stays the same; and so is one that cannot be read */
};
#define LIMIT_RAY_AMOUNT INT64_C(100000000000000) /* units of one resource on one node: 91 TiB of memory */

/* cli */
enum {
    LIMIT_CLI_FILES = 4096,     /* of all folders and files that -f names */
    EXPLAIN_PAGE = 100,         /* pods that one request for them asks for … */
    LIMIT_EXPLAIN_PAGES = 2000, /* … and how often `mobula explain cluster` does: twice LIMIT_RAY_PODS, some may be going */
    LIMIT_EXPLAIN_PODS = EXPLAIN_PAGE * LIMIT_EXPLAIN_PAGES, /* … and what it keeps of a server that sends more than a page asks for */
};

/* reconcile */
enum {
    RECONCILE_BACKOFF_MS = 1000,
    RECONCILE_BACKOFF_MAX_MS = 5 * 60 * 1000,
    RECONCILE_ACTIONS = 512,      /* of one plan: a larger need is met by the next plan */
    SCALE_STALE_MS = 30 * 1000,   /* what a head said longer ago is no ground for a decision */
    SCALE_CANCEL_MS = 10 * 1000,  /* pods that have not started go when nobody has needed them for so long */
    SCALE_PREEMPT_MS = 30 * 1000, /* what a node that must go although it works has to finish */
    SCALE_REJOIN_MS =
        2 * 60 * 1000,              /* a pod whose node the head does not know any more is given up; Ray itself gives up after one minute */
    SCALE_JOIN_MS = 20 * 60 * 1000, /* the same for one of which we have seen no node yet: it may still be setting up */
    SCALE_FAILURES = 3,             /* launches in a row that failed: while the group waits, another one that fits is taken */
    SCALE_STEP = 1000,              /* nodes that demand can order in one decision */
    LIMIT_SCALE_WANTS = 16 * KIB, /* demands, bundles of groups and of request_resources() that one decision looks at, each kind of them */
    LIMIT_SCALE_CONSTRAINTS = 4,  /* request_resources() at a time: Ray keeps one */
    LIMIT_SCALE_NAMES = 16,       /* resources of one bundle that are told to people */
    LIMIT_SCALE_TOLD = 20,        /* nodes, pods, demands of one list that are told to people */
    LIMIT_SCALE_LINES = 64,       /* explanations of one decision */
};

/* operator */
enum {
    OPERATOR_PLAN_MS = 10 * 1000,          /* what was decided so long ago is not begun any more: it is decided anew */
    OPERATOR_HELD_NAMES = 4,               /* of one worker's place, by pods that do not count, before the next name is not tried */
    OPERATOR_FENCE_MS = 1000,              /* after it has begun to lead: what the process before it has sent may take so long to be seen */
    OPERATOR_DECISIONS = 64,               /* of one step, and as many that are made anew: then lease and watches have their turn */
    OPERATOR_DOUBT_MS = 10 * 1000,         /* how long a watch may take to tell that a pod is gone, before all are listed … */
    OPERATOR_DOUBT_MAX_MS = 5 * 60 * 1000, /* … growing to this while lists show the pod as it was */
    OPERATOR_BACKOFF_MS = 500,             /* until a cluster whose calls fail is tried again, growing to the next */
    OPERATOR_BACKOFF_MAX_MS = 60 * 1000,   /* … which is also the longest Retry-After of a 5xx that it keeps */
    HEALTH_HEAD_MS = 2 * 1000, /* who comes for health or metrics has asked by then: less than the kubelet waits (timeoutSeconds: 5) … */
    HEALTH_ANSWER_MS = 10 * 1000, /* … and from then on has this long to take the answer */
};

/* reconcile: RayJob */
enum {
    LIMIT_JOB_MESSAGE = 4 * KIB,            /* status.message of a RayJob: the beginning and the end of a longer one */
    JOB_LOOK_MS = 2 * 1000,                 /* between two looks at a job that runs … */
    JOB_LOOK_MAX_MS = 10 * 1000,            /* … growing to this for one that has run long */
    JOB_FRESH_MS = 100,                     /* what the dashboard said so long ago is what it says now */
    JOB_LOOK_FAILING_MAX_MS = 30 * 1000,    /* … and to this while the dashboard does not answer */
    JOB_TROUBLE_MS = 10 * 1000,             /* a dashboard that is silent for so long is worth a word in status */
    JOB_CHECK_TIMEOUT_MS = 5 * 60 * 1000,   /* … and for so long has lost the job */
    JOB_SUBMITTER_GRACE_MS = 5 * 60 * 1000, /* a submitter pod may outlast its job by this */
    JOB_STOP_MS = 5 * 60 * 1000,            /* a job that was given up is told to stop no longer than this … */
    JOB_STOP_DELETED_MS = 2 * 60 * 1000,    /* … and one whose RayJob is being deleted: somebody waits */
    JOB_HEAD_FAILURES = 6,                  /* heads that end in a row: about a minute */
    JOB_LATER_ATTEMPTS = 16,                /* than the one that status tells of, when that was put back from a backup: those looked for */
    JOB_SUBMIT_TRIES = 5,                   /* submissions that Ray answers with an error of its own */
    JOB_SUBMIT_UNHEARD = 3,                 /* submissions that nobody answers are worth a word in status */
};

#endif
