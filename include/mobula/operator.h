/* operator: the operator process without its event loop. Watch events update records, a changed record is queued for a decision, a decision
 * becomes a plan of requests, and their answers update records again (docs/architecture.md). It is driven by operator_wake, operator_step
 * and the net it is given, so the event loop and the simulator drive the same code. */
#ifndef MOBULA_OPERATOR_H
#define MOBULA_OPERATOR_H

#include <mobula/base.h>
#include <mobula/kube.h>
#include <mobula/net.h>
#include <mobula/ray.h>

struct shape_patches;

/* How GCS and dashboard of a cluster's head are reached. */
enum operator_access {
    OPERATOR_DIRECT,  /* by the pod's address */
    OPERATOR_SERVICE, /* by the head service's address, if it is not headless */
    OPERATOR_PROXY,   /* through the API server's proxy: dashboards only, since it does not pass gRPC on. So no autoscaling */
};

/* Which API groups are watched (--kinds). Each kind says to which it belongs. */
enum operator_kinds { OPERATOR_ALL_KINDS, OPERATOR_RAY_IO, OPERATOR_LEGACY };

/* The annotation by which a setting's ConfigMap is frozen; any value but "false" does. */
#define SETTING_FROZEN "mobula.dev/frozen"
/* A setting: a text of a ConfigMap in the operator's own namespace, read again whenever it changes. */
struct operator_configmap {
    struct slice name, key; /* no name: not watched */
};

/* A control plane that says what is to run here (docs/api/openapi.yaml). */
struct operator_plane {
    struct kube_config *config; /* where it is, and who we are; NULL: there is none */
    struct slice cloud;         /* deployment id of the cloud that this operator is */
    struct slice instance;      /* this start of it, and … */
    struct slice lease;         /* … by what its replicas take turns; may be empty */
    struct slice image;         /* of workloads that name none; empty: those are refused */
    struct slice policy_file;   /* with the policy where no ConfigMap has one, read again every minute; empty: the default */
    bool (*read_file)(struct slice path, struct arena *a, struct slice *out, struct err *e);
};

/* Its checks of itself and its cluster (health.h). */
struct operator_checks {
    bool on;
    struct slice excluded;                           /* components that are not checked: "A,B" */
    struct slice rights;                             /* rules of its Role, as JSON; empty: not known */
    struct slice gateway, gateway_ns, ingress_class; /* empty: none */
};

/* A bucket that is checked (STORAGE_BUCKET), and gets the history of objects. */
struct operator_bucket {
    struct slice url, prefix, logs;         /* url empty: none; logs: prefix of the names of logs */
    const struct cloud_store_options *with; /* NULL: the settings cannot be used … */
    struct err why;                         /* … for this reason */
    struct ship_journal *journal;           /* of the operator, while it runs; NULL: no history is kept */
    int64_t keep_ms, keep_bytes;            /* retention of logs; 0: none */
    struct ship_expiry *expiry;             /* of the operator, while it runs; NULL: no logs are deleted */
};

/* The bytes of this program, for the ConfigMap mobula-tools. */
struct operator_executable {
    struct slice bytes;                               /* empty without RAY_TOOLS_CONFIGMAP, or until take() has set them */
    bool (*take)(void *carrier, struct slice *bytes); /* false: not yet, as it takes a second to make them; NULL: they are there */
    void *carrier;
    uint64_t hash; /* of the program; with take() */
};

struct operator_options {
    const struct slice *namespaces; /* watched; one empty namespace: all of them */
    uint32_t namespace_count;
    struct ray_options ray;
    struct operator_executable executable;
    bool autoscaling;      /* clusters with enableInTreeAutoscaling are scaled by this process, unless ray.sidecar or an annotation says
                              otherwise */
    int64_t job_silence_s; /* a job whose dashboard is silent for so long is given up; 0: JOB_CHECK_TIMEOUT_MS */
    bool delete_jobs;      /* shutdownAfterJobFinishes deletes the RayJob, too */
    bool submitter_pods;   /* a job of K8sJobMode is submitted by a submitter pod, not by this process */
    enum operator_access access;
    enum operator_kinds kinds; /* other kinds are not requested at all: the Role may not allow it */
    bool without[LIMIT_KINDS]; /* by its place in kinds[]: an optional kind that is not requested either */
    bool leader_elect;
    struct kube_lease_options lease; /* when leader_elect */
    int64_t fence_ms;                /* a new leader creates no workers for this time (OPERATOR_FENCE_MS) */
    struct slice instance;           /* reportingInstance of events: the name of the pod or host */
    struct net_allow *allow;         /* heads are added to it while they are polled; NULL: the net has no allowlist */
    /* Reads the zoneinfo file of a time zone; zone_name_valid has accepted its name, so it cannot leave the folder. NULL: UTC only. */
    bool (*zone_file)(const void *zones, struct slice name, struct arena *a, struct slice *out, struct err *e);
    const void *zones;
    struct operator_plane plane;
    struct operator_checks checks;
    struct operator_bucket bucket;
    struct slice settings_ns;                           /* namespace of those ConfigMaps */
    struct operator_configmap settings[LIMIT_SETTINGS]; /* by place in setting_kinds[] */
    const struct shape_patches *patches;                /* below those of the ConfigMap; NULL: none */
    struct slice route_ca;    /* Secret in settings_ns with the CA of routes' certificates; empty: none are made */
    struct slice route_hosts; /* patterns of hosts that it signs for, "a.example.org,*.b.example.org"; empty: all */
    struct slice domain;      /* of hosts of routes that name none: see route_domain_check; empty: none */
    int64_t service_auth_ms;  /* a rotated token of a service stays valid for so long; 0: no tokens are made */
    uint64_t seed;
};

struct op;
/* The caller keeps config, net and all slices alive until operator_free. */
struct op *operator_new(struct net *net, struct kube_config *config, const struct operator_options *o, struct err *e);
void operator_free(struct op *op);

/* Call it before every net_dispatch. A process that was stopped or suspended for longer than its lease must notice that it no longer leads
 * before waiting answers make it send the next requests. */
void operator_wake(struct op *op, struct now now);

/* Reads the API server's credentials again at once, not at the next interval. */
void operator_renew(struct op *op, struct now now);

/* Decides and sends what can be done now, and returns the monotonic time (ms) of its next call. Call it after every net_dispatch. */
int64_t operator_step(struct op *op, struct now now);

/* Starts no new work. The lease is released when all requests in flight have been answered. True: nothing is left to wait for. */
bool operator_stop(struct op *op, struct now now);

/* Accept links on the listeners: GET /healthz, /healthz/run and /readyz; these and /config; /metrics. */
struct link_accept *operator_health(struct op *op);
struct link_accept *operator_status(struct op *op);
struct link_accept *operator_metrics(struct op *op);
/* POST /v1/report of agents in heads of workloads, with the pod's token: once for each operator, of one with a control plane. */
struct link_accept *operator_agents(struct op *op);

/* Ready: all lists are complete and, with leader election, a leader is known. False with the reason in *why. */
bool operator_ready(const struct op *op, struct now now, struct buf *why);

#endif
