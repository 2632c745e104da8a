/* The flags of mobula control-plane. */
#ifndef MOBULA_CLI_CONTROL_PLANE_H
#define MOBULA_CLI_CONTROL_PLANE_H

#include <mobula/command.h>

struct control_plane_options {
    struct slice namespaces, kubeconfig, context, http, https, cert, key, secret, names, replica, metrics, log_level, log_format, identity,
        sandbox, sts;
    bool all_namespaces;
};

extern const struct flags control_plane_flags; /* of a struct control_plane_options */
void control_plane_flags_init(struct control_plane_options *o);
/* Checks the addresses, and the certificate that they need. */
bool control_plane_flags_check(const struct control_plane_options *o, struct err *e);

#endif
