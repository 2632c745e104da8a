/* The flags of mobula edge. */
#include "edge.h"

#include <mobula/command.h>
#include <mobula/schema.h>

#define AT(field) offsetof(struct edge_command, field)
static const struct flag list[] = {
    {"config", FLAG_TEXT, AT(config), "FILE"},
    {"services", FLAG_TEXTS, AT(services), "DIR"},
    {"upstream", FLAG_TEXT, AT(upstream), "HOST:PORT"},
    {"auth", FLAG_TEXT, AT(auth), "users|token|none"},
    {"cluster", FLAG_TEXT, AT(cluster), "NAME"},
    {"token-file", FLAG_TEXT, AT(token), "FILE"},
    {"namespace", FLAG_TEXT, AT(ns), "NS"},
    {"kubeconfig", FLAG_TEXT, AT(kubeconfig), "FILE"},
    {"context", FLAG_TEXT, AT(context), "NAME"},
    {"http-addr", FLAG_TEXT, AT(http), "[HOST]:PORT"},
    {"https-addr", FLAG_TEXT, AT(https), "[HOST]:PORT"},
    {"tls-cert", FLAG_TEXT, AT(cert), "FILE"},
    {"tls-key", FLAG_TEXT, AT(key), "FILE"},
    {"metrics-addr", FLAG_TEXT, AT(metrics), "[HOST]:PORT"},
    {"behind-proxy", FLAG_SWITCH, AT(behind_proxy), NULL},
    {"connections", FLAG_INT, AT(connections), "N"},
    {"body-max", FLAG_TEXT, AT(body_max), "BYTES"},
    {"answer-timeout", FLAG_DURATION, AT(answer_ms), "TIME"},
    {"drain", FLAG_DURATION, AT(drain_ms), "TIME"},
    {"print", FLAG_SWITCH, AT(print), NULL},
    POD_FLAGS(AT(pod)),
    {"values", FLAG_TEXT, AT(values), "FILE"},
    TLS_FLAG,
    SANDBOX_FLAG(AT(sandbox)),
    {"log-level", FLAG_TEXT, AT(log_level), "debug|info|warn|error"},
    {"log-format", FLAG_TEXT, AT(log_format), "logfmt|json"},
};
#undef AT
const struct flags edge_flags = {
    .usage = "mobula edge --config FILE | --upstream HOST:PORT --auth users|token|none [FLAG…]",
    .list = list,
    .count = COUNT_OF(list),
};

void edge_flags_init(struct edge_command *o)
{
    *o = (struct edge_command){.http = SLICE(":8000"),
                               .metrics = SLICE(":8080"),
                               .body_max = SLICE("1Gi"),
                               .connections = EDGE_CONNECTIONS,
                               .answer_ms = EDGE_ANSWER_MS,
                               .drain_ms = EDGE_DRAIN_MS,
                               .pod = install_defaults,
                               .sandbox = SLICE("auto"),
                               .log_level = SLICE("info"),
                               .log_format = SLICE("logfmt")};
}

bool edge_flags_check(const struct edge_command *o, struct err *e)
{
    if (slice_empty(o->config) == slice_empty(o->upstream))
        return err_set(e, ERR_CONFIG, "--config or --upstream is needed, and not both");
    if (slice_empty(o->cert) != slice_empty(o->key) || slice_empty(o->https) != slice_empty(o->cert))
        return err_set(e, ERR_CONFIG, "--https-addr, --tls-cert and --tls-key belong together");
    if (o->connections < 1 || o->connections > LIMIT_EDGE_CONNECTIONS)
        return err_set(e, ERR_CONFIG, "--connections: want 1 to %d (LIMIT_EDGE_CONNECTIONS)", LIMIT_EDGE_CONNECTIONS);
    return true;
}

static uint32_t list_services(const void *folders, struct arena *a, const struct slice **files)
{
    struct manifest_files found;
    struct err none = {0}; /* the folder is empty until the first service comes */
    manifest_files(folders, a, &found, &none);
    *files = found.list;
    return found.count;
}

void edge_flags_files(const struct edge_command *o, struct edge *g, struct edge_files *out)
{
    *out = (struct edge_files){.edge = g,
                               .config = o->config,
                               .upstream = o->upstream,
                               .auth = o->auth,
                               .cluster = o->cluster,
                               .token = o->token,
                               .cert = o->cert,
                               .key = o->key,
                               .list = list_services,
                               .of = &o->services};
}
