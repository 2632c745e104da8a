/* The options of `mobula edge`, and the manifests that it prints of itself. */
#ifndef MOBULA_CLI_EDGE_H
#define MOBULA_CLI_EDGE_H

#include <mobula/base.h>

struct edge_command {
    struct slice config, upstream, auth, cluster, token, ns, kubeconfig, context, http, https, cert, key, metrics, body_max, image, sandbox,
        log_level, log_format;
    int64_t connections, answer_ms, drain_ms;
    bool behind_proxy, print;
};

/* Prints the manifests of an edge in a namespace. */
bool edge_print(const struct edge_command *o, struct err *e);

#endif
