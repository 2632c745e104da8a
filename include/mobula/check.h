/* check: what breaks an installation in the field, each as a row that says what was found and what to do about it.
 *
 * A check is a function in the table of src/cli/check.c. It asks the API server and adds rows; what it reads out of an answer is a function
 * of that answer alone, for tests. A check never changes the cluster: what it sends is a GET, a review, or a dry run. */
#ifndef MOBULA_CHECK_H
#define MOBULA_CHECK_H

#include <mobula/command.h>
#include <mobula/health.h>
#include <mobula/shape.h>

enum check_result { CHECK_PASS, CHECK_SKIP, CHECK_WARN, CHECK_FAIL };

struct check_row {
    const char *check; /* which check found it: a literal */
    enum check_result result;
    struct slice text;
    const char *remedy; /* remedy; NULL: none */
};

struct check_options {
    struct slice ns, operator_ns, kubeconfig, context, output, image, reach, support, cluster_domain, bucket, origin;
    int64_t idle_ms;    /* 0: not asked for */
    int64_t timeout_ms; /* 0: the default */
};

enum { CHECK_ROWS_MAX = 128 };
struct check {
    const struct check_options *o;
    struct ask ask;
    struct arena *a;
    struct slice ns;              /* where clusters are to run */
    struct slice operator_ns;     /* where their operator is */
    int64_t wall_us;              /* our clock */
    bool unreachable;             /* the API server: checks that need it are passed over */
    const char *current;          /* name of the check that runs */
    struct jval deployment, args; /* of the operator, once check_operators has found it */
    struct check_row rows[CHECK_ROWS_MAX];
    uint32_t count, beyond;
    uint32_t results[CHECK_FAIL + 1];
};

/* Adds a row to the check that runs. */
void check_say(struct check *c, enum check_result result, const char *remedy, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* Reads an object. False: it is not there (*absent), or there is a row that says why it cannot be read. */
bool check_get(struct check *c, struct slice path, struct jval *object, bool *absent);
/* Hands out the items of a list, page by page. False: there is a row that says why it cannot be read. */
typedef void check_item(struct check *c, void *state, struct jval item);
bool check_list(struct check *c, struct slice path, check_item *item, void *state);

/* The value of the operator's --FLAG=VALUE; empty: it is a switch; SLICE_NONE: not given. */
struct slice check_argument(const struct check *c, const char *flag);
/* Opens a connection by the way that these proxies say, with TLS where there is trust; text: what the row calls it. */
void check_place(struct check *c, struct slice text, struct slice host, uint16_t port, const struct net_proxies *proxies,
                 struct tls_trust *trust);

/* ---- the checks ---- */

void check_server(struct check *c);
void check_tls(struct check *c);
void check_clock(struct check *c);
void check_proxy(struct check *c);
void check_dns(struct check *c);
void check_reach(struct check *c);
void check_rights(struct check *c);
/* The rules of the Roles that the operator needs in the namespace, given its arguments, as a JSON array. */
bool check_wanted_rules(struct check *c, struct slice *rules, struct err *e);
void check_account(struct check *c);
struct jval check_usual(struct check *c); /* the Deployment that mobula install makes without flags */
void check_lease(struct check *c);
void check_policies(struct check *c);
void check_origin(struct check *c);
void check_network(struct check *c);
void check_definitions(struct check *c);
void check_operators(struct check *c);
void check_plane(struct check *c);
/* The parts of check_plane that ask the API server. */
void check_plane_service(struct check *c, struct slice host, uint16_t port);
void check_cloud(struct check *c);
void check_sandbox(struct check *c);
void check_namespace(struct check *c);
void check_pods(struct check *c);
void check_quota(struct check *c);
void check_limits(struct check *c);
void check_classes(struct check *c);
void check_nodes(struct check *c);
void check_pull_secrets(struct check *c);
void check_certificates(struct check *c);
void check_idle(struct check *c);

/* ---- reading, as functions of answers ---- */

/* A CustomResourceDefinition beside the one that this program brings. */
void check_definition(struct check *c, struct jval have, struct jval ours);
void check_lease_object(struct check *c, struct jval lease);
void check_policy_ports(struct check *c, struct jval policy, struct jval slice);
void check_quota_item(struct check *c, void *state, struct jval quota);
/* state: struct check_capacity */
struct check_capacity {
    uint32_t nodes, ready, free, gpus_on, old_kernels; /* free: ready nodes without a taint */
    struct slice taint;                                /* first taint of the last ready node; empty: none */
    int64_t cpu_milli, memory, gpus;
    const struct shape_types *types; /* NULL: none are looked at */
    bool *fits;                      /* of each, some node */
};
void check_node_item(struct check *c, void *state, struct jval node);
void check_plane_answer(struct check *c, struct slice name, struct slice ns, int code, struct slice message);
void check_cloud_item(struct check *c, void *state, struct jval cloud); /* state: struct slice, the deployment id */
/* The places that c->args let the operator contact, read as the program itself would, beside what --reach names. */
void check_allowlist(struct check *c);
/* A Secret of type kubernetes.io/tls. */
void check_secret_item(struct check *c, void *state, struct jval secret);

/* The content of `out`: a line for each row, or one JSON object. */
void check_write(const struct check *c, struct buf *out);
int check_status(const struct check *c);

/* ---- the support bundle ---- */

/* Writes a tar file of what support asks for, without secrets. */
bool check_support(struct check *c, struct err *e);
/* Object or log text without what may be a secret: appends to out. */
void support_redact_object(struct jval object, struct buf *out);
void support_redact_text(struct slice text, struct buf *out);

#endif
