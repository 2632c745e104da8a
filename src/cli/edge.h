/* The options of `mobula edge`, and the manifests that it prints of itself. */
#ifndef MOBULA_CLI_EDGE_H
#define MOBULA_CLI_EDGE_H

#include <mobula/edge.h>
#include <mobula/release.h>

struct edge_command {
    struct slice config, upstream, auth, cluster, token, ns, kubeconfig, context, http, https, cert, key, metrics, body_max, sandbox,
        log_level, log_format;
    struct flag_texts services;
    int64_t connections, answer_ms, drain_ms;
    bool behind_proxy, print;
    struct slice values;        /* of print: a file with the chart's values */
    struct install_options pod; /* of print */
};

extern const struct flags edge_flags; /* of a struct edge_command */
void edge_flags_init(struct edge_command *o);
bool edge_flags_check(const struct edge_command *o, struct err *e);
/* The files that the flags name. o must stay. */
void edge_flags_files(const struct edge_command *o, struct edge *g, struct edge_files *out);

/* Prints the manifests of an edge in a namespace. The arguments are read again over --values. */
bool edge_print(const struct flags *flags, int argc, char **argv, struct edge_command *o, struct err *e);

#endif
