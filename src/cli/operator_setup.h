/* From the flags of mobula operator to the options of an operator. */
#ifndef MOBULA_CLI_OPERATOR_SETUP_H
#define MOBULA_CLI_OPERATOR_SETUP_H

#include "operator_caller.h"
#include "operator_flags.h"

/* Owns all that the options point to, until the operator's end. Zero-initialise it, then set `o`; free it also after an error. */
struct operator_setup {
    struct operator_flags o;
    struct cli_namespaces watched;
    struct arena arena;
    struct net_allow *allow;
    struct kube_config *config, *plane; /* of the API server and of the control plane; plane: NULL without one */
    struct storage storage;             /* of the bucket */
    struct operator_caller caller;
    struct loop *loop;
};

/* Reads the kubeconfig, files and environment that the flags name, and makes the loop. Opens no connection. */
bool operator_setup_read(struct operator_setup *p, struct operator_options *to, struct err *e);
void operator_setup_free(struct operator_setup *p);

/* operator_plane.c: the parts about the control plane. Call operator_plane_read first, when to->lease is set. */
bool operator_plane_read(struct operator_setup *p, struct operator_options *to, struct err *e);
bool operator_agent_read(struct operator_setup *p, struct operator_options *to, struct err *e);

static inline const char *operator_text(struct slice s) /* NULL: it is empty */
{
    return slice_empty(s) ? NULL : s.ptr;
}

#endif
