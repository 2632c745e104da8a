/* Between the flags of `mobula install` and its manifests. */
#ifndef MOBULA_CLI_INSTALL_WANTED_H
#define MOBULA_CLI_INSTALL_WANTED_H

#include "cli.h"
#include "install.h"

/* What the flags ask for. */
struct install_wanted {
    enum operator_kinds kinds;
    struct ray_options tools;
    struct ray_tools_resources limits; /* of the operator's own pod */
    struct cli_namespaces watch;
    struct slice image, name, component;
    uint16_t proxy_port, plane_port; /* 0: none */
    int64_t replicas;
    bool pods, cron, elect;
};
/* False: a flag is wrong, or two exclude each other. */
bool install_check(const struct install_options *o, struct install_wanted *want, struct arena *a, struct err *e);
/* The entries of --egress-allow. */
struct flag_texts install_egress(const struct install_options *o);
/* The port of the next proxy of a table as MOBULA_PROXIES has it, off its front; 0 where it says "direct". */
bool install_next_proxy(struct slice *table, struct arena *a, uint16_t *port, struct err *e);

#endif
